/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, options and outputs of the operator at hand, as the lowerings see them. */
#include "convert/tflite/tfl_lower.h"

#include <math.h>
#include <string.h>

/* ---- inputs --------------------------------------------------------------------------------------------------------- */

uint32_t tfl_number(struct fb_vec v, uint32_t k)
{
    return k < v.n ? (uint32_t)fb_at_int(v, k, 4) : IR_NONE; /* -1 is IR_NONE too */
}

bool tfl_has(const struct tfl_cx *cx, uint32_t k)
{
    return tfl_number(cx->op->in, k) != IR_NONE;
}

const struct tfl_tensor *tfl_source(const struct tfl_cx *cx, uint32_t k)
{
    uint32_t t = tfl_number(cx->op->in, k);
    return t == IR_NONE ? NULL : &cx->scope->g.tensors[t];
}

struct tensor_desc *tfl_desc(struct tfl_cx *cx, uint32_t t)
{
    return build_desc(&cx->b, t);
}

enum status tfl_charge(struct tfl_cx *cx, uint64_t bytes)
{
    return fb_charge(&cx->m.fb, bytes) ? ST_OK : fb_status(&cx->m.fb);
}

static bool aligned(const void *p, enum dtype t)
{
    unsigned bytes = dtype_bits(t) / 8;
    return bytes <= 1 || (uintptr_t)p % bytes == 0;
}

static enum status add_const(struct tfl_cx *cx, const struct tfl_tensor *x, uint32_t *ret)
{
    bool borrow = aligned(x->data, x->desc.type);
    if (!borrow)
        TRY(tfl_charge(cx, desc_bytes(&x->desc)));
    return build_const(&cx->b, x->name, &x->desc, x->data, borrow, ret);
}

enum status tfl_opt(struct tfl_cx *cx, uint32_t k, uint32_t *ret)
{
    uint32_t t = tfl_number(cx->op->in, k);
    *ret = IR_NONE;
    if (t == IR_NONE)
        return ST_OK;
    const struct tfl_tensor *x = &cx->scope->g.tensors[t];
    uint32_t *at = &cx->scope->map[t];
    TFL_REFUSE_IF(x->why, "input %u (\"%s\") cannot be used: %s", k, x->name, x->why);
    if (*at == IR_NONE && x->variable && !x->data)
        return tfl_state_read(cx, k, ret);
    if (*at == IR_NONE && x->sparsity.b)
        TRY(tfl_dense_const(cx, x, at));
    TFL_REFUSE_IF(*at == IR_NONE && !x->data,
                  "input %u (\"%s\") is made by no operator before this one, or by one that is refused", k, x->name);
    if (*at == IR_NONE)
        TRY(add_const(cx, x, at));
    *ret = *at;
    return ST_OK;
}

enum status tfl_result(struct tfl_cx *cx, uint32_t t, uint32_t *ret)
{
    const struct tfl_tensor *x = &cx->scope->g.tensors[t];
    uint32_t *at = &cx->scope->map[t];
    if (*at == IR_NONE && x->data && !x->why)
        TRY(add_const(cx, x, at));
    TFL_REFUSE_IF(*at == IR_NONE, "output \"%s\" of a subgraph is never computed", x->name);
    *ret = *at;
    return ST_OK;
}

enum status tfl_in(struct tfl_cx *cx, uint32_t k, uint32_t *ret)
{
    TRY(tfl_opt(cx, k, ret));
    TFL_REFUSE_IF(*ret == IR_NONE, "input %u is missing; the operator has %u", k, cx->op->in.n);
    return ST_OK;
}

enum status tfl_ints(struct tfl_cx *cx, uint32_t k, int64_t *ret, uint32_t max, uint32_t *ret_n)
{
    uint32_t t;
    TRY(tfl_in(cx, k, &t));
    const struct tensor_desc *d = tfl_desc(cx, t);
    const void *data = build_data(&cx->b, t);
    uint64_t n = desc_count(d);
    TFL_REFUSE_IF(!data, "input %u (\"%s\") is computed at run time; a constant is expected", k, tfl_source(cx, k)->name);
    TFL_REFUSE_IF(dtype_kind(d->type) != DK_INT && dtype_kind(d->type) != DK_UINT,
                  "input %u is of type %s; an integer type is expected", k, dtype_name(d->type));
    TFL_REFUSE_IF(n > max, "input %u has %llu values; at most %u are expected", k, (unsigned long long)n, max);
    for (uint32_t i = 0; i < n; i++)
        ret[i] = number_get_int(d->type, data, i);
    *ret_n = (uint32_t)n;
    return ST_OK;
}

