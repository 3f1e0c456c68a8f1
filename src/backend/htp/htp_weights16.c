/* SPDX-License-Identifier: Apache-2.0 */
/* 16-bit weights beside 16-bit activations (A16W16). The matrix unit takes them only up to 0x7F7F, and only for some
 * operators. Quantizers of public programs use all of the range, so what goes beyond is computed exactly, with a warning;
 * OPENQNN_STRICT refuses it. */
#include "backend/htp/htp_backend.h"
#include "backend/htp/htp_device_check.h"

#include <string.h>

enum { MOST = 0x7F7F };

static const enum op_id products[] = { OP_Conv2d, OP_DepthWiseConv2d, OP_TransposeConv2d, OP_FullyConnected,
                                       OP_MatMul, OP_Batchnorm,       OP_LayerNorm };

static bool is_listed(enum op_id op)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        if (products[i] == op)
            return true;
    return false;
}

static bool is_16_bit(const struct tensor_desc *d)
{
    return d->type == DT_SQ16 || d->type == DT_UQ16;
}

/* Constant weights of a convolution that is not on the list. */
static bool is_other_product(enum op_id op)
{
    return op == OP_Conv1d || op == OP_Conv3d || op == OP_DepthWiseConv1d || op == OP_TransposeConv1d ||
           op == OP_TransposeConv3d;
}

static int32_t largest(const struct ir_tensor *weights)
{
    const char *data = weights->data;
    uint64_t n = desc_count(&weights->desc);
    int16_t most = INT16_MIN;

    for (uint64_t i = 0; i < n; i++) {
        int16_t value;

        memcpy(&value, data + 2 * i, sizeof value);
        most = value > most ? value : most;
    }
    return most;
}

enum weights16 htp_weights16(const struct ir_graph *g, const struct ir_node *node, int32_t *most)
{
    bool pair = node->n_in >= 2 && node->in[0] != IR_NONE && node->in[1] != IR_NONE;

    if (!pair || (!is_listed(node->op->id) && !is_other_product(node->op->id)))
        return WEIGHTS16_NONE;
    const struct ir_tensor *weights = &g->tensors.at[node->in[1]];
    if (!is_16_bit(&g->tensors.at[node->in[0]].desc) || !is_16_bit(&weights->desc))
        return WEIGHTS16_NONE;
    if (!is_listed(node->op->id))
        return WEIGHTS16_OPERATOR;
    if (weights->role != IR_CONST || !weights->data || weights->raw_bytes || weights->desc.type != DT_SQ16)
        return WEIGHTS16_FINE;
    *most = largest(weights);
    return *most <= MOST ? WEIGHTS16_FINE : WEIGHTS16_RANGE;
}

static enum status check_node(const struct ir_graph *g, const struct ir_node *node)
{
    static _Atomic bool said_range;
    static _Atomic bool said_operator;
    int32_t most = 0;
    enum weights16 found = htp_weights16(g, node, &most);

    if (found == WEIGHTS16_OPERATOR)
        return htp_deviate(&said_operator, ST_NOT_SUPPORTED,
                           "node \"%s\": 16-bit weights beside 16-bit activations are for Conv2d, "
                           "DepthWiseConv2d, TransposeConv2d, FullyConnected, MatMul, Batchnorm and "
                           "LayerNorm; %s is computed all the same, a device would refuse it: use 8-bit "
                           "weights",
                           node->name, node->op->name);
    if (found != WEIGHTS16_RANGE)
        return ST_OK;
    return htp_deviate(&said_range, ST_NOT_SUPPORTED,
                       "node \"%s\": 16-bit weights \"%s\" go up to 0x%X; a device takes -0x8000 to 0x7F7F "
                       "beside 16-bit activations, here they are computed exactly: quantize with "
                       "--restrict_quantization_steps \"-0x8000 0x7F7F\"",
                       node->name, g->tensors.at[node->in[1]].name, (unsigned)most);
}

enum status htp_check_weights16(const struct ir_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        TRY(check_node(g, &g->nodes.at[i]));
    for (size_t i = 0; i < g->children.n; i++)
        TRY(htp_check_weights16(g->children.at[i]));
    return ST_OK;
}
