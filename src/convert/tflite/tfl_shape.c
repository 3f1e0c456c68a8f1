/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give values another shape, join, split, repeat or pad them. */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

/* ---- views ---------------------------------------------------------------------------------------------------------- */

/* With shapes changed by the user the file's output shape is wrong; the constant shape may leave one dimension open, else
 * the first one follows the batch. */
static enum status resized_shape(struct tfl_cx *cx, uint32_t x, struct tensor_desc *out)
{
    int64_t want[MAX_RANK];
    uint32_t n, open = 0;
    uint64_t count = desc_count(tfl_desc(cx, x)), rest = 1;
    if (tfl_has(cx, 1) && tfl_source(cx, 1)->empty) {
        n = 0;
    } else if (tfl_has(cx, 1)) {
        TRY(tfl_ints(cx, 1, want, MAX_RANK, &n));
    } else {
        struct fb_vec v = fb_vector(cx->op->options, OPTION_FIRST, 4);
        TFL_REFUSE_IF(v.n > MAX_RANK, "the shape has %u dimensions; at most %d are supported", v.n, MAX_RANK);
        n = v.n;
        for (uint32_t i = 0; i < n; i++)
            want[i] = fb_at_int(v, i, 4);
    }
    if (tfl_complex_out(cx) && n < MAX_RANK)
        want[n++] = 2;
    for (uint32_t i = 0; i < n; i++)
        open = want[i] < 0 ? i : open;
    out->rank = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++) {
        out->dims[i] = (uint32_t)want[i];
        rest = i == open ? rest : rest * out->dims[i];
    }
    TFL_REFUSE_IF(rest == 0 || count % rest || (n == 0 && count != 1),
                  "%llu values do not fit the shape of the file; give shapes that do", (unsigned long long)count);
    if (n)
        out->dims[open] = (uint32_t)(count / rest);
    return ST_OK;
}

TFL_LOWER(reshape)
{
    uint32_t x;
    struct tensor_desc out = *tfl_out_desc(cx, 0);
    TRY(tfl_in(cx, 0, &x));
    if (tfl_out_open(cx) && (desc_count(&out) != desc_count(tfl_desc(cx, x)) || !cx->resized))
        TRY(resized_shape(cx, x, &out));
    return tfl_emit(cx, &(struct build_spec){.op = "Reshape", BUILD_IN(x), .out = &out});
}

TFL_LOWER(squeeze)
{
    uint32_t x, axes[MAX_RANK], n = 0;
    struct fb_vec given = fb_vector(cx->op->options, OPTION_FIRST, 4);
    TRY(tfl_in(cx, 0, &x));
    uint32_t rank = tfl_desc(cx, x)->rank - tfl_complex_out(cx);
    TFL_REFUSE_IF(given.n > MAX_RANK, "%u axes are named; at most %d are supported", given.n, MAX_RANK);
    for (; n < given.n; n++)
        TRY(tfl_axis(cx, fb_at_int(given, n, 4), rank, &axes[n]));
    for (uint32_t i = 0; given.n == 0 && i < rank; i++)
        if (tfl_desc(cx, x)->dims[i] == 1)
            axes[n++] = i;
    if (n == 0 || n == rank)
        return tfl_lower_reshape(cx);
    return tfl_emit(cx, &(struct build_spec){.op = "Squeeze", BUILD_IN(x), .params = {BUILD_U32S("axes", n, axes)}});
}

TFL_LOWER(expand_dims)
{
    uint32_t x, axis;
    int64_t given;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_int(cx, 1, &given));
    TRY(tfl_axis(cx, given, tfl_desc(cx, x)->rank + 1u - tfl_complex_out(cx), &axis));
    return tfl_emit(cx, &(struct build_spec){.op = "ExpandDims", BUILD_IN(x), .params = {BUILD_U32("axis", axis)}});
}

TFL_LOWER(transpose)
{
    uint32_t x, n, perm[MAX_RANK];
    int64_t given[MAX_RANK];
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_ints(cx, 1, given, MAX_RANK, &n));
    for (uint32_t i = 0; i < n; i++)
        TRY(tfl_axis(cx, given[i], tfl_desc(cx, x)->rank, &perm[i]));
    if (x < cx->b.view_of.n && cx->b.view_of.at[x]) { /* of an input that was turned already: both may cancel */
        uint8_t narrow[MAX_RANK] = {0};
        TFL_REFUSE_IF(n != tfl_desc(cx, x)->rank, "%u dimensions for an input of rank %u", n, tfl_desc(cx, x)->rank);
        for (uint32_t i = 0; i < n; i++)
            narrow[i] = (uint8_t)perm[i];
        TRY(build_transpose(&cx->b, cx->node, x, narrow, &x));
        return tfl_bind(cx, 0, x);
    }
    return tfl_emit(cx, &(struct build_spec){.op = "Transpose", BUILD_IN(x), .params = {BUILD_U32S("perm", n, perm)}});
}

