/* SPDX-License-Identifier: Apache-2.0 */
/* Values picked and placed by index. */
#include <string.h>

#include "convert/onnx/onnx.h"

/* Indices as one of the types that QNN takes. */
static enum status index_tensor(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t *ret)
{
    TRY(onnx_in_tensor(cx, n, i, ret));
    enum dtype t = build_desc(B, *ret)->type;
    return t == DT_I32 || t == DT_I64 || t == DT_U32 ? ST_OK : onnx_cast(cx, "index", *ret, DT_I32, ret);
}

static enum status data_tensor(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, struct onnx_value **v,
                               uint32_t *ret)
{
    TRY(onnx_in(cx, n, i, v));
    return onnx_stored(cx, *v, NULL, ret);
}

static enum status convert_gather(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, index, axis, y;
    TRY(data_tensor(cx, n, 0, &v, &x));
    TRY(index_tensor(cx, n, 1, &index));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 0), v->rank, &axis));
    TRY(build_node(
        B,
        &(struct build_spec){ .op = "Gather", .name = cx->label, BUILD_IN(x, index), .params = { BUILD_I32("axis", axis) } },
        &y));
    return onnx_out_like(cx, n, 0, y, NULL, v);
}

static enum status convert_gather_elements(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, index, axis, y;
    TRY(data_tensor(cx, n, 0, &v, &x));
    TRY(index_tensor(cx, n, 1, &index));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 0), v->rank, &axis));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "GatherElements", .name = cx->label, BUILD_IN(x, index), .params = { BUILD_U32("axis", axis) } },
        &y));
    return onnx_out_like(cx, n, 0, y, NULL, v);
}

static enum status convert_gather_nd(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, index, y;
    TRY(data_tensor(cx, n, 0, &v, &x));
    TRY(index_tensor(cx, n, 1, &index));
    TRY(build_node(B, &(struct build_spec){.op = "GatherNd", .name = cx->label, BUILD_IN(x, index),
                                           .params = {BUILD_U32("batch_dims", onnx_attr_int(cx, n, "batch_dims", 0))}}, &y));
    return onnx_out_like(cx, n, 0, y, NULL, v);
}

static enum status reduction(struct onnx_cx *cx, const struct onnx_node *n, uint32_t limit, uint32_t *ret)
{
    static const char *const names[] = {"none", "add", "mul", "max"};
    const char *text = onnx_attr_text(cx, n, "reduction", "none");
    for (*ret = 0; *ret < limit; ++*ret)
        if (!strcmp(names[*ret], text))
            return ST_OK;
    REFUSE("\"reduction\" is %s; QNN has none, add and mul%s", text, limit > 3 ? ", and max" : "");
}

