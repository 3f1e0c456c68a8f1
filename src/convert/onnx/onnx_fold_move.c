/* SPDX-License-Identifier: Apache-2.0 */
/* Constants moved about while converting: slices, gathers, joins. */
#include <string.h>

#include "convert/onnx/onnx_fold.h"

static uint64_t product(const uint32_t *dims, uint32_t from, uint32_t to)
{
    uint64_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= dims[i];
    return n;
}

static enum status fold_gather(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v)
{
    uint32_t axis, rank = 0, dims[2 * MAX_RANK];
    void *out;
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 0), v[0]->rank, &axis));
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = v[0]->dims[i];
    for (uint32_t i = 0; i < v[1]->rank; i++)
        dims[rank++] = v[1]->dims[i];
    for (uint32_t i = axis + 1; i < v[0]->rank; i++)
        dims[rank++] = v[0]->dims[i];
    TRY(fold_out(cx, n, v[0]->stored, rank, dims, &out));
    uint64_t outer = product(v[0]->dims, 0, axis),
             inner = product(v[0]->dims, axis + 1, v[0]->rank) * (dtype_bits(v[0]->stored) / 8);
    uint64_t many = onnx_count(v[1]), size = v[0]->dims[axis];
    char *to = out;
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t i = 0; i < many; i++, to += inner) {
            int64_t at = number_get_int(v[1]->stored, v[1]->data, i);
            at = at < 0 ? at + (int64_t)size : at;
            RETURN_IF(at < 0 || (uint64_t)at >= size, ST_INVALID_OP, "index %lld of an axis of %llu elements", (long long)at,
                      (unsigned long long)size);
            memcpy(to, (const char *)v[0]->data + (o * size + (uint64_t)at) * inner, inner);
        }
    return ST_OK;
}

static enum status fold_concat(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v)
{
    uint32_t axis, dims[MAX_RANK];
    uint64_t sum = 0;
    void *out;
    TRY(onnx_axis(cx, onnx_attr_int(cx, n, "axis", 0), v[0]->rank, &axis));
    for (uint32_t i = 0; i < n->n_in; i++) {
        RETURN_IF(!v[i] || v[i]->rank != v[0]->rank || v[i]->stored != v[0]->stored, ST_SHAPE,
                  "input %u has another rank or type than input 0", i);
        for (uint32_t k = 0; k < v[0]->rank; k++)
            RETURN_IF(k != axis && v[i]->dims[k] != v[0]->dims[k], ST_SHAPE,
                      "input %u has another size than input 0 in dimension %u", i, k);
        sum += v[i]->dims[axis];
    }
    memcpy(dims, v[0]->dims, sizeof(dims));
    REFUSE_WHEN(sum > UINT32_MAX, "the output is too large");
    dims[axis] = (uint32_t)sum;
    TRY(fold_out(cx, n, v[0]->stored, v[0]->rank, dims, &out));
    uint64_t outer = product(dims, 0, axis), inner = product(dims, axis + 1, v[0]->rank) * (dtype_bits(v[0]->stored) / 8);
    char *to = out;
    for (uint64_t o = 0; o < outer; o++)
        for (uint32_t i = 0; i < n->n_in; i++) {
            uint64_t run = v[i]->dims[axis] * inner;
            memcpy(to, (const char *)v[i]->data + o * run, run);
            to += run;
        }
    return ST_OK;
}

static enum status fold_slice(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v)
{
    struct onnx_range r[MAX_RANK];
    uint32_t dims[MAX_RANK], rank = v[0]->rank;
    uint64_t stride[MAX_RANK], count = 1;
    void *out;
    TRY(onnx_slice_ranges(cx, n, v[0], r));
    for (uint32_t i = rank; i-- > 0;) {
        stride[i] = i + 1 < rank ? stride[i + 1] * v[0]->dims[i + 1] : 1;
        dims[i] = r[i].count;
        count *= dims[i];
    }
    TRY(fold_out(cx, n, v[0]->stored, rank, dims, &out));
    size_t size = dtype_bits(v[0]->stored) / 8;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t rest = k, at = 0;
        for (uint32_t i = rank; i-- > 0;) {
            at += (uint64_t)(r[i].begin + (int64_t)(rest % dims[i]) * r[i].step) * stride[i];
            rest /= dims[i];
        }
        memcpy((char *)out + k * size, (const char *)v[0]->data + at * size, size);
    }
    return ST_OK;
}

static enum status fold_transpose(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "perm");
    struct tensor_desc d = {.type = v[0]->stored, .rank = v[0]->rank};
    uint32_t dims[MAX_RANK], mask = 0;
    uint8_t perm[MAX_RANK];
    void *out;
    RETURN_IF(a && a->n_ints != d.rank, ST_INVALID_OP, "\"perm\" has %u entries for rank %u", a->n_ints, d.rank);
    for (uint32_t i = 0; i < d.rank; i++) {
        uint32_t from;
        TRY(onnx_axis(cx, a ? a->ints[i] : d.rank - 1 - (int64_t)i, d.rank, &from));
        perm[i] = (uint8_t)from;
        dims[i] = v[0]->dims[from];
        mask |= 1u << from;
    }
    RETURN_IF(mask != (1u << d.rank) - 1, ST_INVALID_OP, "\"perm\" names a dimension twice");
    memcpy(d.dims, v[0]->dims, sizeof(d.dims));
    TRY(fold_out(cx, n, d.type, d.rank, dims, &out));
    transpose_bytes(&d, v[0]->data, perm, out);
    return ST_OK;
}

enum status fold_move(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, bool *done)
{
    static const struct {
        const char *op;
        enum status (*fn)(struct onnx_cx *, const struct onnx_node *, struct onnx_value **);
        uint32_t least;
    } ops[] = { { "Gather", fold_gather, 2 },
                { "Concat", fold_concat, 1 },
                { "Slice", fold_slice, 1 },
                { "Transpose", fold_transpose, 1 } };
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (!strcmp(ops[i].op, n->op) && n->n_in >= ops[i].least)
            return ops[i].fn(cx, n, v);
    *done = false;
    return ST_OK;
}
