/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that take elements by position: slices, gathers, blocks and resizing. */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

/* ---- slices --------------------------------------------------------------------------------------------------------- */

/* Rows of [begin, end, stride] with everything resolved, so that no mask but those of new and vanishing axes is left. */
struct slices {
    int32_t rows[2 * MAX_RANK][3];
    uint32_t n, shrink, fresh;
};

static enum status emit_slices(struct tfl_cx *cx, uint32_t x, const struct slices *s)
{
    return tfl_emit(cx, &(struct build_spec){ .op = "StridedSlice",
                                              BUILD_IN(x),
                                              .params = { BUILD_RANGES("ranges", s->n, s->rows),
                                                          BUILD_U32(s->shrink ? "shrink_axes" : "", s->shrink),
                                                          BUILD_U32(s->fresh ? "new_axes_mask" : "", s->fresh) } });
}

TFL_LOWER(slice)
{
    uint32_t x, n, m;
    int64_t begin[MAX_RANK], size[MAX_RANK];
    struct slices s = {0};
    bool empty = false;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_ints(cx, 1, begin, MAX_RANK, &n));
    TRY(tfl_ints(cx, 2, size, MAX_RANK, &m));
    const struct tensor_desc *d = tfl_desc(cx, x);
    TFL_REFUSE_IF(n != d->rank || m != n, "%u begins and %u sizes for rank %u", n, m, d->rank);
    for (; s.n < n; s.n++) {
        int64_t b = begin[s.n], e = size[s.n] < 0 ? d->dims[s.n] : b + size[s.n];
        TFL_REFUSE_IF(b < 0 || b > INT32_MAX || size[s.n] > INT32_MAX || e > d->dims[s.n],
                      "dimension %u has %u elements; [%lld, %lld) is taken of it", s.n, d->dims[s.n], (long long)b,
                      (long long)e);
        s.rows[s.n][0] = (int32_t)b;
        s.rows[s.n][1] = (int32_t)e;
        s.rows[s.n][2] = 1;
        empty |= b == e;
    }
    tfl_set_empty(cx, empty);
    return empty ? ST_OK : emit_slices(cx, x, &s);
}

/* One entry of begin, end and strides, and its bits of the masks. */
struct slice_spec {
    int64_t begin, end, stride;
    bool begin_open, end_open, shrink, offset;
};

