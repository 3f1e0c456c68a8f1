/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of the conv family: packed weights and channel records (layouts in conv.h). At prepare they are made once; for
 * weights that are not constant the driver makes them chunk by chunk with the same functions. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

/* ---- weights ---------------------------------------------------------------------------------------------------- */

/* Where packing reads and writes: 16 channels of one slice. */
struct pack_block {
    const struct conv_args *a;
    const void *src;
    uint64_t first;   /* element of k = 0, channel 0 of the block */
    uint32_t n;       /* channels that exist */
    void *dst;
};

/* One loop per storage type; SHIFTED is applied to each value on the way. */
#define PACK_LOOP(name, S, D, SHIFTED)                                                      \
    static void pack_##name(const struct pack_block *p)                                     \
    {                                                                                       \
        const struct conv_args *a = p->a;                                                   \
        const int32_t shift = a->w_shift;                                                   \
        (void)shift;                                                                        \
        for (uint32_t tap = 0; tap < a->taps; tap++)                                        \
            for (uint32_t i = 0; i < a->cig; i++) {                                         \
                uint32_t k = tap * a->tap_stride + i;                                       \
                const S *s = (const S *)p->src + p->first + tap * a->w_tap + i * a->w_in;   \
                D *d = (D *)p->dst + (uint64_t)(k / a->kg) * CONV_BLOCK * a->kg + k % a->kg; \
                for (uint32_t c = 0; c < p->n; c++) {                                       \
                    S v = s[c * a->w_out];                                                  \
                    d[c * a->kg] = (D)(SHIFTED);                                            \
                }                                                                           \
            }                                                                               \
    }

PACK_LOOP(s8, int8_t, int8_t, v + shift)
PACK_LOOP(u8, uint8_t, int8_t, v + shift)
PACK_LOOP(s16, int16_t, int16_t, v + shift)
PACK_LOOP(u16, uint16_t, int16_t, v + shift)
PACK_LOOP(f16, uint16_t, uint16_t, v)
PACK_LOOP(f32, uint32_t, uint32_t, v)

/* Weights are stored as they are but for the sign of unsigned ones. */
static bool as_stored(const struct conv_args *a)
{
    const int32_t half = a->w_type == DT_UQ8 ? 128 : a->w_type == DT_UQ16 ? 32768 : 0;
    return a->taps == 1 && a->w_shift == -half &&
           (T_(a->w_type) & (T_(DT_SQ8) | T_(DT_SQ16) | T_(DT_UQ8) | T_(DT_UQ16) | T_FLOAT)) &&
           dtype_bits(a->w_type) == 8 * a->wsize;
}

static uint32_t sign_bits(const struct conv_args *a)
{
    return a->w_type == DT_UQ8 ? 0x80808080u : a->w_type == DT_UQ16 ? 0x80008000u : 0;
}

typedef uint32_t quad __attribute__((vector_size(16)));
typedef uint16_t eight __attribute__((vector_size(16)));

/* Groups of four bytes, four of each of 16 channels: a transpose of 16 by 4. `step`: bytes from one channel to the next. */
static void turn_quads(char *d, const char *s, uint64_t step, quad flip)
{
    for (uint32_t c = 0; c < CONV_BLOCK; c += 4, s += 4 * step, d += 16) {
        quad x[4];
        for (uint32_t i = 0; i < 4; i++)
            memcpy(&x[i], s + i * step, 16);
        const quad a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5), b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
        const quad e = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7), f = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
        const quad y[4] = { __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                            __builtin_shufflevector(e, f, 0, 1, 4, 5), __builtin_shufflevector(e, f, 2, 3, 6, 7) };
        for (uint32_t i = 0; i < 4; i++) {
            const quad v = y[i] ^ flip;
            memcpy(d + i * 4 * CONV_BLOCK, &v, 16);
        }
    }
}

