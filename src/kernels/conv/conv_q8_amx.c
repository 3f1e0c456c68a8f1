/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products, AMX (conv_amx.h): squares of 32 rows by 32 channels. The unit multiplies signed and unsigned bytes as they
 * are, so rows keep their values and only the encoding's offset is folded into the channels. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_amx.h"
#include "kernels/conv/conv_bytes_avx512.h"

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

/* A tile is rows at equal distances, so rows stay where they lie only when they follow each other. Those that are no whole
 * steps are better copied and filled up than multiplied with weights that are filled up again and again. */
static bool in_place(const struct conv_args *a)
{
    return (a->cig % STEP == 0 || (a->cig < STEP && a->cig % 4 == 0)) &&
           (a->kind == CONV_MATRIX || (a->x.stride == 1 && a->y.stride == 1 && a->z.stride == 1 && a->slices == 1));
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

static void load_windows(const struct conv_args *a, const struct conv_windows *w)
{
    (void)a;
    bytes_copy_windows(w, 0);
}

static void pad_row(const struct conv_args *a, void *dst, uint32_t n)
{
    memset(dst, (uint8_t)-a->x_offset, n);
}

static void load_band(const struct conv_args *a, char *dst, const char *src, uint32_t pixels)
{
    memcpy(dst, src, (size_t)pixels * a->ci);
}

static void pad_band(const struct conv_args *a, char *dst, uint32_t pixels)
{
    memset(dst, (uint8_t)-a->x_offset, (size_t)pixels * a->ci);
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

enum { PIECE = 4 }; /* rows */

/* What belongs to the channels of a chunk, the same for all panels. */
struct chunk_end {
    const void *w;                /* which chunk; NULL: none */
    bool fast;                    /* whole blocks end in bytes without leaving 32 bits on the way */
    int32_t base[CONV_CHUNK] __attribute__((aligned(64)));
};
enum { KEPT = 32 };               /* chunks that one call of the kernel remembers */

/* The last square, which waits for its end until the next one is multiplied. */
struct sums {
    uint32_t left;                /* pieces without an end */
    enum {
        ODD,
        WIDE,
        WIDE_SOME
    } kind; /* WIDE: four rows by two blocks that end fast; then it may wait longer than its panel and chunk live */
    bool terms;                   /* WIDE_SOME: rows have terms */
    __mmask32 some;               /* WIDE_SOME: channels that there are */
    const float *m;               /* WIDE: of its channels */
    int32_t term[2 * TILE];       /* what the offset of the weights adds to each row */
    char *to[2 * TILE];           /* WIDE: where each row goes */
    struct bytes_end bytes;
    const struct fixed_end *end;  /* ODD, and what follows */
    bool fast;
    uint32_t row, rows, at, blocks;
    int32_t tile[4][TILE * TILE] __attribute__((aligned(64)));
    char nowhere[2 * TILE];
};

/* Of one call of the kernel. */
struct amx_state {
    struct sums sums;
    struct chunk_end kept[KEPT];
};

static int32_t row_term(const struct fixed_end *e, uint32_t row)
{
    return (int32_t)((uint32_t)e->w_offset * (uint32_t)(uint64_t)e->p->xsum[row]);
}

static bool ends_fast(const struct sums *s, const struct fixed_end *e, uint32_t at)
{
    return s->fast && at < e->simple;
}

/* Channels of a block that there are. */
static __mmask16 block_mask(const struct fixed_end *e, uint32_t at)
{
    return e->simple - at < TILE ? (__mmask16)((1u << (e->simple - at)) - 1) : (__mmask16)-1;
}

/* Panels come back to the same chunks; chunks that are packed while running, and those of TransposeConv's classes, only look
 * the same. */
static bool end_init(struct fixed_end *e, struct chunk_end *kept)
{
    const bool same = e->a->packed && e->a->kind != CONV_TRANSPOSED;
    e->base = kept->base;
    if (same && kept->w == e->c->w)
        return kept->fast;
    fixed_end_base(e, e->a->x_offset);
    const bool fast = bytes_suit(e);
    if (same) {
        kept->w = e->c->w;
        kept->fast = fast;
        memcpy(kept->base, e->own, sizeof kept->base);
    }
    return fast;
}

/* Sums start with what belongs to their channels where the end is fast. */
static const int32_t *first_sums(const struct sums *s, const struct fixed_end *e, uint32_t at)
{
    return at < CONV_CHUNK && ends_fast(s, e, at) ? e->base + at : zeros;
}

/* `term`: of the first row; NULL: there is none. */
static inline __attribute__((always_inline)) vi steps_of(const int32_t *acc, uint32_t row, vf m, const int32_t *term)
{
    vi v = vi_load(acc + row * TILE);
    if (term)
        v = vi_add(v, vi_set1(term[row]));
    return vi_round(vf_mul(vf_from_int(v), m));
}

/* Four rows by 16 channels: 64 bytes; those of row r are the bytes 4 * r … 4 * r + 3 of every quarter. */
static inline __attribute__((always_inline)) vi four_rows(const struct sums *s, const int32_t *acc, vf m,
                                                          const int32_t *term)
{
    return bytes_narrow(&s->bytes, steps_of(acc, 0, m, term), steps_of(acc, 1, m, term), steps_of(acc, 2, m, term),
                        steps_of(acc, 3, m, term));
}

/* Four rows by both blocks, 32 bytes of each row. */
static inline __attribute__((always_inline)) void wide_rows(const struct sums *s, uint32_t first, const int32_t *term,
                                                            vi *r01, vi *r23)
{
    const vi low = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const vi high = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
    const int32_t *acc = s->tile[first / TILE * 2] + first % TILE * TILE;
    vi a = four_rows(s, acc, vf_load(s->m), term), b = four_rows(s, acc + TILE * TILE, vf_load(s->m + TILE), term);
    *r01 = _mm512_permutex2var_epi32(a, low, b);
    *r23 = _mm512_permutex2var_epi32(a, high, b);
}

static inline __attribute__((always_inline)) void end_wide(const struct sums *s, uint32_t first)
{
    vi r01, r23;
    wide_rows(s, first, NULL, &r01, &r23);
    _mm256_storeu_si256((__m256i *)s->to[first], _mm512_castsi512_si256(r01));
    _mm256_storeu_si256((__m256i *)s->to[first + 1], _mm512_extracti64x4_epi64(r01, 1));
    _mm256_storeu_si256((__m256i *)s->to[first + 2], _mm512_castsi512_si256(r23));
    _mm256_storeu_si256((__m256i *)s->to[first + 3], _mm512_extracti64x4_epi64(r23, 1));
}

/* The same where rows have terms, or the second block is not full. */
static __attribute__((noinline)) void end_wide_some(const struct sums *s, uint32_t first)
{
    vi r01, r23;
    wide_rows(s, first, s->terms ? s->term + first : NULL, &r01, &r23);
    _mm256_mask_storeu_epi8(s->to[first], s->some, _mm512_castsi512_si256(r01));
    _mm256_mask_storeu_epi8(s->to[first + 1], s->some, _mm512_extracti64x4_epi64(r01, 1));
    _mm256_mask_storeu_epi8(s->to[first + 2], s->some, _mm512_castsi512_si256(r23));
    _mm256_mask_storeu_epi8(s->to[first + 3], s->some, _mm512_extracti64x4_epi64(r23, 1));
}

/* One block of four rows. */
static void end_narrow(const struct sums *s, uint32_t row, uint32_t at, const int32_t *acc)
{
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const struct fixed_end *e = s->end;
    const uint64_t *to = e->p->out + row;
    char *out = (char *)e->out + e->c0 + at;
    const __mmask16 some = block_mask(e, at);
    vi q = _mm512_permutexvar_epi32(order, four_rows(s, acc, vf_load(e->m + at), NULL));
    _mm_mask_storeu_epi8(out + to[0], some, _mm512_castsi512_si128(q));
    _mm_mask_storeu_epi8(out + to[1], some, _mm512_extracti32x4_epi32(q, 1));
    _mm_mask_storeu_epi8(out + to[2], some, _mm512_extracti32x4_epi32(q, 2));
    _mm_mask_storeu_epi8(out + to[3], some, _mm512_extracti32x4_epi32(q, 3));
}

/* A block of a row whose end is not fast, or that does not fill a piece. */
static void end_row(const struct sums *s, uint32_t row, uint32_t at, const int32_t *acc)
{
    const struct fixed_end *e = s->end;
    if (e->p->out[row] == CONV_NOWHERE)
        return;
    if (!ends_fast(s, e, at)) {
        fixed_end_store(e, row, at, vi_load(acc));
        return;
    }
    const vi quarters = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    const int32_t term = e->w_offset ? row_term(e, row) : 0;
    vi v = steps_of(acc, 0, vf_load(e->m + at), &term);
    vi q = _mm512_permutexvar_epi32(quarters, bytes_narrow(&s->bytes, v, v, v, v));
    _mm_mask_storeu_epi8((char *)e->out + e->c0 + at + e->p->out[row], block_mask(e, at), _mm512_castsi512_si128(q));
}

static __attribute__((noinline)) void end_odd(const struct sums *s, uint32_t first)
{
    const uint32_t rows = s->rows - first < PIECE ? s->rows - first : PIECE, row = s->row + first;
    const bool four = rows == PIECE && !s->end->w_offset && !s->end->p->seg_x; /* bands have rows that go nowhere */
    for (uint32_t b = 0; b < s->blocks; b++) {
        const uint32_t at = s->at + b * TILE;
        const int32_t *acc = s->tile[first / TILE * 2 + b] + first % TILE * TILE;
        if (four && ends_fast(s, s->end, at))
            end_narrow(s, row, at, acc);
        else
            for (uint32_t r = 0; r < rows; r++)
                end_row(s, row + r, at, acc + r * TILE);
    }
}

/* Four rows of the square that waits, the last ones first. */
static inline __attribute__((always_inline)) void end_piece(struct sums *s)
{
    const uint32_t first = --s->left * PIECE;
    if (s->kind == WIDE)
        end_wide(s, first);
    else if (s->kind == WIDE_SOME)
        end_wide_some(s, first);
    else
        end_odd(s, first);
}

/* The sums of a square have left the tiles: rows row … row + rows, blocks from channel `at` of the chunk on. */
static void wait_for_end(struct sums *s, const struct fixed_end *e, uint32_t row, uint32_t at)
{
    const struct conv_panel *p = e->p;
    s->left = (s->rows + PIECE - 1) / PIECE;
    s->end = e, s->row = row, s->at = at, s->terms = e->w_offset;
    s->kind = s->blocks < 2 || !ends_fast(s, e, at + TILE) ? ODD : s->terms || at + 2 * TILE > e->simple ? WIDE_SOME : WIDE;
    if (s->kind == ODD)
        return;
    s->m = e->m + at;
    s->some = (__mmask32)block_mask(e, at + TILE) << TILE | (__mmask16)-1;
    const vi first = _mm512_set1_epi64((long long)(uintptr_t)((char *)e->out + e->c0 + at)),
             nowhere = _mm512_set1_epi64((long long)(uintptr_t)s->nowhere);
    for (uint32_t r = 0; r < s->rows; r += 8) {
        vi to = _mm512_loadu_si512(p->out + row + r);
        __mmask8 none = _mm512_cmpeq_epi64_mask(to, _mm512_set1_epi64(-1));
        _mm512_storeu_si512(s->to + r, _mm512_mask_blend_epi64(none, _mm512_add_epi64(to, first), nowhere));
    }
    for (uint32_t r = s->rows; r % PIECE; r++)
        s->to[r] = s->nowhere;
    for (uint32_t r = 0; s->terms && r < s->rows; r++)
        s->term[r] = row_term(e, row + r);
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

SQUARE(square_u_1_1, 0, 0, 0, 0)
SQUARE(square_u_1_2, 0, 0, 0, 1)
SQUARE(square_u_2_1, 0, 0, 1, 0)
SQUARE(square_u_2_2, 0, 0, 1, 1)
SQUARE(square_s_1_1, 1, 1, 0, 0)
SQUARE(square_s_1_2, 1, 1, 0, 1)
SQUARE(square_s_2_1, 1, 1, 1, 0)
SQUARE(square_s_2_2, 1, 1, 1, 1)
static void (*const squares[2][2][2])(const struct square *) = {
    { { square_u_1_1, square_u_1_2 }, { square_u_2_1, square_u_2_2 } },
    { { square_s_1_1, square_s_1_2 }, { square_s_2_1, square_s_2_2 } },
};

static void fill_rows(const struct conv_args *a, struct conv_panel *p)
{
    (void)a;
    pad_rows(p, 1, 0);
}

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    struct amx_state *state = p->engine_data;
    struct sums *sums = &state->sums;
    struct fixed_end end;
    fixed_end_start(&end, a, p, c, out);
    sums->fast = end_init(&end, &state->kept[(c->slice + c->c0 / CONV_CHUNK) % KEPT]);
    const uint32_t blocks = (c->n + CONV_BLOCK - 1) / CONV_BLOCK, k = p->k_total < STEP ? p->k_total : STEP;
    struct square q = { .p = p,
                        .second = TILE * p->stride,
                        .block_bytes = conv_block_bytes(a),
                        .passing = weights_pass(a),
                        .waiting = sums,
                        .left = &sums->left };
    const bool gathered = !(a->direct && in_place(a));
    for (uint32_t row = 0; row < p->rows && !k; row++) /* no tap of TransposeConv meets these rows */
        for (uint32_t v = 0; v < blocks; v++)
            fixed_end_store(&end, row, v * CONV_BLOCK, vi_zero());
    for (uint32_t row = 0; row < p->rows && k; row += 2 * TILE) {
        const uint32_t left = p->rows - row, rows = left < 2 * TILE ? left : 2 * TILE, m0 = rows < TILE ? rows : TILE;
        set_shape(p, m0, rows - m0, k); /* sums before have left the tiles */
        q.x = p->x[row];
        for (uint32_t v = 0; v < blocks; v += 2) {
            const uint32_t at = v * CONV_BLOCK;
            const bool two = v + 1 < blocks;
            q.padded = gathered && weights_go_on(a, c, v + 1 + two);
            q.w = (const uint8_t *)c->w + v * q.block_bytes;
            const int32_t *start[2] = { first_sums(sums, &end, at), first_sums(sums, &end, at + TILE) };
            first_tiles(start[0], start[1]);
            if (rows > TILE)
                second_tiles(start[0], start[1]);
            squares[a->x_type == DT_SQ8][rows > TILE][two](&q);
            end_waiting(&q);
            store_tiles(sums->tile, rows > TILE, two);
            sums->rows = rows, sums->blocks = 1 + two;
            wait_for_end(sums, &end, row, at);
        }
    }
    if (sums->kind == ODD || !a->packed) /* what belongs to it is gone when this returns */
        end_waiting(&q);
}

/* 32 rows stay in the first-level cache while all weights go by; of short rows there may be more, so that weights go by less
 * often. */
static const struct conv_engine engine = { .elem = 1,
                                           .rows = 4 * TILE,
                                           .long_rows = 2 * TILE,
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

kernel_fn conv_q8_amx;

void conv_q8_amx(const struct kernel_call *call, struct range tile)
{
    struct amx_state state;
    struct conv_engine e = engine;
    state.sums.left = 0;
    state.sums.kind = ODD;
    state.sums.bytes = bytes_end(call->args);
    for (int i = 0; i < KEPT; i++)
        state.kept[i].w = NULL;
    e.data = &state;
    conv_run(call, tile, &e);
    while (state.sums.left)
        end_piece(&state.sums);
    TILE_RELEASE();
}
