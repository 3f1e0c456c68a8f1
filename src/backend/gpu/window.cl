/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and resizing: one output element per work item, channels side by side. */

kernel void pool(struct gpu_pool a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.channels, ox = i / a.channels % a.out_w, oy = i / a.channels / a.out_w % a.out_h, image = i / a.channels / a.out_w / a.out_h;
    int y0 = oy * a.stride_h - a.pad_h, x0 = ox * a.stride_w - a.pad_w, y1 = y0 + a.k_h, x1 = x0 + a.k_w;
    int padded = max(min(y1, a.in_h + a.after_h) - y0, 0) * max(min(x1, a.in_w + a.after_w) - x0, 0);
    y0 = max(y0, 0), x0 = max(x0, 0), y1 = min(y1, a.in_h), x1 = min(x1, a.in_w);
    float acc = a.kind == POOL_MAX ? -INFINITY : 0.0f;
    int taps = 0;
    for (int iy = y0; iy < y1; iy++)
        for (int ix = x0; ix < x1; ix++) {
            float v = LOAD(x, ((image * a.in_h + iy) * a.in_w + ix) * a.channels + c);
            taps++;
            if (a.kind == POOL_MAX)
                acc = v > acc || v != v ? v : acc;
            else
                acc += a.kind == POOL_L2 ? v * v : v;
        }
    if (a.kind == POOL_AVG)
        acc = acc / (float)(a.count_pad ? padded : taps);
    else if (a.kind == POOL_L2)
        acc = sqrt(acc);
    STORE(y, i, taps ? acc : 0.0f);
}

float resize_source(const struct gpu_resize *a, int d, int i)
{
    float n_in = (float)a->in[d], n_out = (float)a->out[d], r = n_in / n_out, x = (float)i;
    switch (a->coord) {
    case COORD_HALF_PIXEL: return (x + 0.5f) * r - 0.5f;
    case COORD_PYTORCH_HALF_PIXEL: return a->out[d] > 1 ? (x + 0.5f) * r - 0.5f : 0.0f;
    case COORD_ALIGN_CORNERS: return a->out[d] > 1 ? x * (n_in - 1.0f) / (n_out - 1.0f) : 0.0f;
    case COORD_CENTER: return (x + 0.5f) * r;
    default: return x * r;
    }
}

int resize_nearest(const struct gpu_resize *a, int d, int i)
{
    float x = resize_source(a, d, i);
    float r = a->round == ROUND_FLOOR ? floor(x) : a->round == ROUND_CEIL ? ceil(x) : a->round == ROUND_PREFER_FLOOR ? ceil(x - 0.5f) : floor(x + 0.5f);
    return clamp((int)r, 0, a->in[d] - 1);
}

kernel void resize(struct gpu_resize a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int lo[3], hi[3], rest = i / a.channels, c = i % a.channels;
    float f[3];
    for (int d = 2; d >= 0; d--) {
        int o = rest % a.out[d];
        rest /= a.out[d];
        f[d] = 0.0f;
        lo[d] = hi[d] = d < a.first ? 0 : resize_nearest(&a, d, o);
        if (a.linear && d >= a.first) {
            float s = clamp(resize_source(&a, d, o), 0.0f, (float)(a.in[d] - 1));
            lo[d] = min((int)floor(s), a.in[d] - 1);
            hi[d] = min(lo[d] + 1, a.in[d] - 1);
            f[d] = s - (float)lo[d];
        }
    }
    float planes[2], lines[2];
    for (int z = 0; z < 2; z++) {
        for (int v = 0; v < 2; v++) {
            int at = ((rest * a.in[0] + (z ? hi[0] : lo[0])) * a.in[1] + (v ? hi[1] : lo[1])) * a.in[2];
            float p = LOAD(x, (at + lo[2]) * a.channels + c), q = LOAD(x, (at + hi[2]) * a.channels + c);
            lines[v] = a.linear ? p + (q - p) * f[2] : p;
        }
        planes[z] = a.linear ? lines[0] + (lines[1] - lines[0]) * f[1] : lines[0];
    }
    STORE(y, i, a.linear ? planes[0] + (planes[1] - planes[0]) * f[0] : planes[0]);
}

kernel void lrn(struct gpu_lrn a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.channels, px = i / a.channels % a.width, py = i / a.channels / a.width % a.height, image = i / a.channels / a.width / a.height;
    int across = a.spatial ? 0 : a.radius, along = a.spatial ? a.radius : 0;
    float sum = 0.0f;
    for (int v = max(py - along, 0); v <= min(py + along, a.height - 1); v++)
        for (int u = max(px - along, 0); u <= min(px + along, a.width - 1); u++)
            for (int k = max(c - across, 0); k <= min(c + across, a.channels - 1); k++) {
                float e = LOAD(x, ((image * a.height + v) * a.width + u) * a.channels + k);
                sum += e * e;
            }
    STORE(y, i, LOAD(x, i) / pow(a.bias + a.alpha * sum, a.beta));
}
