/* SPDX-License-Identifier: Apache-2.0 */
/* How far values are from reference values: signal-to-noise ratio, cosine similarity, largest error, and how many elements
 * are NaN or infinite on one side only. Those elements take no part in the other figures, so they are counted and ranked
 * first: a tensor full of NaN must never look exact. */
#ifndef TOOLS_COMMON_DIFFERENCE_H
#define TOOLS_COMMON_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct difference {
    double signal;     /* sum of want squared */
    double noise;      /* sum of (got - want) squared */
    double energy;     /* sum of got squared */
    double product;    /* sum of got times want */
    double worst;      /* largest |got - want| */
    uint64_t elements; /* compared */
    uint64_t odd;      /* NaN or infinity where the other side has another value */
};

void difference_add(struct difference *d, const float *got, const float *want, size_t n);

/* Both sides are the same: the same numbers, NaN where the other has NaN, the same infinities. */
bool difference_is_exact(const struct difference *d);

/* Decibel; infinity when there is no noise, minus infinity when every element is odd or nothing was compared. */
double difference_sqnr(const struct difference *d);

/* 1 for the same direction; 1 also when both sides are zero, 0 when only one is. */
double difference_cosine(const struct difference *d);

/* Order of a report: odd elements first, then by signal-to-noise ratio. Negative when `a` is worse. */
int difference_order(const struct difference *a, const struct difference *b);

/* "exact", or the ratio. */
const char *difference_sqnr_text(const struct difference *d, char buf[24]);

#endif