/* One run of k per channel, contiguous: whole groups are copied. */
static void pack_copied(const struct pack_block *p)
{
    const struct conv_args *a = p->a;
    const uint32_t group = a->kg * a->wsize, whole = a->cig / a->kg, rest = a->cig % a->kg * a->wsize, bits = sign_bits(a);
    if (group == 4 && p->n == CONV_BLOCK && a->cig % (4 * a->kg) == 0) {
        for (uint32_t g = 0; g < whole; g += 4)
            turn_quads((char *)p->dst + (uint64_t)g * 4 * CONV_BLOCK,
                       (const char *)p->src + p->first * a->wsize + (uint64_t)g * 4, a->w_out * a->wsize,
                       (quad){ bits, bits, bits, bits });
        return;
    }
    for (uint32_t c = 0; c < p->n; c++) {
        const char *s = (const char *)p->src + (p->first + c * a->w_out) * a->wsize;
        char *d = (char *)p->dst + c * group;
        for (uint32_t g = 0; g < whole; g++, s += group, d += CONV_BLOCK * group) {
            uint32_t four = 0;
            if (group == 4) {
                memcpy(&four, s, 4);
                four ^= bits;
                memcpy(d, &four, 4);
            } else {
                memcpy(d, s, 2);
            }
        }
        for (uint32_t i = 0; i < rest; i++)
            d[i] = (char)(s[i] ^ (uint8_t)(bits >> 8 * (i % a->wsize)));
    }
}

static bool copies(const struct conv_args *a)
{
    const uint32_t group = a->kg * a->wsize;
    return as_stored(a) && a->w_in == 1 && (group == 4 || (group == 2 && !sign_bits(a)));
}

/* Two lines of 16-bit weights, 16 channels each, become pairs. */
static void pair_lines(char *d, const char *s, uint64_t line, uint32_t flip)
{
    const eight bits = (eight)(quad){ flip, flip, flip, flip };
    for (uint32_t half = 0; half < 2; half++, s += 16, d += 32) {
        eight a, b;
        memcpy(&a, s, 16);
        memcpy(&b, s + line, 16);
        const eight lo = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11) ^ bits,
                    hi = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15) ^ bits;
        memcpy(d, &lo, 16);
        memcpy(d + 16, &hi, 16);
    }
}

/* Four lines of 8-bit weights, 16 channels each, become fours. */
static void join_lines(char *d, const char *s, uint64_t line, uint32_t flip)
{
    typedef uint8_t sixteen __attribute__((vector_size(16)));
    const eight bits = (eight)(quad){ flip, flip, flip, flip };
    sixteen x[4];
    for (uint32_t i = 0; i < 4; i++)
        memcpy(&x[i], s + i * line, 16);
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
    const eight a[2] = { (eight)LOWER(x[0], x[1]), (eight)UPPER(x[0], x[1]) },
                b[2] = { (eight)LOWER(x[2], x[3]), (eight)UPPER(x[2], x[3]) };
#undef LOWER
#undef UPPER
    for (uint32_t half = 0; half < 2; half++, d += 32) {
        const eight lo = __builtin_shufflevector(a[half], b[half], 0, 8, 1, 9, 2, 10, 3, 11) ^ bits,
                    hi = __builtin_shufflevector(a[half], b[half], 4, 12, 5, 13, 6, 14, 7, 15) ^ bits;
        memcpy(d, &lo, 16);
        memcpy(d + 16, &hi, 16);
    }
}

/* Channels follow each other in the weights: lines of k are copied, pairs or fours of lines become groups. */
static void pack_lines(const struct pack_block *p)
{
    const struct conv_args *a = p->a;
    const uint64_t line = a->w_in * a->wsize, group = (uint64_t)a->kg * a->wsize * CONV_BLOCK;
    const char *s = (const char *)p->src + p->first * a->wsize;
    char *d = p->dst;
    for (uint32_t k = 0; k < a->cig; k += a->kg, s += a->kg * line, d += group) {
        if (a->kg == 1)
            memcpy(d, s, group);
        else if (a->kg == 2)
            pair_lines(d, s, line, sign_bits(a));
        else
            join_lines(d, s, line, sign_bits(a));
    }
}

static bool has_lines(const struct conv_args *a, uint32_t n)
{
    const bool groups = (a->kg == 1 && !sign_bits(a)) || (a->kg == 2 && a->wsize == 2) || (a->kg == 4 && a->wsize == 1);
    return as_stored(a) && a->w_out == 1 && groups && a->cig % a->kg == 0 && n == CONV_BLOCK;
}

