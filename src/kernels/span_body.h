/* SPDX-License-Identifier: Apache-2.0 */
/* The conversion loops of span.h, compiled once per instruction set. Contiguous runs have loops of their own: those are what
 * the compiler turns into vectors. */
#include <math.h>
#include <string.h>

#include "kernels/kernel_util.h"
#include "kernels/span.h"

typedef void load_fn(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst);
typedef void store_fn(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src);

/* Adding and subtracting 1.5 * 2^23 rounds |v| <= 2^22 to the nearest even integer, in any vector width. */
static inline float round_small(float v)
{
    return (v + 12582912.0f) - 12582912.0f;
}

static inline int32_t quant_small(float v, float lo, float hi, int32_t offset)
{
    v = v == v ? v : 0.0f;
    v = v < lo ? lo : v;
    v = v > hi ? hi : v;
    return (int32_t)round_small(v) - offset;
}

static inline int64_t quant_wide(float v, int64_t lo, int64_t hi, int32_t offset)
{
    double r = v == v ? rint((double)v) : 0.0, a = (double)(lo + offset), b = (double)(hi + offset);
    r = r < a ? a : r;
    r = r > b ? b : r;
    return (int64_t)r - offset;
}

#define FIXED_SPANS(name, T)                                                                                              \
    static void load_##name(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst)  \
    {                                                                                                                     \
        const T *p = (const T *)base + at;                                                                                \
        const float s = c->scale;                                                                                         \
        const int32_t o = c->offset;                                                                                      \
        if (c->wide)                                                                                                      \
            for (uint32_t i = 0; i < n; i++)                                                                              \
                dst[i] = (float)((int64_t)p[i * stride] + o) * s;                                                         \
        else if (stride == 1)                                                                                             \
            for (uint32_t i = 0; i < n; i++)                                                                              \
                dst[i] = (float)((int32_t)p[i] + o) * s;                                                                  \
        else                                                                                                              \
            for (uint32_t i = 0; i < n; i++)                                                                              \
                dst[i] = (float)((int32_t)p[i * stride] + o) * s;                                                         \
    }                                                                                                                     \
    static void store_##name(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src) \
    {                                                                                                                     \
        T *p = (T *)base + at;                                                                                            \
        const float s = c->scale, lo = c->flo, hi = c->fhi;                                                               \
        const int32_t o = c->offset;                                                                                      \
        if (c->wide)                                                                                                      \
            for (uint32_t i = 0; i < n; i++)                                                                              \
                p[i * stride] = (T)quant_wide(src[i] / s, c->lo, c->hi, o);                                               \
        else if (stride == 1 && s == 1.0f)                                                                                \
            for (uint32_t i = 0; i < n; i++)                                                                              \
                p[i] = (T)quant_small(src[i], lo, hi, o);                                                                 \
        else if (stride == 1)                                                                                             \
            for (uint32_t i = 0; i < n; i++)                                                                              \
                p[i] = (T)quant_small(src[i] / s, lo, hi, o);                                                             \
        else                                                                                                              \
            for (uint32_t i = 0; i < n; i++)                                                                              \
                p[i * stride] = (T)quant_small(src[i] / s, lo, hi, o);                                                    \
    }
FIXED_SPANS(sq8, int8_t)
FIXED_SPANS(uq8, uint8_t)
FIXED_SPANS(sq16, int16_t)
FIXED_SPANS(uq16, uint16_t)
FIXED_SPANS(sq32, int32_t)
FIXED_SPANS(uq32, uint32_t)

/* float -> integer of Cast: toward zero, saturating, NaN becomes 0 */
static inline int64_t cast_i64(double v, int64_t lo, int64_t hi)
{
    if (!(v == v))
        return 0;
    if (v <= (double)lo)
        return lo;
    return v >= (double)hi ? hi : (int64_t)v;
}

