/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors made from little or nothing, and truth about single values. */

kernel void fill(struct gpu_fill a, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int k = a.count == 1 ? 0 : i;
    y[i] = (T)((ulong)(uint)a.low[k] | (ulong)(uint)a.high[k] << 32);
}

ulong random_mix(ulong x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9UL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebUL;
    return x ^ (x >> 31);
}

ulong random_bits(uint seed, ulong i)
{
    return random_mix(random_mix((ulong)seed + 0x9e3779b97f4a7c15UL) + (i + 1) * 0x9e3779b97f4a7c15UL);
}

/* The logarithm of (n + 1) / 2^53; close to 1 the rest is what counts. */
float log_of_53(ulong n)
{
    ulong u = n + 1, rest = (1UL << 53) - u;
    return rest < u ? log1p(-(float)rest * 0x1p-53f) : log((float)u * 0x1p-53f);
}

float random_normal(uint seed, ulong i)
{
    float radius = sqrt(-2.0f * log_of_53(random_bits(seed, 2 * i) >> 11));
    return radius * cospi(2.0f * ((float)(random_bits(seed, 2 * i + 1) >> 40) * 0x1p-24f));
}

kernel void random(struct gpu_random a, global const void *seed, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    uint s = a.seeded ? as_uint(read_real(a.seed_type, seed, 0)) : 0;
    float u = (float)(random_bits(s, (ulong)i) >> 40) * 0x1p-24f;
    write_real(a.y_type, y, i, a.normal ? a.a + a.b * random_normal(s, (ulong)i) : a.a + (a.b - a.a) * u);
}

kernel void flags(struct gpu_flags a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    float v = number_at(a.x_type, x, i);
    bool is = a.kind == FLAG_NAN ? v != v : a.kind == FLAG_NOT ? v == 0.0f : (a.positive && v == INFINITY) || (a.negative && v == -INFINITY);
    if (is_real(a.y_type))
        write_real(a.y_type, y, i, is ? 1.0f : 0.0f);
    else
        write_whole(a.y_type, y, i, is);
}

/* Elements for which the selector names this input. */
kernel void mux(struct gpu_mux a, global const void *selector, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int at = view_at(i, a.rank, a.dims, a.a);
    int k = 0;
    if (is_real(a.selector_type)) {
        float v = read_real(a.selector_type, selector, at);
        k = v >= 1.0f ? (v < (float)a.inputs ? (int)v : a.inputs - 1) : 0;
    } else {
        k = (int)clamp(read_whole(a.selector_type, selector, at), 0L, (long)a.inputs - 1);
    }
    if (k == a.which)
        y[i] = x[view_at(i, a.rank, a.dims, a.b)];
}

/* ---- ExtractGlimpse ------------------------------------------------------------------------------------------------------------------ */

/* What the noise of an image is made of: the smallest value and the way to the largest, or mean and deviation of a channel. One channel of an image per work item. */
kernel void glimpse_noise(struct gpu_glimpse a, global const void *x, global float *room)
{
    int i = get_global_id(0), pixels = a.in[0] * a.in[1];
    if (i >= a.batch * a.channels)
        return;
    bool uniform = a.noise == NOISE_UNIFORM;
    int first = i / a.channels * pixels * a.channels + (uniform ? 0 : i % a.channels), step = uniform ? 1 : a.channels, n = uniform ? pixels * a.channels : pixels;
    float lo = INFINITY, hi = -INFINITY, sum = 0.0f, squares = 0.0f;
    for (int k = 0; k < n; k++) {
        float v = read_real(a.x_type, x, first + k * step);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
        sum += v;
    }
    float mean = sum / (float)n;
    for (int k = 0; k < n; k++) {
        float d = read_real(a.x_type, x, first + k * step) - mean;
        squares += d * d;
    }
    room[i * 2] = uniform ? lo : mean;
    room[i * 2 + 1] = uniform ? hi - lo : sqrt(squares / (float)n);
}

/* First row or column of a window; far away values only need to stay far away. */
int glimpse_at(const struct gpu_glimpse *a, int d, float offset)
{
    float n = (float)a->in[d];
    offset = a->normalized ? offset * n : offset;
    offset = a->centered ? offset * 0.5f + n * 0.5f : offset;
    offset = offset - (float)a->size[d] * 0.5f;
    return offset > -1e9f ? (offset < 1e9f ? (int)offset : 1000000000) : -1000000000;
}

kernel void glimpse(struct gpu_glimpse a, global const void *x, global const void *offsets, global void *y, global const float *room)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.channels, ox = i / a.channels % a.size[1], oy = i / a.channels / a.size[1] % a.size[0], image = i / a.channels / a.size[1] / a.size[0];
    int py = glimpse_at(&a, 0, read_real(a.offset_type, offsets, image * 2)) + oy, px = glimpse_at(&a, 1, read_real(a.offset_type, offsets, image * 2 + 1)) + ox;
    float v = 0.0f;
    if (py >= 0 && px >= 0 && py < a.in[0] && px < a.in[1]) {
        v = read_real(a.x_type, x, ((image * a.in[0] + py) * a.in[1] + px) * a.channels + c);
    } else if (a.noise != NOISE_ZEROES) {
        global const float *of = room + (image * a.channels + c) * 2;
        v = of[0] + of[1] * (a.noise == NOISE_UNIFORM ? (float)(random_bits(0, (ulong)i) >> 40) * 0x1p-24f : random_normal(0, (ulong)i));
    }
    write_real(a.y_type, y, i, v);
}
