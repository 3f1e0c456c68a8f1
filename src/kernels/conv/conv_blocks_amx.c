/* SPDX-License-Identifier: Apache-2.0 */
/* Products with block scales, AMX. The sums of a run leave the tiles to be multiplied by the scale of their block, so a
 * square is 16 rows by 16 channels, whose 16 float sums of channels stay in registers, and runs take turns on tiles:
 *
 *     run i      multiply into tiles 0 1 or 2 3, store them     | at the same time the sums of run i - 3 become floats
 *
 * x are bytes as they are, or words in two planes of bytes (conv_split_avx512.h): tiles 1 and 3 are for high bytes. Weights
 * lie in pairs of k and become fours in the workspace, up to four blocks of channels at a time for all rows of a panel. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_end.h"
#include "kernels/conv/conv_flat.h"
#include "kernels/conv/conv_split_avx512.h"
#include "kernels/conv/conv_tiles.h"
#include "kernels/conv/conv_turned.h"

enum {
    SUMS = TILE * TILE, /* of a tile */
    BEHIND = 3,         /* runs from a multiplication to its end: what was just stored cannot be loaded at once */
    PLACES = 4,         /* for sums of runs */
};

/* Of one call of the kernel. */
struct runs {
    uint32_t shape;  /* rows of the tiles, 0: none yet */
    uint32_t step;   /* k of a tile */
    bool is_signed;  /* the first x */
    uint32_t places; /* for blocks of channels */
    uint8_t *w;      /* blocks in fours */
    int32_t *base;   /* of each run of each block: what belongs to its channels */
    int32_t sums[PLACES][2][SUMS] __attribute__((aligned(64)));
};

/* What is known of a square where its loop is compiled. */
struct form {
    bool words, is_signed;
};

static int64_t left_of(const struct conv_args *a)
{
    return dtype_bits(a->x_type) == 16 ? split_left(a) : a->x_offset;
}

/* ---- rows of bytes ---------------------------------------------------------------------------------------------------- */

/* Tiles take rows that are equally far apart. */
static bool bytes_in_place(const struct conv_args *a)
{
    return a->kind == CONV_MATRIX || (!conv_strided(a) && a->slices == 1);
}

static void bytes_load(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    (void)a;
    if (stride == 1)
        memcpy(dst, src, n);
    else
        for (uint32_t i = 0; i < n; i++)
            ((uint8_t *)dst)[i] = ((const uint8_t *)src)[i * stride];
}

static void bytes_pad(const struct conv_args *a, void *dst, uint32_t n)
{
    memset(dst, (uint8_t)-a->x_offset, n);
}

/* ---- weights ---------------------------------------------------------------------------------------------------------- */

static void bring_block(const struct runs *f, const struct conv_args *a, const struct conv_chunk *c, uint32_t at,
                        uint32_t place)
{
    static const uint16_t order[32]
        __attribute__((aligned(64))) = { 0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                         8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31 };
    const uint64_t bytes = conv_block_bytes(a);
    const uint8_t *from = (const uint8_t *)c->w + at / CONV_BLOCK * bytes;
    uint8_t *to = f->w + place * bytes;
    int32_t *base = f->base + (uint64_t)place * a->n_runs * CONV_BLOCK;
    const vi fours = _mm512_load_si512(order), left = vi_set1((int32_t)(uint32_t)(uint64_t)left_of(a));
    for (uint64_t i = 0; i < bytes; i += 64)
        _mm512_storeu_si512(to + i, _mm512_permutexvar_epi16(fours, _mm512_loadu_si512(from + i)));
    for (uint32_t run = 0; run < a->n_runs; run++) { /* records are padded to whole blocks */
        const int64_t *sum = c->wsum + run * c->sum_stride + at;
        const __m256i lo = _mm512_cvtepi64_epi32(_mm512_loadu_si512(sum)),
                      hi = _mm512_cvtepi64_epi32(_mm512_loadu_si512(sum + 8));
        vi_store(base + run * CONV_BLOCK, vi_mul(left, _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1)));
    }
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

