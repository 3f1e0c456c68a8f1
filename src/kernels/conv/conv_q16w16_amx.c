/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit activations by 16-bit weights, AMX: both are 256 * high + low, and each byte is multiplied on its own:
 *
 *     tiles  0 = high x by high w     4 5 = high and low bytes of 16 rows, 64 k
 *            1 = high x by low w      6 7 = high and low bytes of 16 channels
 *            2 = low x by high w      x * w = 65536 * (0) + 256 * ((1) + (2)) + (3)
 *            3 = low x by low w
 *
 * Rows are gathered as two planes. Weights, which lie in pairs of words, become two planes of fours in the workspace, one
 * block at a time for all rows of a panel. The ends of a square are computed while the next one is multiplied.
 *
 * High bytes are signed, low ones not. With k below 2^15 (conv_accept_words) (0) is below 2^29, (3) below 2^32 without a
 * sign, and (1) + (2) with what (3) carries over below 2^31. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_fixed_end.h"
#include "kernels/conv/conv_split_avx512.h"
#include "kernels/conv/conv_tiles.h"
#include "kernels/conv/conv_turned.h"

#ifndef TILE_MULTIPLY_LOW /* a test brings its own (tests/kernels/tiles_in_c.h) */
/* TILE_MULTIPLY with w that has no sign. */
#define TILE_MULTIPLY_LOW(sx, c, x, w)                                         \
    do {                                                                       \
        if (sx)                                                                \
            __asm__ volatile("tdpbsud %%tmm" #w ", %%tmm" #x ", %%tmm" #c ::); \
        else                                                                   \
            __asm__ volatile("tdpbuud %%tmm" #w ", %%tmm" #x ", %%tmm" #c ::); \
    } while (0)
#endif

enum {
    SUMS = TILE * TILE, /* of a tile */
    PIECE = 2,          /* rows that are ended together */
    KEPT = 16,          /* chunks that one call of the kernel remembers */
};

/* What belongs to the channels of a chunk, the same for all panels. */
struct chunk_end {
    const void *w; /* which chunk; NULL: none */
    bool split;    /* sums begin with it: 65536 * high + low, both small enough for ends in vectors */
    int64_t fold[CONV_CHUNK];
    int32_t high[CONV_CHUNK], low[CONV_CHUNK];
};

/* The last square, which waits for its end until the next one is multiplied. It knows all that it needs of its panel. */
struct waiting {
    uint32_t left;  /* rows without an end */
    bool whole;     /* 16 rows and channels of 16 bits, nothing of a row, ends in vectors: the usual one */
    uint32_t at, n; /* first channel in the chunk; channels */
    const struct chunk_end *own;
    const float *m; /* of its channels */
    char *to[TILE];
    int64_t term[TILE]; /* what a row adds to all channels */
    int32_t tile[4][SUMS] __attribute__((aligned(64)));
};

/* Of one call of the kernel. */
struct words {
    const struct conv_args *a;
    struct fixed_end end;
    struct waiting waiting;
    uint32_t shape; /* rows of the tiles, 0: none yet */
    uint64_t plane; /* bytes from high to low weights */
    uint8_t *planes;
    const void *have; /* block that is there; NULL: none */
    char *out;
    struct chunk_end kept[KEPT];
};

/* ---- ends ------------------------------------------------------------------------------------------------------------- */

/* Ends in vectors hold sums below 2^47, and their parts in 32 bits. */
static bool is_small(int64_t v)
{
    return v > -((int64_t)1 << 45) && v < (int64_t)1 << 45;
}

static void chunk_init(struct chunk_end *e, const struct conv_args *a, const struct conv_panel *p,
                       const struct conv_chunk *c)
{
    memset(e, 0, sizeof *e);
    e->split = c->plain;
    for (uint32_t i = 0; i < c->n; i++) {
        e->fold[i] = conv_fold(p, c, i, a->kind == CONV_TRANSPOSED ? a->tap_stride : 0, split_left(a));
        e->split = e->split && is_small(e->fold[i]);
    }
    for (uint32_t i = 0; i < c->n && e->split; i++) {
        e->high[i] = (int32_t)(e->fold[i] >> 16);
        e->low[i] = (int32_t)(e->fold[i] & 0xffff);
    }
    /* Chunks that are packed while running, and those of TransposeConv's classes, only look the same. */
    e->w = a->packed && a->kind != CONV_TRANSPOSED ? c->w : NULL;
}

/* 16 sums as floats, rounded once: 2^24 times their upper bits plus the rest, both of which floats hold exactly. */
static inline vf real_sums(vi high, vi middle, vi low)
{
    const vi rest =
                 vi_and(vi_add(vi_add(_mm512_slli_epi32(high, 16), _mm512_slli_epi32(middle, 8)), low), vi_set1(0xffffff)),
             upper = vi_shift8(vi_add(high, vi_shift8(vi_add(middle, _mm512_srli_epi32(low, 8)))));
    return vf_fma(vf_from_int(upper), vf_set1(0x1p24f), vf_from_int(rest));
}

static __attribute__((noinline)) void end_slowly(const struct words *f, const struct waiting *w, uint32_t row)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const uint32_t at = row * TILE + i;
        int64_t sum = 65536 * (int64_t)w->tile[0][at] + 256 * ((int64_t)w->tile[1][at] + w->tile[2][at]) +
                      (uint32_t)w->tile[3][at] + w->term[row];
        if (!w->own->split)
            sum = (int64_t)((uint64_t)sum + (uint64_t)w->own->fold[w->at + i]);
        conv_store_fixed(f->a, w->to[row], i, sum, w->m[i]);
    }
}

