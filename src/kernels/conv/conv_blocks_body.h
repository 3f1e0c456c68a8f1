/* SPDX-License-Identifier: Apache-2.0 */
/* Products with block scales, vectors of any length; include vec_<isa>.h first. A run is a whole number of pairs of k and
 * its sum is exact in 32 bits (modulo 2^32 on the way); it becomes f32 and is multiplied by the scale of its block. */
#include <string.h>

#include "kernels/conv/conv_end.h"
#include "kernels/conv/conv_q16_rows.h"

enum { RUNS_MR = 4 };

struct runs_tile {
    const struct conv_args *a;
    const struct conv_panel *p;
    const struct conv_chunk *c;
    const char *w;          /* block of the tile's channels */
    uint32_t row, at;       /* first row; first channel in the chunk, a multiple of VEC_LANES */
    int32_t left;
    bool offsets;
    void *out;
};

static inline vi runs_pair(const int16_t *x)
{
    int32_t two;
    memcpy(&two, x, 4);
    return vi_set1(two);
}

/* Sums of one run: k elements on in the rows, `w` its weights. */
static inline __attribute__((always_inline)) void run_sums(const struct runs_tile *t, const int mr, uint64_t k,
                                                           const int8_t *w, vi acc[RUNS_MR])
{
    const int16_t *x[RUNS_MR];
    const uint32_t part = t->at % CONV_BLOCK / VEC_LANES;
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++) {
        x[r] = (const int16_t *)t->p->x[t->row + (uint32_t)r] + k;
        acc[r] = vi_zero();
    }
    for (uint32_t i = 0; i < t->a->run; i += 2, w += 2 * CONV_BLOCK) {
        vi wv = vi_pairs_s8(w, part);
#pragma GCC unroll 4
        for (int r = 0; r < mr; r++)
            acc[r] = vi_dot16(acc[r], runs_pair(x[r] + i), wv);
    }
}

static inline void runs_end(const struct runs_tile *t, uint32_t row, vf v, uint32_t n)
{
    const struct conv_args *a = t->a;
    uint64_t to = t->p->out[row] + t->c->c0 + t->at;
    if (t->c->plain) {
        vf lo = vf_set1((float)(a->q_lo + a->out_offset)), hi = vf_set1((float)(a->q_hi + a->out_offset));
        uint32_t bytes = dtype_bits(a->out_type) / 8;
        vi_store_n((char *)t->out + to * bytes, vi_sub(vi_round(vf_min(vf_max(v, lo), hi)), vi_set1(a->out_offset)), n,
                   bytes);
        return;
    }
    float steps[VEC_LANES];
    vf_store_n(steps, v, VEC_LANES);
    for (uint32_t i = 0; i < n; i++)
        conv_store_steps(a, t->out, to + i, steps[i]);
}

static inline __attribute__((always_inline)) void runs_tile_run(const struct runs_tile *t, const int mr)
{
    const struct conv_args *a = t->a;
    const struct conv_chunk *c = t->c;
    const uint32_t n = c->n - t->at < VEC_LANES ? c->n - t->at : VEC_LANES;
    vf sum[RUNS_MR];
    vi acc[RUNS_MR];
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++)
        sum[r] = vf_zero();
    uint64_t k = 0;
    for (uint32_t s = 0; s < t->p->n_seg; s++)
        for (uint32_t i = 0; i < t->p->seg[s].n; i += a->run, k += a->run) {
            uint64_t run = (t->p->seg[s].k + i) / a->run;
            const float *m = c->m + run * c->m_stride + t->at;
            int32_t base[VEC_LANES] = { 0 };
            for (uint32_t j = 0; j < n; j++)
                base[j] = (int32_t)(uint32_t)(uint64_t)(t->left * c->wsum[run * c->sum_stride + t->at + j]);
            run_sums(t, mr, k, (const int8_t *)t->w + (t->p->seg[s].k + i) * CONV_BLOCK, acc);
#pragma GCC unroll 4
            for (int r = 0; r < mr; r++) {
                sum[r] = vf_fma(vf_from_int(vi_add(acc[r], vi_load(base))), vf_load_n(m, n), sum[r]);
                if (t->offsets) {
                    int64_t x = sum_row(a, (const int16_t *)t->p->x[t->row + (uint32_t)r] + k, a->run);
                    sum[r] = vf_fma(vf_set1((float)x), vf_load_n(m + a->n_runs * c->m_stride, n), sum[r]);
                }
            }
        }
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++)
        runs_end(t, t->row + (uint32_t)r, vf_add(sum[r], vf_load_n(c->m + (a->n_m - 1) * c->m_stride + t->at, n)), n);
}

static void runs_tile_1(const struct runs_tile *t)
{
    runs_tile_run(t, 1);
}

static void runs_tile_4(const struct runs_tile *t)
{
    runs_tile_run(t, RUNS_MR);
}

static void block_run(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    for (uint32_t at = 0; at < c->n; at += VEC_LANES) {
        struct runs_tile t = { a,
                               p,
                               c,
                               (const char *)c->w + at / CONV_BLOCK * conv_block_bytes(a),
                               0,
                               at,
                               (int32_t)left_over(a),
                               a->n_m > a->n_runs + 1,
                               out };
        for (; p->rows - t.row >= RUNS_MR; t.row += RUNS_MR)
            runs_tile_4(&t);
        for (; t.row < p->rows; t.row++)
            runs_tile_1(&t);
    }
}

static const struct conv_engine engine = { .elem = 2,
                                           .rows = CONV_VECTOR_ROWS,
                                           .in_place = in_place,
                                           .load = load_row,
                                           .load_windows = load_windows,
                                           .pad = pad_row,
                                           .sum = sum_row,
                                           .block = block_run };
