/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of tensors and their surroundings: Slice, Pad, and what is made of them. */
#include <string.h>

#include "convert/onnx/onnx_fold.h"

/* ---- slice -------------------------------------------------------------------------------------------------------- */

/* A list that was an attribute before opset 10 and is an input since. */
static enum status list(struct onnx_cx *cx, const struct onnx_node *n, const char *name, uint32_t input, int64_t **ret,
                        uint32_t *count)
{
    const struct onnx_attr *a = onnx_attr(cx, n, name);
    struct onnx_value *v;
    *ret = a ? a->ints : NULL;
    *count = a ? a->n_ints : 0;
    TRY(onnx_in_opt(cx, n, input, &v));
    return v ? onnx_ints(cx, v, name, ret, count) : ST_OK;
}

static int64_t limit(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static void resolve(int64_t start, int64_t end, int64_t step, int64_t size, struct onnx_range *r)
{
    start = start < 0 ? start + size : start;
    end = end < 0 ? end + size : end;
    if (step > 0) {
        start = limit(start, 0, size);
        end = limit(end, 0, size);
        r->count = end > start ? (uint32_t)((end - start - 1) / step + 1) : 0;
    } else {
        start = limit(start, 0, size - 1);
        end = limit(end, -1, size - 1);
        r->count = start > end ? (uint32_t)((start - end - 1) / -step + 1) : 0;
    }
    r->begin = start;
    r->step = step;
}

enum status onnx_slice_ranges(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *x,
                              struct onnx_range *ret)
{
    int64_t *starts, *ends, *axes, *steps;
    uint32_t k, m, n_axes, n_steps, at;
    TRY(list(cx, n, "starts", 1, &starts, &k));
    TRY(list(cx, n, "ends", 2, &ends, &m));
    TRY(list(cx, n, "axes", 3, &axes, &n_axes));
    TRY(list(cx, n, "steps", 4, &steps, &n_steps));
    RETURN_IF(k != m || (axes && n_axes != k) || (steps && n_steps != k) || (!axes && k > x->rank), ST_INVALID_OP,
              "starts, ends, axes and steps have %u, %u, %u and %u entries for rank %u", k, m, n_axes, n_steps, x->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        ret[i] = (struct onnx_range){0, 1, x->dims[i]};
    for (uint32_t i = 0; i < k; i++) {
        TRY(onnx_axis(cx, axes ? axes[i] : i, x->rank, &at));
        int64_t step = steps ? steps[i] : 1;
        RETURN_IF(step == 0, ST_INVALID_OP, "a step is 0");
        resolve(starts[i], ends[i], limit(step, -INT32_MAX, INT32_MAX), x->dims[at], &ret[at]);
    }
    return ST_OK;
}

/* StridedSlice of a tensor; r in the tensor's order. */
static enum status emit_slice(struct onnx_cx *cx, const char *name, uint32_t x, const struct onnx_range *r, uint32_t *ret)
{
    struct tensor_desc d = *build_desc(B, x);
    int32_t ranges[3 * MAX_RANK];
    bool all = true;
    for (uint32_t i = 0; i < d.rank; i++) {
        REFUSE_WHEN(r[i].count == 0, "the slice of dimension %u is empty; tensors of a graph have at least one element", i);
        int64_t last = r[i].begin + (int64_t)(r[i].count - 1) * r[i].step;
        ranges[3 * i] = (int32_t)r[i].begin;
        ranges[3 * i + 1] = (int32_t)(last + (r[i].step > 0 ? 1 : -1));
        ranges[3 * i + 2] = (int32_t)r[i].step;
        all &= r[i].count == d.dims[i] && r[i].step == 1;
    }
    *ret = x;
    if (all)
        return ST_OK;
    return build_node(
        B,
        &(struct build_spec){
            .op = "StridedSlice", .name = name, BUILD_IN(x), .params = { BUILD_RANGES("ranges", d.rank, ranges) } },
        ret);
}

static void in_order(const struct onnx_value *v, const struct onnx_range *source, struct onnx_range *ret)
{
    for (uint32_t i = 0; i < v->rank; i++)
        ret[i] = source[v->perm[i]];
}

static enum status convert_slice(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    struct onnx_range r[MAX_RANK], s[MAX_RANK];
    uint32_t x, y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_slice_ranges(cx, n, v, r));
    uint32_t dims[MAX_RANK], empty = 0;
    for (uint32_t i = 0; i < v->rank; i++)
        empty |= (dims[i] = r[i].count) == 0;
    if (empty)
        return onnx_out_const(cx, n, 0, v->type, v->rank, dims, onnx_nothing);
    TRY(onnx_stored(cx, v, v->perm, &x));
    in_order(v, r, s);
    TRY(emit_slice(cx, cx->label, x, s, &y));
    return y == x ? onnx_out_view(cx, n, 0, v, NULL) : onnx_out_like(cx, n, 0, y, v->perm, v);
}

/* ---- pad ---------------------------------------------------------------------------------------------------------- */

/* [before…, after…] per named axis into [before, after] per dimension. */
static enum status pad_amounts(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *v, int64_t *before,
                               int64_t *after)
{
    int64_t *pads, *axes;
    uint32_t k, n_axes, at;
    const struct onnx_attr *old = onnx_attr(cx, n, "paddings");
    TRY(list(cx, n, "pads", 1, &pads, &k));
    TRY(list(cx, n, "axes", 3, &axes, &n_axes));
    if (old) {
        pads = old->ints;
        k = old->n_ints;
    }
    uint32_t named = axes ? n_axes : v->rank;
    bool missing = named && !pads;
    RETURN_IF(missing || k != 2 * named, ST_INVALID_OP, "\"pads\" has %u entries; %u are expected", k, 2 * named);
    for (uint32_t i = 0; i < v->rank; i++)
        before[i] = after[i] = 0;
    for (uint32_t i = 0; i < named; i++) {
        TRY(onnx_axis(cx, axes ? axes[i] : i, v->rank, &at));
        RETURN_IF(pads[i] > INT32_MAX || pads[named + i] > INT32_MAX || pads[i] < -INT32_MAX || pads[named + i] < -INT32_MAX,
                  ST_INVALID_OP, "\"pads\" has entry %lld", (long long)pads[i]);
        before[at] = pads[i];
        after[at] = pads[named + i];
    }
    return ST_OK;
}

static enum status pad_value(struct onnx_cx *cx, const struct onnx_node *n, double *ret)
{
    struct onnx_value *v;
    double *number;
    uint32_t k;
    *ret = onnx_attr_float(cx, n, "value", 0);
    TRY(onnx_in_opt(cx, n, 2, &v));
    if (!v)
        return ST_OK;
    TRY(onnx_numbers(cx, v, "constant_value", &number, &k));
    *ret = k ? number[0] : 0;
    return ST_OK;
}

/* Wrapping around: the end of the dimension goes in front, its beginning behind. */
static enum status wrap(struct onnx_cx *cx, uint32_t *x, const uint32_t *pads)
{
    uint32_t rank = build_desc(B, *x)->rank;
    for (uint32_t i = 0; i < rank; i++) {
        struct onnx_range r[MAX_RANK];
        uint32_t part[3], k = 0, size = build_desc(B, *x)->dims[i];
        REFUSE_WHEN(pads[2 * i] > size || pads[2 * i + 1] > size, "\"wrap\" around more than the whole dimension %u", i);
        for (uint32_t side = 0; side < 3; side++) {
            uint32_t count = side == 0 ? pads[2 * i] : side == 1 ? size : pads[2 * i + 1];
            for (uint32_t j = 0; j < rank; j++)
                r[j] = (struct onnx_range){0, 1, build_desc(B, *x)->dims[j]};
            r[i].count = count;
            r[i].begin = side == 0 ? size - count : 0;
            if (count)
                TRY(emit_slice(cx, onnx_name(cx, "wrap"), *x, r, &part[k++]));
        }
        if (k > 1)
            TRY(build_node(B,
                           &(struct build_spec){ .op = "Concat",
                                                 .name = onnx_name(cx, "wrapped"),
                                                 .in = part,
                                                 .n_in = k,
                                                 .params = { BUILD_U32("axis", i) } },
                           x));
    }
    return ST_OK;
}

static enum status emit_pad(struct onnx_cx *cx, uint32_t x, unsigned scheme, const uint32_t *pads, double value,
                            uint32_t *ret)
{
    uint32_t rank = build_desc(B, x)->rank;
    enum dtype type = build_desc(B, x)->type;
    bool whole = !dtype_is_float(type) && !dtype_is_fixed(type) && value >= INT32_MIN && value <= INT32_MAX;
    struct build_spec s = { .op = "Pad",
                            .name = cx->label,
                            BUILD_IN(x),
                            .params = { BUILD_U32("scheme", scheme), BUILD_PAIRS("pad_amount", rank, pads),
                                        BUILD_F32("pad_constant_value", value) } };
    int32_t number = whole ? (int32_t)value : 0;
    if (whole) {
        s.params[2].v.type = DT_I32;
        s.params[2].v.data = &number;
    }
    return build_node(B, &s, ret);
}

static enum status convert_pad(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const char *const modes[] = {"constant", "symmetric", "reflect", "edge"};
    const char *mode = onnx_attr_text(cx, n, "mode", "constant");
    struct onnx_value *v;
    struct onnx_range r[MAX_RANK], s[MAX_RANK];
    int64_t before[MAX_RANK], after[MAX_RANK];
    uint32_t x, y, pads[2 * MAX_RANK], scheme = 0, any = 0;
    double value;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(pad_amounts(cx, n, v, before, after));
    TRY(pad_value(cx, n, &value));
    for (uint32_t i = 0; i < v->rank; i++) { /* negative amounts cut */
        int64_t first = before[i] < 0 ? -before[i] : 0, last = after[i] < 0 ? -after[i] : 0,
                left = v->dims[i] - first - last;
        r[i] = (struct onnx_range){first, 1, left > 0 ? (uint32_t)left : 0};
    }
    for (uint32_t i = 0; i < v->rank; i++) {
        uint32_t from = v->perm[i];
        any |= pads[2 * i] = before[from] > 0 ? (uint32_t)before[from] : 0;
        any |= pads[2 * i + 1] = after[from] > 0 ? (uint32_t)after[from] : 0;
    }
    TRY(onnx_tensor(cx, v, v->perm, &x));
    in_order(v, r, s);
    TRY(emit_slice(cx, onnx_name(cx, "cut"), x, s, &y));
    while (scheme < 4 && strcmp(modes[scheme], mode) != 0)
        scheme++;
    if (!strcmp(mode, "wrap"))
        TRY(wrap(cx, &y, pads));
    else {
        REFUSE_WHEN(scheme == 4, "\"mode\" is %s; constant, reflect, edge and wrap are known", mode);
        if (any)
            TRY(emit_pad(cx, y, scheme, pads, value, &y));
    }
    if (y == x)
        return onnx_out_view(cx, n, 0, v, NULL);
    TRY(onnx_out(cx, n, 0, y, v->perm));
    onnx_out_type(cx, n, 0, v->type);
    return ST_OK;
}

/* ---- others ------------------------------------------------------------------------------------------------------- */

/* The lower or upper triangle: what is not in it is zero. */
static enum status convert_trilu(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *kv;
    int64_t k = 0, *list_k;
    uint32_t count, x, mask, zero, y;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in_opt(cx, n, 1, &kv));
    if (kv) {
        TRY(onnx_ints(cx, kv, "k", &list_k, &count));
        k = count ? list_k[0] : 0;
    }
    RETURN_IF(v->rank < 2, ST_INVALID_OP, "the input has rank %u; at least 2 is expected", v->rank);
    bool upper = onnx_attr_int(cx, n, "upper", 1);
    uint32_t rows = v->dims[v->rank - 2], columns = v->dims[v->rank - 1];
    TRY(onnx_charge(cx, "a triangle", (uint64_t)rows * columns, 1));
    uint8_t *keep = arena_alloc(&cx->b.g->arena, (size_t)rows * columns);
    RETURN_IF(!keep, ST_NO_MEMORY, "no memory for the triangle");
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < columns; j++)
            keep[(size_t)i * columns + j] = upper ? (int64_t)j - i >= k : (int64_t)j - i <= k;
    struct tensor_desc d = {.type = DT_B8, .rank = 2, .dims = {rows, columns}};
    TRY(onnx_tensor(cx, v, NULL, &x));
    TRY(build_const(B, onnx_name(cx, "triangle"), &d, keep, true, &mask));
    TRY(build_scalar(B, onnx_name(cx, "zero"), onnx_inner_type(v->type), 0, &zero));
    TRY(build_node(B, &(struct build_spec){.op = "ElementWiseSelect", .name = cx->label, BUILD_IN(mask, x, zero)}, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

/* Along the time axis the first sequence_lens[b] elements of batch b turn round: a gather with constant positions. */
static enum status convert_reverse_sequence(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *lens;
    int64_t *list_n;
    uint32_t k, x, index, y, time, batch;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &lens));
    TRY(onnx_ints(cx, lens, "sequence_lens", &list_n, &k));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "time_axis", 0), v->rank, &time));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "batch_axis", 1), v->rank, &batch));
    RETURN_IF(k != v->dims[batch] || time == batch, ST_INVALID_OP, "\"sequence_lens\" has %u entries for %u sequences", k,
              v->dims[batch]);
    uint64_t count = onnx_count(v);
    REFUSE_WHEN(count > 1u << 24, "the input has %llu elements; at most %u are supported", (unsigned long long)count,
                1u << 24);
    TRY(onnx_charge(cx, "positions", count, 4));
    int32_t *at = arena_array(&cx->b.g->arena, int32_t, count);
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for positions");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rest = i;
        uint32_t where[MAX_RANK] = {0};
        for (uint32_t j = v->rank; j-- > 0;) {
            where[j] = (uint32_t)(rest % v->dims[j]);
            rest /= v->dims[j];
        }
        int64_t length = list_n[where[batch]];
        at[i] = (int32_t)(where[time] < length && length <= v->dims[time] ? length - 1 - where[time] : where[time]);
    }
    struct tensor_desc d = {.type = DT_I32, .rank = v->rank};
    memcpy(d.dims, v->dims, sizeof(d.dims));
    TRY(onnx_stored(cx, v, NULL, &x));
    TRY(build_const(B, onnx_name(cx, "positions"), &d, at, true, &index));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "GatherElements", .name = cx->label, BUILD_IN(x, index), .params = { BUILD_U32("axis", time) } },
        &y));
    return onnx_out_like(cx, n, 0, y, NULL, v);
}