/* Store the weight of element `at`, whatever its encoding is. */
static inline void pack_one(const struct conv_args *a, const void *w, uint64_t at, void *dst, uint64_t to)
{
    if (a->wsize == 4)
        ((float *)dst)[to] =
            a->w_type == DT_F16 ? ku_f16_to_f32(((const uint16_t *)w)[at]) : encoding_real(&a->w_enc, w, at);
    else if (a->wsize == 2)
        ((int16_t *)dst)[to] = (int16_t)conv_weight(a, w, at);
    else
        ((int8_t *)dst)[to] = (int8_t)conv_weight(a, w, at);
}

/* Packed types, narrower values in wider types, and everything that is more than q + shift. */
static void pack_any(const struct pack_block *p)
{
    const struct conv_args *a = p->a;
    for (uint32_t tap = 0; tap < a->taps; tap++)
        for (uint32_t i = 0; i < a->cig; i++) {
            uint32_t k = tap * a->tap_stride + i;
            uint64_t from = p->first + tap * a->w_tap + i * a->w_in,
                     to = (uint64_t)(k / a->kg) * CONV_BLOCK * a->kg + k % a->kg;
            for (uint32_t c = 0; c < p->n; c++)
                pack_one(a, p->src, from + c * a->w_out, p->dst, to + c * a->kg);
        }
}

static void (*const pack_of_type[DT_COUNT])(const struct pack_block *) = {
    [DT_SQ8] = pack_s8,   [DT_UQ8] = pack_u8,  [DT_SQ16] = pack_s16,
    [DT_UQ16] = pack_u16, [DT_F16] = pack_f16, [DT_F32] = pack_f32,
};

void conv_pack(const struct conv_args *a, const void *w, uint32_t slice, uint32_t c0, uint32_t n, void *dst)
{
    bool any = a->wsize == 4 ? a->w_type != DT_F32
                             : dtype_is_fixed(a->w_type) && (a->effective || a->w_enc.bits < (a->wsize == 1 ? 8u : 16u));
    uint64_t bytes = conv_block_bytes(a);
    for (uint32_t c = 0; c < n; c += CONV_BLOCK) {
        struct pack_block p = { a, w, slice * a->w_slice + (c0 + c) * a->w_out, n - c < CONV_BLOCK ? n - c : CONV_BLOCK,
                                (char *)dst + c / CONV_BLOCK * bytes };
        if (p.n < CONV_BLOCK || a->kpad != a->taps * a->cig)
            memset(p.dst, 0, bytes);
        if (any)
            pack_any(&p);
        else if (copies(a))
            pack_copied(&p);
        else if (has_lines(a, p.n))
            pack_lines(&p);
        else
            pack_of_type[a->w_type](&p);
    }
}

void conv_pack_depthwise(const struct conv_args *a, const void *w, void *dst)
{
    memset(dst, 0, (size_t)a->taps * a->npad * a->wsize);
    for (uint32_t tap = 0; tap < a->taps; tap++) {
        char *to = (char *)dst + (uint64_t)tap * a->npad * a->wsize;
        uint64_t from = tap * a->w_tap;
        if (a->w_type == DT_F32 || (a->w_type == DT_F16 && a->wsize == 2)) {
            memcpy(to, (const char *)w + from * a->wsize, (size_t)a->cog * a->wsize);
            continue;
        }
        for (uint32_t c = 0; c < a->cog; c++)
            pack_one(a, w, from + c, to, c);
    }
}

/* ---- channel records -------------------------------------------------------------------------------------------- */

static int64_t saturate32(double v)
{
    int64_t r = ku_rne64(v);
    return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r;
}

/* Types that may be without a scale, in units of the accumulator. */
static bool in_units(enum dtype t)
{
    return t == DT_SQ32 || t == DT_UQ32 || t == DT_I32 || t == DT_I64;
}

/* docs/numerics.md section 3, Bias. `unit`: what one step of the accumulator is worth. */
static int64_t bias_fixed(const struct conv_args *a, const void *bias, uint32_t at, double unit)
{
    if (dtype_is_float(a->b_type))
        return saturate32((double)ku_load_real(bias, a->b_type, at, 0, 0) / unit);
    int64_t q = ku_load_int(bias, a->b_type, at);
    double scale = quant_scale(&a->bq, at);
    int64_t offset = quant_offset(&a->bq, at);
    bool as_it_is =
        a->b_type == DT_I64 || a->bq.kind == Q_NONE || scale == 0 || (offset == 0 && fabs(scale - unit) <= unit / 65536);
    if (in_units(a->b_type) && as_it_is)
        return q > INT32_MAX ? INT32_MAX : q < INT32_MIN ? INT32_MIN : q;
    return saturate32(scale * (double)(q + offset) / unit);
}

