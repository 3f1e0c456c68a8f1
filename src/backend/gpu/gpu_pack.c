/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of products, laid out once at prepare so that every device reads them in a line: panels of GPU_PANEL columns, a
 * product's row of them after the other.
 *
 *     group 0  panel 0   k = 0: columns 0 … 31    k = 1: columns 0 … 31    …
 *              panel 1   k = 0: columns 32 … 63   …            (zeros where columns end)
 *     group 1  …
 *
 * The layout does not depend on the device, so the constants travel in the binary. Filters that are computed have none. */
#include <limits.h>
#include <string.h>

#include "backend/gpu/gpu_launch.h"
#include "kernels/kernels.h"

/* The right operand: column c of group g and product k is element at(g, k, c). */
struct weights {
    uint32_t groups, cols, depth, bytes;
    uint64_t group_step, k_step, col_step;
};

static int64_t group_of(const struct op_call *c)
{
    return op_param_index(c->op, "group") < 0 ? 1 : op_int(c, "group", 0);
}

static bool weights_of(const struct op_call *c, struct weights *ret)
{
    const struct tensor_desc *w = c->n_in > 1 ? c->in[1] : NULL;
    const struct tensor_desc *bias = c->n_in > 2 ? c->in[2] : NULL;
    if (!w || w->type != c->in[0]->type || w->type != c->out[0]->type || (bias && bias->type != w->type) ||
        (w->type != DT_F32 && w->type != DT_F16))
        return false;
    uint32_t bytes = dtype_bits(w->type) / 8, g;
    switch (c->op->id) {
    case OP_Conv2d:
        g = (uint32_t)group_of(c);
        if (g > 1 && c->in[0]->dims[3] == g) /* depthwise */
            return false;
        *ret = (struct weights){ g, w->dims[3] / g, w->dims[0] * w->dims[1] * w->dims[2], bytes, w->dims[3] / g, w->dims[3],
                                 1 };
        return true;
    case OP_FullyConnected:
        *ret = (struct weights){ 1, w->dims[0], w->dims[1], bytes, 0, 1, w->dims[1] };
        return true;
    case OP_MatMul:
        if (w->rank != 2 || c->in[0]->rank < 2 || op_int(c, "transpose_in0", 0))
            return false;
        bool t = op_int(c, "transpose_in1", 0);
        *ret =
            (struct weights){ 1, w->dims[t ? 0 : 1], w->dims[t ? 1 : 0], bytes, 0, t ? 1 : w->dims[1], t ? w->dims[1] : 1 };
        return true;
    default: return false;
    }
}

static uint64_t panels(const struct weights *w)
{
    return (uint64_t)(w->cols + GPU_PANEL - 1) / GPU_PANEL;
}

uint64_t gpu_packed_bytes(const struct op_call *c)
{
    struct weights w;
    if (!weights_of(c, &w))
        return 0;
    uint64_t elements = w.groups * panels(&w) * GPU_PANEL * w.depth;
    return elements > INT_MAX - GPU_LANES ? 0 : elements * w.bytes; /* places inside are int */
}

enum status gpu_aux(const struct op_call *c, struct kernel_aux *ret)
{
    uint64_t bytes = c->in_data && c->n_in > 1 && c->in_data[1] ? gpu_packed_bytes(c) : 0;
    *ret = (struct kernel_aux){ .n = bytes != 0, .bytes = { bytes }, .replaces = bytes ? 1u << 1 : 0 };
    return ST_OK;
}

static void fill_panel(const struct weights *w, const uint8_t *from, uint32_t cols, uint8_t *to)
{
    for (uint64_t k = 0; k < w->depth; k++, to += GPU_PANEL * w->bytes) {
        const uint8_t *line = from + k * w->k_step * w->bytes;
        if (w->col_step == 1)
            memcpy(to, line, cols * w->bytes);
        else
            for (uint32_t i = 0; i < cols; i++)
                memcpy(to + i * w->bytes, line + i * w->col_step * w->bytes, w->bytes);
        memset(to + cols * w->bytes, 0, (GPU_PANEL - cols) * w->bytes);
    }
}

enum status gpu_aux_fill(const struct op_call *c, uint32_t which, void *dst)
{
    struct weights w;
    RETURN_IF(which || !weights_of(c, &w), ST_INTERNAL, "node \"%s\": it has no packed weights", c->node ? c->node : "");
    uint8_t *to = dst;
    for (uint64_t g = 0; g < w.groups; g++)
        for (uint64_t p = 0; p < panels(&w); p++, to += (uint64_t)w.depth * GPU_PANEL * w.bytes) {
            uint32_t col0 = (uint32_t)p * GPU_PANEL, cols = w.cols - col0 < GPU_PANEL ? w.cols - col0 : GPU_PANEL;
            const uint8_t *from = (const uint8_t *)c->in_data[1] + (g * w.group_step + col0 * w.col_step) * w.bytes;
            fill_panel(&w, from, cols, to);
        }
    return ST_OK;
}