static int64_t limit(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static enum status resolve(const struct slice_spec *p, int64_t size, int32_t row[3])
{
    int64_t step = p->stride, lo = step > 0 ? 0 : -1, hi = step > 0 ? size : size - 1;
    TFL_REFUSE_IF(step == 0 || step > INT32_MAX || step < -INT32_MAX, "a stride is %lld", (long long)step);
    int64_t begin = p->begin < 0 ? p->begin + size : p->begin;
    int64_t end = p->offset ? begin + p->end : p->end < 0 ? p->end + size : p->end;
    if (p->shrink) {
        TFL_REFUSE_IF(begin < 0 || begin >= size, "element %lld of a dimension of %lld is taken", (long long)p->begin,
                      (long long)size);
        row[0] = (int32_t)begin;
        row[1] = (int32_t)begin + 1;
        row[2] = 1;
        return ST_OK;
    }
    begin = p->begin_open ? (step > 0 ? 0 : size - 1) : limit(begin, lo, hi);
    end = p->end_open ? (step > 0 ? size : -1) : limit(end, lo, hi);
    row[0] = (int32_t)begin;
    row[1] = (int32_t)end;
    row[2] = (int32_t)step;
    return ST_OK;
}

static uint32_t bit(int64_t mask, uint32_t i)
{
    return (uint32_t)(mask >> i) & 1;
}

static void whole_row(struct slices *s, uint32_t size)
{
    s->rows[s->n][0] = 0;
    s->rows[s->n][1] = (int32_t)size;
    s->rows[s->n++][2] = 1;
}

/* The entries against the dimensions: an ellipsis stands for all that the others leave, and one is implied at the end. */
static enum status spread(struct tfl_cx *cx, const struct tensor_desc *d, const int64_t *const v[3], uint32_t n,
                          struct slices *s)
{
    int64_t fresh = tfl_option(cx, SLICE_NEW_AXIS_MASK, 0), ellipsis = tfl_option(cx, SLICE_ELLIPSIS_MASK, 0);
    int64_t shrink = tfl_option(cx, SLICE_SHRINK_MASK, 0), begins = tfl_option(cx, SLICE_BEGIN_MASK, 0),
            ends = tfl_option(cx, SLICE_END_MASK, 0);
    uint32_t axis = 0, taken = 0;
    for (uint32_t i = 0; i < n; i++)
        taken += !bit(ellipsis, i) && !bit(fresh, i);
    TFL_REFUSE_IF(taken > d->rank, "%u dimensions are sliced of rank %u", taken, d->rank);
    for (uint32_t i = 0; i < n; i++) {
        TFL_REFUSE_IF(s->n >= 2 * MAX_RANK - 1, "the slice has more than %d rows", 2 * MAX_RANK);
        if (bit(ellipsis, i)) {
            for (uint32_t k = taken; k < d->rank; k++)
                whole_row(s, d->dims[axis++]);
            taken = d->rank;
        } else if (bit(fresh, i)) {
            s->fresh |= 1u << s->n;
            whole_row(s, 1);
        } else {
            TFL_REFUSE_IF(axis >= d->rank, "more dimensions are sliced than the input's %u", d->rank);
            s->shrink |= bit(shrink, i) << s->n;
            struct slice_spec p = {
                v[0][i], v[1][i], v[2][i], bit(begins, i), bit(ends, i), bit(shrink, i), tfl_flag(cx, SLICE_OFFSET)
            };
            TRY(resolve(&p, d->dims[axis++], s->rows[s->n++]));
        }
    }
    while (axis < d->rank && s->n < 2 * MAX_RANK)
        whole_row(s, d->dims[axis++]);
    return ST_OK;
}

TFL_LOWER(strided_slice)
{
    uint32_t x, n[3];
    int64_t v[3][MAX_RANK];
    struct slices s = {0};
    TRY(tfl_in(cx, 0, &x));
    for (uint32_t i = 0; i < 3; i++) {
        TRY(tfl_ints(cx, 1 + i, v[i], MAX_RANK, &n[i]));
        TFL_REFUSE_IF(n[i] != n[0], "%u begins, but %u ends or strides", n[0], n[i]);
    }
    struct tensor_desc d = *tfl_desc(cx, x);
    TRY(spread(cx, &d, (const int64_t *const[3]){v[0], v[1], v[2]}, n[0], &s));
    return emit_slices(cx, x, &s);
}

TFL_LOWER(reverse)
{
    uint32_t x, n, axis;
    int64_t given[MAX_RANK];
    struct slices s = {0};
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_ints(cx, 1, given, MAX_RANK, &n));
    const struct tensor_desc *d = tfl_desc(cx, x);
    for (uint32_t i = 0; i < d->rank; i++)
        whole_row(&s, d->dims[i]);
    for (uint32_t i = 0; i < n; i++) {
        TRY(tfl_axis(cx, given[i], d->rank, &axis));
        s.rows[axis][0] = (int32_t)d->dims[axis] - 1;
        s.rows[axis][1] = -1;
        s.rows[axis][2] = -1;
    }
    return emit_slices(cx, x, &s);
}

/* ---- gathers -------------------------------------------------------------------------------------------------------- */