/* The bias of a float sum; one of 32 bits without a scale has that of its products. `weight`: a weight of the channel. */
static float bias_real(const struct conv_args *a, const void *bias, uint32_t at, uint64_t weight)
{
    float scale = quant_scale(&a->bq, at);
    if (in_units(a->b_type) && (a->b_type == DT_I64 || a->bq.kind == Q_NONE || scale == 0))
        return (float)((double)ku_load_int(bias, a->b_type, at) * a->x_scale * encoding_scale(&a->w_enc, weight));
    return ku_load_real(bias, a->b_type, at, scale, quant_offset(&a->bq, at));
}

/* Half of what the engines' sums hold: 32 bits, or the 51 bits that become a double exactly. */
static int64_t half_range(const struct conv_args *a)
{
    return (int64_t)1 << (a->cls == CONV_Q8 || (a->kind == CONV_DEPTHWISE && a->wsize == 1) ? 30 : 50);
}

/* Sums of stored weights and of magnitudes over groups of 16 channels; in 32 bits for as many groups as cannot overflow. */
#define SUM_LOOP(name, T)                                                                                              \
    static void sum_##name(const T *w, uint32_t groups, uint32_t kg, int32_t offset, int64_t *sum, int64_t *magnitude) \
    {                                                                                                                  \
        while (groups) {                                                                                               \
            int32_t s[CONV_BLOCK] = { 0 }, m[CONV_BLOCK] = { 0 };                                                      \
            uint32_t some = groups < 4096 ? groups : 4096;                                                             \
            for (uint32_t g = 0; g < some; g++, w += CONV_BLOCK * kg)                                                  \
                for (uint32_t j = 0; j < kg; j++)                                                                      \
                    for (uint32_t c = 0; c < CONV_BLOCK; c++) {                                                        \
                        int32_t v = w[c * kg + j], full = v + offset;                                                  \
                        s[c] += v;                                                                                     \
                        m[c] += full < 0 ? -full : full;                                                               \
                    }                                                                                                  \
            for (uint32_t c = 0; c < CONV_BLOCK; c++) {                                                                \
                sum[c] += s[c];                                                                                        \
                magnitude[c] += m[c];                                                                                  \
            }                                                                                                          \
            groups -= some;                                                                                            \
        }                                                                                                              \
    }

SUM_LOOP(s8, int8_t)
SUM_LOOP(s16, int16_t)

/* k of one row of wsum. */
static uint32_t sum_length(const struct conv_args *a)
{
    return a->blocks ? a->run : a->kind == CONV_TRANSPOSED ? a->tap_stride : a->kpad;
}

/* One block: rows of wsum, and the largest sum of products that these weights can give. */
static int64_t block_sums(const struct conv_args *a, const void *block, uint32_t n, struct conv_record *r, uint32_t c0)
{
    int64_t x_lo = dtype_min(a->x_type) + a->x_offset, x_hi = dtype_max(a->x_type) + a->x_offset;
    int64_t x_max = -x_lo > x_hi ? -x_lo : x_hi, magnitude[CONV_BLOCK] = { 0 }, largest = 0;
    uint32_t groups = sum_length(a) / a->kg;
    for (uint32_t t = 0; t < a->n_sums; t++) {
        int64_t sum[CONV_BLOCK] = { 0 };
        const char *w = (const char *)block + (uint64_t)t * groups * CONV_BLOCK * a->kg * a->wsize;
        if (a->wsize == 2)
            sum_s16((const int16_t *)w, groups, 2, a->w_offset, sum, magnitude);
        else
            sum_s8((const int8_t *)w, groups, a->kg, a->w_offset, sum, magnitude);
        memcpy(&r->wsum[t * r->sum_stride + c0], sum, n * sizeof(int64_t));
    }
    for (uint32_t c = 0; c < n; c++)
        largest = magnitude[c] > largest ? magnitude[c] : largest;
    return largest * x_max;
}