static void set_shape(struct runs *f, uint32_t rows)
{
    struct tile_config t = { .palette = 1 };
    if (f->shape == rows)
        return;
    for (int i = 0; i < 8; i++) {
        t.rows[i] = (uint8_t)(i < 6 ? rows : f->step / 4);
        t.row_bytes[i] = (uint16_t)(i == 4 || i == 5 ? f->step : STEP);
    }
    TILE_SHAPES(t);
    f->shape = rows;
}

/* One run. */
#define MULTIPLY_RUN(ones, upper)                                      \
    do {                                                               \
        TILE_LOAD(ones, base, 0);                                      \
        if (o.words)                                                   \
            TILE_ZERO(upper);                                          \
        for (uint32_t i = 0; i < steps; i++, x += step, w += w_step) { \
            TILE_LOAD(6, w, STEP);                                     \
            TILE_LOAD(4, x, stride);                                   \
            if (o.words) {                                             \
                TILE_LOAD(5, x + second, stride);                      \
                TILE_MULTIPLY(1, upper, 4, 6);                         \
                TILE_MULTIPLY(0, ones, 5, 6);                          \
            } else if (o.is_signed) {                                  \
                TILE_MULTIPLY(1, ones, 4, 6);                          \
            } else {                                                   \
                TILE_MULTIPLY(0, ones, 4, 6);                          \
            }                                                          \
        }                                                              \
    } while (0)

#define STORE_RUN(run, ones, upper)                        \
    do {                                                   \
        TILE_STORE(ones, f->sums[(run) % PLACES][0]);      \
        if (o.words)                                       \
            TILE_STORE(upper, f->sums[(run) % PLACES][1]); \
    } while (0)

/* The sums of a run join those of the runs before it. */
static inline __attribute__((always_inline)) void add_run(const struct form o, const int32_t sums[2][SUMS], vf m,
                                                          vf acc[TILE])
{
#pragma GCC unroll 16
    for (int r = 0; r < TILE; r++) {
        vi v = vi_load(sums[0] + r * TILE);
        if (o.words)
            v = vi_add(v, _mm512_slli_epi32(vi_load(sums[1] + r * TILE), 8));
        acc[r] = vf_fma(vf_from_int(v), m, acc[r]);
    }
}

/* 16 rows from x on by a block of channels. */
struct square {
    const uint8_t *x;
    const float *m; /* of the first run */
    uint64_t m_stride;
    uint32_t place;
};

/* All runs of a square. Rows that are not there have any sums. */
static inline __attribute__((always_inline)) void run_square(struct runs *f, const struct conv_args *a,
                                                             const struct conv_panel *p, const struct square *q,
                                                             const struct form o, float ret[TILE][TILE])
{
    const uint64_t stride = p->stride, second = conv_plane_bytes(a), step = f->step, w_step = step * CONV_BLOCK;
    const uint32_t steps = a->run / f->step, n = a->n_runs;
    const uint8_t *x = q->x, *w = f->w + q->place * conv_block_bytes(a);
    const int32_t *base = f->base + (uint64_t)q->place * n * CONV_BLOCK;
    const float *m = q->m;
    const uint64_t m_stride = q->m_stride;
    vf acc[TILE];
#pragma GCC unroll 16
    for (int r = 0; r < TILE; r++)
        acc[r] = vf_zero();
    for (uint32_t run = 0; run < n; run++, base += CONV_BLOCK) {
        if (run % 2 == 0) {
            MULTIPLY_RUN(0, 1);
            if (run)
                STORE_RUN(run - 1, 2, 3);
        } else {
            MULTIPLY_RUN(2, 3);
            STORE_RUN(run - 1, 0, 1);
        }
        if (run >= BEHIND)
            add_run(o, f->sums[(run - BEHIND) % PLACES], vf_load(m + (run - BEHIND) * m_stride), acc);
    }
    if (n % 2)
        STORE_RUN(n - 1, 0, 1);
    else
        STORE_RUN(n - 1, 2, 3);
    for (uint32_t run = n < BEHIND ? 0 : n - BEHIND; run < n; run++)
        add_run(o, f->sums[run % PLACES], vf_load(m + run * m_stride), acc);
#pragma GCC unroll 16
    for (int r = 0; r < TILE; r++)
        _mm512_storeu_ps(ret[r], acc[r]);
}

