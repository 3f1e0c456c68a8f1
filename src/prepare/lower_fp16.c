/* SPDX-License-Identifier: Apache-2.0 */
/* Float32 graphs computed in float16, or the other way round, where the client asked for that. Inputs and outputs keep their
 * type, with a Cast at the border; constants are converted once. An operator that has no form in the other type stays as it
 * is, between Casts, and so does a conversion from or to the client's own float32, and an operator of an op package, which
 * was promised the types that the client declared.
 *
 *     in %x : f32[4]                       in %x : f32[4]
 *     %t : f32[4] = Relu(%x)        ->     %x.f16 : f16[4] = Cast(%x)
 *     %y = Add(%t, %c)                     %t : f16[4] = Relu(%x.f16)
 *                                          %y.f16 : f16[4] = Add(%t, %c.f16)
 *                                          %y = Cast(%y.f16)
 */
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "prepare/cx.h"

/* Per tensor of the graph as it was: the same values in the other type, IR_NONE: not made yet. */
struct lowering {
    struct prepare_cx *cx;
    struct ir_graph *g;
    enum dtype from, to;
    uint32_t n_tensors;
    uint32_t *twin;
    bool *half;                     /* the tensor itself has changed its type */
    VEC(struct ir_node) nodes;      /* the new list */
};

static bool is_from(const struct lowering *l, uint32_t t)
{
    return t != IR_NONE && l->g->tensors.at[t].role != IR_ABSENT && l->g->tensors.at[t].desc.type == l->from;
}

/* ---- which operators have the other form ------------------------------------------------------------------------------ */

static void retype(const struct lowering *l, const struct tensor_desc **ports, uint32_t n, struct tensor_desc *room)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!ports[i] || ports[i]->type != l->from)
            continue;
        room[i] = *ports[i];
        room[i].type = l->to;
        ports[i] = &room[i];
    }
}

static bool has_other_form(struct lowering *l, const struct ir_node *n)
{
    struct ir_call v;
    struct kernel_bound k;
    struct tensor_desc room[2 * MAX_PORTS];
    if (n->op->id == OP_NONE)
        return false;
    ir_call(l->g, n, &v);
    retype(l, v.in, n->n_in, room);
    retype(l, v.out, n->n_out, room + MAX_PORTS);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (v.in[i] == &room[i])
            v.in_data[i] = NULL; /* the bytes are of the other type */
    CLEANUP(mem_freep) void *args = mem_zalloc(kernel_args_size(n->op->id));
    bool taken = !l->cx->target->supports || l->cx->target->supports(&v.call);
    bool ok = args && taken && op_check(&v.call) == ST_OK && kernel_bind(&v.call, cpu_isa(), args, &k) == ST_OK;
    status_clear();
    return ok;
}

/* A conversion between a float32 tensor of the client's and another type: going through float16 would only lose digits
 * (8.999 cut to an integer is 8, but 9 when it was rounded before, and 70000 has no float16 at all). */
static bool at_border(const struct lowering *l, const struct ir_node *n)
{
    enum op_id op = n->op->id;
    bool converts = op == OP_Cast || op == OP_Quantize || op == OP_Dequantize || op == OP_Convert;
    if (!converts || l->from != DT_F32 || is_from(l, n->in[0]) == is_from(l, n->out[0]))
        return false;
    const struct ir_tensor *t = &l->g->tensors.at[is_from(l, n->in[0]) ? n->in[0] : n->out[0]];
    return t->role != IR_NATIVE && t->role != IR_CONST;
}

static bool touches_from(const struct lowering *l, const struct ir_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (is_from(l, n->in[i]))
            return true;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (is_from(l, n->out[i]))
            return true;
    return false;
}

/* ---- tensors in the other type ---------------------------------------------------------------------------------------- */

static enum status new_twin(struct lowering *l, uint32_t t, enum dtype type, uint32_t *ret)
{
    struct ir_tensor c = l->g->tensors.at[t];
    c = (struct ir_tensor){ .name = arena_printf(&l->g->arena, "%s.%s", c.name, type == DT_F16 ? "f16" : "f32"),
                            .desc = c.desc,
                            .role = IR_NATIVE };
    c.desc.type = type;
    RETURN_IF(!c.name, ST_NO_MEMORY, "no memory for a converted tensor");
    return ir_add_tensor(l->g, &c, ret);
}

static enum status cast_node(struct lowering *l, uint32_t from, uint32_t to, struct ir_node *ret)
{
    struct arena *a = &l->g->arena;
    const struct op_def *op = op_get(OP_Cast);
    *ret = (struct ir_node){ .name = arena_printf(a, "%s.cast", l->g->tensors.at[to].name), .op = op, .n_in = 1, .n_out = 1,
                             .in = arena_array(a, uint32_t, 1), .out = arena_array(a, uint32_t, 1),
                             .params = arena_array(a, struct op_value, op_param_count(op)), .post = OP_POST_NONE };
    RETURN_IF(!ret->name || !ret->in || !ret->out || !ret->params, ST_NO_MEMORY, "no memory for a conversion");
    ret->in[0] = from;
    ret->out[0] = to;
    return ST_OK;
}

