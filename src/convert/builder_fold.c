/* SPDX-License-Identifier: Apache-2.0 */
/* Small integer computations on constants, done while building: shapes, sizes and positions that a model computes from the
 * shapes of its tensors. Everything else of constants is left to the compiler; what is here decides what the graph looks
 * like. */
#include "convert/builder_fold.h"

#include <string.h>

enum { FOLD_MAX = 4096, FOLD_PORTS = 64 };

struct fold {
    const struct op_call *c;
    const struct tensor_desc *out;    /* per output */
    const int64_t *in[FOLD_PORTS];    /* contents */
    int64_t *ret[FOLD_PORTS];
};

static bool is_whole(const struct tensor_desc *d)
{
    return (d->type == DT_I32 || d->type == DT_I64 || d->type == DT_B8) && desc_count(d) <= FOLD_MAX;
}

/* ---- movement --------------------------------------------------------------------------------------------------------- */

static uint64_t span(const struct tensor_desc *d, uint32_t from, uint32_t to)
{
    uint64_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= d->dims[i];
    return n;
}

static bool fold_view(const struct fold *f)
{
    memcpy(f->ret[0], f->in[0], desc_count(f->out) * sizeof(int64_t));
    return true;
}

/* Concat and Pack: blocks of the inputs one behind the other, as often as there are positions before the axis; Split and
 * UnPack the other way. */
static bool fold_blocks(const struct fold *f, bool joins, bool fresh)
{
    const struct op_call *c = f->c;
    const struct tensor_desc *whole = joins ? &f->out[0] : c->in[0];
    uint32_t axis = op_axis(c, "axis", 0, whole->rank), n = joins ? c->n_in : c->n_out;
    uint64_t before = span(whole, 0, axis), at = 0;
    for (uint64_t i = 0; i < before; i++)
        for (uint32_t k = 0; k < n; k++) {
            const struct tensor_desc *d = joins ? c->in[k] : &f->out[k];
            uint64_t block = span(d, axis, d->rank);
            block = fresh ? span(whole, axis + 1, whole->rank) : block;
            memcpy(joins ? f->ret[0] + at : f->ret[k] + i * block, joins ? f->in[k] + i * block : f->in[0] + at,
                   block * sizeof(int64_t));
            at += block;
        }
    return true;
}

static bool fold_slice(const struct fold *f)
{
    struct op_slice rows[OP_SLICE_MAX];
    uint32_t n;
    uint64_t strides[MAX_RANK], count = desc_count(f->out);
    desc_strides(f->c->in[0], strides);
    if (op_slice(f->c, rows, &n) != ST_OK)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rest = i;
        int64_t at = 0;
        for (uint32_t k = n; k-- > 0;) {
            if (rows[k].axis < 0)
                continue;
            uint64_t step = rows[k].shrink ? 0 : rest % rows[k].count;
            rest = rows[k].shrink ? rest : rest / rows[k].count;
            at += (rows[k].begin + (int64_t)step * rows[k].stride) * (int64_t)strides[rows[k].axis];
        }
        f->ret[0][i] = f->in[0][at];
    }
    return true;
}

static bool fold_gather(const struct fold *f)
{
    const struct tensor_desc *x = f->c->in[0];
    uint32_t axis = op_axis(f->c, "axis", 0, x->rank), size = x->dims[axis];
    uint64_t before = span(x, 0, axis), behind = span(x, axis + 1, x->rank), n = desc_count(f->c->in[1]);
    for (uint64_t i = 0; i < before; i++)
        for (uint64_t k = 0; k < n; k++) {
            int64_t at = f->in[1][k];
            if (at < 0 || at >= size)
                return false;
            memcpy(f->ret[0] + (i * n + k) * behind, f->in[0] + (i * size + (uint64_t)at) * behind,
                   behind * sizeof(int64_t));
        }
    return true;
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool compute(enum op_id op, int64_t a, int64_t b, int64_t *ret)
{
    switch (op) {
    case OP_ElementWiseAdd: return !__builtin_add_overflow(a, b, ret);
    case OP_ElementWiseSubtract: return !__builtin_sub_overflow(a, b, ret);
    case OP_ElementWiseMultiply: return !__builtin_mul_overflow(a, b, ret);
    case OP_ElementWiseMaximum: *ret = a > b ? a : b; return true;
    case OP_ElementWiseMinimum: *ret = a < b ? a : b; return true;
    case OP_ElementWiseFloorDiv: *ret = b > 0 ? floor_div(a, b) : 0; return b > 0;
    case OP_ElementWiseMod: *ret = b > 0 ? a - floor_div(a, b) * b : 0; return b > 0;
    case OP_ElementWiseEqual: *ret = a == b; return true;
    case OP_ElementWiseNotEqual: *ret = a != b; return true;
    case OP_ElementWiseLess: *ret = a < b; return true;
    case OP_ElementWiseLessEqual: *ret = a <= b; return true;
    case OP_ElementWiseGreater: *ret = a > b; return true;
    case OP_ElementWiseGreaterEqual: *ret = a >= b; return true;
    case OP_ElementWiseAnd: *ret = a && b; return true;
    case OP_ElementWiseOr: *ret = a || b; return true;
    default: return false;
    }
}

/* Where element i of the result is in an operand that is stretched. */
static uint64_t stretched(const struct tensor_desc *d, const struct tensor_desc *out, uint64_t i)
{
    uint64_t at = 0, step = 1;
    for (uint32_t k = 0; k < out->rank; k++) {
        uint32_t o = out->rank - 1 - k;
        if (k < d->rank) {
            uint32_t size = d->dims[d->rank - 1 - k];
            at += size > 1 ? i % out->dims[o] * step : 0;
            step *= size;
        }
        i /= out->dims[o];
    }
    return at;
}

static bool fold_binary(const struct fold *f)
{
    uint64_t n = desc_count(f->out);
    for (uint64_t i = 0; i < n; i++)
        if (!compute(f->c->op->id, f->in[0][stretched(f->c->in[0], f->out, i)], f->in[1][stretched(f->c->in[1], f->out, i)],
                     &f->ret[0][i]))
            return false;
    return true;
}

static bool fold_select(const struct fold *f)
{
    uint64_t n = desc_count(f->out);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t side = f->in[0][stretched(f->c->in[0], f->out, i)] ? 1 : 2;
        f->ret[0][i] = f->in[side][stretched(f->c->in[side], f->out, i)];
    }
    return true;
}

