/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of elements whose operands have types of their own: running sums, moments, masked softmax, and integers' sums and extremes. One run per work item, except where a group of 64
 * shares one. */

kernel void running_sum(struct gpu_scan a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int first = view_at(i, a.rank, a.dims, a.strides) + (a.reverse ? (a.count - 1) * a.step : 0), step = a.reverse ? -a.step : a.step;
    float real = 0.0f;
    long whole = 0;
    for (int k = 0, at = first; k < a.count; k++, at += step) {
        if (is_real(a.x_type)) {
            float v = real + read_real(a.x_type, x, at);
            write_real(a.y_type, y, at, a.exclusive ? real : v);
            real = v;
        } else {
            long v = whole + read_whole(a.x_type, x, at);
            write_whole(a.y_type, y, at, a.exclusive ? whole : v);
            whole = v;
        }
    }
}

float lanes_sum(local float *part, float v)
{
    int l = get_local_id(0);
    part[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = GPU_LANES / 2; k > 0; k /= 2) {
        if (l < k)
            part[l] += part[l + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}

kernel void moments(struct gpu_rows a, global const void *x, global void *mean, global void *variance)
{
    local float part[GPU_LANES];
    int run = get_group_id(0), l = get_local_id(0), first = view_at(run, a.outer_rank, a.outer_dims, a.outer);
    float sum = 0.0f;
    for (int i = l; i < a.count; i += GPU_LANES)
        sum += read_real(a.in_type, x, first + view_at(i, a.run_rank, a.run_dims, a.run));
    float middle = lanes_sum(part, sum) / (float)a.count;
    sum = 0.0f;
    for (int i = l; i < a.count; i += GPU_LANES) {
        float d = read_real(a.in_type, x, first + view_at(i, a.run_rank, a.run_dims, a.run)) - middle;
        sum += d * d;
    }
    sum = lanes_sum(part, sum);
    if (l)
        return;
    write_real(a.out_type, mean, run, middle);
    write_real(a.k, variance, run, sum / (float)a.count);
}

/* The value of position i of a row, after its mask; with numbers of sequences, others than the own are out of sight. */
float masked_value(const struct gpu_masked *a, global const void *x, global const void *mask, int row, int i, int ids, float own)
{
    float v = read_real(a->x_type, x, row * a->count + i);
    if (!a->compressed) {
        float m = number_at(a->mask_type, mask, view_at(row * a->count + i, a->rank, a->dims, a->strides));
        if (a->condition)
            return m != 0.0f ? v : -INFINITY;
        return v + m;
    }
    return number_at(a->mask_type, mask, ids + i) == own && own != 0.0f ? v : -INFINITY;
}

/* How many entries of a row a condition leaves in sight. */
float kept_entries(const struct gpu_masked *a, global const void *mask, int row, int l, local float *part)
{
    float kept = 0.0f;
    for (int i = l; i < a->count; i += GPU_LANES)
        kept += number_at(a->mask_type, mask, view_at(row * a->count + i, a->rank, a->dims, a->strides)) != 0.0f;
    return lanes_sum(part, kept);
}

kernel void masked_softmax(struct gpu_masked a, global const void *x, global const void *mask, global void *y)
{
    local float part[GPU_LANES];
    int row = get_group_id(0), l = get_local_id(0), ids = a.batch_runs ? row / a.batch_runs * a.count : 0;
    float own = a.compressed ? number_at(a.mask_type, mask, ids + a.count - a.rows + row % a.rows) : 0.0f, most = -INFINITY, sum = 0.0f;
    bool seen = !a.compressed || own != 0.0f; /* a row sees its own position */
    if (a.condition)
        seen = kept_entries(&a, mask, row, l, part) > 0.0f;
    for (int i = l; i < a.count; i += GPU_LANES) {
        float v = masked_value(&a, x, mask, row, i, ids, own);
        most = v > most ? v : most;
    }
    part[l] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = GPU_LANES / 2; k > 0; k /= 2) {
        if (l < k && part[l + k] > part[l])
            part[l] = part[l + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    most = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < a.count; i += GPU_LANES)
        sum += exp(masked_value(&a, x, mask, row, i, ids, own) - most);
    sum = lanes_sum(part, sum);
    for (int i = l; i < a.count; i += GPU_LANES)
        write_real(a.y_type, y, row * a.count + i, seen ? exp(masked_value(&a, x, mask, row, i, ids, own) - most) / sum : 0.0f);
}

/* Sums, products and extremes of integers, one after the other. */
kernel void whole_reduce(struct gpu_rows a, global const void *x, global void *y)
{
    int run = get_group_id(0), first = view_at(run, a.outer_rank, a.outer_dims, a.outer), best = 0;
    long acc = a.kind == ROW_PROD ? 1 : 0;
    if (get_local_id(0))
        return;
    for (int i = 0; i < a.count; i++) {
        long v = read_whole(a.in_type, x, first + view_at(i, a.run_rank, a.run_dims, a.run));
        switch (a.kind) {
        case ROW_PROD: acc *= v; break;
        case ROW_SUM_SQUARE: acc += v * v; break;
        case ROW_MAX:
        case ROW_ARGMAX:
        case ROW_MIN:
        case ROW_ARGMIN: {
            bool better = i == 0 || (a.kind == ROW_MAX || a.kind == ROW_ARGMAX ? v > acc : v < acc);
            acc = better ? v : acc;
            best = better ? i : best;
            break;
        }
        default: acc += v; break;
        }
    }
    if (a.kind == ROW_MEAN && a.count)
        acc /= a.count;
    if (a.kind == ROW_ARGMAX || a.kind == ROW_ARGMIN)
        acc = best;
    if (is_real(a.out_type))
        write_real(a.out_type, y, run, (float)acc);
    else
        write_whole(a.out_type, y, run, acc);
}

/* The k best integers: each the first one behind the last that was found. */
kernel void whole_top_k(struct gpu_rows a, global const void *x, global void *y, global void *index)
{
    int run = get_group_id(0), first = run * a.count, last_at = -1;
    long last = 0;
    if (get_local_id(0))
        return;
    for (int t = 0; t < a.k; t++) {
        long best = 0;
        int at = -1;
        for (int i = 0; i < a.count; i++) {
            long v = read_whole(a.in_type, x, first + i), key = a.smallest ? ~v : v;
            bool left = last_at < 0 || key < last || (key == last && i > last_at);
            if (left && (at < 0 || key > best)) {
                best = key;
                at = i;
            }
        }
        last = best;
        last_at = at;
        write_whole(a.in_type, y, run * a.k + t, a.smallest ? ~best : best);
        write_whole(a.out_type, index, run * a.k + t, at);
    }
}
