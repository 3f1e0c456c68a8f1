/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products, AMX: tiles of 16 rows by 16 channels, 64 k at a time. The unit multiplies signed and unsigned bytes as they are, so rows
 * keep their values and only the encoding's offset is folded into the channels. Sums are exact modulo 2^32.
 *
 *     tiles  0 1 = sums of rows  0 … 15 by blocks v, v + 1      4 5 = x of rows 0 … 15, 16 … 31
 *            2 3 = sums of rows 16 … 31                          6 7 = weights of blocks v, v + 1: as packed, [k / 4][16][4]
 *
 * The unit works beside the vector units: the sums of one square of 32 by 32 are rounded and stored while the next one is multiplied. */
#include "kernels/conv/vec_avx512.h"

#include <string.h>

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/conv_fixed_end.h"

enum { TILE = 16, STEP = 64, BLOCK_STEP = STEP * CONV_BLOCK };

/* What LDTILECFG reads. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_config) == 64, "the shape that LDTILECFG reads");

/* Shapes of the tiles that are loaded now: rows of both row tiles and k of a step. Kept in the panel, which lives as long as one call of the kernel. */
static uint32_t shape_of(uint32_t m0, uint32_t m1, uint32_t k)
{
    return m0 | m1 << 8 | k << 16;
}

/* The compiler's own intrinsic says that it reads 8 bytes of the configuration; all 64 are. */
static void set_shape(struct conv_panel *p, uint32_t m0, uint32_t m1, uint32_t k)
{
    uint32_t shape = shape_of(m0, m1, k);
    if (p->engine_state == shape)
        return;
    struct tile_config t = { .palette = 1 };
    const uint8_t rows[8] = { (uint8_t)m0, (uint8_t)m0, (uint8_t)m1, (uint8_t)m1, (uint8_t)m0, (uint8_t)m1, (uint8_t)(k / 4), (uint8_t)(k / 4) };
    for (int i = 0; i < 8; i++) {
        t.rows[i] = rows[i];
        t.row_bytes[i] = rows[i] ? (i == 4 || i == 5 ? (uint16_t)k : STEP) : 0;
    }
    __asm__ volatile("ldtilecfg %0" ::"m"(t));
    p->engine_state = shape;
}

#define TILE_LOAD(t, from, stride) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"((uint64_t)(stride)) : "memory")
#define TILE_STORE(t, to) __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"((uint64_t)STEP) : "memory")
/* c += x * w; w is signed, x as `sx` says. */
#define TILE_MULTIPLY(sx, c, x, w)                                                     \
    do {                                                                               \
        if (sx)                                                                        \
            __asm__ volatile("tdpbssd %%tmm" #w ", %%tmm" #x ", %%tmm" #c ::);         \
        else                                                                           \
            __asm__ volatile("tdpbusd %%tmm" #w ", %%tmm" #x ", %%tmm" #c ::);         \
    } while (0)

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

/* A tile is rows at equal distances, so rows stay where they lie only when they follow each other. */
static bool in_place(const struct conv_args *a)
{
    return a->cig % 4 == 0 && (a->kind == CONV_MATRIX || (a->x.stride == 1 && a->y.stride == 1 && a->z.stride == 1 && a->slices == 1));
}

static void load_row(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    (void)a;
    uint8_t *d = dst;
    const uint8_t *s = src;
    if (stride == 1 && n >= 64)
        bytes_copy_long(dst, src, n, 0);
    else if (stride == 1)
        memcpy(d, s, n);
    else
        for (uint32_t i = 0; i < n; i++)
            d[i] = s[i * stride];
}

static void load_lines(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint32_t lines, uint64_t from_step)
{
    (void)a;
    bytes_copy_lines(dst, src, n, lines, from_step, 0);
}

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    memset(dst, (uint8_t)-a->x_offset, n);
}

static int64_t sum_row(const struct conv_args *a, const void *row, uint32_t n)
{
    const uint8_t *x = row;
    const uint32_t all = n;
    const bool sx = a->x_type == DT_SQ8;
    const __m512i one = _mm512_set1_epi8(1);
    __m512i sum = _mm512_setzero_si512(); /* modulo 2^32, as the sums that it is added to */
    while (n) {
        uint32_t now = n < STEP ? n : STEP;
        __m512i v = _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (STEP - now), x);
        sum = sx ? _mm512_dpbusd_epi32(sum, one, v) : _mm512_dpbusd_epi32(sum, v, one);
        n -= now;
        x += now;
    }
    return (int64_t)(uint32_t)_mm512_reduce_add_epi32(sum) + (int64_t)all * a->x_offset;
}

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

