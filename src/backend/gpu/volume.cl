/* SPDX-License-Identifier: Apache-2.0 */
/* Windows in up to three dimensions, operands of any float type: one output element per work item. Images are [batch, depth, height, width, channels]. */

float volume_end(const struct gpu_volume *a, float sum, global const void *bias, int c)
{
    float v = a->bias ? sum + read_real(a->b_type, bias, c) : sum;
    return clamped(v, a->lo, a->hi);
}

kernel void volume(struct gpu_volume a, global const void *x, global const void *w, global const void *bias, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.out_c, ox = i / a.out_c % a.out[2], oy = i / a.out_c / a.out[2] % a.out[1], oz = i / a.out_c / a.out[2] / a.out[1] % a.out[0];
    int image = i / a.out_c / a.out[2] / a.out[1] / a.out[0], in0 = c / a.group_out * a.group_in;
    float sum = 0.0f;
    for (int tz = 0; tz < a.k[0]; tz++) {
        int iz = oz * a.stride[0] + tz * a.dilation[0] - a.pad[0];
        if (iz < 0 || iz >= a.in[0])
            continue;
        for (int ty = 0; ty < a.k[1]; ty++) {
            int iy = oy * a.stride[1] + ty * a.dilation[1] - a.pad[1];
            if (iy < 0 || iy >= a.in[1])
                continue;
            for (int tx = 0; tx < a.k[2]; tx++) {
                int ix = ox * a.stride[2] + tx * a.dilation[2] - a.pad[2];
                if (ix < 0 || ix >= a.in[2])
                    continue;
                int at = (((image * a.in[0] + iz) * a.in[1] + iy) * a.in[2] + ix) * a.in_c + in0;
                int wt = ((tz * a.k[1] + ty) * a.k[2] + tx) * a.group_in * a.out_c + c;
                for (int k = 0; k < a.group_in; k++)
                    sum = fma(read_real(a.x_type, x, at + k), read_real(a.w_type, w, wt + k * a.out_c), sum);
            }
        }
    }
    write_real(a.y_type, y, i, volume_end(&a, sum, bias, c));
}

/* The input position whose tap t lies on output o; -1: none. */
int spread_from(const struct gpu_volume *a, int d, int o, int t)
{
    int p = o + a->pad[d] - t * a->dilation[d];
    return p >= 0 && p % a->stride[d] == 0 && p / a->stride[d] < a->in[d] ? p / a->stride[d] : -1;
}

kernel void volume_transposed(struct gpu_volume a, global const void *x, global const void *w, global const void *bias, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.out_c, ox = i / a.out_c % a.out[2], oy = i / a.out_c / a.out[2] % a.out[1], oz = i / a.out_c / a.out[2] / a.out[1] % a.out[0];
    int image = i / a.out_c / a.out[2] / a.out[1] / a.out[0], in0 = c / a.group_out * a.group_in;
    float sum = 0.0f;
    for (int tz = 0; tz < a.k[0]; tz++)
        for (int ty = 0; ty < a.k[1]; ty++)
            for (int tx = 0; tx < a.k[2]; tx++) {
                int iz = spread_from(&a, 0, oz, tz), iy = spread_from(&a, 1, oy, ty), ix = spread_from(&a, 2, ox, tx);
                if (iz < 0 || iy < 0 || ix < 0)
                    continue;
                int at = (((image * a.in[0] + iz) * a.in[1] + iy) * a.in[2] + ix) * a.in_c + in0;
                int wt = (((tz * a.k[1] + ty) * a.k[2] + tx) * a.in_c + in0) * a.group_out + c % a.group_out;
                for (int k = 0; k < a.group_in; k++)
                    sum = fma(read_real(a.x_type, x, at + k), read_real(a.w_type, w, wt + k * a.group_out), sum);
            }
    write_real(a.y_type, y, i, volume_end(&a, sum, bias, c));
}

/* Integers have maxima only. */
kernel void volume_pool(struct gpu_volume a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.out_c, rest = i / a.out_c, at[3], begin[3], end[3], padded = 1, taps = 1;
    for (int d = 2; d >= 0; d--) {
        at[d] = rest % a.out[d];
        rest /= a.out[d];
        int lo = at[d] * a.stride[d] - a.pad[d], hi = lo + a.k[d];
        padded *= max(min(hi, a.in[d] + a.after[d]) - lo, 0);
        begin[d] = max(lo, 0);
        end[d] = min(hi, a.in[d]);
        taps *= max(end[d] - begin[d], 0);
    }
    bool real = is_real(a.x_type);
    float sum = a.pool == POOL_MAX ? -INFINITY : 0.0f;
    long most = LONG_MIN;
    for (int z = begin[0]; z < end[0]; z++)
        for (int v = begin[1]; v < end[1]; v++)
            for (int u = begin[2]; u < end[2]; u++) {
                int from = (((rest * a.in[0] + z) * a.in[1] + v) * a.in[2] + u) * a.out_c + c;
                if (!real) {
                    most = max(most, read_whole(a.x_type, x, from));
                    continue;
                }
                float e = read_real(a.x_type, x, from);
                if (a.pool == POOL_MAX)
                    sum = e > sum || e != e ? e : sum;
                else
                    sum += a.pool == POOL_L2 ? e * e : e;
            }
    if (!real) {
        write_whole(a.y_type, y, i, taps ? most : 0);
        return;
    }
    sum = a.pool == POOL_AVG ? sum / (float)(a.count_pad ? padded : taps) : a.pool == POOL_L2 ? sqrt(sum) : sum;
    write_real(a.y_type, y, i, taps ? sum : 0.0f);
}
