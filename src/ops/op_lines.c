/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that can be computed line by line: which lines of an input the lines of a result need.
 *
 *     window   Conv2d, DepthWiseConv2d, pools: line o needs o * stride - before and `window` lines from there, as far as
 * there are such same     element-wise operators: line o needs line o; what is broadcast over lines is needed whole rows
 * FullyConnected, MatMul: a row of the result needs that row of the first operand along    Concat of what lies inside a
 * line: line o needs line o of all inputs
 *
 * Everything else of an operator (weights, slopes, …) is needed whole. */
#include "ops/ops.h"

enum kind { NONE, WINDOW, POOL, SAME, ROWS, ALONG };

static enum kind kind_of(const struct op_def *op)
{
    switch (op->id) {
    case OP_Conv2d:
    case OP_DepthWiseConv2d:
        return WINDOW;
    case OP_PoolAvg2d:
    case OP_PoolMax2d:
    case OP_L2Pool2d:
        return POOL;
    case OP_FullyConnected:
    case OP_MatMul:
        return ROWS;
    case OP_Concat:
        return ALONG;
    default:
        return op->flags & OP_ELEMENTWISE ? SAME : NONE;
    }
}

/* The dimension that lines are counted in. */
static uint32_t line_axis(const struct tensor_desc *d)
{
    return d->rank == 2 ? 0 : 1;
}

bool desc_lines(const struct tensor_desc *d, struct op_lines *ret)
{
    uint32_t axis = line_axis(d);
    uint64_t elements = 1, images = 1, n;
    if (d->rank < 2 || d->rank > 4 || d->dynamic || dtype_bits(d->type) < 8)
        return false;
    for (uint32_t i = 0; i < axis; i++)
        images *= d->dims[i];
    for (uint32_t i = axis + 1; i < d->rank; i++)
        elements *= d->dims[i];
    n = images * d->dims[axis];
    *ret = (struct op_lines){ .n = (uint32_t)n,
                              .images = (uint32_t)images,
                              .elements = elements,
                              .bytes = elements * (dtype_bits(d->type) / 8) };
    return n > 0 && n <= UINT32_MAX && ret->bytes > 0;
}

/* Line o of one is at the place of line o of the other. */
static bool same_lines(const struct tensor_desc *a, const struct tensor_desc *b)
{
    bool same = a->rank == b->rank;
    for (uint32_t i = 0; same && i <= line_axis(a); i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

/* All inputs have the lines of the result. */
static bool joins_inside(const struct op_call *c)
{
    const struct tensor_desc *y = c->out[0];
    struct op_lines in;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (!c->in[i] || c->in[i]->rank != y->rank || !desc_lines(c->in[i], &in))
            return false;
    return op_axis(c, "axis", 0, y->rank) > line_axis(y);
}

bool op_by_lines(const struct op_call *c)
{
    struct op_lines out;
    enum kind kind = kind_of(c->op);
    if (kind == NONE || c->n_out != 1 || !c->n_in || !c->in[0] || !desc_lines(c->out[0], &out))
        return false;
    if (kind == WINDOW || kind == POOL)
        return c->in[0]->rank == 4;
    if (kind == ROWS)
        return c->in[0]->rank == c->out[0]->rank && c->in[1] && c->in[1]->rank <= 3 && c->out[0]->rank <= 3 &&
               (c->op->id == OP_FullyConnected ? c->out[0]->rank == 2 : !op_int(c, "transpose_in0", 0));
    return kind != ALONG || joins_inside(c);
}

bool op_reach(const struct op_call *c, uint32_t i, struct op_reach *ret)
{
    struct op_lines in, out;
    enum kind kind = kind_of(c->op);
    if (i >= c->n_in || !c->in[i] || kind == NONE || (kind != SAME && kind != ALONG && i != 0) || !desc_lines(c->in[i], &in) ||
        !desc_lines(c->out[0], &out))
        return false;
    *ret = (struct op_reach){ .stride = 1, .window = 1 };
    if (kind == WINDOW) {
        ret->stride = (uint32_t)op_int(c, "stride", 0);
        ret->before = (uint32_t)op_int(c, "pad_amount", 0);
        ret->window = (uint64_t)(c->in[1]->dims[0] - 1) * (uint64_t)op_int(c, "dilation", 0) + 1;
    } else if (kind == POOL) {
        ret->stride = (uint32_t)op_int(c, "stride", 0);
        ret->before = (uint32_t)op_int(c, "pad_amount", 0);
        ret->window = (uint64_t)op_int(c, "filter_size", 0);
    }
    ret->plain = ret->stride == 1 && ret->window == 1 && !ret->before && same_lines(c->in[i], c->out[0]);
    ret->lines = ret->plain ? in.n : in.n / in.images;
    return ret->plain || ((kind == WINDOW || kind == POOL) && in.images == out.images);
}

static uint32_t limit(int64_t v, uint32_t lines)
{
    return v < 0 ? 0 : v > lines ? lines : (uint32_t)v;
}

void op_reach_lines(const struct op_reach *r, uint32_t *begin, uint32_t *end)
{
    if (*begin < *end) {
        int64_t from = (int64_t)*begin * r->stride - r->before,
                to = (int64_t)(*end - 1) * r->stride - r->before + (int64_t)r->window;
        *begin = limit(from, r->lines);
        *end = limit(to, r->lines);
    }
    if (*begin >= *end)
        *begin = *end = 0;
}
