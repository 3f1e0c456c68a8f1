/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that move, make, collect and distribute boxes. */
#include <math.h>
#include <string.h>

#include "kernels/detect/detect.h"
#include "kernels/math.h"

static float exp_f32(float x)
{
    return (float)math_exp_inline((double)x);
}

static float within(float v, float lo, float hi)
{
    return v > lo ? (v < hi ? v : hi) : lo;
}

/* Corners x1, y1, x2, y2 moved by dx, dy, dw, dh (already weighted), within [0, limit]: x limit, y limit. */
static void move_corners(const float box[4], const float d[4], const float limit[2], float ret[4])
{
    for (int k = 0; k < 2; k++) {
        float size = box[k + 2] - box[k], middle = (box[k] + box[k + 2]) * 0.5f;
        float to = middle + d[k] * size, half = exp_f32(d[k + 2]) * size * 0.5f;
        ret[k] = within(to - half, 0.0f, limit[k]);
        ret[k + 2] = within(to + half, 0.0f, limit[k]);
    }
}

/* The image of a roi, -1 when there is no such image. */
static int64_t image_of(const struct kernel_call *call, const struct transform_args *a, uint32_t port, uint64_t roi)
{
    int64_t v = a->in[port].given ? port_load_index(&a->in[port], call->data[port], roi) : 0;
    return v >= 0 && v < (int64_t)a->batch ? v : -1;
}

static void count_rois(const struct kernel_call *call, const struct transform_args *a, uint32_t port, void *out)
{
    for (uint32_t b = 0; b < a->batch; b++) {
        int64_t n = 0;
        for (uint64_t i = 0; i < a->rois; i++)
            n += image_of(call, a, port, i) == (int64_t)b;
        port_store_index(&a->out[1], out, b, n);
    }
}

void axis_aligned_transform_ref(const struct kernel_call *call, struct range tile)
{
    const struct transform_args *a = call->args;
    for (uint64_t i = tile.begin; i < tile.end; i++) {
        float box[4], d[4], size[2], o[4] = {0};
        int64_t image = image_of(call, a, 2, i);
        port_load(&a->in[0], call->data[0], i * 4, 4, box);
        if (image >= 0)
            port_load(&a->in[3], call->data[3], (uint64_t)image * 2, 2, size); /* height, width */
        for (uint32_t c = 0; c < a->classes; c++) {
            uint64_t at = (i * a->classes + c) * 4;
            port_load(&a->in[1], call->data[1], at, 4, d);
            for (int k = 0; k < 4; k++)
                d[k] = d[k] / a->weights[k];
            if (image >= 0)
                move_corners(box, d, (const float[]){size[1], size[0]}, o);
            port_store(&a->out[0], call->data[4], at, 4, o);
        }
    }
    if (tile.begin == 0 && a->out[1].given)
        count_rois(call, a, 2, call->data[5]);
}

/* ---- rotated boxes ----------------------------------------------------------------------------------------------- */

/* Middle x, y, width, height, angle moved by dx, dy, dw, dh, da. */
static void move_rotated(const struct transform_args *a, const float box[5], const float d[5], float o[5])
{
    const float most = 4.135166556742356f; /* log(1000 / 16): larger growth is a mistake of the network */
    for (int k = 0; k < 2; k++) {
        float grow = d[k + 2] / a->weights[k + 2];
        o[k] = d[k] / a->weights[k] * box[k + 2] + box[k];
        o[k + 2] = exp_f32(grow < most ? grow : most) * box[k + 2];
    }
    o[4] = d[4] * 180.0f / 3.14159265f + box[4];
    if (a->bounded && o[4] < a->low)
        o[4] = o[4] + (a->high - a->low);
    else if (a->bounded && o[4] > a->high)
        o[4] = o[4] - (a->high - a->low);
}

