/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, scatter and their kin, compiled once per instruction set. */
#include <math.h>

#include "kernels/gather/gather.h"
#include "kernels/mover_body.h"

static int64_t load_index(enum dtype t, const void *base, uint64_t at)
{
    int64_t v;
    K(span_load_i64)(t, base, (int64_t)at, 1, 1, &v);
    return v;
}

/* Index into a dimension, from the end when negative; false when outside. */
static inline bool resolve(int64_t *index, uint32_t size)
{
    *index += *index < 0 ? (int64_t)size : 0;
    return *index >= 0 && *index < (int64_t)size;
}

/* Element offset inside a part for a tuple; -1 when one of its indices is outside. */
static int64_t tuple_offset(const struct gather_args *a, const void *indices, uint64_t tuple)
{
    int64_t at = 0;
    for (uint32_t k = 0; k < a->depth; k++) {
        int64_t i = load_index(a->index_type, indices, tuple * a->depth + k);
        if (!resolve(&i, a->dims[k]))
            return -1;
        at += i * (int64_t)a->strides[k];
    }
    return at;
}

/* n single elements by their indices in a dimension of `size`, from places that are `step` apart (0: all from one), each
 * index `axis` apart. */
#define PICK(T)                                                                                           \
    for (uint32_t i = 0; i < n; i++) {                                                                    \
        int64_t k = index[i] + (index[i] < 0 ? (int64_t)p->size : 0);                                     \
        ((T *)dst)[to + i] = (uint64_t)k < p->size ? ((const T *)src)[p->base + i * p->step + k * p->axis] \
                                                   : *(const T *)m->zero;                                 \
    }
struct pick {
    uint32_t size;
    int64_t base, step, axis;
};

static void pick(const struct mover *m, void *dst, uint64_t to, const void *src, const struct pick *p, const int64_t *index,
                 uint32_t n)
{
    switch (m->bytes) {
    case 1:
        PICK(uint8_t)
        break;
    case 2:
        PICK(uint16_t)
        break;
    case 4:
        PICK(uint32_t)
        break;
    default:
        PICK(uint64_t)
    }
}

/* Slices of one element that are copied: the indices of some at a time. */
static void gather_singles(const struct kernel_call *call, const struct gather_args *a, uint64_t unit, uint64_t end)
{
    int64_t index[SPAN];
    for (uint64_t n; unit < end; unit += n) {
        uint64_t part = unit / a->tuples, left = (part + 1) * a->tuples - unit;
        n = left < end - unit ? left : end - unit;
        n = n < SPAN ? n : SPAN;
        struct pick p = {.size = a->dims[0], .base = (int64_t)(part * a->part), .axis = (int64_t)a->strides[0]};
        K(span_load_i64)
        (a->index_type, call->data[1], (int64_t)(a->own_indices ? unit : unit % a->tuples), 1, (uint32_t)n, index);
        pick(&a->mover, call->data[a->n_in], unit, call->data[0], &p, index, (uint32_t)n);
    }
}

/* A unit is one slice. */
void K(gather)(const struct kernel_call *call, struct range tile)
{
    const struct gather_args *a = call->args;
    uint64_t end = mover_end(&a->mover, tile, a->outer * a->tuples);
    void *out = call->data[a->n_in];
    if (a->slice == 1 && a->depth == 1 && a->mover.copy && a->mover.bytes) {
        gather_singles(call, a, tile.begin, end);
        return;
    }
    for (uint64_t unit = tile.begin; unit < end; unit++) {
        uint64_t part = unit / a->tuples, tuple = a->own_indices ? unit : unit % a->tuples;
        int64_t from = tuple_offset(a, call->data[1], tuple);
        if (from < 0)
            move_fill(&a->mover, out, (int64_t)(unit * a->slice), a->slice);
        else
            move_run(&a->mover, out, (int64_t)(unit * a->slice), call->data[0], (int64_t)(part * a->part) + from, 1,
                     a->slice);
    }
}

/* A unit is one slice. */
void K(table)(const struct kernel_call *call, struct range tile)
{
    const struct table_args *t = call->args;
    const struct gather_args *a = &t->at;
    float x[SPAN];
    for (uint64_t unit = tile.begin; unit < tile.end; unit++) {
        int64_t from = tuple_offset(a, call->data[1], unit % a->tuples);
        uint64_t first = unit / a->tuples * a->part + (uint64_t)from;
        for (uint64_t at = 0; at < a->slice; at += SPAN) {
            uint32_t n = a->slice - at < SPAN ? (uint32_t)(a->slice - at) : SPAN;
            for (uint32_t i = 0; i < n; i++)
                x[i] = from < 0 ? 0.0f : encoding_real(&t->table, call->data[0], first + at + i);
            K(span_store)(&t->out, call->data[a->n_in], (int64_t)(unit * a->slice + at), 1, n, x);
        }
    }
}

