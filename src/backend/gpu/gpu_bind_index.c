/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of operators that pick and place values by index, and of the sparse ones. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

#define T_PLACED (T_FLOAT | T_INT | T_(DT_U8) | T_(DT_U16) | T_(DT_U32) | T_BOOL)
#define T_INDICES (T_INDEX | T_(DT_U8))

static enum status same_types(const struct op_call *c)
{
    if (c->in[0]->type != c->out[0]->type)
        return gpu_refuse(c, "%s to %s; both must be the same: put a Cast between", dtype_name(c->in[0]->type),
                          dtype_name(c->out[0]->type));
    return ST_OK;
}

static uint64_t product(const uint32_t *dims, uint32_t from, uint32_t to)
{
    uint64_t n = 1;
    for (uint32_t d = from; d < to; d++)
        n *= dims[d];
    return n;
}

/* ---- tuples of indices ------------------------------------------------------------------------------------------------ */

static enum status tuples_of(const struct op_call *c, uint32_t batch, struct gpu_tuples *a)
{
    const struct tensor_desc *x = c->in[0], *index = c->in[1];
    uint64_t strides[MAX_RANK] = { 0 }, outer = product(x->dims, 0, batch);
    uint32_t depth = index->dims[index->rank - 1];
    desc_strides(x, strides);
    *a = (struct gpu_tuples){ .depth = (int)depth,
                              .slice = (int)product(x->dims, batch + depth, x->rank),
                              .part = (int)product(x->dims, batch, x->rank),
                              .tuples = outer ? (int)(product(index->dims, 0, index->rank - 1u) / outer) : 0 };
    for (uint32_t k = 0; k < depth; k++) {
        a->dims[k] = (int)x->dims[batch + k];
        a->strides[k] = (int)strides[batch + k];
    }
    return gpu_type(c, 1, T_INDICES, &a->index_type);
}

enum status gpu_bind_gather_nd(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_GATHER_ND,
                            GPU_ARGS(tuples),
                            .n_operands = 3,
                            .operand = { 0, 1, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    TRY(same_types(c));
    TRY(gpu_bits_storage(c, c->in[0], &l.storage));
    TRY(tuples_of(c, (uint32_t)op_int(c, "batch_dims", 0), &l.args.tuples));
    l.args.tuples.n = (int)l.items;
    return gpu_add(c, w, &l);
}

enum status gpu_bind_scatter_nd(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_SCATTER_ND, GPU_ARGS(tuples), .n_operands = 3, .operand = { 1, 2, (uint8_t)c->n_in }
    };
    struct gpu_tuples *a = &l.args.tuples;
    TRY(gpu_bind_view(c, w));
    TRY(tuples_of(c, 0, a));
    TRY(gpu_type(c, 2, T_PLACED, &a->update_type));
    TRY(gpu_type(c, c->n_in, T_PLACED, &a->type));
    a->n = a->slice;
    a->reduction = (int)op_int(c, "reduction", 0);
    l.items = (uint64_t)a->n;
    return gpu_add(c, w, &l);
}

/* ---- an index per element --------------------------------------------------------------------------------------------- */

/* Dimensions of the index tensor, with or without the axis: strides 0 of x, 1 of the index tensor. */
static enum status elements_of(const struct op_call *c, bool lines, struct gpu_elements *a)
{
    const struct tensor_desc *x = c->in[0], *index = c->in[1];
    uint32_t axis = op_axis(c, "axis", 0, x->rank);
    uint64_t strides[MAX_RANK] = { 0 }, own[MAX_RANK] = { 0 };
    struct gpu_view v = { 0 };
    desc_strides(x, strides);
    desc_strides(index, own);
    *a = (struct gpu_elements){ .n = 1,
                                .size = (int)x->dims[axis],
                                .step = (int)strides[axis],
                                .count = (int)index->dims[axis],
                                .in_step = (int)own[axis] };
    for (uint32_t d = 0; d < x->rank; d++) {
        if (d == axis && lines)
            continue;
        gpu_view_add(&v, index->dims[d], d == axis ? 0 : (int64_t)strides[d], (int64_t)own[d], 0);
        a->n *= (int)index->dims[d];
    }
    TRY(gpu_type(c, 1, T_INDICES, &a->index_type));
    return gpu_view_end(c, &v, &a->rank, a->dims, (int *const[4]){ a->out, a->in });
}

