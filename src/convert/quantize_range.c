/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a tensor over many runs: extremes, moments, and a histogram that grows with its data. */
#include <math.h>
#include <string.h>

#include "convert/convert.h"

void quantize_range_init(struct quantize_range *r)
{
    memset(r, 0, sizeof(*r));
    r->min = INFINITY;
    r->max = -INFINITY;
}

/* Twice the width, to the side of `toward`: pairs of bins become one. */
static void widen(struct quantize_range *r, double toward)
{
    enum { HALF = QUANTIZE_BINS / 2 };
    uint64_t merged[HALF];
    double width = r->hi - r->lo;
    for (unsigned i = 0; i < HALF; i++)
        merged[i] = r->bins[2 * i] + r->bins[2 * i + 1];
    memset(r->bins, 0, sizeof(r->bins));
    bool down = toward < r->lo;
    memcpy(r->bins + (down ? HALF : 0), merged, sizeof(merged));
    r->lo -= down ? width : 0;
    r->hi += down ? 0 : width;
}

static void cover(struct quantize_range *r, double lo, double hi)
{
    if (r->lo >= r->hi) {
        /* The first values decide the width of a bin; a single value gets room on both sides. */
        double least = fmax(fabs(lo), fabs(hi)) * 1e-6 + 1e-12, half = fmax((hi - lo) / 2, least),
               middle = lo + (hi - lo) / 2;
        r->lo = middle - half;
        r->hi = middle + half;
    }
    while (lo < r->lo)
        widen(r, lo);
    while (hi > r->hi)
        widen(r, hi);
}

void quantize_range_add(struct quantize_range *r, const float *x, uint64_t n)
{
    double lo = INFINITY, hi = -INFINITY; /* of the values other than 0 */
    for (uint64_t i = 0; i < n; i++) {
        double v = x[i];
        if (!isfinite(v)) {
            r->odd++;
            continue;
        }
        r->count++;
        r->sum += v;
        r->sum_sq += v * v;
        r->min = fmin(r->min, v);
        r->max = fmax(r->max, v);
        r->zeros += v == 0;
        lo = v != 0 && v < lo ? v : lo;
        hi = v != 0 && v > hi ? v : hi;
    }
    if (lo > hi)
        return;
    cover(r, lo, hi);
    double per = QUANTIZE_BINS / (r->hi - r->lo);
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || x[i] == 0)
            continue;
        double at = ((double)x[i] - r->lo) * per;
        unsigned bin = at < 0 ? 0 : at >= QUANTIZE_BINS ? QUANTIZE_BINS - 1 : (unsigned)at;
        r->bins[bin]++;
    }
}