/* An upright box is clipped to the image, width and height given in `limit`. */
static void clip_upright(float o[5], const float limit[2])
{
    for (int k = 0; k < 2; k++) {
        float lo = within(o[k] - o[k + 2] * 0.5f, 0.0f, limit[k]), hi = within(o[k] + o[k + 2] * 0.5f, 0.0f, limit[k]);
        o[k] = (lo + hi) * 0.5f;
        o[k + 2] = hi - lo;
    }
}

void rotated_transform_ref(const struct kernel_call *call, struct range tile)
{
    const struct transform_args *a = call->args;
    for (uint64_t i = tile.begin; i < tile.end; i++) {
        float box[5], d[5], info[3] = {0}, o[5] = {0};
        int64_t image = image_of(call, a, 3, i);
        port_load(&a->in[0], call->data[0], i * 5, 5, box);
        if (image >= 0)
            port_load(&a->in[2], call->data[2], (uint64_t)image * 3, 3, info); /* height, width, scale */
        float limit[2] = {floorf(info[1] / info[2] + 0.5f), floorf(info[0] / info[2] + 0.5f)};
        for (int k = 0; k < 4; k++)
            box[k] = box[k] / info[2];
        for (uint32_t c = 0; c < a->classes; c++) {
            uint64_t at = (i * a->classes + c) * 5;
            port_load(&a->in[1], call->data[1], at, 5, d);
            if (image >= 0) {
                move_rotated(a, box, d, o);
                if (fabsf(o[4]) <= a->threshold)
                    clip_upright(o, limit);
                for (int k = 0; k < 4 && a->scaled; k++)
                    o[k] = o[k] * info[2];
            }
            port_store(&a->out[0], call->data[a->n_in], at, 5, o);
        }
    }
    if (tile.begin == 0)
        count_rois(call, a, 3, call->data[a->n_in + 1]);
}

/* ---- proposals --------------------------------------------------------------------------------------------------- */

/* Box of candidate `index` of an image: its anchor at its place, moved. */
static void propose(const struct kernel_call *call, const struct proposals_args *a, uint64_t image, uint32_t index,
                    float ret[4])
{
    uint32_t pixel = index / a->anchors, anchor = index % a->anchors;
    float box[4], d[4], size[2],
        shift[2] = { (float)(pixel % a->width) * a->ratio[1], (float)(pixel / a->width) * a->ratio[0] };
    port_load(&a->in[2], call->data[2], (uint64_t)anchor * 4, 4, box);
    port_load(&a->in[1], call->data[1], (image * a->height * a->width * a->anchors + index) * 4, 4, d);
    port_load(&a->in[3], call->data[3], image * 2, 2, size); /* height, width */
    for (int k = 0; k < 4; k++)
        box[k] = box[k] + shift[k % 2];
    for (int k = 2; k < 4; k++)
        d[k] = d[k] < a->clip ? d[k] : a->clip;
    move_corners(box, d, (const float[]){size[1], size[0]}, ret);
}

void generate_proposals_ref(const struct kernel_call *call, struct range tile)
{
    const struct proposals_args *a = call->args;
    uint64_t all = (uint64_t)a->height * a->width * a->anchors, row = 0;
    float *boxes = call->work;
    struct candidate *c = (struct candidate *)(boxes + all * 4);
    struct nms nms = a->nms;
    static const float nothing[4];
    nms.boxes = boxes;
    (void)tile;
    for (uint64_t image = 0; image < a->batch; image++) {
        uint32_t n = 0, kept = 0;
        for (uint64_t i = 0; i < all; i++) {
            float s;
            port_load(&a->in[0], call->data[0], image * all + i, 1, &s);
            if (s == s)
                c[n++] = (struct candidate){s, (uint32_t)i};
        }
        nms_sort(c, n);
        n = a->before < n ? (uint32_t)a->before : n;
        for (uint32_t i = 0; i < n; i++) {
            float *b = boxes + (uint64_t)c[i].index * 4;
            propose(call, a, image, c[i].index, b);
            if (b[2] - b[0] >= a->min_size && b[3] - b[1] >= a->min_size)
                c[kept++] = c[i];
        }
        n = nms_run(&nms, c, kept);
        for (uint32_t i = 0; i < n && row < a->room; i++, row++) {
            port_store(&a->out[0], call->data[4], row, 1, &c[i].score);
            port_store(&a->out[1], call->data[5], row * 4, 4, boxes + (uint64_t)c[i].index * 4);
            port_store_index(&a->out[2], call->data[6], row, (int64_t)image);
        }
    }
    for (; row < a->room; row++) {
        port_store(&a->out[0], call->data[4], row, 1, nothing);
        port_store(&a->out[1], call->data[5], row * 4, 4, nothing);
        port_store_index(&a->out[2], call->data[6], row, -1);
    }
}

