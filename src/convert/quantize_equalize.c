/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-layer equalization.
 *
 *     %t = Conv2d(%x, %w, %b); %r = Relu(%t); %y = Conv2d(%r, %v)
 *
 * Output c of the first layer divided by s and input c of the second multiplied by s leave %y as it was. With s = sqrt(range
 * of w_c / range of v_c) both get the same range in every channel, so that one scale per tensor serves all of them. Chains
 * are gone over until the factors are near 1. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/builder.h"

enum { MOST_ROUNDS = 40, MOST_BETWEEN = 8 };
static const double enough = 0.001; /* no factor differs from 1 by more: done */

struct pair {
    struct quantize_layer *first, *second;
};

struct equalizer {
    struct ir_graph *g;
    const bool *frozen;
    struct ir_uses uses;
    struct quantize_layers layers;
    uint8_t *of; /* per layer: its weights and bias are copies of ours already */
    VEC(struct pair) pairs;
    struct quantize_equalized *done;
};

/* ---- pairs -------------------------------------------------------------------------------------------------------- */

enum between { NOTHING, HOMOGENEOUS, CLAMP_TO_RELU };

/* What stands between two layers: f(s·x) = s·f(x) for s > 0 and every channel by itself, or a clamp from 0 up, which becomes
 * such a function. */
static enum between between(const struct ir_graph *g, const struct ir_node *n)
{
    enum { NEURON_RELU = 4, NEURON_RELU_MIN_MAX = 5 };
    struct ir_call v;
    ir_call(g, n, &v);
    switch (n->op->id) {
    case OP_Relu:
    case OP_Prelu:
    case OP_PoolMax2d:
    case OP_PoolAvg2d: return HOMOGENEOUS;
    case OP_Relu6: return CLAMP_TO_RELU;
    case OP_ReluMinMax:
        return op_real(&v.call, "min_value", 0) == 0 && op_real(&v.call, "max_value", 0) > 0 ? CLAMP_TO_RELU : NOTHING;
    case OP_ElementWiseNeuron: {
        int64_t kind = op_int(&v.call, "operation", 0);
        bool clamp =
            kind == NEURON_RELU_MIN_MAX && op_real(&v.call, "min_value", 0) == 0 && op_real(&v.call, "max_value", 0) > 0;
        return kind == NEURON_RELU ? HOMOGENEOUS : clamp ? CLAMP_TO_RELU : NOTHING;
    }
    default: return NOTHING;
    }
}

static bool is_frozen(const struct equalizer *e, uint32_t t)
{
    return t != IR_NONE && e->frozen && e->frozen[t];
}

/* A tensor that only one node reads and nobody sees. */
static bool is_private(const struct equalizer *e, uint32_t t)
{
    return e->g->tensors.at[t].role == IR_NATIVE && e->uses.n_consumers[t] == 1 && !is_frozen(e, t);
}

static bool own_constants(const struct equalizer *e, const struct quantize_layer *l)
{
    bool weight = e->uses.n_consumers[l->weight] == 1 && !is_frozen(e, l->weight);
    const struct ir_tensor *b = l->bias == IR_NONE ? NULL : &e->g->tensors.at[l->bias];
    return weight && (!b || (b->role == IR_CONST && b->desc.type == DT_F32 && b->data && desc_count(&b->desc) == l->outs &&
                             e->uses.n_consumers[l->bias] == 1 && !is_frozen(e, l->bias)));
}

static struct quantize_layer *layer_of(struct equalizer *e, uint32_t node)
{
    for (size_t i = 0; i < e->layers.list.n; i++)
        if (e->layers.list.at[i].node == node)
            return &e->layers.list.at[i];
    return NULL;
}

