/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit activations by 8-bit weights, AMX (conv_amx.h): x = 256 * high + low, and each byte is multiplied on its own. A gathered row is the plane of high bytes, then the
 * plane of low bytes. Squares are 16 rows by 32 channels: tiles 0 1 hold the sums of high bytes, 2 3 those of low bytes.
 *
 * |byte * w| < 2^15, so up to 2^16 products fit 32 bits; conv_accept_bytes (conv_bind.c) asks for that. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_amx.h"
#include "kernels/conv/conv_wide_end.h"

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

static bool in_place(const struct conv_args *a)
{
    (void)a;
    return false;
}

static void load_row(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    const uint16_t *s = src;
    uint8_t *high = dst, *low = high + conv_plane_bytes(a);
    uint32_t i = 0;
    for (; stride == 1 && i + 32 <= n; i += 32) {
        vi v = _mm512_loadu_si512(s + i);
        _mm256_storeu_si256((__m256i *)(low + i), _mm512_cvtepi16_epi8(v));
        _mm256_storeu_si256((__m256i *)(high + i), _mm512_cvtepi16_epi8(_mm512_srli_epi16(v, 8)));
    }
    if (stride == 1 && i < n) {
        const __mmask32 some = ((__mmask32)1 << (n - i)) - 1;
        vi v = _mm512_maskz_loadu_epi16(some, s + i);
        _mm256_mask_storeu_epi8(low + i, some, _mm512_cvtepi16_epi8(v));
        _mm256_mask_storeu_epi8(high + i, some, _mm512_cvtepi16_epi8(_mm512_srli_epi16(v, 8)));
        return;
    }
    for (; i < n; i++) {
        high[i] = (uint8_t)(s[i * stride] >> 8);
        low[i] = (uint8_t)s[i * stride];
    }
}

static void load_windows(const struct conv_args *a, const struct conv_windows *w)
{
    for (uint32_t k = 0; k < w->windows; k++)
        for (uint32_t i = 0; i < w->lines; i++)
            load_row(a, w->dst + k * w->row_step + (uint64_t)i * w->n, w->src + k * w->window_step + i * w->line_step, w->n, 1);
}

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    const uint16_t zero = (uint16_t)-a->x_offset;
    memset(dst, zero >> 8, n);
    memset((uint8_t *)dst + conv_plane_bytes(a), zero & 255, n);
}

static int64_t sum_row(const struct conv_args *a, const void *row, uint32_t n)
{
    const uint8_t *high = row, *low = high + conv_plane_bytes(a);
    const bool is_signed = a->x_type == DT_SQ16;
    int64_t sum = (int64_t)n * a->x_offset;
    for (uint32_t i = 0; i < n; i++)
        sum += 256 * (int32_t)(is_signed ? (int8_t)high[i] : high[i]) + low[i];
    return sum;
}

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

enum { PIECE = 2 }; /* rows */

struct sums {
    const struct conv_args *a;
    const struct conv_panel *p;
    const struct conv_chunk *c;
    struct fixed_end end;
    void *out;
    bool narrow;               /* sums with all that belongs to them fit 32 bits */
    uint32_t row, rows, at, blocks, left;
    int64_t fold[CONV_CHUNK];
    int32_t fold32[CONV_CHUNK] __attribute__((aligned(64)));
    int32_t tile[4][TILE * TILE] __attribute__((aligned(64)));
};

static void sums_init(struct sums *s, const struct conv_args *a, const struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    s->a = a, s->p = p, s->c = c, s->out = out, s->left = 0;
    fixed_end_range(&s->end, a);
    memset(s->fold, 0, sizeof s->fold);
    memset(s->fold32, 0, sizeof s->fold32);
    for (uint32_t i = 0; i < c->n; i++) {
        s->fold[i] = conv_fold(p, c, i, a->kind == CONV_TRANSPOSED ? a->tap_stride : 0, a->x_offset);
        s->fold32[i] = (int32_t)(uint32_t)(uint64_t)s->fold[i];
    }
    s->narrow = c->plain && conv_fits_32(a, c);
}

/* Eight sums in 64 bits. */
static inline vi wide_sums(vi high, vi low, const int64_t *fold, int64_t row, int half)
{
    __m256i h = half ? _mm512_extracti64x4_epi64(high, 1) : _mm512_castsi512_si256(high);
    __m256i l = half ? _mm512_extracti64x4_epi64(low, 1) : _mm512_castsi512_si256(low);
    vi sum = _mm512_add_epi64(_mm512_slli_epi64(_mm512_cvtepi32_epi64(h), 8), _mm512_cvtepi32_epi64(l));
    return _mm512_add_epi64(_mm512_add_epi64(sum, _mm512_loadu_si512(fold)), _mm512_set1_epi64(row));
}

