/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its kin, which meant something else before opset 13. */
#include <string.h>

#include "convert/onnx/onnx.h"

static enum status emit_softmax(struct onnx_cx *cx, const struct onnx_node *n, uint32_t x, uint32_t axis, uint32_t *ret)
{
    return onnx_emit(
        cx,
        (struct build_spec){ .op = onnx_row_arg(n), .name = cx->label, BUILD_IN(x), .params = { BUILD_U32("axis", axis) } },
        ret);
}

/* Before opset 13 everything from `axis` on was one dimension. */
static enum status old_softmax(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *v)
{
    uint32_t axis, x, y, two[2] = {1, 1}, dims[MAX_RANK];
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 1), v->rank, &axis));
    for (uint32_t i = 0; i < v->rank; i++)
        two[i >= axis] *= v->dims[i];
    memcpy(dims, v->dims, sizeof(dims));
    TRY(onnx_tensor(cx, v, NULL, &x));
    TRY(build_reshape(B, onnx_name(cx, "rows"), x, 2, two, &x));
    TRY(emit_softmax(cx, n, x, 1, &y));
    TRY(build_reshape(B, onnx_name(cx, "shape"), y, v->rank, dims, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

static enum status convert_softmax(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t axis, x, y;
    bool old = cx->model.opset < 13;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", old ? 1 : -1), v->rank, &axis));
    bool alone = true; /* only one dimension behind the axis counts: both readings are the same */
    for (uint32_t i = axis + 1; i < v->rank; i++)
        alone &= v->dims[i] == 1;
    if (old && !alone)
        return old_softmax(cx, n, v);
    TRY(onnx_tensor(cx, v, v->perm, &x));
    TRY(emit_softmax(cx, n, x, onnx_at(v->perm, v->rank, axis), &y));
    TRY(onnx_out(cx, n, 0, y, v->perm));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

/* One at the first largest value. */
static enum status convert_hardmax(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t axis, x, y;
    bool old = cx->model.opset < 13;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", old ? 1 : -1), v->rank, &axis));
    TRY(onnx_tensor(cx, v, NULL, &x));
    uint32_t flat[2] = {1, 1}, depth = v->dims[axis];
    if (old) { /* everything from the axis on was one dimension */
        for (uint32_t i = 0; i < v->rank; i++)
            flat[i >= axis] *= v->dims[i];
        TRY(build_reshape(B, onnx_name(cx, "flat"), x, 2, flat, &x));
        axis = 1;
        depth = flat[1];
    }
    TRY(build_node(B,
                   &(struct build_spec){
                       .op = "Argmax", .name = onnx_name(cx, "argmax"), BUILD_IN(x), .params = { BUILD_U32("axis", axis) } },
                   &y));
    struct tensor_desc d = {.type = v->type == DT_F16 ? DT_F16 : DT_F32};
    TRY(build_node(B, &(struct build_spec){.op = "OneHot", .name = cx->label, BUILD_IN(y), .out = &d,
                                           .params = {BUILD_U32("depth", depth), BUILD_U32("axis", axis)}}, &y));
    TRY(build_reshape(B, onnx_name(cx, "shape"), y, v->rank, v->dims, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

const struct onnx_row onnx_rows_softmax[] = {
    {"Softmax", ONNX_FIXED, convert_softmax, "Softmax"},
    {"LogSoftmax", ONNX_FIXED, convert_softmax, "LogSoftmax"},
    {"Hardmax", 0, convert_hardmax, NULL},
    {0},
};