static inline uint64_t cast_u64(double v)
{
    if (!(v > 0.0))
        return 0;
    return v >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)v;
}

/* The same for limits that are f32 numbers, which vectors do. */
static inline int32_t cast_small(float v, float lo, float hi)
{
    v = v == v ? v : 0.0f;
    v = v < lo ? lo : v;
    v = v > hi ? hi : v;
    return (int32_t)v;
}

/* 2^31 is the first f32 that is too large. */
static inline int32_t cast_i32(float v)
{
    const float most = 2147483520.0f, least = -2147483648.0f;
    float w = v == v ? v : 0.0f;
    w = w < least ? least : w;
    w = w > most ? most : w;
    return v > most ? INT32_MAX : (int32_t)w;
}

#define INT_LOAD(name, T)                                                                                                \
    static void load_##name(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst) \
    {                                                                                                                    \
        const T *p = (const T *)base + at;                                                                               \
        (void)c;                                                                                                         \
        if (stride == 1)                                                                                                 \
            for (uint32_t i = 0; i < n; i++)                                                                             \
                dst[i] = (float)p[i];                                                                                    \
        else                                                                                                             \
            for (uint32_t i = 0; i < n; i++)                                                                             \
                dst[i] = (float)p[i * stride];                                                                           \
    }
#define INT_STORE(name, T, U, CAST)                                                                                       \
    static void store_##name(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src) \
    {                                                                                                                     \
        T *p = (T *)base + at;                                                                                            \
        const float flo = (float)c->lo, fhi = (float)c->hi;                                                               \
        (void)flo, (void)fhi;                                                                                             \
        if (stride == 1)                                                                                                  \
            for (uint32_t i = 0; i < n; i++) {                                                                            \
                U v = (U)src[i];                                                                                          \
                p[i] = (T)CAST;                                                                                           \
            }                                                                                                             \
        else                                                                                                              \
            for (uint32_t i = 0; i < n; i++) {                                                                            \
                U v = (U)src[i];                                                                                          \
                p[i * stride] = (T)CAST;                                                                                  \
            }                                                                                                             \
    }
#define INT_SPANS(name, T, U, CAST) INT_LOAD(name, T) INT_STORE(name, T, U, CAST)
INT_SPANS(i8, int8_t, float, cast_small(v, flo, fhi))
INT_SPANS(i16, int16_t, float, cast_small(v, flo, fhi))
INT_SPANS(i32, int32_t, float, cast_i32(v))
INT_SPANS(i64, int64_t, double, cast_i64(v, c->lo, c->hi))
INT_SPANS(u8, uint8_t, float, cast_small(v, flo, fhi))
INT_SPANS(u16, uint16_t, float, cast_small(v, flo, fhi))
INT_SPANS(u32, uint32_t, double, cast_i64(v, c->lo, c->hi))
INT_SPANS(u64, uint64_t, double, cast_u64(v))
INT_SPANS(b8, uint8_t, float, (v != 0.0f))

static inline float limit(const struct codec *c, float v)
{
    v = v < c->flo ? c->flo : v;
    return v > c->fhi ? c->fhi : v;
}

static void load_f32(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst)
{
    const float *p = (const float *)base + at;
    (void)c;
    if (stride == 1)
        memcpy(dst, p, n * sizeof(*dst));
    else
        for (uint32_t i = 0; i < n; i++)
            dst[i] = p[i * stride];
}

static void store_f32(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src)
{
    float *p = (float *)base + at;
    if (c->limited)
        for (uint32_t i = 0; i < n; i++)
            p[i * stride] = limit(c, src[i]);
    else if (stride == 1)
        memcpy(p, src, n * sizeof(*p));
    else
        for (uint32_t i = 0; i < n; i++)
            p[i * stride] = src[i];
}

static void load_f16(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst)
{
    const uint16_t *p = (const uint16_t *)base + at;
    (void)c;
    if (stride == 1)
        f16_row_load(p, n, dst);
    else
        for (uint32_t i = 0; i < n; i++)
            dst[i] = ku_f16_to_f32(p[i * stride]);
}

