/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalization behind a layer with constant weights becomes part of it.
 *
 *     %t = Conv2d(%x, %w, %b); %y = Batchnorm(%t, %g, %o)   ->   %y = Conv2d(%x, w·g, b·g + o)
 *
 * Done when a model is converted, so that the quantizer sees the weights that count. Constants that others use too stay, and so does the node. */
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

/* The layer whose results only this node reads, and whose constants are its own; NULL: none. */
static struct quantize_layer *foldable(struct folder *f, const struct ir_node *bn)
{
    uint32_t t = bn->in[0];
    if (bn->n_in < 2 || t == IR_NONE || f->g->tensors.at[t].role != IR_NATIVE || f->uses.n_consumers[t] != 1 || f->uses.producer[t] == IR_NONE)
        return NULL;
    struct quantize_layer *l = layer_of(f, f->uses.producer[t]);
    if (!l || f->uses.n_consumers[l->weight] != 1 || !const_floats(f->g, bn->in[1], l->outs))
        return NULL;
    bool offset = bn->n_in < 3 || bn->in[2] == IR_NONE || const_floats(f->g, bn->in[2], l->outs);
    return offset && (l->bias == IR_NONE || const_floats(f->g, l->bias, l->outs)) ? l : NULL;
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
static enum status new_bias(struct folder *f, const struct quantize_layer *l, const void *gamma, const void *beta, uint32_t *ret)
{
    struct ir_graph *g = f->g;
    const void *old = l->bias == IR_NONE ? NULL : g->tensors.at[l->bias].data;
    float *b = arena_array(&g->arena, float, l->outs);
    RETURN_IF(!b, ST_NO_MEMORY, "no memory for a bias of %u values", l->outs);
    for (uint32_t o = 0; o < l->outs; o++)
        b[o] = (float)((old ? number_get(DT_F32, old, o) : 0) * number_get(DT_F32, gamma, o) + (beta ? number_get(DT_F32, beta, o) : 0));
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

static enum status fold(struct folder *f, uint32_t at, const struct quantize_layer *l)
{
    struct ir_graph *g = f->g;
    struct ir_node *bn = &g->nodes.at[at], *n = &g->nodes.at[l->node];
    const void *gamma = g->tensors.at[bn->in[1]].data, *beta = bn->n_in > 2 && bn->in[2] != IR_NONE ? g->tensors.at[bn->in[2]].data : NULL;
    uint32_t *in = arena_array(&g->arena, uint32_t, 3), bias;
    RETURN_IF(!in, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    TRY(new_bias(f, l, gamma, beta, &bias));
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
        const struct ir_node *n = &f->g->nodes.at[k];
        struct quantize_layer *l = n->op->id == OP_Batchnorm && !n->dead ? foldable(f, n) : NULL;
        if (!l)
            continue;
        TRY(fold(f, k, l));
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
