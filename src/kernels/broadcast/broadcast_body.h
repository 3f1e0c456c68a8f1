/* SPDX-License-Identifier: Apache-2.0 */
/* Binary operators, compiled once per instruction set: one loop per operator and number kind, reached through a table. */
#include <math.h>
#include <string.h>

#include "kernels/broadcast/broadcast.h"
#include "kernels/view_load.h"

/* ---- f32 --------------------------------------------------------------------------------------------------------- */

typedef void f32_fn(const float *a, const float *b, float *o, uint32_t n, float m);

#define F32_OP(name, expr)                                                            \
    static void f32_##name(const float *a, const float *b, float *o, uint32_t n, float m) \
    {                                                                                 \
        (void)m;                                                                      \
        for (uint32_t i = 0; i < n; i++) {                                            \
            const float x = a[i], y = b[i];                                           \
            o[i] = expr;                                                              \
        }                                                                             \
    }

static inline float mod_f32(float x, float y)
{
    float r = fmodf(x, y);
    return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

F32_OP(add, x + y)
F32_OP(and, (float)((x != 0.0f) & (y != 0.0f)))
F32_OP(divide, x / y)
F32_OP(equal, (float)(x == y))
F32_OP(floor_div, floorf(x / y))
F32_OP(fmod, fmodf(x, y))
F32_OP(greater, (float)(x > y))
F32_OP(greater_equal, (float)(x >= y))
F32_OP(less, (float)(x < y))
F32_OP(less_equal, (float)(x <= y))
F32_OP(maximum, x > y ? x : y)
F32_OP(minimum, x < y ? x : y)
F32_OP(mod, mod_f32(x, y))
F32_OP(multiply, x * y)
F32_OP(not_equal, (float)(x != y))
F32_OP(or, (float)((x != 0.0f) | (y != 0.0f)))
F32_OP(any_power, (float)pow((double)x, (double)y))
F32_OP(squared_difference, (x - y) * (x - y))
F32_OP(subtract, x - y)
F32_OP(xor, (float)((x != 0.0f) != (y != 0.0f)))
F32_OP(prelu, x < 0.0f ? y * x : x)
F32_OP(scaled_multiply, (x * y) * m)

static bool all_are(const float *b, uint32_t n, float y)
{
    uint32_t other = 0;
    for (uint32_t i = 0; i < n; i++)
        other |= b[i] != y;
    return !other;
}

/* Cubes, where their f64 value decides how they round to f32: not within some last bits of the middle between two f32
 * numbers, nor where those have fewer bits. False: nothing was stored. n <= SPAN. */
static bool cubes(const float *a, float *o, uint32_t n)
{
    double cube[SPAN];
    uint64_t open = 0;
    for (uint32_t i = 0; i < n; i++)
        cube[i] = (double)a[i] * (double)a[i] * (double)a[i];
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &cube[i], sizeof(bits));
        open |= ((bits + 8 - ((uint64_t)1 << 28)) & (((uint64_t)1 << 29) - 1)) < 16;
        open |= (bits << 1 != 0) & ((bits << 1 >> 53) < 1023 - 125);
    }
    for (uint32_t i = 0; !open && i < n; i++)
        o[i] = (float)cube[i];
    return !open;
}

/* Squares are exact in f64, so rounding them once is the product in f32. */
static void f32_power(const float *a, const float *b, float *o, uint32_t n, float m)
{
    if (all_are(b, n, 2.0f))
        f32_multiply(a, a, o, n, m);
    else if (!all_are(b, n, 3.0f) || !cubes(a, o, n))
        f32_any_power(a, b, o, n, m);
}

