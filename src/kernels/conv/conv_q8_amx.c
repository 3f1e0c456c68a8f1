/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products, AMX (conv_amx.h): squares of 32 rows by 32 channels. The unit multiplies signed and unsigned bytes as they are, so rows
 * keep their values and only the encoding's offset is folded into the channels. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_amx.h"
#include "kernels/conv/conv_bytes_avx512.h"

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

/* A tile is rows at equal distances, so rows stay where they lie only when they follow each other. Those that are no whole steps are better
 * copied and filled up than multiplied with weights that are filled up again and again. */
static bool in_place(const struct conv_args *a)
{
    return (a->cig % STEP == 0 || (a->cig < STEP && a->cig % 4 == 0)) && (a->kind == CONV_MATRIX || (a->x.stride == 1 && a->y.stride == 1 && a->z.stride == 1 && a->slices == 1));
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

struct sums {
    const struct fixed_end *end;
    struct bytes_end bytes;
    bool fast;                 /* whole blocks end in bytes without leaving 32 bits on the way */
    uint32_t row, rows, at, blocks;
    uint32_t left;             /* pieces without an end */
    int32_t row_term[CONV_ROWS];  /* what the offset of the weights adds to a row */
    int32_t tile[4][TILE * TILE] __attribute__((aligned(64)));
};

static void sums_init(struct sums *s, const struct fixed_end *e)
{
    s->end = e;
    s->bytes = bytes_end(e->a);
    s->fast = bytes_suit(e);
    s->left = 0;
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
    return at < CONV_CHUNK && ends_fast(s, at) ? s->end->base + at : zeros;
}

static inline __attribute__((always_inline)) vi steps_of(const struct sums *s, uint32_t row, const int32_t *acc, vf m, const bool terms)
{
    vi v = vi_load(acc);
    if (terms)
        v = vi_add(v, vi_set1(s->row_term[row]));
    return vi_round(vf_mul(vf_from_int(v), m));
}

/* Four rows by 16 channels: 64 bytes; those of row r are the bytes 4 * r … 4 * r + 3 of every quarter. */
static inline __attribute__((always_inline)) vi four_rows(const struct sums *s, uint32_t row, const int32_t *acc, vf m, const bool terms)
{
    return bytes_narrow(&s->bytes, steps_of(s, row, acc, m, terms), steps_of(s, row + 1, acc + TILE, m, terms),
                        steps_of(s, row + 2, acc + 2 * TILE, m, terms), steps_of(s, row + 3, acc + 3 * TILE, m, terms));
}

/* Four rows by both blocks, 32 bytes of each row at once. */
static inline __attribute__((always_inline)) void end_wide(const struct sums *s, uint32_t row, const int32_t *acc0, const int32_t *acc1, const bool terms)
{
    const vi first = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const vi last = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
    const struct fixed_end *e = s->end;
    const uint64_t *to = e->p->out + row;
    char *out = (char *)e->out + e->c0 + s->at;
    vi a = four_rows(s, row, acc0, vf_load(e->m + s->at), terms), b = four_rows(s, row, acc1, vf_load(e->m + s->at + TILE), terms);
    vi r01 = _mm512_permutex2var_epi32(a, first, b), r23 = _mm512_permutex2var_epi32(a, last, b);
    _mm256_storeu_si256((__m256i *)(out + to[0]), _mm512_castsi512_si256(r01));
    _mm256_storeu_si256((__m256i *)(out + to[1]), _mm512_extracti64x4_epi64(r01, 1));
    _mm256_storeu_si256((__m256i *)(out + to[2]), _mm512_castsi512_si256(r23));
    _mm256_storeu_si256((__m256i *)(out + to[3]), _mm512_extracti64x4_epi64(r23, 1));
}

static inline __attribute__((always_inline)) void end_narrow(const struct sums *s, uint32_t row, const int32_t *acc, uint32_t at)
{
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const struct fixed_end *e = s->end;
    const uint64_t *to = e->p->out + row;
    char *out = (char *)e->out + e->c0 + at;
    vi q = _mm512_permutexvar_epi32(order, four_rows(s, row, acc, vf_load(e->m + at), false));
    _mm_storeu_si128((__m128i *)(out + to[0]), _mm512_castsi512_si128(q));
    _mm_storeu_si128((__m128i *)(out + to[1]), _mm512_extracti32x4_epi32(q, 1));
    _mm_storeu_si128((__m128i *)(out + to[2]), _mm512_extracti32x4_epi32(q, 2));
    _mm_storeu_si128((__m128i *)(out + to[3]), _mm512_extracti32x4_epi32(q, 3));
}

/* A block of a row whose end is not fast, or that does not fill a piece. */
static void end_row(const struct sums *s, uint32_t row, uint32_t at, const int32_t *acc)
{
    if (!ends_fast(s, at)) {
        fixed_end_store(s->end, row, at, vi_load(acc));
        return;
    }
    const vi quarters = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
    vi v = steps_of(s, row, acc, vf_load(s->end->m + at), s->end->w_offset != 0);
    vi q = _mm512_permutexvar_epi32(quarters, bytes_narrow(&s->bytes, v, v, v, v));
    _mm_storeu_si128((__m128i *)((char *)s->end->out + s->end->c0 + at + s->end->p->out[row]), _mm512_castsi512_si128(q));
}

/* Four rows of the square that waits, the last ones first. */
static __attribute__((noinline)) void end_piece(struct sums *s)
{
    const uint32_t first = --s->left * PIECE, rows = s->rows - first, row = s->row + first, half = first / TILE;
    const int32_t *acc0 = s->tile[2 * half] + first % TILE * TILE, *acc1 = s->tile[2 * half + 1] + first % TILE * TILE;
    const bool terms = s->end->w_offset != 0;
    if (rows >= PIECE && s->blocks == 2 && ends_fast(s, s->at + TILE)) {
        if (terms)
            end_wide(s, row, acc0, acc1, true);
        else
            end_wide(s, row, acc0, acc1, false);
        return;
    }
    for (uint32_t b = 0; b < s->blocks; b++) {
        const uint32_t at = s->at + b * TILE;
        const int32_t *acc = b ? acc1 : acc0;
        if (rows >= PIECE && ends_fast(s, at) && !terms)
            end_narrow(s, row, acc, at);
        else
            for (uint32_t r = 0; r < rows && r < PIECE; r++)
                end_row(s, row + r, at, acc + r * TILE);
    }
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
    struct fixed_end end;
    struct sums sums;
    fixed_end_init(&end, a, p, c, a->x_offset, out);
    sums_init(&sums, &end);
    const uint32_t blocks = (c->n + CONV_BLOCK - 1) / CONV_BLOCK, k = p->k_total < STEP ? p->k_total : STEP;
    struct square q = { .p = p, .second = TILE * p->stride, .block_bytes = conv_block_bytes(a), .waiting = &sums, .left = &sums.left };
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
            first_tiles(first_sums(&sums, at), first_sums(&sums, at + TILE), rows > TILE);
            squares[a->x_type == DT_SQ8][rows > TILE][two](&q);
            end_waiting(&q);
            store_tiles(sums.tile, rows > TILE, two);
            sums.row = row, sums.rows = rows, sums.at = at, sums.blocks = 1 + two, sums.left = (rows + PIECE - 1) / PIECE;
        }
    }
    end_waiting(&q);
}

static const struct conv_engine engine = { .elem = 1, .rows = 2 * 2 * TILE, .in_place = in_place, .load = load_row, .load_windows = load_windows,
                                           .pad = pad_row, .sum = sum_row, .block = block_run, .sum_weights = vec_sum_fours, .gathered = fill_rows };

kernel_fn conv_q8_amx;

void conv_q8_amx(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &engine);
    __asm__ volatile("tilerelease" ::);
}
