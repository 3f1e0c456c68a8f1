/* SPDX-License-Identifier: Apache-2.0 */
/* Wide nodes in parts (see wide_node.h). Tensors between the parts have the encoding of the joined tensor, so that values
 * are converted once, as one node would. */
#include "api/wide_node.h"

#include <string.h>

static bool joins(const struct op_call *c)
{
    return c->op->id == OP_Concat || c->op->id == OP_Pack;
}

uint32_t wide_limit(const struct op_def *op)
{
    bool wide = op->id == OP_Concat || op->id == OP_Pack || op->id == OP_Split || op->id == OP_UnPack;
    return wide ? WIDE_PORTS : MAX_PORTS;
}

/* ExecuTorch leaves the layout of a Prelu as it is in the model. A slope per last dimension is an ordinary one. */
static bool slopes_before_the_end(const struct op_call *c)
{
    if (c->op->id != OP_Prelu || c->n_in != 2 || !c->in[0] || !c->in[1] || c->in[0]->rank < 3 || c->in[1]->rank != 1)
        return false;
    const uint32_t slopes = c->in[1]->dims[0], last = c->in[0]->dims[c->in[0]->rank - 1];
    return slopes != 1 && slopes != last && slopes == c->in[0]->dims[1];
}

/* ExecuTorch reshapes between operators in fixed point and operators in float, and leaves the conversion to the Reshape. */
static bool converts(const struct op_call *c)
{
    if (c->op->id != OP_Reshape || c->n_in != 1 || c->n_out != 1 || !c->in[0] || !c->out[0])
        return false;
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    bool to_float = dtype_is_fixed(x->type) && dtype_is_float(y->type),
         to_fixed = dtype_is_float(x->type) && dtype_is_fixed(y->type);
    return (to_float && x->q.kind == Q_TENSOR) || (to_fixed && y->q.kind == Q_TENSOR);
}

bool wide_is(const struct op_call *c)
{
    return slopes_before_the_end(c) || converts(c) ||
           ((c->n_in > MAX_PORTS || c->n_out > MAX_PORTS) && c->n_in <= wide_limit(c->op) && c->n_out <= wide_limit(c->op));
}

/* ---- checks ----------------------------------------------------------------------------------------------------------- */

struct wide {
    const struct op_call *call;
    const struct tensor_desc *whole; /* the joined tensor */
    struct arena *arena;
    uint32_t axis, n, groups;        /* n: tensors on the wide side */
};

static enum status out_of_memory(const struct wide *w)
{
    return status_fail(ST_NO_MEMORY, "no memory for %s \"%s\" of %u tensors", w->call->op->name,
                       w->call->node ? w->call->node : "", w->n);
}

static enum status check_split(const struct wide *w, uint32_t axis)
{
    const struct op_call *c = w->call;
    const char *node = c->node ? c->node : "";
    uint32_t n = op_count(c, "split_index");
    RETURN_IF(n != w->n - 1, ST_INVALID_OP,
              "Split \"%s\": parameter \"split_index\" has %u elements, which make %u slices; %u outputs are given", node, n,
              n + 1, w->n);
    int64_t before = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = op_int(c, "split_index", i);
        RETURN_IF(at <= before || at >= w->whole->dims[axis], ST_INVALID_OP,
                  "Split \"%s\": parameter \"split_index\" element %u is %lld; %lld … %lld are allowed", node, i,
                  (long long)at, (long long)before + 1, (long long)w->whole->dims[axis] - 1);
        before = at;
    }
    return ST_OK;
}

/* What the parts cannot find: each of them only sees its own tensors. */
static enum status check(const struct wide *w)
{
    const struct op_call *c = w->call;
    const char *op = c->op->name, *node = c->node ? c->node : "";
    RETURN_IF((joins(c) ? c->n_out : c->n_in) != 1, ST_INVALID_OP,
              "%s \"%s\": %u inputs and %u outputs; one joined tensor is expected", op, node, c->n_in, c->n_out);
    for (uint32_t i = 0; i < w->n; i++)
        RETURN_IF(!(joins(c) ? c->in[i] : c->out[i]), ST_INVALID_OP,
                  "%s \"%s\": tensor %u is absent; optional tensors are not possible here", op, node, i);
    RETURN_IF(!w->whole, ST_INVALID_OP, "%s \"%s\": the joined tensor is absent", op, node);
    RETURN_IF(c->op->id != OP_Concat && !op_has(c, "axis"), ST_INVALID_OP,
              "%s \"%s\": parameter \"axis\" is missing; it has no default", op, node);
    int64_t axis = op_int(c, "axis", 0);
    RETURN_IF(axis < 0 || axis >= w->whole->rank, ST_INVALID_OP, "%s \"%s\": parameter \"axis\" is %lld; 0 … %d are allowed",
              op, node, (long long)axis, w->whole->rank - 1);
    RETURN_IF(w->whole->q.kind > Q_TENSOR, ST_INVALID_OP,
              "%s \"%s\" of %u tensors; at most %d are supported beside scales per channel or block", op, node, w->n,
              MAX_PORTS);
    RETURN_IF(c->op->id == OP_UnPack && w->whole->dims[axis] != w->n, ST_INVALID_OP,
              "%s \"%s\": axis %lld has %u elements; as many outputs are expected, %u are given", op, node, (long long)axis,
              w->whole->dims[axis], w->n);
    return c->op->id == OP_Split ? check_split(w, (uint32_t)axis) : ST_OK;
}

