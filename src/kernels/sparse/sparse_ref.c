/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse operators: one unit of work each, because rows are found one after the other. */
#define KERNEL_ISA ref
#include "kernels/mover_body.h"
#include "kernels/sparse/sparse.h"

void sparse_create_ref(const struct kernel_call *call, struct range tile)
{
    const struct sparse_args *a = call->args;
    (void)tile;
    move_fill(&a->mover, call->data[2], 0, a->places * a->row);
    for (uint64_t r = 0; r < a->rows; r++) {
        int64_t index[MAX_RANK], at = 0;
        bool inside = true;
        span_load_i64_ref(a->index_type, call->data[0], (int64_t)(r * a->depth), 1, a->depth, index);
        for (uint32_t d = 0; d < a->depth; d++) {
            inside = inside && index[d] >= 0 && index[d] < (int64_t)a->dims[d];
            at = inside ? at * (int64_t)a->dims[d] + index[d] : 0;
        }
        if (inside)
            move_run(&a->mover, call->data[2], at * (int64_t)a->row, call->data[1], (int64_t)(r * a->row), 1, a->row);
    }
}

/* Something other than real zero is there. */
static bool used(const struct sparse_args *a, const void *base, uint64_t place)
{
    for (uint64_t i = 0; i < a->row; i++) {
        double v;
        span_load_f64_ref(&a->in, base, (int64_t)(place * a->row + i), 1, &v);
        if (v != 0.0)
            return true;
    }
    return false;
}

void sparse_indices_ref(const struct kernel_call *call, struct range tile)
{
    const struct sparse_args *a = call->args;
    int64_t index[MAX_RANK];
    uint64_t row = 0;
    (void)tile;
    for (uint64_t p = 0; p < a->places && row < a->rows; p++) {
        uint64_t rest = p;
        if (!used(a, call->data[0], p))
            continue;
        for (uint32_t d = a->depth; d-- > 0; rest /= a->dims[d])
            index[d] = (int64_t)(rest % a->dims[d]);
        span_store_i64_ref(a->index_type, call->data[1], (int64_t)(row++ * a->depth), 1, a->depth, index);
    }
    for (uint32_t d = 0; d < a->depth; d++)
        index[d] = -1;
    for (; row < a->rows; row++)
        span_store_i64_ref(a->index_type, call->data[1], (int64_t)(row * a->depth), 1, a->depth, index);
}

void sparse_values_ref(const struct kernel_call *call, struct range tile)
{
    const struct sparse_args *a = call->args;
    uint64_t row = 0;
    (void)tile;
    for (uint64_t p = 0; p < a->places && row < a->rows; p++)
        if (used(a, call->data[0], p))
            move_run(&a->mover, call->data[1], (int64_t)(row++ * a->row), call->data[0], (int64_t)(p * a->row), 1, a->row);
    move_fill(&a->mover, call->data[1], (int64_t)(row * a->row), (a->rows - row) * a->row);
}

void sparse_dense_ref(const struct kernel_call *call, struct range tile)
{
    const struct sparse_args *a = call->args;
    (void)tile;
    move_run(&a->mover, call->data[1], 0, call->data[0], 0, 1, a->row);
}
