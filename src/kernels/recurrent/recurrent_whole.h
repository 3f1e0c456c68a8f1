/* SPDX-License-Identifier: Apache-2.0 */
/* Products of whole numbers in vectors: fixed-point vectors of 8 or 16 bits with turned matrices of bytes. A file includes
 * vec_<isa>.h, recurrent_turned.h and this; recurrent_ref.c has the same in plain C.
 *
 * Pairs of columns are multiplied as 16 bits and added up in 32 for as long as nothing can overflow, then in 64. The low
 * byte of a number and what is above it have sums of their own. */

/* 2 * 128 * 2^14 (a vector that is not "wide", without its low byte) * 256 = 2^30 */
enum { WHOLE_PAIRS = 256, WHOLE_BLOCKS = VEC_LANES == 16 ? 8 : 2, STEP_BLOCKS = VEC_LANES == 16 ? 2 : 1 };

static inline __attribute__((always_inline)) vi pair_of(const int16_t *words, uint32_t pair)
{
    int32_t both;
    memcpy(&both, words + 2 * pair, sizeof(both));
    return vi_set1(both);
}

/* Adds up to WHOLE_PAIRS pairs from `from` on to the sums of all blocks and steps. */
static inline __attribute__((always_inline)) void add_pairs(const struct rnn_product *p, uint32_t from, uint32_t end,
                                                            const int blocks, const int steps, const bool two,
                                                            int64_t (*sum)[RNN_ROWS])
{
    const struct rnn_whole *q = p->whole;
    const uint64_t pairs = (p->columns + UINT64_C(1)) / 2;
    vi low[STEPS][WHOLE_BLOCKS * PER_BLOCK], high[STEPS][WHOLE_BLOCKS * PER_BLOCK];
#pragma GCC unroll 16
    for (int s = 0; s < steps; s++)
#pragma GCC unroll 16
        for (int v = 0; v < blocks * PER_BLOCK; v++)
            low[s][v] = high[s][v] = vi_zero();
    for (uint32_t k = from; k < end; k++)
#pragma GCC unroll 16
        for (int v = 0; v < blocks * PER_BLOCK; v++) {
            const int8_t *at = (const int8_t *)p->w + ((uint64_t)(v / PER_BLOCK) * pairs + k) * (2 * RNN_ROWS);
            const vi w = vi_pairs_s8(at, (uint32_t)(v % PER_BLOCK));
#pragma GCC unroll 16
            for (int s = 0; s < steps; s++) {
                low[s][v] = vi_dot16(low[s][v], pair_of(q->low + (uint32_t)s * q->step, k), w);
                if (two)
                    high[s][v] = vi_dot16(high[s][v], pair_of(q->high + (uint32_t)s * q->step, k), w);
            }
        }
#pragma GCC unroll 16
    for (int s = 0; s < steps; s++)
#pragma GCC unroll 16
        for (int v = 0; v < blocks * PER_BLOCK; v++) {
            int64_t *to = sum[s * blocks + v / PER_BLOCK] + v % PER_BLOCK * VEC_LANES;
            vi_widen(to, low[s][v], 0);
            if (two)
                vi_widen(to, high[s][v], 8);
        }
}

static inline __attribute__((always_inline)) void end_block(const struct rnn_product *p, uint32_t block, uint32_t step,
                                                            const int64_t *sum)
{
    const vf one = vf_set1(p->whole->scale * p->codec->scale), x = vf_set1(p->whole->scale);
    uint32_t row = block * RNN_ROWS;
    float *acc = p->acc + step * p->acc_step + row;
#pragma GCC unroll 2
    for (int v = 0; v < PER_BLOCK; v++, acc += VEC_LANES, row += VEC_LANES) {
        const uint32_t rows = row >= p->rows ? 0 : p->rows - row < VEC_LANES ? p->rows - row : VEC_LANES;
        const vf scale = p->scales ? vf_mul(x, vf_load_n(p->scales + row, rows)) : one;
        vf_store_n(acc, vf_fma(vf_from_long(sum + v * VEC_LANES), scale, vf_load(acc)), VEC_LANES);
    }
}

/* `blocks` of them from `block` on, `steps` from `step` on. */
static inline __attribute__((always_inline)) void whole_run(const struct rnn_product *all, uint32_t block, uint32_t step,
                                                            const int blocks, const int steps, const bool two)
{
    struct rnn_product p = *all;
    struct rnn_whole q = *all->whole;
    int64_t sum[STEPS * WHOLE_BLOCKS][RNN_ROWS];
    const uint32_t pairs = p.columns / 2 + (p.columns & 1);
    for (int i = 0; i < blocks * steps; i++)
        for (int j = 0; j < RNN_ROWS; j++)
            sum[i][j] = rnn_byte_offset(p.codec) * q.sum[step + (uint32_t)(i / blocks)];
    p.w = (const int8_t *)p.w + (uint64_t)block * pairs * (2 * RNN_ROWS);
    q.low += (uint64_t)step * q.step;
    q.high = two ? q.high + (uint64_t)step * q.step : NULL;
    p.whole = &q;
    for (uint32_t k = 0; k < pairs; k += WHOLE_PAIRS)
        add_pairs(&p, k, pairs - k < WHOLE_PAIRS ? pairs : k + WHOLE_PAIRS, blocks, steps, two, sum);
    for (int s = 0; s < steps; s++)
        for (int b = 0; b < blocks; b++)
            end_block(all, block + (uint32_t)b, step + (uint32_t)s, sum[s * blocks + b]);
}

typedef void whole_fn(const struct rnn_product *p, uint32_t block, uint32_t step);
#define WHOLE(name, blocks, steps, two)                                          \
    static void name(const struct rnn_product *p, uint32_t block, uint32_t step) \
    {                                                                            \
        whole_run(p, block, step, blocks, steps, two);                           \
    }
WHOLE(whole_one, 1, 1, false)
WHOLE(whole_one_two, 1, 1, true)
WHOLE(whole_many, WHOLE_BLOCKS, 1, false)
WHOLE(whole_many_two, WHOLE_BLOCKS, 1, true)
WHOLE(whole_step, 1, STEPS, false)
WHOLE(whole_step_two, 1, STEPS, true)
WHOLE(whole_steps, STEP_BLOCKS, STEPS, false)
WHOLE(whole_steps_two, STEP_BLOCKS, STEPS, true)

/* All blocks of one or STEPS steps, `most` at a time by `many`. */
static void all_blocks(const struct rnn_product *p, uint32_t step, whole_fn *one, whole_fn *many, uint32_t most)
{
    const uint32_t blocks = (p->rows + RNN_ROWS - 1) / RNN_ROWS, parts = blocks / most;
    for (uint32_t i = 0; i < parts; i++)
        many(p, (p->backward ? parts - 1 - i : i) * most, step);
    for (uint32_t b = parts * most; b < blocks; b++)
        one(p, b, step);
}

static void multiply_whole(const struct rnn_product *p)
{
    const bool two = p->whole->high != NULL;
    uint32_t s = 0;
    for (; p->steps - s >= STEPS; s += STEPS)
        all_blocks(p, s, two ? whole_step_two : whole_step, two ? whole_steps_two : whole_steps, STEP_BLOCKS);
    for (; s < p->steps; s++)
        all_blocks(p, s, two ? whole_one_two : whole_one, two ? whole_many_two : whole_many, WHOLE_BLOCKS);
}
