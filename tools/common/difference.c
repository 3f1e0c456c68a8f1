/* SPDX-License-Identifier: Apache-2.0 */
#include "common/difference.h"

#include <math.h>
#include <stdio.h>

static bool same_value(float got, float want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);

    return got == want;
}

void difference_add(struct difference *d, const float *got, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(got[i]) || !isfinite(want[i])) {
            d->odd += !same_value(got[i], want[i]);
            continue;
        }

        double x = got[i];
        double y = want[i];
        double error = x - y;
        d->signal += y * y;
        d->energy += x * x;
        d->product += x * y;
        d->noise += error * error;
        d->worst = fmax(d->worst, fabs(error));
    }
    d->elements += n;
}

bool difference_is_exact(const struct difference *d)
{
    return d->elements && !d->odd && d->noise == 0;
}

double difference_sqnr(const struct difference *d)
{
    if (d->odd >= d->elements)
        return -INFINITY;
    if (d->noise == 0)
        return INFINITY;

    return 10 * log10(d->signal / d->noise);
}

double difference_cosine(const struct difference *d)
{
    if (d->signal == 0 || d->energy == 0)
        return d->signal == d->energy;

    return d->product / (sqrt(d->signal) * sqrt(d->energy));
}

int difference_order(const struct difference *a, const struct difference *b)
{
    if (!a->odd != !b->odd)
        return a->odd ? -1 : 1;

    double x = difference_sqnr(a);
    double y = difference_sqnr(b);

    return (x > y) - (x < y);
}

const char *difference_sqnr_text(const struct difference *d, char buf[24])
{
    if (difference_is_exact(d))
        return "exact";

    snprintf(buf, 24, "%.6g", difference_sqnr(d));
    return buf;
}
