/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that can be computed line by line: which lines of an input the lines of a result need.
 *
 *     window   convolutions and pools: line o needs `window` lines from o * stride - before on, as far as there are such
 *     same     element-wise operators: line o needs line o; what is broadcast over lines is needed whole
 *     rows     FullyConnected, MatMul: a row of the result needs that row of the first operand, and all of the second one
 *     inside   normalizations and Softmax whose runs lie inside a line: line o needs line o
 *     along    Concat of what lies inside a line: line o needs line o of all inputs
 *     shape    Reshape: lines as they are, or several of them as one
 *
 * Images of one line (clients hand over sequences so) have their positions for lines, as tensors of rank 3 have.
 *
 * Everything else of an operator (weights, slopes, …) is needed whole. */
#include "ops/ops.h"

enum kind { NONE, WINDOW, POOL, SAME, ROWS, INSIDE, ALONG, SHAPE };

static enum kind kind_of(const struct op_def *op)
{
    switch (op->id) {
    case OP_BytesConv2d:
    case OP_Conv1d:
    case OP_Conv2d:
    case OP_DepthWiseConv1d:
    case OP_DepthWiseConv2d:
        return WINDOW;
    case OP_PoolAvg2d:
    case OP_PoolMax2d:
    case OP_L2Pool2d:
        return POOL;
    case OP_BytesMatMul:
    case OP_FullyConnected:
    case OP_MatMul:
        return ROWS;
    case OP_LayerNorm:
    case OP_RmsNorm:
    case OP_InstanceNorm:
    case OP_GroupNorm:
    case OP_L2Norm:
    case OP_Softmax:
    case OP_MaskedSoftmax:
    case OP_LogSoftmax: return INSIDE;
    case OP_Concat:
        return ALONG;
    case OP_Reshape: return SHAPE;
    default:
        return op->flags & OP_ELEMENTWISE ? SAME : NONE;
    }
}

/* The dimension that lines are counted in. */
static uint32_t line_axis(const struct tensor_desc *d)
{
    bool flat = d->rank == 4 && d->dims[1] == 1 && d->dims[2] > 1;
    return d->rank == 2 ? 0 : flat ? 2 : 1;
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
    *ret = (struct op_lines){
        .n = (uint32_t)n, .images = (uint32_t)images, .elements = elements, .bytes = elements * (dtype_bits(d->type) / 8)
    };
    return n > 0 && n <= UINT32_MAX && ret->bytes > 0;
}

/* Line o of one is at the place of line o of the other. */
static bool same_lines(const struct tensor_desc *a, const struct tensor_desc *b)
{
    bool same = a->rank == b->rank && line_axis(a) == line_axis(b);
    for (uint32_t i = 0; same && i <= line_axis(a); i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

/* Lines of a product are as many rows of both operands; what dimensions lie before rows does not matter. */
static bool rows_alike(const struct op_call *c)
{
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    struct op_lines in, out;
    if (!c->in[1] || x->rank < 2 || !desc_lines(x, &in) || !desc_lines(y, &out) || in.n != out.n)
        return false;
    uint64_t k = x->dims[x->rank - 1], n = y->dims[y->rank - 1];
    return in.elements / k == out.elements / n;
}

/* No statistics reach over lines. */
static bool runs_inside(const struct op_call *c)
{
    const struct tensor_desc *x = c->in[0];
    bool soft = c->op->id == OP_Softmax || c->op->id == OP_LogSoftmax, inside = same_lines(x, c->out[0]);
    struct op_lines lines;
    struct op_runs r;
    if (!inside || !desc_lines(x, &lines))
        return false;
    if (c->op->id == OP_MaskedSoftmax)
        op_runs_over(x, 1u << (x->rank - 1), &r);
    else if (soft)
        op_runs_over(x, 1u << op_axis(c, "axis", 0, x->rank), &r);
    else
        op_norm_runs(c, &r);
    for (uint32_t i = 0; i < r.n; i++)
        inside &= !r.at[i].in_run || r.at[i].size == 1 || (uint64_t)r.at[i].stride < lines.elements;
    return inside;
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

/* Bytes as they are, in whole lines. */
static bool shape_reach(const struct op_call *c, struct op_reach *ret)
{
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    struct op_lines in, out;
    if (x->type != y->type || !quant_same(&x->q, &y->q) || !desc_lines(x, &in) || !desc_lines(y, &out) ||
        in.n * in.bytes != out.n * out.bytes)
        return false;
    uint32_t from = in.n / in.images, to = out.n / out.images;
    *ret = (struct op_reach){ .stride = 1, .window = 1, .plain = in.n == out.n, .lines = in.n };
    if (ret->plain)
        return true;
    ret->lines = from;
    ret->window = ret->stride = from / to;
    return in.images == out.images && from % to == 0;
}

bool op_by_lines(const struct op_call *c)
{
    struct op_lines out;
    struct op_reach reach;
    enum kind kind = kind_of(c->op);
    if (kind == NONE || c->n_out != 1 || !c->n_in || !c->in[0] || !desc_lines(c->out[0], &out))
        return false;
    if (kind == WINDOW || kind == POOL)
        return line_axis(c->in[0]) == line_axis(c->out[0]);
    if (kind == ROWS)
        return rows_alike(c) && (c->op->id == OP_FullyConnected || !op_int(c, "transpose_in0", 0));
    if (kind == SHAPE)
        return shape_reach(c, &reach);
    return kind == ALONG ? joins_inside(c) : kind != INSIDE || runs_inside(c);
}

/* A window along the axis that lines are counted in. */
static void window_reach(const struct op_call *c, enum kind kind, struct op_reach *ret)
{
    uint32_t at = line_axis(c->out[0]) - 1;
    ret->stride = (uint32_t)op_int(c, "stride", at);
    ret->before = (uint32_t)op_int(c, "pad_amount", 2 * at);
    if (kind == POOL)
        ret->window = (uint64_t)op_int(c, "filter_size", at);
    else
        ret->window = (uint64_t)(c->in[1]->dims[at] - 1) * (uint64_t)op_int(c, "dilation", at) + 1;
}

bool op_reach(const struct op_call *c, uint32_t i, struct op_reach *ret)
{
    struct op_lines in, out;
    enum kind kind = kind_of(c->op);
    if (i >= c->n_in || !c->in[i] || kind == NONE || (kind != SAME && kind != ALONG && i != 0) ||
        !desc_lines(c->in[i], &in) || !desc_lines(c->out[0], &out))
        return false;
    if (kind == SHAPE)
        return shape_reach(c, ret);
    *ret = (struct op_reach){ .stride = 1, .window = 1 };
    if (kind == WINDOW || kind == POOL)
        window_reach(c, kind, ret);
    bool same = kind == ROWS ? rows_alike(c) : same_lines(c->in[i], c->out[0]);
    ret->plain = ret->stride == 1 && ret->window == 1 && !ret->before && same;
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