/* Sums of a square that wait for their end, tile by tile while the next square is multiplied. */
struct sums {
    const struct fixed_end *end;
    struct bytes_end bytes;
    bool fast;                 /* whole blocks end in bytes without leaving 32 bits on the way */
    uint32_t row, at, m[2], next, blocks; /* next: of the four tiles; 4: none waits */
    int32_t row_term[CONV_ROWS];  /* what the offset of the weights adds to a row */
    int32_t tile[4][TILE * TILE] __attribute__((aligned(64)));
};

static const int32_t zeros[TILE] __attribute__((aligned(64)));

static void sums_init(struct sums *s, const struct fixed_end *e)
{
    const struct conv_args *a = e->a;
    vf most = vf_zero();
    for (uint32_t i = 0; i < e->simple; i += TILE)
        most = vf_max(most, vf_load_n(e->m + i, e->simple - i));
    s->end = e;
    s->bytes = bytes_end(a);
    s->fast = e->simple && conv_ends_in_bytes(a) && _mm512_reduce_max_ps(most) <= CONV_SMALL_M;
    s->next = 4;
    for (uint32_t r = 0; e->w_offset && r < e->p->rows; r++)
        s->row_term[r] = (int32_t)((uint32_t)e->w_offset * (uint32_t)(uint64_t)e->p->xsum[r]);
}

static bool ends_fast(const struct sums *s, uint32_t at)
{
    return s->fast && at + TILE <= s->end->simple;
}

/* Sums start with what belongs to their channels where the end is fast. */
static const int32_t *first_sums(const struct sums *s, uint32_t at)
{
    return ends_fast(s, at) ? s->end->base + at : zeros;
}

static inline __attribute__((always_inline)) vi steps_of(const struct sums *s, uint32_t row, const int32_t *acc, vf m, const bool terms)
{
    vi v = vi_load(acc);
    if (terms)
        v = vi_add(v, vi_set1(s->row_term[row]));
    return vi_round(vf_mul(vf_from_int(v), m));
}

/* Four rows by 16 channels: 64 bytes, a row in each quarter. */
static inline __attribute__((always_inline)) vi four_rows(const struct sums *s, uint32_t row, const int32_t *acc, vf m, const bool terms)
{
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    vi q = bytes_narrow(&s->bytes, steps_of(s, row, acc, m, terms), steps_of(s, row + 1, acc + TILE, m, terms),
                        steps_of(s, row + 2, acc + 2 * TILE, m, terms), steps_of(s, row + 3, acc + 3 * TILE, m, terms));
    return _mm512_permutexvar_epi32(order, q);
}

static inline __attribute__((always_inline)) void end_fast(const struct sums *s, uint32_t row, uint32_t rows, uint32_t at, const int32_t *acc,
                                                           const bool terms)
{
    const struct fixed_end *e = s->end;
    const uint64_t *to = e->p->out + row;
    const vf m = vf_load(e->m + at);
    char *out = (char *)e->out + e->c0 + at;
    uint32_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        vi q = four_rows(s, row + r, acc + r * TILE, m, terms);
        _mm_storeu_si128((__m128i *)(out + to[r]), _mm512_castsi512_si128(q));
        _mm_storeu_si128((__m128i *)(out + to[r + 1]), _mm512_extracti32x4_epi32(q, 1));
        _mm_storeu_si128((__m128i *)(out + to[r + 2]), _mm512_extracti32x4_epi32(q, 2));
        _mm_storeu_si128((__m128i *)(out + to[r + 3]), _mm512_extracti32x4_epi32(q, 3));
    }
    for (; r < rows; r++) {
        vi v = steps_of(s, row + r, acc + r * TILE, m, terms);
        vi q = bytes_narrow(&s->bytes, v, v, v, v);
        const vi quarters = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
        _mm_storeu_si128((__m128i *)(out + to[r]), _mm512_castsi512_si128(_mm512_permutexvar_epi32(quarters, q)));
    }
}

