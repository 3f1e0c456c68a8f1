/* SPDX-License-Identifier: Apache-2.0 */
/* Constant weights in fixed point beside float activations become floats, for targets whose kernels read no encodings;
 * constants of the other float type become those of the activations, where kernels read one type.
 *
 *     const %w : sq4[6,64] blocks;  %y : f16 = FullyConnected(%x, %w)
 *       -> const %w.f16 : f16[6,64];  %y : f16 = FullyConnected(%x, %w.f16)
 *     const %w : f16[4,8];  %y : f32 = MatMul(%x, %w)
 *       -> const %w.f32 : f32[4,8];  %y : f32 = MatMul(%x, %w.f32)
 *
 * They take the room of floats from then on. */
#include "prepare/cx.h"

/* Weights stand behind what they are applied to, but for the table that Gather looks rows up in; in[0] in an encoding is
 * what Dequantize and Convert are about, and in another float type what Cast is. */
bool lower_decodes(const struct op_call *c, uint32_t i)
{
    const struct op_port *p = op_in_port(c->op, i);
    bool table = c->op->id == OP_Gather && i == 0;
    if ((i == 0 && !table) || !p || !c->in[i] || !c->in_data || !c->in_data[i] || !c->n_out || !c->out[0] ||
        !(T_(c->out[0]->type) & T_FLOAT))
        return false;
    enum dtype type = c->in[i]->type, wanted = c->out[0]->type;
    bool other_float = T_(type) & T_FLOAT && type != wanted && c->in[0] && c->in[0]->type == wanted && T_(wanted) & p->types;
    return other_float || ((table || p->flags & PORT_AXIS) && T_(type) & (T_Q | T_Q32 | T_QLOW));
}

/* twin[2 * t + 1]: tensor t in float16, twin[2 * t]: in float32. IR_NONE: not made yet. */
static enum status decode(struct prepare_cx *cx, uint32_t from, enum dtype type, uint32_t *twin)
{
    struct ir_graph *g = cx->g;
    const struct op_def *op = op_get(T_(g->tensors.at[from].desc.type) & T_FLOAT ? OP_Cast : OP_Dequantize);
    struct ir_tensor t = { .name = arena_printf(&g->arena, "%s.%s", g->tensors.at[from].name, dtype_name(type)),
                           .desc = g->tensors.at[from].desc,
                           .role = IR_NATIVE,
                           .updateable = g->tensors.at[from].updateable };
    t.desc.type = type;
    t.desc.q = (struct quant){};
    void *data = arena_alloc(&g->arena, desc_bytes(&t.desc) + 64);
    struct op_value *params = arena_array(&cx->arena, struct op_value, op_param_count(op));
    RETURN_IF(!t.name || !data || !params, ST_NO_MEMORY, "no memory for the values of \"%s\"", g->tensors.at[from].name);
    TRY(ir_add_tensor(g, &t, twin));
    TRY(fold_run(cx,
                 &(struct ir_node){ .name = t.name,
                                    .op = op,
                                    .n_in = 1,
                                    .n_out = 1,
                                    .in = &from,
                                    .out = twin,
                                    .params = params,
                                    .post = OP_POST_NONE },
                 &data));
    g->tensors.at[*twin].role = IR_CONST;
    g->tensors.at[*twin].data = data;
    return ST_OK;
}

static enum status lower_node(struct prepare_cx *cx, uint32_t node, uint32_t *twins, bool *progress)
{
    struct ir_graph *g = cx->g;
    struct ir_call v;
    ir_call(g, &g->nodes.at[node], &v);
    uint32_t decoded = 0, n_in = v.call.n_in < 32 ? v.call.n_in : 32;
    for (uint32_t i = 0; i < n_in; i++)
        decoded |= (uint32_t)lower_decodes(&v.call, i) << i;
    for (uint32_t i = 0; i < n_in; i++) {
        uint32_t t = g->nodes.at[node].in[i];
        if (!(decoded >> i & 1))
            continue;
        enum dtype type = g->tensors.at[g->nodes.at[node].out[0]].desc.type;
        uint32_t *twin = &twins[2 * t + (type == DT_F16)];
        if (*twin == IR_NONE)
            TRY(decode(cx, t, type, twin));
        g->nodes.at[node].in[i] = *twin;
        *progress = true;
    }
    return ST_OK;
}

enum status lower_weights(struct prepare_cx *cx, bool *progress)
{
    size_t n = 2 * cx->g->tensors.n; /* twins are not asked for themselves: they are floats */
    uint32_t *twins = arena_array(&cx->arena, uint32_t, n);
    RETURN_IF(!twins, ST_NO_MEMORY, "no memory for the twins of %zu tensors", n / 2);
    for (size_t i = 0; i < n; i++)
        twins[i] = IR_NONE;
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        TRY(prepare_interrupted(cx));
        TRY(lower_node(cx, k, twins, progress));
    }
    return *progress ? ir_compact(cx->g) : ST_OK;
}
