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
