/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization. Constant scales and zero points become encodings of tensors; where they are computed at run time the
 * arithmetic is written out.
 *
 *     x -> QuantizeLinear -> DequantizeLinear -> Conv -> QuantizeLinear
 * becomes
 *     x -> Quantize -> Conv2d (fixed point)
 */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx_quant.h"

static const enum dtype fixed_of[DT_COUNT] = {
    [DT_U8] = DT_UQ8,   [DT_I8] = DT_SQ8,  [DT_U16] = DT_UQ16, [DT_I16] = DT_SQ16, [DT_I32] = DT_SQ32,
    [DT_U32] = DT_UQ32, [DT_SQ4] = DT_SQ4, [DT_UQ4] = DT_UQ4,  [DT_SQ2] = DT_SQ2,  [DT_UQ2] = DT_UQ2,
};

bool onnx_plain_const(const struct onnx_value *v)
{
    return v && onnx_is_const(v) && !v->view;
}

/* The encoding for a tensor of `rank` dimensions; false when it cannot be one. */
bool onnx_encoding(struct onnx_cx *cx, const struct onnx_quant *p, uint32_t rank, const uint32_t *dims,
                   struct tensor_desc *ret)
{
    if (!onnx_plain_const(p->scale) || (p->zero && !onnx_plain_const(p->zero)) || p->block || !fixed_of[p->type])
        return false;
    uint64_t n = onnx_count(p->scale);
    int64_t axis = p->axis < 0 ? p->axis + rank : p->axis;
    if (n == 0 || n > UINT32_MAX || (p->zero && onnx_count(p->zero) != n) ||
        (n > 1 && (axis < 0 || axis >= rank || dims[axis] != n)))
        return false;
    ret->type = fixed_of[p->type];
    ret->q = (struct quant){ .kind = Q_TENSOR,
                             .definition = 1,
                             .scale = (float)number_get(p->scale->stored, p->scale->data, 0),
                             .offset = p->zero ? (int32_t)-number_get_int(p->zero->stored, p->zero->data, 0) : 0 };
    if (n == 1)
        return ret->q.scale > 0;
    float *scales = arena_array(&cx->arena, float, n);
    int32_t *offsets = arena_array(&cx->arena, int32_t, n);
    if (!scales || !offsets)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        scales[i] = (float)number_get(p->scale->stored, p->scale->data, i);
        offsets[i] = p->zero ? (int32_t)-number_get_int(p->zero->stored, p->zero->data, i) : 0;
        if (!(scales[i] > 0))
            return false;
    }
    ret->q = (struct quant){
        .kind = Q_AXIS, .definition = 1, .axis = (int32_t)axis, .n = (uint32_t)n, .scales = scales, .offsets = offsets
    };
    return true;
}

/* ---- arithmetic written out --------------------------------------------------------------------------------------- */

