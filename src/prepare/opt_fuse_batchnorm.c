/* SPDX-License-Identifier: Apache-2.0 */
/* Float32 Batchnorm behind a product with constant weights: scale the weights once instead of every result.
 *
 *     %t = Conv2d(%x, %w, %b); %y = Batchnorm(%t, %g, %o)   ->   %y = Conv2d(%x, w·g, b·g + o)
 *
 * Fixed-point graphs keep their Batchnorm: their weights are already rounded. */
#include <string.h>

#include "prepare/cx.h"

/* Axis of the output channels in the weights; -1: not an operator for this pass. */
static int channel_axis(enum op_id op)
{
    if (op == OP_Conv2d || op == OP_DepthWiseConv2d)
        return 3;
    return op == OP_FullyConnected ? 0 : -1;
}

static const float *const_f32(const struct ir_graph *g, uint32_t t)
{
    if (t == IR_NONE || g->tensors.at[t].role != IR_CONST || g->tensors.at[t].desc.type != DT_F32 ||
        g->tensors.at[t].updateable)
        return NULL;
    return g->tensors.at[t].data;
}

static bool can_fuse(const struct ir_graph *g, const struct ir_uses *u, const struct ir_node *bn, uint32_t *producer)
{
    uint32_t t = bn->in[0];
    *producer = t == IR_NONE ? IR_NONE : u->producer[t];
    if (*producer == IR_NONE || u->n_consumers[t] != 1 || g->tensors.at[t].role != IR_NATIVE || bn->n_in < 2)
        return false;
    const struct ir_node *p = &g->nodes.at[*producer];
    bool bias = p->n_in > 2 && p->in[2] != IR_NONE, offset = bn->n_in > 2 && bn->in[2] != IR_NONE;
    return !p->dead && channel_axis(p->op->id) >= 0 && p->post.lo == -__builtin_inff() && p->post.hi == __builtin_inff() &&
           const_f32(g, p->in[1]) && (!bias || const_f32(g, p->in[2])) && const_f32(g, bn->in[1]) &&
           (!offset || const_f32(g, bn->in[2]));
}

/* Named after the node: weights may be shared by several, each with its own Batchnorm. */
static enum status new_weights(struct ir_graph *g, const struct ir_node *conv, const float *gamma, uint32_t *ret)
{
    const struct ir_tensor *t = &g->tensors.at[conv->in[1]];
    int axis = channel_axis(conv->op->id);
    const float *w = t->data;
    uint64_t n = desc_count(&t->desc), channels = t->desc.dims[axis], inner = 1;
    for (int i = axis + 1; i < t->desc.rank; i++)
        inner *= t->desc.dims[i];
    float *scaled = arena_alloc_array(&g->arena, n, sizeof(float));
    RETURN_IF(!scaled, ST_NO_MEMORY, "no memory for the weights of \"%s\"", t->name);
    for (uint64_t i = 0; i < n; i++)
        scaled[i] = w[i] * gamma[i / inner % channels];
    struct ir_tensor c = *t;
    c.name = arena_printf(&g->arena, "%s.scaled.of.%s", t->name, conv->name);
    c.data = scaled;
    return ir_add_const(g, &c, true, ret);
}

static enum status new_bias(struct ir_graph *g, const struct ir_node *conv, const struct ir_node *bn, uint32_t channels,
                            uint32_t *ret)
{
    const float *gamma = const_f32(g, bn->in[1]);
    const float *beta = bn->n_in > 2 ? const_f32(g, bn->in[2]) : NULL;
    const float *old = conv->n_in > 2 ? const_f32(g, conv->in[2]) : NULL;
    float *b = arena_alloc_array(&g->arena, channels, sizeof(float));
    RETURN_IF(!b, ST_NO_MEMORY, "no memory for the bias of \"%s\"", conv->name);
    for (uint32_t c = 0; c < channels; c++)
        b[c] = (old ? old[c] : 0) * gamma[c] + (beta ? beta[c] : 0);
    struct ir_tensor t = { .name = arena_printf(&g->arena, "bias.of.%s", conv->name),
                           .desc = { .type = DT_F32, .rank = 1, .dims = { channels } },
                           .data = b };
    return ir_add_const(g, &t, true, ret);
}

static enum status fuse(struct ir_graph *g, uint32_t conv_at, uint32_t bn_at)
{
    struct ir_node *conv = &g->nodes.at[conv_at], *bn = &g->nodes.at[bn_at];
    uint32_t channels = (uint32_t)desc_count(&g->tensors.at[bn->in[1]].desc), w, b;
    TRY(new_weights(g, conv, const_f32(g, bn->in[1]), &w));
    TRY(new_bias(g, conv, bn, channels, &b));
    uint32_t *in = arena_array(&g->arena, uint32_t, 3);
    RETURN_IF(!in, ST_NO_MEMORY, "no memory for node \"%s\"", conv->name);
    memcpy(in, (uint32_t[]){ conv->in[0], w, b }, sizeof(uint32_t[3]));
    conv->in = in;
    conv->n_in = 3;
    conv->out[0] = bn->out[0];
    conv->source = ir_join_sources(&g->arena, conv->source, bn->source);
    bn->dead = true;
    return ST_OK;
}

enum status opt_fuse_batchnorm(struct prepare_cx *cx, bool *progress)
{
    struct ir_graph *g = cx->g;
    struct ir_uses u;
    TRY(ir_uses(g, &cx->arena, &u));
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        uint32_t p;
        const struct ir_node *n = &g->nodes.at[k];
        if (n->dead || n->op->id != OP_Batchnorm || !can_fuse(g, &u, n, &p))
            continue;
        TRY(fuse(g, p, k));
        u.producer[g->nodes.at[k].out[0]] = p;
        *progress = true;
    }
    return *progress ? ir_compact(g) : ST_OK;
}
