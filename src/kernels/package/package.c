/* SPDX-License-Identifier: Apache-2.0 */
/* PackageOp: its kernel is a function of an op package, which exec/ finds when the graph is loaded (exec/outside.c). Here is
 * what the compiler needs to know: it is one piece of work, and takes any types. */
#include "kernels/families.h"

struct package_args {
    uint8_t none;
};

static void package_ref(const struct kernel_call *call, struct range tile)
{
    (void)call;
    (void)tile;
}

static const struct kernel_variant package_variants[] = { { "package", ISA_REF, package_ref, NULL }, { 0 } };

static enum status package_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                                const struct kernel_variant **variants)
{
    (void)args;
    for (uint32_t i = 0; i < c->n_out; i++)
        ret->macs += desc_count(c->out[i]);
    *variants = package_variants;
    return ST_OK;
}

const struct kernel_family family_package = {
    .name = "package",
    .args_size = sizeof(struct package_args),
    .bind = package_bind,
};
