/* SPDX-License-Identifier: Apache-2.0 */
/* Products with turned matrices (recurrent_pack.c) in vectors. A file includes vec_<isa>.h and this; recurrent_ref.c has the
 * same in plain C. Each sum is one accumulator and k ascends, as docs/numerics.md section 9 wants. Sums that run side by
 * side hide the latency of the multiplier: up to eight blocks of units for one step, or some blocks for several steps, as
 * many as there are registers for. */
#include "kernels/kernel_util.h"
#include "kernels/recurrent/recurrent.h"

enum { PER_BLOCK = RNN_ROWS / VEC_LANES, BLOCKS = 8, COLUMNS_AT_ONCE = SPAN / RNN_ROWS };
enum { WIDE = PER_BLOCK == 1 ? 4 : 1, STEPS = 6, LEAST_STEPS = 4 /* fewer are taken one by one */ };
enum kind { KIND_F32, KIND_F16, KIND_SQ8, KIND_UQ8, KIND_SQ16, KIND_UQ16, KINDS };

static inline __attribute__((always_inline)) vf weights_at(const enum kind kind, const void *w, uint64_t at, vf scale,
                                                           vi offset)
{
    const char *p = w;
    vi q;
    if (kind == KIND_F32)
        return vf_load((const float *)w + at);
    if (kind == KIND_F16)
        return vf_load_half((const uint16_t *)w + at);
    q = kind == KIND_SQ8 ? vi_from_s8(p + at, VEC_LANES) : kind == KIND_UQ8 ? vi_from_u8(p + at, VEC_LANES)
      : kind == KIND_SQ16 ? vi_from_s16(p + 2 * at, VEC_LANES) : vi_from_u16(p + 2 * at, VEC_LANES);
    return vf_mul(vf_from_int(vi_add(q, offset)), scale);
}

static inline __attribute__((always_inline)) void run(const struct rnn_product *p, const enum kind kind, const int blocks,
                                                      const int steps)
{
    vf acc[STEPS][BLOCKS * PER_BLOCK];
    const vf scale = vf_set1(p->codec->scale);
    const vi offset = vi_set1(p->codec->offset);
#pragma GCC unroll 16
    for (int s = 0; s < steps; s++)
#pragma GCC unroll 16
        for (int v = 0; v < blocks * PER_BLOCK; v++)
            acc[s][v] = vf_load(p->acc + (uint32_t)s * p->acc_step + (uint32_t)v * VEC_LANES);
    for (uint32_t k = 0; k < p->columns; k++) {
        vf w[BLOCKS * PER_BLOCK];
#pragma GCC unroll 16
        for (int v = 0; v < blocks * PER_BLOCK; v++) {
            uint64_t at =
                ((uint64_t)(v / PER_BLOCK) * p->block_columns + k) * RNN_ROWS + (uint32_t)(v % PER_BLOCK) * VEC_LANES;
            w[v] = weights_at(kind, p->w, at, scale, offset);
        }
#pragma GCC unroll 16
        for (int s = 0; s < steps; s++) {
            const vf x = vf_set1(p->v[(uint32_t)s * p->v_step + k]);
#pragma GCC unroll 16
            for (int v = 0; v < blocks * PER_BLOCK; v++)
                acc[s][v] = vf_fma(x, w[v], acc[s][v]);
        }
    }
#pragma GCC unroll 16
    for (int s = 0; s < steps; s++)
#pragma GCC unroll 16
        for (int v = 0; v < blocks * PER_BLOCK; v++)
            vf_store_n(p->acc + (uint32_t)s * p->acc_step + (uint32_t)v * VEC_LANES, acc[s][v], VEC_LANES);
}

/* runs[kind][n]: n blocks for one step; [BLOCKS + s]: WIDE blocks for s steps, [BLOCKS + STEPS + 1]: one for LEAST_STEPS. */
#define RUN(kind, n) static void run_##kind##_##n(const struct rnn_product *p) { run(p, kind, n, 1); }
#define RUN_STEPS(kind, s) static void run_##kind##_steps_##s(const struct rnn_product *p) { run(p, kind, WIDE, s); }
#define RUN_LEAST(kind) static void run_##kind##_least(const struct rnn_product *p) { run(p, kind, 1, LEAST_STEPS); }
#define RUNS(kind)                                                                                                        \
    RUN(kind, 1) RUN(kind, 2) RUN(kind, 3) RUN(kind, 4) RUN(kind, 5) RUN(kind, 6) RUN(kind, 7) RUN(kind, 8)               \
    RUN_STEPS(kind, 4) RUN_STEPS(kind, 5) RUN_STEPS(kind, 6) RUN_LEAST(kind)
