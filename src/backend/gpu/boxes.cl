/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes that are moved, and rois that are dealt out to levels. */

float limited_in(float v, float lo, float hi)
{
    return v > lo ? (v < hi ? v : hi) : lo;
}

void store_index(int type, global void *y, int i, long v)
{
    if (is_real(type))
        write_real(type, y, i, (float)v);
    else
        write_whole(type, y, i, v);
}

/* The image of a roi; -1: there is no such image. */
int roi_image(const struct gpu_boxes *a, global const void *images, int roi)
{
    long v = a->has_images ? (is_real(a->image_type) ? (long)read_real(a->image_type, images, roi) : read_whole(a->image_type, images, roi)) : 0;
    return v >= 0 && v < a->batch ? (int)v : -1;
}

/* One box of one class per work item. */
kernel void move_boxes(struct gpu_boxes a, global const void *rois, global const void *deltas, global const void *images, global const void *sizes, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int roi = i / a.classes, image = roi_image(&a, images, roi);
    for (int k = 0; k < 2; k++) {
        float lo = read_real(a.roi_type, rois, roi * 4 + k), hi = read_real(a.roi_type, rois, roi * 4 + k + 2), size = hi - lo, middle = (lo + hi) * 0.5f;
        float step = read_real(a.delta_type, deltas, i * 4 + k) / a.weights[k], grow = read_real(a.delta_type, deltas, i * 4 + k + 2) / a.weights[k + 2];
        float limit = image < 0 ? 0.0f : read_real(a.size_type, sizes, image * 2 + 1 - k), to = middle + step * size, reach = exp(grow) * size * 0.5f;
        write_real(a.y_type, y, i * 4 + k, image < 0 ? 0.0f : limited_in(to - reach, 0.0f, limit));
        write_real(a.y_type, y, i * 4 + k + 2, image < 0 ? 0.0f : limited_in(to + reach, 0.0f, limit));
    }
}

/* Middle x, y, width, height and angle. */
kernel void move_rotated(struct gpu_boxes a, global const void *rois, global const void *deltas, global const void *images, global const void *sizes, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    const float most = 4.135166556742356f; /* log(1000 / 16): larger growth is a mistake of the network */
    int roi = i / a.classes, image = roi_image(&a, images, roi);
    float o[5] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    if (image >= 0) {
        float scale = read_real(a.size_type, sizes, image * 3 + 2);
        for (int k = 0; k < 2; k++) {
            float size = read_real(a.roi_type, rois, roi * 5 + k + 2) / scale, grow = read_real(a.delta_type, deltas, i * 5 + k + 2) / a.weights[k + 2];
            o[k] = read_real(a.delta_type, deltas, i * 5 + k) / a.weights[k] * size + read_real(a.roi_type, rois, roi * 5 + k) / scale;
            o[k + 2] = exp(grow < most ? grow : most) * size;
        }
        o[4] = read_real(a.delta_type, deltas, i * 5 + 4) * 180.0f / 3.14159265f + read_real(a.roi_type, rois, roi * 5 + 4);
        if (a.bounded && o[4] < a.low)
            o[4] = o[4] + (a.high - a.low);
        else if (a.bounded && o[4] > a.high)
            o[4] = o[4] - (a.high - a.low);
        if (fabs(o[4]) <= a.threshold)
            for (int k = 0; k < 2; k++) {
                float limit = floor(read_real(a.size_type, sizes, image * 3 + 1 - k) / scale + 0.5f);
                float lo = limited_in(o[k] - o[k + 2] * 0.5f, 0.0f, limit), hi = limited_in(o[k] + o[k + 2] * 0.5f, 0.0f, limit);
                o[k] = (lo + hi) * 0.5f;
                o[k + 2] = hi - lo;
            }
        for (int k = 0; k < 4 && a.scaled; k++)
            o[k] = o[k] * scale;
    }
    for (int k = 0; k < 5; k++)
        write_real(a.y_type, y, i * 5 + k, o[k]);
}

/* Rois per image: one image per work item. */
kernel void count_boxes(struct gpu_boxes a, global const void *images, global void *y)
{
    int b = get_global_id(0), n = 0;
    if (b >= a.batch)
        return;
    for (int i = 0; i < a.rois; i++)
        n += roi_image(&a, images, i) == b;
    store_index(a.count_type, y, b, n);
}

/* The level of a roi by its size: one work item, since rows are counted. */
kernel void deal_rois(struct gpu_deal a, global const void *rois, global void *restore, global void *y0, global void *y1, global void *y2, global void *y3)
{
    int used[4] = {0, 0, 0, 0};
    if (get_global_id(0))
        return;
    for (int i = 0; i < a.rois; i++) {
        float roi[5];
        for (int k = 0; k < 5; k++)
            roi[k] = read_real(a.roi_type, rois, i * 5 + k);
        float area = (roi[3] - roi[1]) * (roi[4] - roi[2]), r = sqrt(area) / a.scale;
        int e = 0, level = a.min_level, before = 0;
        if (r > 0.0f && !isinf(r)) {
            frexp(r, &e);
            level = clamp(a.canonical_level + e - 1, a.min_level, a.max_level);
        } else if (r > 0.0f) {
            level = a.max_level;
        }
        int l = level - a.min_level;
        if (l >= a.levels || used[l] == a.room[l]) {
            store_index(a.restore_type, restore, i, -1);
            continue;
        }
        for (int k = 0; k < l; k++)
            before += a.room[k];
        store_index(a.restore_type, restore, i, before + used[l]);
        global void *y = l == 0 ? y0 : l == 1 ? y1 : l == 2 ? y2 : y3;
        for (int k = 0; k < 5; k++)
            write_real(a.y_type[l], y, used[l] * 5 + k, roi[k]);
        used[l]++;
    }
    for (int l = 0; l < a.levels; l++) {
        global void *y = l == 0 ? y0 : l == 1 ? y1 : l == 2 ? y2 : y3;
        for (int i = used[l] * 5; i < a.room[l] * 5; i++)
            write_real(a.y_type[l], y, i, 0.0f);
    }
}

/* Scores of one level into the room; then the best rois of all: each counts how many are better. */
kernel void collect_scores(struct gpu_collect a, global const void *scores, global float *room)
{
    int i = get_global_id(0);
    if (i < a.n)
        room[a.first + i] = read_real(a.score_type, scores, i);
}

kernel void clear_rois(struct gpu_collect a, global void *y)
{
    int i = get_global_id(0);
    if (i < a.n)
        write_real(a.y_type, y, i, 0.0f);
}

kernel void collect_rois(struct gpu_collect a, global const void *rois, global void *y, global const float *room)
{
    int i = get_global_id(0), rank = 0;
    if (i >= a.n)
        return;
    float own = room[a.first + i];
    if (own != own)
        return;
    for (int k = 0; k < a.all; k++)
        rank += room[k] > own || (k < a.first + i && room[k] == own);
    if (rank < a.top)
        for (int k = 0; k < 5; k++)
            write_real(a.y_type, y, rank * 5 + k, read_real(a.roi_type, rois, i * 5 + k));
}
