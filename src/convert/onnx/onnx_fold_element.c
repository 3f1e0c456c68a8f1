/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators of constants. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"
#include "convert/onnx/onnx_fold.h"

struct numbers {
    bool ints;
    double x, y;
    int64_t a, b;
};

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = b == 0 || b == -1 ? 0 : a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

#define WRAP(op) (int64_t)((uint64_t)v.a op (uint64_t)v.b)
static bool op_add(struct numbers v, double *f, int64_t *i) { *f = v.x + v.y; *i = WRAP(+); return false; }
static bool op_sub(struct numbers v, double *f, int64_t *i) { *f = v.x - v.y; *i = WRAP(-); return false; }
static bool op_mul(struct numbers v, double *f, int64_t *i) { *f = v.x * v.y; *i = WRAP(*); return false; }
static bool op_div(struct numbers v, double *f, int64_t *i)
{
    *f = v.x / v.y;
    *i = v.b == 0 ? 0 : v.b == -1 ? (int64_t) - (uint64_t)v.a : v.a / v.b;
    return false;
}
static double floor_fmod(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static bool op_mod(struct numbers v, double *f, int64_t *i)
{
    *f = floor_fmod(v.x, v.y);
    *i = floor_mod(v.a, v.b);
    return false;
}
static bool op_min(struct numbers v, double *f, int64_t *i)
{
    *f = v.x < v.y ? v.x : v.y;
    *i = v.a < v.b ? v.a : v.b;
    return false;
}
static bool op_max(struct numbers v, double *f, int64_t *i)
{
    *f = v.x > v.y ? v.x : v.y;
    *i = v.a > v.b ? v.a : v.b;
    return false;
}
static bool op_pow(struct numbers v, double *f, int64_t *i)
{
    *f = pow(v.x, v.y);
    *i = (int64_t)pow((double)v.a, v.y);
    return false;
}
static bool op_eq(struct numbers v, double *f, int64_t *i) { (void)f; *i = v.ints ? v.a == v.b : v.x == v.y; return true; }
static bool op_lt(struct numbers v, double *f, int64_t *i) { (void)f; *i = v.ints ? v.a < v.b : v.x < v.y; return true; }
static bool op_gt(struct numbers v, double *f, int64_t *i) { (void)f; *i = v.ints ? v.a > v.b : v.x > v.y; return true; }
static bool op_le(struct numbers v, double *f, int64_t *i) { (void)f; *i = v.ints ? v.a <= v.b : v.x <= v.y; return true; }
static bool op_ge(struct numbers v, double *f, int64_t *i) { (void)f; *i = v.ints ? v.a >= v.b : v.x >= v.y; return true; }
static bool op_and(struct numbers v, double *f, int64_t *i) { (void)f; *i = v.a && v.b; return true; }
static bool op_or(struct numbers v, double *f, int64_t *i) { (void)f; *i = v.a || v.b; return true; }
static bool op_xor(struct numbers v, double *f, int64_t *i) { (void)f; *i = !v.a != !v.b; return true; }
static bool op_not(struct numbers v, double *f, int64_t *i) { (void)f; *i = !v.a; return true; }
static bool op_neg(struct numbers v, double *f, int64_t *i) { *f = -v.x; *i = (int64_t)-(uint64_t)v.a; return false; }
static bool op_abs(struct numbers v, double *f, int64_t *i)
{
    *f = fabs(v.x);
    *i = v.a < 0 ? (int64_t) - (uint64_t)v.a : v.a;
    return false;
}
static bool op_relu(struct numbers v, double *f, int64_t *i)
{
    *f = v.x < 0 ? 0 : v.x;
    *i = v.a < 0 ? 0 : v.a;
    return false;
}
static bool op_floor(struct numbers v, double *f, int64_t *i) { *f = floor(v.x); *i = v.a; return false; }
static bool op_ceil(struct numbers v, double *f, int64_t *i) { *f = ceil(v.x); *i = v.a; return false; }
static bool op_round(struct numbers v, double *f, int64_t *i) { *f = rint(v.x); *i = v.a; return false; }
static bool op_sqrt(struct numbers v, double *f, int64_t *i) { *f = sqrt(v.x); *i = 0; return false; }
static bool op_exp(struct numbers v, double *f, int64_t *i) { *f = exp(v.x); *i = 0; return false; }
static bool op_log(struct numbers v, double *f, int64_t *i) { *f = log(v.x); *i = 0; return false; }
static bool op_reciprocal(struct numbers v, double *f, int64_t *i) { *f = 1 / v.x; *i = 0; return false; }

static const struct {
    const char *op;
    bool (*fn)(struct numbers v, double *f, int64_t *i); /* true: the result is a truth value */
    unsigned inputs;
} element_ops[] = {
    { "Add", op_add, 2 },           { "Sub", op_sub, 2 },     { "Mul", op_mul, 2 },
    { "Div", op_div, 2 },           { "Mod", op_mod, 2 },     { "Min", op_min, 2 },
    { "Max", op_max, 2 },           { "Pow", op_pow, 2 },     { "Equal", op_eq, 2 },
    { "Less", op_lt, 2 },           { "Greater", op_gt, 2 },  { "LessOrEqual", op_le, 2 },
    { "GreaterOrEqual", op_ge, 2 }, { "And", op_and, 2 },     { "Or", op_or, 2 },
    { "Xor", op_xor, 2 },           { "Not", op_not, 1 },     { "Neg", op_neg, 1 },
    { "Abs", op_abs, 1 },           { "Relu", op_relu, 1 },   { "Floor", op_floor, 1 },
    { "Ceil", op_ceil, 1 },         { "Round", op_round, 1 }, { "Sqrt", op_sqrt, 1 },
    { "Exp", op_exp, 1 },           { "Log", op_log, 1 },     { "Reciprocal", op_reciprocal, 1 },
};

bool fold_broadcast_dims(struct onnx_value *const *v, uint32_t n, uint32_t *rank, uint32_t *dims)
{
    *rank = 0;
    for (uint32_t i = 0; i < n; i++)
        *rank = v[i]->rank > *rank ? v[i]->rank : *rank;
    for (uint32_t k = 0; k < *rank; k++)
        dims[k] = 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < v[i]->rank; k++) {
            uint32_t at = *rank - v[i]->rank + k;
            if (dims[at] != 1 && v[i]->dims[k] != 1 && dims[at] != v[i]->dims[k])
                return false;
            if (v[i]->dims[k] != 1)
                dims[at] = v[i]->dims[k];
        }
    return true;
}