static inline void end_row(const struct words *f, const struct waiting *w, uint32_t row)
{
    const int64_t term = w->term[row];
    if (!w->own->split || !is_small(term)) {
        end_slowly(f, w, row);
        return;
    }
    vi high = vi_load(w->tile[0] + row * TILE), low = vi_load(w->tile[3] + row * TILE);
    if (term) {
        high = vi_add(high, vi_set1((int32_t)(term >> 16)));
        low = vi_add(low, vi_set1((int32_t)(term & 0xffff)));
    }
    const vi middle = vi_add(vi_load(w->tile[1] + row * TILE), vi_load(w->tile[2] + row * TILE));
    const vf v = vf_mul(real_sums(high, middle, low), vf_load(w->m));
    vi_store_n(w->to[row], vi_sub(vi_round(vf_min(vf_max(v, f->end.lo), f->end.hi)), f->end.offset), w->n, f->end.bytes);
}

static inline __attribute__((always_inline)) vi steps_of(const struct words *f, const struct waiting *w, uint32_t row)
{
    const int32_t *sums = w->tile[0] + row * TILE;
    const vi middle = vi_add(vi_load(sums + SUMS), vi_load(sums + 2 * SUMS));
    const vf v = vf_mul(real_sums(vi_load(sums), middle, vi_load(sums + 3 * SUMS)), vf_load(w->m));
    return vi_sub(vi_round(vf_min(vf_max(v, f->end.lo), f->end.hi)), f->end.offset);
}

static inline void end_piece(struct words *f)
{
    struct waiting *w = &f->waiting;
    if (w->whole && w->left) {
        const uint32_t row = w->left -= PIECE;
        const vi a = steps_of(f, w, row), b = steps_of(f, w, row + 1);
        _mm256_storeu_si256((__m256i *)w->to[row], _mm512_cvtepi32_epi16(a));
        _mm256_storeu_si256((__m256i *)w->to[row + 1], _mm512_cvtepi32_epi16(b));
        return;
    }
    for (uint32_t i = 0; i < PIECE && w->left; i++)
        end_row(f, w, --w->left);
}

static void end_waiting(struct words *f)
{
    while (f->waiting.left)
        end_piece(f);
}

/* ---- weights ---------------------------------------------------------------------------------------------------------- */

/* Two pairs of k of 16 channels become a four in each plane. */
static inline __attribute__((always_inline)) void split_four(vi first, vi second, uint8_t *to, uint64_t plane)
{
    const vi byte = _mm512_set1_epi16(255),
             order = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    const vi high = _mm512_packus_epi16(_mm512_srli_epi16(first, 8), _mm512_srli_epi16(second, 8)),
             low = _mm512_packus_epi16(vi_and(first, byte), vi_and(second, byte));
    _mm512_storeu_si512(to, _mm512_shuffle_epi8(high, order));
    _mm512_storeu_si512(to + plane, _mm512_shuffle_epi8(low, order));
}

/* n k from `from` on. */
static void split_run(const char *from, uint32_t n, uint8_t *to, uint64_t plane)
{
    for (uint32_t k = 0; k < n; k += 4, from += 128, to += 64)
        split_four(_mm512_loadu_si512(from), _mm512_loadu_si512(from + 64), to, plane);
}

/* Runs of pairs that are no whole fours. A last pair that stands alone meets rows of zero. */
static void split_pairs(const struct words *f, const struct conv_panel *p, const char *block)
{
    uint8_t *to = f->planes;
    vi first = vi_zero();
    bool odd = false;
    for (uint32_t s = 0; s < p->n_seg; s++) {
        const char *from = block + (uint64_t)p->seg[s].k * CONV_BLOCK * 2;
        for (uint32_t k = 0; k < p->seg[s].n; k += 2, from += 64, odd = !odd) {
            const vi v = _mm512_loadu_si512(from);
            if (odd) {
                split_four(first, v, to, f->plane);
                to += 64;
            }
            first = v;
        }
    }
    if (odd)
        split_four(first, vi_zero(), to, f->plane);
}