/* The only layer behind `l`, and the clamps on the way that have to change; NULL: there is none. */
static struct quantize_layer *partner(struct equalizer *e, const struct quantize_layer *l, uint32_t clamps[MOST_BETWEEN],
                                      uint32_t *n_clamps)
{
    uint32_t t = e->g->nodes.at[l->node].out[0];
    *n_clamps = 0;
    for (unsigned step = 0; step <= MOST_BETWEEN && is_private(e, t); step++) {
        uint32_t next = e->uses.consumer[t];
        struct ir_node *n = &e->g->nodes.at[next];
        struct quantize_layer *second = layer_of(e, next);
        if (second)
            return second->in == t && second->channels == l->outs ? second : NULL;
        enum between b = between(e->g, n);
        if (b == NOTHING || n->in[0] != t || n->n_out != 1 || step == MOST_BETWEEN)
            return NULL;
        if (b == CLAMP_TO_RELU)
            clamps[(*n_clamps)++] = next;
        t = n->out[0];
    }
    return NULL;
}

static enum status find_pairs(struct equalizer *e)
{
    for (size_t i = 0; i < e->layers.list.n; i++) {
        struct quantize_layer *l = &e->layers.list.at[i];
        uint32_t clamps[MOST_BETWEEN], n;
        struct quantize_layer *second = own_constants(e, l) ? partner(e, l, clamps, &n) : NULL;
        if (!second || !own_constants(e, second))
            continue;
        struct pair *slot = vec_push(&e->pairs);
        RETURN_IF(!slot, ST_NO_MEMORY, "no memory for pairs of layers");
        *slot = (struct pair){ l, second };
        for (uint32_t k = 0; k < n; k++)
            e->g->nodes.at[clamps[k]].op = op_get(OP_Relu);
        e->done->clamps += n;
    }
    e->done->pairs = (uint32_t)e->pairs.n;
    return ST_OK;
}

/* ---- factors ------------------------------------------------------------------------------------------------------ */

static enum status own_copy(struct ir_graph *g, uint32_t t)
{
    struct ir_tensor *c = &g->tensors.at[t];
    const void *copy = arena_dup(&g->arena, c->data, desc_bytes(&c->desc));
    RETURN_IF(!copy, ST_NO_MEMORY, "no memory for constant \"%s\"", c->name);
    c->data = copy;
    return ST_OK;
}

static enum status own_layer(struct equalizer *e, const struct quantize_layer *l)
{
    uint8_t *done = &e->of[l - e->layers.list.at];
    if (*done)
        return ST_OK;
    *done = 1;
    TRY(own_copy(e->g, l->weight));
    return l->bias == IR_NONE ? ST_OK : own_copy(e->g, l->bias);
}

static float *values(const struct equalizer *e, uint32_t t)
{
    return (float *)e->g->tensors.at[t].data; /* ours: own_copy */
}

/* Largest magnitude per output of `l`, or per input. */
static void ranges(const struct equalizer *e, const struct quantize_layer *l, bool inputs, double *ret)
{
    const float *w = values(e, l->weight);
    memset(ret, 0, (inputs ? l->channels : l->outs) * sizeof(*ret));
    for (uint32_t k = 0; k < l->terms; k++)
        for (uint32_t o = 0; o < l->outs; o++) {
            uint32_t c = inputs ? quantize_layer_at(l, k, o) % l->channels : o;
            ret[c] = fmax(ret[c], fabs((double)w[(size_t)k * l->step_k + (size_t)o * l->step_o]));
        }
}

static void multiply(const struct equalizer *e, const struct quantize_layer *l, bool inputs, const double *factor)
{
    float *w = values(e, l->weight);
    for (uint32_t k = 0; k < l->terms; k++)
        for (uint32_t o = 0; o < l->outs; o++) {
            double s = inputs ? factor[quantize_layer_at(l, k, o) % l->channels] : 1 / factor[o];
            float *x = &w[(size_t)k * l->step_k + (size_t)o * l->step_o];
            *x = (float)(*x * s);
        }
    for (uint32_t o = 0; !inputs && l->bias != IR_NONE && o < l->outs; o++)
        values(e, l->bias)[o] = (float)(values(e, l->bias)[o] / factor[o]);
}

