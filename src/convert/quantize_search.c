/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a tensor's range deserves the steps: a few outliers are clipped when that makes the steps of all other
 * values finer. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"

enum { N = QUANTIZE_BINS, TRIES = 100, LEAST_BINS_PER_TRY = 64 };

/* Sums over the first i bins, so that the error of a range costs the same whatever its width. */
struct prefix {
    double count[N + 1], x[N + 1], xx[N + 1];
};

static double width(const struct quantize_range *s)
{
    return (s->hi - s->lo) / N;
}

static double centre(const struct quantize_range *s, unsigned bin)
{
    double c = s->lo + (bin + 0.5) * width(s);
    return fmin(fmax(c, s->min), s->max);
}

static void fill_prefix(const struct quantize_range *s, struct prefix *p)
{
    p->count[0] = p->x[0] = p->xx[0] = 0;
    for (unsigned i = 0; i < N; i++) {
        double c = (double)s->bins[i], x = centre(s, i);
        p->count[i + 1] = p->count[i] + c;
        p->x[i + 1] = p->x[i] + c * x;
        p->xx[i + 1] = p->xx[i] + c * x * x;
    }
}

static unsigned bin_of(const struct quantize_range *s, double x)
{
    double at = (x - s->lo) / width(s);
    return at <= 0 ? 0 : at >= N ? N : (unsigned)(at + 0.5);
}

/* Squared error of bins [from, to) when all of them become `limit`. */
static double clipped(const struct prefix *p, unsigned from, unsigned to, double limit)
{
    double n = p->count[to] - p->count[from], x = p->x[to] - p->x[from], xx = p->xx[to] - p->xx[from];
    return fmax(xx - 2 * limit * x + n * limit * limit, 0);
}

/* Rounding errors are spread evenly over a step, whose square has the mean scale^2 / 12; zeros are exact and not in the
 * bins. */
static double squared_error(const struct quantize_range *s, const struct prefix *p, const struct quantize_encoding *e,
                            double clip_weight)
{
    if (s->lo >= s->hi)
        return 0;
    unsigned from = bin_of(s, e->min), to = bin_of(s, e->max);
    to = to < from ? from : to;
    double inside = p->count[to] - p->count[from], step = e->scale;
    return inside * step * step / 12 + clip_weight * (clipped(p, 0, from, e->min) + clipped(p, to, N, e->max));
}

struct best {
    double cost, min, max;
};

static void try_range(const struct quantize_range *s, const struct prefix *p, const struct quantize_rule *r, double lo,
                      double hi, struct best *b)
{
    struct quantize_encoding e;
    quantize_encode(r, lo, hi, &e);
    double cost = squared_error(s, p, &e, r->method == QUANTIZE_SQNR ? 3 : 1);
    if (cost < b->cost)
        *b = (struct best){ cost, lo, hi };
}

static void search_error(const struct quantize_range *s, const struct quantize_rule *r, double *min, double *max)
{
    struct prefix *p = mem_new(struct prefix);
    struct best b = { INFINITY, *min, *max };
    if (!p)
        return; /* the whole range is never wrong */
    fill_prefix(s, p);
    bool both = r->schema == QUANTIZE_ASYMMETRIC;
    for (unsigned i = TRIES; i > 0; i--) {
        double lo = fmin(s->min, 0) * i / TRIES;
        for (unsigned j = both && s->max > 0 ? TRIES : i; j > 0; j--) {
            try_range(s, p, r, lo, fmax(s->max, 0) * j / TRIES, &b);
            if (!both || s->max <= 0)
                break;
        }
        if (both && s->min >= 0)
            break;
    }
    *min = b.min;
    *max = b.max;
    mem_free(p);
}

/* What is cut off with `bin`: its values, and the zeros when they stand at `edge`. Zeros are not in the bins. */
static double mass(const struct quantize_range *s, unsigned bin, unsigned edge)
{
    return (double)s->bins[bin] + (edge == bin_of(s, 0) ? (double)s->zeros : 0);
}