uint64_t fold_broadcast_index(const struct onnx_value *v, uint32_t rank, const uint32_t *dims, uint64_t i)
{
    uint64_t at = 0, stride = 1;
    for (uint32_t k = rank; k-- > 0;) {
        uint64_t here = i % dims[k];
        i /= dims[k];
        if (k < rank - v->rank)
            continue;
        uint32_t size = v->dims[k - (rank - v->rank)];
        at += size == 1 ? 0 : here * stride;
        stride *= size;
    }
    return at;
}

static bool is_float(enum dtype t)
{
    return dtype_kind(t) == DK_FLOAT;
}

static enum status fold_row(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, size_t row)
{
    uint32_t rank, dims[MAX_RANK], inputs = element_ops[row].inputs;
    void *out;
    enum dtype type = v[0]->stored;
    double f = 0;
    int64_t r = 0;
    RETURN_IF(!fold_broadcast_dims(v, inputs, &rank, dims), ST_SHAPE, "the shapes of the inputs do not broadcast");
    bool truth = element_ops[row].fn((struct numbers){.b = 1, .y = 1}, &f, &r);
    TRY(fold_out(cx, n, truth ? DT_B8 : type, rank, dims, &out));
    uint64_t count = 1;
    for (uint32_t k = 0; k < rank; k++)
        count *= dims[k];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t a = fold_broadcast_index(v[0], rank, dims, i),
                 b = inputs > 1 ? fold_broadcast_index(v[1], rank, dims, i) : 0;
        const struct onnx_value *w = v[inputs > 1];
        struct numbers x = {!is_float(type), number_get(type, v[0]->data, a), number_get(w->stored, w->data, b),
                            number_get_int(type, v[0]->data, a), number_get_int(w->stored, w->data, b)};
        element_ops[row].fn(x, &f, &r);
        if (truth)
            ((uint8_t *)out)[i] = r != 0;
        else if (is_float(type))
            number_put(type, out, i, f);
        else
            memcpy((char *)out + i * (dtype_bits(type) / 8), &r, dtype_bits(type) / 8);
    }
    return ST_OK;
}

/* One element between two bounds that may be missing; when they cross, the upper one wins. */
static enum status fold_clip(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v)
{
    enum dtype type = v[0]->stored;
    bool bounded[2] = { n->n_in > 1 && v[1], n->n_in > 2 && v[2] };
    struct numbers x = {.ints = !is_float(type)};
    double limit[2] = { bounded[0] ? number_get(v[1]->stored, v[1]->data, 0) : onnx_attr_float(cx, n, "min", -INFINITY),
                        bounded[1] ? number_get(v[2]->stored, v[2]->data, 0) : onnx_attr_float(cx, n, "max", INFINITY) };
    void *out;
    TRY(fold_out(cx, n, type, v[0]->rank, v[0]->dims, &out));
    for (uint64_t i = 0, count = onnx_count(v[0]); i < count; i++) {
        double f = number_get(type, v[0]->data, i);
        int64_t r = number_get_int(type, v[0]->data, i);
        for (unsigned k = 0; k < 2; k++) {
            int64_t whole = x.ints && bounded[k] ? number_get_int(v[1 + k]->stored, v[1 + k]->data, 0) : r;
            x = (struct numbers){.ints = x.ints, .x = f, .y = limit[k], .a = r, .b = whole};
            (k ? op_min : op_max)(x, &f, &r);
        }
        if (x.ints)
            memcpy((char *)out + i * (dtype_bits(type) / 8), &r, dtype_bits(type) / 8);
        else
            number_put(type, out, i, f);
    }
    return ST_OK;
}

enum status fold_element(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value **v, bool *done)
{
    *done = true;
    for (size_t k = 0; k < sizeof(element_ops) / sizeof(element_ops[0]); k++)
        if (!strcmp(element_ops[k].op, n->op) && element_ops[k].inputs == n->n_in &&
            !(k < 8 && onnx_attr_int(cx, n, "fmod", 0)) && !onnx_attr(cx, n, "broadcast"))
            return fold_row(cx, n, v, k);
    if (!strcmp(n->op, "Clip") && n->n_in <= 3)
        return fold_clip(cx, n, v);
    *done = false;
    return ST_OK;
}
