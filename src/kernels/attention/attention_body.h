/* SPDX-License-Identifier: Apache-2.0 */
/* Grouped attention, compiled once per instruction set. A unit of work is one key-value head of one batch entry with all its
 * queries. */
#include <math.h>
#include <string.h>

#include "kernels/attention/attention.h"
#include "kernels/quick.h"

/* One unit: its keys and values as f32, and how many positions were there before this call. */
struct head {
    const struct kernel_call *call;
    const struct attention_args *a;
    uint64_t batch, kv;
    uint32_t past, end; /* positions before this call, and after it */
    float *keys, *values, *scores, *query, *out, *table;
};

static void load(const struct head *h, uint32_t port, uint64_t at, uint64_t n, float *dst)
{
    K(span_load)(&h->a->in[port], h->call->data[port], (int64_t)at, 1, (uint32_t)n, dst);
}

static uint32_t past_of(const struct kernel_call *call, const struct attention_args *a, uint64_t batch)
{
    int64_t last;
    if (!(a->given >> GQA_SEQLENS & 1))
        return a->past;
    K(span_load_i64)(a->seqlens, call->data[GQA_SEQLENS], (int64_t)batch, 1, 1, &last);
    int64_t past = last < (int64_t)UINT32_MAX ? last + 1 - (int64_t)a->sequence : (int64_t)a->past;
    return past < 0 ? 0 : past > (int64_t)a->past ? a->past : (uint32_t)past;
}

/* Where a new token stands: behind the others, or where the client says. */
static uint64_t position_of(const struct head *h, uint32_t i)
{
    const struct attention_args *a = h->a;
    int64_t said;
    if (!(a->given >> GQA_POSITIONS & 1))
        return (uint64_t)h->past + i;
    K(span_load_i64)(a->positions, h->call->data[GQA_POSITIONS], (int64_t)(h->batch * a->sequence + i), 1, 1, &said);
    return said < 0 ? 0 : (uint64_t)said;
}

/* Turn the two halves of a head by the angles of the position of token i. */
static void turn(const struct head *h, uint32_t i, float *x)
{
    const struct attention_args *a = h->a;
    uint32_t half = a->turned / 2;
    if (!half)
        return;
    uint64_t position = position_of(h, i);
    position = position < a->table ? position : a->table - 1u;
    float *c = h->table, *s = c + half;
    load(h, GQA_COS, position * half, half, c);
    load(h, GQA_SIN, position * half, half, s);
    for (uint32_t k = 0; k < half; k++) {
        float p = x[k], q = x[k + half];
        x[k] = p * c[k] - q * s[k];
        x[k + half] = p * s[k] + q * c[k];
    }
}

/* Where the head `head` of `of` starts in row `position` of a packed or plain tensor; `before` heads precede it in a packed
 * row. */
static uint64_t row_at(const struct head *h, uint64_t position, uint64_t head, uint64_t of, uint64_t before)
{
    const struct attention_args *a = h->a;
    uint64_t heads = a->packed ? (uint64_t)a->heads + 2 * a->kv_heads : of;
    return ((h->batch * a->sequence + position) * heads + (a->packed ? before : 0) + head) * a->size;
}

static void gather(const struct head *h)
{
    const struct attention_args *a = h->a;
    uint64_t cache = (h->batch * a->kv_heads + h->kv) * a->past * a->size;
    memset(h->keys, 0, ((uint64_t)a->past + a->sequence) * a->size * 2 * sizeof(float)); /* values follow */
    if (a->past) {
        load(h, GQA_PAST_KEY, cache, (uint64_t)a->past * a->size, h->keys);
        load(h, GQA_PAST_VALUE, cache, (uint64_t)a->past * a->size, h->values);
    }
    for (uint32_t i = 0; i < a->sequence; i++) {
        uint64_t to = (uint64_t)(h->past + i) * a->size;
        load(h, a->packed ? GQA_QUERY : GQA_KEY, row_at(h, i, h->kv, a->kv_heads, a->heads), a->size, h->keys + to);
        load(h, a->packed ? GQA_QUERY : GQA_VALUE, row_at(h, i, h->kv, a->kv_heads, (uint64_t)a->heads + a->kv_heads),
             a->size, h->values + to);
        turn(h, i, h->keys + to);
    }
}