/* ---- joins and splits ----------------------------------------------------------------------------------------------- */

static enum status numbers(struct tfl_cx *cx, uint32_t n, uint32_t **ret)
{
    *ret = arena_array(&cx->m.arena, uint32_t, n + 1);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for %u tensors", n);
    return ST_OK;
}

/* Those that have elements. */
static enum status all_inputs(struct tfl_cx *cx, uint32_t **ret, uint32_t *ret_n)
{
    TRY(numbers(cx, cx->op->in.n, ret));
    *ret_n = 0;
    for (uint32_t k = 0; k < cx->op->in.n; k++)
        if (!tfl_source(cx, k) || !tfl_source(cx, k)->empty)
            TRY(tfl_in(cx, k, &(*ret)[(*ret_n)++]));
    TFL_REFUSE_IF(*ret_n == 0, "nothing is joined");
    return ST_OK;
}

TFL_LOWER(concat)
{
    uint32_t *in, n, axis;
    TRY(all_inputs(cx, &in, &n));
    TRY(tfl_axis(cx, tfl_option(cx, CONCAT_AXIS, 0), tfl_desc(cx, in[0])->rank, &axis));
    struct build_spec spec = {.op = "Concat", .in = in, .n_in = n, .params = {BUILD_U32("axis", axis)}};
    return tfl_emit_act(cx, &spec, tfl_activation(cx, CONCAT_ACTIVATION));
}

TFL_LOWER(pack)
{
    uint32_t *in, n, axis;
    TRY(all_inputs(cx, &in, &n));
    TRY(tfl_axis(cx, tfl_option(cx, PACK_AXIS, 0), tfl_desc(cx, in[0])->rank + 1u, &axis));
    return tfl_emit(cx, &(struct build_spec){.op = "Pack", .in = in, .n_in = n, .params = {BUILD_U32("axis", axis)}});
}

TFL_LOWER(unpack)
{
    uint32_t x, axis;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_axis(cx, tfl_option(cx, PACK_AXIS, 0), tfl_desc(cx, x)->rank, &axis));
    return tfl_emit(cx, &(struct build_spec){
                            .op = "UnPack", BUILD_IN(x), .n_out = cx->op->out.n, .params = { BUILD_U32("axis", axis) } });
}

/* Slices begin at `at`, n of them behind the first; an only slice is the input. */
static enum status emit_split(struct tfl_cx *cx, uint32_t x, uint32_t axis, const uint32_t *at, uint32_t n)
{
    if (n == 0)
        return tfl_emit(cx, &(struct build_spec){.op = "Reshape", BUILD_IN(x)});
    return tfl_emit(cx, &(struct build_spec){.op = "Split", BUILD_IN(x), .n_out = n + 1,
                                             .params = {BUILD_U32("axis", axis), BUILD_U32S("split_index", n, at)}});
}

TFL_LOWER(split)
{
    uint32_t x, axis, n = cx->op->out.n, *at;
    int64_t given;
    TRY(numbers(cx, n, &at));
    TRY(tfl_int(cx, 0, &given));
    TRY(tfl_in(cx, 1, &x));
    TRY(tfl_axis(cx, given, tfl_desc(cx, x)->rank, &axis));
    uint32_t size = tfl_desc(cx, x)->dims[axis];
    TFL_REFUSE_IF(n == 0 || size % n, "%u elements are split into %u parts; equal parts are expected", size, n);
    for (uint32_t i = 1; i < n; i++)
        at[i - 1] = size / n * i;
    return emit_split(cx, x, axis, at, n - 1);
}

