/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit activations by 8-bit weights, AMX (conv_amx.h): x = 256 * high + low, and each byte is multiplied on its own. A
 * gathered row is the plane of high bytes, then the plane of low bytes. Squares are 16 rows by 32 channels: tiles 0 1 hold
 * the sums of high bytes, 2 3 those of low bytes.
 *
 * |byte * w| < 2^15, so up to 2^16 products fit 32 bits; conv_accept_bytes (conv_variants.c) asks for that. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_amx.h"
#include "kernels/conv/conv_fixed_end.h"

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

static bool in_place(const struct conv_args *a)
{
    (void)a;
    return false;
}

/* 64 elements: their high bytes and their low bytes. Packing works by quarters, which are put in order afterwards. */
static inline __attribute__((always_inline)) void split_64(const char *from, uint8_t *high, uint8_t *low)
{
    const vi order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), byte = _mm512_set1_epi16(255);
    const vi a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 64);
    _mm512_storeu_si512(
        high, _mm512_permutexvar_epi64(order, _mm512_packus_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8))));
    _mm512_storeu_si512(
        low, _mm512_permutexvar_epi64(order, _mm512_packus_epi16(_mm512_and_si512(a, byte), _mm512_and_si512(b, byte))));
}

static void load_row(const struct conv_args *a, void *dst, const void *src, uint32_t n, uint64_t stride)
{
    const uint16_t *s = src;
    uint8_t *high = dst, *low = high + conv_plane_bytes(a);
    uint32_t i = 0;
    for (; stride == 1 && i + 64 <= n; i += 64)
        split_64((const char *)(s + i), high + i, low + i);
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
            load_row(a, w->dst + k * w->row_step + (uint64_t)i * w->n, w->src + k * w->window_step + i * w->line_step, w->n,
                     1);
}

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    const uint16_t zero = (uint16_t)-a->x_offset;
    memset(dst, zero >> 8, n);
    memset((uint8_t *)dst + conv_plane_bytes(a), zero & 255, n);
}

/* A pixel is a whole number of steps. */
static void load_band(const struct conv_args *a, char *dst, const char *src, uint32_t pixels)
{
    const uint32_t ci = a->ci;
    for (uint32_t i = 0; i < pixels; i++, dst += ci)
        for (uint32_t c = 0; c < ci; c += STEP, dst += STEP, src += 2 * STEP)
            split_64(src, (uint8_t *)dst, (uint8_t *)dst + ci);
}