static void store_f16(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src)
{
    uint16_t *p = (uint16_t *)base + at;
    float limited[SPAN];
    for (uint32_t i = 0; c->limited && stride == 1 && n <= SPAN && i < n; i++)
        limited[i] = limit(c, src[i]);
    if (stride == 1 && (!c->limited || n <= SPAN))
        f16_row_store(p, n, c->limited ? limited : src);
    else
        for (uint32_t i = 0; i < n; i++)
            p[i * stride] = ku_f32_to_f16(c->limited ? limit(c, src[i]) : src[i]);
}

static void load_bf16(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst)
{
    const uint16_t *p = (const uint16_t *)base + at;
    (void)c;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)p[i * stride] << 16;
        memcpy(&dst[i], &bits, sizeof(bits));
    }
}

static void store_bf16(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src)
{
    uint16_t *p = (uint16_t *)base + at;
    for (uint32_t i = 0; i < n; i++) {
        float v = c->limited ? limit(c, src[i]) : src[i];
        uint32_t bits;
        memcpy(&bits, &v, sizeof(bits));
        p[i * stride] = v == v ? (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16) : 0x7fc0;
    }
}

static void load_f64(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst)
{
    const double *p = (const double *)base + at;
    (void)c;
    for (uint32_t i = 0; i < n; i++)
        dst[i] = (float)p[i * stride];
}

static void store_f64(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src)
{
    double *p = (double *)base + at;
    for (uint32_t i = 0; i < n; i++)
        p[i * stride] = (double)(c->limited ? limit(c, src[i]) : src[i]);
}

/* Everything per axis, and packed storage: one element at a time. */
static void load_slow(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t e = at + i * stride, q;
        uint64_t k = c->scales ? (uint64_t)e / c->axis_inner % c->axis_n : 0;
        K(span_load_i64)(c->type, base, e, 1, 1, &q);
        span_narrow(c, &q, 1);
        int32_t o = !c->scales ? c->offset : c->offsets ? c->offsets[k] : 0;
        dst[i] = (float)(q + o) * (c->scales ? c->scales[k] : c->scale);
    }
}

static void store_slow(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t e = at + i * stride;
        uint64_t k = c->scales ? (uint64_t)e / c->axis_inner % c->axis_n : 0;
        int32_t o = !c->scales ? c->offset : c->offsets ? c->offsets[k] : 0;
        int64_t q = quant_wide(src[i] / (c->scales ? c->scales[k] : c->scale), c->lo, c->hi, o);
        K(span_store_i64)(c->type, base, e, 1, 1, &q);
    }
}

/* Packed plain integers: numbers as they are, floats cut as Cast does it. */
static void load_low(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst)
{
    for (uint32_t i = 0; i < n; i++)
        dst[i] = (float)packed_get(base, dtype_bits(c->type), dtype_is_signed(c->type), (uint64_t)(at + i * stride));
}

static void store_low(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src)
{
    for (uint32_t i = 0; i < n; i++)
        packed_put(base, dtype_bits(c->type), (uint64_t)(at + i * stride), cast_i64((double)src[i], c->lo, c->hi));
}

#define ROW(D, name) [D] = {load_##name, store_##name}
static const struct {
    load_fn *load;
    store_fn *store;
} spans[DT_COUNT] = {
    ROW(DT_I8, i8),     ROW(DT_I16, i16),   ROW(DT_I32, i32),   ROW(DT_I64, i64),   ROW(DT_U8, u8),     ROW(DT_U16, u16),
    ROW(DT_U32, u32),   ROW(DT_U64, u64),   ROW(DT_F16, f16),   ROW(DT_BF16, bf16), ROW(DT_F32, f32),   ROW(DT_F64, f64),
    ROW(DT_SQ8, sq8),   ROW(DT_SQ16, sq16), ROW(DT_SQ32, sq32), ROW(DT_UQ8, uq8),   ROW(DT_UQ16, uq16), ROW(DT_UQ32, uq32),
    ROW(DT_SQ4, slow),  ROW(DT_UQ4, slow),  ROW(DT_SQ2, slow),  ROW(DT_UQ2, slow),  ROW(DT_B8, b8),     ROW(DT_I4, low),
    ROW(DT_U4, low),    ROW(DT_I2, low),    ROW(DT_U2, low),
};
#undef ROW

