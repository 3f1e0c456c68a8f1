/* SPDX-License-Identifier: Apache-2.0 */
/* Colours, windows and correlations of images. */

float byte_range(float v)
{
    v = v > 0.0f ? v : 0.0f;
    return v < 255.0f ? v : 255.0f;
}

void put_colour(int type, global void *y, int i, float v)
{
    if (is_real(type))
        write_real(type, y, i, byte_range(v));
    else
        write_whole(type, y, i, (long)rint(byte_range(v)));
}

/* One pixel per work item. */
kernel void nv(struct gpu_nv a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int px = i % a.width, py = i / a.width % a.height, plane = a.height * a.width, frame = i / plane * (plane / 2 * 3);
    int chroma = frame + plane + py / 2 * a.width + px / 2 * 2;
    float luma = 1.164f * (number_at(a.x_type, x, frame + py * a.width + px) - 16.0f);
    float u = number_at(a.x_type, x, chroma + a.u) - 128.0f, v = number_at(a.x_type, x, chroma + a.v) - 128.0f;
    put_colour(a.y_type, y, i * 3 + a.red, luma + 1.596f * v);
    put_colour(a.y_type, y, i * 3 + 1, luma - 0.813f * v - 0.391f * u);
    put_colour(a.y_type, y, i * 3 + a.blue, luma + 2.018f * u);
}

/* Input position of tap k of window i; -1: in the padding. */
int tap_at(const struct gpu_windows *a, int d, int i, int k)
{
    int p = i * a->stride[d] + k * a->dilation[d] - a->before[d];
    return p < a->in[d] ? p : -1;
}

T window_value(const struct gpu_windows *a, global const T *x, int image, int py, int px, int c)
{
    return py < 0 || px < 0 ? (T)0 : x[((image * a->in[0] + py) * a->in[1] + px) * a->channels + c];
}

/* Output [batch, height, width, row, column, channel] of windows. */
kernel void patches(struct gpu_windows a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.channels, rest = i / a.channels, kx = rest % a.size[1], ky = rest / a.size[1] % a.size[0], window = rest / a.size[1] / a.size[0];
    int wx = window % a.out[1], wy = window / a.out[1] % a.out[0], image = window / a.out[1] / a.out[0];
    y[i] = window_value(&a, x, image, tap_at(&a, 0, wy, ky), tap_at(&a, 1, wx, kx), c);
}

/* Output [batch, channel, row, column, height, width] of windows. */
kernel void im2col(struct gpu_windows a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int wx = i % a.out[1], wy = i / a.out[1] % a.out[0], rest = i / a.out[1] / a.out[0];
    int kx = rest % a.size[1], ky = rest / a.size[1] % a.size[0], c = rest / a.size[1] / a.size[0] % a.channels, image = rest / a.size[1] / a.size[0] / a.channels;
    y[i] = window_value(&a, x, image, tap_at(&a, 0, wy, ky), tap_at(&a, 1, wx, kx), c);
}

/* The window whose tap k lies on position p; -1: none. */
int window_of(const struct gpu_windows *a, int d, int p, int k)
{
    int at = p + a->before[d] - k * a->dilation[d];
    return at >= 0 && at % a->stride[d] == 0 && at / a->stride[d] < a->out[d] ? at / a->stride[d] : -1;
}

kernel void col2im(struct gpu_windows a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.channels, px = i / a.channels % a.in[1], py = i / a.channels / a.in[1] % a.in[0], image = i / a.channels / a.in[1] / a.in[0];
    float sum = 0.0f;
    for (int ky = 0; ky < a.size[0]; ky++)
        for (int kx = 0; kx < a.size[1]; kx++) {
            int wy = window_of(&a, 0, py, ky), wx = window_of(&a, 1, px, kx);
            int line = ((image * a.channels + c) * a.size[0] + ky) * a.size[1] + kx;
            if (wy >= 0 && wx >= 0)
                sum += read_real(a.x_type, x, (line * a.out[0] + wy) * a.out[1] + wx);
        }
    write_real(a.y_type, y, i, sum);
}

kernel void correlation(struct gpu_correlation a, global const void *x, global const void *z, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int at = i / a.shifts, column = at % a.width, other = column + i % a.shifts + a.first;
    float sum = 0.0f;
    if (other >= 0 && other < a.width) {
        int p = at * a.depth, q = (at - column + other) * a.depth;
        for (int c = 0; c < a.depth; c++)
            sum += read_real(a.a_type, x, p + c) * read_real(a.b_type, z, q + c);
        sum = sum / (float)a.depth;
    }
    write_real(a.y_type, y, i, sum);
}