/* A unit is SPAN output elements. */
void K(elements)(const struct kernel_call *call, struct range tile)
{
    const struct elements_args *a = call->args;
    uint64_t at = (uint64_t)tile.begin * SPAN, end = (uint64_t)tile.end * SPAN;
    struct view_walk w;
    end = end < a->total ? end : a->total;
    if (at >= end)
        return;
    view_seek(&w, &a->view, at);
    if (a->mover.copy && a->mover.bytes) {
        int64_t index[SPAN];
        struct pick p = {.size = a->size, .step = a->view.strides[a->view.rank - 1], .axis = a->step};
        for (uint32_t n; at < end; at += n) {
            n = view_run(&w, end - at < SPAN ? (uint32_t)(end - at) : SPAN, &p.base);
            K(span_load_i64)(a->index_type, call->data[1], (int64_t)at, 1, n, index);
            pick(&a->mover, call->data[2], at, call->data[0], &p, index, n);
        }
        return;
    }
    for (; at < end; at++) {
        int64_t base, i = load_index(a->index_type, call->data[1], at);
        view_run(&w, 1, &base);
        if (resolve(&i, a->size))
            move_run(&a->mover, call->data[2], (int64_t)at, call->data[0], base + i * a->step, 1, 1);
        else
            move_fill(&a->mover, call->data[2], (int64_t)at, 1);
    }
}

static inline float combine_f32(uint32_t reduction, float x, float y)
{
    return reduction == 1 ? x + y : reduction == 2 ? x * y : x > y ? x : y;
}

static inline int64_t combine_i64(uint32_t reduction, int64_t x, int64_t y)
{
    return reduction == 1   ? (int64_t)((uint64_t)x + (uint64_t)y)
           : reduction == 2 ? (int64_t)((uint64_t)x * (uint64_t)y)
                            : (x > y ? x : y);
}

/* k elements of the output at `to` and of in[2] at `from`, combined */
static void combine(const struct kernel_call *call, const struct elements_args *a, int64_t to, int64_t from, uint32_t k)
{
    float x[SPAN], y[SPAN];
    int64_t p[SPAN], q[SPAN];
    if (a->whole) {
        K(span_load_i64)(a->before.type, call->data[3], to, 1, k, p);
        K(span_load_i64)(a->after.type, call->data[2], from, 1, k, q);
        for (uint32_t i = 0; i < k; i++)
            p[i] = combine_i64(a->reduction, p[i], q[i]);
        K(span_store_i64)(a->before.type, call->data[3], to, 1, k, p);
        return;
    }
    K(span_load)(&a->after, call->data[2], from, 1, k, y);
    if (a->once) {
        float *kept = (float *)call->work + to;
        for (uint32_t i = 0; i < k; i++)
            kept[i] = combine_f32(a->reduction, kept[i], y[i]);
        return;
    }
    K(span_load)(&a->before, call->data[3], to, 1, k, x);
    for (uint32_t i = 0; i < k; i++)
        x[i] = combine_f32(a->reduction, x[i], y[i]);
    K(span_store)(&a->before, call->data[3], to, 1, k, x);
}

/* n updates from element `from` of in[2] into the output at `to` */
static void update(const struct kernel_call *call, const struct elements_args *a, int64_t to, int64_t from, uint64_t n)
{
    if (!a->reduction)
        move_run(&a->update, call->data[3], to, call->data[2], from, 1, n);
    else
        for (uint64_t at = 0; at < n; at += SPAN)
            combine(call, a, to + (int64_t)at, from + (int64_t)at, n - at < SPAN ? (uint32_t)(n - at) : SPAN);
}

static void copy_first(const struct kernel_call *call, const struct elements_args *a)
{
    if (a->once)
        for (uint64_t at = 0; at < a->copied; at += SPAN)
            K(span_load)
            (&a->first, call->data[0], (int64_t)at, 1, a->copied - at < SPAN ? (uint32_t)(a->copied - at) : SPAN,
             (float *)call->work + at);
    else if (call->data[0] != call->data[3] || !a->mover.copy)
        move_run(&a->mover, call->data[3], 0, call->data[0], 0, 1, a->copied);
}

static void store_last(const struct kernel_call *call, const struct elements_args *a)
{
    for (uint64_t at = 0; a->once && at < a->copied; at += SPAN)
        K(span_store)
        (&a->before, call->data[3], (int64_t)at, 1, a->copied - at < SPAN ? (uint32_t)(a->copied - at) : SPAN,
         (float *)call->work + at);
}

/* Updates may name the same place twice and then apply in order: one unit does it all. */
void K(scatter_elements)(const struct kernel_call *call, struct range tile)
{
    const struct elements_args *a = call->args;
    struct view_walk w;
    (void)tile;
    copy_first(call, a);
    if (a->total)
        view_seek(&w, &a->view, 0);
    for (uint64_t at = 0; at < a->total; at++) {
        int64_t base, i = load_index(a->index_type, call->data[1], at);
        view_run(&w, 1, &base);
        if (resolve(&i, a->size))
            update(call, a, base + i * a->step, (int64_t)at, 1);
    }
    store_last(call, a);
}

