/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of different lengths around a recurrent layer that knows of none.
 *
 *     forward    a layer over all steps; what lies behind the end of a sequence is replaced by zero, and the last state is
 *                that of its last step
 *     backward   the steps of every sequence turned around, a layer that runs forward, its steps turned back
 *
 * Steps behind the end see nothing that counts, since a layer never looks ahead. */
#include "convert/onnx/onnx.h"

static enum status counting(struct onnx_cx *cx, uint32_t steps, uint32_t first, uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_I32, .rank = 3, .dims = {steps, 1, 1}};
    TRY(desc_check(&d, "steps"));
    TRY(onnx_charge(cx, "steps", desc_bytes(&d), 1));
    int32_t *data = arena_alloc(&cx->b.g->arena, desc_bytes(&d));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for the numbers of steps");
    for (uint32_t i = 0; i < steps; i++)
        data[i] = (int32_t)(first + i);
    return build_const(B, onnx_name(cx, "now"), &d, data, true, ret);
}

static enum status select_where(struct onnx_cx *cx, uint32_t when, uint32_t a, uint32_t b, uint32_t *ret)
{
    return build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "inside"), BUILD_IN(when, a, b) }, ret);
}

enum status onnx_lengths(struct onnx_cx *cx, struct onnx_value *v, uint32_t steps, uint32_t batch, struct onnx_lengths *ret)
{
    uint32_t dims[3] = {1, batch, 1}, now, next, back, zero, one, t;
    *ret = (struct onnx_lengths){.steps = steps, .batch = batch};
    RETURN_IF(onnx_count(v) != batch, ST_INVALID_OP, "\"sequence_lens\" has %llu entries for a batch of %u",
              (unsigned long long)onnx_count(v), batch);
    TRY(onnx_tensor(cx, v, NULL, &t));
    TRY(onnx_cast(cx, "lengths", t, DT_I32, &t));
    TRY(build_reshape(B, onnx_name(cx, "lengths"), t, 3, dims, &t));
    TRY(counting(cx, steps, 0, &now));
    TRY(counting(cx, steps, 1, &next));
    TRY(build_scalar(B, onnx_name(cx, "zero"), DT_I32, 0, &zero));
    TRY(build_scalar(B, onnx_name(cx, "one"), DT_I32, 1, &one));
    TRY(build_binary(B, "ElementWiseLess", onnx_name(cx, "inside"), now, t, &ret->inside));
    TRY(build_binary(B, "ElementWiseSubtract", onnx_name(cx, "back"), t, next, &back));
    TRY(select_where(cx, ret->inside, back, now, &ret->turned));
    TRY(build_binary(B, "ElementWiseSubtract", onnx_name(cx, "end"), t, one, &ret->last));
    TRY(build_binary(B, "ElementWiseMaximum", onnx_name(cx, "end"), ret->last, zero, &ret->last));
    return build_binary(B, "ElementWiseGreater", onnx_name(cx, "any"), t, zero, &ret->any);
}

/* Rows of x [steps, batch, n] by their numbers [count, batch, 1]. */
static enum status rows_at(struct onnx_cx *cx, uint32_t x, uint32_t at, uint32_t *ret)
{
    const struct tensor_desc *d = build_desc(B, x);
    uint32_t n = d->dims[2], count = build_desc(B, at)->dims[0], flat[1] = {count};
    struct tensor_desc wide = {.type = DT_I32, .rank = 3, .dims = {1, 1, n}};
    uint32_t zeros;
    if (d->dims[1] == 1) {
        TRY(build_reshape(B, onnx_name(cx, "rows"), at, 1, flat, &at));
        return build_node(
            B,
            &(struct build_spec){
                .op = "Gather", .name = onnx_name(cx, "rows"), BUILD_IN(x, at), .params = { BUILD_I32("axis", 0) } },
            ret);
    }
    TRY(desc_check(&wide, "rows"));
    TRY(onnx_charge(cx, "rows", desc_bytes(&wide), 1));
    void *data = arena_alloc(&cx->b.g->arena, desc_bytes(&wide));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for the numbers of steps");
    TRY(build_const(B, onnx_name(cx, "wide"), &wide, data, true, &zeros));
    TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "rows"), at, zeros, &at));
    return build_node(
        B,
        &(struct build_spec){
            .op = "GatherElements", .name = onnx_name(cx, "rows"), BUILD_IN(x, at), .params = { BUILD_U32("axis", 0) } },
        ret);
}

enum status onnx_lengths_turn(struct onnx_cx *cx, const struct onnx_lengths *l, uint32_t x, uint32_t *ret)
{
    return rows_at(cx, x, l->turned, ret);
}

enum status onnx_lengths_cut(struct onnx_cx *cx, const struct onnx_lengths *l, uint32_t y, uint32_t *ret)
{
    enum dtype t = build_desc(B, y)->type;
    uint32_t zero;
    TRY(build_scalar(B, onnx_name(cx, "zero"), t == DT_F16 && cx->b.float16 ? DT_F32 : t, 0, &zero));
    return select_where(cx, l->inside, y, zero, ret);
}

enum status onnx_lengths_last(struct onnx_cx *cx, const struct onnx_lengths *l, uint32_t y, uint32_t first, uint32_t *ret)
{
    uint32_t dims[2] = {l->batch, build_desc(B, y)->dims[2]}, column[2] = {l->batch, 1}, any;
    TRY(rows_at(cx, y, l->last, &y));
    TRY(build_reshape(B, onnx_name(cx, "end"), y, 2, dims, &y));
    TRY(build_reshape(B, onnx_name(cx, "any"), l->any, 2, column, &any));
    return select_where(cx, any, y, first, ret);
}