#define ROW(kind)                                                                                                         \
    [kind] = { NULL, run_##kind##_1, run_##kind##_2, run_##kind##_3, run_##kind##_4, run_##kind##_5, run_##kind##_6,      \
               run_##kind##_7, run_##kind##_8, [BLOCKS + 4] = run_##kind##_steps_4, [BLOCKS + 5] = run_##kind##_steps_5,  \
               [BLOCKS + 6] = run_##kind##_steps_6, [BLOCKS + STEPS + 1] = run_##kind##_least }
RUNS(KIND_F32)
RUNS(KIND_F16)
RUNS(KIND_SQ8)
RUNS(KIND_UQ8)
RUNS(KIND_SQ16)
RUNS(KIND_UQ16)
static void (*const runs[KINDS][BLOCKS + STEPS + 2])(const struct rnn_product *p) = {
    ROW(KIND_F32), ROW(KIND_F16), ROW(KIND_SQ8), ROW(KIND_UQ8), ROW(KIND_SQ16), ROW(KIND_UQ16)
};

static enum kind kind_of(const struct codec *c)
{
    if (c->wide || c->bits)
        return KINDS;
    return c->type == DT_F32    ? KIND_F32
           : c->type == DT_F16  ? KIND_F16
           : c->type == DT_SQ8  ? KIND_SQ8
           : c->type == DT_UQ8  ? KIND_UQ8
           : c->type == DT_SQ16 ? KIND_SQ16
           : c->type == DT_UQ16 ? KIND_UQ16
                                : KINDS;
}

/* One block by way of f32, some columns at a time. */
static void by_way_of_f32(const struct rnn_product *p, uint32_t steps)
{
    float w[SPAN];
    for (uint32_t k = 0; k < p->columns; k += COLUMNS_AT_ONCE) {
        uint32_t n = p->columns - k < COLUMNS_AT_ONCE ? p->columns - k : COLUMNS_AT_ONCE;
        K(span_load)(p->codec, p->w, (int64_t)k * RNN_ROWS, 1, n * RNN_ROWS, w);
        for (uint32_t s = 0; s < steps; s++) {
            struct rnn_product part = *p;
            part.w = w;
            part.columns = n;
            part.v = p->v + s * p->v_step + k;
            part.acc = p->acc + s * p->acc_step;
            run(&part, KIND_F32, 1, 1);
        }
    }
}

/* Steps that are taken together of those left, and the function for that. */
static uint32_t some_steps(uint32_t blocks, uint32_t left, uint32_t *ret)
{
    const uint32_t parts = (left + STEPS - 1) / STEPS, even = (left + parts - 1) / parts;
    if (left < LEAST_STEPS || (blocks != WIDE && blocks != 1)) {
        *ret = blocks;
        return 1;
    }
    *ret = blocks == WIDE ? BLOCKS + even : BLOCKS + STEPS + 1;
    return blocks == WIDE ? even : LEAST_STEPS;
}

/* n blocks from b on. */
static void multiply_blocks(struct rnn_product p, enum kind kind, uint32_t b, uint32_t n)
{
    p.w = (const char *)p.w + b * ((uint64_t)p.columns * RNN_ROWS * (dtype_bits(p.codec->type) / 8));
    p.acc += b * RNN_ROWS;
    if (kind == KINDS) {
        by_way_of_f32(&p, p.steps);
        return;
    }
    for (uint32_t s = 0, some, which; s < p.steps; s += some) {
        struct rnn_product part = p;
        some = some_steps(n, p.steps - s, &which);
        part.v += s * p.v_step;
        part.acc += s * p.acc_step;
        runs[kind][which](&part);
    }
}

static void multiply_turned(const struct rnn_product *p)
{
    const enum kind kind = kind_of(p->codec);
    const uint32_t blocks = (p->rows + RNN_ROWS - 1) / RNN_ROWS, once = p->steps < LEAST_STEPS ? BLOCKS : WIDE,
                   most = kind < KINDS ? once : 1, parts = (blocks + most - 1) / most;
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t at = (p->backward ? parts - 1 - i : i) * most;
        multiply_blocks(*p, kind, at, blocks - at < most ? blocks - at : most);
    }
}
