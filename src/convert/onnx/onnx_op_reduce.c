/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, extremes and running sums along axes. */
#include <string.h>

#include "convert/onnx/onnx.h"

struct reduction {
    struct onnx_value *v;
    uint32_t x, mask, n_axes, axes[MAX_RANK];
    bool keep, nothing; /* nothing: no axis at all, by request */
    uint8_t perm[MAX_RANK];
};

static enum status read_axes(struct onnx_cx *cx, const struct onnx_node *n, struct reduction *r)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "axes");
    struct onnx_value *list;
    int64_t *axes = a ? a->ints : NULL;
    uint32_t k = a ? a->n_ints : 0, at;
    TRY(onnx_in(cx, n, 0, &r->v));
    TRY(onnx_in_opt(cx, n, 1, &list));
    if (list)
        TRY(onnx_ints(cx, list, "axes", &axes, &k));
    r->mask = 0;
    for (uint32_t i = 0; i < k; i++) {
        TRY(onnx_axis(cx, axes[i], r->v->rank, &at));
        r->mask |= 1u << at;
    }
    r->nothing = k == 0 && onnx_attr_int(cx, n, "noop_with_empty_axes", 0);
    if (k == 0 && !r->nothing)
        r->mask = (1u << r->v->rank) - 1;
    return ST_OK;
}

static enum status begin(struct onnx_cx *cx, const struct onnx_node *n, struct reduction *r)
{
    TRY(read_axes(cx, n, r));
    r->keep = onnx_attr_int(cx, n, "keepdims", 1);
    TRY(onnx_tensor(cx, r->v, r->v->perm, &r->x));
    r->n_axes = 0;
    for (uint32_t i = 0; i < r->v->rank; i++)
        if (r->mask >> r->v->perm[i] & 1)
            r->axes[r->n_axes++] = i;
    if (r->keep)
        memcpy(r->perm, r->v->perm, sizeof(r->perm));
    else
        onnx_drop_dims(r->v->perm, r->v->rank, r->mask, r->perm);
    return ST_OK;
}

static enum status emit(struct onnx_cx *cx, const struct reduction *r, const char *op, const char *name, bool keep,
                        uint32_t x, uint32_t *ret)
{
    *ret = x;
    if (r->n_axes == 0)
        return ST_OK;
    return onnx_emit(
        cx,
        (struct build_spec){ .op = op,
                             .name = name,
                             BUILD_IN(x),
                             .params = { BUILD_U32S("axes", r->n_axes, r->axes), BUILD_B8("keep_dims", keep) } },
        ret);
}

static enum status end(struct onnx_cx *cx, const struct onnx_node *n, const struct reduction *r, uint32_t y)
{
    if (y == r->x)
        return onnx_out_view(cx, n, 0, r->v, NULL);
    TRY(onnx_out(cx, n, 0, y, r->perm));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, r->v->type);
    return ST_OK;
}

static enum status convert_reduce(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct reduction r;
    uint32_t y;
    TRY(begin(cx, n, &r));
    TRY(emit(cx, &r, onnx_row_arg(n), cx->label, r.keep, r.x, &y));
    return end(cx, n, &r, y);
}

static enum status convert_sum_square(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct reduction r;
    uint32_t y;
    TRY(begin(cx, n, &r));
    if (r.nothing)
        TRY(build_binary(B, "ElementWiseMultiply", cx->label, r.x, r.x, &y));
    else
        TRY(emit(cx, &r, "ReduceSumSquare", cx->label, r.keep, r.x, &y));
    return end(cx, n, &r, y);
}

static enum status convert_l1(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct reduction r;
    uint32_t y;
    TRY(begin(cx, n, &r));
    TRY(build_unary(B, "ElementWiseAbs", onnx_name(cx, "abs"), r.x, &y));
    TRY(emit(cx, &r, "ReduceSum", cx->label, r.keep, y, &y));
    return end(cx, n, &r, y);
}

static enum status convert_l2(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct reduction r;
    uint32_t y;
    TRY(begin(cx, n, &r));
    if (r.nothing)
        TRY(build_unary(B, "ElementWiseAbs", cx->label, r.x, &y));
    else {
        TRY(emit(cx, &r, "ReduceSumSquare", onnx_name(cx, "squares"), r.keep, r.x, &y));
        TRY(build_unary(B, "ElementWiseSquareRoot", cx->label, y, &y));
    }
    return end(cx, n, &r, y);
}

static enum status convert_log_sum(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct reduction r;
    uint32_t y;
    TRY(begin(cx, n, &r));
    TRY(emit(cx, &r, "ReduceSum", onnx_name(cx, "sum"), r.keep, r.x, &y));
    TRY(build_unary(B, "ElementWiseLog", cx->label, y, &y));
    return end(cx, n, &r, y);
}

