/* SPDX-License-Identifier: Apache-2.0 */
/* Names, constants and tensors of an ONNX conversion: how a value of the source becomes a tensor in the order an operator wants, and back. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

/* ---- names -------------------------------------------------------------------------------------------------------- */

static uint64_t key_hash(const char *prefix, const char *name)
{
    return str_hash(prefix) * 31 + str_hash(name);
}

/* Keys are prefix and name behind each other; prefixes end in '/' and are never part of a name in another scope. */
static bool key_equal(const char *key, const char *prefix, const char *name)
{
    size_t n = strlen(prefix);
    return !strncmp(key, prefix, n) && key[n] == '\n' && !strcmp(key + n + 1, name);
}

static struct onnx_entry *slot(struct onnx_cx *cx, uint64_t hash, const char *prefix, const char *name)
{
    size_t i = hash & (cx->names.cap - 1);
    while (cx->names.slots[i].key && !key_equal(cx->names.slots[i].key, prefix, name))
        i = (i + 1) & (cx->names.cap - 1);
    return &cx->names.slots[i];
}

static bool grow(struct onnx_cx *cx)
{
    struct onnx_entry *old = cx->names.slots;
    size_t cap = cx->names.cap, bigger = cap ? cap * 2 : 256;
    if (cx->names.n * 2 < cap)
        return true;
    struct onnx_entry *slots = mem_array(struct onnx_entry, bigger);
    if (!slots)
        return false;
    for (size_t i = 0; i < cap; i++) {
        size_t k = old[i].hash & (bigger - 1);
        while (old[i].key && slots[k].key)
            k = (k + 1) & (bigger - 1);
        if (old[i].key)
            slots[k] = old[i];
    }
    mem_free(old);
    cx->names.slots = slots;
    cx->names.cap = bigger;
    return true;
}

struct onnx_entry *onnx_entry(struct onnx_cx *cx, const char *prefix, const char *name, bool create)
{
    if (!grow(cx))
        return NULL;
    struct onnx_entry *e = slot(cx, key_hash(prefix, name), prefix, name);
    if (e->key)
        return e;
    if (!create)
        return NULL;
    e->key = arena_printf(&cx->arena, "%s\n%s", prefix, name);
    if (!e->key)
        return NULL;
    e->hash = key_hash(prefix, name);
    cx->names.n++;
    return e;
}

struct onnx_value *onnx_find(struct onnx_cx *cx, const char *name)
{
    for (const struct onnx_scope *s = cx->scope; s; s = s->parent) {
        struct onnx_entry *e = onnx_entry(cx, s->prefix, name, false);
        if (e && e->value && e->value->name)
            return e->value;
    }
    return NULL;
}

enum status onnx_bind(struct onnx_cx *cx, const char *name, struct onnx_value *v)
{
    struct onnx_entry *e = onnx_entry(cx, cx->scope->prefix, name, true);
    RETURN_IF(!e, ST_NO_MEMORY, "no memory for the names of the model");
    RETURN_IF(e->value && e->value->name && e->value->type != DT_NONE, ST_BAD_TEXT, "the ONNX file is malformed: \"%s\" is made twice", name);
    if (e->value && e->value->output)
        v->output = true;
    e->value = v;
    return ST_OK;
}

struct onnx_value *onnx_value_new(struct onnx_cx *cx, const char *name)
{
    struct onnx_value *v = arena_new(&cx->arena, struct onnx_value);
    if (!v)
        return NULL;
    v->name = name;
    v->tensor = v->real = IR_NONE;
    perm_identity(v->perm, MAX_RANK);
    return onnx_bind(cx, name, v) == ST_OK ? v : NULL;
}

/* ---- small questions ---------------------------------------------------------------------------------------------- */

const char onnx_nothing[16];

bool onnx_is_const(const struct onnx_value *v)
{
    return v->data != NULL;
}

