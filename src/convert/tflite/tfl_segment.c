/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that put values where a list says: sparse to dense, sums of segments, sequences that turn around. */
#include <float.h>
#include <string.h>

#include "convert/tflite/tfl_lower.h"

/* A constant of the output's shape with one value everywhere. */
static enum status ground(struct tfl_cx *cx, const struct tensor_desc *d, double value, uint32_t *ret)
{
    TFL_REFUSE_IF(d->type == DT_NONE || dtype_is_fixed(d->type) || dtype_bits(d->type) < 8 || cx->resized,
                  "the output is not float or integer of a fixed shape, as is expected");
    TRY(tfl_charge(cx, desc_bytes(d)));
    void *data = arena_alloc(&cx->b.g->arena, desc_bytes(d));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for %llu values", (unsigned long long)desc_count(d));
    for (uint64_t i = 0; value != 0 && i < desc_count(d); i++)
        number_put(d->type, data, i, value);
    return build_const(&cx->b, tfl_name(cx, "ground"), d, data, true, ret);
}

/* [rows, depth] from what the file may have: one index, a list of them, or rows. */
static enum status index_rows(struct tfl_cx *cx, uint32_t at, uint32_t rank, uint32_t *rows, uint32_t *ret)
{
    struct tensor_desc d = *tfl_desc(cx, at);
    uint64_t n = desc_count(&d);
    uint32_t depth = d.rank == 2 ? d.dims[1] : d.rank == 1 && rank == 1 ? 1 : d.rank <= 1 ? (uint32_t)n : 0;
    TFL_REFUSE_IF(depth != rank, "indices of rank %u with %llu values for an output of rank %u", d.rank,
                  (unsigned long long)n, rank);
    *rows = (uint32_t)(n / depth);
    return build_reshape(&cx->b, tfl_name(cx, "rows"), at, 2, (const uint32_t[]){*rows, depth}, ret);
}

TFL_LOWER(sparse_to_dense)
{
    uint32_t at, values, base, rows;
    double rest = 0;
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    TRY(tfl_in(cx, 0, &at));
    TRY(tfl_in(cx, 2, &values));
    if (tfl_has(cx, 3))
        TRY(tfl_real(cx, 3, &rest));
    TRY(ground(cx, &out, rest, &base));
    TRY(index_rows(cx, at, out.rank, &rows, &at));
    if (desc_count(tfl_desc(cx, values)) == 1) {
        TRY(build_reshape(&cx->b, tfl_name(cx, "value"), values, 1, (const uint32_t[]){1}, &values));
        if (rows > 1)
            TRY(tfl_part(
                cx, "values",
                &(struct build_spec){ .op = "Tile", BUILD_IN(values), .params = { BUILD_U32S("multiples", 1, (&rows)) } },
                NULL, &values));
    }
    return tfl_emit(cx, &(struct build_spec){.op = "ScatterNd", BUILD_IN(base, at, values)});
}

/* ---- segments ----------------------------------------------------------------------------------------------------- */

/* Rows and the segment of each. */
struct segments {
    uint32_t x, n;
    int32_t *of;
};