/* Cut or pad around the middle to a given size. */
static enum status convert_center_crop_pad(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *s;
    const struct onnx_attr *a = onnx_attr(cx, n, "axes");
    struct onnx_range r[MAX_RANK];
    int64_t *shape;
    uint32_t k, at, x, y, pads[2 * MAX_RANK] = {0}, any = 0;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &s));
    TRY(onnx_ints(cx, s, "shape", &shape, &k));
    RETURN_IF(k != (a ? a->n_ints : v->rank), ST_INVALID_OP, "\"shape\" has %u entries", k);
    for (uint32_t i = 0; i < v->rank; i++)
        r[i] = (struct onnx_range){0, 1, v->dims[i]};
    for (uint32_t i = 0; i < k; i++) {
        TRY(onnx_axis(cx, a ? a->ints[i] : i, v->rank, &at));
        REFUSE_WHEN(shape[i] < 1 || shape[i] > INT32_MAX, "\"shape\" has entry %lld", (long long)shape[i]);
        int64_t more = shape[i] - v->dims[at];
        if (more <= 0)
            r[at] = (struct onnx_range){-more / 2, 1, (uint32_t)shape[i]};
        else {
            any = 1;
            pads[2 * at] = (uint32_t)(more / 2);
            pads[2 * at + 1] = (uint32_t)(more - more / 2);
        }
    }
    TRY(onnx_tensor(cx, v, NULL, &x));
    TRY(emit_slice(cx, onnx_name(cx, "crop"), x, r, &y));
    if (any)
        TRY(emit_pad(cx, y, 0, pads, 0, &y));
    return onnx_out(cx, n, 0, y, NULL);
}

const struct onnx_row onnx_rows_slice[] = {
    {"Slice", ONNX_FREE, convert_slice, NULL},
    {"Pad", ONNX_FREE, convert_pad, NULL},
    {"Trilu", 0, convert_trilu, NULL},
    {"ReverseSequence", 0, convert_reverse_sequence, NULL},
    {"CenterCropPad", 0, convert_center_crop_pad, NULL},
    {0},
};
