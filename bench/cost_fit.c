/* SPDX-License-Identifier: Apache-2.0 */
/* Least absolute deviations by least squares, again and again, with rows weighed by how far off they were the last time. */
#include "cost_fit.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 60 };
static const double NEAR = 0.02;   /* of the logarithm: rows that are so near count no more than others */
static const double STAY = 0.0003; /* of all weights: how much a number that nothing depends on is held where it is */

typedef double square[COST_FIT_MOST][COST_FIT_MOST + 1]; /* and the right side */

/* Gauss and Jordan; the matrix is symmetric and, with what holds numbers in place, positive definite. */
static void solve(square m, uint32_t p, double *ret)
{
    for (uint32_t i = 0; i < p; i++)
        for (uint32_t row = 0; row < p; row++) {
            double times = row == i ? 0 : m[row][i] / m[i][i];
            for (uint32_t k = i; k <= p && row != i; k++)
                m[row][k] -= times * m[i][k];
        }
    for (uint32_t i = 0; i < p; i++)
        ret[i] = m[i][p] / m[i][i];
}

static double left(const double *slopes, double missing, const double *x, uint32_t p)
{
    for (uint32_t k = 0; k < p; k++)
        missing -= slopes[k] * x[k];
    return missing;
}

void cost_fit(const double *slopes, const double *missing, const double *weights, uint32_t n, uint32_t p, double *ret)
{
    static square m;
    memset(ret, 0, p * sizeof *ret);
    for (int round = 0; round < ROUNDS; round++) {
        double all = 0;
        memset(m, 0, sizeof m);
        for (uint32_t i = 0; i < n; i++) {
            const double *s = slopes + (size_t)i * p;
            double w = weights[i] / fmax(fabs(left(s, missing[i], ret, p)), NEAR);
            all += w;
            for (uint32_t a = 0; a < p && w > 0; a++) {
                for (uint32_t b = 0; b < p; b++)
                    m[a][b] += w * s[a] * s[b];
                m[a][p] += w * s[a] * missing[i];
            }
        }
        for (uint32_t a = 0; a < p; a++)
            m[a][a] += STAY * all + 1e-12;
        solve(m, p, ret);
    }
}
