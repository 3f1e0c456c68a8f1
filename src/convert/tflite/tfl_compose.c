/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are made of several nodes: diagonals, buckets, angles of two coordinates, suppressed boxes. */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

static enum status step(struct tfl_cx *cx, const char *op, const char *part, uint32_t a, uint32_t b, uint32_t *ret)
{
    return build_binary(&cx->b, op, tfl_name(cx, part), a, b, ret);
}

static enum status choose(struct tfl_cx *cx, const char *part, uint32_t when, uint32_t a, uint32_t b, uint32_t *ret)
{
    return build_node(
        &cx->b, &(struct build_spec){ .op = "ElementWiseSelect", .name = tfl_name(cx, part), BUILD_IN(when, a, b) }, ret);
}

/* ---- diagonals ------------------------------------------------------------------------------------------------------ */

static enum status diagonal_mask(struct tfl_cx *cx, uint32_t rows, uint32_t columns, uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_B8, .rank = 2, .dims = {rows, columns}};
    TRY(tfl_charge(cx, desc_count(&d)));
    uint8_t *mask = arena_alloc(&cx->b.g->arena, desc_count(&d));
    RETURN_IF(!mask, ST_NO_MEMORY, "no memory for a mask");
    for (uint32_t i = 0; i < rows && i < columns; i++)
        mask[(uint64_t)i * columns + i] = 1;
    return build_const(&cx->b, tfl_name(cx, "diagonal"), &d, mask, true, ret);
}

/* The last dimension becomes a column (or a row) that broadcasts over the matrix. */
static enum status stretched(struct tfl_cx *cx, uint32_t x, bool column, uint32_t *ret)
{
    struct tensor_desc d = *tfl_desc(cx, x);
    TFL_REFUSE_IF(d.rank == 0 || d.rank == MAX_RANK, "an input of rank %u; 1 … %d are supported", d.rank, MAX_RANK - 1);
    d.dims[d.rank] = column ? 1 : d.dims[d.rank - 1];
    d.dims[d.rank - 1] = column ? d.dims[d.rank - 1] : 1;
    return build_reshape(&cx->b, tfl_name(cx, "values"), x, d.rank + 1u, d.dims, ret);
}

TFL_LOWER(matrix_diag)
{
    uint32_t x, mask, zero;
    TRY(tfl_in(cx, 0, &x));
    struct tensor_desc d = *tfl_desc(cx, x);
    TRY(stretched(cx, x, true, &x));
    TRY(diagonal_mask(cx, d.dims[d.rank - 1], d.dims[d.rank - 1], &mask));
    TRY(tfl_scalar(cx, "zero", &d, 0, &zero));
    return tfl_emit(cx, &(struct build_spec){.op = "ElementWiseSelect", BUILD_IN(mask, x, zero)});
}

TFL_LOWER(matrix_set_diag)
{
    uint32_t x, diagonal, mask;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_in(cx, 1, &diagonal));
    struct tensor_desc d = *tfl_desc(cx, x);
    TFL_REFUSE_IF(d.rank < 2, "an input of rank %u; 2 or more are expected", d.rank);
    uint32_t rows = d.dims[d.rank - 2], columns = d.dims[d.rank - 1];
    TRY(stretched(cx, diagonal, rows <= columns, &diagonal));
    TRY(diagonal_mask(cx, rows, columns, &mask));
    return tfl_emit(cx, &(struct build_spec){.op = "ElementWiseSelect", BUILD_IN(mask, diagonal, x)});
}

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

