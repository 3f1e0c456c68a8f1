/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalization behind a layer with constant weights becomes part of it.
 *
 *     %t = Conv2d(%x, %w, %b); %y = Batchnorm(%t, %g, %o)   ->   %y = Conv2d(%x, w·g, b·g + o)
 *
 * The same for a product with, or the addition of, one constant per channel, as TFLite and older exporters write it, or one
 * for all (scales of attention, the learned factors of PP-LCNet). Done
 * when a model is converted, so that the quantizer sees the weights that count. Constants that others use too stay, and so
 * does the node. */
#include <math.h>
#include <string.h>

#include "convert/builder.h"

struct folder {
    struct ir_graph *g;
    struct ir_uses uses;
    struct quantize_layers layers;
};

/* Values of a constant of n floats; NULL: it is none. */
static const void *const_floats(const struct ir_graph *g, uint32_t t, uint64_t n)
{
    const struct ir_tensor *c = t == IR_NONE ? NULL : &g->tensors.at[t];
    return c && c->role == IR_CONST && c->desc.type == DT_F32 && desc_count(&c->desc) == n ? c->data : NULL;
}

static struct quantize_layer *layer_of(struct folder *f, uint32_t node)
{
    for (size_t i = 0; i < f->layers.list.n; i++)
        if (f->layers.list.at[i].node == node)
            return &f->layers.list.at[i];
    return NULL;
}

/* x·gamma + beta; IR_NONE: there is none. */
struct affine {
    uint32_t x, gamma, beta;
};

static bool is_const(const struct ir_graph *g, uint32_t t)
{
    return t != IR_NONE && g->tensors.at[t].role == IR_CONST;
}

static bool affine_of(const struct ir_graph *g, const struct ir_node *n, struct affine *ret)
{
    *ret = (struct affine){ IR_NONE, IR_NONE, IR_NONE };
    if (n->dead || n->n_in < 2)
        return false;
    if (n->op->id == OP_Batchnorm) {
        *ret = (struct affine){ n->in[0], n->in[1], n->n_in > 2 ? n->in[2] : IR_NONE };
        return true;
    }
    bool product = n->op->id == OP_ElementWiseMultiply, sum = n->op->id == OP_ElementWiseAdd, first = is_const(g, n->in[0]);
    uint32_t c = n->in[!first];
    ret->x = n->in[first];
    *(product ? &ret->gamma : &ret->beta) = c;
    /* Along the channels, and nothing but them. */
    const struct tensor_desc *d = is_const(g, c) ? &g->tensors.at[c].desc : NULL;
    return (product || sum) && d && !is_const(g, ret->x) &&
           (desc_count(d) == 1 || (d->rank && desc_count(d) == d->dims[d->rank - 1])) &&
           d->rank <= g->tensors.at[n->out[0]].desc.rank && ret->x != IR_NONE &&
           desc_same_shape(&g->tensors.at[ret->x].desc, &g->tensors.at[n->out[0]].desc);
}

static bool floats_or_none(const struct folder *f, uint32_t t, const struct quantize_layer *l)
{
    return t == IR_NONE || const_floats(f->g, t, l->outs) || const_floats(f->g, t, 1);
}

/* One value per output, of a constant that may have one for all; NULL: no memory, or t is IR_NONE. */
static const void *per_output(struct folder *f, uint32_t t, const struct quantize_layer *l)
{
    const void *data = const_floats(f->g, t, l->outs), *one = const_floats(f->g, t, 1);
    float *all = data || !one ? NULL : arena_array(&f->g->arena, float, l->outs);
    for (uint32_t o = 0; all && o < l->outs; o++)
        memcpy(&all[o], one, sizeof(float));
    return data ? data : all;
}

/* The layer whose results only this node reads, and whose constants are its own; NULL: none. */
static struct quantize_layer *foldable(struct folder *f, const struct affine *a)
{
    uint32_t t = a->x;
    if (t == IR_NONE || f->g->tensors.at[t].role != IR_NATIVE || f->uses.n_consumers[t] != 1 ||
        f->uses.producer[t] == IR_NONE)
        return NULL;
    const struct ir_node *n = &f->g->nodes.at[f->uses.producer[t]];
    struct quantize_layer *l = layer_of(f, f->uses.producer[t]);
    if (!l || f->uses.n_consumers[l->weight] != 1 || n->post.lo != -INFINITY || n->post.hi != INFINITY)
        return NULL;
    return floats_or_none(f, a->gamma, l) && floats_or_none(f, a->beta, l) &&
                   (l->bias == IR_NONE || const_floats(f->g, l->bias, l->outs))
               ? l
               : NULL;
}