bool tfl_known(struct tfl_cx *cx, uint32_t k)
{
    uint32_t t = tfl_number(cx->op->in, k), at = t == IR_NONE ? IR_NONE : cx->scope->map[t];
    return t != IR_NONE && (cx->scope->g.tensors[t].data || (at != IR_NONE && build_data(&cx->b, at)));
}

enum status tfl_int(struct tfl_cx *cx, uint32_t k, int64_t *ret)
{
    uint32_t n;
    TRY(tfl_ints(cx, k, ret, 1, &n));
    return ST_OK;
}

enum status tfl_real(struct tfl_cx *cx, uint32_t k, double *ret)
{
    uint32_t t;
    TRY(tfl_in(cx, k, &t));
    const struct tensor_desc *d = tfl_desc(cx, t);
    const void *data = build_data(&cx->b, t);
    TFL_REFUSE_IF(!data || desc_count(d) != 1, "input %u (\"%s\") is not a constant of one value, as is expected", k,
                  tfl_source(cx, k)->name);
    *ret = number_get(build_plain(d->type), data, 0);
    if (dtype_is_fixed(d->type))
        *ret = (*ret + quant_offset(&d->q, 0)) * (double)quant_scale(&d->q, 0);
    return ST_OK;
}

enum status tfl_axis(struct tfl_cx *cx, int64_t axis, uint32_t rank, uint32_t *ret)
{
    (void)cx;
    TFL_REFUSE_IF(axis < -(int64_t)rank || axis >= rank, "axis %lld of a tensor of rank %u; %d … %d are possible",
                  (long long)axis, rank, -(int)rank, (int)rank - 1);
    *ret = (uint32_t)(axis < 0 ? axis + rank : axis);
    return ST_OK;
}

/* ---- options -------------------------------------------------------------------------------------------------------- */

int64_t tfl_option(const struct tfl_cx *cx, unsigned field, int64_t absent)
{
    return fb_int(cx->op->options, field, 4, absent);
}

bool tfl_flag(const struct tfl_cx *cx, unsigned field)
{
    return fb_int(cx->op->options, field, 1, 0) != 0;
}

enum tfl_activation tfl_activation(const struct tfl_cx *cx, unsigned field)
{
    return (enum tfl_activation)(uint8_t)fb_int(cx->op->options, field, 1, 0);
}

/* ---- outputs -------------------------------------------------------------------------------------------------------- */

const char *tfl_name(struct tfl_cx *cx, const char *part)
{
    const char *s = arena_printf(&cx->m.arena, "%s_%s", cx->node, part);
    return s ? s : part;
}

const struct tensor_desc *tfl_out_desc(const struct tfl_cx *cx, uint32_t k)
{
    static const struct tensor_desc none;
    uint32_t t = tfl_number(cx->op->out, k);
    return t == IR_NONE ? &none : &cx->scope->g.tensors[t].desc;
}

bool tfl_out_open(const struct tfl_cx *cx)
{
    uint32_t t = tfl_number(cx->op->out, 0);
    return cx->resized || (t != IR_NONE && cx->scope->g.tensors[t].open);
}

void tfl_set_empty(struct tfl_cx *cx, bool empty)
{
    uint32_t t = tfl_number(cx->op->out, 0);
    if (t != IR_NONE)
        cx->scope->g.tensors[t].empty = empty;
}

bool tfl_complex_out(const struct tfl_cx *cx)
{
    uint32_t t = tfl_number(cx->op->out, 0);
    return t != IR_NONE && cx->scope->g.tensors[t].complex;
}

/* Scalars come with rank 0 or as one element. */
static bool same_shape(const struct tensor_desc *a, const struct tensor_desc *b)
{
    return desc_same_shape(a, b) || (a->rank <= 1 && b->rank <= 1 && desc_count(a) == 1 && desc_count(b) == 1);
}