/* ---- parts ------------------------------------------------------------------------------------------------------------ */

/* The first tensor of a group: groups are as equal as they can be, so none has a single one. */
static uint32_t first_of(const struct wide *w, uint32_t group)
{
    return (uint32_t)((uint64_t)w->n * group / w->groups);
}

/* Where along the axis the slice before tensor i ends. */
static int64_t split_at(const struct wide *w, uint32_t i)
{
    return i == 0 ? 0 : i == w->n ? w->whole->dims[w->axis] : op_int(w->call, "split_index", i - 1);
}

static bool set_param(const struct wide *w, struct wide_part *p, const char *name, const uint32_t *values, uint32_t n)
{
    uint8_t rank = strcmp(name, "axis") != 0;
    uint32_t *copy = arena_dup(w->arena, values, n * sizeof(*values));
    p->params[op_param_index(p->op, name)] =
        (struct op_value){ .type = DT_U32, .rank = rank, .dims = { n }, .count = n, .data = copy };
    return copy;
}

/* Operands that follow each other. */
struct run {
    uint32_t first, n;
};

static bool start_part(const struct wide *w, enum op_id op, struct run in, struct run out, struct wide_part *ret)
{
    *ret = (struct wide_part){ .op = op_get(op), .n_in = in.n, .n_out = out.n };
    ret->params = arena_array(w->arena, struct op_value, op_param_count(ret->op) + 1); /* there are operators without */
    ret->in = arena_array(w->arena, uint32_t, in.n);
    ret->out = arena_array(w->arena, uint32_t, out.n);
    if (!ret->params || !ret->in || !ret->out)
        return false;
    for (uint32_t i = 0; i < in.n; i++)
        ret->in[i] = in.first + i;
    for (uint32_t i = 0; i < out.n; i++)
        ret->out[i] = out.first + i;
    return true;
}

static bool make_part(const struct wide *w, enum op_id op, struct run in, struct run out, struct wide_part *ret)
{
    return start_part(w, op, in, out, ret) && set_param(w, ret, "axis", &w->axis, 1);
}