/* The caches as they are after this call; rows behind the last position keep what the old cache had there. */
static void put_present(const struct head *h, uint32_t port, const float *rows)
{
    const struct attention_args *a = h->a;
    if (!(a->wanted >> port & 1))
        return;
    uint32_t known = a->past > h->end ? a->past : h->end;
    memset(h->out, 0, a->size * sizeof(float));
    for (uint32_t t = 0; t < a->present; t++)
        K(span_store)(&a->out[port], h->call->data[a->n_in + port],
                      (int64_t)(((h->batch * a->kv_heads + h->kv) * a->present + t) * a->size), 1, a->size,
                      t < known ? rows + (uint64_t)t * a->size : h->out);
}

static float dot(const float *x, const float *y, uint32_t n)
{
    float lanes[16] = {0};
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (uint32_t j = 0; j < 16; j++)
            lanes[j] = fmaf(x[i + j], y[i + j], lanes[j]);
    for (uint32_t j = 0; i + j < n; j++)
        lanes[j] = fmaf(x[i + j], y[i + j], lanes[j]);
    return span_lanes_end(lanes);
}

/* One query against the first `n` positions; the result is in h->out. */
static void attend(const struct head *h, uint32_t n)
{
    uint32_t size = h->a->size;
    float most = -INFINITY;
    for (uint32_t t = 0; t < n; t++) {
        h->scores[t] = dot(h->query, h->keys + (uint64_t)t * size, size) * h->a->scale;
        most = h->scores[t] > most ? h->scores[t] : most;
    }
    for (uint32_t t = 0; t < n; t++)
        h->scores[t] = h->scores[t] - most;
    K(quick)(QUICK_EXP, h->scores, h->scores, n);
    float sum = K(span_sum)(h->scores, n);
    memset(h->out, 0, size * sizeof(float));
    for (uint32_t t = 0; t < n; t++) {
        float p = h->scores[t] / sum;
        const float *v = h->values + (uint64_t)t * size;
        for (uint32_t i = 0; i < size; i++)
            h->out[i] = fmaf(p, v[i], h->out[i]);
    }
}

void K(attention)(const struct kernel_call *call, struct range tile)
{
    const struct attention_args *a = call->args;
    uint64_t keys = (uint64_t)a->past + a->sequence, group = a->heads / a->kv_heads;
    struct head h = {.call = call, .a = a, .keys = call->work};
    h.values = h.keys + keys * a->size;
    h.scores = h.values + keys * a->size;
    h.query = h.scores + keys;
    h.out = h.query + a->size;
    h.table = h.out + a->size;
    for (uint64_t unit = tile.begin; unit < tile.end; unit++) {
        h.batch = unit / a->kv_heads;
        h.kv = unit % a->kv_heads;
        h.past = past_of(call, a, h.batch);
        h.end = h.past + a->sequence;
        gather(&h);
        put_present(&h, GQA_PRESENT_KEY, h.keys);
        put_present(&h, GQA_PRESENT_VALUE, h.values);
        for (uint64_t head = h.kv * group; head < (h.kv + 1) * group; head++)
            for (uint32_t i = 0; i < a->sequence; i++) {
                load(&h, GQA_QUERY, row_at(&h, i, head, a->heads, 0), a->size, h.query);
                turn(&h, i, h.query);
                attend(&h, h.past + i + 1);
                K(span_store)
                (&a->out[GQA_OUT], call->data[a->n_in], (int64_t)(((h.batch * a->sequence + i) * a->heads + head) * a->size),
                 1, a->size, h.out);
            }
    }
}