/* The ids are constants: a row with a negative one takes part in nothing, so it has to be known when converting. */
static enum status read_segments(struct tfl_cx *cx, bool sorted, struct segments *ret)
{
    const struct tfl_tensor *ids = tfl_source(cx, 1);
    uint32_t at, rows = 0;
    TFL_REFUSE_IF(!ids || !ids->data, "the segment of each row is computed at run time; a constant is expected");
    TRY(tfl_in(cx, 0, &ret->x));
    TRY(tfl_in(cx, 1, &at));
    const struct tensor_desc *d = tfl_desc(cx, at), *x = tfl_desc(cx, ret->x), *out = tfl_out_desc(cx, 0);
    const void *data = build_data(&cx->b, at);
    TFL_REFUSE_IF(!data || d->rank != 1 || out->rank == 0 || x->rank != out->rank || x->dims[0] != d->dims[0],
                  "%llu ids of rank %u; a constant list with one per row is expected", (unsigned long long)desc_count(d),
                  d->rank);
    TRY(tfl_charge(cx, 8 * (uint64_t)d->dims[0]));
    ret->of = arena_array(&cx->m.arena, int32_t, d->dims[0]);
    int32_t *kept = arena_array(&cx->m.arena, int32_t, d->dims[0]);
    RETURN_IF(!ret->of || !kept, ST_NO_MEMORY, "no memory for %u ids", d->dims[0]);
    rows = d->dims[0];
    for (uint32_t i = 0; i < rows; i++) {
        int64_t id = number_get_int(d->type, data, i);
        TFL_REFUSE_IF((sorted && id < 0) || id >= out->dims[0], "row %u belongs to segment %lld; 0 … %u are expected", i,
                      (long long)id, out->dims[0] - 1);
        if (id >= 0) {
            kept[ret->n] = (int32_t)i;
            ret->of[ret->n++] = (int32_t)id;
        }
    }
    TFL_REFUSE_IF(!ret->n, "no row belongs to a segment");
    if (ret->n == rows)
        return ST_OK;
    TRY(build_const_i32(&cx->b, tfl_name(cx, "kept"), ret->n, kept, &at));
    return tfl_part(cx, "rows",
                    &(struct build_spec){ .op = "Gather", BUILD_IN(ret->x, at), .params = { BUILD_I32("axis", 0) } }, NULL,
                    &ret->x);
}

/* Rows of a segment meet on a ground of zeros, or of ones for a product. */
TFL_LOWER(segment)
{
    enum { ADD = 1, MUL = 2 };
    bool product = cx->row->arg && !strcmp(cx->row->arg, "product");
    struct segments s = { 0 };
    uint32_t at, base;
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    TRY(read_segments(cx, !cx->row->arg, &s));
    TRY(build_const_i32(&cx->b, tfl_name(cx, "ids"), s.n, s.of, &at));
    TRY(build_reshape(&cx->b, tfl_name(cx, "rows"), at, 2, (const uint32_t[]){ s.n, 1 }, &at));
    TRY(ground(cx, &out, product, &base));
    return tfl_emit(cx, &(struct build_spec){ .op = "ScatterNd",
                                              BUILD_IN(base, at, s.x),
                                              .params = { BUILD_U32("reduction", product ? MUL : ADD) } });
}

/* The segment of every element. */
static enum status element_ids(struct tfl_cx *cx, const struct segments *s, uint32_t *ret)
{
    struct tensor_desc d = *tfl_desc(cx, s->x);
    d.type = DT_I32;
    d.q = (struct quant){ .kind = Q_NONE };
    TRY(tfl_charge(cx, desc_bytes(&d)));
    int32_t *list = arena_alloc(&cx->b.g->arena, desc_bytes(&d));
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for %llu ids", (unsigned long long)desc_count(&d));
    uint64_t n = desc_count(&d), row = n / s->n;
    for (uint64_t i = 0; i < n; i++)
        list[i] = s->of[i / row];
    return build_const(&cx->b, tfl_name(cx, "ids"), &d, list, true, ret);
}

/* Numbers in the opposite order: -x, and -1 - x of integers, where the least has no negative. */
static enum status mirror(struct tfl_cx *cx, uint32_t x, uint32_t *ret)
{
    uint32_t one;
    if (dtype_is_float(tfl_desc(cx, x)->type))
        return build_unary(&cx->b, "ElementWiseNeg", tfl_name(cx, "mirrored"), x, ret);
    TRY(build_const_i32(&cx->b, tfl_name(cx, "minus_one"), 1, (int32_t[]){ -1 }, &one));
    return build_binary(&cx->b, "ElementWiseSubtract", tfl_name(cx, "mirrored"), one, x, ret);
}

