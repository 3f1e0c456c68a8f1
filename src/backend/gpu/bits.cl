/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are moved and never looked at; T has the size of one. */

kernel void copy(struct gpu_copy a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    y[a.to + view_at(i, a.rank, a.dims, a.out)] = x[a.from + view_at(i, a.rank, a.dims, a.in)];
}

kernel void choose(struct gpu_broadcast a, global const uchar *condition, global const T *x, global const T *y, global T *z)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    bool first = condition[view_at(i, a.rank, a.dims, a.a)] != 0;
    z[i] = first ? x[view_at(i, a.rank, a.dims, a.b)] : y[view_at(i, a.rank, a.dims, a.c)];
}

/* Where a position outside of 0 … n - 1 takes its value from. */
int pad_source(int scheme, int at, int n)
{
    if (scheme == PAD_EDGE)
        return clamp(at, 0, n - 1);
    int edge = scheme == PAD_REFLECT ? 1 : 0;
    if (at < 0)
        at = edge - 1 - at;
    return at < n ? at : 2 * n - 1 - edge - at;
}

kernel void pad(struct gpu_pad a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int rest = i, from = 0;
    bool outside = false;
    for (int d = a.rank - 1; d >= 0; d--) {
        int q = rest / a.dims[d], at = rest - q * a.dims[d] - a.before[d];
        rest = q;
        outside |= at < 0 || at >= a.in_dims[d];
        from += (at < 0 || at >= a.in_dims[d] ? (a.scheme == PAD_CONSTANT ? 0 : pad_source(a.scheme, at, a.in_dims[d])) : at) * a.in[d];
    }
    ulong constant_bits = (ulong)(uint)a.value[0] | (ulong)(uint)a.value[1] << 32;
    y[i] = outside && a.scheme == PAD_CONSTANT ? (T)constant_bits : x[from];
}

long index_at(int type, global const void *index, int k)
{
    if (type == SCALAR_I64)
        return ((global const long *)index)[k];
    return type == SCALAR_U32 ? (long)((global const uint *)index)[k] : (long)((global const int *)index)[k];
}

/* An index outside of the dimension reads zero; negative ones count from its end. */
kernel void gather(struct gpu_gather a, global const T *x, global const void *index, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int row = i / a.slice, outer = row / a.tuples;
    long at = index_at(a.index_type, index, row % a.tuples);
    at += at < 0 ? a.size : 0;
    y[i] = at >= 0 && at < a.size ? x[(outer * a.size + (int)at) * a.slice + i % a.slice] : (T)0;
}

/* Output pixel (b, y, x) and where it comes from; what lies outside of the input is zero. */
kernel void block(struct gpu_block a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.channels, ox = i / a.channels % a.out[2], oy = i / a.channels / a.out[2] % a.out[1], b = i / a.channels / a.out[2] / a.out[1];
    int n, h, w;
    if (a.to_batch) {
        int cell = b / a.in[0];
        n = b % a.in[0];
        h = oy * a.block_h + cell / a.block_w - a.before_h;
        w = ox * a.block_w + cell % a.block_w - a.before_w;
    } else {
        int v = oy + a.before_h, u = ox + a.before_w;
        n = (v % a.block_h * a.block_w + u % a.block_w) * a.out[0] + b;
        h = v / a.block_h;
        w = u / a.block_w;
    }
    bool inside = h >= 0 && w >= 0 && h < a.in[1] && w < a.in[2];
    y[i] = inside ? x[((n * a.in[1] + h) * a.in[2] + w) * a.channels + c] : (T)0;
}