/* What a panel needs of a block. */
static void bring_block(struct words *f, const struct conv_panel *p, const char *block)
{
    const struct conv_args *a = f->a;
    if (f->have == block)
        return;
    if (p->n_seg == 1 && p->seg[0].n % 4 == 0)
        split_run(block + (uint64_t)p->seg[0].k * CONV_BLOCK * 2, p->seg[0].n, f->planes, f->plane);
    else
        split_pairs(f, p, block);
    /* Blocks that are packed while running, and those of TransposeConv's classes, only look the same. */
    f->have = a->packed && a->kind != CONV_TRANSPOSED ? block : NULL;
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

static void set_shape(struct words *f, uint32_t rows)
{
    struct tile_config t = { .palette = 1 };
    if (f->shape == rows)
        return;
    for (int i = 0; i < 8; i++) {
        t.rows[i] = (uint8_t)(i < 6 ? rows : TILE);
        t.row_bytes[i] = STEP;
    }
    TILE_SHAPES(t);
    f->shape = rows;
}

/* 16 rows from x on meet the block that was brought, `at` its first channel in the chunk. It stays in the first-level cache,
 * rows pass by. */
static void run_square(struct words *f, const struct conv_panel *p, const uint8_t *x, const struct chunk_end *own,
                       uint32_t at)
{
    static const int32_t zeros[TILE] __attribute__((aligned(64)));
    const uint64_t stride = p->stride, second = conv_plane_bytes(f->a), plane = f->plane;
    const uint8_t *w = f->planes;
    const uint32_t steps = (p->k_total + STEP - 1) / STEP,
                   pieces = steps ? (f->waiting.left + PIECE * steps - 1) / (PIECE * steps) : 0;
    TILE_LOAD(0, own->split ? own->high + at : zeros, 0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_LOAD(3, own->split ? own->low + at : zeros, 0);
    for (uint32_t i = 0; i < steps; i++, x += STEP, w += STEP * CONV_BLOCK) {
        TILE_LOAD(6, w, STEP);
        TILE_PASS(4, x, stride);
        TILE_MULTIPLY(1, 0, 4, 6);
        TILE_LOAD(7, w + plane, STEP);
        TILE_MULTIPLY_LOW(1, 1, 4, 7);
        TILE_PASS(5, x + second, stride);
        TILE_MULTIPLY(0, 2, 5, 6);
        TILE_MULTIPLY_LOW(0, 3, 5, 7);
        for (uint32_t e = 0; e < pieces; e++)
            end_piece(f);
    }
    end_waiting(f);
    TILE_STORE(0, f->waiting.tile[0]);
    TILE_STORE(1, f->waiting.tile[1]);
    TILE_STORE(2, f->waiting.tile[2]);
    TILE_STORE(3, f->waiting.tile[3]);
}

static void wait_for_end(struct words *f, const struct conv_panel *p, const struct conv_chunk *c,
                         const struct chunk_end *own, uint32_t row, uint32_t rows, uint32_t at)
{
    const struct conv_args *a = f->a;
    struct waiting *w = &f->waiting;
    w->left = rows;
    w->at = at;
    w->n = c->n - at < TILE ? c->n - at : TILE;
    w->own = own;
    w->whole = rows == TILE && w->n == TILE && own->split && f->end.bytes == 2 && !a->w_offset;
    w->m = c->m + at;
    for (uint32_t r = 0; r < rows; r++) {
        w->to[r] = f->out + (p->out[row + r] + c->c0 + at) * f->end.bytes;
        w->term[r] = a->w_offset ? (int64_t)((uint64_t)(int64_t)a->w_offset * (uint64_t)p->xsum[row + r]) : 0;
    }
}

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    (void)out; /* the same for all panels */
    struct words *f = p->engine_data;
    struct chunk_end *own = &f->kept[(c->slice + c->c0 / CONV_CHUNK) % KEPT];
    if (!own->w || own->w != c->w) {
        end_waiting(f); /* it may belong to what is replaced */
        chunk_init(own, a, p, c);
    }
    for (uint32_t at = 0; at < c->n; at += CONV_BLOCK) {
        bring_block(f, p, (const char *)c->w + at / CONV_BLOCK * conv_block_bytes(a));
        for (uint32_t row = 0; row < p->rows; row += TILE) {
            const uint32_t rows = p->rows - row < TILE ? p->rows - row : TILE;
            set_shape(f, rows);
            run_square(f, p, p->x[row], own, at);
            wait_for_end(f, p, c, own, row, rows, at);
        }
    }
    if (!own->w) /* what belongs to it is gone when this returns */
        end_waiting(f);
}

static const struct conv_engine engine = { .elem = 1,
                                           .planes = 2,
                                           .rows = CONV_ROWS,
                                           .in_place = split_in_place,
                                           .load = split_load,
                                           .load_windows = split_windows,
                                           .pad = split_pad,
                                           .sum = split_sum,
                                           .block = block_run,
                                           .gathered = split_fill };

kernel_fn conv_q16w16_amx;

void conv_q16w16_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    const uint64_t bytes = conv_split_bytes(a);
    struct conv_args less;
    struct kernel_call own = *call;
    struct conv_engine e = engine;
    struct words f;
    f.a = a;
    fixed_end_range(&f.end, a);
    f.waiting.left = f.shape = 0;
    f.plane = bytes / 2;
    f.planes = conv_reserve(a, &less, call->work, bytes);
    own.args = &less;
    f.have = NULL;
    f.out = call->data[a->n_in];
    for (int i = 0; i < KEPT; i++)
        f.kept[i].w = NULL;
    e.data = &f;
    conv_run(&own, tile, &e);
    end_waiting(&f);
    TILE_RELEASE();
}
