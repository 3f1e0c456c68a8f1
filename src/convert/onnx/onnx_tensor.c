/* SPDX-License-Identifier: Apache-2.0 */
/* Between values of the source and tensors of the graph: what an operator reads is placed when it is asked for, in the order
 * of dimensions and in the type that it wants; what it makes gets the source's name. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

/* ---- values as tensors -------------------------------------------------------------------------------------------- */

enum status onnx_charge(struct onnx_cx *cx, const char *what, uint64_t count, unsigned size)
{
    uint64_t bytes;
    bool fits = !__builtin_mul_overflow(count, (uint64_t)size, &bytes) && bytes <= cx->made_limit - cx->made;
    REFUSE_WHEN(!fits,
                "%s needs %llu x %u bytes, which the file does not hold; %llu are left of the %llu bytes that may be made "
                "while converting a file of this size. Use smaller "
                "dimensions",
                what, (unsigned long long)count, size, (unsigned long long)(cx->made_limit - cx->made),
                (unsigned long long)cx->made_limit);
    cx->made += bytes;
    return ST_OK;
}

static enum status const_to_f32(struct onnx_cx *cx, const struct onnx_value *v, const void **ret)
{
    uint64_t n = onnx_count(v);
    float *f = arena_array(&cx->b.g->arena, float, n);
    RETURN_IF(!f, ST_NO_MEMORY, "no memory for constant \"%s\"", v->name);
    for (uint64_t i = 0; i < n; i++) {
        double x = number_get(v->stored, v->data, i);
        f[i] = (float)x;
        REFUSE_WHEN(isfinite(x) && !isfinite(f[i]), "constant \"%s\" has the value %g, which float32 cannot hold", v->name,
                    x);
    }
    build_release(B, v->data, dtype_bytes(v->stored, n));
    *ret = f;
    return ST_OK;
}

enum { SMALL_BYTES = 4096 };

bool onnx_aligned(const struct tensor_desc *d, const void *data)
{
    unsigned size = dtype_bits(d->type) / 8;
    return size <= 1 || (uintptr_t)data % size == 0;
}

/* Put the constant into the graph, in the source's order. */
static enum status place_const(struct onnx_cx *cx, struct onnx_value *v)
{
    struct tensor_desc d = {.type = onnx_inner_type(v->stored), .rank = v->rank};
    const void *data = v->data;
    memcpy(d.dims, v->dims, sizeof(d.dims));
    REFUSE_WHEN(onnx_count(v) == 0, "constant \"%s\" is empty; tensors of a graph have at least one element", v->name);
    if (v->q)
        d.q = *v->q;
    if (d.type != v->stored)
        TRY(const_to_f32(cx, v, &data));
    /* Rules look into small constants, and the file does not align them. Large ones are left where they are until it is
     * known which of them stay. */
    bool borrow = onnx_aligned(&d, data) || desc_bytes(&d) > SMALL_BYTES;
    TRY(build_const(B, v->name, &d, data, borrow, &v->tensor));
    perm_identity(v->perm, MAX_RANK);
    return ST_OK;
}

static enum status place(struct onnx_cx *cx, struct onnx_value *v, uint32_t *ret)
{
    REFUSE_WHEN(
        v->list,
        "\"%s\" is a sequence of %u tensors, and a graph has tensors only; take them out with SequenceAt, or join them",
        v->name, v->list->n);
    if (v->tensor == IR_NONE)
        TRY(place_const(cx, v));
    *ret = v->tensor;
    return ST_OK;
}

/* The element of a per-axis encoding that element i belongs to. */
static uint32_t channel_of(const struct onnx_value *v, uint64_t i)
{
    uint64_t inner = 1;
    for (uint32_t k = (uint32_t)v->q->axis + 1; k < v->rank; k++)
        inner *= v->dims[k];
    return (uint32_t)(i / inner % v->dims[v->q->axis]);
}

static enum status dequantize_const(struct onnx_cx *cx, struct onnx_value *v)
{
    uint64_t n = onnx_count(v);
    struct tensor_desc d = {.type = DT_F32, .rank = v->rank};
    float *f = arena_array(&cx->b.g->arena, float, n);
    RETURN_IF(!f, ST_NO_MEMORY, "no memory for constant \"%s\"", v->name);
    memcpy(d.dims, v->dims, sizeof(d.dims));
    for (uint64_t i = 0; i < n; i++) {
        uint32_t c = v->q->kind == Q_AXIS ? channel_of(v, i) : 0;
        f[i] = (float)(number_get_int(v->stored, v->data, i) + quant_offset(v->q, c)) * quant_scale(v->q, c);
    }
    TRY(build_const(B, v->name, &d, f, true, &v->real));
    if (v->type == DT_F16)
        return build_cast(B, onnx_name(cx, "half"), v->real, DT_F16, &v->real);
    return ST_OK;
}