TFL_LOWER(gather)
{
    uint32_t x, at, axis, dims[MAX_RANK];
    int64_t batch = tfl_option(cx, GATHER_BATCH_DIMS, 0);
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_in(cx, 1, &at));
    struct tensor_desc d = *tfl_desc(cx, at);
    TRY(tfl_axis(cx, tfl_option(cx, GATHER_AXIS, 0), tfl_desc(cx, x)->rank, &axis));
    batch = batch < 0 ? batch + d.rank : batch;
    if (batch == 0)
        return tfl_emit(cx, &(struct build_spec){.op = "Gather", BUILD_IN(x, at), .params = {BUILD_I32("axis", axis)}});
    TFL_REFUSE_IF(batch != axis || d.rank >= MAX_RANK, "batch_dims is %lld and axis %u; they must be equal, or batch_dims 0",
                  (long long)batch, axis);
    memcpy(dims, d.dims, sizeof(dims));
    dims[d.rank] = 1;
    TRY(build_reshape(&cx->b, tfl_name(cx, "indices"), at, d.rank + 1u, dims, &at));
    return tfl_emit(cx, &(struct build_spec){.op = "GatherNd", BUILD_IN(x, at), .params = {BUILD_U32("batch_dims", batch)}});
}

TFL_LOWER(gather_nd)
{
    uint32_t x, at;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_in(cx, 1, &at));
    return tfl_emit(cx, &(struct build_spec){.op = "GatherNd", BUILD_IN(x, at)});
}

TFL_LOWER(embedding)
{
    uint32_t at, table;
    TRY(tfl_in(cx, 0, &at));
    TRY(tfl_in(cx, 1, &table));
    if (dtype_is_float(tfl_out_desc(cx, 0)->type))
        TRY(tfl_float(cx, "table", table, &table));
    return tfl_emit(cx, &(struct build_spec){.op = "Gather", BUILD_IN(table, at), .params = {BUILD_I32("axis", 0)}});
}

/* Updates that meet are added, on a ground of zeros: in fixed point the step that stands for 0, where TFLite's own kernel
 * leaves bytes of 0 whatever they mean. */
TFL_LOWER(scatter_nd)
{
    enum { ADD = 1 };
    uint32_t at, updates, zeros;
    struct tensor_desc d = *tfl_out_desc(cx, 0);
    TRY(tfl_in(cx, 0, &at));
    TRY(tfl_in(cx, 1, &updates));
    int32_t zero = dtype_is_fixed(d.type) ? -quant_offset(&d.q, 0) : 0;
    TFL_REFUSE_IF(d.type == DT_NONE || cx->resized, "the output is not of a known type and a fixed shape, as is expected");
    TFL_REFUSE_IF(zero && dtype_bits(d.type) != 8, "the output has zero point %d in %u bits; 0 is expected there", zero,
                  dtype_bits(d.type));
    TRY(tfl_charge(cx, desc_bytes(&d)));
    void *data = arena_alloc(&cx->b.g->arena, desc_bytes(&d));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for the output's zeros");
    if (zero)
        memset(data, zero, desc_bytes(&d));
    TRY(build_const(&cx->b, tfl_name(cx, "zeros"), &d, data, true, &zeros));
    return tfl_emit(cx, &(struct build_spec){
                            .op = "ScatterNd", BUILD_IN(zeros, at, updates), .params = { BUILD_U32("reduction", ADD) } });
}

/* ---- updates -------------------------------------------------------------------------------------------------------- */

/* The only axis along which the update is shorter than what it is put into. */
static enum status update_axis(const struct tensor_desc *x, const struct tensor_desc *u, uint32_t *ret)
{
    uint32_t n = 0;
    TFL_REFUSE_IF(x->rank != u->rank || x->rank == 0, "an update of rank %u into rank %u; the same rank is expected",
                  u->rank, x->rank);
    *ret = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        TFL_REFUSE_IF(u->dims[i] > x->dims[i], "the update has %u elements in dimension %u of %u", u->dims[i], i,
                      x->dims[i]);
        if (u->dims[i] != x->dims[i])
            *ret = i;
        n += u->dims[i] != x->dims[i];
    }
    TFL_REFUSE_IF(n > 1, "the update is shorter in %u dimensions; in one is supported", n);
    return ST_OK;
}