/* Parts of these sizes; those of no elements are left away, and what reads them may do without. */
static enum status split_sizes(struct tfl_cx *cx, uint32_t x, uint32_t axis, const int64_t *sizes, uint32_t *at)
{
    uint32_t n = cx->op->out.n, parts = 0, *made;
    int64_t sum = 0;
    TRY(numbers(cx, n, &made));
    for (uint32_t i = 0; i < n; i++)
        if (sizes[i] > 0)
            at[parts++] = (uint32_t)(sum += sizes[i]);
    TFL_REFUSE_IF(parts == 0, "no part has an element");
    if (parts == n)
        return emit_split(cx, x, axis, at, n - 1);
    made[0] = x;
    if (parts > 1)
        TRY(build_node(
            &cx->b,
            &(struct build_spec){ .op = "Split",
                                  .name = cx->node,
                                  BUILD_IN(x),
                                  .n_out = parts,
                                  .params = { BUILD_U32("axis", axis), BUILD_U32S("split_index", parts - 1, at) } },
            made));
    for (uint32_t i = 0, k = 0; i < n; i++)
        if (sizes[i] > 0)
            TRY(tfl_bind(cx, i, made[k++]));
    return ST_OK;
}

TFL_LOWER(split_v)
{
    uint32_t x, axis, n = cx->op->out.n, open = n, *at;
    int64_t given, *sizes = arena_array(&cx->m.arena, int64_t, n + 1), sum = 0;
    RETURN_IF(!sizes, ST_NO_MEMORY, "no memory for %u parts", n);
    TRY(numbers(cx, n, &at));
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_ints(cx, 1, sizes, n, &n));
    TRY(tfl_int(cx, 2, &given));
    TRY(tfl_axis(cx, given, tfl_desc(cx, x)->rank, &axis));
    TFL_REFUSE_IF(n != cx->op->out.n, "%u sizes for %u outputs", n, cx->op->out.n);
    for (uint32_t i = 0; i < n; i++) {
        TFL_REFUSE_IF(sizes[i] > INT32_MAX, "part %u has %lld elements", i, (long long)sizes[i]);
        if (sizes[i] < 0)
            open = i;
        else
            sum += sizes[i];
    }
    if (open < n)
        sizes[open] = tfl_desc(cx, x)->dims[axis] - sum;
    return split_sizes(cx, x, axis, sizes, at);
}

/* ---- padding -------------------------------------------------------------------------------------------------------- */

enum { PAD_CONSTANT, PAD_SYMMETRIC, PAD_REFLECT };

static enum status pad_amounts(struct tfl_cx *cx, uint32_t x, uint32_t ret[2 * MAX_RANK])
{
    int64_t given[2 * MAX_RANK];
    uint32_t n, rank = tfl_desc(cx, x)->rank;
    TRY(tfl_ints(cx, 1, given, 2 * MAX_RANK, &n));
    TFL_REFUSE_IF(n != 2 * rank, "%u paddings for rank %u; two per dimension are expected", n, rank);
    for (uint32_t i = 0; i < n; i++) {
        TFL_REFUSE_IF(given[i] < 0 || given[i] > INT32_MAX, "padding %u is %lld; 0 or more is expected", i,
                      (long long)given[i]);
        ret[i] = (uint32_t)given[i];
    }
    return ST_OK;
}

TFL_LOWER(pad)
{
    uint32_t x, pads[2 * MAX_RANK];
    double value = 0;
    TRY(tfl_in(cx, 0, &x));
    TRY(pad_amounts(cx, x, pads));
    if (tfl_has(cx, 2))
        TRY(tfl_real(cx, 2, &value));
    const struct tensor_desc *d = tfl_desc(cx, x);
    uint32_t rank = d->rank;
    bool whole = dtype_kind(d->type) == DK_INT || dtype_kind(d->type) == DK_UINT;
    TFL_REFUSE_IF(whole && (value > INT32_MAX || value < INT32_MIN), "the padding value %g has more than 32 bits", value);
    struct build_param constant = BUILD_F32("pad_constant_value", value),
                       integer = BUILD_I32("pad_constant_value", whole ? value : 0);
    return tfl_emit(cx,
                    &(struct build_spec){ .op = "Pad",
                                          BUILD_IN(x),
                                          .params = { BUILD_U32("scheme", PAD_CONSTANT),
                                                      BUILD_PAIRS("pad_amount", rank, pads), whole ? integer : constant } });
}

TFL_LOWER(mirror_pad)
{
    uint32_t x, pads[2 * MAX_RANK];
    bool symmetric = fb_int(cx->op->options, OPTION_FIRST, 1, 0) != 0;
    TRY(tfl_in(cx, 0, &x));
    TRY(pad_amounts(cx, x, pads));
    uint32_t rank = tfl_desc(cx, x)->rank;
    return tfl_emit(cx, &(struct build_spec){ .op = "Pad",
                                              BUILD_IN(x),
                                              .params = { BUILD_U32("scheme", symmetric ? PAD_SYMMETRIC : PAD_REFLECT),
                                                          BUILD_PAIRS("pad_amount", rank, pads) } });
}