/* Of a list, or of anything when one value is left. */
static bool fold_reduce(const struct fold *f, enum op_id op)
{
    uint64_t n = desc_count(f->c->in[0]);
    if (desc_count(f->out) != 1 || n == 0)
        return false;
    f->ret[0][0] = f->in[0][0];
    for (uint64_t i = 1; i < n; i++)
        if (!compute(op, f->ret[0][0], f->in[0][i], &f->ret[0][0]))
            return false;
    return true;
}

static bool run(const struct fold *f)
{
    switch (f->c->op->id) {
    case OP_Reshape: case OP_Squeeze: case OP_ExpandDims: case OP_Cast: return fold_view(f);
    case OP_Concat: return fold_blocks(f, true, false);
    case OP_Pack: return fold_blocks(f, true, true);
    case OP_Split: return fold_blocks(f, false, false);
    case OP_UnPack: return fold_blocks(f, false, true);
    case OP_StridedSlice: return fold_slice(f);
    case OP_Gather: return fold_gather(f);
    case OP_ElementWiseSelect: return fold_select(f);
    case OP_ReduceProd: return fold_reduce(f, OP_ElementWiseMultiply);
    case OP_ReduceSum: return fold_reduce(f, OP_ElementWiseAdd);
    case OP_ReduceMax: return fold_reduce(f, OP_ElementWiseMaximum);
    case OP_ReduceMin: return fold_reduce(f, OP_ElementWiseMinimum);
    default: return f->c->n_in == 2 && f->c->n_out == 1 && fold_binary(f);
    }
}

/* ---- constants -------------------------------------------------------------------------------------------------------- */

static bool read_inputs(struct builder *b, struct fold *f)
{
    const struct op_call *c = f->c;
    for (uint32_t i = 0; i < c->n_in; i++) {
        if (!c->in[i] || !c->in_data[i] || !is_whole(c->in[i]))
            return false;
        uint64_t n = desc_count(c->in[i]);
        int64_t *v = arena_array(&b->g->arena, int64_t, n);
        if (!v)
            return false;
        for (uint64_t k = 0; k < n; k++)
            v[k] = number_get_int(c->in[i]->type == DT_B8 ? DT_U8 : c->in[i]->type, c->in_data[i], k);
        f->in[i] = v;
    }
    for (uint32_t i = 0; i < c->n_out; i++) {
        f->ret[i] = is_whole(&f->out[i]) ? arena_array(&b->g->arena, int64_t, desc_count(&f->out[i])) : NULL;
        if (!f->ret[i])
            return false;
    }
    return true;
}

/* Results as they are stored, over the results themselves; false: a number does not fit. */
static bool store(int64_t *v, const struct tensor_desc *d)
{
    uint64_t n = desc_count(d);
    for (uint64_t i = 0; i < n; i++) {
        int64_t x = v[i];
        if (d->type == DT_I32 && (x < INT32_MIN || x > INT32_MAX))
            return false;
        if (d->type == DT_I32)
            ((int32_t *)v)[i] = (int32_t)x;
        else if (d->type == DT_B8)
            ((uint8_t *)v)[i] = x != 0;
    }
    return true;
}

enum status build_folded(struct builder *b, const struct op_call *c, const struct tensor_desc *out, uint32_t *ret,
                         bool *done)
{
    struct fold f = {.c = c, .out = out};
    *done = false;
    if (c->n_in == 0 || c->n_in > FOLD_PORTS || c->n_out > FOLD_PORTS || c->op->flags & OP_RANDOM || !read_inputs(b, &f) ||
        !run(&f))
        return ST_OK;
    for (uint32_t i = 0; i < c->n_out; i++)
        if (!store(f.ret[i], &out[i]))
            return ST_OK;
    for (uint32_t i = 0; i < c->n_out; i++)
        TRY(build_const(b, c->node, &out[i], f.ret[i], true, &ret[i]));
    *done = true;
    return ST_OK;
}