/* Scale or zero point in a shape that broadcasts with x. Blocks are repeated along their axis. */
enum status onnx_spread(struct onnx_cx *cx, struct onnx_value *v, const struct onnx_value *x, const struct onnx_quant *p,
                        uint32_t *ret)
{
    uint32_t dims[MAX_RANK], axis, t;
    TRY(onnx_tensor(cx, v, NULL, &t));
    TRY(onnx_cast(cx, "real", t, p->scale->type == DT_F16 ? DT_F16 : DT_F32, ret));
    if (onnx_count(v) == 1 || x->rank == 0)
        return v->rank ? build_reshape(B, onnx_name(cx, "one"), *ret, 0, dims, ret) : ST_OK;
    TRY(onnx_axis(cx, p->axis, x->rank, &axis));
    if (v->rank == 1) {
        for (uint32_t i = 0; i < x->rank; i++)
            dims[i] = i == axis ? v->dims[0] : 1;
        return build_reshape(B, onnx_name(cx, "channels"), *ret, x->rank, dims, ret);
    }
    RETURN_IF(v->rank != x->rank || p->block < 1, ST_INVALID_OP, "a scale of rank %u for an input of rank %u", v->rank,
              x->rank);
    uint32_t wide[MAX_RANK + 1], times[MAX_RANK + 1], k = 0;
    REFUSE_WHEN(x->rank == MAX_RANK, "block scales of rank %d", MAX_RANK);
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = i == axis ? v->dims[i] * (uint32_t)p->block : v->dims[i];
        times[k] = 1;
        wide[k++] = v->dims[i];
        if (i == axis) {
            times[k] = (uint32_t)p->block;
            wide[k++] = 1;
        }
    }
    RETURN_IF(dims[axis] != x->dims[axis], ST_NOT_SUPPORTED, "%u blocks of %lld do not make the %u elements of the axis",
              v->dims[axis], (long long)p->block, x->dims[axis]);
    TRY(build_reshape(B, onnx_name(cx, "blocks"), *ret, k, wide, ret));
    TRY(build_node(B,
                   &(struct build_spec){ .op = "Tile",
                                         .name = onnx_name(cx, "repeated"),
                                         BUILD_IN(*ret),
                                         .params = { BUILD_U32S("multiples", k, times) } },
                   ret));
    return build_reshape(B, onnx_name(cx, "spread"), *ret, x->rank, dims, ret);
}

/* (x - zero) * scale */
static enum status dequantize_written(struct onnx_cx *cx, struct onnx_value *v, const struct onnx_quant *p, uint32_t *ret)
{
    uint32_t x, s, z;
    enum dtype real = p->scale->type == DT_F16 ? DT_F16 : DT_F32;
    TRY(onnx_tensor(cx, v, NULL, &x));
    TRY(onnx_cast(cx, "float", x, real, &x));
    TRY(onnx_spread(cx, p->scale, v, p, &s));
    if (p->zero) {
        TRY(onnx_spread(cx, p->zero, v, p, &z));
        TRY(build_binary(B, "ElementWiseSubtract", onnx_name(cx, "centered"), x, z, &x));
    }
    return build_binary(B, "ElementWiseMultiply", cx->label, x, s, ret);
}

/* clamp(round(x / scale) + zero), kept in perm; in another order than the source's for one scale only */
enum status onnx_quantize_written(struct onnx_cx *cx, struct onnx_value *v, const struct onnx_quant *p, const uint8_t *perm,
                                  uint32_t *ret)
{
    uint32_t x, s, z;
    REFUSE_WHEN(p->type == DT_NONE, "to a type that no tensor of the graph can have");
    TRY(onnx_tensor(cx, v, perm, &x));
    TRY(onnx_cast(cx, "float", x, p->scale->type == DT_F16 ? DT_F16 : DT_F32, &x));
    TRY(onnx_spread(cx, p->scale, v, p, &s));
    TRY(build_binary(B, "ElementWiseDivide", onnx_name(cx, "steps"), x, s, &x));
    TRY(build_unary(B, "ElementWiseRound", onnx_name(cx, "rounded"), x, &x));
    if (p->zero) {
        TRY(onnx_spread(cx, p->zero, v, p, &z));
        TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "shifted"), x, z, &x));
    }
    TRY(build_node(B,
                   &(struct build_spec){ .op = "ReluMinMax",
                                         .name = onnx_name(cx, "clamped"),
                                         BUILD_IN(x),
                                         .params = { BUILD_F32("min_value", dtype_min(p->type)),
                                                     BUILD_F32("max_value", dtype_max(p->type)) } },
                   &x));
    if (dtype_bits(p->type) < 8) /* a float cannot be packed at once */
        TRY(onnx_cast(cx, "byte", x, dtype_kind(p->type) == DK_SFIXED ? DT_I8 : DT_U8, &x));
    return onnx_cast(cx, "stored", x, p->type, ret);
}

/* ---- views -------------------------------------------------------------------------------------------------------- */

/* v, seen as real numbers. Constants and tensors that carry the encoding already cost nothing; anything else goes through
 * one node or is written out. */
