/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes of some numbers bring estimates closest to what was measured. */
#ifndef BENCH_COST_FIT_H
#define BENCH_COST_FIT_H

#include <stdint.h>

enum { COST_FIT_MOST = 48 }; /* numbers */

/* Rows of an estimate whose logarithm changes with those of p numbers: slopes[row * p + number]; missing[row]: what its
 * logarithm should change by; weights: 0 leaves a row out. ret: by how much the numbers' logarithms change for the least sum
 * of weights * abs(what is still missing); what hardly matters stays. */
void cost_fit(const double *slopes, const double *missing, const double *weights, uint32_t n, uint32_t p, double *ret);

#endif
