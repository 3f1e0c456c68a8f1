/* SPDX-License-Identifier: Apache-2.0 */
/* What can be known while converting is computed here: shapes and everything that exporters compute from them, and other
 * small constants. Larger ones stay nodes; the compiler folds them. Integers are exact, floats are computed in double and
 * rounded to their type after every node. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"
#include "convert/onnx/onnx_fold.h"

enum { SMALL = 1 << 18, TOTAL = 1 << 25 };

enum status fold_out(struct onnx_cx *cx, const struct onnx_node *n, enum dtype type, uint32_t rank, const uint32_t *dims,
                     void **ret)
{
    uint64_t count = 1;
    REFUSE_WHEN(rank > MAX_RANK, "the output has rank %u; at most %d is supported", rank, MAX_RANK);
    for (uint32_t i = 0; i < rank; i++)
        REFUSE_WHEN(__builtin_mul_overflow(count, (uint64_t)dims[i], &count) || count > TOTAL,
                    "the output has more than %d elements", TOTAL);
    cx->folded += count;
    REFUSE_WHEN(cx->folded > 4ull * TOTAL, "more than %llu elements would be computed while converting", 4ull * TOTAL);
    TRY(onnx_charge(cx, "a constant", dtype_bytes(type, count), 1));
    *ret = arena_alloc(&cx->b.g->arena, dtype_bytes(type, count));
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for a constant of %llu elements", (unsigned long long)count);
    return onnx_out_const(cx, n, 0, type, rank, dims, *ret);
}

/* ---- others ------------------------------------------------------------------------------------------------------- */

static void copy_element(enum dtype t, void *to, uint64_t k, const void *from, uint64_t i)
{
    size_t size = dtype_bits(t) / 8;
    memcpy((char *)to + k * size, (const char *)from + i * size, size);
}

static enum status fold_where(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v)
{
    uint32_t rank, dims[MAX_RANK];
    void *out;
    uint64_t count = 1;
    RETURN_IF(!fold_broadcast_dims(v, 3, &rank, dims), ST_SHAPE, "the shapes of the inputs do not broadcast");
    TRY(fold_out(cx, n, v[1]->stored, rank, dims, &out));
    for (uint32_t k = 0; k < rank; k++)
        count *= dims[k];
    for (uint64_t i = 0; i < count; i++) {
        const struct onnx_value *from =
            number_get(v[0]->stored, v[0]->data, fold_broadcast_index(v[0], rank, dims, i)) != 0 ? v[1] : v[2];
        copy_element(from->stored, out, i, from->data, fold_broadcast_index(from, rank, dims, i));
    }
    return ST_OK;
}

static enum status fold_expand(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v)
{
    int64_t *shape;
    uint32_t k, rank, dims[MAX_RANK];
    void *out;
    uint64_t count = 1;
    TRY(onnx_ints(cx, v[1], "shape", &shape, &k));
    REFUSE_WHEN(k > MAX_RANK, "the output has rank %u; at most %d is supported", k, MAX_RANK);
    struct onnx_value like = {.rank = (uint8_t)k}, *both[2] = {v[0], &like};
    for (uint32_t i = 0; i < k; i++)
        like.dims[i] = shape[i] < 0 ? 1 : (uint32_t)shape[i];
    RETURN_IF(!fold_broadcast_dims(both, 2, &rank, dims), ST_SHAPE, "the shape does not fit the input");
    TRY(fold_out(cx, n, v[0]->stored, rank, dims, &out));
    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    for (uint64_t i = 0; i < count; i++)
        copy_element(v[0]->stored, out, i, v[0]->data, fold_broadcast_index(v[0], rank, dims, i));
    return ST_OK;
}

static enum status fold_range(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v)
{
    double start = number_get(v[0]->stored, v[0]->data, 0), limit = number_get(v[1]->stored, v[1]->data, 0),
           delta = number_get(v[2]->stored, v[2]->data, 0);
    double count = delta == 0 ? 0 : ceil((limit - start) / delta);
    REFUSE_WHEN(!(count <= SMALL), "a range of %g elements; at most %d are computed while converting", count, SMALL);
    uint32_t dims[1] = {count > 0 ? (uint32_t)count : 0};
    void *out;
    TRY(fold_out(cx, n, v[0]->stored, 1, dims, &out));
    for (uint32_t i = 0; i < dims[0]; i++)
        number_put(v[0]->stored, out, i, start + i * delta);
    return ST_OK;
}