static enum status push(struct lowering *l, const struct ir_node *n)
{
    struct ir_node *slot = vec_push(&l->nodes);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    *slot = *n;
    return ST_OK;
}

static enum status convert_const(struct lowering *l, const struct ir_node *cast, uint32_t twin)
{
    void *data = arena_alloc(&l->g->arena, desc_bytes(&l->g->tensors.at[twin].desc) + 64);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for constant \"%s\"", l->g->tensors.at[twin].name);
    TRY(fold_run(l->cx, cast, &data));
    l->g->tensors.at[twin].role = IR_CONST;
    l->g->tensors.at[twin].data = data;
    return ST_OK;
}

/* The tensor in the type that its reader wants, made where it is first asked for. */
static enum status need(struct lowering *l, uint32_t t, bool half, uint32_t *ret)
{
    struct ir_node cast;
    *ret = t;
    if (l->half[t] == half)
        return ST_OK;
    if (l->twin[t] == IR_NONE) {
        TRY(new_twin(l, t, half ? l->to : l->from, &l->twin[t]));
        TRY(cast_node(l, t, l->twin[t], &cast));
        const struct ir_tensor *c = &l->g->tensors.at[t];
        TRY(c->role == IR_CONST && c->data && !c->updateable ? convert_const(l, &cast, l->twin[t]) : push(l, &cast));
    }
    *ret = l->twin[t];
    return ST_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static enum status lower_inputs(struct lowering *l, struct ir_node *n, bool half, const bool *was_from)
{
    uint32_t *in = arena_array(&l->g->arena, uint32_t, n->n_in + 1);
    RETURN_IF(!in, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    for (uint32_t i = 0; i < n->n_in; i++) {
        in[i] = n->in[i];
        if (n->in[i] != IR_NONE && was_from[n->in[i]])
            TRY(need(l, n->in[i], half, &in[i]));
    }
    n->in = in;
    return ST_OK;
}

/* Outputs of the graph keep their type: the operator writes a twin, and a Cast follows. */
static enum status lower_outputs(struct lowering *l, struct ir_node *n, const bool *was_from)
{
    struct ir_node node = *n, cast;
    uint32_t *out = arena_array(&l->g->arena, uint32_t, n->n_out + 1);
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    node.out = out;
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t t = n->out[i];
        out[i] = t;
        if (!was_from[t])
            continue;
        if (l->g->tensors.at[t].role == IR_NATIVE) {
            l->g->tensors.at[t].desc.type = l->to;
            l->half[t] = true;
            continue;
        }
        TRY(new_twin(l, t, l->to, &l->twin[t]));
        out[i] = l->twin[t];
    }
    TRY(push(l, &node));
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (out[i] == n->out[i])
            continue;
        TRY(cast_node(l, out[i], n->out[i], &cast));
        TRY(push(l, &cast));
    }
    return ST_OK;
}

static enum status lower_node(struct lowering *l, struct ir_node *n, bool half, const bool *was_from)
{
    TRY(lower_inputs(l, n, half, was_from));
    return half ? lower_outputs(l, n, was_from) : push(l, n);
}

static enum status lower_all(struct lowering *l)
{
    struct ir_graph *g = l->g;
    CLEANUP(mem_freep) bool *was_from = mem_array(bool, g->tensors.n + 1);
    CLEANUP(mem_freep) bool *half = mem_array(bool, g->nodes.n + 1);
    l->twin = mem_array(uint32_t, g->tensors.n + 1);
    l->half = mem_array(bool, g->tensors.n + 1);
    RETURN_IF(!was_from || !half || !l->twin || !l->half, ST_NO_MEMORY, "no memory for %zu tensors", g->tensors.n);
    for (size_t i = 0; i < g->tensors.n; i++) {
        was_from[i] = is_from(l, (uint32_t)i);
        l->twin[i] = IR_NONE;
    }
    for (size_t k = 0; k < g->nodes.n; k++) /* before types change */
        half[k] = touches_from(l, &g->nodes.at[k]) && !at_border(l, &g->nodes.at[k]) && has_other_form(l, &g->nodes.at[k]);
    for (size_t k = 0; k < g->nodes.n; k++) {
        struct ir_node n = g->nodes.at[k];
        TRY(lower_node(l, &n, half[k], was_from));
    }
    return ST_OK;
}

enum status lower_fp16(struct prepare_cx *cx, bool *progress)
{
    bool wanted = cx->target->fp16 || cx->target->fp32;
    struct lowering l = {
        .cx = cx, .g = cx->g, .from = cx->target->fp16 ? DT_F32 : DT_F16, .to = cx->target->fp16 ? DT_F16 : DT_F32
    };
    enum status st = wanted ? lower_all(&l) : ST_OK;
    if (st == ST_OK && wanted) {
        vec_move(&cx->g->nodes, &l.nodes);
        *progress = true;
        st = ir_compact(cx->g);
    } else {
        vec_finish(&l.nodes);
    }
    mem_free(l.twin);
    mem_free(l.half);
    return st;
}