static void search_percentile(const struct quantize_range *s, const struct quantize_rule *r, double *min, double *max)
{
    double keep = r->percentile > 0 ? r->percentile : 99.99, cut = (100 - keep) / 100 * (double)s->count, below = 0,
           above = 0;
    unsigned low = 0, high = N;
    for (; low < N - 1 && below + mass(s, low, low) <= cut; low++)
        below += mass(s, low, low);
    for (; high > low + 1 && above + mass(s, high - 1, high) <= cut; high--)
        above += mass(s, high - 1, high);
    *min = fmax(s->min, s->lo + low * width(s));
    *max = fmin(s->max, s->lo + high * width(s));
}

/* Divergence of the bins in [from, to), what is outside added to the ends, from their quantized form: every step's mass
 * spread over its bins. */
static double divergence(const struct quantize_range *s, unsigned from, unsigned to, const struct quantize_encoding *e)
{
    double total = 0, sum = 0, low = 0, high = 0;
    for (unsigned i = 0; i < N; i++) {
        total += (double)s->bins[i];
        low += i < from ? (double)s->bins[i] : 0;
        high += i >= to ? (double)s->bins[i] : 0;
    }
    double inside = total - low - high;
    for (unsigned i = from; i < to;) {
        double step = nearbyint(centre(s, i) / e->scale), mass = 0;
        unsigned end = i, used = 0;
        for (; end < to && nearbyint(centre(s, end) / e->scale) == step; end++) {
            mass += (double)s->bins[end];
            used += s->bins[end] || (end == from && low > 0) || (end == to - 1 && high > 0);
        }
        for (; i < end; i++) {
            double p = ((double)s->bins[i] + (i == from ? low : 0) + (i == to - 1 ? high : 0)) / total;
            double q = used && inside > 0 ? mass / used / inside : 0;
            sum += p > 0 ? p * log(p / fmax(q, 1e-9)) : 0;
        }
    }
    return sum;
}

static void search_entropy(const struct quantize_range *s, const struct quantize_rule *r, double *min, double *max)
{
    double least = INFINITY;
    if (r->bits > 8 || s->lo >= s->hi)
        return; /* more steps than bins: nothing is gained by clipping */
    double full_min = *min, full_max = *max;
    for (unsigned i = TRIES; i > 0; i--) {
        struct quantize_encoding e;
        double lo = full_min * i / TRIES, hi = full_max * i / TRIES;
        quantize_encode(r, lo, hi, &e);
        unsigned from = bin_of(s, lo), to = bin_of(s, hi);
        if (to < from + LEAST_BINS_PER_TRY || to - from < 1u << r->bits)
            break;
        double d = divergence(s, from, to, &e);
        if (d < least) {
            least = d;
            *min = lo;
            *max = hi;
        }
    }
}

static void search(const struct quantize_range *s, const struct quantize_rule *r, double *min, double *max)
{
    *min = s->count ? s->min : 0;
    *max = s->count ? s->max : 0;
    if (s->lo >= s->hi)
        return;
    switch ((enum quantize_method)r->method) {
    case QUANTIZE_MINMAX: return;
    case QUANTIZE_PERCENTILE: search_percentile(s, r, min, max); return;
    case QUANTIZE_ENTROPY: search_entropy(s, r, min, max); return;
    case QUANTIZE_MSE:
    case QUANTIZE_SQNR: search_error(s, r, min, max); return;
    }
}

void quantize_search(const struct quantize_range *s, const struct quantize_rule *r, double *min, double *max)
{
    search(s, r, min, max);
    *min *= 1 + r->widen;
    *max *= 1 + r->widen;
}

double quantize_sqnr(const struct quantize_range *s, const struct quantize_encoding *e)
{
    struct prefix *p = mem_new(struct prefix);
    if (!p || !s->count) {
        mem_free(p);
        return NAN;
    }
    fill_prefix(s, p);
    double noise = squared_error(s, p, e, 1);
    mem_free(p);
    return noise > 0 ? 10 * log10(s->sum_sq / noise) : INFINITY;
}