/* How a reduction of numbers begins, takes one more, and ends. The extreme of nothing is what any element would replace. */
enum reduce_kind {
    REDUCE_SUM,
    REDUCE_PROD,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_MEAN,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_SQUARES,
    REDUCE_LOG,
    REDUCE_LOG_EXP,
    REDUCE_NONE
};
static const char *const reduce_names[] = {
    "ReduceSum", "ReduceProd", "ReduceMax",       "ReduceMin",    "ReduceMean",
    "ReduceL1",  "ReduceL2",   "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"
};

static double reduce_start(enum reduce_kind k, enum dtype t)
{
    if (k == REDUCE_MAX || k == REDUCE_MIN) {
        bool max = k == REDUCE_MAX;
        return dtype_kind(t) == DK_FLOAT ? (max ? -INFINITY : INFINITY)
               : t == DT_B8              ? !max
               : max                     ? (double)dtype_min(t)
                                         : (double)dtype_max(t);
    }
    return k == REDUCE_PROD;
}

static double reduce_step(enum reduce_kind k, double sum, double x)
{
    switch (k) {
    case REDUCE_PROD: return sum * x;
    case REDUCE_MAX: return fmax(sum, x);
    case REDUCE_MIN: return fmin(sum, x);
    case REDUCE_L1: return sum + fabs(x);
    case REDUCE_L2:
    case REDUCE_SQUARES: return sum + x * x;
    case REDUCE_LOG_EXP: return sum + exp(x);
    default: return sum + x;
    }
}

static double reduce_end(enum reduce_kind k, double sum, double count)
{
    return k == REDUCE_MEAN                         ? sum / count
           : k == REDUCE_L2                         ? sqrt(sum)
           : k == REDUCE_LOG || k == REDUCE_LOG_EXP ? log(sum)
                                                    : sum;
}

static enum reduce_kind reduce_kind(const struct onnx_node *n)
{
    unsigned k = 0;
    while (k < REDUCE_NONE && strcmp(reduce_names[k], n->op) != 0)
        k++;
    return (enum reduce_kind)k;
}

static enum status reduce_mask(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, uint32_t *mask)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "axes");
    int64_t *axes = a ? a->ints : NULL;
    uint32_t k = a ? a->n_ints : 0, at;
    if (n->n_in > 1)
        TRY(onnx_ints(cx, v[1], "axes", &axes, &k));
    *mask = k || onnx_attr_int(cx, n, "noop_with_empty_axes", 0) ? 0 : (1u << v[0]->rank) - 1;
    for (uint32_t i = 0; i < k; i++) {
        TRY(onnx_axis(cx, axes[i], v[0]->rank, &at));
        *mask |= 1u << at;
    }
    return ST_OK;
}

/* Where element i goes when the dimensions of mask are gone. */
static uint64_t reduced_at(const struct onnx_value *v, uint32_t mask, uint64_t i)
{
    uint64_t at = 0, stride = 1;
    for (uint32_t d = v->rank; d-- > 0; i /= v->dims[d])
        if (!(mask >> d & 1)) {
            at += i % v->dims[d] * stride;
            stride *= v->dims[d];
        }
    return at;
}

static enum status fold_reduce(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, enum reduce_kind kind)
{
    uint32_t mask, rank = 0, dims[MAX_RANK];
    enum dtype type = v[0]->stored;
    uint64_t count = onnx_count(v[0]), results = 1;
    bool keep = onnx_attr_int(cx, n, "keepdims", 1);
    void *out;
    TRY(reduce_mask(cx, n, v, &mask));
    for (uint32_t i = 0; i < v[0]->rank; i++)
        if (keep || !(mask >> i & 1)) {
            dims[rank] = mask >> i & 1 ? 1 : v[0]->dims[i];
            results *= dims[rank++];
        }
    TRY(fold_out(cx, n, type, rank, dims, &out));
    double *sum = arena_array(&cx->arena, double, results);
    RETURN_IF(!sum, ST_NO_MEMORY, "no memory for a reduction");
    for (uint64_t i = 0; i < results; i++)
        sum[i] = reduce_start(kind, type);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = reduced_at(v[0], mask, i);
        sum[at] = reduce_step(kind, sum[at], number_get(type, v[0]->data, i));
    }
    for (uint64_t i = 0; i < results; i++)
        number_put(type, out, i, reduce_end(kind, sum[i], (double)count / (double)results));
    return ST_OK;
}