enum status tfl_bind(struct tfl_cx *cx, uint32_t k, uint32_t t)
{
    char got[DESC_TEXT_MAX], want[DESC_TEXT_MAX];
    uint32_t at = tfl_number(cx->op->out, k);
    if (at == IR_NONE)
        return ST_OK;
    const struct tfl_tensor *x = &cx->scope->g.tensors[at];
    TFL_REFUSE_IF(x->why, "output %u (\"%s\") cannot be expressed: %s", k, x->name, x->why);
    TFL_REFUSE_IF(cx->scope->map[at] != IR_NONE || x->data, "output %u (\"%s\") is written twice; the file is damaged", k,
                  x->name);
    const struct tensor_desc *d = tfl_desc(cx, t);
    TFL_REFUSE_IF(d->type != build_type(&cx->b, x->desc.type),
                  "output %u (\"%s\") is %s in the file, but %s follows from the inputs", k, x->name,
                  desc_text(&x->desc, want), desc_text(d, got));
    TFL_REFUSE_IF(!cx->resized && !x->open && !same_shape(d, &x->desc),
                  "output %u (\"%s\") is %s in the file, but %s follows from the inputs", k, x->name,
                  desc_text(&x->desc, want), desc_text(d, got));
    cx->scope->map[at] = t;
    return ST_OK;
}

/* An output that gets a cast behind it leaves its name to that. */
static bool name_is_for_cast(struct tfl_cx *cx, uint32_t t)
{
    bool found = false;
    if (!cx->b.float16 || cx->depth || !convert_keeps_type(&cx->b.g->arena, cx->opts, cx->scope->g.tensors[t].name))
        return false;
    for (uint32_t k = 0; k < cx->scope->g.out.n && !found; k++)
        found = tfl_number(cx->scope->g.out, k) == t;
    return found;
}

static void rename_output(struct tfl_cx *cx, uint32_t k, uint32_t t)
{
    uint32_t at = tfl_number(cx->op->out, k);
    if (at != IR_NONE && !name_is_for_cast(cx, at))
        build_rename(&cx->b, t, cx->scope->g.tensors[at].name);
}

enum status tfl_emit(struct tfl_cx *cx, struct build_spec *spec)
{
    uint32_t n = spec->n_out ? spec->n_out : 1;
    struct tensor_desc *out = arena_array(&cx->m.arena, struct tensor_desc, n);
    uint32_t *made = arena_array(&cx->m.arena, uint32_t, n);
    RETURN_IF(!out || !made, ST_NO_MEMORY, "no memory for %u outputs", n);
    for (uint32_t i = 0; i < n; i++)
        out[i] = *tfl_out_desc(cx, i);
    spec->name = cx->node;
    if (!spec->out)
        spec->out = out;
    TRY(build_node(&cx->b, spec, made));
    for (uint32_t i = 0; i < n; i++) {
        TRY(tfl_bind(cx, i, made[i]));
        rename_output(cx, i, made[i]);
    }
    return ST_OK;
}

enum status tfl_part(struct tfl_cx *cx, const char *part, struct build_spec *spec, const struct tensor_desc *out,
                     uint32_t *ret)
{
    spec->name = tfl_name(cx, part);
    spec->out = out;
    return build_node(&cx->b, spec, ret);
}

/* ---- fused activations ---------------------------------------------------------------------------------------------- */

static const struct op_post clamps[] = {[ACT_RELU] = {0, INFINITY}, [ACT_RELU_N1_TO_1] = {-1, 1}, [ACT_RELU6] = {0, 6}};

/* Whether no value of the encoding lies outside the clamp: then it is there already. */
static bool clamped_by_encoding(const struct tensor_desc *d, struct op_post p)
{
    if (!dtype_is_fixed(d->type) || d->q.kind != Q_TENSOR)
        return false;
    double lo = ((double)dtype_min(d->type) + d->q.offset) * (double)d->q.scale;
    double hi = ((double)dtype_max(d->type) + d->q.offset) * (double)d->q.scale;
    double half = (double)d->q.scale / 2; /* a bound between two steps is rounded to the nearer one */
    return lo > (double)p.lo - half && hi < (double)p.hi + half;
}

