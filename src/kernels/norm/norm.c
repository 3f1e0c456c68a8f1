/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the normalizations: runs (ops/op_runs.c) as views of the input, of gamma and of beta. */
#include "kernels/families.h"
#include "kernels/norm/norm.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant norm_variants[] = {
#include "kernels/norm/norm.def"
    {0},
};
static const struct kernel_variant lrn_variants[] = {
#include "kernels/norm/lrn.def"
    {0},
};
#undef KERNEL

/* Images whose runs are all pixels of one channel or of a group that divides the 16 lanes. */
static void choose_columns(const struct op_runs *r, struct norm_args *a)
{
    uint32_t m = 1;
    a->pixels = 1;
    if (r->n < 3 || r->at[0].in_run || a->kind == NORM_L2 || a->kind == NORM_AFFINE)
        return;
    for (; m < r->n && r->at[m].in_run && !r->at[m].affine; m++)
        a->pixels *= r->at[m].size;
    const bool groups = m + 2 == r->n && r->at[m + 1].in_run && r->at[m + 1].stride == 1 && r->at[m + 1].affine == 1;
    if (m < 2 || m >= r->n || r->at[m].in_run || (m + 1 != r->n && !groups))
        return;
    a->group = groups ? r->at[m + 1].size : 1;
    if (!a->group || 16 % a->group || r->at[m].stride != a->group || r->at[m].affine != a->group || !a->pixels)
        return;
    a->channels = r->at[m].size * a->group;
    a->columns = a->channels > 2 * NORM_COLUMNS ? NORM_COLUMNS : NORM_COLUMNS / 2; /* a team wants more than one block */
}

static void choose_runs(const struct op_call *c, struct norm_args *a)
{
    struct op_runs r;
    a->kind = op_norm_runs(c, &r);
    choose_columns(&r, a);
    for (uint32_t i = 0; i < r.n; i++) {
        const struct op_run_dim *d = &r.at[i];
        view_add(d->in_run ? &a->run : &a->outer, d->size, d->stride);
        view_add(d->in_run ? &a->run_affine : &a->outer_affine, d->size, d->affine);
    }
}

static enum status bind_lrn(const struct op_call *c, struct lrn_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0];
    *a = (struct lrn_args){ .dims = { 1, 1, 1, 1 },
                            .radius = (uint32_t)op_int(c, "radius", 0),
                            .spatial = op_int(c, "region", 0) == 1 };
    a->alpha = (float)op_real(c, "alpha", 0);
    a->beta = (float)op_real(c, "beta", 0);
    a->bias = (float)op_real(c, "bias", 0);
    TRY(codec_init(&a->in, x, c));
    TRY(codec_init_out(&a->out, c->out[0], c));
    if (x->rank)
        a->dims[3] = x->dims[x->rank - 1];
    uint32_t outer = x->rank ? x->rank - 1u : 0;
    for (int k = 2; a->spatial && k >= 1 && outer > 0; k--)
        a->dims[k] = x->dims[--outer];
    for (uint32_t d = 0; d < outer; d++)
        a->dims[0] *= x->dims[d];
    uint64_t window = 2 * (uint64_t)a->radius + 1;
    kernel_units(ret, (uint64_t)a->dims[0] * a->dims[1] * a->dims[2], a->dims[3] * (a->spatial ? window * window : window));
    return ST_OK;
}

static enum status norm_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                             const struct kernel_variant **variants)
{
    struct norm_args *a = args;
    if (c->op->id == OP_Lrn) {
        *variants = lrn_variants;
        return bind_lrn(c, args, ret);
    }
    *a = (struct norm_args){.n_in = c->n_in, .gamma_given = c->n_in > 1 && c->in[1], .beta_given = c->n_in > 2 && c->in[2]};
    if (c->op->id != OP_Batchnorm)
        a->eps = (float)op_real(c, "epsilon", 0);
    TRY(codec_init(&a->in, c->in[0], c));
    TRY(codec_init_out(&a->out, c->out[0], c));
    if (a->gamma_given)
        TRY(codec_init(&a->gamma, c->in[1], c));
    if (a->beta_given)
        TRY(codec_init(&a->beta, c->in[2], c));
    choose_runs(c, a);
    a->runs = view_count(&a->outer);
    a->n = view_count(&a->run);
    view_finish(&a->outer);
    view_finish(&a->run);
    view_finish(&a->outer_affine);
    view_finish(&a->run_affine);
    if (c->by_lines)
        a->columns = 0;
    if (a->columns) {
        const uint64_t images = a->runs / (a->channels / a->group), blocks = (a->channels + a->columns - 1) / a->columns;
        kernel_units(ret, images * blocks, 4 * a->pixels * a->columns);
    } else {
        kernel_units(ret, a->n ? a->runs : 0, 4 * a->n);
    }
    a->unit_runs = kernel_line_runs(c, a->n ? a->runs : 0, ret);
    *variants = norm_variants;
    return ST_OK;
}

const struct kernel_family family_norm = {
    .name = "norm",
    .args_size = sizeof(struct norm_args) > sizeof(struct lrn_args) ? sizeof(struct norm_args) : sizeof(struct lrn_args),
    .bind = norm_bind,
};