enum status onnx_dequantized(struct onnx_cx *cx, struct onnx_value *v, const struct onnx_quant *p, struct onnx_value **ret)
{
    struct tensor_desc d = {0};
    struct onnx_value *r = arena_new(&cx->arena, struct onnx_value);
    RETURN_IF(!r, ST_NO_MEMORY, "no memory for a value");
    *r = *v;
    r->type = p->scale->type == DT_F16 ? DT_F16 : DT_F32;
    r->real = IR_NONE;
    *ret = r;
    if (!v->view && onnx_encoding(cx, p, v->rank, v->dims, &d)) {
        r->view = true;
        r->stored = d.type;
        if (onnx_is_const(v)) {
            struct quant *q = arena_dup(&cx->arena, &d.q, sizeof(d.q));
            RETURN_IF(!q, ST_NO_MEMORY, "no memory for an encoding");
            r->q = q;
            r->tensor = IR_NONE;
            return ST_OK;
        }
        const struct tensor_desc *have = build_desc(B, v->tensor);
        struct quant want = d.q;
        if (want.kind == Q_AXIS)
            want.axis = (int32_t)onnx_at(v->perm, v->rank, (uint32_t)want.axis);
        if (have->type == d.type && quant_same(&have->q, &want))
            return ST_OK;
        if (dtype_bits(d.type) <= 16) { /* the same stored numbers, with an encoding */
            uint32_t t;
            d.q = want;
            struct tensor_desc out = {.type = d.type, .q = d.q};
            TRY(onnx_stored(cx, v, v->perm, &t));
            TRY(build_cast(B, onnx_name(cx, "stored"), t, build_plain(build_desc(B, t)->type), &t));
            TRY(build_node(B,
                           &(struct build_spec){ .op = "Cast", .name = onnx_name(cx, "encoded"), BUILD_IN(t), .out = &out },
                           &r->tensor));
            return ST_OK;
        }
    }
    r->view = false;
    r->data = NULL;
    r->q = NULL;
    perm_identity(r->perm, MAX_RANK);
    TRY(dequantize_written(cx, v, p, &r->tensor));
    r->stored = build_desc(B, r->tensor)->type;
    return ST_OK;
}

enum status onnx_quant_params(struct onnx_cx *cx, const struct onnx_node *n, uint32_t first, struct onnx_quant *p)
{
    *p = (struct onnx_quant){ .axis = onnx_attr_int(cx, n, "axis", 1), .block = onnx_attr_int(cx, n, "block_size", 0) };
    TRY(onnx_in(cx, n, first, &p->scale));
    return onnx_in_opt(cx, n, first + 1, &p->zero);
}

static enum status convert_dequantize(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *r;
    struct onnx_quant p;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_quant_params(cx, n, 1, &p));
    p.type = v->type;
    TRY(onnx_dequantized(cx, v, &p, &r));
    return onnx_out_view(cx, n, 0, r, NULL);
}

/* The type that a QuantizeLinear gives. */
static enum dtype quantized_type(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_quant *p)
{
    int32_t elem = (int32_t)onnx_attr_int(cx, n, "output_dtype", 0);
    return p->zero ? p->zero->type : elem ? onnx_dtype(elem) : DT_U8;
}

