/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of If. */
#include "kernels/branch/branch.h"
#include "kernels/families.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant branch_variants[] = {
#include "kernels/branch/branch.def"
    {0},
};
#undef KERNEL

static enum status branch_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    struct branch_args *a = args;
    uint64_t most = 0;
    RETURN_IF(op_has(c, "then_graph"), ST_NOT_SUPPORTED,
              "If \"%s\": its graphs are not in place; only a prepared graph can run", c->node ? c->node : "");
    *a = (struct branch_args){.n_out = c->n_out};
    for (uint32_t i = 0; i < c->n_out; i++) {
        a->bytes[i] = desc_bytes(c->out[i]);
        most = a->bytes[i] > most ? a->bytes[i] : most;
    }
    kernel_units(ret, (most + BRANCH_UNIT - 1) / BRANCH_UNIT, BRANCH_UNIT);
    *variants = branch_variants;
    return ST_OK;
}

const struct kernel_family family_branch = {
    .name = "branch",
    .args_size = sizeof(struct branch_args),
    .bind = branch_bind,
};