/* How many of the boundaries are not above x. */
TFL_LOWER(bucketize)
{
    struct fb_vec list = fb_vector(cx->op->options, OPTION_FIRST, 4);
    uint32_t x, bounds, dims[1] = {list.n}, axis;
    TRY(tfl_in(cx, 0, &x));
    TFL_REFUSE_IF(list.n == 0, "no boundaries are given");
    float *f = arena_array(&cx->m.arena, float, list.n);
    RETURN_IF(!f, ST_NO_MEMORY, "no memory for %u boundaries", list.n);
    for (uint32_t i = 0; i < list.n; i++)
        f[i] = fb_at_float(list, i);
    TRY(build_const_f32(&cx->b, tfl_name(cx, "boundaries"), 1, dims, f, &bounds));
    TRY(build_cast(&cx->b, tfl_name(cx, "float"), x, DT_F32, &x));
    TRY(stretched(cx, x, true, &x));
    axis = tfl_desc(cx, x)->rank - 1u;
    TRY(step(cx, "ElementWiseGreaterEqual", "reached", x, bounds, &x));
    TRY(build_cast(&cx->b, tfl_name(cx, "ones"), x, DT_I32, &x));
    return tfl_emit(cx, &(struct build_spec){.op = "ReduceSum", BUILD_IN(x), .params = {BUILD_U32S("axes", 1, &axis)}});
}

/* atan(y / x), half a turn further where x is negative; 0 at the origin. */
TFL_LOWER(atan2)
{
    uint32_t y, x, a, zero, turn, back, left, above, t;
    TRY(tfl_in(cx, 0, &y));
    TRY(tfl_in(cx, 1, &x));
    struct tensor_desc like = *tfl_desc(cx, x);
    TFL_REFUSE_IF(!dtype_is_float(like.type), "the inputs are not float");
    TRY(tfl_scalar(cx, "zero", &like, 0, &zero));
    TRY(tfl_scalar(cx, "turn", &like, 3.14159265358979323846, &turn));
    TRY(tfl_scalar(cx, "back", &like, -3.14159265358979323846, &back));
    TRY(step(cx, "ElementWiseDivide", "slope", y, x, &a));
    TRY(build_unary(&cx->b, "ElementWiseAtan", tfl_name(cx, "angle"), a, &a));
    TRY(step(cx, "ElementWiseLess", "left", x, zero, &left));
    TRY(step(cx, "ElementWiseGreaterEqual", "above", y, zero, &above));
    TRY(choose(cx, "half_turn", above, turn, back, &t));
    TRY(choose(cx, "more", left, t, zero, &t));
    TRY(step(cx, "ElementWiseAdd", "turned", a, t, &a));
    TRY(step(cx, "ElementWiseEqual", "flat", y, zero, &above));
    TRY(choose(cx, "axis", above, t, a, &a)); /* on the axis, where 0 / 0 may be */
    return tfl_bind(cx, 0, a);
}

/* A distance that is known: a quotient. */
TFL_LOWER(right_shift)
{
    uint32_t x, by;
    int64_t distance;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_int(cx, 1, &distance));
    struct tensor_desc like = {.type = tfl_desc(cx, x)->type};
    TFL_REFUSE_IF(distance < 0 || distance > (int64_t)dtype_bits(like.type) - 2 || dtype_is_float(like.type),
                  "a shift by %lld; 0 … %u are supported", (long long)distance, dtype_bits(like.type) - 2);
    TRY(build_scalar(&cx->b, tfl_name(cx, "power"), like.type, (double)(UINT64_C(1) << distance), &by));
    return tfl_emit(cx, &(struct build_spec){.op = "ElementWiseFloorDiv", BUILD_IN(x, by)});
}

/* ---- boxes ---------------------------------------------------------------------------------------------------------- */

struct boxes {
    uint32_t rows, selected, count, scores; /* selected: [rows], 0 behind count */
};