/* 16 channels of one row, `at` the first of them. */
static inline void end_block(const struct sums *s, uint32_t row, uint32_t at, vi high, vi low)
{
    const struct conv_args *a = s->a;
    const uint32_t n = s->c->n - at < TILE ? s->c->n - at : TILE;
    const int64_t term = a->w_offset ? (int64_t)((uint64_t)(int64_t)a->w_offset * (uint64_t)s->p->xsum[row]) : 0;
    const uint64_t to = s->p->out[row] + s->c->c0 + at;
    char *out = (char *)s->out + to * s->end.bytes;
    if (s->narrow) {
        vi sum = _mm512_add_epi32(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low), vi_load(s->fold32 + at));
        sum = vi_add(sum, vi_set1((int32_t)(uint32_t)(uint64_t)term));
        vi_store_n(out, vi_requant(sum, vf_load_n(s->c->m + at, n), s->end.lo, s->end.hi, s->end.offset), n, s->end.bytes);
        return;
    }
    int64_t sum[TILE];
    _mm512_storeu_si512(sum, wide_sums(high, low, s->fold + at, term, 0));
    _mm512_storeu_si512(sum + 8, wide_sums(high, low, s->fold + at + 8, term, 1));
    if (s->c->plain)
        wide_end_store(&s->end, sum, vf_load_n(s->c->m + at, n), n, out);
    else
        for (uint32_t i = 0; i < n; i++)
            conv_store_fixed(a, s->out, to + i, sum[i], s->c->m[at + i]);
}

static __attribute__((noinline)) void end_rows(const struct sums *s, uint32_t first)
{
    for (uint32_t r = first; r < first + PIECE && r < s->rows; r++)
        for (uint32_t b = 0; b < s->blocks; b++)
            end_block(s, s->row + r, s->at + b * TILE, vi_load(s->tile[b] + r * TILE), vi_load(s->tile[2 + b] + r * TILE));
}

static inline void end_piece(struct sums *s)
{
    end_rows(s, --s->left * PIECE);
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

SQUARE(square_u_1, 0, 0, 1, 0)
SQUARE(square_u_2, 0, 0, 1, 1)
SQUARE(square_s_1, 1, 0, 1, 0)
SQUARE(square_s_2, 1, 0, 1, 1)
static void (*const squares[2][2])(const struct square *) = { { square_u_1, square_u_2 }, { square_s_1, square_s_2 } };

static void fill_rows(const struct conv_args *a, struct conv_panel *p)
{
    pad_rows(p, 2, conv_plane_bytes(a));
}

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    struct sums sums;
    sums_init(&sums, a, p, c, out);
    const uint32_t blocks = (c->n + CONV_BLOCK - 1) / CONV_BLOCK, k = p->k_total < STEP ? p->k_total : STEP;
    struct square q = { .p = p, .second = conv_plane_bytes(a), .block_bytes = conv_block_bytes(a), .waiting = &sums, .left = &sums.left };
    for (uint32_t row = 0; row < p->rows && !k; row++) /* no tap of TransposeConv meets these rows */
        for (uint32_t v = 0; v < blocks; v++)
            end_block(&sums, row, v * CONV_BLOCK, vi_zero(), vi_zero());
    for (uint32_t row = 0; row < p->rows && k; row += TILE) {
        const uint32_t rows = p->rows - row < TILE ? p->rows - row : TILE;
        set_shape(p, rows, rows, k);
        q.x = p->x[row];
        for (uint32_t v = 0; v < blocks; v += 2) {
            const bool two = v + 1 < blocks;
            q.padded = weights_go_on(a, c, v + 1 + two);
            q.w = (const uint8_t *)c->w + v * q.block_bytes;
            first_tiles(zeros, zeros, true);
            squares[a->x_type == DT_SQ16][two](&q);
            end_waiting(&q);
            store_tiles(sums.tile, true, two);
            sums.row = row, sums.rows = rows, sums.at = v * CONV_BLOCK, sums.blocks = 1 + two, sums.left = (rows + PIECE - 1) / PIECE;
        }
    }
    end_waiting(&q);
}

static const struct conv_engine engine = { .elem = 1, .planes = 2, .rows = 4 * TILE, .in_place = in_place, .load = load_row, .load_windows = load_windows,
                                           .pad = pad_row, .sum = sum_row, .block = block_run, .sum_weights = vec_sum_fours, .gathered = fill_rows };

kernel_fn conv_q16_amx;

void conv_q16_amx(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
    __asm__ volatile("tilerelease" ::);
}