/* Channels that either side leaves out stay: their range says nothing. */
static double equalize_pair(const struct equalizer *e, const struct pair *p, double *a, double *b)
{
    double most = 0;
    ranges(e, p->first, false, a);
    ranges(e, p->second, true, b);
    for (uint32_t c = 0; c < p->first->outs; c++) {
        bool ok = a[c] > 1e-12 && b[c] > 1e-12 && isfinite(a[c]) && isfinite(b[c]);
        a[c] = ok ? fmin(fmax(sqrt(a[c] / b[c]), 1e-6), 1e6) : 1;
        most = fmax(most, fabs(a[c] - 1));
    }
    multiply(e, p->first, false, a);
    multiply(e, p->second, true, a);
    return most;
}

static enum status run(struct equalizer *e)
{
    uint32_t most = 1;
    TRY(ir_uses(e->g, &e->layers.arena, &e->uses));
    e->of = arena_array(&e->layers.arena, uint8_t, e->layers.list.n);
    RETURN_IF(!e->of, ST_NO_MEMORY, "no memory for layers");
    TRY(find_pairs(e));
    for (size_t i = 0; i < e->pairs.n; i++) {
        TRY(own_layer(e, e->pairs.at[i].first));
        TRY(own_layer(e, e->pairs.at[i].second));
        most = e->pairs.at[i].first->outs > most ? e->pairs.at[i].first->outs : most;
    }
    double *a = arena_array(&e->layers.arena, double, most), *b = arena_array(&e->layers.arena, double, most);
    RETURN_IF(!a || !b, ST_NO_MEMORY, "no memory for factors of %u channels", most);
    double change = 1;
    for (unsigned round = 0; e->pairs.n && change > enough && round < MOST_ROUNDS; round++) {
        change = 0;
        for (size_t i = 0; i < e->pairs.n; i++)
            change = fmax(change, equalize_pair(e, &e->pairs.at[i], a, b));
    }
    return ST_OK;
}

enum status quantize_equalize(struct ir_graph *g, const bool *frozen, struct quantize_equalized *ret)
{
    struct equalizer e = { .g = g, .frozen = frozen, .done = ret };
    memset(ret, 0, sizeof(*ret));
    TRY(quantize_layers_find(g, &e.layers));
    enum status st = run(&e);
    vec_finish(&e.pairs);
    quantize_layers_finish(&e.layers);
    return st;
}

enum status quantize_add_biases(struct ir_graph *g)
{
    struct quantize_layers layers;
    TRY(quantize_layers_find(g, &layers));
    enum status st = ST_OK;
    for (size_t i = 0; i < layers.list.n && st == ST_OK; i++) {
        const struct quantize_layer *l = &layers.list.at[i];
        if (l->bias != IR_NONE)
            continue;
        struct ir_tensor t = { .desc = { .type = DT_F32, .rank = 1, .dims = { l->outs } } };
        t.name = arena_printf(&layers.arena, "%s_zero_bias", g->nodes.at[l->node].name);
        t.data = arena_array(&g->arena, float, l->outs);
        uint32_t *in = arena_array(&g->arena, uint32_t, 3), at = IR_NONE;
        bool ok = t.name && t.data && in && ir_find_tensor(g, t.name) == IR_NONE;
        st = ok   ? ir_add_const(g, &t, true, &at)
             : in ? ST_OK
                  : status_fail(ST_NO_MEMORY, "no memory for a bias of %u outputs", l->outs);
        if (at == IR_NONE)
            continue;
        memcpy(in, g->nodes.at[l->node].in, 2 * sizeof(*in));
        in[2] = at;
        g->nodes.at[l->node].in = in;
        g->nodes.at[l->node].n_in = 3;
    }
    quantize_layers_finish(&layers);
    return st;
}
