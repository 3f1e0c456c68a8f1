/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the sparse operators. */
#include "kernels/families.h"
#include "kernels/sparse/sparse.h"

/* The first `depth` dimensions of x are places. */
static void places(struct sparse_args *a, const struct tensor_desc *x, uint32_t depth, uint64_t rows)
{
    *a = (struct sparse_args){.depth = depth, .places = 1, .rows = rows};
    for (uint32_t d = 0; d < depth; d++) {
        a->dims[d] = x->dims[d];
        a->places *= x->dims[d];
    }
    a->row = a->places ? desc_count(x) / a->places : 0;
}

static enum status bind_create(const struct op_call *c, struct sparse_args *a)
{
    const struct tensor_desc *index = c->in[0];
    places(a, c->out[0], index->dims[1], index->dims[0]);
    a->index_type = index->type;
    return mover_init(&a->mover, c->in[1], c->out[0], c);
}

static enum status bind_indices(const struct op_call *c, struct sparse_args *a)
{
    const struct tensor_desc *index = c->out[0];
    places(a, c->in[0], index->dims[1], index->dims[0]);
    a->index_type = index->type;
    return codec_init(&a->in, c->in[0], c);
}

static enum status bind_values(const struct op_call *c, struct sparse_args *a)
{
    const struct tensor_desc *x = c->in[0], *v = c->out[0];
    places(a, x, x->rank + 1u - v->rank, v->dims[0]);
    TRY(codec_init(&a->in, x, c));
    return mover_init(&a->mover, x, v, c);
}

static enum status bind_dense(const struct op_call *c, struct sparse_args *a)
{
    places(a, c->in[0], 0, 0);
    return mover_init(&a->mover, c->in[0], c->out[0], c);
}

#define SPARSE(op, bind, run) static const struct kernel_variant op##_variants[] = {KERNEL_VARIANT(REF, run, NULL){0}};
#include "kernels/sparse/sparse.def"
#undef SPARSE

static const struct {
    enum op_id op;
    enum status (*bind)(const struct op_call *c, struct sparse_args *a);
    const struct kernel_variant *variants;
} binders[] = {
#define SPARSE(op, bind, run) {OP_##op, bind, op##_variants},
#include "kernels/sparse/sparse.def"
#undef SPARSE
};

static enum status sparse_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    struct sparse_args *a = args;
    for (size_t i = 0; i < sizeof(binders) / sizeof(binders[0]); i++)
        if (binders[i].op == c->op->id) {
            *variants = binders[i].variants;
            TRY(binders[i].bind(c, a));
            kernel_units(ret, 1, a->places * a->row);
            return ST_OK;
        }
    return status_fail(ST_INTERNAL, "%s is not an operator of the sparse family", c->op->name);
}

const struct kernel_family family_sparse = {
    .name = "sparse",
    .args_size = sizeof(struct sparse_args),
    .bind = sparse_bind,
};
