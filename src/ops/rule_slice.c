/* SPDX-License-Identifier: Apache-2.0 */
/* StridedSlice and Pad: a dimension is read with a begin, an end and a step, or grown at both ends. */
#include "ops/op_rules.h"

enum { PAD_CONSTANT, PAD_SYMMETRIC, PAD_REFLECT, PAD_EDGE };

static int64_t limit(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* One row of ranges on a dimension of `size`. Forward: negative positions count from the end, overlong ends stop at the
 * size. Backward: the end is exclusive below, so -1 is how element 0 is reached; it never counts from the end. */
static enum status slice_dim(const struct op_call *c, uint32_t row, uint32_t size, struct op_slice *ret)
{
    int64_t begin = op_int(c, "ranges", 3 * row), end = op_int(c, "ranges", 3 * row + 1),
            stride = op_int(c, "ranges", 3 * row + 2);
    int64_t n = size;
    REFUSE_IF(stride == 0, c, "parameter \"ranges\": row %u has stride 0; any other stride is allowed", row);
    if (op_int(c, "begin_mask", 0) >> row & 1)
        begin = stride > 0 ? 0 : n - 1;
    else
        begin = limit(begin < 0 ? begin + n : begin, 0, stride > 0 ? n : n - 1);
    if (op_int(c, "end_mask", 0) >> row & 1)
        end = stride > 0 ? n : -1;
    else if (stride > 0)
        end = limit(end < 0 ? end + n : end, 0, n);
    else
        end = end < -n ? -1 : limit(end < -1 ? end + n : end, -1, n - 1);
    if (ret->shrink)
        end = begin + (stride > 0 ? 1 : -1);
    int64_t span = stride > 0 ? end - begin : begin - end, step = stride > 0 ? stride : -stride;
    REFUSE_IF(span <= 0 || begin >= n, c,
              "parameter \"ranges\": row %u [%lld, %lld, %lld] selects nothing of a dimension of %u elements; [begin, end, "
              "stride] with at least one element is expected",
              row, (long long)op_int(c, "ranges", 3 * row), (long long)op_int(c, "ranges", 3 * row + 1), (long long)stride,
              size);
    ret->begin = begin;
    ret->stride = stride;
    ret->count = (uint32_t)((span + step - 1) / step);
    return ST_OK;
}

enum status op_slice(const struct op_call *c, struct op_slice ret[OP_SLICE_MAX], uint32_t *ret_n)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t rows = op_count(c, "ranges") / 3, axis = 0;
    uint32_t fresh = (uint32_t)op_int(c, "new_axes_mask", 0), shrink = (uint32_t)op_int(c, "shrink_axes", 0);
    REFUSE_IF(rows > OP_SLICE_MAX, c, "parameter \"ranges\" has %u rows; at most %d are supported", rows, OP_SLICE_MAX);
    uint32_t added = (uint32_t)__builtin_popcount(fresh & ((1u << rows) - 1));
    REFUSE_IF(rows != x->rank + added, c,
              "parameter \"ranges\" has %u rows; one per input dimension (%u) and new axis (%u) is expected", rows, x->rank,
              added);
    for (uint32_t i = 0; i < rows; i++) {
        ret[i] = (struct op_slice){.axis = -1, .stride = 1, .count = 1};
        if (fresh >> i & 1)
            continue;
        ret[i].shrink = shrink >> i & 1;
        ret[i].axis = (int32_t)axis;
        TRY(slice_dim(c, i, x->dims[axis], &ret[i]));
        axis++;
    }
    *ret_n = rows;
    return ST_OK;
}

RULE(strided_slice)
{
    const struct tensor_desc *x = c->in[0];
    struct op_slice s[OP_SLICE_MAX];
    uint32_t n = 0, rank = 0, at = 0;
    TRY(op_slice(c, s, &n));
    for (uint32_t i = 0; i < n; i++)
        rank += !s[i].shrink;
    TRY(rule_set_rank(c, &want[0], rank));
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].shrink)
            continue;
        /* A dynamic dimension stays one when the slice takes all of it. */
        if (s[i].axis >= 0 && x->dynamic >> s[i].axis & 1 && s[i].count == x->dims[s[i].axis])
            want[0].dynamic |= (uint8_t)(1u << at);
        want[0].dims[at++] = s[i].count;
    }
    rule_type(&want[0], x);
    return ST_OK;
}

RULE(pad)
{
    const struct tensor_desc *x = c->in[0];
    int64_t scheme = op_int(c, "scheme", 0);
    rule_shape_of(&want[0], x);
    rule_type(&want[0], x);
    for (uint32_t i = 0; i < x->rank; i++) {
        uint64_t before = (uint64_t)op_int(c, "pad_amount", 2 * i), after = (uint64_t)op_int(c, "pad_amount", 2 * i + 1);
        uint64_t most = scheme == PAD_REFLECT ? x->dims[i] - 1u : scheme == PAD_SYMMETRIC ? x->dims[i] : UINT32_MAX;
        REFUSE_IF(before > most || after > most, c,
                  "parameter \"pad_amount\" is [%llu, %llu] for dimension %u; mirroring %u elements allows at most %llu",
                  (unsigned long long)before, (unsigned long long)after, i, x->dims[i], (unsigned long long)most);
        TRY(rule_set_dim(c, &want[0], i, x->dims[i] + before + after));
    }
    return ST_OK;
}