/* max + log(sum(exp(x - max))), so that nothing overflows */
static enum status convert_log_sum_exp(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct reduction r;
    uint32_t max, y;
    TRY(begin(cx, n, &r));
    if (r.nothing)
        return onnx_out_view(cx, n, 0, r.v, NULL);
    TRY(emit(cx, &r, "ReduceMax", onnx_name(cx, "max"), true, r.x, &max));
    TRY(build_binary(B, "ElementWiseSubtract", onnx_name(cx, "below"), r.x, max, &y));
    TRY(build_unary(B, "ElementWiseExp", onnx_name(cx, "exp"), y, &y));
    TRY(emit(cx, &r, "ReduceSum", onnx_name(cx, "sum"), r.keep, y, &y));
    TRY(build_unary(B, "ElementWiseLog", onnx_name(cx, "log"), y, &y));
    const struct tensor_desc *d = build_desc(B, y);
    TRY(build_reshape(B, onnx_name(cx, "max_shape"), max, d->rank, d->dims, &max));
    TRY(build_binary(B, "ElementWiseAdd", cx->label, y, max, &y));
    return end(cx, n, &r, y);
}

/* ---- positions ---------------------------------------------------------------------------------------------------- */

static enum status reverse(struct onnx_cx *cx, uint32_t x, uint32_t axis, uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, x);
    int32_t ranges[3 * MAX_RANK];
    for (uint32_t i = 0; i < d.rank; i++) {
        ranges[3 * i] = i == axis ? (int32_t)d.dims[i] - 1 : 0;
        ranges[3 * i + 1] = i == axis ? -1 : (int32_t)d.dims[i];
        ranges[3 * i + 2] = i == axis ? -1 : 1;
    }
    return build_node(B,
                      &(struct build_spec){ .op = "StridedSlice",
                                            .name = onnx_name(cx, "reversed"),
                                            BUILD_IN(x),
                                            .params = { BUILD_RANGES("ranges", d.rank, ranges) } },
                      ret);
}

static enum status convert_arg(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, axis, at, y, last;
    uint8_t perm[MAX_RANK];
    bool keep = onnx_attr_int(cx, n, "keepdims", 1), from_end = onnx_attr_int(cx, n, "select_last_index", 0);
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 0), v->rank, &axis));
    TRY(onnx_tensor(cx, v, v->perm, &x));
    at = onnx_at(v->perm, v->rank, axis);
    if (from_end)
        TRY(reverse(cx, x, at, &x));
    struct tensor_desc d = {.type = DT_I64};
    TRY(build_node(B, &(struct build_spec){.op = onnx_row_arg(n), .name = cx->label, BUILD_IN(x), .out = &d,
                                           .params = {BUILD_U32("axis", at), BUILD_B8("keep_dims", keep)}}, &y));
    if (from_end) {
        TRY(build_scalar(B, onnx_name(cx, "last"), DT_I64, v->dims[axis] - 1.0, &last));
        TRY(build_binary(B, "ElementWiseSubtract", onnx_name(cx, "from_end"), last, y, &y));
    }
    if (keep)
        memcpy(perm, v->perm, sizeof(perm));
    else
        onnx_drop_dims(v->perm, v->rank, 1u << axis, perm);
    return onnx_out(cx, n, 0, y, perm);
}

static enum status convert_top_k(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *kv;
    int64_t k = onnx_attr_int(cx, n, "k", 0), *list;
    uint32_t count, x, axis, y[2];
    uint8_t perm[MAX_RANK];
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in_opt(cx, n, 1, &kv));
    if (kv) {
        TRY(onnx_ints(cx, kv, "K", &list, &count));
        k = count ? list[0] : 0;
    }
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", -1), v->rank, &axis));
    for (uint32_t i = 0; i < v->rank; i++) /* the axis goes to the end */
        perm[i] = (uint8_t)(i + 1 == v->rank ? axis : i < axis ? i : i + 1);
    TRY(onnx_tensor(cx, v, perm, &x));
    struct tensor_desc d[2] = {{.type = DT_NONE}, {.type = DT_I64}};
    TRY(build_node(
        B,
        &(struct build_spec){ .op = "TopK",
                              .name = cx->label,
                              BUILD_IN(x),
                              .n_out = 2,
                              .out = d,
                              .params = { BUILD_U32("k", k), BUILD_B8("largest", onnx_attr_int(cx, n, "largest", 1)) } },
        y));
    TRY(onnx_out(cx, n, 0, y[0], perm));
    onnx_out_type(cx, n, 0, v->type);
    return onnx_out(cx, n, 1, y[1], perm);
}