void K(span_load)(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst)
{
    if (c->scales || c->bits) {
        load_slow(c, base, at, stride, n, dst);
    } else if (stride == 0 && n > 1) {
        float v;
        spans[c->type].load(c, base, at, 1, 1, &v);
        for (uint32_t i = 0; i < n; i++)
            dst[i] = v;
    } else {
        spans[c->type].load(c, base, at, stride, n, dst);
    }
}

void K(span_store)(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src)
{
    if (c->scales)
        store_slow(c, base, at, stride, n, src);
    else
        spans[c->type].store(c, base, at, stride, n, src);
}

/* ---- integers as they are stored --------------------------------------------------------------------------------- */

#define I64_LOOP(D, T)                   \
    case D:                              \
        for (uint32_t i = 0; i < n; i++) \
            I64_STEP(T)                  \
        break;
#define I64_CASES               \
    I64_LOOP(DT_I8, int8_t)     \
    I64_LOOP(DT_SQ8, int8_t)    \
    I64_LOOP(DT_U8, uint8_t)    \
    I64_LOOP(DT_UQ8, uint8_t)   \
    I64_LOOP(DT_B8, uint8_t)    \
    I64_LOOP(DT_I16, int16_t)   \
    I64_LOOP(DT_SQ16, int16_t)  \
    I64_LOOP(DT_U16, uint16_t)  \
    I64_LOOP(DT_UQ16, uint16_t) \
    I64_LOOP(DT_I32, int32_t)   \
    I64_LOOP(DT_SQ32, int32_t)  \
    I64_LOOP(DT_U32, uint32_t)  \
    I64_LOOP(DT_UQ32, uint32_t) \
    I64_LOOP(DT_I64, int64_t)   \
    I64_LOOP(DT_U64, uint64_t)

void K(span_load_i64)(enum dtype t, const void *base, int64_t at, int64_t stride, uint32_t n, int64_t *dst)
{
#define I64_STEP(T) dst[i] = (int64_t)((const T *)base)[at + i * stride];
    if (stride == 0 && n > 1) { /* one number for a row of them */
        K(span_load_i64)(t, base, at, 1, 1, dst);
        for (uint32_t i = 1; i < n; i++)
            dst[i] = dst[0];
        return;
    }
    switch (t) {
        I64_CASES
    default:
        if (T_(t) & T_LOW)
            for (uint32_t i = 0; i < n; i++)
                dst[i] = packed_get(base, dtype_bits(t), dtype_is_signed(t), (uint64_t)(at + i * stride));
        break;
    }
#undef I64_STEP
}

void K(span_store_i64)(enum dtype t, void *base, int64_t at, int64_t stride, uint32_t n, const int64_t *src)
{
#define I64_STEP(T) ((T *)base)[at + i * stride] = (T)src[i];
    switch (t) {
        I64_CASES
    default:
        if (T_(t) & T_LOW)
            for (uint32_t i = 0; i < n; i++)
                packed_put(base, dtype_bits(t), (uint64_t)(at + i * stride), src[i]);
        break;
    }
#undef I64_STEP
}

/* ---- f64, for functions that are defined in f64 (section 5) ------------------------------------------------------ */