static enum status scale_weights(struct folder *f, const struct quantize_layer *l, const void *gamma)
{
    struct ir_tensor *w = &f->g->tensors.at[l->weight];
    float *x = arena_dup(&f->g->arena, w->data, desc_bytes(&w->desc));
    RETURN_IF(!x, ST_NO_MEMORY, "no memory for the weights \"%s\"", w->name);
    for (uint32_t k = 0; k < l->terms; k++)
        for (uint32_t o = 0; o < l->outs; o++) {
            float *at = &x[(size_t)k * l->step_k + (size_t)o * l->step_o];
            *at = (float)(*at * number_get(DT_F32, gamma, o));
        }
    w->data = x;
    return ST_OK;
}

/* The layer's own bias keeps its name; one that it shares or lacks is made. */
static enum status new_bias(struct folder *f, const struct quantize_layer *l, const void *gamma, const void *beta,
                            uint32_t *ret)
{
    struct ir_graph *g = f->g;
    const void *old = l->bias == IR_NONE ? NULL : g->tensors.at[l->bias].data;
    float *b = arena_array(&g->arena, float, l->outs);
    RETURN_IF(!b, ST_NO_MEMORY, "no memory for a bias of %u values", l->outs);
    for (uint32_t o = 0; o < l->outs; o++)
        b[o] = (float)((old ? number_get(DT_F32, old, o) : 0) * (gamma ? number_get(DT_F32, gamma, o) : 1) +
                       (beta ? number_get(DT_F32, beta, o) : 0));
    if (l->bias != IR_NONE && f->uses.n_consumers[l->bias] == 1) {
        g->tensors.at[l->bias].data = b;
        *ret = l->bias;
        return ST_OK;
    }
    struct ir_tensor t = { .desc = { .type = DT_F32, .rank = 1, .dims = { l->outs } }, .data = b };
    for (unsigned i = 0; !t.name || ir_find_tensor(g, t.name) != IR_NONE; i++) {
        t.name = arena_printf(&g->arena, i ? "%s_bias_%u" : "%s_bias", g->nodes.at[l->node].name, i);
        RETURN_IF(!t.name, ST_NO_MEMORY, "no memory for a name");
    }
    return ir_add_const(g, &t, true, ret);
}

static enum status fold(struct folder *f, uint32_t at, const struct affine *a, const struct quantize_layer *l)
{
    struct ir_graph *g = f->g;
    struct ir_node *bn = &g->nodes.at[at], *n = &g->nodes.at[l->node];
    const void *gamma = per_output(f, a->gamma, l), *beta = per_output(f, a->beta, l);
    uint32_t *in = arena_array(&g->arena, uint32_t, 3), bias;
    RETURN_IF(!in || (a->gamma != IR_NONE && !gamma) || (a->beta != IR_NONE && !beta), ST_NO_MEMORY,
              "no memory for node \"%s\"", n->name);
    TRY(new_bias(f, l, gamma, beta, &bias));
    if (gamma)
        TRY(scale_weights(f, l, gamma));
    memcpy(in, n->in, 2 * sizeof(*in));
    in[2] = bias;
    n->in = in;
    n->n_in = 3;
    n->out[0] = bn->out[0];
    n->source = ir_join_sources(&g->arena, n->source, bn->source);
    bn->dead = true;
    return ST_OK;
}

static enum status run(struct folder *f, bool *progress)
{
    TRY(ir_uses(f->g, &f->layers.arena, &f->uses));
    for (uint32_t k = 0; k < f->g->nodes.n; k++) {
        struct affine a;
        struct quantize_layer *l = affine_of(f->g, &f->g->nodes.at[k], &a) ? foldable(f, &a) : NULL;
        if (!l)
            continue;
        TRY(fold(f, k, &a, l));
        l->node = IR_NONE; /* a second one behind it waits for the next round */
        *progress = true;
    }
    return *progress ? ir_compact(f->g) : ST_OK;
}

enum status convert_fold_batchnorm(struct ir_graph *g)
{
    enum status st = ST_OK;
    for (bool progress = true; progress && st == ST_OK;) {
        struct folder f = { .g = g };
        progress = false;
        TRY(quantize_layers_find(g, &f.layers));
        st = run(&f, &progress);
        quantize_layers_finish(&f.layers);
    }
    return st;
}