/* Magnitudes need no look at the weights where the types alone keep sums small. */
static bool only_sums(const struct conv_args *a, const struct conv_record *r)
{
    return r->sum && a->kg == 4 && a->wsize == 1 && a->n_sums == 1 && a->bound < half_range(a);
}

static int64_t all_sums(const struct conv_args *a, const void *packed, uint32_t n, struct conv_record *r)
{
    int64_t largest = 0;
    for (uint32_t c = 0; c < n && only_sums(a, r); c += CONV_BLOCK) {
        int64_t sum[CONV_BLOCK];
        r->sum((const int8_t *)packed + c / CONV_BLOCK * conv_block_bytes(a), a->kpad / 4, sum);
        memcpy(&r->wsum[c], sum, (n - c < CONV_BLOCK ? n - c : CONV_BLOCK) * sizeof(int64_t));
    }
    if (only_sums(a, r))
        return a->bound;
    for (uint32_t c = 0; c < n; c += CONV_BLOCK) {
        int64_t v = block_sums(a, (const char *)packed + c / CONV_BLOCK * conv_block_bytes(a),
                               n - c < CONV_BLOCK ? n - c : CONV_BLOCK, r, c);
        largest = v > largest ? v : largest;
    }
    return largest;
}

/* Multipliers of runs, and the bias in steps of the output. */
static void fill_runs(const struct conv_args *a, const void *bias, uint32_t slice, uint32_t c0, uint32_t n,
                      struct conv_record *r)
{
    const uint32_t per_tap = a->cig / a->run;
    const bool offsets = a->n_m > a->n_runs + 1;
    /* Far from where sums of runs could become infinite. */
    const float limit = 0x1p40f;
    for (uint32_t run = 0; run < a->n_runs; run++)
        for (uint32_t c = 0; c < n; c++) {
            uint64_t at = conv_weight_at(a, slice, run / per_tap, run % per_tap * a->run, c0 + c);
            float m = (float)(a->x_scale * encoding_scale(&a->w_enc, at) / a->out_scale);
            float o = offsets ? (float)(a->x_scale * encoding_float_offset(&a->w_enc, at) / a->out_scale) : 0.0f;
            r->m[run * r->m_stride + c] = m;
            if (offsets)
                r->m[(a->n_runs + run) * r->m_stride + c] = o;
            r->plain = r->plain && fabsf(m) < limit && fabsf(o) < limit;
        }
    for (uint32_t c = 0; c < n; c++) {
        uint32_t at = a->kind == CONV_MATRIX ? c0 + c : slice * a->cog + c0 + c;
        double real =
            !a->has_bias ? -0.0
            : dtype_is_float(a->b_type)
                ? (double)ku_load_real(bias, a->b_type, at, 0, 0)
                : (double)quant_scale(&a->bq, at) * (double)(ku_load_int(bias, a->b_type, at) + quant_offset(&a->bq, at));
        float b = (float)(real / a->out_scale);
        r->m[(a->n_m - 1) * r->m_stride + c] = b;
        r->plain = r->plain && fabsf(b) < limit;
    }
}

void conv_record_fill(const struct conv_args *a, const void *packed, const void *bias, uint32_t slice, uint32_t c0,
                      uint32_t n, struct conv_record *r)
{
    const int64_t half = half_range(a);
    bool is_float = a->cls == CONV_F32 || a->cls == CONV_F16;
    r->plain = a->out_offset > -(1 << 22) && a->out_offset < 1 << 22;
    /* Runs that are no whole groups are computed by the reference alone, which needs no sums. */
    bool sums = !is_float && a->kind != CONV_DEPTHWISE && (!a->blocks || a->run % a->kg == 0);
    r->bound = sums ? all_sums(a, packed, n, r) : is_float ? 0 : a->bound;
    if (a->blocks) {
        r->bound = a->bound;
        fill_runs(a, bias, slice, c0, n, r);
        return;
    }
    for (uint32_t c = 0; c < n; c++) {
        uint32_t at = a->kind == CONV_MATRIX ? c0 + c : slice * a->cog + c0 + c;
        if (is_float) {
            r->m[c] = a->has_bias ? bias_real(a, bias, at, conv_weight_at(a, slice, 0, 0, c0 + c)) : -0.0f;
            continue;
        }
        double unit = a->x_scale * encoding_scale(&a->w_enc, conv_weight_at(a, slice, 0, 0, c0 + c));
        r->m[c] = (float)(unit / a->out_scale);
        r->b[c] = a->has_bias ? bias_fixed(a, bias, at, unit) : 0;
        r->plain = r->plain && isfinite(r->m[c]) && r->bound < half && r->b[c] < half && r->b[c] > -half;
    }
}