/* ---- repeats and constants ------------------------------------------------------------------------------------------ */

/* How often each dimension is repeated, from the shapes: for a list that is computed at run time. */
static enum status tile_by_shape(struct tfl_cx *cx, uint32_t x)
{
    const struct tensor_desc *in = tfl_desc(cx, x), *out = tfl_out_desc(cx, 0);
    uint32_t multiples[MAX_RANK], rank = in->rank;
    TFL_REFUSE_IF(cx->resized || out->rank != rank, "the repetitions are computed at run time; a constant is expected");
    for (uint32_t i = 0; i < rank; i++)
        multiples[i] = out->dims[i] / in->dims[i];
    return tfl_emit(
        cx, &(struct build_spec){ .op = "Tile", BUILD_IN(x), .params = { BUILD_U32S("multiples", rank, multiples) } });
}

TFL_LOWER(tile)
{
    uint32_t x, n, multiples[MAX_RANK];
    int64_t given[MAX_RANK];
    TRY(tfl_in(cx, 0, &x));
    if (tfl_source(cx, 1) && !tfl_known(cx, 1))
        return tile_by_shape(cx, x);
    TRY(tfl_ints(cx, 1, given, MAX_RANK, &n));
    for (uint32_t i = 0; i < n; i++) {
        TFL_REFUSE_IF(given[i] < 1 || given[i] > INT32_MAX, "dimension %u is repeated %lld times; at least once is expected",
                      i, (long long)given[i]);
        multiples[i] = (uint32_t)given[i];
    }
    return tfl_emit(cx, &(struct build_spec){.op = "Tile", BUILD_IN(x), .params = {BUILD_U32S("multiples", n, multiples)}});
}

/* The shape of output 0: that of the file, or the list at input `shape` where the file leaves it open. */
static enum status wanted_shape(struct tfl_cx *cx, uint32_t shape, struct tensor_desc *out)
{
    int64_t dims[MAX_RANK];
    uint32_t n;
    *out = *tfl_out_desc(cx, 0);
    if (!tfl_out_open(cx))
        return ST_OK;
    TRY(tfl_ints(cx, shape, dims, MAX_RANK, &n));
    out->rank = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++) {
        TFL_REFUSE_IF(dims[i] < 1 || dims[i] > INT32_MAX, "dimension %u is %lld; 1 or more is expected", i,
                      (long long)dims[i]);
        out->dims[i] = (uint32_t)dims[i];
    }
    return ST_OK;
}

/* x, its dimensions of 1 repeated until it has that shape. */
static enum status emit_stretched(struct tfl_cx *cx, uint32_t x, struct tensor_desc out)
{
    struct tensor_desc in = *tfl_desc(cx, x);
    uint32_t dims[MAX_RANK], multiples[MAX_RANK], lead = out.rank - in.rank;
    TFL_REFUSE_IF(in.rank > out.rank, "rank %u is stretched to rank %u", in.rank, out.rank);
    for (uint32_t i = 0; i < out.rank; i++) {
        dims[i] = i < lead ? 1 : in.dims[i - lead];
        TFL_REFUSE_IF(dims[i] != 1 && dims[i] != out.dims[i],
                      "dimension %u has %u elements and is stretched to %u; 1 can be stretched", i, dims[i], out.dims[i]);
        multiples[i] = out.dims[i] / dims[i];
    }
    if (out.rank == 0)
        return tfl_emit(cx, &(struct build_spec){.op = "Reshape", BUILD_IN(x)});
    TRY(build_reshape(&cx->b, tfl_name(cx, "lead"), x, out.rank, dims, &x));
    return tfl_emit(
        cx, &(struct build_spec){ .op = "Tile", BUILD_IN(x), .params = { BUILD_U32S("multiples", out.rank, multiples) } });
}

TFL_LOWER(broadcast_to)
{
    uint32_t x;
    struct tensor_desc out;
    TRY(tfl_in(cx, 0, &x));
    TRY(wanted_shape(cx, 1, &out));
    return emit_stretched(cx, x, out);
}

TFL_LOWER(fill)
{
    uint32_t x;
    struct tensor_desc out;
    TRY(tfl_in(cx, 1, &x));
    TRY(wanted_shape(cx, 0, &out));
    return emit_stretched(cx, x, out);
}

