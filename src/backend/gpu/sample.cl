/* SPDX-License-Identifier: Apache-2.0 */
/* Values at places between pixels: GridSample, CropAndResize, ImageProjectionTransform. One output element per work item. */

struct place {
    int image, lo[3];
    float f[3];
};

/* False: so far outside that no neighbour is in the image. */
bool find_place(const struct gpu_sample *a, int image, const float *at, struct place *p)
{
    p->image = image;
    for (int d = 0; d < 3; d++) {
        p->lo[d] = 0;
        p->f[d] = 0.0f;
        if (d < a->first)
            continue;
        float x = at[d];
        if (!(x > -2.0f && x < (float)a->in[d] + 1.0f))
            return false;
        float r = a->nearest ? (a->half_away ? round(x) : rint(x)) : floor(x);
        p->lo[d] = (int)r;
        p->f[d] = x - r;
        if (a->nearest && (p->lo[d] < 0 || p->lo[d] >= a->in[d]))
            return false;
    }
    return true;
}

float tap(const struct gpu_sample *a, const struct place *p, global const void *x, int step, int c)
{
    int at = p->image;
    for (int d = 0; d < 3; d++) {
        int i = p->lo[d] + (step >> (2 - d) & 1);
        if (d >= a->first && a->edge)
            i = clamp(i, 0, a->in[d] - 1);
        if (d >= a->first && (i < 0 || i >= a->in[d]))
            return 0.0f;
        at = at * a->in[d] + i;
    }
    return read_real(a->x_type, x, at * a->channels + c);
}

/* The last dimension first. */
float blend(const struct gpu_sample *a, const struct place *p, global const void *x, int c)
{
    float planes[2] = {0.0f, 0.0f}, lines[2] = {0.0f, 0.0f};
    if (a->nearest)
        return tap(a, p, x, 0, c);
    for (int z = 0; z < (a->first > 0 ? 1 : 2); z++) {
        for (int y = 0; y < (a->first > 1 ? 1 : 2); y++) {
            float l = tap(a, p, x, z * 4 + y * 2, c), r = tap(a, p, x, z * 4 + y * 2 + 1, c);
            lines[y] = l + (r - l) * p->f[2];
        }
        planes[z] = a->first > 1 ? lines[0] : lines[0] + (lines[1] - lines[0]) * p->f[1];
    }
    return a->first > 0 ? planes[0] : planes[0] + (planes[1] - planes[0]) * p->f[0];
}

/* A coordinate thrown back at both ends until it is inside. */
float reflected(float x, float twice_low, float twice_high)
{
    if (twice_low == twice_high)
        return 0.0f;
    float low = twice_low * 0.5f, span = (twice_high - twice_low) * 0.5f;
    x = fabs(x - low);
    float rest = fmod(x, span), flips = floor(x / span);
    return fmod(flips, 2.0f) == 0.0f ? rest + low : span - rest + low;
}

float grid_coordinate(const struct gpu_sample *a, int d, float g)
{
    float n = (float)a->in[d], last = n - 1.0f;
    float x = a->align_corners ? (g + 1.0f) * 0.5f * last : ((g + 1.0f) * n - 1.0f) * 0.5f;
    if (a->padding == GRID_ZEROS)
        return x;
    if (a->padding == GRID_REFLECTION)
        x = a->align_corners ? reflected(x, 0.0f, 2.0f * last) : reflected(x, -1.0f, 2.0f * n - 1.0f);
    return x > 0.0f ? (x < last ? x : last) : 0.0f; /* NaN too */
}

float crop_coordinate(int in, int out, int i, float from, float to)
{
    float last = (float)in - 1.0f;
    if (out == 1)
        return 0.5f * (from + to) * last;
    return from * last + (float)i * ((to - from) * last / (float)(out - 1));
}

bool crop_place(const struct gpu_sample *a, global const void *boxes, global const void *index, int box, int oy, int ox, float *at, int *image)
{
    float y1 = read_real(a->place_type, boxes, box * 4), x1 = read_real(a->place_type, boxes, box * 4 + 1);
    float y2 = read_real(a->place_type, boxes, box * 4 + 2), x2 = read_real(a->place_type, boxes, box * 4 + 3);
    long i = read_whole(a->index_type, index, box);
    at[1] = crop_coordinate(a->in[1], a->out[1], oy, y1, y2);
    at[2] = crop_coordinate(a->in[2], a->out[2], ox, x1, x2);
    *image = (int)i;
    return i >= 0 && i < a->batch && at[1] >= 0.0f && at[1] <= (float)a->in[1] - 1.0f && at[2] >= 0.0f && at[2] <= (float)a->in[2] - 1.0f;
}

kernel void sample(struct gpu_sample a, global const void *x, global const void *places, global const void *index, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int pixel = i / a.channels, c = i % a.channels, ox = pixel % a.out[2], oy = pixel / a.out[2] % a.out[1], image = pixel / a.out[2] / a.out[1] / a.out[0];
    float at[3] = {0.0f, 0.0f, 0.0f}, outside = 0.0f;
    bool given = true;
    struct place p;
    if (a.kind == SAMPLE_GRID) {
        int coordinates = 3 - a.first;
        for (int k = 0; k < coordinates; k++) /* x, y, z */
            at[2 - k] = grid_coordinate(&a, 2 - k, read_real(a.place_type, places, pixel * coordinates + k));
    } else if (a.kind == SAMPLE_CROP) {
        outside = a.outside;
        given = crop_place(&a, places, index, image, oy, ox, at, &image);
    } else {
        float t[8], u = (float)ox, v = (float)oy;
        for (int k = 0; k < 8; k++)
            t[k] = read_real(a.place_type, places, (a.own ? image * 8 : 0) + k);
        float k = t[6] * u + t[7] * v + 1.0f;
        at[1] = (t[3] * u + t[4] * v + t[5]) / k;
        at[2] = (t[0] * u + t[1] * v + t[2]) / k;
    }
    write_real(a.y_type, y, i, given && find_place(&a, image, at, &p) ? blend(&a, &p, x, c) : outside);
}