static enum status convert_cum_sum(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *av;
    int64_t *list;
    uint32_t count, x, axis, y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &av));
    TRY(onnx_ints(cx, av, "axis", &list, &count));
    RETURN_IF(count != 1, ST_INVALID_OP, "\"axis\" has %u entries; one is expected", count);
    TRY(onnx_axis(cx, list[0], v->rank, &axis));
    TRY(onnx_tensor(cx, v, v->perm, &x));
    TRY(build_node(B, &(struct build_spec){.op = "CumulativeSum", .name = cx->label, BUILD_IN(x),
                                           .params = {BUILD_U32("axis", onnx_at(v->perm, v->rank, axis)),
                                                      BUILD_B8("exclusive", onnx_attr_int(cx, n, "exclusive", 0)),
                                                      BUILD_B8("reverse", onnx_attr_int(cx, n, "reverse", 0))}}, &y));
    TRY(onnx_out(cx, n, 0, y, v->perm));
    onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

/* y[i] = x[i - by], ones in front */
static enum status moved(struct onnx_cx *cx, uint32_t x, uint32_t axis, uint32_t by, uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, x);
    uint32_t pads[2 * MAX_RANK] = {0};
    int32_t ranges[3 * MAX_RANK];
    for (uint32_t i = 0; i < d.rank; i++) {
        ranges[3 * i] = 0;
        ranges[3 * i + 1] = (int32_t)(i == axis ? d.dims[i] - by : d.dims[i]);
        ranges[3 * i + 2] = 1;
    }
    pads[2 * axis] = by;
    TRY(build_node(B,
                   &(struct build_spec){ .op = "StridedSlice",
                                         .name = onnx_name(cx, "front"),
                                         BUILD_IN(x),
                                         .params = { BUILD_RANGES("ranges", d.rank, ranges) } },
                   ret));
    return build_node(B,
                      &(struct build_spec){ .op = "Pad",
                                            .name = onnx_name(cx, "moved"),
                                            BUILD_IN(*ret),
                                            .params = { BUILD_U32("scheme", 0), BUILD_PAIRS("pad_amount", d.rank, pads),
                                                        BUILD_F32("pad_constant_value", 1) } },
                      ret);
}

/* Every round multiplies with what lies twice as far back: after log2(n) of them all that is before is in the product. */
static enum status convert_cum_prod(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *av;
    int64_t *list;
    uint32_t count, x, axis, t, size;
    bool backwards = onnx_attr_int(cx, n, "reverse", 0);
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &av));
    TRY(onnx_ints(cx, av, "axis", &list, &count));
    RETURN_IF(count != 1, ST_INVALID_OP, "\"axis\" has %u entries; one is expected", count);
    TRY(onnx_axis(cx, list[0], v->rank, &axis));
    TRY(onnx_tensor(cx, v, NULL, &x));
    size = v->dims[axis];
    if (backwards)
        TRY(reverse(cx, x, axis, &x));
    if (onnx_attr_int(cx, n, "exclusive", 0) && size > 1)
        TRY(moved(cx, x, axis, 1, &x));
    else
        REFUSE_WHEN(onnx_attr_int(cx, n, "exclusive", 0), "an exclusive product along a dimension of one element");
    for (uint64_t by = 1; by < size; by *= 2) {
        TRY(moved(cx, x, axis, (uint32_t)by, &t));
        TRY(build_binary(B, "ElementWiseMultiply", onnx_name(cx, "product"), x, t, &x));
    }
    if (backwards)
        TRY(reverse(cx, x, axis, &x));
    return onnx_out(cx, n, 0, x, NULL);
}

const struct onnx_row onnx_rows_reduce[] = {
    {"ReduceMax", ONNX_FIXED, convert_reduce, "ReduceMax"},
    {"ReduceMin", ONNX_FIXED, convert_reduce, "ReduceMin"},
    {"ReduceMean", ONNX_FIXED, convert_reduce, "ReduceMean"},
    {"ReduceSum", ONNX_FIXED, convert_reduce, "ReduceSum"},
    {"ReduceProd", 0, convert_reduce, "ReduceProd"},
    {"ReduceSumSquare", 0, convert_sum_square, NULL},
    {"ReduceL1", 0, convert_l1, NULL},
    {"ReduceL2", 0, convert_l2, NULL},
    {"ReduceLogSum", 0, convert_log_sum, NULL},
    {"ReduceLogSumExp", 0, convert_log_sum_exp, NULL},
    {"ArgMax", 0, convert_arg, "Argmax"},
    {"ArgMin", 0, convert_arg, "Argmin"},
    {"TopK", 0, convert_top_k, NULL},
    {"CumSum", 0, convert_cum_sum, NULL},
    {"CumProd", 0, convert_cum_prod, NULL},
    {0},
};
