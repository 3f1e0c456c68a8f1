/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel, stride, dilation and padding of convolutions and pools, as attributes say them. */
#include <string.h>

#include "convert/onnx/onnx.h"

enum status onnx_attr_list(struct onnx_cx *cx, const struct onnx_node *n, const char *name, uint32_t count, uint32_t dflt,
                           uint32_t *ret)
{
    const struct onnx_attr *a = onnx_attr(cx, n, name);
    RETURN_IF(a && a->n_ints != count, ST_INVALID_OP, "\"%s\" has %u entries; %u are expected", name, a->n_ints, count);
    for (uint32_t i = 0; i < count; i++) {
        RETURN_IF(a && (a->ints[i] < 0 || a->ints[i] > INT32_MAX), ST_NOT_SUPPORTED,
                  "\"%s\" has entry %lld; 0 or more is supported", name, (long long)a->ints[i]);
        ret[i] = a ? (uint32_t)a->ints[i] : dflt;
    }
    return ST_OK;
}

/* [before…, after…] of the source becomes [before, after] per dimension. */
static enum status explicit_pads(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_window *w)
{
    uint32_t pads[6];
    TRY(onnx_attr_list(cx, n, "pads", 2 * w->n, 0, pads));
    for (uint32_t k = 0; k < w->n; k++) {
        w->pads[2 * k] = pads[k];
        w->pads[2 * k + 1] = pads[w->n + k];
    }
    return ST_OK;
}

static void same_pads(const struct onnx_value *x, bool upper, struct onnx_window *w)
{
    for (uint32_t k = 0; k < w->n; k++) {
        int64_t size = x->dims[2 + k], out = (size + w->stride[k] - 1) / w->stride[k];
        int64_t total = (out - 1) * w->stride[k] + ((int64_t)w->kernel[k] - 1) * w->dilation[k] + 1 - size;
        total = total < 0 ? 0 : total;
        w->pads[2 * k] = (uint32_t)(upper ? total / 2 : total - total / 2);
        w->pads[2 * k + 1] = (uint32_t)total - w->pads[2 * k];
    }
}

enum status onnx_window(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *x, const uint32_t *kernel,
                        struct onnx_window *w)
{
    const char *mode = onnx_attr_text(cx, n, "auto_pad", "NOTSET");
    *w = (struct onnx_window){.n = x->rank - 2u, .ceil = onnx_attr_int(cx, n, "ceil_mode", 0)};
    REFUSE_WHEN(x->rank < 3 || x->rank > 5,
                "the input has rank %u; 3, 4 and 5 (one to three spatial dimensions) are supported", x->rank);
    RETURN_IF(!kernel && !onnx_attr(cx, n, "kernel_shape"), ST_INVALID_OP, "\"kernel_shape\" is missing");
    if (kernel)
        memcpy(w->kernel, kernel, w->n * sizeof(*kernel));
    else
        TRY(onnx_attr_list(cx, n, "kernel_shape", w->n, 1, w->kernel));
    TRY(onnx_attr_list(cx, n, "strides", w->n, 1, w->stride));
    TRY(onnx_attr_list(cx, n, "dilations", w->n, 1, w->dilation));
    for (uint32_t k = 0; k < w->n; k++)
        RETURN_IF(!w->kernel[k] || !w->stride[k] || !w->dilation[k], ST_INVALID_OP, "a kernel, stride or dilation is 0");
    if (!strncmp(mode, "SAME", 4))
        same_pads(x, !strcmp(mode, "SAME_UPPER"), w);
    else if (strcmp(mode, "VALID") != 0)
        TRY(explicit_pads(cx, n, w));
    return ST_OK;
}