/* Where each element of the update goes along the axis: the start, moved so that the update fits, and its own position. */
static enum status update_places(struct tfl_cx *cx, uint32_t start, uint32_t axis, const struct tensor_desc *u,
                                 uint32_t room, uint32_t *ret)
{
    uint32_t zero, last, iota, n = u->dims[axis], dims[MAX_RANK], multiples[MAX_RANK];
    int32_t row[3] = {(int32_t)axis, (int32_t)axis + 1, 1};
    TFL_REFUSE_IF(n > INT32_MAX / 4 || tfl_desc(cx, start)->type != DT_I32, "the start is not i32, as is expected");
    TRY(tfl_charge(cx, 4 * (uint64_t)n));
    int32_t *steps = arena_array(&cx->m.arena, int32_t, n);
    RETURN_IF(!steps, ST_NO_MEMORY, "no memory for %u positions", n);
    for (uint32_t i = 0; i < n; i++)
        steps[i] = (int32_t)i;
    TRY(tfl_part(cx, "at",
                 &(struct build_spec){ .op = "StridedSlice", BUILD_IN(start), .params = { BUILD_RANGES("ranges", 1, row) } },
                 NULL, &start));
    TRY(build_const_i32(&cx->b, tfl_name(cx, "zero"), 1, (int32_t[]){0}, &zero));
    TRY(build_const_i32(&cx->b, tfl_name(cx, "last"), 1, (int32_t[]){(int32_t)room}, &last));
    TRY(build_const_i32(&cx->b, tfl_name(cx, "steps"), n, steps, &iota));
    TRY(build_binary(&cx->b, "ElementWiseMaximum", tfl_name(cx, "least"), start, zero, &start));
    TRY(build_binary(&cx->b, "ElementWiseMinimum", tfl_name(cx, "most"), start, last, &start));
    TRY(build_binary(&cx->b, "ElementWiseAdd", tfl_name(cx, "places"), iota, start, ret));
    for (uint32_t i = 0; i < u->rank; i++) {
        dims[i] = i == axis ? n : 1;
        multiples[i] = i == axis ? 1 : u->dims[i];
    }
    TRY(build_reshape(&cx->b, tfl_name(cx, "column"), *ret, u->rank, dims, ret));
    return tfl_part(
        cx, "indices",
        &(struct build_spec){ .op = "Tile", BUILD_IN(*ret), .params = { BUILD_U32S("multiples", u->rank, multiples) } },
        NULL, ret);
}

TFL_LOWER(update_slice)
{
    uint32_t x, u, start, axis, at;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_in(cx, 1, &u));
    TRY(tfl_in(cx, 2, &start));
    struct tensor_desc dx = *tfl_desc(cx, x), du = *tfl_desc(cx, u);
    TRY(update_axis(&dx, &du, &axis));
    TFL_REFUSE_IF(desc_count(tfl_desc(cx, start)) != dx.rank, "the start has %llu values for rank %u",
                  (unsigned long long)desc_count(tfl_desc(cx, start)), dx.rank);
    TRY(update_places(cx, start, axis, &du, dx.dims[axis] - du.dims[axis], &at));
    return tfl_emit(
        cx, &(struct build_spec){ .op = "ScatterElements", BUILD_IN(x, at, u), .params = { BUILD_U32("axis", axis) } });
}

TFL_LOWER(one_hot)
{
    uint32_t x, axis;
    int64_t depth, given = tfl_option(cx, OPTION_FIRST, 0);
    double on, off;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_int(cx, 1, &depth));
    TRY(tfl_real(cx, 2, &on));
    TRY(tfl_real(cx, 3, &off));
    TFL_REFUSE_IF(depth < 1 || depth > INT32_MAX, "the depth is %lld; at least 1 is expected", (long long)depth);
    TRY(tfl_axis(cx, given, tfl_desc(cx, x)->rank + 1u, &axis));
    return tfl_emit(cx, &(struct build_spec){ .op = "OneHot",
                                              BUILD_IN(x),
                                              .params = { BUILD_U32("depth", depth), BUILD_U32("axis", axis),
                                                          BUILD_F32("on_value", on), BUILD_F32("off_value", off) } });
}

/* ---- images --------------------------------------------------------------------------------------------------------- */

