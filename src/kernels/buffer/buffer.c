/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Buffer. */
#include "kernels/buffer/buffer.h"
#include "kernels/families.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant buffer_variants[] = {
#include "kernels/buffer/buffer.def"
    {0},
};
#undef KERNEL

static enum status buffer_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    struct buffer_args *a = args;
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    uint32_t dim = op_axis(c, "buffer_dim", 0, x->rank);
    *a = (struct buffer_args){.outer = 1, .inner = 1, .frame = x->dims[dim], .size = y->dims[dim], .out = c->n_in,
                              .mode = (enum buffer_mode)op_int(c, "mode", 0)};
    for (uint32_t i = 0; i < x->rank; i++)
        *(i < dim ? &a->outer : &a->inner) *= i == dim ? 1 : x->dims[i];
    a->room = a->size - a->frame;
    a->stride = (uint32_t)op_int(c, "stride", 0);
    a->padding = (uint32_t)op_int(c, "buffer_padding", 0);
    a->has_reset = c->n_in > 1 && c->in[1];
    if (a->has_reset)
        TRY(codec_init(&a->reset, c->in[1], c));
    TRY(mover_init(&a->in, x, y, c));
    TRY(mover_init(&a->same, y, y, c));
    kernel_units(ret, 1, a->outer * a->size * a->inner);
    ret->state_bytes = BUFFER_STATE_DATA + dtype_bytes(y->type, a->outer * a->room * a->inner);
    *variants = buffer_variants;
    return ST_OK;
}

const struct kernel_family family_buffer = {
    .name = "buffer",
    .args_size = sizeof(struct buffer_args),
    .bind = buffer_bind,
};
