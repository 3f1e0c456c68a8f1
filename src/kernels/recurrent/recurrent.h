/* SPDX-License-Identifier: Apache-2.0 */
/* Lstm and Gru: docs/numerics.md section 9. Elements of a batch are independent and are the units of work; time runs inside.
 * A batch of one is cut otherwise: into phases, one or two per time step, and the units of work are blocks of a phase, each
 * RNN_ROWS units of the layer. What a block needs of others is h of the phase before, which lies in the shared workspace. */
#ifndef KERNELS_RECURRENT_RECURRENT_H
#define KERNELS_RECURRENT_RECURRENT_H

#include "kernels/kernels.h"
#include "kernels/span.h"

enum {
    RNN_INPUTS = 25,
    RNN_OUTPUTS = 8,
    RNN_ROWS = 16,  /* units side by side in a turned matrix */
    RNN_STEPS = 16, /* time steps whose inputs are multiplied together, at most */
};

/* Operands by their place in the operator. */
enum lstm_in {
    LSTM_X,
    LSTM_WXF,
    LSTM_WXC,
    LSTM_WXO,
    LSTM_WHF,
    LSTM_WHC,
    LSTM_WHO,
    LSTM_BF,
    LSTM_BC,
    LSTM_BO,
    LSTM_H,
    LSTM_C,
    LSTM_NI,
    LSTM_NF,
    LSTM_NC,
    LSTM_NO,
    LSTM_WXI,
    LSTM_WHI,
    LSTM_WCI,
    LSTM_WCF,
    LSTM_WCO,
    LSTM_BI,
    LSTM_WP,
    LSTM_BP,
    LSTM_RESET
};
enum gru_in {
    GRU_X, GRU_WXZ, GRU_WXR, GRU_WXN, GRU_WHZ, GRU_WHR, GRU_WHN, GRU_BXZ, GRU_BXR, GRU_BXN, GRU_BHZ, GRU_BHR, GRU_BHN, GRU_H,
    GRU_RESET
};

struct rnn_args {
    uint32_t n_in;
    uint32_t batch, time, in, units, out;     /* out: values of h; units, unless projected */
    int64_t x_batch, x_time, y_batch, y_time; /* strides of input and output, in rows of `in` or `out` values */
    bool reverse, linear_before_reset;
    bool sequence[RNN_OUTPUTS]; /* the output has a row per time step, the others keep the last */
    uint32_t given, wanted;     /* bit i: in[i], out[i] is there */
    float cell_clip, out_clip;
    /* With a reset input: a flag per batch element that says its state is there, then h and C of all of them, stored as
     * out[0] and out[1] store them, since that is how they go from step to step. */
    bool stateful;
    uint64_t state_at[2];
    struct codec state[2];
    struct codec src[RNN_INPUTS], dst[RNN_OUTPUTS];
    uint8_t wx[4]; /* operands: matrices of the inputs per gate, 0: none; first h and C, reset */
    uint8_t first[2], reset;
    bool has_c;
    uint32_t step_phases, phases;   /* phases of a step; of all, one more to keep the states */
    uint32_t blocks;                /* of a phase, 0: a unit of work is a batch element */
    uint64_t shared_floats;         /* of the workspace, behind them is what a tile has for itself */
    const void *turned[RNN_INPUTS]; /* matrices from aux; NULL: as the operand has them */
    uint32_t whole;                 /* bit i: products with matrix in[i] are sums of whole numbers */
    bool whole_x, whole_h;          /* of one of those with x, with h */
    bool whole_first;               /* the first h, if it is given, has whole numbers */
    uint32_t steps;                 /* of one multiplication by input matrices */
};

/* Vectors of fixed point as whole numbers, offset included: 256 high + low. */
struct rnn_whole {
    bool floats;               /* these have none: they are multiplied as floats */
    int16_t *low, *high;       /* high NULL: low is all there is */
    int64_t *sum;              /* of the numbers of each vector */
    uint32_t step;             /* numbers between vectors, even; behind an odd number of them is a 0 */
    float scale;
};

/* acc[s][u] = fma over k ascending of v[s][k] * W[u, k], continuing acc, for all steps s and rows u of a turned matrix; of
 * whole numbers fma(sum over k, scales, acc). acc has room for whole blocks of rows. */
struct rnn_product {
    const struct codec *codec;
    const float *scales; /* of the rows; NULL: the codec's is that of all */
    const void *w;
    const struct rnn_whole *whole;         /* NULL: v */
    uint32_t rows, columns, block_columns; /* block_columns: columns between blocks, when only some are multiplied */
    uint32_t steps;
    const float *v;
    float *acc;
    uint32_t v_step, acc_step;
    bool backward; /* the last rows first: what a step read last is what the next one finds in a cache */
};

/* What bytes of a matrix, made signed, lack to be the numbers that they stand for. */
static inline int32_t rnn_byte_offset(const struct codec *c)
{
    return c->offset + (c->type == DT_UQ8 ? 128 : 0);
}

/* Of a row, for products of whole numbers. */
static inline float rnn_row_scale(const struct rnn_product *p, uint32_t row)
{
    return p->scales ? p->scales[row] : p->codec->scale;
}

/* Products with matrix in[operand] are sums of whole numbers: docs/numerics.md section 9. And whether a vector can be the
 * other factor. */
bool recurrent_whole(const struct op_call *c, uint32_t operand);
bool recurrent_whole_vector(const struct op_call *c, const struct tensor_desc *d);
enum status recurrent_aux(const struct op_call *c, struct kernel_aux *ret);
enum status recurrent_aux_fill(const struct op_call *c, uint32_t which, void *dst);
void recurrent_find_turned(const struct op_call *c, struct rnn_args *a);

kernel_fn lstm_ref, lstm_avx2, lstm_avx512;
kernel_fn gru_ref, gru_avx2, gru_avx512;

#endif