/* One of the tiles that wait. */
static __attribute__((noinline)) void end_tile(struct sums *s)
{
    const uint32_t i = s->next++, b = i & 1, half = i >> 1, row = s->row + half * TILE, rows = s->m[half], at = s->at + b * TILE;
    const int32_t *acc = s->tile[i];
    if (b >= s->blocks)
        return;
    if (!ends_fast(s, at))
        for (uint32_t r = 0; r < rows; r++)
            fixed_end_store(s->end, row + r, at, vi_load(acc + r * TILE));
    else if (s->end->w_offset)
        end_fast(s, row, rows, at, acc, true);
    else
        end_fast(s, row, rows, at, acc, false);
}

static void end_sums(struct sums *s)
{
    while (s->next < 4)
        end_tile(s);
}

static void take_sums(struct sums *s, uint32_t row, const uint32_t m[2], uint32_t at, uint32_t blocks)
{
    s->row = row, s->m[0] = m[0], s->m[1] = m[1], s->at = at, s->blocks = blocks, s->next = 0;
    TILE_STORE(0, s->tile[0]);
    if (blocks == 2)
        TILE_STORE(1, s->tile[1]);
    if (!m[1])
        return;
    TILE_STORE(2, s->tile[2]);
    if (blocks == 2)
        TILE_STORE(3, s->tile[3]);
}

