/* SPDX-License-Identifier: Apache-2.0 */
/* From an operator to its family, and from a family's variant list to the best function for this CPU. */
#include "kernels/kernels.h"

#include <assert.h>

#define KERNEL_OP(op, family) extern const struct kernel_family family;
#include "kernels/kernels.def"
#undef KERNEL_OP

extern const struct kernel_family family_package;

static const struct kernel_family *const families[OP_COUNT] = {
    [OP_NONE] = &family_package, /* operators of op packages */
#define KERNEL_OP(op, family) [OP_##op] = &family,
#include "kernels/kernels.def"
#undef KERNEL_OP
};

const struct kernel_family *kernel_family_of(enum op_id op)
{
    return (unsigned)op < OP_COUNT ? families[op] : NULL;
}

bool kernel_exists(enum op_id op)
{
    return kernel_family_of(op) != NULL;
}

size_t kernel_args_size(enum op_id op)
{
    const struct kernel_family *f = kernel_family_of(op);
    return f ? f->args_size : 0;
}

static enum status family_of(const struct op_call *c, const struct kernel_family **ret)
{
    *ret = kernel_family_of(c->op->id);
    RETURN_IF(!*ret, ST_NOT_SUPPORTED, "%s \"%s\": no kernel computes this operator yet", c->op->name,
              c->node ? c->node : "");
    return ST_OK;
}

enum status kernel_aux(const struct op_call *c, struct kernel_aux *ret)
{
    const struct kernel_family *f;
    TRY(family_of(c, &f));
    *ret = (struct kernel_aux){ 0 };
    return f->aux ? f->aux(c, ret) : ST_OK;
}

enum status kernel_aux_fill(const struct op_call *c, uint32_t which, void *dst)
{
    const struct kernel_family *f;
    TRY(family_of(c, &f));
    RETURN_IF(!f->aux_fill, ST_INTERNAL, "%s: the family has no constants of its own", c->op->name);
    return f->aux_fill(c, which, dst);
}

/* Families count work in 32 bits; kernel_units and kernel_spans stop at the last number (families.h). */
static enum status check_extent(const struct op_call *c, const struct kernel_bound *b)
{
    RETURN_IF(b->extent < 1 || b->extent == UINT32_MAX, ST_NOT_SUPPORTED,
              "%s \"%s\": its tensors have more rows or runs than the %u that a kernel counts; cut it into smaller ones",
              c->op->name, c->node ? c->node : "", UINT32_MAX - 1);
    return ST_OK;
}

enum status kernel_bind(const struct op_call *c, enum isa isa, void *args, struct kernel_bound *ret)
{
    const struct kernel_family *f;
    const struct kernel_variant *v = NULL;
    TRY(family_of(c, &f));
    struct kernel_bound b = { .extent = 1, .grain = 1 };
    TRY(f->bind(c, args, &b, &v));
    assert(v);
    TRY(check_extent(c, &b));
    if (isa > cpu_isa())
        isa = cpu_isa();
    for (; v->name; v++) {
        if (v->isa > isa || !cpu_has(v->isa) || (v->accept && !v->accept(args)))
            continue;
        b.run = v->run;
        b.name = v->name;
        if (!b.grain)
            b.grain = 1;
        *ret = b;
        return ST_OK;
    }
    return status_fail(ST_INTERNAL, "%s: the variant list has no reference that takes these operands", c->op->name);
}
