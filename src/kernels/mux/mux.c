/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of ElementWiseMux. */
#include "kernels/families.h"
#include "kernels/mux/mux.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant mux_variants[] = {
#include "kernels/mux/mux.def"
    {0},
};
#undef KERNEL

static enum status mux_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                            const struct kernel_variant **variants)
{
    struct mux_args *a = args;
    const struct tensor_desc *y = c->out[0];
    *a = (struct mux_args){.total = desc_count(y), .inputs = c->n_in - 1};
    RETURN_IF(a->inputs > MUX_INPUTS, ST_NOT_SUPPORTED,
              "ElementWiseMux \"%s\": %u inputs to choose from are given; at most %d are supported", c->node ? c->node : "",
              a->inputs, MUX_INPUTS);
    TRY(codec_init(&a->selector, c->in[0], c));
    for (uint32_t i = 0; i <= a->inputs; i++) {
        view_broadcast(&a->view[i], c->in[i], y);
        if (i > 0)
            TRY(mover_init(&a->mover[i - 1], c->in[i], y, c));
    }
    kernel_spans(ret, a->total);
    mover_serial(&a->mover[0], ret);
    *variants = mux_variants;
    return ST_OK;
}

const struct kernel_family family_mux = {
    .name = "mux",
    .args_size = sizeof(struct mux_args),
    .bind = mux_bind,
};