static enum status convert_scatter_elements(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t x, index, updates, axis, kind = 3, y;
    bool min = !strcmp(onnx_attr_text(cx, n, "reduction", "none"), "min"); /* the negative of the largest of negatives */
    if (!min)
        TRY(reduction(cx, n, 4, &kind));
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in_tensor(cx, n, 0, &x));
    TRY(index_tensor(cx, n, 1, &index));
    TRY(onnx_in_tensor(cx, n, 2, &updates));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 0), v->rank, &axis));
    if (min) {
        TRY(build_unary(B, "ElementWiseNeg", onnx_name(cx, "negated"), x, &x));
        TRY(build_unary(B, "ElementWiseNeg", onnx_name(cx, "negated"), updates, &updates));
    }
    TRY(build_node(B, &(struct build_spec){.op = "ScatterElements", .name = cx->label, BUILD_IN(x, index, updates),
                                           .params = {BUILD_U32("axis", axis), BUILD_U32("reduction", kind)}}, &y));
    if (min)
        TRY(build_unary(B, "ElementWiseNeg", onnx_name(cx, "smallest"), y, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

/* Index vectors as positions in the flat tensor: a sum of products with the strides. Each then covers `inner` elements. */
static enum status flat_positions(struct onnx_cx *cx, const struct onnx_value *x, uint32_t index, uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, index);
    uint32_t depth = d.dims[d.rank - 1], last = d.rank - 1u, strides, sizes, zero, below, moved, offsets, inner = 1, flat[1],
             rows[2];
    int32_t step[MAX_RANK], size[MAX_RANK];
    REFUSE_WHEN(depth > x->rank || onnx_count(x) > INT32_MAX, "indices of %u dimensions into a tensor of rank %u", depth,
                x->rank);
    for (uint32_t i = depth; i < x->rank; i++)
        inner *= x->dims[i];
    for (uint32_t i = depth; i-- > 0;) {
        step[i] = i + 1 < depth ? step[i + 1] * (int32_t)x->dims[i + 1] : (int32_t)inner;
        size[i] = (int32_t)x->dims[i];
    }
    TRY(onnx_cast(cx, "index32", index, DT_I32, &index));
    TRY(build_const_i32(B, onnx_name(cx, "strides"), depth, step, &strides));
    TRY(build_const_i32(B, onnx_name(cx, "sizes"), depth, size, &sizes));
    TRY(build_scalar(B, onnx_name(cx, "zero"), DT_I32, 0, &zero));
    TRY(build_binary(B, "ElementWiseLess", onnx_name(cx, "negative"), index, zero, &below));
    TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "wrapped"), index, sizes, &moved));
    TRY(build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "inside"), BUILD_IN(below, moved, index) },
        &index));
    TRY(build_binary(B, "ElementWiseMultiply", onnx_name(cx, "scaled"), index, strides, &index));
    TRY(build_node(B,
                   &(struct build_spec){ .op = "ReduceSum",
                                         .name = onnx_name(cx, "position"),
                                         BUILD_IN(index),
                                         .params = { BUILD_U32S("axes", 1, &last) } },
                   &index));
    rows[0] = (uint32_t)(desc_count(&d) / depth);
    rows[1] = 1;
    int32_t *each = arena_array(&cx->arena, int32_t, inner);
    RETURN_IF(!each, ST_NO_MEMORY, "no memory for positions");
    for (uint32_t i = 0; i < inner; i++)
        each[i] = (int32_t)i;
    TRY(build_reshape(B, onnx_name(cx, "rows"), index, 2, rows, &index));
    TRY(build_const_i32(B, onnx_name(cx, "offsets"), inner, each, &offsets));
    TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "elements"), index, offsets, &index));
    flat[0] = rows[0] * inner;
    return build_reshape(B, onnx_name(cx, "flat_index"), index, 1, flat, ret);
}

static enum status flat(struct onnx_cx *cx, bool negate, uint32_t x, uint32_t *ret)
{
    uint32_t dims[1] = {(uint32_t)desc_count(build_desc(B, x))};
    TRY(build_reshape(B, onnx_name(cx, "flat"), x, 1, dims, ret));
    return negate ? build_unary(B, "ElementWiseNeg", onnx_name(cx, "negated"), *ret, ret) : ST_OK;
}

/* The smallest is the negative of the largest of negatives. */
static enum status scatter_extreme(struct onnx_cx *cx, const struct onnx_node *n, bool min)
{
    enum { MAX = 3 };
    struct onnx_value *v;
    uint32_t x, index, updates, y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in_tensor(cx, n, 0, &x));
    TRY(index_tensor(cx, n, 1, &index));
    TRY(onnx_in_tensor(cx, n, 2, &updates));
    TRY(flat_positions(cx, v, index, &index));
    TRY(flat(cx, min, x, &x));
    TRY(flat(cx, min, updates, &updates));
    TRY(build_node(B, &(struct build_spec){.op = "ScatterElements", .name = cx->label, BUILD_IN(x, index, updates),
                                           .params = {BUILD_U32("axis", 0), BUILD_U32("reduction", MAX)}}, &y));
    if (min)
        TRY(build_unary(B, "ElementWiseNeg", onnx_name(cx, "smallest"), y, &y));
    TRY(build_reshape(B, onnx_name(cx, "shape"), y, v->rank, v->dims, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

static enum status convert_scatter_nd(struct onnx_cx *cx, const struct onnx_node *n)
{
    const char *how = onnx_attr_text(cx, n, "reduction", "none");
    uint32_t x, index, updates, kind, y;
    if (!strcmp(how, "max") || !strcmp(how, "min"))
        return scatter_extreme(cx, n, how[1] == 'i');
    TRY(reduction(cx, n, 3, &kind));
    TRY(onnx_in_tensor(cx, n, 0, &x));
    TRY(index_tensor(cx, n, 1, &index));
    TRY(onnx_in_tensor(cx, n, 2, &updates));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "ScatterNd", .name = cx->label, BUILD_IN(x, index, updates), .params = { BUILD_U32("reduction", kind) } },
        &y));
    return onnx_out(cx, n, 0, y, NULL);
}

