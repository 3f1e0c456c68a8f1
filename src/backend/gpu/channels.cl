/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions behind blocks.cl: a work item computes a vector of channels of GPU_PIXELS pixels beside each other, so that it reads the filter once for
 * all of them. Channels are a multiple of the vector, so vectors lie where they can be read as such. */
#if STORAGE == 0
#define CHANNELS(p) (*(global const V *)(p))
#else
#define CHANNELS(p) VLOAD(p)
#endif

kernel void channels(struct gpu_taps a, global const T *x, global const T *w, global const T *bias, global const T *more, global T *y)
{
    int per_line = (a.out_w + GPU_PIXELS - 1) / GPU_PIXELS, vectors = a.out_c / VEC, id = get_global_id(0);
    int c = id % vectors * VEC, ox0 = id / vectors % per_line * GPU_PIXELS, line = id / vectors / per_line, oy = line % a.out_h, image = line / a.out_h;
    V sum[GPU_PIXELS];
    if (line >= a.n / a.out_c / a.out_w)
        return;
    #pragma unroll
    for (int p = 0; p < GPU_PIXELS; p++)
        sum[p] = (V)(0.0f);
    for (int ty = 0; ty < a.k_h; ty++) {
        int iy = oy * a.stride_h + ty * a.dilation_h - a.pad_h;
        if (iy < 0 || iy >= a.in_h)
            continue;
        global const T *from = x + (image * a.in_h + iy) * a.in_w * a.in_c + c;
        for (int tx = 0; tx < a.k_w; tx++) {
            V f = CHANNELS(w + (ty * a.k_w + tx) * a.out_c + c);
            int ix = ox0 * a.stride_w + tx * a.dilation_w - a.pad_w;
            #pragma unroll
            for (int p = 0; p < GPU_PIXELS; p++, ix += a.stride_w)
                if (ix >= 0 && ix < a.in_w)
                    sum[p] = fma(CHANNELS(from + ix * a.in_c), f, sum[p]);
        }
    }
    #pragma unroll
    for (int p = 0; p < GPU_PIXELS; p++)
        if (ox0 + p < a.out_w)
            finish(&a.end, sum[p], VEC, c, ((image * a.out_h + oy) * a.out_w + ox0 + p) * a.out_c + c, bias, more, y);
}
