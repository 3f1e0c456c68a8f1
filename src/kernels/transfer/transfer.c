/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of DramToTcm and TcmToDram. */
#include "kernels/families.h"
#include "kernels/transfer/transfer.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant transfer_variants[] = {
#include "kernels/transfer/transfer.def"
    {0},
};
#undef KERNEL

static enum status transfer_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                                 const struct kernel_variant **variants)
{
    struct transfer_args *a = args;
    *a = (struct transfer_args){.bytes = desc_bytes(c->out[0])};
    kernel_units(ret, (a->bytes + TRANSFER_UNIT - 1) / TRANSFER_UNIT, TRANSFER_UNIT);
    *variants = transfer_variants;
    return ST_OK;
}

const struct kernel_family family_transfer = {
    .name = "transfer",
    .args_size = sizeof(struct transfer_args),
    .bind = transfer_bind,
};
