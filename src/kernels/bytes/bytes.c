/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of BytesQuantize. */
#include "kernels/bytes/bytes.h"
#include "kernels/families.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant bytes_variants[] = {
#include "kernels/bytes/bytes.def"
    { 0 },
};
#undef KERNEL

static enum status bytes_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                              const struct kernel_variant **variants)
{
    struct bytes_args *a = args;
    *a = (struct bytes_args){ .total = desc_count(c->out[0]) };
    kernel_lines_or_spans(c, ret, &a->unit);
    *variants = bytes_variants;
    return ST_OK;
}

const struct kernel_family family_bytes = {
    .name = "bytes",
    .args_size = sizeof(struct bytes_args),
    .bind = bytes_bind,
};