static enum status suppress(struct tfl_cx *cx, struct boxes *r)
{
    uint32_t boxes, y[2], zero;
    int64_t most;
    double iou, least;
    TRY(tfl_in(cx, 0, &boxes));
    TRY(tfl_in(cx, 1, &r->scores));
    TRY(tfl_int(cx, 2, &most));
    TRY(tfl_real(cx, 3, &iou));
    TRY(tfl_real(cx, 4, &least));
    TFL_REFUSE_IF(most < 1 || most > 1 << 20, "%lld boxes at most; 1 and more are supported", (long long)most);
    const struct tensor_desc *d = tfl_desc(cx, boxes);
    TFL_REFUSE_IF(d->rank != 2 || tfl_desc(cx, r->scores)->rank != 1, "boxes and scores of one image are expected");
    uint32_t n = d->dims[0], as_boxes[3] = {1, n, 4}, as_scores[3] = {1, 1, n}, scores;
    r->rows = (uint32_t)most;
    TRY(build_reshape(&cx->b, tfl_name(cx, "boxes"), boxes, 3, as_boxes, &boxes));
    TRY(build_reshape(&cx->b, tfl_name(cx, "classes"), r->scores, 3, as_scores, &scores));
    struct tensor_desc out[2] = { { .type = DT_I32, .rank = 2, .dims = { r->rows, 3 } },
                                  { .type = DT_U32, .rank = 1, .dims = { 1 } } };
    TRY(build_node(&cx->b,
                   &(struct build_spec){ .op = "NonMaxSuppression",
                                         .name = cx->node,
                                         BUILD_IN(boxes, scores),
                                         .n_out = 2,
                                         .out = out,
                                         .params = { BUILD_F32("iou_threshold", iou), BUILD_F32("score_threshold", least),
                                                     BUILD_U32("max_boxes_selected", r->rows) } },
                   y));
    int32_t ranges[6] = {0, (int32_t)r->rows, 1, 2, 3, 1};
    TRY(build_node(&cx->b,
                   &(struct build_spec){ .op = "StridedSlice",
                                         .name = tfl_name(cx, "column"),
                                         BUILD_IN(y[0]),
                                         .params = { BUILD_RANGES("ranges", 2, ranges) } },
                   &y[0]));
    TRY(build_reshape(&cx->b, tfl_name(cx, "list"), y[0], 1, &r->rows, &y[0]));
    TRY(build_scalar(&cx->b, tfl_name(cx, "zero"), DT_I32, 0, &zero));
    TRY(step(cx, "ElementWiseMaximum", "selected", y[0], zero, &r->selected)); /* what is not used is -1 */
    TRY(build_reshape(&cx->b, tfl_name(cx, "number"), y[1], 0, as_scores, &y[1]));
    return build_cast(&cx->b, tfl_name(cx, "count"), y[1], DT_I32, &r->count);
}

TFL_LOWER(nms_v4)
{
    struct boxes r;
    TRY(suppress(cx, &r));
    TRY(tfl_bind(cx, 0, r.selected));
    return tfl_bind(cx, 1, r.count);
}

TFL_LOWER(nms_v5)
{
    struct boxes r;
    double sigma;
    uint32_t at, inside, zero, y;
    TRY(tfl_real(cx, 5, &sigma));
    TFL_REFUSE_IF(sigma != 0, "scores are softened by %g; 0 is supported", sigma);
    TRY(suppress(cx, &r));
    int32_t *list = arena_array(&cx->m.arena, int32_t, r.rows);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for positions");
    for (uint32_t i = 0; i < r.rows; i++)
        list[i] = (int32_t)i;
    struct tensor_desc like = *tfl_desc(cx, r.scores);
    TRY(build_const_i32(&cx->b, tfl_name(cx, "positions"), r.rows, list, &at));
    TRY(step(cx, "ElementWiseLess", "inside", at, r.count, &inside));
    TRY(tfl_scalar(cx, "none", &like, 0, &zero));
    TRY(build_node(&cx->b,
                   &(struct build_spec){ .op = "Gather",
                                         .name = tfl_name(cx, "scores"),
                                         BUILD_IN(r.scores, r.selected),
                                         .params = { BUILD_I32("axis", 0) } },
                   &y));
    TRY(choose(cx, "kept", inside, y, zero, &y));
    TRY(tfl_bind(cx, 0, r.selected));
    TRY(tfl_bind(cx, 1, y));
    return tfl_bind(cx, 2, r.count);
}