/* The largest of a segment, on a ground of the least number; the smallest is the largest of mirrored numbers. */
TFL_LOWER(segment_extreme)
{
    enum { MAX = 3 };
    bool min = !strcmp(cx->row->arg, "min");
    struct segments s = { 0 };
    uint32_t at, base, y;
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    TFL_REFUSE_IF(out.type != DT_F32 && out.type != DT_I32, "values of type %s; f32 and i32 are supported",
                  dtype_name(out.type));
    TRY(read_segments(cx, false, &s));
    TRY(element_ids(cx, &s, &at));
    TRY(ground(cx, &out, out.type == DT_F32 ? -FLT_MAX : INT32_MIN, &base));
    if (min)
        TRY(mirror(cx, s.x, &s.x));
    struct build_spec most = { .op = "ScatterElements",
                               BUILD_IN(base, at, s.x),
                               .params = { BUILD_U32("axis", 0), BUILD_U32("reduction", MAX) } };
    if (!min)
        return tfl_emit(cx, &most);
    TRY(tfl_part(cx, "most", &most, NULL, &y));
    TRY(mirror(cx, y, &y));
    return tfl_bind(cx, 0, y);
}

/* ---- sequences ------------------------------------------------------------------------------------------------------ */

/* 0, 1, 2, … along one axis, 1 along the others. */
static enum status positions(struct tfl_cx *cx, uint32_t rank, uint32_t axis, uint32_t n, uint32_t *ret)
{
    uint32_t dims[MAX_RANK];
    TRY(tfl_charge(cx, 4 * (uint64_t)n));
    int32_t *list = arena_array(&cx->m.arena, int32_t, n);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for %u positions", n);
    for (uint32_t i = 0; i < n; i++)
        list[i] = (int32_t)i;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? n : 1;
    TRY(build_const_i32(&cx->b, tfl_name(cx, "steps"), n, list, ret));
    return build_reshape(&cx->b, tfl_name(cx, "positions"), *ret, rank, dims, ret);
}

/* Position t of a sequence of length n comes from n - 1 - t, and behind its end from t. */
static enum status turned(struct tfl_cx *cx, uint32_t t, uint32_t n, uint32_t *ret)
{
    uint32_t one, last, back, inside;
    TRY(build_const_i32(&cx->b, tfl_name(cx, "one"), 1, (int32_t[]){1}, &one));
    TRY(build_binary(&cx->b, "ElementWiseSubtract", tfl_name(cx, "last"), n, one, &last));
    TRY(build_binary(&cx->b, "ElementWiseSubtract", tfl_name(cx, "back"), last, t, &back));
    TRY(build_binary(&cx->b, "ElementWiseLess", tfl_name(cx, "inside"), t, n, &inside));
    return tfl_part(cx, "from", &(struct build_spec){.op = "ElementWiseSelect", BUILD_IN(inside, back, t)}, NULL, ret);
}

TFL_LOWER(reverse_sequence)
{
    uint32_t x, lengths, axis, batch, t, from, dims[MAX_RANK], multiples[MAX_RANK];
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_in(cx, 1, &lengths));
    struct tensor_desc d = *tfl_desc(cx, x);
    TRY(tfl_axis(cx, tfl_option(cx, REVERSE_SEQUENCE_AXIS, 0), d.rank, &axis));
    TRY(tfl_axis(cx, tfl_option(cx, REVERSE_SEQUENCE_BATCH, 0), d.rank, &batch));
    TFL_REFUSE_IF(axis == batch || desc_count(tfl_desc(cx, lengths)) != d.dims[batch],
                  "%llu lengths for axis %u of %u sequences along axis %u",
                  (unsigned long long)desc_count(tfl_desc(cx, lengths)), batch, d.dims[batch], axis);
    for (uint32_t i = 0; i < d.rank; i++) {
        dims[i] = i == batch ? d.dims[i] : 1;
        multiples[i] = i == batch || i == axis ? 1 : d.dims[i];
    }
    TRY(build_cast(&cx->b, tfl_name(cx, "lengths"), lengths, DT_I32, &lengths));
    TRY(build_reshape(&cx->b, tfl_name(cx, "per_sequence"), lengths, d.rank, dims, &lengths));
    TRY(positions(cx, d.rank, axis, d.dims[axis], &t));
    TRY(turned(cx, t, lengths, &from));
    TRY(tfl_part(
        cx, "indices",
        &(struct build_spec){ .op = "Tile", BUILD_IN(from), .params = { BUILD_U32S("multiples", d.rank, multiples) } }, NULL,
        &from));
    return tfl_emit(
        cx, &(struct build_spec){ .op = "GatherElements", BUILD_IN(x, from), .params = { BUILD_U32("axis", axis) } });
}