static enum status fold_cast(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, enum dtype to)
{
    void *out;
    enum dtype from = v[0]->stored;
    uint64_t count = onnx_count(v[0]);
    TRY(fold_out(cx, n, to, v[0]->rank, v[0]->dims, &out));
    for (uint64_t i = 0; i < count; i++) {
        int64_t whole = number_get_int(from, v[0]->data, i);
        if (dtype_kind(to) == DK_FLOAT || dtype_kind(from) == DK_FLOAT || to == DT_B8)
            number_put(to, out, i, number_get(from, v[0]->data, i));
        else
            memcpy((char *)out + i * (dtype_bits(to) / 8), &whole, dtype_bits(to) / 8);
    }
    return ST_OK;
}

/* ---- constants without inputs ------------------------------------------------------------------------------------- */

static enum status out_ints(struct onnx_cx *cx, const struct onnx_node *n, uint32_t rank, uint32_t count, const int64_t *v)
{
    void *out;
    TRY(fold_out(cx, n, DT_I64, rank, (uint32_t[]){count}, &out));
    memcpy(out, v, count * sizeof(*v));
    return ST_OK;
}

static enum status out_floats(struct onnx_cx *cx, const struct onnx_node *n, uint32_t rank, uint32_t count, const float *v)
{
    void *out;
    TRY(fold_out(cx, n, DT_F32, rank, (uint32_t[]){count}, &out));
    memcpy(out, v, count * sizeof(*v));
    return ST_OK;
}

static enum status fold_constant(struct onnx_cx *cx, const struct onnx_node *n)
{
    const struct onnx_attr *a;
    const void *data;
    uint32_t dims[MAX_RANK];
    if ((a = onnx_attr(cx, n, "value_int")))
        return out_ints(cx, n, 0, 1, &a->i);
    if ((a = onnx_attr(cx, n, "value_float")))
        return out_floats(cx, n, 0, 1, &a->f);
    if ((a = onnx_attr(cx, n, "value_ints")))
        return out_ints(cx, n, 1, a->n_ints, a->ints);
    if ((a = onnx_attr(cx, n, "value_floats")))
        return out_floats(cx, n, 1, a->n_floats, a->floats);
    a = onnx_attr(cx, n, "value");
    REFUSE_WHEN(!a || !a->t,
                "the constant has no tensor, number or list of numbers; strings and sparse tensors are not supported");
    REFUSE_WHEN(a->t->rank > MAX_RANK, "the constant has rank %u; at most %d is supported", a->t->rank, MAX_RANK);
    TRY(onnx_tensor_bytes(&cx->b.g->arena, a->t, cx->folder, &data));
    for (uint32_t i = 0; i < a->t->rank; i++)
        dims[i] = (uint32_t)a->t->dims[i];
    return onnx_out_const(cx, n, 0, a->t->type, a->t->rank, dims, data);
}

static enum status fold_shape(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *v)
{
    int64_t list[MAX_RANK], rank = v->rank, start = onnx_attr_int(cx, n, "start", 0),
                            end = onnx_attr_int(cx, n, "end", rank);
    start = start < 0 ? start + rank : start;
    end = end < 0 ? end + rank : end;
    start = start < 0 ? 0 : start > rank ? rank : start;
    end = end > rank ? rank : end < start ? start : end;
    for (int64_t i = start; i < end; i++)
        list[i - start] = v->dims[i];
    return out_ints(cx, n, 1, (uint32_t)(end - start), list);
}