void collect_proposals_ref(const struct kernel_call *call, struct range tile)
{
    const struct collect_args *a = call->args;
    struct candidate *c = call->work;
    uint32_t n = 0, first[DETECT_LEVELS + 1] = {0};
    float v[5] = {0};
    (void)tile;
    for (uint32_t l = 0; l < a->levels; l++) {
        first[l + 1] = first[l] + a->rois[l];
        for (uint32_t i = 0; i < a->rois[l]; i++) {
            port_load(&a->in[5 + l], call->data[5 + l], i, 1, v);
            if (v[0] == v[0])
                c[n++] = (struct candidate){v[0], first[l] + i};
        }
    }
    nms_sort(c, n);
    n = n < a->top ? n : a->top;
    n = n < a->room ? n : a->room;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t l = 0;
        while (c[i].index >= first[l + 1])
            l++;
        port_load(&a->in[l], call->data[l], (uint64_t)(c[i].index - first[l]) * 5, 5, v);
        port_store(&a->out, call->data[a->n_in], (uint64_t)i * 5, 5, v);
    }
    memset(v, 0, sizeof(v));
    for (uint32_t i = n; i < a->room; i++)
        port_store(&a->out, call->data[a->n_in], (uint64_t)i * 5, 5, v);
}

static uint32_t level_of(const struct distribute_args *a, const float roi[5])
{
    float area = (roi[3] - roi[1]) * (roi[4] - roi[2]), r = sqrtf(area) / a->canonical_scale;
    int e = 0;
    if (!(r > 0.0f))
        return a->min_level;
    if (isinf(r))
        return a->max_level;
    frexpf(r, &e); /* floor(log2(r)) is e - 1, exactly */
    int64_t level = (int64_t)a->canonical_level + e - 1;
    return level < a->min_level ? a->min_level : level > a->max_level ? a->max_level : (uint32_t)level;
}

void distribute_proposals_ref(const struct kernel_call *call, struct range tile)
{
    const struct distribute_args *a = call->args;
    static const float nothing[5];
    uint32_t used[DETECT_LEVELS] = {0};
    (void)tile;
    for (uint64_t i = 0; i < a->rois; i++) {
        float roi[5];
        int64_t restore = 0;
        port_load(&a->in, call->data[0], i * 5, 5, roi);
        uint32_t l = level_of(a, roi) - a->min_level;
        if (l >= a->levels || used[l] == a->room[l]) {
            port_store_index(&a->out[0], call->data[1], i, -1);
            continue;
        }
        for (uint32_t k = 0; k < l; k++)
            restore += a->room[k];
        port_store_index(&a->out[0], call->data[1], i, restore + used[l]);
        port_store(&a->out[1 + l], call->data[2 + l], (uint64_t)used[l]++ * 5, 5, roi);
    }
    for (uint32_t l = 0; l < a->levels; l++)
        for (; used[l] < a->room[l]; used[l]++)
            port_store(&a->out[1 + l], call->data[2 + l], (uint64_t)used[l] * 5, 5, nothing);
}