void K(scatter_nd)(const struct kernel_call *call, struct range tile)
{
    const struct scatter_nd_args *a = call->args;
    (void)tile;
    copy_first(call, &a->how);
    for (uint64_t tuple = 0; tuple < a->at.tuples; tuple++) {
        int64_t to = tuple_offset(&a->at, call->data[1], tuple);
        if (to >= 0)
            update(call, &a->how, to, (int64_t)(tuple * a->at.slice), a->at.slice);
    }
    store_last(call, &a->how);
}

/* A unit is one index and its column of `depth` values. */
void K(one_hot)(const struct kernel_call *call, struct range tile)
{
    const struct one_hot_args *a = call->args;
    uint64_t end = mover_end(&a->mover, tile, a->outer * a->inner);
    for (uint64_t unit = tile.begin; unit < end; unit++) {
        int64_t index = load_index(a->index_type, call->data[0], unit);
        uint64_t first = unit / a->inner * a->depth * a->inner + unit % a->inner;
        for (uint32_t d = 0; d < a->depth; d++)
            move_fill_with(&a->mover, call->data[1], (int64_t)(first + d * a->inner), 1,
                           index == (int64_t)d ? a->on : a->off);
    }
}

/* ---- TopK: a heap of the k best, the worst of them on top --------------------------------------------------------- */

struct candidate {
    int64_t key; /* ordered like the values; negated for the smallest */
    int64_t index;
};

/* The order of the result: larger keys first, equal ones by position. */
static inline bool ahead(const struct candidate *x, const struct candidate *y)
{
    return x->key != y->key ? x->key > y->key : x->index < y->index;
}

static void sift_down(struct candidate *h, uint32_t n, uint32_t i)
{
    struct candidate moved = h[i];
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && ahead(&h[child], &h[child + 1]);
        if (!ahead(&moved, &h[child]))
            break;
        h[i] = h[child];
    }
    h[i] = moved;
}

static int64_t order_key(const struct top_k_args *a, const void *base, int64_t at)
{
    enum dtype t = a->mover.in.type;
    int64_t key;
    if (dtype_is_float(t)) {
        double v;
        K(span_load_f64)(&a->mover.in, base, at, 1, &v);
        v = v == v ? v + 0.0 : NAN; /* one zero, one NaN above all numbers */
        memcpy(&key, &v, sizeof(key));
        key = v != v ? INT64_MAX : key < 0 ? (int64_t)(0x8000000000000000u - (uint64_t)key) : key;
    } else {
        K(span_load_i64)(t, base, at, 1, 1, &key);
        key = t == DT_U64 ? (int64_t)((uint64_t)key ^ 0x8000000000000000u) : key;
    }
    return a->smallest ? ~key : key;
}

static void top_k_row(const struct kernel_call *call, const struct top_k_args *a, uint64_t row, struct candidate *heap)
{
    int64_t base = (int64_t)(row * a->n), to = (int64_t)(row * a->k);
    for (uint32_t i = 0; i < a->k; i++)
        heap[i] = (struct candidate){order_key(a, call->data[0], base + i), i};
    for (uint32_t i = a->k / 2; i-- > 0;)
        sift_down(heap, a->k, i);
    for (uint32_t i = a->k; i < a->n; i++) {
        struct candidate c = {order_key(a, call->data[0], base + i), i};
        if (ahead(&c, &heap[0])) {
            heap[0] = c;
            sift_down(heap, a->k, 0);
        }
    }
    for (uint32_t n = a->k; n-- > 0;) {
        struct candidate worst = heap[0];
        heap[0] = heap[n];
        sift_down(heap, n, 0);
        move_run(&a->mover, call->data[a->n_in], to + n, call->data[0], base + worst.index, 1, 1);
        if (a->indices)
            K(span_store_i64)(a->index_type, call->data[a->n_in + 1], to + n, 1, 1, &worst.index);
    }
}

void K(top_k)(const struct kernel_call *call, struct range tile)
{
    const struct top_k_args *a = call->args;
    uint64_t end = mover_end(&a->mover, tile, a->rows);
    for (uint64_t row = tile.begin; row < end; row++)
        top_k_row(call, a, row, call->work);
}

/* Rows that are found in order, then -1: one unit does it all. */
void K(non_zero)(const struct kernel_call *call, struct range tile)
{
    const struct non_zero_args *a = call->args;
    uint64_t row = 0;
    int64_t index[MAX_RANK];
    (void)tile;
    for (uint64_t e = 0; e < a->total && row < a->rows; e++) {
        double v;
        uint64_t rest = e;
        K(span_load_f64)(&a->in, call->data[0], (int64_t)e, 1, &v);
        if (v == 0.0)
            continue;
        for (uint32_t d = a->rank; d-- > 0; rest /= a->dims[d])
            index[d] = (int64_t)(rest % a->dims[d]);
        K(span_store_i64)(a->index_type, call->data[1], (int64_t)(row++ * a->rank), 1, a->rank, index);
    }
    for (uint32_t d = 0; d < MAX_RANK; d++)
        index[d] = -1;
    for (; row < a->rows; row++)
        K(span_store_i64)(a->index_type, call->data[1], (int64_t)(row * a->rank), 1, a->rank, index);
}
