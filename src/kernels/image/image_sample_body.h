/* SPDX-License-Identifier: Apache-2.0 */
/* Values at places between pixels, compiled once per instruction set. A unit of work is one output row. */
#include <math.h>

#include "kernels/image/image.h"
#include "kernels/mover_body.h"

/* Where one output pixel reads: the pixel before the place, and the way to the next one, per dimension (depth, height,
 * width). */
struct place {
    uint64_t image;
    int64_t lo[3];
    float f[3];
};

/* False: so far outside that no neighbour is in the image. */
static bool find_place(const struct sampler *s, uint64_t image, const float at[3], struct place *p)
{
    *p = (struct place){.image = image};
    for (uint32_t d = s->first; d < 3; d++) {
        float n = (float)s->in[d], x = at[d];
        if (!(x > -2.0f && x < n + 1.0f))
            return false;
        float r = s->nearest ? (s->half_away ? roundf(x) : rintf(x)) : floorf(x);
        p->lo[d] = (int64_t)r;
        p->f[d] = x - r;
        if (s->nearest && (p->lo[d] < 0 || p->lo[d] >= (int64_t)s->in[d]))
            return false;
    }
    return true;
}

static bool tap_inside(const struct sampler *s, uint32_t d, int64_t *i)
{
    int64_t last = (int64_t)s->in[d] - 1;
    if (s->edge)
        *i = *i < 0 ? 0 : *i > last ? last : *i;
    return *i >= 0 && *i <= last;
}

/* The channels [c, c + n) that a place sees. */
struct channels {
    const struct sampler *s;
    const struct place *p;
    const void *src;
    uint32_t c, n;
};

static void load_tap(const struct channels *t, const int64_t at[3], float *o)
{
    const struct sampler *s = t->s;
    int64_t i[3] = {at[0], at[1], at[2]};
    for (uint32_t d = s->first; d < 3; d++)
        if (!tap_inside(s, d, &i[d])) {
            memset(o, 0, t->n * sizeof(*o));
            return;
        }
    uint64_t pixel = ((t->p->image * s->in[0] + (uint64_t)i[0]) * s->in[1] + (uint64_t)i[1]) * s->in[2] + (uint64_t)i[2];
    K(span_load)(&s->src, t->src, (int64_t)(pixel * s->channels + t->c), 1, t->n, o);
}

/* Linear along the dimensions d … 2, the last one first. */
static void blend_from(const struct channels *t, uint32_t d, int64_t at[3], float *o)
{
    float next[SPAN];
    if (d == 3) {
        load_tap(t, at, o);
        return;
    }
    at[d] = t->p->lo[d];
    blend_from(t, d + 1, at, o);
    at[d] = t->p->lo[d] + 1;
    blend_from(t, d + 1, at, next);
    const float f = t->p->f[d];
    for (uint32_t i = 0; i < t->n; i++)
        o[i] = o[i] + (next[i] - o[i]) * f;
}

static void sample_pixel(const struct sampler *s, const struct place *p, const void *src, void *dst, int64_t to)
{
    float o[SPAN];
    if (s->nearest) {
        uint64_t pixel =
            ((p->image * s->in[0] + (uint64_t)p->lo[0]) * s->in[1] + (uint64_t)p->lo[1]) * s->in[2] + (uint64_t)p->lo[2];
        move_run(&s->mover, dst, to, src, (int64_t)(pixel * s->channels), 1, s->channels);
        return;
    }
    for (uint32_t c = 0; c < s->channels; c += SPAN) {
        int64_t at[3] = {0};
        struct channels t = {.s = s, .p = p, .src = src, .c = c, .n = s->channels - c < SPAN ? s->channels - c : SPAN};
        blend_from(&t, s->first, at, o);
        K(span_store)(&s->dst, dst, to + c, 1, t.n, o);
    }
}

static void sample_nothing(const struct sampler *s, void *dst, int64_t to)
{
    move_fill(&s->mover, dst, to, s->channels);
}

/* ---- GridSample -------------------------------------------------------------------------------------------------- */

/* A coordinate thrown back at both ends until it is inside. */
static float reflect(float x, float twice_low, float twice_high)
{
    if (twice_low == twice_high)
        return 0.0f;
    float low = twice_low * 0.5f, span = (twice_high - twice_low) * 0.5f;
    x = fabsf(x - low);
    float rest = fmodf(x, span), flips = floorf(x / span);
    return fmodf(flips, 2.0f) == 0.0f ? rest + low : span - rest + low;
}

