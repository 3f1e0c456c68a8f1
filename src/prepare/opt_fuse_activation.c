/* SPDX-License-Identifier: Apache-2.0 */
/* A clamp behind a product, or behind a sum, becomes its own clamp when that gives the same bits: same type, same encoding,
 * one consumer. What only changes places may stand between them.
 *
 *     %t = Conv2d(%x, %w); %y = Relu(%t)   ->   %y = Conv2d(%x, %w) clamp (0, inf)
 *     %d = DepthToSpace(%t); %y = Relu(%d)   ->   %t = ... clamp (0, inf); %y = DepthToSpace(%t)
 *
 * For fixed point the limits are rounded to the output grid in both forms (docs/numerics.md sections 3 and 5), so nothing
 * changes.
 *
 * A target may also want a clamp of another encoding right behind a product in it (`refit_clamps`): the product then stores
 * in the clamp's encoding, rounded once instead of twice, and is not cut to the range of its own. */
#include <math.h>

#include "prepare/cx.h"

enum { HALF_WHOLE = 2048 }; /* float16 has all whole numbers up to here */

/* Not all that float16 has, but the limits that there are. */
static bool f16_holds(float x)
{
    return isinf(x) || (fabsf(x) <= HALF_WHOLE && x == truncf(x));
}

/* Two tensors, as at the end of a residual block. Sums of float16 are multiples of its least number, so none is rounded to
 * minus zero, which a clamp behind it would leave and one before it would not; limits that float16 has are the same before
 * and behind. Of sums of other types, and of limits that are rounded, neither is true. */
static bool sums_halves(const struct ir_graph *g, const struct ir_node *n, const struct op_post *p)
{
    bool exact = f16_holds(p->lo) && f16_holds(p->hi);
    for (uint32_t i = 0; i < n->n_in; i++)
        exact = exact && g->tensors.at[n->in[i]].desc.type == DT_F16 && g->tensors.at[n->in[i]].role != IR_CONST;
    return exact;
}

/* Operators whose kernels honour op_call.post. Sums are clamped anyway in fixed point, and of floats it saves a walk over
 * memory. A target with kernels of its own has other ways for them. */
static bool takes_clamp(const struct prepare_cx *cx, const struct ir_node *n, const struct tensor_desc *out,
                        const struct op_post *post)
{
    enum op_id op = n->op->id;
    if (op == OP_ElementWiseAdd || op == OP_ElementWiseSubtract)
        return !cx->target->own_kernels && (out->type == DT_F32 || (dtype_is_fixed(out->type) && out->q.kind == Q_TENSOR) ||
                                            (out->type == DT_F16 && sums_halves(cx->g, n, post)));
    return op == OP_Conv2d || op == OP_DepthWiseConv2d || op == OP_TransposeConv2d || op == OP_FullyConnected ||
           op == OP_MatMul || op == OP_BytesConv2d || op == OP_BytesMatMul;
}

enum { NEURON_RELU = 4, NEURON_RELU_MIN_MAX = 5 };

static bool clamp_of(const struct op_call *c, struct op_post *ret)
{
    int64_t neuron = c->op->id == OP_ElementWiseNeuron ? op_int(c, "operation", 0) : -1;
    if (c->op->id == OP_Relu || neuron == NEURON_RELU)
        *ret = (struct op_post){ 0, INFINITY };
    else if (c->op->id == OP_Relu1)
        *ret = (struct op_post){ -1, 1 };
    else if (c->op->id == OP_Relu6)
        *ret = (struct op_post){ 0, 6 };
    else if (c->op->id == OP_ReluMinMax ||
             (neuron == NEURON_RELU_MIN_MAX && op_has(c, "min_value") && op_has(c, "max_value")))
        *ret = (struct op_post){ (float)op_real(c, "min_value", 0), (float)op_real(c, "max_value", 0) };
    else
        return false;
    return ret->lo <= ret->hi;
}

/* Operators that change places, bit for bit where the encoding stays. */
static bool only_moves(enum op_id op)
{
    return op == OP_DepthToSpace || op == OP_SpaceToDepth || op == OP_ChannelShuffle || op == OP_Transpose ||
           op == OP_Reshape;
}

/* Two operators with a tensor of one consumer between them; its producer, IR_NONE: it is no such tensor. */
static uint32_t made_for_one(const struct ir_graph *g, const struct ir_uses *u, uint32_t t)
{
    uint32_t p = t == IR_NONE ? IR_NONE : u->producer[t];
    return p == IR_NONE || u->n_consumers[t] != 1 || g->tensors.at[t].role != IR_NATIVE || g->nodes.at[p].dead ? IR_NONE : p;
}

static bool same_encoding(const struct tensor_desc *a, const struct tensor_desc *b)
{
    return a->type == b->type && quant_same(&a->q, &b->q);
}

static bool is_product(enum op_id op)
{
    return op == OP_Conv2d || op == OP_DepthWiseConv2d || op == OP_TransposeConv2d || op == OP_FullyConnected ||
           op == OP_MatMul;
}

/* Fixed point of one type, with a scale and an offset each. */
static bool can_refit(const struct tensor_desc *a, const struct tensor_desc *b)
{
    return a->type == b->type && dtype_is_fixed(a->type) && a->q.kind == Q_TENSOR && b->q.kind == Q_TENSOR;
}

/* Where a clamp may go: the operator that takes it, and the one that makes the clamp's operand, which is another one where
 * something moves in between. */
struct way {
    uint32_t to, last;
};

static bool find_way(const struct prepare_cx *cx, const struct ir_uses *u, const struct ir_node *act,
                     const struct op_post *post, struct way *ret)
{
    const struct ir_graph *g = cx->g;
    const struct tensor_desc *b = &g->tensors.at[act->out[0]].desc;
    uint32_t t = act->in[0], p = made_for_one(g, u, t);
    ret->last = p;
    if (p == IR_NONE || !desc_same_shape(&g->tensors.at[t].desc, b))
        return false;
    while (p != IR_NONE && only_moves(g->nodes.at[p].op->id) && same_encoding(&g->tensors.at[t].desc, b)) {
        t = g->nodes.at[p].in[0];
        p = made_for_one(g, u, t);
    }
    ret->to = p;
    if (p == IR_NONE || !takes_clamp(cx, &g->nodes.at[p], &g->tensors.at[t].desc, post))
        return false;
    bool refits = cx->target->refit_clamps && p == ret->last && is_product(g->nodes.at[p].op->id) &&
                  can_refit(&g->tensors.at[t].desc, b);
    return refits || same_encoding(&g->tensors.at[t].desc, b);
}

enum status opt_fuse_activation(struct prepare_cx *cx, bool *progress)
{
    struct ir_graph *g = cx->g;
    struct ir_uses u;
    TRY(ir_uses(g, &cx->arena, &u));
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        struct ir_node *act = &g->nodes.at[k];
        struct op_post post;
        struct ir_call v;
        struct way way;
        ir_call(g, act, &v);
        if (act->dead || !clamp_of(&v.call, &post) || !find_way(cx, &u, act, &post, &way))
            continue;
        struct ir_node *n = &g->nodes.at[way.to], *last = &g->nodes.at[way.last];
        struct op_post both = { fmaxf(n->post.lo, post.lo), fminf(n->post.hi, post.hi) };
        if (both.lo > both.hi)
            continue;
        n->post = both;
        last->out[0] = act->out[0];
        n->source = ir_join_sources(&g->arena, n->source, act->source);
        u.producer[act->out[0]] = way.last;
        act->dead = *progress = true;
    }
    return *progress ? ir_compact(g) : ST_OK;
}
