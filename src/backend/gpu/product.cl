/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products where nothing is shared between neighbours, or too rarely wanted to be laid out for it: one output element per work item. */

kernel void conv(struct gpu_taps a, global const T *x, global const T *w, global const T *bias, global const T *more, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.out_c, ox = i / a.out_c % a.out_w, oy = i / a.out_c / a.out_w % a.out_h, image = i / a.out_c / a.out_w / a.out_h;
    int in0 = c / a.group_out * a.group_in;
    float sum = 0.0f;
    for (int ty = 0; ty < a.k_h; ty++) {
        int iy = oy * a.stride_h + ty * a.dilation_h - a.pad_h;
        if (iy < 0 || iy >= a.in_h)
            continue;
        for (int tx = 0; tx < a.k_w; tx++) {
            int ix = ox * a.stride_w + tx * a.dilation_w - a.pad_w;
            if (ix < 0 || ix >= a.in_w)
                continue;
            int at = ((image * a.in_h + iy) * a.in_w + ix) * a.in_c + in0, wt = (ty * a.k_w + tx) * a.group_in * a.out_c + c;
            for (int k = 0; k < a.group_in; k++)
                sum = fma(LOAD(x, at + k), LOAD(w, wt + k * a.out_c), sum);
        }
    }
    STORE(y, i, ended(&a.end, sum, a.end.bias ? LOAD(bias, c) : 0.0f, a.end.more ? LOAD(more, i) : 0.0f));
}

kernel void depthwise(struct gpu_taps a, global const T *x, global const T *w, global const T *bias, global const T *more, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.out_c, ox = i / a.out_c % a.out_w, oy = i / a.out_c / a.out_w % a.out_h, image = i / a.out_c / a.out_w / a.out_h;
    int from = c / a.group_out;
    float sum = 0.0f;
    for (int ty = 0; ty < a.k_h; ty++) {
        int iy = oy * a.stride_h + ty * a.dilation_h - a.pad_h;
        if (iy < 0 || iy >= a.in_h)
            continue;
        for (int tx = 0; tx < a.k_w; tx++) {
            int ix = ox * a.stride_w + tx * a.dilation_w - a.pad_w;
            if (ix >= 0 && ix < a.in_w)
                sum = fma(LOAD(x, ((image * a.in_h + iy) * a.in_w + ix) * a.in_c + from), LOAD(w, (ty * a.k_w + tx) * a.out_c + c), sum);
        }
    }
    STORE(y, i, ended(&a.end, sum, a.end.bias ? LOAD(bias, c) : 0.0f, a.end.more ? LOAD(more, i) : 0.0f));
}

/* Output position o collects the taps t with o + pad = i * stride + t. The filter is [height, width, in, out of a group]. */
kernel void transposed(struct gpu_taps a, global const T *x, global const T *w, global const T *bias, global const T *more, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.out_c, ox = i / a.out_c % a.out_w, oy = i / a.out_c / a.out_w % a.out_h, image = i / a.out_c / a.out_w / a.out_h;
    int group = c / a.group_out, in0 = group * a.group_in;
    float sum = 0.0f;
    for (int ty = 0; ty < a.k_h; ty++) {
        int py = oy + a.pad_h - ty, iy = py / a.stride_h;
        if (py < 0 || iy * a.stride_h != py || iy >= a.in_h)
            continue;
        for (int tx = 0; tx < a.k_w; tx++) {
            int px = ox + a.pad_w - tx, ix = px / a.stride_w;
            if (px < 0 || ix * a.stride_w != px || ix >= a.in_w)
                continue;
            int at = ((image * a.in_h + iy) * a.in_w + ix) * a.in_c + in0;
            int wt = ((ty * a.k_w + tx) * a.in_c + in0) * a.group_out + c % a.group_out;
            for (int k = 0; k < a.group_in; k++)
                sum = fma(LOAD(x, at + k), LOAD(w, wt + k * a.group_out), sum);
        }
    }
    STORE(y, i, ended(&a.end, sum, a.end.bias ? LOAD(bias, c) : 0.0f, a.end.more ? LOAD(more, i) : 0.0f));
}
