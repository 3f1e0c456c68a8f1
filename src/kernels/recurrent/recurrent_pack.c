/* SPDX-License-Identifier: Apache-2.0 */
/* Constant matrices of recurrent layers, turned once at prepare: every step multiplies all of them, and vectors run over
 * units.
 *
 *     aux[0]   a matrix after the other, each from a multiple of 64 bytes on:  [rows / 16][columns][16], rows padded with
 *              zero bits; of whole numbers, signed bytes:  [rows / 16][columns / 2][16][2], rows and columns padded with 0
 *
 * Elements stay in the type and encoding of the tensor; of whole numbers unsigned ones are 128 less. Layers with matrices
 * that are not constant, or have less than 8 bits, use them as they are, and so are matrices used that have a scale per row
 * and are not multiplied as whole numbers. */
#include <string.h>

#include "kernels/recurrent/recurrent.h"

static const uint8_t lstm_matrices[] = { LSTM_WXF, LSTM_WXC, LSTM_WXO, LSTM_WHF, LSTM_WHC,
                                         LSTM_WHO, LSTM_WXI, LSTM_WHI, LSTM_WP };
static const uint8_t gru_matrices[] = { GRU_WXZ, GRU_WXR, GRU_WXN, GRU_WHZ, GRU_WHR, GRU_WHN };

static const struct tensor_desc *matrix(const struct op_call *c, uint32_t i, uint8_t *ret_operand)
{
    const bool lstm = c->op->id == OP_Lstm;
    *ret_operand = lstm ? lstm_matrices[i] : gru_matrices[i];
    return *ret_operand < c->n_in ? c->in[*ret_operand] : NULL;
}

static uint32_t matrices(const struct op_call *c)
{
    return c->op->id == OP_Lstm ? sizeof(lstm_matrices) : sizeof(gru_matrices);
}

/* A vector that is stored as 8 or 16 bits, with one encoding. */
bool recurrent_whole_vector(const struct op_call *c, const struct tensor_desc *d)
{
    struct codec codec;
    return d && dtype_is_fixed(d->type) && dtype_bits(d->type) >= 8 && codec_init(&codec, d, c) == ST_OK && !codec.wide &&
           !codec.scales;
}

static bool whole_matrix(const struct op_call *c, const struct tensor_desc *d)
{
    struct codec codec;
    bool bytes = d && (d->type == DT_SQ8 || d->type == DT_UQ8);
    return bytes && codec_init(&codec, d, c) == ST_OK && !codec.wide && !codec.bits;
}

static const uint32_t of_x[2] = { 1u << LSTM_WXF | 1u << LSTM_WXC | 1u << LSTM_WXO | 1u << LSTM_WXI,
                                  1u << GRU_WXZ | 1u << GRU_WXR | 1u << GRU_WXN },
                      of_h[2] = { 1u << LSTM_WHF | 1u << LSTM_WHC | 1u << LSTM_WHO | 1u << LSTM_WHI,
                                  1u << GRU_WHZ | 1u << GRU_WHR | 1u << GRU_WHN };

bool recurrent_whole(const struct op_call *c, uint32_t operand)
{
    const bool gru = c->op->id == OP_Gru;
    if (operand >= c->n_in || !whole_matrix(c, c->in[operand]))
        return false;
    if (of_x[gru] >> operand & 1)
        return recurrent_whole_vector(c, c->in[0]);
    if (gru && operand == GRU_WHN && !op_int(c, "linear_before_reset", 0)) /* multiplied with r h, which nobody stores */
        return false;
    return of_h[gru] >> operand & 1 && c->n_out && recurrent_whole_vector(c, c->out[0]);
}

static bool is_turned(const struct op_call *c, uint8_t operand)
{
    const struct tensor_desc *d = c->in[operand];
    return d && (!dtype_is_fixed(d->type) || d->q.kind != Q_AXIS || d->q.n == 1 || recurrent_whole(c, operand));
}

static uint64_t bytes_of(const struct op_call *c, uint8_t operand)
{
    const struct tensor_desc *d = c->in[operand];
    const uint64_t rows = ((uint64_t)d->dims[0] + RNN_ROWS - 1) / RNN_ROWS * RNN_ROWS,
                   columns = recurrent_whole(c, operand) ? (d->dims[1] + UINT64_C(1)) / 2 * 2 : d->dims[1];
    return (rows * columns * (dtype_bits(d->type) / 8) + 63) / 64 * 64;
}

enum status recurrent_aux(const struct op_call *c, struct kernel_aux *ret)
{
    uint64_t bytes = 0;
    uint32_t replaces = 0;
    uint8_t operand;
    for (uint32_t i = 0; i < matrices(c); i++) {
        const struct tensor_desc *d = matrix(c, i, &operand);
        struct codec codec;
        if (!d)
            continue;
        if (!c->in_data || !c->in_data[operand] || dtype_bits(d->type) < 8 || codec_init(&codec, d, c) != ST_OK)
            return ST_OK;
        if (!is_turned(c, operand))
            continue;
        bytes += bytes_of(c, operand);
        replaces |= 1u << operand;
    }
    if (!bytes)
        return ST_OK;
    ret->n = 1;
    ret->bytes[0] = bytes;
    ret->replaces = replaces;
    return ST_OK;
}

static void turn(const struct tensor_desc *d, const char *from, char *to)
{
    const uint64_t size = dtype_bits(d->type) / 8, rows = d->dims[0], columns = d->dims[1];
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t k = 0; k < columns; k++)
            memcpy(to + ((r / RNN_ROWS * columns + k) * RNN_ROWS + r % RNN_ROWS) * size, from + (r * columns + k) * size,
                   size);
}

static void turn_pairs(const struct tensor_desc *d, const uint8_t *from, uint8_t *to)
{
    const uint64_t rows = d->dims[0], columns = d->dims[1], pairs = (columns + 1) / 2;
    const uint8_t flip = d->type == DT_UQ8 ? 0x80 : 0;
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t k = 0; k < columns; k++)
            to[((r / RNN_ROWS * pairs + k / 2) * RNN_ROWS + r % RNN_ROWS) * 2 + k % 2] = from[r * columns + k] ^ flip;
}

enum status recurrent_aux_fill(const struct op_call *c, uint32_t which, void *dst)
{
    uint8_t operand;
    char *to = dst;
    (void)which;
    for (uint32_t i = 0; i < matrices(c); i++) {
        const struct tensor_desc *d = matrix(c, i, &operand);
        if (!d || !is_turned(c, operand))
            continue;
        memset(to, 0, bytes_of(c, operand));
        if (recurrent_whole(c, operand))
            turn_pairs(d, c->in_data[operand], (uint8_t *)to);
        else
            turn(d, c->in_data[operand], to);
        to += bytes_of(c, operand);
    }
    return ST_OK;
}

void recurrent_find_turned(const struct op_call *c, struct rnn_args *a)
{
    uint8_t operand;
    const char *at = c->n_aux && c->aux ? c->aux[0] : NULL;
    for (uint32_t i = 0; at && i < matrices(c); i++) {
        const struct tensor_desc *d = matrix(c, i, &operand);
        if (!d || !is_turned(c, operand))
            continue;
        a->turned[operand] = at;
        at += bytes_of(c, operand);
    }
}
