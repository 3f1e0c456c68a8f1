/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the operators that pick or place values by index. */
#include "kernels/gather/gather.h"
#include "kernels/families.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant gather_variants[] = {
#include "kernels/gather/gather.def"
    {0},
};
static const struct kernel_variant table_variants[] = {
#include "kernels/gather/table.def"
    { 0 },
};
static const struct kernel_variant elements_variants[] = {
#include "kernels/gather/elements.def"
    {0},
};
static const struct kernel_variant scatter_elements_variants[] = {
#include "kernels/gather/scatter_elements.def"
    {0},
};
static const struct kernel_variant scatter_nd_variants[] = {
#include "kernels/gather/scatter_nd.def"
    {0},
};
static const struct kernel_variant one_hot_variants[] = {
#include "kernels/gather/one_hot.def"
    {0},
};
static const struct kernel_variant top_k_variants[] = {
#include "kernels/gather/top_k.def"
    {0},
};
static const struct kernel_variant non_zero_variants[] = {
#include "kernels/gather/non_zero.def"
    {0},
};
#undef KERNEL

union any_args {
    struct gather_args gather;
    struct table_args table;
    struct elements_args elements;
    struct scatter_nd_args scatter_nd;
    struct one_hot_args one_hot;
    struct top_k_args top_k;
    struct non_zero_args non_zero;
};

static uint64_t product(const uint32_t *dims, uint32_t from, uint32_t to)
{
    uint64_t n = 1;
    for (uint32_t d = from; d < to; d++)
        n *= dims[d];
    return n;
}

/* Tuples of `depth` indices name slices of x behind its first `batch` dimensions. */
static void tuples_of(struct gather_args *a, const struct tensor_desc *x, uint32_t batch, uint32_t depth)
{
    uint64_t strides[MAX_RANK] = {0};
    desc_strides(x, strides);
    a->depth = depth;
    for (uint32_t k = 0; k < depth; k++) {
        a->dims[k] = x->dims[batch + k];
        a->strides[k] = strides[batch + k];
    }
    a->outer = product(x->dims, 0, batch);
    a->part = product(x->dims, batch, x->rank);
    a->slice = product(x->dims, batch + depth, x->rank);
}

static enum status bind_gather(const struct op_call *c, struct gather_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0], *index = c->in[1];
    *a = (struct gather_args){.index_type = index->type, .n_in = c->n_in};
    TRY(mover_init(&a->mover, x, c->out[0], c));
    if (c->op->id == OP_GatherNd) {
        uint32_t batch = (uint32_t)op_int(c, "batch_dims", 0);
        tuples_of(a, x, batch, index->dims[index->rank - 1]);
        a->own_indices = true;
        a->tuples = a->outer ? product(index->dims, 0, index->rank - 1u) / a->outer : 0;
    } else {
        tuples_of(a, x, c->op->id == OP_Gather ? op_axis(c, "axis", 0, x->rank) : 0, 1);
        a->tuples = desc_count(index);
    }
    kernel_units(ret, a->outer * a->tuples, a->slice);
    mover_serial(&a->mover, ret);
    return ST_OK;
}

static bool is_table(const struct op_call *c)
{
    return c->op->id == OP_Gather && !encoding_is_simple(&c->in[0]->q) && dtype_is_float(c->out[0]->type);
}

static enum status bind_table(const struct op_call *c, struct table_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0], *index = c->in[1];
    *a = (struct table_args){ .at = { .index_type = index->type, .n_in = c->n_in, .tuples = desc_count(index) } };
    tuples_of(&a->at, x, op_axis(c, "axis", 0, x->rank), 1);
    encoding_init(&a->table, x);
    TRY(codec_init_out(&a->out, c->out[0], c));
    kernel_units(ret, a->at.outer * a->at.tuples, a->at.slice);
    return ST_OK;
}

/* The view walks the index tensor's shape with the strides of x, standing still along the axis. */
static void elements_view(struct elements_args *a, const struct op_call *c, const struct tensor_desc *x)
{
    const struct tensor_desc *index = c->in[1];
    uint32_t axis = op_axis(c, "axis", 0, x->rank);
    uint64_t strides[MAX_RANK] = {0};
    desc_strides(x, strides);
    a->index_type = index->type;
    a->total = desc_count(index);
    a->copied = desc_count(x);
    a->size = x->dims[axis];
    a->step = (int64_t)strides[axis];
    for (uint32_t d = 0; d < x->rank; d++)
        view_add(&a->view, index->dims[d], d == axis ? 0 : (int64_t)strides[d]);
    view_finish(&a->view);
}

static enum status bind_elements(const struct op_call *c, struct elements_args *a, struct kernel_bound *ret)
{
    *a = (struct elements_args){0};
    TRY(mover_init(&a->mover, c->in[0], c->out[0], c));
    elements_view(a, c, c->in[0]);
    kernel_spans(ret, a->total);
    return ST_OK;
}

