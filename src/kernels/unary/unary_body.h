/* SPDX-License-Identifier: Apache-2.0 */
/* Unary functions, compiled once per instruction set: one loop per function, reached through tables. */
#include <math.h>

#include "kernels/math.h"
#include "kernels/quick.h"
#include "kernels/unary/unary.h"

typedef void f64_fn(const struct unary_fn *f, double *v, uint32_t n);
typedef void f32_fn(const struct unary_fn *f, const float *v, float *o, uint32_t n);
typedef void i64_fn(const struct unary_fn *f, int64_t *v, uint32_t n);

/* ---- f64: section 5 ---------------------------------------------------------------------------------------------- */

#define F64_FN(name, expr)                                                       \
    static void f64_##name(const struct unary_fn *f, double *v, uint32_t n)      \
    {                                                                            \
        (void)f;                                                                 \
        for (uint32_t i = 0; i < n; i++) {                                       \
            const double x = v[i];                                               \
            v[i] = expr;                                                         \
        }                                                                        \
    }

static inline double clamp64(double x, double lo, double hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

/* ln(1 + e^z) / beta without overflow; linear beyond the threshold, if there is one. */
static inline double softplus64(double x, double beta, double threshold)
{
    double z = x * beta, a = fabs(z);
    if (threshold >= 0.0 && z > threshold)
        return x;
    return ((z > 0.0 ? z : 0.0) + log1p(math_exp_inline(-a))) / beta;
}

F64_FN(abs, fabs(x))
F64_FN(asin, asin(x))
F64_FN(atan, atan(x))
F64_FN(ceil, ceil(x))
F64_FN(cos, cos(x))
F64_FN(exp, math_exp_core(x))
F64_FN(floor, floor(x))
F64_FN(log, log(x))
F64_FN(neg, -x)
F64_FN(not, (double)(x == 0.0))
F64_FN(reciprocal, 1.0 / x)
F64_FN(round, rint(x))
F64_FN(rsqrt, 1.0 / sqrt(x))
F64_FN(sign, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : x)
F64_FN(sin, sin(x))
F64_FN(sqrt, sqrt(x))
F64_FN(elu, x > 0.0 ? x : f->alpha * expm1(x))
F64_FN(hard_sigmoid, clamp64(f->alpha * x + f->beta, 0.0, 1.0))
F64_FN(hard_swish, math_hard_swish(x))
F64_FN(relu, x < 0.0 ? 0.0 : x)
F64_FN(clamp, clamp64(x, f->lo, f->hi))
F64_FN(sigmoid, 1.0 / (1.0 + math_exp_core(x)))
F64_FN(softplus, softplus64(x, f->beta, f->threshold))
F64_FN(logit, log(x / (1.0 - x)))
F64_FN(is_nan, (double)(x != x))
F64_FN(limit, math_exp_limit(x))
F64_FN(limit_neg, math_exp_limit(-x))
F64_FN(is_inf, (double)((x == INFINITY && f->hi != 0.0) || (x == -INFINITY && f->lo != 0.0)))

static void f64_exp_limited(const struct unary_fn *f, double *v, uint32_t n)
{
    f64_limit(f, v, n);
    f64_exp(f, v, n);
}

static void f64_sigmoid_limited(const struct unary_fn *f, double *v, uint32_t n)
{
    f64_limit_neg(f, v, n);
    f64_sigmoid(f, v, n);
}

static void f64_tanh(const struct unary_fn *f, double *v, uint32_t n)
{
    double e[SPAN];
    for (uint32_t i = 0; i < n; i++)
        e[i] = 2.0 * fabs(v[i]);
    f64_exp_limited(f, e, n);
    for (uint32_t i = 0; i < n; i++)
        v[i] = math_tanh_core(v[i], e[i]);
}

/* x times the normal distribution up to x. */
static void f64_gelu(const struct unary_fn *f, double *v, uint32_t n)
{
    double e[SPAN], a[SPAN];
    for (uint32_t i = 0; i < n; i++)
        e[i] = -0.5 * v[i] * v[i];
    f64_exp_limited(f, e, n);
    for (uint32_t i = 0; i < n; i++)
        a[i] = math_normal_limit(fabs(v[i]));
    for (uint32_t i = 0; i < n; i++)
        a[i] = math_normal_tail(a[i], e[i]);
    for (uint32_t i = 0; i < n; i++) /* where the tail is nothing; infinity times nothing would be NaN */
        v[i] = v[i] < -45.0 ? -45.0 : v[i];
    for (uint32_t i = 0; i < n; i++) {
        const double low = a[i], high = 1.0 - a[i];
        v[i] = v[i] * (v[i] < 0.0 ? low : high);
    }
}

/* ---- f32: the same results, without the way through f64 ------------------------------------------------------------ */

#define F32_FN(name, expr)                                                                      \
    static void f32_##name(const struct unary_fn *f, const float *v, float *o, uint32_t n)      \
    {                                                                                           \
        const float lo = (float)f->lo, hi = (float)f->hi;                                       \
        (void)lo, (void)hi;                                                                     \
        for (uint32_t i = 0; i < n; i++) {                                                      \
            const float x = v[i];                                                               \
            o[i] = expr;                                                                        \
        }                                                                                       \
    }

static inline float clamp32(float x, float lo, float hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

F32_FN(abs, fabsf(x))
F32_FN(ceil, ceilf(x))
F32_FN(floor, floorf(x))
F32_FN(neg, -x)
F32_FN(not, (float)(x == 0.0f))
F32_FN(reciprocal, 1.0f / x)
F32_FN(round, rintf(x))
F32_FN(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? 0.0f : x)
F32_FN(sqrt, sqrtf(x))
F32_FN(relu, x < 0.0f ? 0.0f : x)
F32_FN(clamp, clamp32(x, lo, hi))
F32_FN(is_nan, (float)(x != x))

/* ---- integers ---------------------------------------------------------------------------------------------------- */

#define I64_FN(name, expr)                                                    \
    static void i64_##name(const struct unary_fn *f, int64_t *v, uint32_t n)  \
    {                                                                         \
        (void)f;                                                              \
        for (uint32_t i = 0; i < n; i++) {                                    \
            const int64_t x = v[i];                                           \
            v[i] = (int64_t)(expr);                                           \
        }                                                                     \
    }

static inline int64_t clamp_int(int64_t x, double lo, double hi)
{
    if ((double)x < lo)
        return ku_rne64(ceil(lo));
    return (double)x > hi ? ku_rne64(floor(hi)) : x;
}

/* u64 has numbers that no int64_t holds. */
static inline uint64_t u64_of(enum unary_op op, uint64_t x, double lo, double hi)
{
    switch (op) {
    case UN_NEG:
        return 0 - x;
    case UN_NOT:
        return x == 0;
    case UN_SIGN:
        return x != 0;
    case UN_CLAMP:
        x = (double)x < lo ? (lo >= 0x1p64 ? UINT64_MAX : (uint64_t)ceil(lo)) : x;
        return (double)x > hi ? (hi > 0 ? (uint64_t)floor(hi) : 0) : x;
    default: /* abs, ceil, floor, round, relu */
        return x;
    }
}

I64_FN(abs, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
I64_FN(same, x)
I64_FN(neg, 0 - (uint64_t)x)
I64_FN(not, x == 0)
I64_FN(sign, (x > 0) - (x < 0))
I64_FN(relu, x < 0 ? 0 : x)
I64_FN(clamp, clamp_int(x, f->lo, f->hi))

/* One row per function. */
static const struct {
    f64_fn *f64;
    f32_fn *f32;
    i64_fn *i64;
} fns[UN_COUNT] = {
    [UN_ABS] = {f64_abs, f32_abs, i64_abs},
    [UN_ASIN] = {f64_asin, NULL, NULL},
    [UN_ATAN] = {f64_atan, NULL, NULL},
    [UN_CEIL] = {f64_ceil, f32_ceil, i64_same},
    [UN_COS] = {f64_cos, NULL, NULL},
    [UN_EXP] = {f64_exp_limited, NULL, NULL},
    [UN_FLOOR] = {f64_floor, f32_floor, i64_same},
    [UN_LOG] = {f64_log, NULL, NULL},
    [UN_NEG] = {f64_neg, f32_neg, i64_neg},
    [UN_NOT] = {f64_not, f32_not, i64_not},
    [UN_RECIPROCAL] = {f64_reciprocal, f32_reciprocal, NULL},
    [UN_ROUND] = {f64_round, f32_round, i64_same},
    [UN_RSQRT] = {f64_rsqrt, NULL, NULL},
    [UN_SIGN] = {f64_sign, f32_sign, i64_sign},
    [UN_SIN] = {f64_sin, NULL, NULL},
    [UN_SQRT] = {f64_sqrt, f32_sqrt, NULL},
    [UN_ELU] = {f64_elu, NULL, NULL},
    [UN_GELU] = {f64_gelu, NULL, NULL},
    [UN_HARD_SIGMOID] = {f64_hard_sigmoid, NULL, NULL},
    [UN_HARD_SWISH] = {f64_hard_swish, NULL, NULL},
    [UN_RELU] = {f64_relu, f32_relu, i64_relu},
    [UN_CLAMP] = {f64_clamp, f32_clamp, i64_clamp},
    [UN_SIGMOID] = {f64_sigmoid_limited, NULL, NULL},
    [UN_SOFTPLUS] = {f64_softplus, NULL, NULL},
    [UN_TANH] = {f64_tanh, NULL, NULL},
    [UN_LOGIT] = {f64_logit, NULL, NULL},
    [UN_IS_NAN] = {f64_is_nan, f32_is_nan, NULL},
    [UN_IS_INF] = {f64_is_inf, NULL, NULL},
};

void K(unary_f64)(const struct unary_fn *f, double *x, uint32_t n)
{
    fns[f->op].f64(f, x, n);
}

/* ---- the loops over spans ---------------------------------------------------------------------------------------- */

static void span_f64(const struct kernel_call *call, const struct unary_args *a, uint64_t at, uint32_t n)
{
    double x[SPAN];
    K(span_load_f64)(&a->in, call->data[0], (int64_t)at, n, x);
    fns[a->fn.op].f64(&a->fn, x, n);
    K(span_store_f64)(&a->out, call->data[1], (int64_t)at, n, x);
}

/* Whether an f32 lies in the middle between two f16 numbers. */
static inline bool between_halves(float r)
{
    uint32_t u = ku_bits_f32(r) & 0x7fffffff, e = u >> 23,
             s = e > 112   ? 0
                 : e < 101 ? 12
                           : 113 - e; /* subnormals have fewer bits */
    return (((u & 0x7fffff) | 0x800000) & ((0x2000u << s) - 1)) == 0x1000u << s;
}

/* Results that were rounded to f32 are rounded again to f16. That is wrong where the first rounding ended in a middle: those
 * keep the side they came from. */
static void keep_sides(const struct unary_fn *f, const float *x, float *r, uint32_t n)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < n; i++)
        any |= between_halves(r[i]);
    for (uint32_t i = 0; any && i < n; i++)
        if (between_halves(r[i])) {
            double v = (double)x[i];
            fns[f->op].f64(f, &v, 1);
            r[i] = span_f64_to_odd(v);
        }
}

static void span_quick(const struct kernel_call *call, const struct unary_args *a, uint64_t at, uint32_t n)
{
    float x[SPAN], r[SPAN];
    const float *p = x;
    bool direct = a->out.type == DT_F32 && !a->out.limited;
    float *o = direct ? (float *)call->data[1] + at : r;
    if (a->in.type == DT_F32)
        p = (const float *)call->data[0] + at;
    else
        K(span_load)(&a->in, call->data[0], (int64_t)at, 1, n, x);
    K(quick)((enum quick_fn)unary_quick(a->fn.op), p, o, n);
    if (direct)
        return;
    if (a->out.type == DT_F16)
        keep_sides(&a->fn, p, r, n);
    K(span_store)(&a->out, call->data[1], (int64_t)at, 1, n, r);
}

static void span_f32(const struct kernel_call *call, const struct unary_args *a, uint64_t at, uint32_t n)
{
    float x[SPAN], r[SPAN];
    const float *p = x;
    bool direct = a->out.type == DT_F32 && !a->out.limited;
    float *o = direct ? (float *)call->data[1] + at : r;
    if (a->in.type == DT_F32)
        p = (const float *)call->data[0] + at;
    else
        K(span_load)(&a->in, call->data[0], (int64_t)at, 1, n, x);
    fns[a->fn.op].f32(&a->fn, p, o, n);
    if (!direct)
        K(span_store)(&a->out, call->data[1], (int64_t)at, 1, n, r);
}

static void span_i64(const struct kernel_call *call, const struct unary_args *a, uint64_t at, uint32_t n)
{
    int64_t x[SPAN];
    K(span_load_i64)(a->in.type, call->data[0], (int64_t)at, 1, n, x);
    if (a->in.type == DT_U64)
        for (uint32_t i = 0; i < n; i++)
            x[i] = (int64_t)u64_of(a->fn.op, (uint64_t)x[i], a->fn.lo, a->fn.hi);
    else
        fns[a->fn.op].i64(&a->fn, x, n);
    /* Limits beyond the type are the type's own. */
    for (uint32_t i = 0; a->fn.op == UN_CLAMP && a->in.type != DT_U64 && i < n; i++)
        x[i] = ku_clamp(x[i], a->out.lo, a->out.hi);
    K(span_store_i64)(a->out.type, call->data[1], (int64_t)at, 1, n, x);
}

#define LIMIT_LOOP(T)                                                  \
    do {                                                               \
        const T *x = (const T *)call->data[0] + at;                    \
        T *o = (T *)call->data[1] + at;                                \
        const T least = (T)a->least, most = (T)a->most;                \
        for (uint32_t i = 0; i < n; i++) {                             \
            T v = x[i] < least ? least : x[i];                         \
            o[i] = v > most ? most : v;                                \
        }                                                              \
    } while (0)

static void span_limit(const struct kernel_call *call, const struct unary_args *a, uint64_t at, uint32_t n)
{
    if (a->in.type == DT_UQ8)
        LIMIT_LOOP(uint8_t);
    else if (a->in.type == DT_SQ8)
        LIMIT_LOOP(int8_t);
    else if (a->in.type == DT_UQ16)
        LIMIT_LOOP(uint16_t);
    else
        LIMIT_LOOP(int16_t);
}
#undef LIMIT_LOOP

#define TABLE_SPAN(name, IN, OUT)                                                                                    \
    static void name(const struct kernel_call *call, const struct unary_args *a, uint64_t at, uint32_t n)            \
    {                                                                                                                \
        const IN *x = (const IN *)call->data[0] + at;                                                                \
        OUT *o = (OUT *)call->data[1] + at;                                                                          \
        const OUT *table = a->table;                                                                                 \
        for (uint32_t i = 0; i < n; i++)                                                                             \
            o[i] = table[x[i]];                                                                                      \
    }
TABLE_SPAN(table_8_8, uint8_t, uint8_t)
TABLE_SPAN(table_8_16, uint8_t, uint16_t)
TABLE_SPAN(table_8_32, uint8_t, uint32_t)
TABLE_SPAN(table_16_8, uint16_t, uint8_t)
TABLE_SPAN(table_16_16, uint16_t, uint16_t)
TABLE_SPAN(table_16_32, uint16_t, uint32_t)

typedef void span_fn(const struct kernel_call *call, const struct unary_args *a, uint64_t at, uint32_t n);

void K(unary)(const struct kernel_call *call, struct range tile)
{
    static span_fn *const tables[2][5] = {
        {[1] = table_8_8, [2] = table_8_16, [4] = table_8_32},
        {[1] = table_16_8, [2] = table_16_16, [4] = table_16_32},
    };
    static span_fn *const modes[] = { [UN_MODE_F64] = span_f64,
                                      [UN_MODE_F32] = span_f32,
                                      [UN_MODE_QUICK] = span_quick,
                                      [UN_MODE_I64] = span_i64,
                                      [UN_MODE_LIMIT] = span_limit };
    const struct unary_args *a = call->args;
    span_fn *fn = a->mode >= UN_MODE_TABLE8 ? tables[a->mode - UN_MODE_TABLE8][a->out_bytes] : modes[a->mode];
    uint64_t at = tile.begin * a->unit, end = tile.end * a->unit;
    end = end < a->total ? end : a->total;
    for (uint32_t n; at < end; at += n) {
        n = end - at < SPAN ? (uint32_t)(end - at) : SPAN;
        fn(call, a, at, n);
    }
}
