/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention. First the keys and values of all positions go to the room as floats, new ones turned, and to the present caches; then a group of 64 work items per query of a
 * head works out scores and their sum.
 *
 *     room   keys [batch, kv heads, positions, size] | values alike | per query: scores [positions] and the turned query [size]             */

int past_of(const struct gpu_attention *a, global const void *seqlens, int batch)
{
    if (!(a->given >> GQA_SEQLENS & 1))
        return a->past;
    return (int)clamp(read_whole(a->in_type[GQA_SEQLENS], seqlens, batch) + 1 - a->sequence, 0L, (long)a->past);
}

/* Where new token i stands: behind the others, or where the client says. */
int position_of(const struct gpu_attention *a, global const void *positions, int batch, int past, int i)
{
    if (!(a->given >> GQA_POSITIONS & 1))
        return past + i;
    return (int)clamp(read_whole(a->in_type[GQA_POSITIONS], positions, batch * a->sequence + i), 0L, (long)INT_MAX);
}

/* Value d of a head at a position, its two halves turned by the angles of the position. */
float turned(const struct gpu_attention *a, int type, global const void *x, int row, int d, int position, global const void *cosines, global const void *sines)
{
    int part = a->turned / 2;
    float v = read_real(type, x, row + d);
    if (d >= a->turned)
        return v;
    int k = d % part, at = min(position, a->table - 1) * part + k;
    float c = read_real(a->in_type[GQA_COS], cosines, at), s = read_real(a->in_type[GQA_SIN], sines, at), other = read_real(type, x, row + (d < part ? d + part : d - part));
    return d < part ? v * c - other * s : other * s + v * c;
}

/* Where a head begins in row `position`; `before` heads are in front of it in a packed row. */
int row_at(const struct gpu_attention *a, int batch, int position, int head, int of, int before)
{
    int heads = a->packed ? a->heads + 2 * a->kv_heads : of;
    return ((batch * a->sequence + position) * heads + (a->packed ? before : 0) + head) * a->size;
}

void put_present(const struct gpu_attention *a, int port, global void *y, int line, int t, int d, int known, float v)
{
    if (a->wanted >> port & 1 && t < a->present)
        write_real(a->out_type[port], y, (line * a->present + t) * a->size + d, t < known ? v : 0.0f);
}

kernel void attention_gather(struct gpu_attention a, global const void *query, global const void *key, global const void *value, global const void *past_key,
                             global const void *past_value, global const void *seqlens, global const void *positions_of, global const void *cosines, global const void *sines,
                             global void *present_key, global void *present_value, global float *room)
{
    int i = get_global_id(0), rows = max(a.past + a.sequence, a.present), positions = a.past + a.sequence;
    if (i >= a.batch * a.kv_heads * rows * a.size)
        return;
    int d = i % a.size, t = i / a.size % rows, line = i / a.size / rows, kv = line % a.kv_heads, batch = line / a.kv_heads;
    int past = past_of(&a, seqlens, batch), known = max(a.past, past + a.sequence), from = (line * a.past + t) * a.size + d;
    float k = 0.0f, v = 0.0f;
    if (t >= past && t < past + a.sequence) {
        int row = row_at(&a, batch, t - past, kv, a.kv_heads, a.heads);
        k = turned(&a, a.in_type[a.packed ? GQA_QUERY : GQA_KEY], key, row, d, position_of(&a, positions_of, batch, past, t - past), cosines, sines);
        v = read_real(a.in_type[a.packed ? GQA_QUERY : GQA_VALUE], value, row_at(&a, batch, t - past, kv, a.kv_heads, a.heads + a.kv_heads) + d);
    } else if (t < a.past) {
        k = read_real(a.in_type[GQA_PAST_KEY], past_key, from);
        v = read_real(a.in_type[GQA_PAST_VALUE], past_value, from);
    }
    put_present(&a, GQA_PRESENT_KEY, present_key, line, t, d, known, k);
    put_present(&a, GQA_PRESENT_VALUE, present_value, line, t, d, known, v);
    if (t < positions) {
        room[(line * positions + t) * a.size + d] = k;
        room[((a.batch * a.kv_heads + line) * positions + t) * a.size + d] = v;
    }
}

kernel void attention(struct gpu_attention a, global const void *query, global const void *seqlens, global const void *positions_of, global const void *cosines,
                      global const void *sines, global void *y, global float *room)
{
    local float part[GPU_LANES];
    int unit = get_group_id(0), l = get_local_id(0), positions = a.past + a.sequence;
    int i = unit % a.sequence, head = unit / a.sequence % a.heads, batch = unit / a.sequence / a.heads, past = past_of(&a, seqlens, batch), n = past + i + 1;
    int line = batch * a.kv_heads + head / (a.heads / a.kv_heads), cache = a.batch * a.kv_heads * positions * a.size;
    global float *keys = room + line * positions * a.size, *values = keys + cache, *scores = room + 2 * cache + unit * (positions + a.size), *q = scores + positions;
    int row = row_at(&a, batch, i, head, a.heads, 0);
    for (int d = l; d < a.size; d += GPU_LANES)
        q[d] = turned(&a, a.in_type[GQA_QUERY], query, row, d, position_of(&a, positions_of, batch, past, i), cosines, sines);
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    float most = -INFINITY, sum = 0.0f;
    for (int t = l; t < n; t += GPU_LANES) {
        float s = 0.0f;
        for (int d = 0; d < a.size; d++)
            s = fma(q[d], keys[t * a.size + d], s);
        scores[t] = s * a.scale;
        most = scores[t] > most ? scores[t] : most;
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
    for (int t = l; t < n; t += GPU_LANES) {
        scores[t] = exp(scores[t] - most);
        sum += scores[t];
    }
    part[l] = sum;
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    for (int k = GPU_LANES / 2; k > 0; k /= 2) {
        if (l < k)
            part[l] += part[l + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int d = l; d < a.size; d += GPU_LANES) {
        float v = 0.0f;
        for (int t = 0; t < n; t++)
            v = fma(scores[t] / part[0], values[t * a.size + d], v);
        write_real(a.out_type[GQA_OUT], y, ((batch * a.sequence + i) * a.heads + head) * a.size + d, v);
    }
}
