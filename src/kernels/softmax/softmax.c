/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Softmax, LogSoftmax and MaskedSoftmax. */
#include "base/cpu.h"
#include "kernels/families.h"
#include "kernels/softmax/softmax.h"

static bool in_bytes(const struct codec *c)
{
    return dtype_is_fixed(c->type) && dtype_bits(c->type) == 8 && !c->wide && !c->bits && !c->scales && c->scale > 0.0f;
}

/* Long runs of bytes that lie together; larger bytes are larger numbers. */
static bool softmax_accept_bytes(const void *args)
{
    const struct softmax_args *a = args;
    return !a->log && !a->masked && a->inner == 1 && a->n >= SOFTMAX_BYTE_RUN && in_bytes(&a->in) && in_bytes(&a->out);
}

static bool softmax_accept_permuted(const void *args)
{
    return softmax_accept_bytes(args) && cpu_permutes_bytes();
}

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant softmax_variants[] = {
#include "kernels/softmax/softmax.def"
    {0},
};
#undef KERNEL

static void bind_compressed(const struct op_call *c, struct softmax_args *a)
{
    const struct tensor_desc *x = c->in[0], *mask = c->in[1];
    a->compressed = true;
    a->rows = x->dims[x->rank - 2];
    if (mask->rank == 2 && mask->dims[0] > 1)
        a->batch_runs = desc_count(x) / x->dims[0] / x->dims[x->rank - 1];
}

static enum status softmax_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                                const struct kernel_variant **variants)
{
    struct softmax_args *a = args;
    const struct tensor_desc *out = c->out[0];
    bool masked = c->op->id == OP_MaskedSoftmax;
    *a = (struct softmax_args){
        .n_in = c->n_in, .log = c->op->id == OP_LogSoftmax, .masked = masked, .n = 1, .inner = 1, .beta = 1.0f
    };
    TRY(codec_init(&a->in, c->in[0], c));
    TRY(codec_init_out(&a->out, out, c));
    uint32_t axis = out->rank ? out->rank - 1u : 0;
    if (masked) {
        TRY(codec_init(&a->mask, c->in[1], c));
        a->condition = c->in[1]->type == DT_B8;
        if (op_int(c, "mode", 0) == 0)
            view_broadcast(&a->mask_view, c->in[1], out);
        else
            bind_compressed(c, a);
    } else if (out->rank) {
        axis = op_axis(c, "axis", 0, out->rank);
        a->beta = (float)op_real(c, "beta", 0);
    }
    if (out->rank)
        a->n = out->dims[axis];
    for (uint32_t d = axis + 1; d < out->rank; d++)
        a->inner *= out->dims[d];
    a->runs = a->n ? desc_count(out) / a->n : 0;
    kernel_units(ret, a->runs, 8 * (uint64_t)a->n);
    a->unit_runs = kernel_line_runs(c, a->runs, ret);
    ret->work_bytes = ((uint64_t)a->n * sizeof(float) + 63) / 64 * 64;
    if (softmax_accept_bytes(a) && ret->work_bytes < SOFTMAX_BYTE_TABLES * sizeof(struct softmax_bytes))
        ret->work_bytes = SOFTMAX_BYTE_TABLES * sizeof(struct softmax_bytes);
    *variants = softmax_variants;
    return ST_OK;
}

const struct kernel_family family_softmax = {
    .name = "softmax",
    .args_size = sizeof(struct softmax_args),
    .bind = softmax_bind,
};
