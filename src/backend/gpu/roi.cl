/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of interest: one output element per work item; HeatMapMaxKeyPoint: one key point. */
#define MAX_SAMPLES 1024

struct region {
    int image;
    float lo[2], hi[2]; /* height, width */
};

/* False: the roi names no image. */
bool load_region(const struct gpu_roi *a, global const void *rois, global const void *index, int roi, struct region *r)
{
    long image = read_whole(a->index_type, index, roi);
    for (int d = 0; d < 2; d++) { /* x1, y1, x2, y2 */
        r->lo[d] = read_real(a->roi_type, rois, roi * 4 + 1 - d) / a->ratio[d];
        r->hi[d] = read_real(a->roi_type, rois, roi * 4 + 3 - d) / a->ratio[d];
    }
    r->image = (int)image;
    return image >= 0 && image < a->batch;
}

/* The bins of one direction: bin i begins at start + i * step and has n samples. */
struct bins {
    float start, step;
    int n;
};

void make_bins(const struct gpu_roi *a, const struct region *r, int d, struct bins *b)
{
    float size = r->hi[d] - r->lo[d];
    if (!a->aligned && !(size >= 1.0f))
        size = 1.0f;
    b->start = a->aligned ? r->lo[d] - 0.5f : r->lo[d];
    b->step = size / (float)a->out[d];
    float n = ceil(b->step);
    b->n = a->samples[d] ? a->samples[d] : n > 0.0f ? (n < (float)MAX_SAMPLES ? (int)n : MAX_SAMPLES) : 0;
}

/* Two pixels and the way between them; false: outside of the map. */
bool find_between(const struct bins *b, int bin, int i, int size, int *lo, int *hi, float *f)
{
    float x = b->start + (float)bin * b->step + ((float)i + 0.5f) * b->step / (float)b->n;
    if (!(x >= -1.0f && x <= (float)size))
        return false;
    x = x > 0.0f ? x : 0.0f;
    *lo = (int)x;
    *f = x - (float)*lo;
    if (*lo >= size - 1) {
        *lo = size - 1;
        *f = 0.0f;
    }
    *hi = min(*lo + 1, size - 1);
    return true;
}

float map_at(const struct gpu_roi *a, const struct region *r, global const void *x, int py, int px, int c)
{
    return read_real(a->x_type, x, ((r->image * a->in[0] + py) * a->in[1] + px) * a->channels + c);
}

float align_bin(const struct gpu_roi *a, const struct region *r, global const void *x, int oy, int ox, int c)
{
    struct bins by, bx;
    float sum = 0.0f;
    make_bins(a, r, 0, &by);
    make_bins(a, r, 1, &bx);
    for (int i = 0; i < by.n; i++)
        for (int j = 0; j < bx.n; j++) {
            int y0, y1, x0, x1;
            float fy, fx;
            if (!find_between(&by, oy, i, a->in[0], &y0, &y1, &fy) || !find_between(&bx, ox, j, a->in[1], &x0, &x1, &fx))
                continue;
            float p = map_at(a, r, x, y0, x0, c), q = map_at(a, r, x, y0, x1, c), s = map_at(a, r, x, y1, x0, c), t = map_at(a, r, x, y1, x1, c);
            float top = p + (q - p) * fx, bottom = s + (t - s) * fx;
            sum += top + (bottom - top) * fy;
        }
    return sum / (by.n && bx.n ? (float)by.n * (float)bx.n : 1.0f);
}

int limited_to(float v, int size)
{
    return v > 0.0f ? (v < (float)size ? (int)v : size) : 0;
}

/* Pixels from begin to before end of a bin along one direction. */
void pool_bin(const struct gpu_roi *a, const struct region *r, int d, int bin, int *begin, int *end)
{
    float lo = round(r->lo[d]), hi = round(r->hi[d]), size = hi - lo + 1.0f;
    size = size >= 1.0f ? size : 1.0f;
    float step = size / (float)a->out[d];
    *begin = limited_to(floor((float)bin * step + lo), a->in[d]);
    *end = limited_to(ceil((float)(bin + 1) * step + lo), a->in[d]);
}

