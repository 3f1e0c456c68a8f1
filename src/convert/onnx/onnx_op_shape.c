/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move values: reshapes, joins, splits, repeats. Constants are reshaped without leaving the file's bytes;
 * transposes only note the order. */
#include <string.h>

#include "convert/onnx/onnx.h"

/* v in another shape, same order of elements. */
static enum status reshaped(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *v, uint32_t rank,
                            const uint32_t *dims)
{
    uint32_t t;
    if (onnx_is_const(v) && !v->view)
        return onnx_out_const(cx, n, 0, v->stored, rank, dims, v->data);
    TRY(onnx_stored(cx, v, NULL, &t));
    TRY(build_reshape(B, cx->label, t, rank, dims, &t));
    return onnx_out_like(cx, n, 0, t, NULL, v);
}

static enum status convert_reshape(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *s;
    const struct onnx_attr *a = onnx_attr(cx, n, "shape");
    int64_t *shape = a ? a->ints : NULL;
    uint32_t rank = a ? a->n_ints : 0, dims[MAX_RANK], open = UINT32_MAX;
    uint64_t known = 1;
    TRY(onnx_in(cx, n, 0, &v));
    if (!a) {
        TRY(onnx_in(cx, n, 1, &s));
        TRY(onnx_ints(cx, s, "shape", &shape, &rank));
    }
    REFUSE_WHEN(rank > MAX_RANK, "the output has rank %u; at most %d is supported", rank, MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        bool copy = shape[i] == 0 && !onnx_attr_int(cx, n, "allowzero", 0);
        RETURN_IF(shape[i] < -1 || shape[i] > UINT32_MAX || (copy && i >= v->rank), ST_INVALID_OP,
                  "\"shape\" has entry %lld", (long long)shape[i]);
        dims[i] = copy ? v->dims[i] : shape[i] < 0 ? 1 : (uint32_t)shape[i];
        if (shape[i] < 0)
            open = i;
        known *= dims[i];
    }
    if (open != UINT32_MAX && known)
        dims[open] = (uint32_t)(onnx_count(v) / known);
    known *= open != UINT32_MAX ? dims[open] : 1;
    RETURN_IF(known != onnx_count(v), ST_INVALID_OP, "%llu elements do not fit the new shape",
              (unsigned long long)onnx_count(v));
    return reshaped(cx, n, v, rank, dims);
}

static enum status convert_flatten(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t dims[2] = {1, 1};
    TRY(onnx_in(cx, n, 0, &v));
    int64_t axis = onnx_attr_int(cx, n, "axis", 1);
    axis = axis < 0 ? axis + v->rank : axis;
    RETURN_IF(axis < 0 || axis > v->rank, ST_INVALID_OP, "\"axis\" is %lld for rank %u", (long long)axis, v->rank);
    for (uint32_t i = 0; i < v->rank; i++)
        dims[i >= axis] *= v->dims[i];
    return reshaped(cx, n, v, 2, dims);
}

/* "axes" was an attribute before opset 13. */
static enum status axes_of(struct onnx_cx *cx, const struct onnx_node *n, uint32_t rank, uint32_t *mask, bool *given)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "axes");
    int64_t *axes = a ? a->ints : NULL;
    uint32_t k = a ? a->n_ints : 0, at;
    struct onnx_value *v;
    TRY(onnx_in_opt(cx, n, 1, &v));
    if (v)
        TRY(onnx_ints(cx, v, "axes", &axes, &k));
    *mask = 0;
    *given = a || v;
    for (uint32_t i = 0; i < k; i++) {
        TRY(onnx_axis(cx, axes[i], rank, &at));
        *mask |= 1u << at;
    }
    return ST_OK;
}

static enum status convert_squeeze(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint32_t mask, t, k = 0, dims[MAX_RANK];
    uint8_t perm[MAX_RANK];
    bool given;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(axes_of(cx, n, v->rank, &mask, &given));
    for (uint32_t i = 0; i < v->rank; i++) {
        if (!given && v->dims[i] == 1)
            mask |= 1u << i;
        RETURN_IF(mask >> i & 1 && v->dims[i] != 1, ST_INVALID_OP, "dimension %u has %u elements; only those of 1 can go", i,
                  v->dims[i]);
    }
    if (onnx_is_const(v) && !v->view) {
        for (uint32_t i = 0; i < v->rank; i++)
            if (!(mask >> i & 1))
                dims[k++] = v->dims[i];
        return onnx_out_const(cx, n, 0, v->stored, k, dims, v->data);
    }
    TRY(onnx_stored(cx, v, v->perm, &t));
    for (uint32_t i = 0; i < v->rank; i++)
        if (!(mask >> v->perm[i] & 1))
            dims[k++] = build_desc(B, t)->dims[i];
    onnx_drop_dims(v->perm, v->rank, mask, perm);
    TRY(build_reshape(B, cx->label, t, k, dims, &t));
    return onnx_out_like(cx, n, 0, t, perm, v);
}