/* ---- one hot ------------------------------------------------------------------------------------------------------ */

/* Negative positions count from the end. */
static enum status wrap_index(struct onnx_cx *cx, uint32_t *index, int64_t depth)
{
    enum dtype type = build_desc(B, *index)->type;
    uint32_t zero, size, below, moved;
    TRY(build_scalar(B, onnx_name(cx, "zero"), type, 0, &zero));
    TRY(build_scalar(B, onnx_name(cx, "depth"), type, (double)depth, &size));
    TRY(build_binary(B, "ElementWiseLess", onnx_name(cx, "negative"), *index, zero, &below));
    TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "wrapped"), *index, size, &moved));
    return build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "index"), BUILD_IN(below, moved, *index) },
        index);
}

static enum status convert_one_hot(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *depth, *values, *iv;
    int64_t *depth_list;
    uint32_t k, index, axis, y, on_off[2], t;
    TRY(onnx_in(cx, n, 0, &iv));
    TRY(onnx_in(cx, n, 1, &depth));
    TRY(onnx_in(cx, n, 2, &values));
    TRY(onnx_ints(cx, depth, "depth", &depth_list, &k));
    REFUSE_WHEN(k != 1 || depth_list[0] < 1 || depth_list[0] > UINT32_MAX, "\"depth\" is not one positive number");
    TRY(onnx_tensor(cx, iv, NULL, &index));
    TRY(onnx_cast(cx, "index", index, DT_I32, &index));
    TRY(wrap_index(cx, &index, depth_list[0]));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", -1), iv->rank + 1u, &axis));
    struct tensor_desc truth = {.type = DT_B8};
    TRY(build_node(B, &(struct build_spec){.op = "OneHot", .name = cx->label, BUILD_IN(index), .out = &truth,
                                           .params = {BUILD_U32("depth", depth_list[0]), BUILD_U32("axis", axis)}}, &y));
    TRY(onnx_tensor(cx, values, NULL, &t));
    TRY(build_node(
        B,
        &(struct build_spec){ .op = "Split",
                              .name = onnx_name(cx, "values"),
                              BUILD_IN(t),
                              .n_out = 2,
                              .params = { BUILD_U32("axis", 0), BUILD_U32S("split_index", 1, ((uint32_t[]){ 1 })) } },
        on_off));
    TRY(build_node(B,
                   &(struct build_spec){
                       .op = "ElementWiseSelect", .name = onnx_name(cx, "select"), BUILD_IN(y, on_off[1], on_off[0]) },
                   &y));
    TRY(onnx_out(cx, n, 0, y, NULL));
    onnx_out_type(cx, n, 0, values->type);
    return ST_OK;
}

/* ---- sizes that depend on data ------------------------------------------------------------------------------------ */

/* Only what is known when converting has a known size. */
static enum status convert_non_zero(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    double *x;
    uint32_t count, found = 0, k = 0;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_numbers(cx, v, "X (the size of the output depends on it)", &x, &count));
    for (uint32_t i = 0; i < count; i++)
        found += x[i] != 0;
    uint32_t rank = v->rank ? v->rank : 1;
    int64_t *out = arena_array(&cx->b.g->arena, int64_t, (size_t)rank * found);
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for positions");
    for (uint32_t i = 0; i < count; i++) {
        if (x[i] == 0)
            continue;
        uint64_t rest = i;
        for (uint32_t j = v->rank; j-- > 0;) {
            out[(size_t)j * found + k] = (int64_t)(rest % v->dims[j]);
            rest /= v->dims[j];
        }
        k++;
    }
    return onnx_out_const(cx, n, 0, DT_I64, 2, (uint32_t[]){rank, found}, out);
}