/* Fixed point as the numbers that the source's operators see. */
static enum status as_numbers(struct onnx_cx *cx, struct onnx_value *v, uint32_t *t, bool *source_order)
{
    *source_order = false;
    if (!v->view) {
        if (dtype_is_fixed(build_desc(B, *t)->type) && dtype_bits(v->type) >= 8 && !dtype_is_fixed(v->type))
            return build_cast(B, onnx_name(cx, "stored"), *t, v->type, t);
        return ST_OK;
    }
    if (v->real == IR_NONE) {
        struct tensor_desc d = {.type = v->type};
        TRY(onnx_is_const(v)
                ? dequantize_const(cx, v)
                : build_node(B,
                             &(struct build_spec){
                                 .op = "Dequantize", .name = onnx_name(cx, "dequantize"), BUILD_IN(*t), .out = &d },
                             &v->real));
    }
    *source_order = onnx_is_const(v);
    *t = v->real;
    return ST_OK;
}

static enum status order(struct onnx_cx *cx, const struct onnx_value *v, bool source_order, const uint8_t *perm, uint32_t t,
                         uint32_t *ret)
{
    uint8_t inverse[MAX_RANK], rel[MAX_RANK];
    for (uint32_t i = 0; i < v->rank; i++)
        inverse[source_order ? i : v->perm[i]] = (uint8_t)i;
    for (uint32_t i = 0; i < v->rank; i++)
        rel[i] = inverse[perm ? perm[i] : i];
    return build_transpose(B, onnx_name(cx, "transpose"), t, rel, ret);
}

enum status onnx_tensor(struct onnx_cx *cx, struct onnx_value *v, const uint8_t *perm, uint32_t *ret)
{
    uint32_t t;
    bool source_order = false;
    if (v->view && !cx->fixed && onnx_is_const(v))
        t = IR_NONE;
    else
        TRY(place(cx, v, &t));
    if (!(cx->fixed && v->view))
        TRY(as_numbers(cx, v, &t, &source_order));
    return order(cx, v, source_order, perm, t, ret);
}

enum status onnx_stored(struct onnx_cx *cx, struct onnx_value *v, const uint8_t *perm, uint32_t *ret)
{
    uint32_t t;
    TRY(place(cx, v, &t));
    return order(cx, v, false, perm, t, ret);
}

enum status onnx_in_tensor(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t *ret)
{
    struct onnx_value *v;
    TRY(onnx_in(cx, n, i, &v));
    return onnx_tensor(cx, v, NULL, ret);
}

enum status onnx_in_tensor_opt(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t *ret)
{
    *ret = IR_NONE;
    return onnx_has(n, i) ? onnx_in_tensor(cx, n, i, ret) : ST_OK;
}

enum status onnx_in_last(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t *ret)
{
    struct onnx_value *v;
    uint8_t perm[MAX_RANK];
    TRY(onnx_in(cx, n, i, &v));
    perm_channel_last(perm, v->rank);
    return onnx_tensor(cx, v, perm, ret);
}

void onnx_common_perm(struct onnx_value *const *v, uint32_t n, uint8_t *perm, uint32_t *rank)
{
    const struct onnx_value *best = NULL;
    *rank = 0;
    for (uint32_t i = 0; i < n; i++)
        *rank = v[i]->rank > *rank ? v[i]->rank : *rank;
    perm_identity(perm, *rank);
    for (uint32_t i = 0; i < n; i++)
        if (!onnx_is_const(v[i]) && v[i]->rank == *rank && (!best || onnx_count(v[i]) > onnx_count(best)))
            best = v[i];
    if (best)
        memcpy(perm, best->perm, *rank);
}

enum status onnx_broadcast(struct onnx_cx *cx, struct onnx_value *v, uint32_t rank, const uint8_t *perm, uint32_t *ret)
{
    uint32_t dims[MAX_RANK], t, pad = rank - v->rank;
    if (perm_is_identity(perm, rank))
        return onnx_tensor(cx, v, NULL, ret);
    if (pad == 0)
        return onnx_tensor(cx, v, perm, ret);
    TRY(onnx_tensor(cx, v, NULL, &t));
    if (v->rank == 0 || onnx_count(v) == 1) { /* one element fits any order */
        *ret = t;
        return ST_OK;
    }
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i < pad ? 1 : v->dims[i - pad];
    TRY(build_reshape(B, onnx_name(cx, "rank"), t, rank, dims, &t));
    return build_transpose(B, onnx_name(cx, "transpose"), t, perm, ret);
}