static enum status convert_unsqueeze(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *axes;
    const struct onnx_attr *a = onnx_attr(cx, n, "axes");
    uint32_t mask, added = a ? a->n_ints : 0, rank, k = 0, dims[MAX_RANK];
    bool given;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in_opt(cx, n, 1, &axes));
    if (axes)
        added = (uint32_t)onnx_count(axes);
    rank = v->rank + added;
    REFUSE_WHEN(rank > MAX_RANK, "the output has rank %u; at most %d is supported", rank, MAX_RANK);
    TRY(axes_of(cx, n, rank, &mask, &given));
    RETURN_IF((uint32_t)__builtin_popcount(mask) != added, ST_INVALID_OP, "\"axes\" names a dimension twice");
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = mask >> i & 1 ? 1 : v->dims[k++];
    return reshaped(cx, n, v, rank, dims);
}

static enum status convert_transpose(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    const struct onnx_attr *a = onnx_attr(cx, n, "perm");
    uint8_t perm[MAX_RANK];
    uint32_t mask = 0, from, t;
    TRY(onnx_in(cx, n, 0, &v));
    RETURN_IF(a && a->n_ints != v->rank, ST_INVALID_OP, "\"perm\" has %u entries for rank %u", a->n_ints, v->rank);
    for (uint32_t i = 0; i < v->rank; i++) {
        TRY(onnx_axis(cx, a ? a->ints[i] : v->rank - 1 - (int64_t)i, v->rank, &from));
        perm[i] = (uint8_t)from;
        mask |= 1u << from;
    }
    RETURN_IF(mask != (1u << v->rank) - 1, ST_INVALID_OP, "\"perm\" names a dimension twice");
    TRY(onnx_stored(cx, v, v->perm, &t)); /* a constant gets its place in the graph */
    return onnx_out_view(cx, n, 0, v, perm);
}

/* ---- repeats ------------------------------------------------------------------------------------------------------ */

static enum status emit_tile(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *v, uint32_t t, uint32_t rank,
                             const uint32_t *times)
{
    bool any = false;
    for (uint32_t i = 0; i < rank; i++)
        any |= times[i] != 1;
    if (any)
        TRY(build_node(
            B,
            &(struct build_spec){
                .op = "Tile", .name = cx->label, BUILD_IN(t), .params = { BUILD_U32S("multiples", rank, times) } },
            &t));
    return onnx_out_like(cx, n, 0, t, NULL, v);
}

static enum status convert_expand(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *s;
    int64_t *shape;
    uint32_t k, t, rank, dims[MAX_RANK], times[MAX_RANK];
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &s));
    TRY(onnx_ints(cx, s, "shape", &shape, &k));
    rank = k > v->rank ? k : v->rank;
    REFUSE_WHEN(rank > MAX_RANK, "the output has rank %u; at most %d is supported", rank, MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t want = i + k >= rank ? shape[i + k - rank] : 1;
        dims[i] = i + v->rank >= rank ? v->dims[i + v->rank - rank] : 1;
        RETURN_IF(want < 0 || want > UINT32_MAX || (want != 1 && dims[i] != 1 && want != dims[i]), ST_INVALID_OP,
                  "dimension %u of %u cannot become %lld", i, dims[i], (long long)want);
        REFUSE_WHEN(want == 0, "dimension %u of the output is empty", i);
        times[i] = dims[i] == 1 ? (uint32_t)want : 1;
    }
    TRY(onnx_stored(cx, v, NULL, &t));
    TRY(build_reshape(B, onnx_name(cx, "rank"), t, rank, dims, &t));
    return emit_tile(cx, n, v, t, rank, times);
}

