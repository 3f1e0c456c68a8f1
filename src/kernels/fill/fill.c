/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Shape, ConstantOfShape, RandomUniformLike and RandomNormalLike. */
#include "kernels/families.h"
#include "kernels/fill/fill.h"

static enum status bind_shape(const struct op_call *c, struct fill_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0];
    int64_t start = op_int(c, "start", 0), end = op_int(c, "end", 0);
    end = end < x->rank ? end : x->rank;
    for (int64_t i = start; i < end; i++)
        a->dims[a->n++] = x->dims[i];
    kernel_units(ret, 1, a->n);
    return ST_OK;
}

static enum status bind_constant(const struct op_call *c, struct fill_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *y = c->out[0];
    bool whole = !dtype_is_float(y->type) && !dtype_is_fixed(y->type) && y->type != DT_B8;
    int at = op_param_index(c->op, "value");
    enum dtype given = c->params[at].type;
    TRY(mover_init(&a->mover, y, y, c));
    mover_stored(y, c, op_real(c, "value", 0), a->value);
    if (whole && !dtype_is_float(given)) /* 64-bit integers have more digits than a double */
        ku_store_int(a->value, y->type, 0, ku_clamp(op_int(c, "value", 0), dtype_min(y->type), dtype_max(y->type)));
    kernel_spans(ret, a->total);
    mover_serial(&a->mover, ret);
    return ST_OK;
}

static enum status bind_random(const struct op_call *c, struct fill_args *a, struct kernel_bound *ret)
{
    a->normal = c->op->id == OP_RandomNormalLike;
    a->a = (float)op_real(c, a->normal ? "mean" : "low", 0);
    a->b = (float)op_real(c, a->normal ? "scale" : "high", 0);
    a->seeded = c->n_in > 1 && c->in[1];
    if (a->seeded)
        TRY(codec_init(&a->seed, c->in[1], c));
    TRY(codec_init_out(&a->dst, c->out[0], c));
    kernel_spans(ret, a->total);
    return ST_OK;
}

#define FILL(op, bind, run) static const struct kernel_variant op##_variants[] = {KERNEL_VARIANT(REF, run, NULL){0}};
#include "kernels/fill/fill.def"
#undef FILL

static const struct {
    enum op_id op;
    enum status (*bind)(const struct op_call *c, struct fill_args *a, struct kernel_bound *ret);
    const struct kernel_variant *variants;
} binders[] = {
#define FILL(op, bind, run) {OP_##op, bind, op##_variants},
#include "kernels/fill/fill.def"
#undef FILL
};

static enum status fill_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                             const struct kernel_variant **variants)
{
    struct fill_args *a = args;
    *a = (struct fill_args){.total = desc_count(c->out[0]), .n_in = c->n_in};
    a->dst.type = c->out[0]->type;
    for (size_t i = 0; i < sizeof(binders) / sizeof(binders[0]); i++)
        if (binders[i].op == c->op->id) {
            *variants = binders[i].variants;
            return binders[i].bind(c, a, ret);
        }
    return status_fail(ST_INTERNAL, "%s is not an operator of the fill family", c->op->name);
}

const struct kernel_family family_fill = {
    .name = "fill",
    .args_size = sizeof(struct fill_args),
    .bind = fill_bind,
};