static float grid_coordinate(const struct grid_sample_args *a, uint32_t d, float g)
{
    float n = (float)a->s.in[d], last = n - 1.0f;
    float x = a->align_corners ? (g + 1.0f) * 0.5f * last : ((g + 1.0f) * n - 1.0f) * 0.5f;
    if (a->padding == GRID_ZEROS)
        return x;
    if (a->padding == GRID_REFLECTION)
        x = a->align_corners ? reflect(x, 0.0f, 2.0f * last) : reflect(x, -1.0f, 2.0f * n - 1.0f);
    return x > 0.0f ? (x < last ? x : last) : 0.0f; /* NaN too */
}

void K(image_grid_sample)(const struct kernel_call *call, struct range tile)
{
    const struct grid_sample_args *a = call->args;
    const struct sampler *s = &a->s;
    uint32_t coordinates = 3 - s->first;
    for (uint64_t row = tile.begin; row < tile.end; row++) {
        uint64_t image = row / s->out[1] / s->out[0];
        for (uint32_t x = 0; x < s->out[2]; x++) {
            int64_t pixel = (int64_t)(row * s->out[2] + x);
            float g[3], at[3] = {0};
            struct place p;
            K(span_load)(&a->grid, call->data[1], pixel * coordinates, 1, coordinates, g);
            for (uint32_t k = 0; k < coordinates; k++) /* x, y, z */
                at[2 - k] = grid_coordinate(a, 2 - k, g[k]);
            if (find_place(s, image, at, &p))
                sample_pixel(s, &p, call->data[0], call->data[2], pixel * s->channels);
            else
                sample_nothing(s, call->data[2], pixel * s->channels);
        }
    }
}

/* ---- CropAndResize ----------------------------------------------------------------------------------------------- */

static float crop_coordinate(uint32_t in, uint32_t out, uint32_t i, float from, float to)
{
    float last = (float)in - 1.0f;
    if (out == 1)
        return 0.5f * (from + to) * last;
    return from * last + (float)i * ((to - from) * last / (float)(out - 1));
}

void K(image_crop)(const struct kernel_call *call, struct range tile)
{
    const struct crop_args *a = call->args;
    const struct sampler *s = &a->s;
    for (uint64_t row = tile.begin; row < tile.end; row++) {
        uint64_t box = row / s->out[1];
        float b[4], at[3] = {0}, bottom = (float)s->in[1] - 1.0f, right = (float)s->in[2] - 1.0f;
        int64_t image;
        K(span_load)(&a->box, call->data[1], (int64_t)box * 4, 1, 4, b); /* y1, x1, y2, x2 */
        K(span_load_i64)(a->index_type, call->data[2], (int64_t)box, 1, 1, &image);
        at[1] = crop_coordinate(s->in[1], s->out[1], (uint32_t)(row % s->out[1]), b[0], b[2]);
        bool given = image >= 0 && image < (int64_t)s->batch && at[1] >= 0.0f && at[1] <= bottom;
        for (uint32_t x = 0; x < s->out[2]; x++) {
            int64_t to = (int64_t)((row * s->out[2] + x) * s->channels);
            struct place p;
            at[2] = crop_coordinate(s->in[2], s->out[2], x, b[1], b[3]);
            if (given && at[2] >= 0.0f && at[2] <= right && find_place(s, (uint64_t)image, at, &p))
                sample_pixel(s, &p, call->data[0], call->data[3], to);
            else
                move_fill_with(&s->mover, call->data[3], to, s->channels, a->outside);
        }
    }
}

/* ---- ImageProjectionTransform ------------------------------------------------------------------------------------ */

void K(image_projection)(const struct kernel_call *call, struct range tile)
{
    const struct projection_args *a = call->args;
    const struct sampler *s = &a->s;
    for (uint64_t row = tile.begin; row < tile.end; row++) {
        uint64_t image = row / s->out[1];
        float t[8], y = (float)(row % s->out[1]);
        K(span_load)(&a->transform, call->data[1], a->own ? (int64_t)image * 8 : 0, 1, 8, t);
        for (uint32_t i = 0; i < s->out[2]; i++) {
            int64_t to = (int64_t)((row * s->out[2] + i) * s->channels);
            float x = (float)i, k = t[6] * x + t[7] * y + 1.0f;
            float at[3] = {0.0f, (t[3] * x + t[4] * y + t[5]) / k, (t[0] * x + t[1] * y + t[2]) / k};
            struct place p;
            if (find_place(s, image, at, &p)) /* k = 0 leads nowhere */
                sample_pixel(s, &p, call->data[0], call->data[2], to);
            else
                sample_nothing(s, call->data[2], to);
        }
    }
}
