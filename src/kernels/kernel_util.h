/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar rules of docs/numerics.md sections 1 and 2, shared by all families, and an index iterator for broadcasting.
 *
 * Everything is written so that a loop around it may be vectorised; nothing depends on the instruction set. The rounding
 * mode is the default one (nearest, ties to even): the libraries never change it. */
#ifndef KERNELS_KERNEL_UTIL_H
#define KERNELS_KERNEL_UTIL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ops/ops.h"

/* ---- rounding and ranges --------------------------------------------------------------------------------------- */

/* rne(x) as an integer, saturated to 64 bits. NaN gives 0. */
static inline int64_t ku_rne(float x)
{
    if (x != x)
        return 0;
    if (x >= 0x1p63f)
        return INT64_MAX;
    if (x < -0x1p63f)
        return INT64_MIN;
    return llrintf(x);
}

static inline int64_t ku_rne64(double x)
{
    if (x != x)
        return 0;
    if (x >= 0x1p63)
        return INT64_MAX;
    if (x < -0x1p63)
        return INT64_MIN;
    return llrint(x);
}

static inline int64_t ku_clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* a - b without wrapping: the ends are far beyond every output range. */
static inline int64_t ku_sub(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_sub_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

/* The range of a fixed-point or integer type, narrowed to the true width of its encoding. */
struct ku_range {
    int64_t lo, hi;
};

static inline struct ku_range ku_range_of(enum dtype t, const struct quant *q)
{
    unsigned bits = q ? quant_bits(q, t) : dtype_bits(t), full = dtype_bits(t);
    struct ku_range r = { dtype_min(t), dtype_max(t) };
    if (bits && bits < full) {
        r.lo = dtype_is_signed(t) ? -((int64_t)1 << (bits - 1)) : 0;
        r.hi = dtype_is_signed(t) ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1;
    }
    return r;
}

/* ---- fixed point ----------------------------------------------------------------------------------------------- */

/* clamp(rne((float)acc * m) - o): the end of every fixed-point sum. */
static inline int64_t ku_requant(int64_t acc, float m, int32_t offset, int64_t lo, int64_t hi)
{
    return ku_clamp(ku_sub(ku_rne((float)acc * m), offset), lo, hi);
}

/* clamp(rne(x / scale) - o), f32: Quantize. */
static inline int64_t ku_quantize(float x, float scale, int32_t offset, int64_t lo, int64_t hi)
{
    return ku_clamp(ku_sub(ku_rne(x / scale), offset), lo, hi);
}

/* clamp(rne(x / scale) - o), f64: tables and clamp bounds. */
static inline int64_t ku_quantize64(double x, double scale, int32_t offset, int64_t lo, int64_t hi)
{
    return ku_clamp(ku_sub(ku_rne64(x / scale), offset), lo, hi);
}

/* (float)(q + o) * s: Dequantize. */
static inline float ku_dequantize(int64_t q, float scale, int32_t offset)
{
    return (float)(q + offset) * scale;
}

/* The range of a fixed-point output under a fused clamp on real values. */
static inline struct ku_range ku_post_range(enum dtype t, const struct quant *q, const struct op_post *post)
{
    struct ku_range r = ku_range_of(t, q);
    double s = quant_scale(q, 0);
    int32_t o = quant_offset(q, 0);
    int64_t lo = post->lo == -INFINITY ? r.lo : ku_quantize64(post->lo, s, o, r.lo, r.hi);
    int64_t hi = post->hi == INFINITY ? r.hi : ku_quantize64(post->hi, s, o, r.lo, r.hi);
    return (struct ku_range){ lo, hi < lo ? lo : hi };
}

/* A float under a fused clamp; NaN passes. */
static inline float ku_post(float v, float lo, float hi)
{
    v = v < lo ? lo : v;
    return v > hi ? hi : v;
}

/* ---- f16 ------------------------------------------------------------------------------------------------------- */

static inline float ku_f32_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t ku_bits_f32(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* Exact. Subnormals are scaled by a product with a power of two, which is exact too. */
static inline float ku_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff;
    uint32_t bits = mag >= 0x7c00 ? (mag << 13) + ((255u - 31u) << 23) : (mag << 13) + ((127u - 15u) << 23);
    float small = (float)mag * 0x1p-24f;
    bits = mag < 0x0400 ? ku_bits_f32(small) : bits;
    bits = mag > 0x7c00 ? bits | 0x00400000 : bits;
    return ku_f32_bits(bits | sign);
}

/* Nearest even, overflow to infinity, any NaN to the quiet NaN with its sign. */
static inline uint16_t ku_f32_to_f16(float f)
{
    uint32_t u = ku_bits_f32(f), sign = (u >> 16) & 0x8000, mag = u & 0x7fffffff;
    /* Below 2^-14 adding 0.5 moves the f16 subnormal grid onto the last bits of an f32. */
    uint32_t sub = ku_bits_f32(ku_f32_bits(mag) + 0.5f) - 0x3f000000;
    uint32_t norm = (mag + 0xfff + ((mag >> 13) & 1) - ((127u - 15u) << 23)) >> 13;
    uint32_t r = mag < 0x38800000 ? sub : norm;
    r = mag >= 0x477ff000 ? 0x7c00 : r;
    r = mag > 0x7f800000 ? 0x7e00 : r;
    return (uint16_t)(r | sign);
}

/* ---- one element ----------------------------------------------------------------------------------------------- */

/* The stored integer of element `at`. Fixed-point and integer types up to 64 bits. */
static inline int64_t ku_load_int(const void *p, enum dtype t, uint64_t at)
{
    switch (t) {
    case DT_I8: case DT_SQ8: return ((const int8_t *)p)[at];
    case DT_U8: case DT_UQ8: case DT_B8: return ((const uint8_t *)p)[at];
    case DT_I16: case DT_SQ16: return ((const int16_t *)p)[at];
    case DT_U16: case DT_UQ16: return ((const uint16_t *)p)[at];
    case DT_I32: case DT_SQ32: return ((const int32_t *)p)[at];
    case DT_U32: case DT_UQ32: return ((const uint32_t *)p)[at];
    case DT_I64: return ((const int64_t *)p)[at];
    case DT_U64: return (int64_t)((const uint64_t *)p)[at];
    case DT_SQ4: case DT_I4: return packed_get(p, 4, true, at);
    case DT_UQ4: case DT_U4: return packed_get(p, 4, false, at);
    case DT_SQ2: case DT_I2: return packed_get(p, 2, true, at);
    case DT_UQ2: case DT_U2: return packed_get(p, 2, false, at);
    default: return 0;
    }
}

/* A value of `bits` true bits kept in a wider type: clients leave the bits above either zero or sign-extended. */
static inline int64_t ku_narrow(int64_t v, unsigned bits, bool is_signed)
{
    uint64_t u = (uint64_t)v << (64 - bits);
    return is_signed ? (int64_t)u >> (64 - bits) : (int64_t)(u >> (64 - bits));
}

/* Store an integer that is already inside the range of t. */
static inline void ku_store_int(void *p, enum dtype t, uint64_t at, int64_t v)
{
    switch (dtype_bits(t)) {
    case 8: ((uint8_t *)p)[at] = (uint8_t)v; break;
    case 16: ((uint16_t *)p)[at] = (uint16_t)v; break;
    case 32: ((uint32_t *)p)[at] = (uint32_t)v; break;
    case 64: ((uint64_t *)p)[at] = (uint64_t)v; break;
    default: break;
    }
}

/* Element `at` as a real number: floats as they are (f64 rounded), fixed point dequantized with the given entry, integers
 * converted. */
static inline float ku_load_real(const void *p, enum dtype t, uint64_t at, float scale, int32_t offset)
{
    switch (t) {
    case DT_F32: return ((const float *)p)[at];
    case DT_F16: return ku_f16_to_f32(((const uint16_t *)p)[at]);
    case DT_BF16: return ku_f32_bits((uint32_t)((const uint16_t *)p)[at] << 16);
    case DT_F64: return (float)((const double *)p)[at];
    default: break;
    }
    int64_t q = ku_load_int(p, t, at);
    return dtype_is_fixed(t) ? ku_dequantize(q, scale, offset) : (float)q;
}

/* ---- broadcasting ---------------------------------------------------------------------------------------------- */

/* Element strides of `d` seen through an output of shape `out`: numpy rules, 0 along broadcast dimensions. */
static inline void ku_broadcast_strides(const struct tensor_desc *d, const struct tensor_desc *out,
                                        uint64_t strides[MAX_RANK])
{
    uint64_t own[MAX_RANK] = { 0 };
    desc_strides(d, own);
    for (uint32_t i = 0; i < out->rank; i++) {
        int32_t j = (int32_t)i - ((int32_t)out->rank - (int32_t)d->rank);
        strides[i] = j < 0 || d->dims[j] == 1 ? 0 : own[j];
    }
}

/* Walks the rows of a shape: all dimensions but the last, row-major. `at[k]` is operand k's offset of the row's first
 * element.
 *     struct ku_iter it;
 *     ku_iter_start(&it, rank, dims, n_operands, strides, first_row);
 *     for (row = first_row; row < end; row++, ku_iter_next(&it)) … */
enum { KU_ITER_OPERANDS = 4 };
struct ku_iter {
    uint32_t rank, n;
    const uint32_t *dims;
    const uint64_t (*strides)[MAX_RANK];
    uint32_t index[MAX_RANK];
    uint64_t at[KU_ITER_OPERANDS];
};

static inline void ku_iter_start(struct ku_iter *it, uint32_t rank, const uint32_t *dims, uint32_t n,
                                 const uint64_t strides[][MAX_RANK], uint64_t row)
{
    *it = (struct ku_iter){ .rank = rank, .n = n, .dims = dims, .strides = strides };
    for (uint32_t i = rank > 0 ? rank - 1 : 0; i-- > 0; row /= dims[i]) {
        it->index[i] = (uint32_t)(row % dims[i]);
        for (uint32_t k = 0; k < n; k++)
            it->at[k] += it->index[i] * strides[k][i];
    }
}

static inline void ku_iter_next(struct ku_iter *it)
{
    for (uint32_t i = it->rank > 0 ? it->rank - 1 : 0; i-- > 0;) {
        bool wrap = ++it->index[i] == it->dims[i];
        for (uint32_t k = 0; k < it->n; k++)
            it->at[k] += wrap ? -(uint64_t)(it->dims[i] - 1) * it->strides[k][i] : it->strides[k][i];
        if (!wrap)
            return;
        it->index[i] = 0;
    }
}

#endif