static enum status convert_tile(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *r;
    int64_t *repeats;
    uint32_t k, t, times[MAX_RANK];
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &r));
    TRY(onnx_ints(cx, r, "repeats", &repeats, &k));
    RETURN_IF(k != v->rank, ST_INVALID_OP, "\"repeats\" has %u entries for rank %u", k, v->rank);
    for (uint32_t i = 0; i < k; i++) {
        REFUSE_WHEN(repeats[i] < 1 || repeats[i] > UINT32_MAX, "\"repeats\" has entry %lld; at least 1 is supported",
                    (long long)repeats[i]);
        times[i] = (uint32_t)repeats[i];
    }
    TRY(onnx_stored(cx, v, NULL, &t));
    return emit_tile(cx, n, v, t, k, times);
}

/* ---- joins and splits --------------------------------------------------------------------------------------------- */

static enum status convert_concat(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value **v = arena_array(&cx->arena, struct onnx_value *, n->n_in + 1);
    uint8_t perm[MAX_RANK];
    uint32_t rank, axis, *t = arena_array(&cx->arena, uint32_t, n->n_in + 1), y, count = 0;
    RETURN_IF(!v || !t, ST_NO_MEMORY, "no memory to join %u tensors", n->n_in);
    REFUSE_WHEN(n->n_in == 0, "nothing is joined");
    for (uint32_t i = 0; i < n->n_in; i++) {
        TRY(onnx_in(cx, n, i, &v[count]));
        if (onnx_is_const(v[count]) && onnx_count(v[count]) == 0)
            continue; /* nothing to join */
        count++;
    }
    REFUSE_WHEN(count == 0, "all inputs are empty");
    onnx_common_perm(v, count, perm, &rank);
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", cx->model.opset < 4 ? 1 : 0), rank, &axis));
    for (uint32_t i = 0; i < count; i++) {
        RETURN_IF(v[i]->rank != rank, ST_INVALID_OP, "the inputs have ranks %u and %u", v[i]->rank, rank);
        TRY(onnx_tensor(cx, v[i], perm, &t[i]));
    }
    if (count == 1)
        return onnx_out_view(cx, n, 0, v[0], NULL);
    TRY(onnx_emit(cx, (struct build_spec){.op = "Concat", .name = cx->label, .in = t, .n_in = count,
                                          .params = {BUILD_U32("axis", onnx_at(perm, rank, axis))}}, &y));
    TRY(onnx_out(cx, n, 0, y, perm));
    if (!cx->fixed)
        onnx_out_type(cx, n, 0, v[0]->type);
    return ST_OK;
}

static enum status split_sizes(struct onnx_cx *cx, const struct onnx_node *n, uint32_t size, int64_t **ret, uint32_t *count)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "split");
    struct onnx_value *v;
    TRY(onnx_in_opt(cx, n, 1, &v));
    if (v)
        return onnx_ints(cx, v, "split", ret, count);
    if (a) {
        *ret = a->ints;
        *count = a->n_ints;
        return ST_OK;
    }
    int64_t parts = onnx_attr_int(cx, n, "num_outputs", n->n_out);
    RETURN_IF(parts < 1 || parts > size, ST_INVALID_OP, "%u elements in %lld parts", size, (long long)parts);
    int64_t each = (size + parts - 1) / parts;
    *ret = arena_array(&cx->arena, int64_t, (size_t)parts);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory to split");
    for (int64_t i = 0; i < parts; i++)
        (*ret)[i] = i + 1 < parts ? each : (int64_t)size - each * (parts - 1);
    *count = (uint32_t)parts;
    return ST_OK;
}

/* Parts of a constant, most often of a shape, are constants again. */
static enum status split_constant(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *v, uint32_t axis,
                                  const int64_t *sizes)
{
    uint64_t outer = 1, inner = dtype_bits(v->stored) / 8, at = 0;
    uint32_t dims[MAX_RANK];
    memcpy(dims, v->dims, sizeof(dims));
    for (uint32_t i = 0; i < v->rank; i++)
        *(i < axis ? &outer : &inner) *= i == axis ? 1 : v->dims[i];
    for (uint32_t k = 0; k < n->n_out; k++) {
        uint64_t run = (uint64_t)sizes[k] * inner;
        char *to = arena_alloc(&cx->b.g->arena, outer * run);
        RETURN_IF(!to, ST_NO_MEMORY, "no memory for part %u of a constant", k);
        for (uint64_t o = 0; o < outer; o++)
            memcpy(to + o * run, (const char *)v->data + (o * v->dims[axis] * inner + at), run);
        at += run;
        dims[axis] = (uint32_t)sizes[k];
        TRY(onnx_out_const(cx, n, k, v->stored, v->rank, dims, to));
    }
    return ST_OK;
}