static void first_tiles(const struct sums *s, uint32_t at, bool two_rows)
{
    const int32_t *a = first_sums(s, at), *b = at + TILE < CONV_CHUNK ? first_sums(s, at + TILE) : zeros;
    TILE_LOAD(0, a, 0);
    TILE_LOAD(1, b, 0);
    if (two_rows) {
        TILE_LOAD(2, a, 0);
        TILE_LOAD(3, b, 0);
    }
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

/* A square of up to 32 rows by 2 blocks of channels. */
struct square {
    const struct conv_args *a;
    const struct conv_panel *p;
    const uint8_t *x, *w;      /* first row; first block, k = 0 */
    uint64_t block_bytes;
    bool sx, two_rows, two_blocks;
    struct sums *waiting;      /* those of the square before */
};

static inline __attribute__((always_inline)) void multiply(const struct square *q, const uint8_t *x, const uint8_t *w0, const uint8_t *w1)
{
    const uint64_t stride = q->p->stride;
    TILE_LOAD(6, w0, STEP);
    TILE_LOAD(4, x, stride);
    TILE_MULTIPLY(q->sx, 0, 4, 6);
    if (q->two_blocks) {
        TILE_LOAD(7, w1, STEP);
        TILE_MULTIPLY(q->sx, 1, 4, 7);
    }
    if (q->two_rows) {
        TILE_LOAD(5, x + TILE * stride, stride);
        TILE_MULTIPLY(q->sx, 2, 5, 6);
        if (q->two_blocks)
            TILE_MULTIPLY(q->sx, 3, 5, 7);
    }
}

/* k that do not fill a step: weights are brought to where their x lie in a whole step that ends with the row at the latest, zeros around them. */
static __attribute__((noinline)) void multiply_rest(const struct square *q, uint32_t at, uint32_t k, uint32_t n)
{
    uint8_t w[2][BLOCK_STEP] __attribute__((aligned(64)));
    const uint32_t from = at + STEP <= q->p->k_total ? at : q->p->k_total - STEP;
    for (uint32_t b = 0; b < 1u + q->two_blocks; b++) {
        memset(w[b], 0, sizeof w[b]);
        memcpy(w[b] + (at - from) * CONV_BLOCK, q->w + b * q->block_bytes + (uint64_t)k * CONV_BLOCK, (size_t)n * CONV_BLOCK);
    }
    multiply(q, q->x + from, w[0], w[1]);
}

/* Less than a step altogether: the tiles have that shape. */
static void multiply_short(const struct square *q)
{
    uint8_t w[2][BLOCK_STEP] __attribute__((aligned(64)));
    const struct conv_panel *p = q->p;
    if (p->n_seg == 1) {
        const uint8_t *at = q->w + (uint64_t)p->seg[0].k * CONV_BLOCK;
        multiply(q, q->x, at, at + q->block_bytes);
        return;
    }
    for (uint32_t b = 0; b < 1u + q->two_blocks; b++)
        for (uint32_t s = 0, at = 0; s < p->n_seg; at += p->seg[s].n, s++)
            memcpy(w[b] + at * CONV_BLOCK, q->w + b * q->block_bytes + (uint64_t)p->seg[s].k * CONV_BLOCK, (size_t)p->seg[s].n * CONV_BLOCK);
    multiply(q, q->x, w[0], w[1]);
}

static inline __attribute__((always_inline)) void square_loop(const struct square *q)
{
    const struct conv_panel *p = q->p;
    uint32_t at = 0;
    for (uint32_t s = 0; s < p->n_seg; s++) {
        uint32_t k = p->seg[s].k, n = p->seg[s].n;
        const uint8_t *w = q->w + (uint64_t)k * CONV_BLOCK;
        for (; n >= STEP; n -= STEP, at += STEP, k += STEP, w += BLOCK_STEP) {
            multiply(q, q->x + at, w, w + q->block_bytes);
            if (q->waiting->next < 4)
                end_tile(q->waiting);
        }
        if (n)
            multiply_rest(q, at, k, n);
        at += n;
    }
}

#define SQUARE(name, s, r, b)                                \
    static void name(const struct square *q)                 \
    {                                                        \
        struct square c = *q;                                \
        c.sx = s, c.two_rows = r, c.two_blocks = b;          \
        if (c.p->k_total < STEP)                             \
            multiply_short(&c);                              \
        else                                                 \
            square_loop(&c);                                 \
    }
SQUARE(square_u_1_1, 0, 0, 0)
SQUARE(square_u_1_2, 0, 0, 1)
SQUARE(square_u_2_1, 0, 1, 0)
SQUARE(square_u_2_2, 0, 1, 1)
SQUARE(square_s_1_1, 1, 0, 0)
SQUARE(square_s_1_2, 1, 0, 1)
SQUARE(square_s_2_1, 1, 1, 0)
SQUARE(square_s_2_2, 1, 1, 1)
static void (*const squares[2][2][2])(const struct square *) = {
    { { square_u_1_1, square_u_1_2 }, { square_u_2_1, square_u_2_2 } },
    { { square_s_1_1, square_s_1_2 }, { square_s_2_1, square_s_2_2 } },
};

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    struct fixed_end end;
    struct sums sums;
    fixed_end_init(&end, a, p, c, a->x_offset, out);
    sums_init(&sums, &end);
    const uint32_t blocks = (c->n + CONV_BLOCK - 1) / CONV_BLOCK, k = p->k_total < STEP ? p->k_total : STEP;
    struct square q = { .a = a, .p = p, .block_bytes = conv_block_bytes(a), .waiting = &sums };
    for (uint32_t row = 0; row < p->rows && !k; row++) /* no tap of TransposeConv meets these rows */
        for (uint32_t v = 0; v < blocks; v++)
            fixed_end_store(&end, row, v * CONV_BLOCK, vi_zero());
    for (uint32_t row = 0; row < p->rows && k; row += 2 * TILE) {
        const uint32_t left = p->rows - row, m[2] = { left < TILE ? left : TILE, left < TILE ? 0 : left < 2 * TILE ? left - TILE : TILE };
        set_shape(p, m[0], m[1], k); /* sums before have left the tiles */
        q.x = p->x[row];
        for (uint32_t v = 0; v < blocks; v += 2) {
            uint32_t two = v + 1 < blocks;
            q.w = (const uint8_t *)c->w + v * q.block_bytes;
            first_tiles(&sums, v * CONV_BLOCK, m[1] > 0);
            squares[a->x_type == DT_SQ8][m[1] > 0][two](&q);
            end_sums(&sums);
            take_sums(&sums, row, m, v * CONV_BLOCK, 1 + two);
        }
    }
    end_sums(&sums);
}

static const struct conv_engine engine = { 1, 2 * 2 * TILE, in_place, load_row, load_lines, pad_row, sum_row, block_run };

kernel_fn conv_q8_amx;

void conv_q8_amx(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
    __asm__ volatile("tilerelease" ::);
}