float pool_roi(const struct gpu_roi *a, const struct region *r, global const void *x, int oy, int ox, int c)
{
    int y0, y1, x0, x1;
    float most = -INFINITY;
    pool_bin(a, r, 0, oy, &y0, &y1);
    pool_bin(a, r, 1, ox, &x0, &x1);
    for (int i = y0; i < y1; i++)
        for (int j = x0; j < x1; j++) {
            float v = map_at(a, r, x, i, j, c);
            most = v > most || v != v ? v : most;
        }
    return y0 < y1 && x0 < x1 ? most : 0.0f;
}

kernel void roi(struct gpu_roi a, global const void *x, global const void *rois, global const void *index, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.channels, ox = i / a.channels % a.out[1], oy = i / a.channels / a.out[1] % a.out[0], box = i / a.channels / a.out[1] / a.out[0];
    struct region r;
    float v = 0.0f;
    bool known = load_region(&a, rois, index, box, &r);
    if (known && !a.align)
        v = pool_roi(&a, &r, x, oy, ox, c);
    else if (known && (a.allow_invalid || (r.hi[0] >= r.lo[0] && r.hi[1] >= r.lo[1])))
        v = align_bin(&a, &r, x, oy, ox, c);
    write_real(a.y_type, y, i, v);
}

/* Over the edge the neighbours are mirrored. */
int mirrored(int at, int step, int size)
{
    int i = at + step;
    i = i < 0 ? 1 : i >= size ? size - 2 : i;
    return i < 0 || i >= size ? 0 : i;
}

/* The top of the parabola through the 3 x 3 values around the maximum: its place relative to the middle, and its height. */
float refine(const float *g, float *delta)
{
    float bx = -0.5f * (g[5] - g[3]), by = -0.5f * (g[7] - g[1]);
    float xx = g[3] - 2.0f * g[4] + g[5], yy = g[1] - 2.0f * g[4] + g[7];
    float xy = 0.25f * (g[0] - g[2] - g[6] + g[8]);
    float det = xx * yy - xy * xy;
    delta[0] = delta[1] = 0.0f;
    if (!(fabs(det) >= 1e-5f + 1e-5f * (xy * xy)))
        return g[4];
    float dx = (yy * bx - xy * by) / det, dy = (xx * by - xy * bx) / det;
    float most = fabs(dx) > fabs(dy) ? fabs(dx) : fabs(dy);
    if (most > 1.5f) {
        float scale = 1.5f / most;
        dx = dx * scale;
        dy = dy * scale;
    }
    delta[0] = dx;
    delta[1] = dy;
    return g[4] - bx * dx - by * dy + ((xx * dx + xy * dy) * dx + (xy * dx + yy * dy) * dy) * 0.5f;
}

kernel void heat_map(struct gpu_heat_map a, global const void *map, global const void *boxes, global void *score, global void *point)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int box = i / a.points, pixels = a.height * a.width, first = box * pixels * a.points + i % a.points, best = 0;
    float most = -INFINITY, g[9], delta[2];
    for (int k = 0; k < pixels; k++) {
        float v = read_real(a.map_type, map, first + k * a.points);
        if (v > most) {
            most = v;
            best = k;
        }
    }
    int y = best / a.width, x = best % a.width;
    for (int k = 0; k < 9; k++)
        g[k] = read_real(a.map_type, map, first + (mirrored(y, k / 3 - 1, a.height) * a.width + mirrored(x, k % 3 - 1, a.width)) * a.points);
    float height = refine(g, delta);
    float x1 = read_real(a.box_type, boxes, box * 4), y1 = read_real(a.box_type, boxes, box * 4 + 1);
    float x2 = read_real(a.box_type, boxes, box * 4 + 2), y2 = read_real(a.box_type, boxes, box * 4 + 3);
    write_real(a.score_type, score, i, height);
    write_real(a.point_type, point, i * 2, ((float)x + delta[0] + 0.5f) * (x2 - x1) / (float)a.width + x1);
    write_real(a.point_type, point, i * 2 + 1, ((float)y + delta[1] + 0.5f) * (y2 - y1) / (float)a.height + y1);
}
