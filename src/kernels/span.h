/* SPDX-License-Identifier: Apache-2.0 */
/* Spans: short runs of elements on their way between a tensor's storage and the numbers that kernels compute with.
 *
 * A codec says how one tensor stores a number (type, encoding, limits); it is made once, at bind. A span function converts
 * up to a few hundred elements at a time between storage and f32 (docs/numerics.md section 2), so arithmetic is written
 * once, on floats, for all types. The loops live in span_body.h and are compiled once per instruction set; all sets give the
 * same bits.
 *
 * Fixed -> fixed is the pair "load with scale m" and "store with scale 1": codec_pair sets it up. */
#ifndef KERNELS_SPAN_H
#define KERNELS_SPAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/isa_name.h"
#include "kernels/kernel_util.h"
#include "ops/ops.h"

enum { SPAN = 512 /* elements that kernels convert at a time; a multiple of the 16 lanes of section 6 */ };

struct codec {
    enum dtype type;
    bool wide;              /* 32-bit storage or a huge offset: sums and roundings go through 64-bit integers */
    uint8_t bits;           /* true width of values kept in a wider type, 0: all of them; the bits above are not trusted */
    bool limited;           /* float types: clamp stores to flo … fhi */
    float scale;            /* load multiplies by it, store divides by it */
    int32_t offset;
    int64_t lo, hi;         /* stored values allowed */
    float flo, fhi;         /* the same before the offset is subtracted, or the clamp of a float type */
    const float *scales;    /* per axis: element e has entry (e / axis_inner) % axis_n; NULL: per tensor */
    const int32_t *offsets; /* NULL: zero */
    uint32_t axis_n;
    uint64_t axis_inner;
};

/* From a descriptor; refuses encodings that are neither per tensor nor per axis. */
enum status codec_init(struct codec *c, const struct tensor_desc *d, const struct op_call *call);
/* For an output: also the clamp that is fused behind the operator. */
enum status codec_init_out(struct codec *c, const struct tensor_desc *d, const struct op_call *call);
/* A plain f32 codec, for operands that were never given. */
void codec_f32(struct codec *c);
/* Use another scale for storing or loading than the tensor's own. */
void codec_rescale(struct codec *c, double scale);
/* True when values of both tensors mean the same number bit for bit. */
bool codec_same_bits(const struct tensor_desc *a, const struct tensor_desc *b);
/* True when moving a value from din to dout, which `out` belongs to, is a copy of its bits (no conversion, no
 * fused clamp). */
bool codec_copies(const struct codec *out, const struct tensor_desc *din, const struct tensor_desc *dout);
/* codec_copies; when it is false the pair gets the multiplier of section 2, fixed -> fixed. */
bool codec_pair(struct codec *in, struct codec *out, const struct tensor_desc *din, const struct tensor_desc *dout);

#define SPAN_DECLARE(isa)                                                                                               \
    void span_load_##isa(const struct codec *c, const void *base, int64_t at, int64_t stride, uint32_t n, float *dst);  \
    void span_store_##isa(const struct codec *c, void *base, int64_t at, int64_t stride, uint32_t n, const float *src); \
    void span_load_f64_##isa(const struct codec *c, const void *base, int64_t at, uint32_t n, double *dst);             \
    void span_store_f64_##isa(const struct codec *c, void *base, int64_t at, uint32_t n, const double *src);            \
    void span_load_i64_##isa(enum dtype t, const void *base, int64_t at, int64_t stride, uint32_t n, int64_t *dst);     \
    void span_store_i64_##isa(enum dtype t, void *base, int64_t at, int64_t stride, uint32_t n, const int64_t *src);    \
    float span_sum_##isa(const float *x, uint32_t n);                                                                   \
    void span_lanes_##isa(float lanes[16], const float *x, uint32_t n);

SPAN_DECLARE(ref)
SPAN_DECLARE(avx2)
SPAN_DECLARE(avx512)
#undef SPAN_DECLARE

/* Stored values cut to the bits that the encoding keeps. */
static inline void span_narrow(const struct codec *c, int64_t *q, uint32_t n)
{
    for (uint32_t i = 0; c->bits && i < n; i++)
        q[i] = ku_narrow(q[i], c->bits, dtype_is_signed(c->type));
}

/* f64 to f32 rounded to odd: cut to the bits of an f32, the last one set when something was lost. That keeps enough for a
 * second rounding to f16 to be the only one that counts. (What an f32 can only hold as a subnormal is zero in
 * f16 anyway.) */
static inline float span_f64_to_odd(double d)
{
    const uint64_t lost = ((uint64_t)1 << 29) - 1;
    uint64_t u;
    memcpy(&u, &d, sizeof u);
    u = (u & ~lost) | ((u & lost) != 0 ? lost + 1 : 0);
    memcpy(&d, &u, sizeof u);
    return (float)d;
}

static inline uint16_t span_f64_to_f16(double d)
{
    return ku_f32_to_f16(span_f64_to_odd(d));
}

/* Section 6: the end of a sum in 16 lanes. */
static inline float span_lanes_end(float l[16])
{
    for (int step = 8; step; step >>= 1)
        for (int j = 0; j < step; j++)
            l[j] += l[j + step];
    return l[0];
}

#endif