void K(span_load_f64)(const struct codec *c, const void *base, int64_t at, uint32_t n, double *dst)
{
    if (c->type == DT_F64) {
        memcpy(dst, (const double *)base + at, n * sizeof(*dst));
    } else if (dtype_is_float(c->type)) {
        float v[SPAN];
        K(span_load)(c, base, at, 1, n, v);
        for (uint32_t i = 0; i < n; i++)
            dst[i] = (double)v[i];
    } else {
        bool fixed = dtype_is_fixed(c->type);
        int64_t q[SPAN];
        K(span_load_i64)(c->type, base, at, 1, n, q);
        span_narrow(c, q, n);
        for (uint32_t i = 0; i < n; i++)
            dst[i] = fixed       ? (double)c->scale * (double)(q[i] + c->offset)
                     : c->type == DT_U64 ? (double)(uint64_t)q[i]
                                         : (double)q[i];
    }
}

static void store_f64_fixed(const struct codec *c, void *base, int64_t at, uint32_t n, const double *src)
{
    double s = (double)c->scale, a = (double)(c->lo + c->offset), b = (double)(c->hi + c->offset);
    int64_t q[SPAN];
    for (uint32_t i = 0; i < n; i++) {
        double v = src[i] / s;
        v = v == v ? rint(v) : 0.0;
        v = v < a ? a : v;
        v = v > b ? b : v;
        q[i] = (int64_t)v - c->offset;
    }
    K(span_store_i64)(c->type, base, at, 1, n, q);
}

static void store_f64_f16(uint16_t *p, uint32_t n, const double *src)
{
    float odd[SPAN];
    for (uint32_t i = 0; i < n; i++)
        odd[i] = span_f64_to_odd(src[i]);
    f16_row_store(p, n, odd);
}

static void store_f64_other(const struct codec *c, void *base, int64_t at, uint32_t n, const double *src)
{
    for (uint32_t i = 0; i < n; i++) {
        float f = (float)src[i];
        if (c->type == DT_BF16) {
            store_bf16(c, base, at + i, 1, 1, &f);
            continue;
        }
        int64_t q = c->type == DT_U64  ? (int64_t)cast_u64(src[i])
                    : c->type == DT_B8 ? src[i] != 0.0
                                       : cast_i64(src[i], c->lo, c->hi);
        K(span_store_i64)(c->type, base, at + i, 1, 1, &q);
    }
}

void K(span_store_f64)(const struct codec *c, void *base, int64_t at, uint32_t n, const double *src)
{
    double limited[SPAN];
    const double lo = (double)c->flo, hi = (double)c->fhi;
    if (dtype_is_fixed(c->type)) {
        store_f64_fixed(c, base, at, n, src);
        return;
    }
    for (uint32_t i = 0; c->limited && i < n; i++)
        limited[i] = src[i] < lo ? lo : src[i] > hi ? hi : src[i];
    src = c->limited ? limited : src;
    if (c->type == DT_F32)
        for (uint32_t i = 0; i < n; i++)
            ((float *)base)[at + i] = (float)src[i];
    else if (c->type == DT_F16)
        store_f64_f16((uint16_t *)base + at, n, src);
    else if (c->type == DT_F64)
        memcpy((double *)base + at, src, n * sizeof(*src));
    else
        store_f64_other(c, base, at, n, src);
}

/* ---- sums in 16 lanes (section 6) -------------------------------------------------------------------------------- */

/* Add a span whose first element is a multiple of 16 elements into the run. */
void K(span_lanes)(float lanes[16], const float *x, uint32_t n)
{
    float l[16];
    uint32_t i = 0;
    memcpy(l, lanes, sizeof(l));
    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++)
            l[j] += x[i + (uint32_t)j];
    for (uint32_t j = 0; i + j < n; j++)
        l[j] += x[i + j];
    memcpy(lanes, l, sizeof(l));
}

float K(span_sum)(const float *x, uint32_t n)
{
    float lanes[16] = {0};
    K(span_lanes)(lanes, x, n);
    return span_lanes_end(lanes);
}
