/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of quick.h over vectors: behind quick_body.h, and quick_step, which computes PAIR results. */
static inline __attribute__((always_inline)) void quick_walk(const enum quick_fn f, const float *x, float *o, uint32_t n)
{
    float rest[PAIR] = { 0 };
    uint32_t i = 0;
    for (; i + PAIR <= n; i += PAIR)
        quick_step(f, x + i, o + i);
    if (i < n) {
        memcpy(rest, x + i, (n - i) * sizeof(*x));
        quick_step(f, rest, rest);
        memcpy(o + i, rest, (n - i) * sizeof(*o));
    }
}

void K(quick)(enum quick_fn f, const float *x, float *o, uint32_t n)
{
    switch (f) {
    case QUICK_EXP: quick_walk(QUICK_EXP, x, o, n); break;
    case QUICK_SIGMOID: quick_walk(QUICK_SIGMOID, x, o, n); break;
    case QUICK_TANH: quick_walk(QUICK_TANH, x, o, n); break;
    case QUICK_GELU: quick_walk(QUICK_GELU, x, o, n); break;
    case QUICK_HARD_SWISH: quick_walk(QUICK_HARD_SWISH, x, o, n); break;
    }
}