/* Rows of a cache written from a position on, which may differ for every entry of the batch. */
static enum status convert_tensor_scatter(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *u, *w;
    uint32_t x, updates, index, start, size, axis, y, dims[MAX_RANK], times[MAX_RANK];
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &u));
    TRY(onnx_in_opt(cx, n, 2, &w));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", -2), v->rank, &axis));
    RETURN_IF(u->rank != v->rank || u->dims[axis] > v->dims[axis], ST_INVALID_OP, "the update does not fit the cache");
    REFUSE_WHEN(u->dims[axis] > 1u << 24, "an update of %u rows", u->dims[axis]);
    TRY(onnx_in_tensor(cx, n, 0, &x));
    TRY(onnx_in_tensor(cx, n, 1, &updates));
    int32_t *at = arena_array(&cx->arena, int32_t, u->dims[axis]);
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for positions");
    for (uint32_t i = 0; i < u->dims[axis]; i++)
        at[i] = (int32_t)i;
    for (uint32_t i = 0; i < v->rank; i++) {
        dims[i] = i == axis ? u->dims[i] : 1;
        times[i] = i == axis || (i == 0 && w) ? 1 : u->dims[i];
    }
    TRY(build_const_i32(B, onnx_name(cx, "positions"), u->dims[axis], at, &index));
    TRY(build_reshape(B, onnx_name(cx, "along"), index, v->rank, dims, &index));
    if (w) {
        dims[axis] = 1;
        dims[0] = (uint32_t)onnx_count(w);
        TRY(onnx_in_tensor(cx, n, 2, &start));
        TRY(onnx_cast(cx, "start", start, DT_I32, &start));
        TRY(build_reshape(B, onnx_name(cx, "per_batch"), start, v->rank, dims, &start));
        TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "index"), index, start, &index));
        if (!strcmp(onnx_attr_text(cx, n, "mode", "linear"), "circular")) {
            TRY(build_scalar(B, onnx_name(cx, "size"), DT_I32, v->dims[axis], &size));
            TRY(build_binary(B, "ElementWiseMod", onnx_name(cx, "around"), index, size, &index));
        }
    }
    TRY(build_node(B,
                   &(struct build_spec){ .op = "Tile",
                                         .name = onnx_name(cx, "everywhere"),
                                         BUILD_IN(index),
                                         .params = { BUILD_U32S("multiples", v->rank, times) } },
                   &index));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "ScatterElements", .name = cx->label, BUILD_IN(x, index, updates), .params = { BUILD_U32("axis", axis) } },
        &y));
    return onnx_out(cx, n, 0, y, NULL);
}

/* The condition must be known: it decides the size. */
static enum status convert_compress(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *c;
    const struct onnx_attr *a = onnx_attr(cx, n, "axis");
    double *keep;
    uint32_t k, x, axis = 0, index, found = 0, y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &c));
    TRY(onnx_numbers(cx, c, "condition", &keep, &k));
    TRY(onnx_stored(cx, v, NULL, &x));
    if (!a) {
        uint32_t flat[1] = {(uint32_t)onnx_count(v)};
        TRY(build_reshape(B, onnx_name(cx, "flat"), x, 1, flat, &x));
    } else {
        TRY(onnx_axis(cx, a->i, v->rank, &axis));
    }
    int32_t *at = arena_array(&cx->arena, int32_t, k);
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for positions");
    for (uint32_t i = 0; i < k; i++)
        if (keep[i] != 0)
            at[found++] = (int32_t)i;
    REFUSE_WHEN(found == 0, "the condition keeps nothing");
    TRY(build_const_i32(B, onnx_name(cx, "kept"), found, at, &index));
    TRY(build_node(
        B,
        &(struct build_spec){ .op = "Gather", .name = cx->label, BUILD_IN(x, index), .params = { BUILD_I32("axis", axis) } },
        &y));
    return onnx_out_like(cx, n, 0, y, NULL, v);
}

const struct onnx_row onnx_rows_gather[] = {
    {"Gather", 0, convert_gather, NULL},
    {"GatherElements", 0, convert_gather_elements, NULL},
    {"GatherND", 0, convert_gather_nd, NULL},
    {"ScatterElements", 0, convert_scatter_elements, NULL},
    {"Scatter", 0, convert_scatter_elements, NULL},
    {"ScatterND", 0, convert_scatter_nd, NULL},
    {"TensorScatter", 0, convert_tensor_scatter, NULL},
    {"OneHot", 0, convert_one_hot, NULL},
    {"NonZero", 0, convert_non_zero, NULL},
    {"Compress", 0, convert_compress, NULL},
    {0},
};