static enum status bind_updates(const struct op_call *c, struct elements_args *a, struct kernel_bound *ret)
{
    TRY(mover_init(&a->mover, c->in[0], c->out[0], c));
    TRY(mover_init(&a->update, c->in[2], c->out[0], c));
    TRY(codec_init(&a->first, c->in[0], c));
    TRY(codec_init_out(&a->before, c->out[0], c));
    TRY(codec_init(&a->after, c->in[2], c));
    a->reduction = (uint32_t)op_int(c, "reduction", 0);
    a->whole = !dtype_is_float(a->before.type) && !dtype_is_fixed(a->before.type);
    a->once = a->reduction && dtype_is_fixed(a->before.type);
    kernel_units(ret, 1, a->copied + a->total);
    ret->work_bytes = a->once ? a->copied * sizeof(float) : 0;
    return ST_OK;
}

static enum status bind_scatter_nd(const struct op_call *c, struct scatter_nd_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *index = c->in[1];
    *a = (struct scatter_nd_args){0};
    a->at.index_type = index->type;
    tuples_of(&a->at, c->in[0], 0, index->dims[index->rank - 1]);
    a->at.tuples = product(index->dims, 0, index->rank - 1u);
    a->how.copied = desc_count(c->in[0]);
    a->how.total = a->at.tuples * a->at.slice;
    return bind_updates(c, &a->how, ret);
}

static enum status bind_one_hot(const struct op_call *c, struct one_hot_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0], *out = c->out[0];
    uint32_t axis = op_axis(c, "axis", 0, out->rank);
    *a = (struct one_hot_args){.index_type = x->type, .depth = out->dims[axis]};
    TRY(mover_init(&a->mover, out, out, c));
    a->outer = product(out->dims, 0, axis);
    a->inner = product(out->dims, axis + 1, out->rank);
    mover_stored(out, c, op_has(c, "on_value") ? op_real(c, "on_value", 0) : 1.0, a->on);
    mover_stored(out, c, op_has(c, "off_value") ? op_real(c, "off_value", 0) : 0.0, a->off);
    kernel_units(ret, a->outer * a->inner, a->depth);
    mover_serial(&a->mover, ret);
    return ST_OK;
}

static enum status bind_top_k(const struct op_call *c, struct top_k_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0];
    *a = (struct top_k_args){.n_in = c->n_in, .n = x->dims[x->rank - 1], .k = (uint32_t)op_int(c, "k", 0)};
    RETURN_IF(a->k > a->n, ST_DYNAMIC_SHAPE, "TopK \"%s\": k is %u, the last dimension only %u", c->node ? c->node : "",
              a->k, a->n);
    TRY(mover_init(&a->mover, x, c->out[0], c));
    a->smallest = op_has(c, "largest") && !op_int(c, "largest", 0);
    a->rows = a->n ? desc_count(x) / a->n : 0;
    a->indices = c->n_out > 1 && c->out[1];
    a->index_type = a->indices ? c->out[1]->type : DT_NONE;
    kernel_units(ret, a->rows, 4 * (uint64_t)a->n);
    mover_serial(&a->mover, ret);
    ret->work_bytes = (uint64_t)a->k * 16;
    return ST_OK;
}

static enum status bind_non_zero(const struct op_call *c, struct non_zero_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0];
    *a = (struct non_zero_args){
        .rank = c->out[0]->dims[1], .total = desc_count(x), .rows = c->out[0]->dims[0], .index_type = c->out[0]->type
    };
    TRY(codec_init(&a->in, x, c));
    for (uint32_t d = 0; d < MAX_RANK; d++)
        a->dims[d] = d < x->rank ? x->dims[d] : 1;
    kernel_units(ret, 1, a->total);
    return ST_OK;
}

static enum status gather_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    union any_args *a = args;
    switch (c->op->id) {
    case OP_GatherElements:
        *variants = elements_variants;
        return bind_elements(c, &a->elements, ret);
    case OP_ScatterElements:
        *variants = scatter_elements_variants;
        a->elements = (struct elements_args){0};
        elements_view(&a->elements, c, c->in[0]);
        return bind_updates(c, &a->elements, ret);
    case OP_ScatterNd:
        *variants = scatter_nd_variants;
        return bind_scatter_nd(c, &a->scatter_nd, ret);
    case OP_OneHot:
        *variants = one_hot_variants;
        return bind_one_hot(c, &a->one_hot, ret);
    case OP_TopK:
        *variants = top_k_variants;
        return bind_top_k(c, &a->top_k, ret);
    case OP_NonZero:
        *variants = non_zero_variants;
        return bind_non_zero(c, &a->non_zero, ret);
    default:
        if (is_table(c)) {
            *variants = table_variants;
            return bind_table(c, &a->table, ret);
        }
        *variants = gather_variants;
        return bind_gather(c, &a->gather, ret);
    }
}

const struct kernel_family family_gather = {
    .name = "gather",
    .args_size = sizeof(union any_args),
    .bind = gather_bind,
};