enum status onnx_cast(struct onnx_cx *cx, const char *suffix, uint32_t x, enum dtype to, uint32_t *ret)
{
    return build_cast(B, onnx_name(cx, suffix), x, to, ret);
}

/* ---- outputs ------------------------------------------------------------------------------------------------------ */

enum status onnx_emit(struct onnx_cx *cx, struct build_spec spec, uint32_t *ret)
{
    struct tensor_desc d;
    if (cx->fixed && spec.n_out <= 1) {
        d = spec.out ? *spec.out : (struct tensor_desc){0};
        d.type = cx->fixed_out.type;
        d.q = cx->fixed_out.q;
        spec.out = &d;
    }
    return build_node(B, &spec, ret);
}

static enum status bind_tensor(struct onnx_cx *cx, const char *name, uint32_t t, const uint8_t *perm,
                               struct onnx_value **ret)
{
    const struct tensor_desc *d = build_desc(B, t);
    struct onnx_value *v = onnx_value_new(cx, name);
    RETURN_IF(!v, ST_NO_MEMORY, "no memory for value \"%s\"", name);
    v->tensor = t;
    v->rank = d->rank;
    v->type = cx->b.float16 && d->type == DT_F16 ? DT_F32 : d->type;
    v->stored = d->type;
    if (perm)
        memcpy(v->perm, perm, d->rank);
    for (uint32_t i = 0; i < d->rank; i++)
        v->dims[v->perm[i]] = d->dims[i];
    if (t >= cx->first_tensor && !v->output)
        build_rename(B, t, name);
    *ret = v;
    return ST_OK;
}

enum status onnx_out(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t t, const uint8_t *perm)
{
    struct onnx_value *v;
    if (!onnx_wants(n, i))
        return ST_OK;
    TRY(bind_tensor(cx, n->out[i], t, perm, &v));
    if (cx->fixed && dtype_is_fixed(v->stored)) {
        v->view = true;
        v->type = DT_F32;
    }
    return ST_OK;
}

enum status onnx_out_last(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t t)
{
    uint8_t perm[MAX_RANK];
    perm_channel_last(perm, build_desc(B, t)->rank);
    return onnx_out(cx, n, i, t, perm);
}

enum status onnx_out_like(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t t, const uint8_t *perm,
                          const struct onnx_value *like)
{
    struct onnx_value *v;
    if (!onnx_wants(n, i))
        return ST_OK;
    TRY(bind_tensor(cx, n->out[i], t, perm, &v));
    v->type = like->type;
    v->view = like->view;
    return ST_OK;
}

enum status onnx_out_const(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, enum dtype type, uint32_t rank,
                           const uint32_t *dims, const void *data)
{
    if (!onnx_wants(n, i))
        return ST_OK;
    REFUSE_WHEN(rank > MAX_RANK, "the output has rank %u; at most %d is supported", rank, MAX_RANK);
    struct onnx_value *v = onnx_value_new(cx, n->out[i]);
    RETURN_IF(!v, ST_NO_MEMORY, "no memory for value \"%s\"", n->out[i]);
    v->type = v->stored = type;
    v->rank = (uint8_t)rank;
    memcpy(v->dims, dims, rank * sizeof(*dims));
    v->data = data;
    return ST_OK;
}

enum status onnx_out_view(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, const struct onnx_value *from,
                          const uint8_t *perm)
{
    if (!onnx_wants(n, i))
        return ST_OK;
    struct onnx_value *v = onnx_value_new(cx, n->out[i]), c = *from;
    RETURN_IF(!v, ST_NO_MEMORY, "no memory for value \"%s\"", n->out[i]);
    c.name = v->name;
    c.output = v->output;
    if (perm) {
        uint8_t inverse[MAX_RANK];
        c.data = NULL; /* bytes are in the source's order, the tensor now is not */
        perm_invert(perm, c.rank, inverse);
        for (uint32_t k = 0; k < c.rank; k++) {
            c.dims[k] = from->dims[perm[k]];
            c.perm[k] = inverse[from->perm[k]];
        }
    }
    *v = c;
    return ST_OK;
}

void onnx_out_type(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, enum dtype type)
{
    struct onnx_value *v = onnx_wants(n, i) ? onnx_find(cx, n->out[i]) : NULL;
    if (v)
        v->type = type;
}