uint64_t onnx_count(const struct onnx_value *v)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dims[i];
    return n;
}

enum dtype onnx_inner_type(enum dtype t)
{
    return t == DT_F64 || t == DT_BF16 ? DT_F32 : t;
}

const char *onnx_name(struct onnx_cx *cx, const char *suffix)
{
    const char *s = arena_printf(&cx->arena, "%s_%s", cx->label, suffix);
    return s ? s : "";
}

bool onnx_has(const struct onnx_node *n, uint32_t i)
{
    return i < n->n_in && n->in[i][0];
}

bool onnx_wants(const struct onnx_node *n, uint32_t i)
{
    return i < n->n_out && n->out[i][0];
}

const struct onnx_attr *onnx_attr(struct onnx_cx *cx, const struct onnx_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const struct onnx_attr *a = &n->attrs[i];
        if (strcmp(a->name, name) != 0)
            continue;
        if (!a->ref)
            return a;
        const struct onnx_scope *s = cx->scope;
        cx->scope = s->parent ? s->parent : s; /* the call's own attributes may refer further out */
        const struct onnx_attr *outer = s->call ? onnx_attr(cx, s->call, a->ref) : NULL;
        cx->scope = s;
        return outer;
    }
    return NULL;
}

int64_t onnx_attr_int(struct onnx_cx *cx, const struct onnx_node *n, const char *name, int64_t dflt)
{
    const struct onnx_attr *a = onnx_attr(cx, n, name);
    return a ? a->i : dflt;
}

float onnx_attr_float(struct onnx_cx *cx, const struct onnx_node *n, const char *name, float dflt)
{
    const struct onnx_attr *a = onnx_attr(cx, n, name);
    return a ? a->f : dflt;
}

const char *onnx_attr_text(struct onnx_cx *cx, const struct onnx_node *n, const char *name, const char *dflt)
{
    const struct onnx_attr *a = onnx_attr(cx, n, name);
    return a ? a->s : dflt;
}

enum status onnx_axis(const struct onnx_cx *cx, int64_t axis, uint32_t rank, uint32_t *ret)
{
    (void)cx;
    int64_t at = axis < 0 ? axis + rank : axis;
    RETURN_IF(at < 0 || at >= rank, ST_INVALID_OP, "axis %lld of a tensor of rank %u; %d … %d are possible", (long long)axis, rank, -(int)rank,
              (int)rank - 1);
    *ret = (uint32_t)at;
    return ST_OK;
}

uint32_t onnx_at(const uint8_t *perm, uint32_t rank, uint32_t axis)
{
    for (uint32_t i = 0; i < rank; i++)
        if (perm[i] == axis)
            return i;
    return axis;
}

void onnx_drop_dims(const uint8_t *perm, uint32_t rank, uint32_t mask, uint8_t *ret)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (!(mask >> perm[i] & 1))
            ret[k++] = (uint8_t)(perm[i] - __builtin_popcount(mask & ((1u << perm[i]) - 1)));
}

/* ---- inputs ------------------------------------------------------------------------------------------------------- */

enum status onnx_in_opt(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, struct onnx_value **ret)
{
    *ret = NULL;
    if (!onnx_has(n, i))
        return ST_OK;
    struct onnx_value *v = onnx_find(cx, n->in[i]);
    RETURN_IF(!v, ST_BAD_TEXT, "input %u is \"%s\", which no node before makes and the model does not have", i, n->in[i]);
    if (v->type == DT_NONE) {
        cx->poisoned = true;
        REFUSE("input %u comes from a node that is not supported", i);
    }
    *ret = v;
    return ST_OK;
}

enum status onnx_in(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, struct onnx_value **ret)
{
    TRY(onnx_in_opt(cx, n, i, ret));
    RETURN_IF(!*ret, ST_BAD_TEXT, "input %u is missing; it is not optional", i);
    return ST_OK;
}