static enum status convert_quantize(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    struct onnx_quant p;
    struct tensor_desc d = {0};
    uint32_t x, y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_quant_params(cx, n, 1, &p));
    p.type = quantized_type(cx, n, &p);
    if (!onnx_encoding(cx, &p, v->rank, v->dims, &d) || dtype_bits(d.type) < 8 || dtype_bits(d.type) > 16 ||
        (v->type != DT_F32 && v->type != DT_F16)) {
        TRY(onnx_quantize_written(cx, v, &p, NULL, &y));
        TRY(onnx_out(cx, n, 0, y, NULL));
        onnx_out_type(cx, n, 0, p.type);
        return ST_OK;
    }
    if (d.q.kind == Q_AXIS)
        d.q.axis = (int32_t)onnx_at(v->perm, v->rank, (uint32_t)d.q.axis);
    const struct tensor_desc *have = v->view && v->tensor != IR_NONE ? build_desc(B, v->tensor) : NULL;
    if (have && have->type == d.type && quant_same(&have->q, &d.q)) {
        TRY(onnx_out_view(cx, n, 0, v, NULL));
        struct onnx_value *r = onnx_find(cx, n->out[0]);
        r->view = false;
    } else {
        bool fixed = v->view && v->tensor != IR_NONE && have->q.kind == Q_TENSOR && d.q.kind == Q_TENSOR &&
                     dtype_bits(have->type) <= 16 && dtype_bits(have->type) >= 8;
        TRY(fixed ? onnx_stored(cx, v, v->perm, &x) : onnx_tensor(cx, v, v->perm, &x));
        TRY(build_node(
            B, &(struct build_spec){ .op = fixed ? "Convert" : "Quantize", .name = cx->label, BUILD_IN(x), .out = &d }, &y));
        TRY(onnx_out(cx, n, 0, y, v->perm));
    }
    onnx_out_type(cx, n, 0, p.type);
    return ST_OK;
}

/* ---- what surrounds a node ---------------------------------------------------------------------------------------- */

static bool quantize_encoding(struct onnx_cx *cx, const struct onnx_node *n, struct tensor_desc *ret)
{
    struct onnx_quant p = { .axis = 1 };
    if (!onnx_has(n, 1))
        return false;
    p.scale = onnx_find(cx, n->in[1]);
    p.zero = onnx_has(n, 2) ? onnx_find(cx, n->in[2]) : NULL;
    if (!p.scale || (onnx_has(n, 2) && !p.zero))
        return false;
    p.type = quantized_type(cx, n, &p);
    *ret = (struct tensor_desc){0};
    return onnx_count(p.scale) == 1 && onnx_encoding(cx, &p, 0, NULL, ret) && dtype_bits(ret->type) >= 8 &&
           dtype_bits(ret->type) <= 16;
}

/* The only reader of a value at the top of the model, or NULL. */
static const struct onnx_node *only_reader(struct onnx_cx *cx, const char *name)
{
    const struct onnx_entry *e = cx->scope->parent ? NULL : onnx_entry(cx, "", name, false);
    if (!e || !e->uses || e->uses->next || (e->value && e->value->output))
        return NULL;
    return e->uses->node;
}

bool onnx_fixed_output(struct onnx_cx *cx, const struct onnx_node *n, struct tensor_desc *ret)
{
    for (unsigned steps = 0; steps < 3; steps++) {
        for (uint32_t i = 1; i < n->n_out; i++)
            if (n->out[i][0])
                return false;
        const struct onnx_node *reader = n->n_out ? only_reader(cx, n->out[0]) : NULL;
        if (!reader)
            return false;
        if (!strcmp(reader->op, "QuantizeLinear") && !strcmp(reader->in[0], n->out[0]))
            return quantize_encoding(cx, reader, ret);
        const struct onnx_row *r = onnx_row_find(reader->op);
        if (!r || !(r->flags & ONNX_CLAMP))
            return false;
        n = reader; /* Conv, Relu, QuantizeLinear: the clamp's encoding serves the convolution */
    }
    return false;
}

bool onnx_fixed_inputs(struct onnx_cx *cx, const struct onnx_node *n)
{
    bool any = false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct onnx_value *v = n->in[i][0] ? onnx_find(cx, n->in[i]) : NULL;
        if (!n->in[i][0])
            continue;
        if (!v || v->type == DT_NONE)
            return false;
        if (v->view)
            any |= !onnx_is_const(v);
        else if (dtype_is_float(v->type) && !(!strcmp(n->op, "Clip") && onnx_is_const(v)))
            return false;
    }
    return any;
}

const struct onnx_row onnx_rows_quant[] = {
    { "QuantizeLinear", ONNX_FREE | ONNX_RETYPES, convert_quantize, NULL },
    { "DequantizeLinear", ONNX_FREE | ONNX_RETYPES, convert_dequantize, NULL },
    { 0 },
};
