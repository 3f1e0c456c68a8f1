/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms along an axis: one output element per work item. */

/* Signs of row k of the matrix are the parity of k & j. */
kernel void hadamard(struct gpu_hadamard a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int k = i % a.size, first = i - k;
    float sum = 0.0f;
    for (int j = 0; j < a.size; j++) {
        float v = read_real(a.x_type, x, first + j);
        sum += popcount((uint)(k & j)) & 1 ? -v : v;
    }
    write_real(a.y_type, y, i, sum * a.scale);
}

kernel void rotary(struct gpu_rotary a, global const void *x, global const void *cosines, global const void *sines, global const void *positions, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int k = i % a.size, unit = i / a.size, half_size = a.rotated / 2, first = i - k;
    if (k >= a.rotated) {
        write_real(a.y_type, y, i, read_real(a.x_type, x, i));
        return;
    }
    int outer = unit / (a.heads_first ? a.sequence : a.heads), image = a.heads_first ? outer / a.heads : outer / a.sequence;
    int at = image * a.sequence + (a.heads_first ? unit % a.sequence : outer % a.sequence);
    int row = a.positions ? (int)clamp(read_whole(a.position_type, positions, at), 0L, (long)a.table - 1) : at;
    int pair = a.interleaved ? k / 2 : k % half_size;
    bool second = a.interleaved ? k % 2 : k >= half_size;
    float c = read_real(a.cos_type, cosines, row * half_size + pair), s = read_real(a.sin_type, sines, row * half_size + pair);
    float p = read_real(a.x_type, x, first + (a.interleaved ? pair * 2 : pair)), q = read_real(a.x_type, x, first + (a.interleaved ? pair * 2 + 1 : pair + half_size));
    write_real(a.y_type, y, i, second ? p * s + q * c : p * c - q * s);
}

/* Angles are worked out in whole steps of a circle, so that long frames lose nothing. */
kernel void stft(struct gpu_stft a, global const void *x, global const void *window, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int k = i % a.bins, frame = i / a.bins, first = frame / a.frames * a.samples + frame % a.frames * a.step, turn = 0;
    float re = 0.0f, im = 0.0f;
    for (int j = 0; j < a.length; j++) {
        float v = read_real(a.x_type, x, first + j) * (a.windowed ? read_real(a.window_type, window, j) : 1.0f);
        float angle = 2.0f * (float)turn / (float)a.length;
        re += v * cospi(angle);
        im -= v * sinpi(angle);
        turn = a.length - turn > k ? turn + k : turn + k - a.length;
    }
    write_real(a.y_type, y, i * 2, re);
    write_real(a.y_type, y, i * 2 + 1, im);
}
