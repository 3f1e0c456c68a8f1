/* SPDX-License-Identifier: Apache-2.0 */
/* ElementWiseMux. A unit of work is SPAN output elements. */
#define KERNEL_ISA ref
#include "kernels/mover_body.h"
#include "kernels/mux/mux.h"

/* Whole part of the selector, limited to the inputs there are. */
static uint32_t chosen(const struct mux_args *a, const void *selector, int64_t at)
{
    double v;
    span_load_f64_ref(&a->selector, selector, at, 1, &v);
    return v >= 1.0 ? (v < (double)a->inputs ? (uint32_t)v : a->inputs - 1) : 0;
}

void mux_ref(const struct kernel_call *call, struct range tile)
{
    const struct mux_args *a = call->args;
    uint64_t at = (uint64_t)tile.begin * SPAN, end = (uint64_t)tile.end * SPAN;
    struct view_walk w[MUX_INPUTS + 1];
    end = end < a->total && a->mover[0].bytes ? end : a->total; /* packed values: one tile for all */
    for (uint32_t i = 0; i <= a->inputs && at < end; i++)
        view_seek(&w[i], &a->view[i], at);
    for (; at < end; at++) {
        int64_t place[MUX_INPUTS + 1];
        for (uint32_t i = 0; i <= a->inputs; i++)
            view_run(&w[i], 1, &place[i]);
        uint32_t k = chosen(a, call->data[0], place[0]);
        move_run(&a->mover[k], call->data[a->inputs + 1], (int64_t)at, call->data[1 + k], place[1 + k], 1, 1);
    }
}
