/* SPDX-License-Identifier: Apache-2.0 */
/* Names of an ONNX conversion, and what an operator of the source says of itself: attributes, inputs, constants
 * as numbers. */
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
    RETURN_IF(e->value && e->value->name && e->value->type != DT_NONE, ST_BAD_TEXT,
              "the ONNX file is malformed: \"%s\" is made twice", name);
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
    IMPOSSIBLE_WHEN(at < 0 || at >= rank, "axis %lld of a tensor of rank %u; %d … %d are possible", (long long)axis, rank,
                    -(int)rank, (int)rank - 1);
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
    const struct onnx_row *row = v->list ? onnx_row_find(n->op) : NULL;
    REFUSE_WHEN(v->list && !(row && row->flags & ONNX_LISTS), "input %u is a sequence of %u tensors; a tensor is expected",
                i, v->list->n);
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
