/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products. A group of 64 work items computes a tile of 32 rows and 32 columns through local memory, each item 4 by 4 of it:
 *
 *     for every 16 products:  the group reads 32 x 16 of the left and 16 x 32 of the right operand, then everybody multiplies
 *
 * The left operand of a convolution is read where its window lies; nothing is laid out first. Sums are float. */
#define STEP 4

float clamped(float v, float lo, float hi)
{
    v = v < lo ? lo : v;
    return v > hi ? hi : v;
}

/* Four rows and four columns of a tile, after both operands are in local memory. */
void tile_multiply(local const float *left, local const float *right, int row, int col, float4 sum[STEP])
{
    for (int k = 0; k < GPU_DEPTH; k++) {
        float4 v = vload4(0, right + k * GPU_TILE + col);
        for (int r = 0; r < STEP; r++)
            sum[r] = fma((float4)(left[(row + r) * GPU_DEPTH + k]), v, sum[r]);
    }
}

/* A work item reads the same rows of the left operand in every step: output positions, whose place in the input is worked out once. */
#define PLACES (GPU_TILE * GPU_DEPTH / GPU_LANES)

kernel void conv(struct gpu_conv a, global const T *x, global const T *w, global const T *bias, global T *y)
{
    local float left[GPU_TILE * GPU_DEPTH], right[GPU_DEPTH * GPU_TILE];
    int tiles_c = (a.cols + GPU_TILE - 1) / GPU_TILE, tiles_r = (a.rows + GPU_TILE - 1) / GPU_TILE;
    int tile = get_group_id(0), item = get_local_id(0), group = tile / (tiles_c * tiles_r);
    int row0 = tile / tiles_c % tiles_r * GPU_TILE, col0 = tile % tiles_c * GPU_TILE;
    int row = item / 8 * STEP, col = item % 8 * STEP;
    int at_y[PLACES], at_x[PLACES], image[PLACES];
    float4 sum[STEP] = {(float4)(0.0f), (float4)(0.0f), (float4)(0.0f), (float4)(0.0f)};
    for (int j = 0; j < PLACES; j++) {
        int r = row0 + (item + j * GPU_LANES) / GPU_DEPTH;
        at_y[j] = r < a.rows ? r / a.out_w % a.out_h * a.stride_h - a.pad_h : -1 - a.k_h * a.dilation_h; /* outside, whatever the tap */
        at_x[j] = r % a.out_w * a.stride_w - a.pad_w;
        image[j] = r / a.out_w / a.out_h * a.in_h;
    }
    for (int k0 = 0; k0 < a.depth; k0 += GPU_DEPTH) {
        int k = k0 + item % GPU_DEPTH, tap = k / a.group_in, c = group * a.group_in + k % a.group_in;
        int ty = tap / a.k_w * a.dilation_h, tx = tap % a.k_w * a.dilation_w;
        for (int j = 0; j < PLACES; j++) {
            int i = item + j * GPU_LANES, iy = at_y[j] + ty, ix = at_x[j] + tx;
            bool inside = k < a.depth && iy >= 0 && iy < a.in_h && ix >= 0 && ix < a.in_w;
            left[i] = inside ? LOAD(x, ((image[j] + iy) * a.in_w + ix) * a.in_c + c) : 0.0f;
            int kr = k0 + i / GPU_TILE, cr = col0 + i % GPU_TILE;
            right[i] = kr < a.depth && cr < a.cols ? LOAD(w, kr * a.w_in + group * a.cols + cr) : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        tile_multiply(left, right, row, col, sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < STEP; r++) {
        float line[STEP];
        vstore4(sum[r], 0, line);
        for (int c = 0; c < STEP; c++) {
            int channel = group * a.cols + col0 + col + c;
            if (row0 + row + r >= a.rows || col0 + col + c >= a.cols)
                continue;
            float v = line[c] + (a.bias ? LOAD(bias, channel) : 0.0f);
            STORE(y, (row0 + row + r) * a.out_c + channel, clamped(v, a.lo, a.hi));
        }
    }
}

kernel void matmul(struct gpu_matmul a, global const T *x, global const T *w, global const T *bias, global T *y)
{
    local float left[GPU_TILE * GPU_DEPTH], right[GPU_DEPTH * GPU_TILE];
    int tiles_c = (a.cols + GPU_TILE - 1) / GPU_TILE, tiles_r = (a.rows + GPU_TILE - 1) / GPU_TILE;
    int tile = get_group_id(0), item = get_local_id(0), slice = tile / (tiles_c * tiles_r);
    int row0 = tile / tiles_c % tiles_r * GPU_TILE, col0 = tile % tiles_c * GPU_TILE;
    int row = item / 8 * STEP, col = item % 8 * STEP;
    int at_a = view_at(slice, a.rank, a.dims, a.a), at_b = view_at(slice, a.rank, a.dims, a.b);
    float4 sum[STEP] = {(float4)(0.0f), (float4)(0.0f), (float4)(0.0f), (float4)(0.0f)};
    for (int k0 = 0; k0 < a.depth; k0 += GPU_DEPTH) {
        for (int i = item; i < GPU_TILE * GPU_DEPTH; i += GPU_LANES) {
            int r = row0 + i / GPU_DEPTH, k = k0 + i % GPU_DEPTH;
            left[i] = r < a.rows && k < a.depth ? LOAD(x, at_a + r * a.a_row + k * a.a_k) : 0.0f;
            int kr = k0 + i / GPU_TILE, c = col0 + i % GPU_TILE;
            right[i] = kr < a.depth && c < a.cols ? LOAD(w, at_b + kr * a.b_k + c * a.b_col) : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        tile_multiply(left, right, row, col, sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < STEP; r++) {
        float line[STEP];
        vstore4(sum[r], 0, line);
        for (int c = 0; c < STEP; c++) {
            int at_r = row0 + row + r, at_c = col0 + col + c;
            if (at_r >= a.rows || at_c >= a.cols)
                continue;
            float v = line[c] + (a.bias ? LOAD(bias, at_c) : 0.0f);
            STORE(y, (slice * a.rows + at_r) * a.cols + at_c, clamped(v, a.lo, a.hi));
        }
    }
}

kernel void depthwise(struct gpu_taps a, global const T *x, global const T *w, global const T *bias, global T *y)
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
    STORE(y, i, clamped(sum + (a.bias ? LOAD(bias, c) : 0.0f), a.lo, a.hi));
}

/* Output position o collects the taps t with o + pad = i * stride + t. The filter is [height, width, in, out of a group]. */
kernel void transposed(struct gpu_taps a, global const T *x, global const T *w, global const T *bias, global T *y)
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
    STORE(y, i, clamped(sum + (a.bias ? LOAD(bias, c) : 0.0f), a.lo, a.hi));
}