static bool does_nothing(const struct tensor_desc *d, enum tfl_activation act)
{
    return act == ACT_NONE || (act <= ACT_RELU6 && clamped_by_encoding(d, clamps[act]));
}

static const struct build_spec activations[] = {
    [ACT_RELU] = {.op = "Relu"},
    [ACT_RELU_N1_TO_1] = {.op = "ReluMinMax", .params = {BUILD_F32("min_value", -1), BUILD_F32("max_value", 1)}},
    [ACT_RELU6] = {.op = "ReluMinMax", .params = {BUILD_F32("min_value", 0), BUILD_F32("max_value", 6)}},
    [ACT_TANH] = {.op = "Tanh"},
};

static enum status activation_spec(enum tfl_activation act, struct build_spec *ret)
{
    TFL_REFUSE_IF(act > ACT_TANH, "the fused activation %d is not supported; none, Relu, Relu -1 to 1, Relu6 and Tanh are",
                  (int)act);
    *ret = activations[act];
    return ST_OK;
}

enum status tfl_act(struct tfl_cx *cx, uint32_t x, enum tfl_activation act, uint32_t *ret)
{
    struct build_spec spec;
    *ret = x;
    if (act == ACT_NONE)
        return ST_OK;
    TRY(activation_spec(act, &spec));
    spec.in = &x;
    spec.n_in = 1;
    return tfl_part(cx, "act", &spec, NULL, ret);
}

enum status tfl_bind_act(struct tfl_cx *cx, uint32_t k, uint32_t t, enum tfl_activation act)
{
    struct build_spec spec;
    uint32_t y;
    struct tensor_desc d = *tfl_out_desc(cx, k);
    if (does_nothing(&d, act))
        return tfl_bind(cx, k, t);
    TRY(activation_spec(act, &spec));
    spec.in = &t;
    spec.n_in = 1;
    TRY(tfl_part(cx, "act", &spec, &d, &y));
    return tfl_bind(cx, k, y);
}

enum status tfl_emit_act(struct tfl_cx *cx, struct build_spec *spec, enum tfl_activation act)
{
    const struct tensor_desc *out = tfl_out_desc(cx, 0);
    uint32_t t, at = tfl_number(cx->op->out, 0);
    if (does_nothing(out, act))
        return tfl_emit(cx, spec);
    /* Tanh of what another encoding would have cut: without one of its own the sum keeps the output's, as the reference
     * does. */
    TRY(tfl_part(cx, "linear", spec, spec->out ? spec->out : out, &t));
    TRY(tfl_bind_act(cx, 0, t, act));
    if (at != IR_NONE)
        rename_output(cx, 0, cx->scope->map[at]);
    return ST_OK;
}

/* ---- small graphs --------------------------------------------------------------------------------------------------- */

enum status tfl_float(struct tfl_cx *cx, const char *part, uint32_t x, uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_F32};
    enum dtype type = tfl_desc(cx, x)->type;
    *ret = x;
    if (type == build_type(&cx->b, DT_F32))
        return ST_OK;
    return tfl_part(cx, part, &(struct build_spec){ .op = dtype_is_fixed(type) ? "Dequantize" : "Cast", BUILD_IN(x) }, &d,
                    ret);
}

/* One value that can stand beside a tensor like `like`: of its type, or in an encoding that holds the value exactly. */
enum status tfl_scalar(struct tfl_cx *cx, const char *part, const struct tensor_desc *like, double value, uint32_t *ret)
{
    struct tensor_desc d = {.type = like->type == DT_F16 ? DT_F32 : like->type, .rank = 1, .dims = {1}};
    char bytes[8] = {0};
    if (!dtype_is_fixed(like->type)) {
        number_put(d.type, bytes, 0, value);
        return build_const(&cx->b, tfl_name(cx, part), &d, bytes, false, ret);
    }
    d.type = dtype_bits(like->type) == 16 ? DT_SQ16 : DT_SQ8;
    d.q = (struct quant){.kind = Q_TENSOR, .definition = 1, .scale = value != 0 ? (float)fabs(value) : 1.0f};
    number_put(d.type == DT_SQ16 ? DT_I16 : DT_I8, bytes, 0, value > 0 ? 1 : value < 0 ? -1 : 0);
    return build_const(&cx->b, tfl_name(cx, part), &d, bytes, false, ret);
}
