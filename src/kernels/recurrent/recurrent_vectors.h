/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of units: loops over plain arguments, which compilers make vectors of. Compiled once per instruction set. */
#include <math.h>
#include <string.h>

#include "kernels/quick.h"
#include "kernels/span.h"

/* What a tensor would hold after storing and reading back: the precision of a state between time steps. */
static void round_vector(const struct codec *c, uint32_t n, float *v)
{
    uint32_t stored[SPAN];
    if (c->type == DT_F32 || c->scales)
        return;
    for (uint32_t i = 0; i < n; i += SPAN) {
        uint32_t k = n - i < SPAN ? n - i : SPAN;
        K(span_store)(c, stored, 0, 1, k, v + i);
        K(span_load)(c, stored, 0, 1, k, v + i);
    }
}

static void sigmoid(float *v, uint32_t n)
{
    K(quick)(QUICK_SIGMOID, v, v, n);
}

static void tangent(const float *v, float *o, uint32_t n)
{
    K(quick)(QUICK_TANH, v, o, n);
}

static void clip(float *v, uint32_t n, float limit)
{
    if (!(limit > 0.0f))
        return;
    for (uint32_t i = 0; i < n; i++)
        v[i] = v[i] < -limit ? -limit : v[i] > limit ? limit : v[i];
}

static void add_product(float *z, const float *a, const float *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        z[i] = z[i] + a[i] * b[i];
}

static void product(float *to, const float *a, const float *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = a[i] * b[i];
}

static void rest_of_one(float *z, const float *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        z[i] = 1.0f - a[i];
}

static void new_cell(float *c, const float *f, const float *in, const float *g, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        c[i] = f[i] * c[i] + in[i] * g[i];
}

static void blend(float *to, const float *h, const float *z, const float *n_gate, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = (1.0f - z[i]) * n_gate[i] + z[i] * h[i];
}