TFL_LOWER(resize)
{
    uint32_t x, n;
    int64_t size[2];
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    bool bilinear = !strcmp(cx->row->arg, "ResizeBilinear");
    bool align = tfl_flag(cx, bilinear ? BILINEAR_ALIGN : NEAREST_ALIGN),
         half = tfl_flag(cx, bilinear ? BILINEAR_HALF_PIXEL : NEAREST_HALF_PIXEL);
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_ints(cx, 1, size, 2, &n));
    const struct tensor_desc *d = tfl_desc(cx, x);
    TFL_REFUSE_IF(
        d->rank != 4 || n != 2 || size[0] < 1 || size[1] < 1 || size[0] > INT32_MAX || size[1] > INT32_MAX,
        "an input of rank %u and %u sizes; [batch, height, width, channels] and a positive height and width are expected",
        d->rank, n);
    out.rank = 4;
    memcpy(out.dims, (uint32_t[]){d->dims[0], (uint32_t)size[0], (uint32_t)size[1], d->dims[3]}, 4 * sizeof(uint32_t));
    return tfl_emit(
        cx, &(struct build_spec){ .op = cx->row->arg,
                                  BUILD_IN(x),
                                  .out = &out,
                                  .params = { BUILD_B8("align_corners", align), BUILD_B8("half_pixel_centers", half) } });
}

TFL_LOWER(depth_space)
{
    uint32_t x, block[2];
    int64_t size = tfl_option(cx, OPTION_FIRST, 0);
    TRY(tfl_in(cx, 0, &x));
    TFL_REFUSE_IF(size < 1 || size > INT32_MAX, "the block size is %lld; at least 1 is expected", (long long)size);
    block[0] = block[1] = (uint32_t)size;
    return tfl_emit(
        cx, &(struct build_spec){ .op = cx->row->arg, BUILD_IN(x), .params = { BUILD_U32S("block_size", 2, block) } });
}

static enum status small_numbers(const int64_t *v, uint32_t n, uint32_t *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        TFL_REFUSE_IF(v[i] < 0 || v[i] > INT32_MAX, "value %u is %lld; 0 or more is expected", i, (long long)v[i]);
        ret[i] = (uint32_t)v[i];
    }
    return ST_OK;
}

/* Rank 3 has one spatial dimension: a width of 1 is put behind it for the time being. */
TFL_LOWER(space_batch)
{
    uint32_t x, y, n, m, block[2] = {1, 1}, pads[4] = {0}, dims[4];
    int64_t blocks[2], edges[4];
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    const char *op = cx->row->arg, *edge = !strcmp(op, "BatchToSpace") ? "crops" : "pad_amount";
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_ints(cx, 1, blocks, 2, &n));
    TRY(tfl_ints(cx, 2, edges, 4, &m));
    const struct tensor_desc *d = tfl_desc(cx, x);
    TFL_REFUSE_IF(d->rank != n + 2 || m != 2 * n || n == 0,
                  "rank %u with %u block sizes and %u edges; rank 4 with 2 and 4, or rank 3 with 1 and 2 are "
                  "expected",
                  d->rank, n, m);
    TRY(small_numbers(blocks, n, block));
    TRY(small_numbers(edges, m, pads));
    if (n == 2)
        return tfl_emit(
            cx, &(struct build_spec){
                    .op = op, BUILD_IN(x), .params = { BUILD_U32S("block_size", 2, block), BUILD_PAIRS(edge, 2, pads) } });
    memcpy(dims, (uint32_t[]){d->dims[0], d->dims[1], 1, d->dims[2]}, sizeof(dims));
    TRY(build_reshape(&cx->b, tfl_name(cx, "wide"), x, 4, dims, &x));
    TRY(tfl_part(cx, "blocks",
                 &(struct build_spec){
                     .op = op, BUILD_IN(x), .params = { BUILD_U32S("block_size", 2, block), BUILD_PAIRS(edge, 2, pads) } },
                 NULL, &y));
    d = tfl_desc(cx, y);
    out.rank = 3;
    memcpy(out.dims, (uint32_t[]){d->dims[0], d->dims[1], d->dims[3]}, 3 * sizeof(uint32_t));
    return tfl_emit(cx, &(struct build_spec){.op = "Reshape", BUILD_IN(y), .out = &out});
}