typedef void square_fn(struct runs *f, const struct conv_args *a, const struct conv_panel *p, const struct square *q,
                       float ret[TILE][TILE]);
#define SQUARE(name, words, is_signed)                                                                              \
    static void name(struct runs *f, const struct conv_args *a, const struct conv_panel *p, const struct square *q, \
                     float ret[TILE][TILE])                                                                         \
    {                                                                                                               \
        run_square(f, a, p, q, (struct form){ words, is_signed }, ret);                                             \
    }
SQUARE(square_words, true, true)
SQUARE(square_signed, false, true)
SQUARE(square_unsigned, false, false)

static void end_row(const struct conv_args *a, const struct conv_chunk *c, uint32_t at, const float *sums, char *out)
{
    const uint32_t n = c->n - at < TILE ? c->n - at : TILE, bytes = dtype_bits(a->out_type) / 8;
    const vf v = vf_add(vf_load(sums), vf_load_n(c->m + (a->n_m - 1) * c->m_stride + at, n));
    if (c->plain) {
        const vf lo = vf_set1((float)(a->q_lo + a->out_offset)), hi = vf_set1((float)(a->q_hi + a->out_offset));
        vi_store_n(out, vi_sub(vi_round(vf_min(vf_max(v, lo), hi)), vi_set1(a->out_offset)), n, bytes);
        return;
    }
    float steps[TILE];
    vf_store_n(steps, v, TILE);
    for (uint32_t i = 0; i < n; i++)
        conv_store_steps(a, out, i, steps[i]);
}

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    struct runs *f = p->engine_data;
    const uint32_t bytes = dtype_bits(a->out_type) / 8;
    square_fn *const square = dtype_bits(a->x_type) == 16 ? square_words : f->is_signed ? square_signed : square_unsigned;
    float sums[TILE][TILE] __attribute__((aligned(64)));
    for (uint32_t c0 = 0; c0 < c->n; c0 += f->places * TILE) {
        const uint32_t left = (c->n - c0 + TILE - 1) / TILE, blocks = left < f->places ? left : f->places;
        for (uint32_t b = 0; b < blocks; b++)
            bring_block(f, a, c, c0 + b * TILE, b);
        for (uint32_t i = 0; i < (p->rows + TILE - 1) / TILE * blocks; i++) {
            const uint32_t row = i / blocks * TILE, b = i % blocks, at = c0 + b * TILE,
                           rows = p->rows - row < TILE ? p->rows - row : TILE;
            set_shape(f, rows);
            square(f, a, p, &(struct square){ p->x[row], c->m + at, c->m_stride, b }, sums);
            for (uint32_t r = 0; r < rows; r++)
                end_row(a, c, at, sums[r], (char *)out + (p->out[row + r] + c->c0 + at) * bytes);
        }
    }
}

static const struct conv_engine of_words = { .elem = 1,
                                             .planes = 2,
                                             .rows = 3 * TILE,
                                             .in_place = split_in_place,
                                             .load = split_load,
                                             .load_windows = split_windows,
                                             .pad = split_pad,
                                             .block = block_run };
static const struct conv_engine of_bytes = { .elem = 1,
                                             .rows = 3 * TILE,
                                             .in_place = bytes_in_place,
                                             .load = bytes_load,
                                             .pad = bytes_pad,
                                             .block = block_run };

kernel_fn conv_blocks_amx;

void conv_blocks_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    struct conv_engine e = dtype_bits(a->x_type) == 16 ? of_words : of_bytes;
    struct conv_args less;
    struct kernel_call own = *call;
    struct runs f;
    f.shape = 0;
    f.step = conv_run_step(a);
    f.is_signed = dtype_is_signed(a->x_type);
    f.places = conv_runs_places(a);
    f.w = conv_reserve(a, &less, call->work, f.places * conv_runs_bytes(a));
    own.args = &less;
    f.base = (int32_t *)(f.w + f.places * conv_block_bytes(a));
    memset(f.sums, 0, sizeof f.sums); /* of rows that there are not */
    e.data = &f;
    conv_run(&own, tile, &e);
    TILE_RELEASE();
}
