/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding weights with a view to results: the nearest step of every weight is not the best rounding of a sum.
 *
 *     error of an output = X (q·scale − w)      X: patches, one per row
 *
 * Steps go up or down one weight at a time as long as that makes the squared error on three quarters of the samples smaller,
 * in a fixed order and a bounded number of rounds. A small weight on the squared difference of the weights themselves keeps
 * directions that no sample shows at their nearest step. The last quarter decides whether the output keeps its new steps. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/builder.h"

enum { ROUNDS = 4, LEAST = 16 };
static const double ridge = 1.0; /* of the mean square of a value */

struct rounder {
    const struct quantize_layer *l;
    const struct tensor_desc *d;
    const float *w;
    void *data;
    uint32_t n, train; /* samples; those that are searched on stand first */
    float *columns;    /* patch by sample */
    double *square;    /* of every column, searched samples only */
    float *error;      /* of one output, per sample */
    int64_t *nearest;  /* steps of one output */
    double keep;       /* weight of a squared difference */
};

static uint64_t index_of(const struct rounder *r, uint32_t k, uint32_t o)
{
    return (uint64_t)k * r->l->step_k + (uint64_t)o * r->l->step_o;
}

/* Four sums at a time: the order is fixed, and compilers may use vectors. */
static double dot(const float *a, const float *b, uint32_t n)
{
    float s[8] = { 0 };
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (uint32_t k = 0; k < 8; k++)
            s[k] += a[i + k] * b[i + k];
    double sum = ((double)s[0] + s[1]) + ((double)s[2] + s[3]) + ((double)s[4] + s[5]) + ((double)s[6] + s[7]);
    for (; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static void add_times(float *to, const float *x, float factor, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] += factor * x[i];
}

static const float *column(const struct rounder *r, uint32_t k, uint32_t o)
{
    return r->columns + (size_t)quantize_layer_at(r->l, k, o) * r->n;
}

static double scale_of(const struct rounder *r, uint32_t o)
{
    return quant_scale(&r->d->q, r->d->q.kind == Q_AXIS ? o : 0);
}

static double difference(const struct rounder *r, uint32_t k, uint32_t o, int64_t q)
{
    return (double)(q + quant_offset(&r->d->q, r->d->q.kind == Q_AXIS ? o : 0)) * scale_of(r, o) - r->w[index_of(r, k, o)];
}

/* The step on the other side of the weight; the same when the type has none. */
static int64_t other_step(const struct rounder *r, uint32_t k, uint32_t o, int64_t q)
{
    int64_t other = difference(r, k, o, r->nearest[k]) > 0 ? r->nearest[k] - 1 : r->nearest[k] + 1;
    int64_t to = q == r->nearest[k] ? other : r->nearest[k];
    bool cut = fabs(difference(r, k, o, r->nearest[k])) > scale_of(r, o) * 0.5001; /* clipped: there is no other side */
    return cut || to < dtype_min(r->d->type) || to > dtype_max(r->d->type) ? q : to;
}

static bool improve_step(struct rounder *r, uint32_t k, uint32_t o)
{
    uint64_t at = index_of(r, k, o);
    int64_t q = number_get_int(r->d->type, r->data, at), to = other_step(r, k, o, q);
    if (to == q)
        return false;
    const float *x = column(r, k, o);
    double change = (double)(to - q) * scale_of(r, o), now = difference(r, k, o, q);
    double gain = 2 * change * dot(r->error, x, r->train) + change * change * r->square[quantize_layer_at(r->l, k, o)] +
                  r->keep * (2 * change * now + change * change);
    if (!(gain < 0))
        return false;
    add_times(r->error, x, (float)change, r->n);
    number_put(r->d->type, r->data, at, (double)to);
    return true;
}

static double validation(const struct rounder *r)
{
    return dot(r->error + r->train, r->error + r->train, r->n - r->train);
}

static uint64_t round_output(struct rounder *r, uint32_t o)
{
    uint64_t moved = 0;
    memset(r->error, 0, r->n * sizeof(float));
    for (uint32_t k = 0; k < r->l->terms; k++) {
        r->nearest[k] = number_get_int(r->d->type, r->data, index_of(r, k, o));
        add_times(r->error, column(r, k, o), (float)difference(r, k, o, r->nearest[k]), r->n);
    }
    double before = validation(r);
    for (unsigned round = 0, some = 1; some && round < ROUNDS; round++) {
        some = 0;
        for (uint32_t k = 0; k < r->l->terms; k++)
            some += improve_step(r, k, o);
    }
    bool better = validation(r) < before;
    for (uint32_t k = 0; k < r->l->terms; k++) {
        uint64_t at = index_of(r, k, o);
        if (better)
            moved += number_get_int(r->d->type, r->data, at) != r->nearest[k];
        else
            number_put(r->d->type, r->data, at, (double)r->nearest[k]);
    }
    return moved;
}

/* Samples by column, every fourth at the end, with their squares. */
static void turn_samples(struct rounder *r)
{
    const struct quantize_layer *l = r->l;
    double all = 0;
    uint32_t front = 0, back = r->train;
    for (uint32_t s = 0; s < r->n; s++) {
        uint32_t at = s % 4 == 3 ? back++ : front++;
        for (uint32_t i = 0; i < l->patch; i++) {
            float x = l->samples[(size_t)s * l->patch + i];
            r->columns[(size_t)i * r->n + at] = isfinite(x) ? x : 0;
        }
    }
    for (uint32_t i = 0; i < l->patch; i++) {
        r->square[i] = dot(r->columns + (size_t)i * r->n, r->columns + (size_t)i * r->n, r->train);
        all += r->square[i];
    }
    r->keep = ridge * all / l->patch;
}

enum status quantize_round(const struct quantize_layer *l, const struct tensor_desc *d, const float *w, void *data,
                           uint64_t *moved)
{
    struct rounder r = { .l = l, .d = d, .w = w, .data = data, .n = l->n_samples, .train = l->n_samples - l->n_samples / 4 };
    *moved = 0;
    if (l->n_samples < LEAST || (d->q.kind != Q_TENSOR && d->q.kind != Q_AXIS) || (d->q.kind == Q_AXIS && d->q.n != l->outs))
        return ST_OK;
    CLEANUP(mem_freep) float *columns = mem_array(float, (size_t)l->patch * r.n);
    CLEANUP(mem_freep) double *square = mem_array(double, l->patch);
    CLEANUP(mem_freep) float *error = mem_array(float, r.n);
    CLEANUP(mem_freep) int64_t *nearest = mem_array(int64_t, l->terms);
    RETURN_IF(!columns || !square || !error || !nearest, ST_NO_MEMORY, "no memory to round weights of %u outputs", l->outs);
    r.columns = columns;
    r.square = square;
    r.error = error;
    r.nearest = nearest;
    turn_samples(&r);
    for (uint32_t o = 0; o < l->outs; o++)
        *moved += round_output(&r, o);
    return ST_OK;
}

enum status quantize_shift(const struct quantize_layer *l, const struct tensor_desc *d, const float *w, const void *data,
                           struct arena *a, float **ret)
{
    struct rounder r = { .l = l, .d = d, .w = w };
    *ret = NULL;
    if (!l->seen || (d->q.kind != Q_TENSOR && d->q.kind != Q_AXIS) || (d->q.kind == Q_AXIS && d->q.n != l->outs))
        return ST_OK;
    float *shift = arena_array(a, float, l->outs);
    RETURN_IF(!shift, ST_NO_MEMORY, "no memory for %u corrections", l->outs);
    for (uint32_t o = 0; o < l->outs; o++) {
        double sum = 0;
        for (uint32_t k = 0; k < l->terms; k++) {
            double mean = l->sum[quantize_layer_at(l, k, o)] / (double)l->seen;
            sum += mean * difference(&r, k, o, number_get_int(d->type, data, index_of(&r, k, o)));
        }
        shift[o] = (float)sum;
    }
    *ret = shift;
    return ST_OK;
}