enum status onnx_numbers(struct onnx_cx *cx, const struct onnx_value *v, const char *what, double **ret, uint32_t *ret_n)
{
    REFUSE_WHEN(!onnx_is_const(v) || v->view, "\"%s\" is computed at run time; it must be a constant of the model", what);
    uint64_t n = onnx_count(v);
    REFUSE_WHEN(n > 1u << 24, "\"%s\" has %llu elements; at most %u are supported", what, (unsigned long long)n, 1u << 24);
    *ret = arena_array(&cx->arena, double, n);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for \"%s\"", what);
    for (uint64_t i = 0; i < n; i++)
        (*ret)[i] = number_get(v->stored, v->data, i);
    *ret_n = (uint32_t)n;
    return ST_OK;
}

enum status onnx_ints(struct onnx_cx *cx, const struct onnx_value *v, const char *what, int64_t **ret, uint32_t *ret_n)
{
    REFUSE_WHEN(!onnx_is_const(v) || v->view, "\"%s\" is computed at run time; it must be a constant of the model", what);
    uint64_t n = onnx_count(v);
    REFUSE_WHEN(n > 1u << 24, "\"%s\" has %llu elements; at most %u are supported", what, (unsigned long long)n, 1u << 24);
    *ret = arena_array(&cx->arena, int64_t, n);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for \"%s\"", what);
    for (uint64_t i = 0; i < n; i++)
        (*ret)[i] = number_get_int(v->stored, v->data, i);
    *ret_n = (uint32_t)n;
    return ST_OK;
}

/* ---- values as tensors -------------------------------------------------------------------------------------------- */

static enum status const_to_f32(struct onnx_cx *cx, const struct onnx_value *v, const void **ret)
{
    uint64_t n = onnx_count(v);
    float *f = arena_array(&cx->b.g->arena, float, n);
    RETURN_IF(!f, ST_NO_MEMORY, "no memory for constant \"%s\"", v->name);
    for (uint64_t i = 0; i < n; i++) {
        double x = number_get(v->stored, v->data, i);
        f[i] = (float)x;
        REFUSE_WHEN(isfinite(x) && !isfinite(f[i]), "constant \"%s\" has the value %g, which float32 cannot hold", v->name, x);
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
    /* Rules look into small constants, and the file does not align them. Large ones are left where they are until it is known which of them stay. */
    bool borrow = onnx_aligned(&d, data) || desc_bytes(&d) > SMALL_BYTES;
    TRY(build_const(B, v->name, &d, data, borrow, &v->tensor));
    perm_identity(v->perm, MAX_RANK);
    return ST_OK;
}

static enum status place(struct onnx_cx *cx, struct onnx_value *v, uint32_t *ret)
{
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
        TRY(onnx_is_const(v) ? dequantize_const(cx, v)
                             : build_node(B, &(struct build_spec){.op = "Dequantize", .name = onnx_name(cx, "dequantize"), BUILD_IN(*t), .out = &d},
                                          &v->real));
    }
    *source_order = onnx_is_const(v);
    *t = v->real;
    return ST_OK;
}

static enum status order(struct onnx_cx *cx, const struct onnx_value *v, bool source_order, const uint8_t *perm, uint32_t t, uint32_t *ret)
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

static enum status bind_tensor(struct onnx_cx *cx, const char *name, uint32_t t, const uint8_t *perm, struct onnx_value **ret)
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

enum status onnx_out_like(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t t, const uint8_t *perm, const struct onnx_value *like)
{
    struct onnx_value *v;
    if (!onnx_wants(n, i))
        return ST_OK;
    TRY(bind_tensor(cx, n->out[i], t, perm, &v));
    v->type = like->type;
    v->view = like->view;
    return ST_OK;
}

enum status onnx_out_const(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, enum dtype type, uint32_t rank, const uint32_t *dims,
                           const void *data)
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

enum status onnx_out_view(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, const struct onnx_value *from, const uint8_t *perm)
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