static enum status convert_split(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    int64_t *sizes;
    uint32_t axis, count, x, *y = arena_array(&cx->arena, uint32_t, n->n_out + 1),
                             *at = arena_array(&cx->arena, uint32_t, n->n_out + 1), sum = 0, parts = 0;
    RETURN_IF(!y || !at, ST_NO_MEMORY, "no memory to split into %u tensors", n->n_out);
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 0), v->rank, &axis));
    TRY(split_sizes(cx, n, v->dims[axis], &sizes, &count));
    RETURN_IF(count != n->n_out, ST_INVALID_OP, "%u parts for %u outputs", count, n->n_out);
    for (uint32_t i = 0; i < count; i++) {
        RETURN_IF(sizes[i] < 0 || sizes[i] > v->dims[axis], ST_INVALID_OP, "part %u has %lld elements", i,
                  (long long)sizes[i]);
        sum += (uint32_t)sizes[i];
        if (sizes[i])
            at[parts++] = sum;
    }
    RETURN_IF(sum != v->dims[axis], ST_INVALID_OP, "the parts have %u elements together, the input %u", sum, v->dims[axis]);
    if (onnx_is_const(v) && !v->view && v->type == v->stored && dtype_bits(v->stored) >= 8 && onnx_count(v) <= 1u << 18)
        return split_constant(cx, n, v, axis, sizes);
    TRY(onnx_stored(cx, v, v->perm, &x));
    if (parts > 1)
        TRY(build_node(B,
                       &(struct build_spec){ .op = "Split",
                                             .name = cx->label,
                                             BUILD_IN(x),
                                             .n_out = parts,
                                             .params = { BUILD_U32("axis", onnx_at(v->perm, v->rank, axis)),
                                                         BUILD_U32S("split_index", parts - 1, at) } },
                       y));
    for (uint32_t i = 0, k = 0; i < count; i++) {
        uint32_t dims[MAX_RANK];
        memcpy(dims, v->dims, sizeof(dims));
        dims[axis] = 0;
        if (!sizes[i]) /* nothing, which only a join can take */
            TRY(onnx_out_const(cx, n, i, v->type, v->rank, dims, onnx_nothing));
        else
            TRY(parts == 1 ? onnx_out_view(cx, n, i, v, NULL) : onnx_out_like(cx, n, i, y[k++], v->perm, v));
    }
    return ST_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

static enum status convert_blocks(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    uint8_t last[MAX_RANK];
    uint32_t x, y, size = (uint32_t)onnx_attr_int(cx, n, "blocksize", 1);
    TRY(onnx_in(cx, n, 0, &v));
    REFUSE_WHEN(v->rank != 4, "the input has rank %u; 4 is supported", v->rank);
    perm_channel_last(last, 4);
    TRY(onnx_stored(cx, v, last, &x));
    TRY(build_node(
        B,
        &(struct build_spec){ .op = n->op,
                              .name = cx->label,
                              BUILD_IN(x),
                              .params = { BUILD_U32S("block_size", 2, ((uint32_t[]){ size, size })),
                                          BUILD_U32("mode", !strcmp(onnx_attr_text(cx, n, "mode", "DCR"), "CRD")) } },
        &y));
    return onnx_out_like(cx, n, 0, y, last, v);
}

const struct onnx_row onnx_rows_shape[] = {
    {"Reshape", 0, convert_reshape, NULL},
    {"Flatten", 0, convert_flatten, NULL},
    {"Squeeze", 0, convert_squeeze, NULL},
    {"Unsqueeze", 0, convert_unsqueeze, NULL},
    {"Transpose", 0, convert_transpose, NULL},
    {"Expand", 0, convert_expand, NULL},
    {"Tile", 0, convert_tile, NULL},
    {"Concat", ONNX_FREE | ONNX_FIXED, convert_concat, NULL},
    {"Split", ONNX_FREE, convert_split, NULL},
    {"DepthToSpace", ONNX_SPATIAL, convert_blocks, NULL},
    {"SpaceToDepth", ONNX_SPATIAL, convert_blocks, NULL},
    {0},
};
