/* SPDX-License-Identifier: Apache-2.0 */
/* See quick.h: the definition itself. */
#define KERNEL_ISA ref
#include "kernels/quick.h"

#include "kernels/math.h"

static inline double definition(enum quick_fn f, double x)
{
    switch (f) {
    case QUICK_EXP: return math_exp_inline(x);
    case QUICK_SIGMOID: return math_sigmoid(x);
    case QUICK_TANH: return math_tanh(x);
    case QUICK_GELU: return math_gelu(x);
    default: return math_hard_swish(x);
    }
}

void quick_ref(enum quick_fn f, const float *x, float *o, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        o[i] = (float)definition(f, (double)x[i]);
}

float quick_most_ref(const float *x, uint32_t n)
{
    float most = -__builtin_inff();
    for (uint32_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

#include "kernels/quick_runs.h"
