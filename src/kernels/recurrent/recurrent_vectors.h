/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of units: loops over plain arguments, which compilers make vectors of. Compiled once per instruction set. */
#include <math.h>
#include <string.h>

#include "kernels/math.h"
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
    for (uint32_t i = 0; i < n; i++)
        v[i] = math_exp_limit_f32(-v[i]);
    for (uint32_t i = 0; i < n; i++)
        v[i] = (float)(1.0 / (1.0 + math_exp_core((double)v[i])));
}

static void tangent(const float *v, float *o, uint32_t n)
{
    float x[SPAN];
    double e[SPAN];
    for (uint32_t at = 0; at < n; at += SPAN) {
        uint32_t k = n - at < SPAN ? n - at : SPAN;
        for (uint32_t i = 0; i < k; i++)
            x[i] = math_exp_limit_f32(2.0f * fabsf(v[at + i]));
        for (uint32_t i = 0; i < k; i++)
            e[i] = math_exp_core((double)x[i]);
        for (uint32_t i = 0; i < k; i++) /* not into o, which may be v: compilers would not make vectors */
            x[i] = (float)math_tanh_core((double)v[at + i], e[i]);
        memcpy(o + at, x, k * sizeof(*o));
    }
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
