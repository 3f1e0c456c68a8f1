/* SPDX-License-Identifier: Apache-2.0 */
/* Colours, compiled once per instruction set. */
#include <math.h>

#include "kernels/image/image.h"
#include "kernels/mover_body.h"

/* A unit is SPAN pixels. */
void K(image_argb)(const struct kernel_call *call, struct range tile)
{
    const struct argb_args *a = call->args;
    uint64_t end = (uint64_t)tile.end * SPAN;
    end = end < a->pixels ? end : a->pixels;
    for (uint64_t at = (uint64_t)tile.begin * SPAN; at < end; at++)
        for (uint32_t c = 0; c < 3; c++)
            move_run(&a->mover, call->data[1], (int64_t)(at * 3 + c), call->data[0], (int64_t)(at * 4 + a->pick[c]), 1, 1);
}

static inline float byte_range(float v)
{
    v = v > 0.0f ? v : 0.0f;
    return v < 255.0f ? v : 255.0f;
}

struct yuv {
    float y[SPAN], u[SPAN / 2], v[SPAN / 2], red[SPAN], green[SPAN], blue[SPAN];
};

static void to_rgb(struct yuv *w, uint32_t n, bool whole)
{
    for (uint32_t i = 0; i < n; i++) {
        float y = 1.164f * (w->y[i] - 16.0f), u = w->u[i / 2] - 128.0f, v = w->v[i / 2] - 128.0f;
        w->red[i] = byte_range(y + 1.596f * v);
        w->green[i] = byte_range(y - 0.813f * v - 0.391f * u);
        w->blue[i] = byte_range(y + 2.018f * u);
    }
    for (uint32_t i = 0; i < n && whole; i++) {
        w->red[i] = rintf(w->red[i]);
        w->green[i] = rintf(w->green[i]);
        w->blue[i] = rintf(w->blue[i]);
    }
}

/* Whole numbers of 0 … 255, three channels side by side. */
static void put_bytes(const struct nv_args *a, const struct yuv *w, uint32_t n, uint8_t *o)
{
    for (uint32_t i = 0; i < n; i++, o += 3) {
        o[a->red] = (uint8_t)w->red[i];
        o[1] = (uint8_t)w->green[i];
        o[a->blue] = (uint8_t)w->blue[i];
    }
}

/* A unit is one output row. Width and height are even. */
void K(image_nv)(const struct kernel_call *call, struct range tile)
{
    const struct nv_args *a = call->args;
    struct yuv w;
    uint64_t plane = (uint64_t)a->height * a->width, frame = plane / 2 * 3;
    for (uint64_t row = tile.begin; row < tile.end; row++) {
        uint64_t image = row / a->height, line = row % a->height;
        int64_t luma = (int64_t)(image * frame + line * a->width),
                chroma = (int64_t)(image * frame + plane + line / 2 * a->width);
        for (uint32_t x = 0; x < a->width; x += SPAN) {
            uint32_t n = a->width - x < SPAN ? a->width - x : SPAN;
            int64_t to = (int64_t)(row * a->width + x) * 3;
            K(span_load)(&a->src, call->data[0], luma + x, 1, n, w.y);
            K(span_load)(&a->src, call->data[0], chroma + x + a->u, 2, n / 2, w.u);
            K(span_load)(&a->src, call->data[0], chroma + x + a->v, 2, n / 2, w.v);
            to_rgb(&w, n, a->bytes_out);
            if (a->bytes_out) {
                put_bytes(a, &w, n, (uint8_t *)call->data[1] + to);
                continue;
            }
            K(span_store)(&a->dst, call->data[1], to + a->red, 3, n, w.red);
            K(span_store)(&a->dst, call->data[1], to + 1, 3, n, w.green);
            K(span_store)(&a->dst, call->data[1], to + a->blue, 3, n, w.blue);
        }
    }
}
