/* SPDX-License-Identifier: Apache-2.0 */
/* A clamp behind a product, or behind a sum of fixed-point or float32 tensors, becomes its own clamp when that gives the
 * same bits: same type, same encoding, one consumer.
 *
 *     %t = Conv2d(%x, %w); %y = Relu(%t)   ->   %y = Conv2d(%x, %w) clamp (0, inf)
 *
 * For fixed point the limits are rounded to the output grid in both forms (docs/numerics.md sections 3 and 5), so nothing
 * changes. */
#include <math.h>

#include "prepare/cx.h"

/* Operators whose kernels honour op_call.post. Sums are clamped anyway in fixed point, and in float32 it saves a walk over
 * memory; in float16 a clamp before the rounding would make a zero of what a clamp behind it leaves as minus zero. A target
 * with kernels of its own has other ways for them. */
static bool takes_clamp(const struct prepare_target *t, enum op_id op, const struct tensor_desc *out)
{
    if (op == OP_ElementWiseAdd || op == OP_ElementWiseSubtract)
        return !t->own_kernels && (out->type == DT_F32 || (dtype_is_fixed(out->type) && out->q.kind == Q_TENSOR));
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

static bool can_fuse(const struct prepare_cx *cx, const struct ir_uses *u, const struct ir_node *act, uint32_t *producer)
{
    const struct ir_graph *g = cx->g;
    uint32_t t = act->in[0];
    *producer = t == IR_NONE ? IR_NONE : u->producer[t];
    if (*producer == IR_NONE || u->n_consumers[t] != 1 || g->tensors.at[t].role != IR_NATIVE)
        return false;
    const struct ir_node *p = &g->nodes.at[*producer];
    const struct tensor_desc *a = &g->tensors.at[t].desc, *b = &g->tensors.at[act->out[0]].desc;
    return !p->dead && takes_clamp(cx->target, p->op->id, a) && a->type == b->type && desc_same_shape(a, b) &&
           quant_same(&a->q, &b->q);
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
        uint32_t p;
        ir_call(g, act, &v);
        if (act->dead || !clamp_of(&v.call, &post) || !can_fuse(cx, &u, act, &p))
            continue;
        struct ir_node *n = &g->nodes.at[p];
        struct op_post both = { fmaxf(n->post.lo, post.lo), fminf(n->post.hi, post.hi) };
        if (both.lo > both.hi)
            continue;
        n->post = both;
        n->out[0] = act->out[0];
        n->source = ir_join_sources(&g->arena, n->source, act->source);
        u.producer[act->out[0]] = p;
        act->dead = *progress = true;
    }
    return *progress ? ir_compact(g) : ST_OK;
}
