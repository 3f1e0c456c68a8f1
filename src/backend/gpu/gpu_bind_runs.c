/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of running sums, moments, masked softmax, and of reductions of integers. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

#define T_WHOLE (T_INT | T_(DT_U8) | T_(DT_U16) | T_(DT_U32) | T_BOOL)

enum status gpu_bind_running_sum(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_RUNNING_SUM, GPU_ARGS(scan), .n_operands = 2, .operand = { 0, (uint8_t)c->n_in }, .items = 1
    };
    const struct tensor_desc *x = c->in[0];
    uint32_t axis = op_axis(c, "axis", 0, x->rank), types = dtype_is_float(x->type) ? T_FLOAT : T_WHOLE;
    uint64_t strides[MAX_RANK] = { 0 };
    struct gpu_view v = { 0 };
    struct gpu_scan *a = &l.args.scan;
    desc_strides(x, strides);
    *a = (struct gpu_scan){ .count = (int)x->dims[axis],
                            .step = (int)strides[axis],
                            .exclusive = (int)op_int(c, "exclusive", 0),
                            .reverse = (int)op_int(c, "reverse", 0) };
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis) {
            gpu_view_add(&v, x->dims[d], (int64_t)strides[d], 0, 0);
            l.items *= x->dims[d];
        }
    a->n = (int)l.items;
    TRY(gpu_type(c, 0, types, &a->x_type));
    TRY(gpu_type(c, c->n_in, types, &a->y_type));
    TRY(gpu_view_end(c, &v, &a->rank, a->dims, (int *const[4]){ a->strides }));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_moments(const struct op_call *c, struct gpu_work *w)
{
    uint8_t out = (uint8_t)c->n_in;
    struct gpu_launch l = { .kernel = K_MOMENTS, .n_operands = 3, .operand = { 0, out, out + 1 } };
    struct op_runs r;
    if (c->n_out < 2 || !c->out[1])
        return gpu_refuse(c, "output 1 must be there");
    TRY(gpu_type(c, 0, T_FLOAT, &l.args.rows.in_type));
    TRY(gpu_type(c, out, T_FLOAT, &l.args.rows.out_type));
    TRY(gpu_type(c, out + 1u, T_FLOAT, &l.args.rows.k));
    op_runs_over(c->in[0], op_axes_mask(c, "axes"), &r);
    return gpu_add_rows(c, w, &r, &l);
}

enum status gpu_bind_masked_softmax(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_MASKED_SOFTMAX, GPU_ARGS(masked), .n_operands = 3, .operand = { 0, 1, (uint8_t)c->n_in }
    };
    const struct tensor_desc *x = c->in[0], *mask = c->in[1], *y = c->out[0];
    struct gpu_masked *a = &l.args.masked;
    struct gpu_view v = { 0 };
    *a = (struct gpu_masked){ .count = y->rank ? (int)y->dims[y->rank - 1] : 1,
                              .compressed = op_int(c, "mode", 0) != 0,
                              .rows = 1 };
    l.items = a->count ? desc_count(y) / (uint64_t)a->count * GPU_LANES : 0;
    if (a->compressed) {
        a->rows = (int)x->dims[x->rank - 2];
        a->batch_runs = mask->rank == 2 && mask->dims[0] > 1 ? (int)(desc_count(x) / x->dims[0] / x->dims[x->rank - 1]) : 0;
    } else {
        int64_t strides[MAX_RANK] = { 0 };
        a->condition = mask->type == DT_B8;
        gpu_broadcast_strides(mask, y, strides);
        for (uint32_t d = 0; d < y->rank; d++)
            gpu_view_add(&v, y->dims[d], strides[d], 0, 0);
    }
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    TRY(gpu_type(c, 1, T_FLOAT | T_WHOLE, &a->mask_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    TRY(gpu_view_end(c, &v, &a->rank, a->dims, (int *const[4]){ a->strides }));
    return gpu_add(c, w, &l);
}

/* ---- integers --------------------------------------------------------------------------------------------------------- */

enum status gpu_bind_whole_reduce(const struct op_call *c, struct gpu_work *w, int kind, const char *axes)
{
    struct gpu_launch l = { .kernel = K_WHOLE_REDUCE, .n_operands = 2, .operand = { 0, (uint8_t)c->n_in } };
    struct op_runs r;
    bool place = kind == ROW_ARGMAX || kind == ROW_ARGMIN;
    l.args.rows.kind = kind;
    TRY(gpu_type(c, 0, T_WHOLE, &l.args.rows.in_type));
    TRY(gpu_type(c, c->n_in, place ? T_WHOLE | T_FLOAT : T_WHOLE, &l.args.rows.out_type));
    op_runs_over(c->in[0], op_axes_mask(c, axes), &r);
    return gpu_add_rows(c, w, &r, &l);
}

enum status gpu_bind_whole_top_k(const struct op_call *c, struct gpu_work *w)
{
    uint8_t out = (uint8_t)c->n_in;
    struct gpu_launch l = { .kernel = K_WHOLE_TOP_K, .n_operands = 3, .operand = { 0, out, out + 1 } };
    const struct tensor_desc *x = c->in[0];
    struct op_runs r;
    int same;
    if (c->n_out < 2 || !c->out[1])
        return gpu_refuse(c, "output 1 must be there");
    TRY(gpu_type(c, 0, T_WHOLE, &l.args.rows.in_type));
    TRY(gpu_type(c, out, T_(x->type), &same));
    TRY(gpu_type(c, out + 1u, T_INDEX, &l.args.rows.out_type));
    l.args.rows.k = (int)op_int(c, "k", 0);
    l.args.rows.smallest = !op_int(c, "largest", 0);
    op_runs_over(x, 1u << (x->rank - 1u), &r);
    return gpu_add_rows(c, w, &r, &l);
}