static void pad_band(const struct conv_args *a, char *dst, uint32_t pixels)
{
    const uint16_t zero = (uint16_t)-a->x_offset;
    for (uint32_t i = 0; i < pixels; i++, dst += 2 * (size_t)a->ci) {
        memset(dst, zero >> 8, a->ci);
        memset(dst + a->ci, zero & 255, a->ci);
    }
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

enum { PIECE = 4 }; /* rows */

/* What belongs to the channels of a chunk, the same for all panels. */
struct chunk_end {
    const void *w;             /* which chunk; NULL: none */
    bool narrow;               /* sums with all that belongs to them fit 32 bits */
    bool fast; /* so do steps of the output, whose range is left to narrowing; low sums begin with fold32 then */
    int64_t fold[CONV_CHUNK] __attribute__((aligned(64)));
    int32_t fold32[CONV_CHUNK] __attribute__((aligned(64)));
};
enum { KEPT = 16 };            /* chunks that one call of the kernel remembers */

/* The last square, which waits for its end until the next one is multiplied. */
struct sums {
    uint32_t left;             /* pieces without an end */
    bool full; /* two whole blocks of plain channels, whole pieces, no terms of rows: then it may wait longer than its panel
                  and chunk live */
    struct fixed_end end;      /* its range */
    vi lo, hi;                 /* in 16 bits */
    bool limited;              /* the range is not that of the type */
    const struct chunk_end *own;
    const float *m;            /* full: of its channels */
    char *to[TILE];            /* full: where each row goes */
    const struct conv_args *a; /* else, and what follows */
    const struct conv_panel *p;
    const struct conv_chunk *c;
    void *out;
    uint32_t row, rows, at, blocks;
    int32_t tile[4][TILE * TILE] __attribute__((aligned(64)));
    char nowhere[4 * TILE];
};

/* Of one call of the kernel. */
struct amx_state {
    struct sums sums;
    struct chunk_end kept[KEPT];
};

static float largest(const float *m, uint32_t n)
{
    vf most = vf_zero();
    for (uint32_t i = 0; i < n; i += VEC_LANES)
        most = vf_max(most, vf_load_n(m + i, n - i < VEC_LANES ? n - i : VEC_LANES));
    return _mm512_reduce_max_ps(most);
}

static void chunk_init(struct chunk_end *e, const struct conv_args *a, const struct conv_panel *p,
                       const struct conv_chunk *c)
{
    memset(e->fold, 0, sizeof e->fold);
    memset(e->fold32, 0, sizeof e->fold32);
    for (uint32_t i = 0; i < c->n; i++) {
        e->fold[i] = conv_fold(p, c, i, a->kind == CONV_TRANSPOSED ? a->tap_stride : 0, a->x_offset);
        e->fold32[i] = (int32_t)(uint32_t)(uint64_t)e->fold[i];
    }
    e->narrow = c->plain && conv_fits_32(a, c);
    /* Chunks that are packed while running, and those of TransposeConv's classes, only look the same. */
    e->w = a->packed && a->kind != CONV_TRANSPOSED ? c->w : NULL;
    e->fast = e->w && e->narrow && dtype_bits(a->out_type) == 16 && largest(c->m, c->n) <= CONV_SMALL_M &&
              a->out_offset >= -(1 << 20) && a->out_offset <= 1 << 20;
}

/* Eight sums in 64 bits. */
static inline __attribute__((always_inline)) vi wide_sums(vi high, vi low, const int64_t *fold, int64_t term, int half)
{
    __m256i h = half ? _mm512_extracti64x4_epi64(high, 1) : _mm512_castsi512_si256(high);
    __m256i l = half ? _mm512_extracti64x4_epi64(low, 1) : _mm512_castsi512_si256(low);
    vi sum = _mm512_add_epi64(_mm512_slli_epi64(_mm512_cvtepi32_epi64(h), 8), _mm512_cvtepi32_epi64(l));
    return _mm512_add_epi64(_mm512_add_epi64(sum, _mm512_loadu_si512(fold)), _mm512_set1_epi64(term));
}

/* 16 sums as floats, rounded once. */
static inline __attribute__((always_inline)) vf real_sums(const struct chunk_end *e, uint32_t at, vi high, vi low,
                                                          int64_t term)
{
    if (e->narrow) {
        vi sum = vi_add(_mm512_slli_epi32(high, 8), low);
        if (!e->fast)
            sum = vi_add(sum, vi_load(e->fold32 + at));
        return vf_from_int(vi_add(sum, vi_set1((int32_t)(uint32_t)(uint64_t)term)));
    }
    __m256 first = _mm512_cvtepi64_ps(wide_sums(high, low, e->fold + at, term, 0));
    return _mm512_insertf32x8(_mm512_castps256_ps512(first),
                              _mm512_cvtepi64_ps(wide_sums(high, low, e->fold + at + 8, term, 1)), 1);
}

/* 16 channels of one row, `at` the first of them. */
static inline __attribute__((always_inline)) void end_block(const struct sums *s, uint32_t row, uint32_t at, vi high, vi low)
{
    const struct conv_args *a = s->a;
    const uint32_t n = s->c->n - at < TILE ? s->c->n - at : TILE;
    const int64_t term = a->w_offset ? (int64_t)((uint64_t)(int64_t)a->w_offset * (uint64_t)s->p->xsum[row]) : 0;
    const uint64_t to = s->p->out[row] + s->c->c0 + at;
    if (s->c->plain) {
        vf v = vf_mul(real_sums(s->own, at, high, low, term), vf_load_n(s->c->m + at, n));
        vi q = vi_sub(vi_round(vf_min(vf_max(v, s->end.lo), s->end.hi)), s->end.offset);
        vi_store_n((char *)s->out + to * s->end.bytes, q, n, s->end.bytes);
        return;
    }
    int64_t sum[TILE];
    _mm512_storeu_si512(sum, wide_sums(high, low, s->own->fold + at, term, 0));
    _mm512_storeu_si512(sum + 8, wide_sums(high, low, s->own->fold + at + 8, term, 1));
    for (uint32_t i = 0; i < n; i++)
        conv_store_fixed(a, s->out, to + i, sum[i], s->c->m[at + i]);
}

static __attribute__((noinline)) void end_rows(const struct sums *s, uint32_t first)
{
    for (uint32_t r = first; r < first + PIECE && r < s->rows; r++)
        for (uint32_t b = 0; b < s->blocks && s->p->out[s->row + r] != CONV_NOWHERE; b++)
            end_block(s, s->row + r, s->at + b * TILE, vi_load(s->tile[b] + r * TILE), vi_load(s->tile[2 + b] + r * TILE));
}

static inline __attribute__((always_inline)) vi steps_of(const struct sums *s, uint32_t row, uint32_t block)
{
    vf v = vf_mul(real_sums(s->own, s->at + block * TILE, vi_load(s->tile[block] + row * TILE),
                            vi_load(s->tile[2 + block] + row * TILE), 0),
                  vf_load(s->m + block * TILE));
    return vi_sub(vi_round(vf_min(vf_max(v, s->end.lo), s->end.hi)), s->end.offset);
}

/* Four rows of 32 channels. Narrowing saturates, but all is in range already. */
static __attribute__((noinline)) void end_full(const struct sums *s, uint32_t first, bool is_signed)
{
    const vi order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (uint32_t r = first; r < first + PIECE; r++) {
        vi a = steps_of(s, r, 0), b = steps_of(s, r, 1);
        _mm512_storeu_si512(
            s->to[r], _mm512_permutexvar_epi64(order, is_signed ? _mm512_packs_epi32(a, b) : _mm512_packus_epi32(a, b)));
    }
}

static inline __attribute__((always_inline)) vi fast_steps_of(const struct sums *s, uint32_t row, uint32_t block)
{
    vi sum = vi_add(_mm512_slli_epi32(vi_load(s->tile[block] + row * TILE), 8), vi_load(s->tile[2 + block] + row * TILE));
    return vi_sub(vi_round(vf_mul(vf_from_int(sum), vf_load(s->m + block * TILE))), s->end.offset);
}

/* The same where narrowing does the clamping, or most of it. */
static __attribute__((noinline)) void end_fast(const struct sums *s, uint32_t first, bool is_signed)
{
    const vi order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (uint32_t r = first; r < first + PIECE; r++) {
        vi a = fast_steps_of(s, r, 0), b = fast_steps_of(s, r, 1),
           q = is_signed ? _mm512_packs_epi32(a, b) : _mm512_packus_epi32(a, b);
        if (s->limited)
            q = is_signed ? _mm512_min_epi16(_mm512_max_epi16(q, s->lo), s->hi)
                          : _mm512_min_epu16(_mm512_max_epu16(q, s->lo), s->hi);
        _mm512_storeu_si512(s->to[r], _mm512_permutexvar_epi64(order, q));
    }
}

static inline void end_piece(struct sums *s)
{
    const uint32_t first = --s->left * PIECE;
    if (s->full && s->own->fast)
        end_fast(s, first, s->a->out_type == DT_SQ16);
    else if (s->full)
        end_full(s, first, s->a->out_type == DT_SQ16);
    else
        end_rows(s, first);
}

/* The sums of a square have left the tiles. */
static void wait_for_end(struct sums *s, uint32_t row, uint32_t at)
{
    const struct conv_panel *p = s->p;
    s->row = row, s->at = at, s->left = (s->rows + PIECE - 1) / PIECE;
    s->full = s->blocks == 2 && at + 2 * TILE <= s->c->n && s->c->plain && s->end.bytes == 2 && s->rows % PIECE == 0 &&
              !s->a->w_offset;
    s->m = s->c->m + at;
    for (uint32_t r = 0; s->full && r < s->rows; r++)
        s->to[r] = p->out[row + r] == CONV_NOWHERE ? s->nowhere : (char *)s->out + 2 * (p->out[row + r] + s->c->c0 + at);
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
    (void)out; /* the same for all panels */
    struct amx_state *state = p->engine_data;
    struct sums *sums = &state->sums;
    struct chunk_end *kept = &state->kept[(c->slice + c->c0 / CONV_CHUNK) % KEPT];
    const uint32_t blocks = (c->n + CONV_BLOCK - 1) / CONV_BLOCK, k = p->k_total < STEP ? p->k_total : STEP;
    struct square q = { .p = p,
                        .second = p->seg_x ? a->ci : conv_plane_bytes(a),
                        .block_bytes = conv_block_bytes(a),
                        .passing = weights_pass(a),
                        .waiting = sums,
                        .left = &sums->left };
    if (!kept->w || kept->w != c->w) {
        end_waiting(&q); /* it may belong to what is replaced */
        chunk_init(kept, a, p, c);
    }
    if (!k) { /* no tap of TransposeConv meets these rows */
        end_waiting(&q);
        sums->p = p, sums->c = c, sums->own = kept;
        for (uint32_t i = 0; i < p->rows * blocks; i++)
            end_block(sums, i / blocks, i % blocks * CONV_BLOCK, vi_zero(), vi_zero());
        return;
    }
    for (uint32_t row = 0; row < p->rows; row += TILE) {
        const uint32_t rows = p->rows - row < TILE ? p->rows - row : TILE;
        set_shape(p, rows, rows, k);
        q.x = p->x[row];
        for (uint32_t v = 0; v < blocks; v += 2) {
            const bool two = v + 1 < blocks;
            q.padded = weights_go_on(a, c, v + 1 + two);
            q.w = (const uint8_t *)c->w + v * q.block_bytes;
            TILE_ZERO(0);
            TILE_ZERO(1);
            second_tiles(kept->fast ? kept->fold32 + v * CONV_BLOCK : zeros,
                         kept->fast && two ? kept->fold32 + (v + 1) * CONV_BLOCK : zeros);
            squares[a->x_type == DT_SQ16][two](&q);
            end_waiting(&q);
            store_tiles(sums->tile, true, two);
            sums->p = p, sums->c = c, sums->own = kept, sums->rows = rows, sums->blocks = 1 + two;
            wait_for_end(sums, row, v * CONV_BLOCK);
        }
    }
    if (!sums->full || !kept->w) /* what belongs to it is gone when this returns */
        end_waiting(&q);
}

/* Long rows: one square of them stays in the first-level cache while all weights go by. */
static const struct conv_engine engine = { .elem = 1,
                                           .planes = 2,
                                           .rows = 4 * TILE,
                                           .long_rows = TILE,
                                           .in_place = in_place,
                                           .load = load_row,
                                           .load_windows = load_windows,
                                           .pad = pad_row,
                                           .sum = sum_row,
                                           .block = block_run,
                                           .sum_weights = vec_sum_fours,
                                           .gathered = fill_rows,
                                           .band_step = STEP,
                                           .load_band = load_band,
                                           .pad_band = pad_band };

kernel_fn conv_q16_amx;

void conv_q16_amx(const struct kernel_call *call, struct range tile)
{
    struct amx_state state;
    struct conv_engine e = engine;
    const struct conv_args *a = call->args;
    state.sums.left = 0;
    state.sums.full = false;
    state.sums.a = a;
    state.sums.out = call->data[a->n_in];
    fixed_end_range(&state.sums.end, a);
    state.sums.lo = _mm512_set1_epi16((short)a->q_lo);
    state.sums.hi = _mm512_set1_epi16((short)a->q_hi);
    state.sums.limited = a->q_lo > dtype_min(a->out_type) || a->q_hi < dtype_max(a->out_type);
    for (int i = 0; i < KEPT; i++)
        state.kept[i].w = NULL;
    e.data = &state;
    conv_run(call, tile, &e);
    while (state.sums.left)
        end_piece(&state.sums);
    TILE_RELEASE();
}