uint64_t conv_record_bytes(const struct conv_args *a, uint64_t channels)
{
    return sizeof(struct conv_head) + a->n_m * conv_m_stride(channels) * sizeof(float) +
           channels * (1 + a->n_sums) * sizeof(int64_t);
}

/* ---- at prepare ------------------------------------------------------------------------------------------------- */

enum status conv_aux(const struct op_call *c, struct kernel_aux *ret)
{
    struct conv_args a;
    TRY(conv_describe(c, &a));
    bool known = c->in_data && c->in_data[1] && (!a.has_bias || c->in_data[2]);
    if (!known)
        return ST_OK;
    ret->n = 2;
    ret->bytes[0] = a.kind == CONV_DEPTHWISE ? (uint64_t)a.taps * a.npad * a.wsize
                                             : a.w_slices * conv_slice_bytes(&a);
    ret->bytes[1] = conv_record_bytes(&a, (uint64_t)a.w_slices * a.npad);
    ret->replaces = a.has_bias ? 6 : 2;
    return ST_OK;
}

static void fill_weights(const struct conv_args *a, const void *w, void *dst)
{
    if (a->kind == CONV_DEPTHWISE) {
        conv_pack_depthwise(a, w, dst);
        return;
    }
    uint64_t bytes = conv_slice_bytes(a);
    for (uint32_t s = 0; s < a->w_slices; s++)
        conv_pack(a, w, s, 0, a->cog, (char *)dst + s * bytes);
}

/* Works block by block from the plain weights, since the packed ones may not be at hand. */
static enum status fill_records(const struct conv_args *a, const struct op_call *c, void *dst)
{
    uint64_t n = (uint64_t)a->w_slices * a->npad, bytes = a->kind == CONV_DEPTHWISE ? (uint64_t)a->taps * a->npad * a->wsize
                                                                                     : conv_block_bytes(a);
    CLEANUP(mem_freep) void *packed = mem_alloc(bytes);
    RETURN_IF(!packed, ST_NO_MEMORY, "%s: %llu bytes to sum weights", c->op->name, (unsigned long long)bytes);
    struct conv_head *h = dst;
    memset(dst, 0, conv_record_bytes(a, n));
    h->plain = 1;
    uint32_t step = a->kind == CONV_DEPTHWISE ? a->npad : CONV_BLOCK;
    for (uint32_t s = 0; s < a->w_slices; s++)
        for (uint32_t c0 = 0; c0 < a->cog; c0 += step) {
            uint32_t some = a->cog - c0 < step ? a->cog - c0 : step;
            uint64_t at = (uint64_t)s * a->npad + c0;
            if (a->kind == CONV_DEPTHWISE)
                conv_pack_depthwise(a, c->in_data[1], packed);
            else
                conv_pack(a, c->in_data[1], s, c0, some, packed);
            struct conv_record r = { (float *)conv_m(h) + at,
                                     (int64_t *)conv_b(a, h, n) + at,
                                     (int64_t *)conv_wsum(a, h, n) + at,
                                     conv_m_stride(n),
                                     n,
                                     0,
                                     false,
                                     NULL };
            conv_record_fill(a, packed, a->has_bias ? c->in_data[2] : NULL, s, c0, some, &r);
            h->bound = r.bound > h->bound ? r.bound : h->bound;
            h->plain = h->plain && r.plain;
        }
    return ST_OK;
}

enum status conv_aux_fill(const struct op_call *c, uint32_t which, void *dst)
{
    struct conv_args a;
    TRY(conv_describe(c, &a));
    if (which == 1)
        return fill_records(&a, c, dst);
    fill_weights(&a, c->in_data[1], dst);
    return ST_OK;
}