static enum status fold_fill(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *shape)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "value");
    const void *value = NULL;
    int64_t *list;
    uint32_t k, dims[MAX_RANK];
    void *out;
    enum dtype type = a && a->t ? a->t->type : DT_F32;
    TRY(onnx_ints(cx, shape, "shape", &list, &k));
    REFUSE_WHEN(k > MAX_RANK, "the output has rank %u; at most %d is supported", k, MAX_RANK);
    if (a && a->t) {
        TRY(onnx_tensor_bytes(&cx->arena, a->t, cx->folder, &value));
        for (uint32_t i = 0; i < a->t->rank; i++)
            REFUSE_WHEN(a->t->dims[i] != 1, "the value has %lld elements; one is expected", (long long)a->t->dims[i]);
    }
    REFUSE_WHEN(dtype_bits(type) < 8, "4-bit constants cannot be filled");
    for (uint32_t i = 0; i < k; i++) {
        REFUSE_WHEN(list[i] < 0 || list[i] > UINT32_MAX, "dimension %u of the shape is %lld", i, (long long)list[i]);
        dims[i] = (uint32_t)list[i];
    }
    TRY(fold_out(cx, n, type, k, dims, &out));
    uint64_t count = 1;
    for (uint32_t i = 0; i < k; i++)
        count *= dims[i];
    for (uint64_t i = 0; value && i < count; i++)
        copy_element(type, out, i, value, 0);
    return ST_OK;
}

/* ---- entry -------------------------------------------------------------------------------------------------------- */

static bool all_small_constants(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, uint64_t most)
{
    uint64_t sum = 0;
    if (n->n_in == 0 || n->n_in > 16)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        v[i] = n->in[i][0] ? onnx_find(cx, n->in[i]) : NULL;
        if (!n->in[i][0] && (!strcmp(n->op, "Slice") || !strcmp(n->op, "Clip")))
            continue; /* these ask for their inputs one by one */
        if (!v[i] || v[i]->type == DT_NONE || !onnx_is_const(v[i]) || v[i]->view || dtype_bits(v[i]->stored) < 8)
            return false;
        sum += onnx_count(v[i]);
    }
    return sum <= most && v[0];
}

static enum status fold_known(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, bool *done)
{
    TRY(fold_element(cx, n, v, done));
    if (*done)
        return ST_OK;
    *done = true;
    if (!strcmp(n->op, "Where") && n->n_in == 3)
        return fold_where(cx, n, v);
    if (!strcmp(n->op, "Expand") && n->n_in == 2)
        return fold_expand(cx, n, v);
    if (!strcmp(n->op, "Range") && n->n_in == 3 && onnx_count(v[0]) == 1 && onnx_count(v[1]) == 1 && onnx_count(v[2]) == 1)
        return fold_range(cx, n, v);
    enum reduce_kind reduction = reduce_kind(n);
    if (reduction != REDUCE_NONE)
        return fold_reduce(cx, n, v, reduction);
    enum dtype to = !strcmp(n->op, "Cast")                       ? onnx_dtype((int32_t)onnx_attr_int(cx, n, "to", 0))
                    : !strcmp(n->op, "CastLike") && n->n_in == 2 ? v[1]->type
                                                                 : DT_NONE;
    if (to != DT_NONE && dtype_bits(to) >= 8)
        return fold_cast(cx, n, v, to);
    return fold_move(cx, n, v, done);
}

enum status onnx_fold(struct onnx_cx *cx, const struct onnx_node *n, bool *done)
{
    struct onnx_value *v[16] = {0};
    *done = true;
    if (!strcmp(n->op, "Constant"))
        return fold_constant(cx, n);
    if (!strcmp(n->op, "Shape") || !strcmp(n->op, "Size") || !strcmp(n->op, "ConstantOfShape")) {
        TRY(onnx_in(cx, n, 0, &v[0]));
        int64_t size = (int64_t)onnx_count(v[0]);
        return n->op[0] == 'C'          ? fold_fill(cx, n, v[0])
               : !strcmp(n->op, "Size") ? out_ints(cx, n, 0, 1, &size)
                                        : fold_shape(cx, n, v[0]);
    }
    *done = false;
    if (!all_small_constants(cx, n, v, SMALL)) {
        if (strcmp(n->op, "CastLike") != 0 || n->n_in != 2)
            return ST_OK;
        /* CastLike needs only the type of its second input */
        v[0] = onnx_find(cx, n->in[0]);
        v[1] = onnx_find(cx, n->in[1]);
        if (!v[0] || !v[1] || v[1]->type == DT_NONE || !onnx_is_const(v[0]) || v[0]->view || dtype_bits(v[0]->stored) < 8 ||
            dtype_bits(v[1]->type) < 8)
            return ST_OK;
        *done = true;
        return fold_cast(cx, n, v, v[1]->type);
    }
    return fold_known(cx, n, v, done);
}