enum status gpu_bind_elements(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_ELEMENTS,
                            GPU_ARGS(elements),
                            .n_operands = 3,
                            .operand = { 0, 1, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    TRY(same_types(c));
    TRY(gpu_bits_storage(c, c->in[0], &l.storage));
    TRY(elements_of(c, false, &l.args.elements));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_scatter_elements(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_SCATTER_ELEMENTS, GPU_ARGS(elements), .n_operands = 3, .operand = { 1, 2, (uint8_t)c->n_in }
    };
    struct gpu_elements *a = &l.args.elements;
    TRY(gpu_bind_view(c, w));
    TRY(elements_of(c, true, a));
    TRY(gpu_type(c, 2, T_PLACED, &a->update_type));
    TRY(gpu_type(c, c->n_in, T_PLACED, &a->type));
    a->reduction = (int)op_int(c, "reduction", 0);
    l.items = a->count ? (uint64_t)a->n : 0;
    return gpu_add(c, w, &l);
}

enum status gpu_bind_one_hot(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_ONE_HOT,
                            GPU_ARGS(one_hot),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const struct tensor_desc *y = c->out[0];
    uint32_t axis = op_axis(c, "axis", 0, y->rank);
    struct gpu_one_hot *a = &l.args.one_hot;
    *a = (struct gpu_one_hot){ .n = (int)l.items,
                               .depth = (int)y->dims[axis],
                               .inner = (int)product(y->dims, axis + 1, y->rank) };
    TRY(gpu_bits_storage(c, y, &l.storage));
    TRY(gpu_type(c, 0, T_INDICES, &a->index_type));
    TRY(gpu_constant_bits(c, y->type, op_has(c, "on_value") ? op_real(c, "on_value", 0) : 1.0, a->on));
    TRY(gpu_constant_bits(c, y->type, op_has(c, "off_value") ? op_real(c, "off_value", 0) : 0.0, a->off));
    return gpu_add(c, w, &l);
}

/* ---- places that hold something --------------------------------------------------------------------------------------- */

static void places_of(const struct tensor_desc *x, uint32_t depth, uint32_t rows, struct gpu_places *a)
{
    *a = (struct gpu_places){ .places = (int)product(x->dims, 0, depth),
                              .rows = (int)rows,
                              .depth = (int)depth,
                              .row = (int)product(x->dims, depth, x->rank) };
    for (uint32_t d = 0; d < depth; d++)
        a->dims[d] = (int)x->dims[d];
}

/* NonZero and GetSparseIndices. */
enum status gpu_bind_find_places(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_FIND_PLACES,
                            GPU_ARGS(places),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = 1,
                            .lanes = 1 };
    places_of(c->in[0], c->out[0]->dims[1], c->out[0]->dims[0], &l.args.places);
    TRY(gpu_type(c, 0, T_PLACED, &l.args.places.x_type));
    TRY(gpu_type(c, c->n_in, T_INDEX, &l.args.places.y_type));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_find_values(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_FIND_VALUES,
                            GPU_ARGS(places),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = 1,
                            .lanes = 1 };
    places_of(c->in[0], c->in[0]->rank + 1u - c->out[0]->rank, c->out[0]->dims[0], &l.args.places);
    TRY(same_types(c));
    TRY(gpu_type(c, 0, T_PLACED, &l.args.places.x_type));
    TRY(gpu_type(c, c->n_in, T_PLACED, &l.args.places.y_type));
    return gpu_add(c, w, &l);
}

/* Zeros, then rows in their order; indices never count from the end. */
enum status gpu_bind_create_sparse(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_SCATTER_ND, GPU_ARGS(tuples), .n_operands = 3, .operand = { 0, 1, (uint8_t)c->n_in }
    };
    const struct tensor_desc *y = c->out[0], *index = c->in[0];
    uint32_t depth = index->dims[1];
    uint64_t strides[MAX_RANK] = { 0 };
    struct gpu_tuples *a = &l.args.tuples;
    desc_strides(y, strides);
    *a = (struct gpu_tuples){
        .depth = (int)depth, .slice = (int)product(y->dims, depth, y->rank), .tuples = (int)index->dims[0], .plain = 1
    };
    for (uint32_t k = 0; k < depth; k++) {
        a->dims[k] = (int)y->dims[k];
        a->strides[k] = (int)strides[k];
    }
    TRY(gpu_type(c, 0, T_INDICES, &a->index_type));
    TRY(gpu_type(c, 1, T_PLACED, &a->update_type));
    TRY(gpu_type(c, c->n_in, T_PLACED, &a->type));
    TRY(gpu_bind_zeros(c, w));
    a->n = a->slice;
    l.items = (uint64_t)a->n;
    return gpu_add(c, w, &l);
}