static f32_fn *const f32_ops[BIN_COUNT] = {
    [BIN_ADD] = f32_add,
    [BIN_AND] = f32_and,
    [BIN_DIVIDE] = f32_divide,
    [BIN_EQUAL] = f32_equal,
    [BIN_FLOOR_DIV] = f32_floor_div,
    [BIN_FMOD] = f32_fmod,
    [BIN_GREATER] = f32_greater,
    [BIN_GREATER_EQUAL] = f32_greater_equal,
    [BIN_LESS] = f32_less,
    [BIN_LESS_EQUAL] = f32_less_equal,
    [BIN_MAXIMUM] = f32_maximum,
    [BIN_MINIMUM] = f32_minimum,
    [BIN_MOD] = f32_mod,
    [BIN_MULTIPLY] = f32_multiply,
    [BIN_NOT_EQUAL] = f32_not_equal,
    [BIN_OR] = f32_or,
    [BIN_POWER] = f32_power,
    [BIN_SQUARED_DIFFERENCE] = f32_squared_difference,
    [BIN_SUBTRACT] = f32_subtract,
    [BIN_XOR] = f32_xor,
    [BIN_PRELU] = f32_prelu,
    [BIN_SCALED_MULTIPLY] = f32_scaled_multiply,
};

/* ---- integers ---------------------------------------------------------------------------------------------------- */

typedef void i64_fn(const int64_t *a, const int64_t *b, int64_t *o, uint32_t n);

#define INT_OP(name, T, prefix, expr)                                                     \
    static void prefix##_##name(const int64_t *a, const int64_t *b, int64_t *o, uint32_t n) \
    {                                                                                     \
        for (uint32_t i = 0; i < n; i++) {                                                \
            const T x = (T)a[i], y = (T)b[i];                                             \
            o[i] = (int64_t)(expr);                                                       \
        }                                                                                 \
    }
#define I64_OP(name, expr) INT_OP(name, int64_t, i64, expr)
#define U64_OP(name, expr) INT_OP(name, uint64_t, u64, expr)
#define BOTH_OP(name, expr) I64_OP(name, expr) U64_OP(name, expr)