/* Elements along the axis of what a group makes. */
static uint32_t joined_size(const struct wide *w, struct run group)
{
    uint64_t size = 0;
    if (w->call->op->id == OP_Pack)
        return group.n;
    for (uint32_t i = 0; i < group.n; i++) {
        const struct tensor_desc *d = w->call->in[group.first + i];
        size += w->axis < d->rank ? d->dims[w->axis] : 1;
    }
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* Positions of a group's slices, counted from its own beginning. */
static bool split_group(const struct wide *w, struct run group, struct wide_part *p)
{
    uint32_t at[MAX_PORTS];
    for (uint32_t i = 0; i + 1 < group.n; i++)
        at[i] = (uint32_t)(split_at(w, group.first + i + 1) - split_at(w, group.first));
    return set_param(w, p, "split_index", at, group.n - 1);
}

static bool plan_join(const struct wide *w, struct wide_plan *ret)
{
    for (uint32_t g = 0; g < w->groups; g++) {
        struct run group = { first_of(w, g), first_of(w, g + 1) - first_of(w, g) };
        ret->between[g].dims[w->axis] = joined_size(w, group);
        if (!make_part(w, w->call->op->id, group, (struct run){ WIDE_BETWEEN + g, 1 }, &ret->parts[g]))
            return false;
    }
    return make_part(w, OP_Concat, (struct run){ WIDE_BETWEEN, w->groups }, (struct run){ 0, 1 }, &ret->parts[w->groups]);
}

static bool plan_split(const struct wide *w, struct wide_plan *ret)
{
    bool unpack = w->call->op->id == OP_UnPack;
    uint32_t at[MAX_PORTS];
    for (uint32_t g = 0; g < w->groups; g++) {
        struct run group = { first_of(w, g), first_of(w, g + 1) - first_of(w, g) };
        int64_t from = unpack ? group.first : split_at(w, group.first),
                to = unpack ? group.first + group.n : split_at(w, group.first + group.n);
        ret->between[g].dims[w->axis] = (uint32_t)(to - from);
        at[g] = (uint32_t)to;
        if (!make_part(w, w->call->op->id, (struct run){ WIDE_BETWEEN + g, 1 }, group, &ret->parts[1 + g]) ||
            (!unpack && !split_group(w, group, &ret->parts[1 + g])))
            return false;
    }
    return make_part(w, OP_Split, (struct run){ 0, 1 }, (struct run){ WIDE_BETWEEN, w->groups }, &ret->parts[0]) &&
           set_param(w, &ret->parts[0], "split_index", at, w->groups - 1);
}

/* The slopes with a dimension of 1 for each one behind the channels. */
static enum status plan_slopes(const struct op_call *c, struct arena *a, struct wide_plan *ret)
{
    const struct wide w = { .call = c, .arena = a, .n = c->n_in };
    ret->n_parts = 2;
    ret->n_between = 1;
    ret->parts = arena_array(a, struct wide_part, 2);
    ret->between = arena_dup(a, c->in[1], sizeof *ret->between);
    if (!ret->parts || !ret->between ||
        !start_part(&w, OP_Reshape, (struct run){ 1, 1 }, (struct run){ WIDE_BETWEEN, 1 }, &ret->parts[0]) ||
        !start_part(&w, OP_Prelu, (struct run){ 0, 2 }, (struct run){ 0, c->n_out }, &ret->parts[1]))
        return out_of_memory(&w);
    ret->between->rank = (uint8_t)(c->in[0]->rank - 1);
    for (uint32_t d = 1; d < ret->between->rank; d++)
        ret->between->dims[d] = 1;
    ret->parts[1].in[1] = WIDE_BETWEEN;
    return ST_OK;
}

/* Moved as it is, then converted. */
static enum status plan_conversion(const struct op_call *c, struct arena *a, struct wide_plan *ret)
{
    const struct wide w = { .call = c, .arena = a, .n = c->n_in };
    enum op_id convert = dtype_is_float(c->out[0]->type) ? OP_Dequantize : OP_Quantize;
    const struct run between = { WIDE_BETWEEN, 1 }, only = { 0, 1 };
    ret->n_parts = 2;
    ret->n_between = 1;
    ret->parts = arena_array(a, struct wide_part, 2);
    ret->between = arena_dup(a, c->out[0], sizeof *ret->between);
    if (!ret->parts || !ret->between || !start_part(&w, OP_Reshape, only, between, &ret->parts[0]) ||
        !start_part(&w, convert, between, only, &ret->parts[1]))
        return out_of_memory(&w);
    ret->between->type = c->in[0]->type;
    ret->between->q = c->in[0]->q;
    return ST_OK;
}

enum status wide_plan(const struct op_call *c, struct arena *a, struct wide_plan *ret)
{
    if (converts(c))
        return plan_conversion(c, a, ret);
    if (slopes_before_the_end(c))
        return plan_slopes(c, a, ret);
    struct wide w = { .call = c, .arena = a, .n = joins(c) ? c->n_in : c->n_out };
    w.whole = joins(c) ? (c->n_out ? c->out[0] : NULL) : c->n_in ? c->in[0] : NULL;
    w.groups = (w.n + MAX_PORTS - 1) / MAX_PORTS;
    TRY(check(&w));
    w.axis = (uint32_t)op_int(c, "axis", 0);
    ret->n_parts = w.groups + 1;
    ret->n_between = w.groups;
    ret->parts = arena_array(a, struct wide_part, ret->n_parts);
    ret->between = arena_array(a, struct tensor_desc, ret->n_between);
    if (!ret->parts || !ret->between)
        return out_of_memory(&w);
    for (uint32_t g = 0; g < w.groups; g++)
        ret->between[g] = *w.whole;
    return (joins(c) ? plan_join(&w, ret) : plan_split(&w, ret)) ? ST_OK : out_of_memory(&w);
}

struct op_call wide_call(const struct op_call *c, const struct wide_plan *p, uint32_t part, const struct tensor_desc **in,
                         const struct tensor_desc **out)
{
    const struct wide_part *w = &p->parts[part];
    for (uint32_t i = 0; i < w->n_in; i++)
        in[i] = w->in[i] >= WIDE_BETWEEN ? &p->between[w->in[i] - WIDE_BETWEEN] : c->in[w->in[i]];
    for (uint32_t i = 0; i < w->n_out; i++)
        out[i] = w->out[i] >= WIDE_BETWEEN ? &p->between[w->out[i] - WIDE_BETWEEN] : c->out[w->out[i]];
    return (struct op_call){ .op = w->op,
                             .node = c->node,
                             .n_in = w->n_in,
                             .n_out = w->n_out,
                             .in = in,
                             .out = out,
                             .params = w->params,
                             .post = OP_POST_NONE };
}