TFL_LOWER(zeros_like)
{
    uint32_t zero, x;
    struct tensor_desc d = *tfl_out_desc(cx, 0), out = d;
    TFL_REFUSE_IF(dtype_is_fixed(d.type) || d.type == DT_NONE, "the output is not float or integer, as is expected");
    d.rank = 1;
    d.dims[0] = 1;
    TRY(build_const(&cx->b, tfl_name(cx, "zero"), &d, (const char[8]){0}, false, &zero));
    if (tfl_out_open(cx)) {
        TRY(tfl_in(cx, 0, &x));
        out.rank = tfl_desc(cx, x)->rank;
        memcpy(out.dims, tfl_desc(cx, x)->dims, sizeof(out.dims));
    }
    return emit_stretched(cx, zero, out);
}

/* Output 0 is this list of integers. */
static enum status bind_ints(struct tfl_cx *cx, const int64_t *v, uint32_t n, bool scalar)
{
    struct tensor_desc d = *tfl_out_desc(cx, 0);
    uint32_t t;
    TFL_REFUSE_IF(d.type != DT_I32 && d.type != DT_I64, "the output is %s; i32 or i64 is expected", dtype_name(d.type));
    TFL_REFUSE_IF(n == 0, "the output has no elements");
    TRY(tfl_charge(cx, 8 * (uint64_t)n));
    void *data = arena_alloc(&cx->b.g->arena, 8 * (size_t)n);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for %u integers", n);
    for (uint32_t i = 0; i < n; i++) {
        if (d.type == DT_I64)
            ((int64_t *)data)[i] = v[i];
        else
            ((int32_t *)data)[i] = (int32_t)v[i];
    }
    d.rank = scalar ? 0 : 1;
    d.dims[0] = n;
    TRY(build_const(&cx->b, cx->node, &d, data, true, &t));
    return tfl_bind(cx, 0, t);
}

TFL_LOWER(shape)
{
    uint32_t x;
    int64_t dims[MAX_RANK];
    TRY(tfl_in(cx, 0, &x));
    const struct tensor_desc *d = tfl_desc(cx, x);
    for (uint32_t i = 0; i < d->rank; i++)
        dims[i] = d->dims[i];
    return bind_ints(cx, dims, d->rank, false);
}

TFL_LOWER(rank)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    return bind_ints(cx, (int64_t[]){tfl_desc(cx, x)->rank}, 1, true);
}

/* The shape that two shapes broadcast to. */
TFL_LOWER(broadcast_args)
{
    int64_t a[MAX_RANK], b[MAX_RANK], *wide = a, *narrow = b;
    uint32_t n, m;
    TRY(tfl_ints(cx, 0, a, MAX_RANK, &n));
    TRY(tfl_ints(cx, 1, b, MAX_RANK, &m));
    if (m > n) {
        uint32_t k = n;
        wide = b, narrow = a, n = m, m = k;
    }
    for (uint32_t i = 0; i < m; i++) {
        int64_t *x = &wide[n - m + i], y = narrow[i];
        TFL_REFUSE_IF(*x != y && *x != 1 && y != 1,
                      "the shapes have %lld and %lld elements in one dimension; equal sizes, or 1, are expected",
                      (long long)*x, (long long)y);
        *x = *x == 1 ? y : *x;
    }
    return bind_ints(cx, wide, n, false);
}

enum { RANGE_MAX = 1 << 16 };

TFL_LOWER(range)
{
    int64_t start, end, step;
    TRY(tfl_int(cx, 0, &start));
    TRY(tfl_int(cx, 1, &end));
    TRY(tfl_int(cx, 2, &step));
    bool sane = step && start > -INT32_MAX && start < INT32_MAX && end > -INT32_MAX && end < INT32_MAX &&
                step > -INT32_MAX && step < INT32_MAX;
    int64_t n = 0;

    if (sane && step > 0)
        n = (end - start + step - 1) / step;
    else if (sane && step < 0)
        n = (start - end - step - 1) / -step;
    TFL_REFUSE_IF(n < 1 || n > RANGE_MAX, "the range [%lld, %lld) in steps of %lld has no elements or more than %d",
                  (long long)start, (long long)end, (long long)step, RANGE_MAX);
    int64_t *v = arena_array(&cx->m.arena, int64_t, (size_t)n);
    RETURN_IF(!v, ST_NO_MEMORY, "no memory for a range");
    for (int64_t i = 0; i < n; i++)
        v[i] = start + i * step;
    return bind_ints(cx, v, (uint32_t)n, false);
}