/* Division that neither traps on 0 nor on the most negative number. */
static inline int64_t div_trunc(int64_t x, int64_t y)
{
    return y == 0 ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static inline int64_t rem_trunc(int64_t x, int64_t y)
{
    return y == 0 || y == -1 ? 0 : x % y;
}

static inline int64_t div_floor(int64_t x, int64_t y)
{
    int64_t r = rem_trunc(x, y);
    return div_trunc(x, y) - (r != 0 && (r < 0) != (y < 0));
}

static inline int64_t mod_floor(int64_t x, int64_t y)
{
    int64_t r = rem_trunc(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static inline uint64_t power_u64(uint64_t base, uint64_t e)
{
    uint64_t r = 1;
    for (; e; e >>= 1, base *= base)
        r = e & 1 ? r * base : r;
    return r;
}

static inline int64_t power_i64(int64_t x, int64_t y)
{
    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
    return (int64_t)power_u64((uint64_t)x, (uint64_t)y);
}

BOTH_OP(add, (uint64_t)x + (uint64_t)y)
BOTH_OP(and, (x != 0) & (y != 0))
I64_OP(divide, div_trunc(x, y))
U64_OP(divide, y ? x / y : 0)
BOTH_OP(equal, x == y)
I64_OP(floor_div, div_floor(x, y))
I64_OP(fmod, rem_trunc(x, y))
U64_OP(fmod, y ? x % y : 0)
BOTH_OP(greater, x > y)
BOTH_OP(greater_equal, x >= y)
BOTH_OP(less, x < y)
BOTH_OP(less_equal, x <= y)
BOTH_OP(maximum, x > y ? x : y)
BOTH_OP(minimum, x < y ? x : y)
I64_OP(mod, mod_floor(x, y))
BOTH_OP(multiply, (uint64_t)x * (uint64_t)y)
BOTH_OP(not_equal, x != y)
BOTH_OP(or, (x != 0) | (y != 0))
I64_OP(power, power_i64(x, y))
U64_OP(power, power_u64(x, y))
BOTH_OP(squared_difference, ((uint64_t)x - (uint64_t)y) * ((uint64_t)x - (uint64_t)y))
BOTH_OP(subtract, (uint64_t)x - (uint64_t)y)
BOTH_OP(xor, (x != 0) != (y != 0))
I64_OP(prelu, x < 0 ? (uint64_t)x * (uint64_t)y : (uint64_t)x)

/* One row per operator: signed, unsigned. */
static const struct {
    i64_fn *s, *u;
} int_ops[BIN_COUNT] = {
    [BIN_ADD] = {i64_add, u64_add},
    [BIN_AND] = {i64_and, u64_and},
    [BIN_DIVIDE] = {i64_divide, u64_divide},
    [BIN_EQUAL] = {i64_equal, u64_equal},
    [BIN_FLOOR_DIV] = {i64_floor_div, u64_divide},
    [BIN_FMOD] = {i64_fmod, u64_fmod},
    [BIN_GREATER] = {i64_greater, u64_greater},
    [BIN_GREATER_EQUAL] = {i64_greater_equal, u64_greater_equal},
    [BIN_LESS] = {i64_less, u64_less},
    [BIN_LESS_EQUAL] = {i64_less_equal, u64_less_equal},
    [BIN_MAXIMUM] = {i64_maximum, u64_maximum},
    [BIN_MINIMUM] = {i64_minimum, u64_minimum},
    [BIN_MOD] = {i64_mod, u64_fmod},
    [BIN_MULTIPLY] = {i64_multiply, u64_multiply},
    [BIN_NOT_EQUAL] = {i64_not_equal, u64_not_equal},
    [BIN_OR] = {i64_or, u64_or},
    [BIN_POWER] = {i64_power, u64_power},
    [BIN_SQUARED_DIFFERENCE] = {i64_squared_difference, u64_squared_difference},
    [BIN_SUBTRACT] = {i64_subtract, u64_subtract},
    [BIN_XOR] = {i64_xor, u64_xor},
    [BIN_PRELU] = {i64_prelu, i64_prelu},
};

/* ---- the loops over spans ---------------------------------------------------------------------------------------- */

static uint64_t tile_end(const struct broadcast_args *a, struct range tile)
{
    uint64_t end = tile.end * a->unit;
    return end < a->total ? end : a->total;
}

/* As codec limits: NaN passes. */
static void clamp_f32(float *v, uint32_t n, float lo, float hi)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = v[i] < lo ? lo : v[i];
    for (uint32_t i = 0; hi < INFINITY && i < n; i++)
        v[i] = v[i] > hi ? hi : v[i];
}

static void run_f32(const struct kernel_call *call, const struct broadcast_args *a, uint64_t at, uint64_t end)
{
    float x[SPAN], y[SPAN], r[SPAN];
    struct view_walk wx, wy;
    void *out = call->data[a->n_in];
    bool direct = a->out.type == DT_F32;
    view_seek(&wx, &a->view[0], at);
    view_seek(&wy, &a->view[1], at);
    for (uint32_t n; at < end; at += n) {
        n = end - at < SPAN ? (uint32_t)(end - at) : SPAN;
        const float *p = view_next(&wx, &a->in[0], call->data[0], n, x);
        const float *q = view_next(&wy, &a->in[1], call->data[1], n, y);
        float *o = direct ? (float *)out + at : r;
        f32_ops[a->op](p, q, o, n, a->m);
        if (!direct)
            K(span_store)(&a->out, out, (int64_t)at, 1, n, r);
        else if (a->out.limited)
            clamp_f32(o, n, a->out.flo, a->out.fhi);
    }
}

static void store_int(const struct broadcast_args *a, void *out, uint64_t at, uint32_t n, int64_t *r)
{
    float f[SPAN];
    if (dtype_is_fixed(a->out.type) || dtype_is_float(a->out.type)) {
        for (uint32_t i = 0; i < n; i++)
            f[i] = (float)r[i];
        K(span_store)(&a->out, out, (int64_t)at, 1, n, f);
        return;
    }
    if (a->out.type == DT_B8)
        for (uint32_t i = 0; i < n; i++)
            r[i] = r[i] != 0;
    K(span_store_i64)(a->out.type, out, (int64_t)at, 1, n, r);
}

static void multiply_wide(const struct broadcast_args *a, const int64_t *x, const int64_t *y, float *r, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        r[i] = (float)((x[i] + a->in[0].offset) * (y[i] + a->in[1].offset)) * a->m;
}

static void run_int(const struct kernel_call *call, const struct broadcast_args *a, uint64_t at, uint64_t end)
{
    int64_t x[SPAN], y[SPAN];
    float r[SPAN];
    struct view_walk wx, wy;
    void *out = call->data[a->n_in];
    view_seek(&wx, &a->view[0], at);
    view_seek(&wy, &a->view[1], at);
    for (uint32_t n; at < end; at += n) {
        n = end - at < SPAN ? (uint32_t)(end - at) : SPAN;
        view_next_i64(&wx, a->in[0].type, call->data[0], n, x);
        view_next_i64(&wy, a->in[1].type, call->data[1], n, y);
        if (a->mode == BIN_MODE_WIDE) {
            span_narrow(&a->in[0], x, n);
            span_narrow(&a->in[1], y, n);
            multiply_wide(a, x, y, r, n);
            K(span_store)(&a->out, out, (int64_t)at, 1, n, r);
            continue;
        }
        i64_fn *fn = a->mode == BIN_MODE_U64 ? int_ops[a->op].u : int_ops[a->op].s;
        fn(x, y, x, n);
        store_int(a, out, at, n, x);
    }
}

void K(broadcast)(const struct kernel_call *call, struct range tile)
{
    const struct broadcast_args *a = call->args;
    uint64_t at = tile.begin * a->unit, end = tile_end(a, tile);
    if (at >= end)
        return;
    if (a->mode == BIN_MODE_F32)
        run_f32(call, a, at, end);
    else
        run_int(call, a, at, end);
}

/* Two of the three operands are read per span, whichever value the condition takes: no branches, and never out of bounds. */
static void select_f32(const struct kernel_call *call, const struct broadcast_args *a, uint64_t at, uint32_t n,
                       const float *cond, struct view_walk w[3])
{
    float x[SPAN], y[SPAN], r[SPAN];
    const float *p = view_next(&w[1], &a->in[1], call->data[1], n, x);
    const float *q = view_next(&w[2], &a->in[2], call->data[2], n, y);
    for (uint32_t i = 0; i < n; i++)
        r[i] = cond[i] != 0.0f ? p[i] : q[i];
    K(span_store)(&a->out, call->data[a->n_in], (int64_t)at, 1, n, r);
}

static void select_raw(const struct kernel_call *call, const struct broadcast_args *a, uint64_t at, uint32_t n,
                       const float *cond, struct view_walk w[3])
{
    int64_t x[SPAN], y[SPAN];
    view_next_i64(&w[1], a->out.type, call->data[1], n, x);
    view_next_i64(&w[2], a->out.type, call->data[2], n, y);
    for (uint32_t i = 0; i < n; i++)
        x[i] = cond[i] != 0.0f ? x[i] : y[i];
    K(span_store_i64)(a->out.type, call->data[a->n_in], (int64_t)at, 1, n, x);
}

void K(select)(const struct kernel_call *call, struct range tile)
{
    const struct broadcast_args *a = call->args;
    uint64_t at = tile.begin * a->unit, end = tile_end(a, tile);
    float c[SPAN];
    struct view_walk w[3];
    if (at >= end)
        return;
    for (int k = 0; k < 3; k++)
        view_seek(&w[k], &a->view[k], at);
    for (uint32_t n; at < end; at += n) {
        n = end - at < SPAN ? (uint32_t)(end - at) : SPAN;
        const float *cond = view_next(&w[0], &a->in[0], call->data[0], n, c);
        if (a->raw)
            select_raw(call, a, at, n, cond, w);
        else
            select_f32(call, a, at, n, cond, w);
    }
}
