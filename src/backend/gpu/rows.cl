/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, normalizations and reductions: a group of 64 work items per run of elements, sums and maxima joined in local memory. */

float group_sum(local float *shared_by_group, float v)
{
    int l = get_local_id(0);
    shared_by_group[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = GPU_LANES / 2; k > 0; k /= 2) {
        if (l < k)
            shared_by_group[l] += shared_by_group[l + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = shared_by_group[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}

/* A NaN wins, as in a maximum taken one by one. */
float larger(float a, float b)
{
    return b > a || b != b ? b : a;
}

float group_max(local float *shared_by_group, float v)
{
    int l = get_local_id(0);
    shared_by_group[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = GPU_LANES / 2; k > 0; k /= 2) {
        if (l < k)
            shared_by_group[l] = larger(shared_by_group[l], shared_by_group[l + k]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = shared_by_group[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}

kernel void softmax(struct gpu_rows a, global const T *x, global T *y)
{
    local float part[GPU_LANES];
    int first = view_at(get_group_id(0), a.outer_rank, a.outer_dims, a.outer), step = a.run[0], l = get_local_id(0);
    float most = -INFINITY, sum = 0.0f;
    for (int i = l; i < a.count; i += GPU_LANES)
        most = larger(most, LOAD(x, first + i * step) * a.beta);
    most = group_max(part, most);
    for (int i = l; i < a.count; i += GPU_LANES)
        sum += exp(LOAD(x, first + i * step) * a.beta - most);
    sum = group_sum(part, sum);
    float rest = a.kind == ROW_LOG_SOFTMAX ? log(sum) : 1.0f / sum;
    for (int i = l; i < a.count; i += GPU_LANES) {
        float v = LOAD(x, first + i * step) * a.beta - most;
        STORE(y, first + i * step, a.kind == ROW_LOG_SOFTMAX ? v - rest : exp(v) * rest);
    }
}

kernel void norm(struct gpu_rows a, global const T *x, global const T *gamma, global const T *beta, global T *y)
{
    local float part[GPU_LANES];
    int run = get_group_id(0), l = get_local_id(0), first = view_at(run, a.outer_rank, a.outer_dims, a.outer);
    int affine = view_at(run, a.outer_rank, a.outer_dims, a.outer_affine);
    float sub = 0.0f, mul = 1.0f, sum = 0.0f;
    if (a.kind == ROW_CENTER || a.kind == ROW_VARIANCE) {
        for (int i = l; i < a.count; i += GPU_LANES)
            sum += LOAD(x, first + view_at(i, a.run_rank, a.run_dims, a.run));
        sub = group_sum(part, sum) / (float)a.count;
    }
    if (a.kind != ROW_AFFINE && a.kind != ROW_CENTER) {
        sum = 0.0f;
        for (int i = l; i < a.count; i += GPU_LANES) {
            float v = LOAD(x, first + view_at(i, a.run_rank, a.run_dims, a.run)) - sub;
            sum += v * v;
        }
        sum = group_sum(part, sum);
        mul = a.kind == ROW_L2 ? 1.0f / (sqrt(sum) < a.eps ? a.eps : sqrt(sum)) : 1.0f / sqrt((a.kind == ROW_RMS_SUM ? sum : sum / (float)a.count) + a.eps);
    }
    for (int i = l; i < a.count; i += GPU_LANES) {
        int at = first + view_at(i, a.run_rank, a.run_dims, a.run), g = affine + view_at(i, a.run_rank, a.run_dims, a.run_affine);
        float v = (LOAD(x, at) - sub) * mul;
        v = a.gamma ? v * LOAD(gamma, g) : v;
        STORE(y, at, a.beta_given ? v + LOAD(beta, g) : v);
    }
}

float reduce_start(int kind)
{
    return kind == ROW_MAX ? -INFINITY : kind == ROW_MIN ? INFINITY : kind == ROW_PROD ? 1.0f : 0.0f;
}

float reduce_join(int kind, float a, float b)
{
    switch (kind) {
    case ROW_MAX: return b > a || b != b ? b : a;
    case ROW_MIN: return b < a || b != b ? b : a;
    case ROW_PROD: return a * b;
    default: return a + b;
    }
}

kernel void reduce(struct gpu_rows a, global const T *x, global T *y)
{
    local float part[GPU_LANES];
    int run = get_group_id(0), l = get_local_id(0), first = view_at(run, a.outer_rank, a.outer_dims, a.outer);
    float v = reduce_start(a.kind);
    for (int i = l; i < a.count; i += GPU_LANES) {
        float e = LOAD(x, first + view_at(i, a.run_rank, a.run_dims, a.run));
        v = reduce_join(a.kind, v, a.kind == ROW_SUM_SQUARE ? e * e : e);
    }
    part[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = GPU_LANES / 2; k > 0; k /= 2) {
        if (l < k)
            part[l] = reduce_join(a.kind, part[l], part[l + k]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        STORE(y, run, a.kind == ROW_MEAN ? part[0] / (float)a.count : part[0]);
}

/* Whether b at index j comes before a at index i; a NaN is before all numbers, the first of equals wins. */
bool arg_before(int kind, float a, int i, float b, int j)
{
    if (a != a || b != b)
        return b != b && (a == a || j < i);
    return (kind == ROW_ARGMAX ? b > a : b < a) || (b == a && j < i);
}

kernel void arg_extreme(struct gpu_rows a, global const T *x, global void *y)
{
    local float part[GPU_LANES];
    local int where[GPU_LANES];
    int run = get_group_id(0), l = get_local_id(0), first = view_at(run, a.outer_rank, a.outer_dims, a.outer), at = 0;
    float best = a.kind == ROW_ARGMAX ? -INFINITY : INFINITY;
    for (int i = l; i < a.count; i += GPU_LANES) {
        float e = LOAD(x, first + view_at(i, a.run_rank, a.run_dims, a.run));
        if (best == best && (e != e || (a.kind == ROW_ARGMAX ? e > best : e < best))) {
            best = e;
            at = i;
        }
    }
    part[l] = best;
    where[l] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = GPU_LANES / 2; k > 0; k /= 2) {
        if (l < k && arg_before(a.kind, part[l], where[l], part[l + k], where[l + k])) {
            part[l] = part[l + k];
            where[l] = where[l + k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l)
        return;
    if (a.out_type == SCALAR_F32)
        ((global float *)y)[run] = (float)where[0];
    else if (a.out_type == SCALAR_I64)
        ((global long *)y)[run] = where[0];
    else
        ((global int *)y)[run] = where[0];
}

/* A number that orders like the value: one zero, and NaN above all. */
int order_key(float v, int smallest)
{
    int key = as_int(v + 0.0f);
    key = v != v ? INT_MAX : key < 0 ? (int)(0x80000000u - (uint)key) : key;
    return smallest ? ~key : key;
}

/* Larger keys first, equal ones by position. */
bool order_ahead(int key, int at, int other, int other_at)
{
    return key != other ? key > other : at < other_at;
}

/* One value of the result after the other: the first one behind the last that was found. */
kernel void top_k(struct gpu_rows a, global const T *x, global T *y, global int *index)
{
    local int keys[GPU_LANES], where[GPU_LANES];
    int run = get_group_id(0), l = get_local_id(0), first = run * a.count, last = INT_MAX, last_at = -1;
    for (int t = 0; t < a.k; t++) {
        int best = INT_MIN, at = INT_MAX;
        for (int i = l; i < a.count; i += GPU_LANES) {
            int key = order_key(LOAD(x, first + i), a.smallest);
            if ((t == 0 || order_ahead(last, last_at, key, i)) && order_ahead(key, i, best, at)) {
                best = key;
                at = i;
            }
        }
        keys[l] = best;
        where[l] = at;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = GPU_LANES / 2; k > 0; k /= 2) {
            if (l < k && order_ahead(keys[l + k], where[l + k], keys[l], where[l])) {
                keys[l] = keys[l + k];
                where[l] = where[l + k];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        last = keys[0];
        last_at = where[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0) {
            STORE(y, run * a.k + t, LOAD(x, first + last_at));
            index[run * a.k + t] = last_at;
        }
    }
}
