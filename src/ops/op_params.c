/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter values: from a client's list into the row's order, checked against the row, read with the row's defaults. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ops/op_rules.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double fraction = h & 1023;
    double v = exponent == 0    ? ldexp(fraction, -24)
               : exponent == 31 ? (h & 1023 ? NAN : INFINITY)
                                : ldexp(1024 + fraction, exponent - 25);
    return h >> 15 ? -v : v;
}

/* Element `at` of memory that may be unaligned, since clients own it. */
#define LOAD(T, p, at)                                           \
    ({                                                           \
        T load_value_;                                           \
        memcpy(&load_value_, (const T *)(p) + (at), sizeof(T));  \
        load_value_;                                             \
    })

static double float_at(const struct op_value *v, uint32_t at)
{
    switch (v->type) {
    case DT_F32:
        return (double)LOAD(float, v->data, at);
    case DT_F64:
        return LOAD(double, v->data, at);
    case DT_F16:
        return half_value(LOAD(uint16_t, v->data, at));
    case DT_BF16: {
        uint32_t bits = (uint32_t)LOAD(uint16_t, v->data, at) << 16;
        /* cppcheck-suppress invalidPointerCast ; LOAD copies the bytes */
        return (double)LOAD(float, &bits, 0);
    }
    default:
        return 0;
    }
}

static int64_t int_at(const struct op_value *v, uint32_t at)
{
    bool is_signed = dtype_is_signed(v->type);
    switch (dtype_bits(v->type)) {
    case 2:
    case 4:
        return packed_get(v->data, dtype_bits(v->type), is_signed, at);
    case 8:
        return is_signed ? LOAD(int8_t, v->data, at) : LOAD(uint8_t, v->data, at);
    case 16:
        return is_signed ? LOAD(int16_t, v->data, at) : LOAD(uint16_t, v->data, at);
    case 32:
        return is_signed ? LOAD(int32_t, v->data, at) : (int64_t)LOAD(uint32_t, v->data, at);
    case 64:
        return LOAD(int64_t, v->data, at);
    default:
        return 0;
    }
}

static const struct op_param *find(const struct op_call *c, const char *name, const struct op_value **ret)
{
    int i = op_param_index(c->op, name);
    assert(i >= 0);
    *ret = c->params && c->params[i].data ? &c->params[i] : NULL;
    return &c->op->params[i];
}

static uint32_t rank_of_input(const struct op_call *c)
{
    return c->n_in > 0 && c->in[0] ? c->in[0]->rank : 0;
}

static double default_value(const struct op_call *c, const struct op_param *p)
{
    uint32_t rank = rank_of_input(c);
    switch (p->dflt) {
    case DEFAULT_VALUE:
        return p->value;
    case DEFAULT_LAST:
        return rank > 0 ? rank - 1 : 0;
    case DEFAULT_RANK:
        return rank;
    default:
        return 0;
    }
}

/* Elements that the row asks for, 0 when the row leaves it open. */
static uint32_t row_count(const struct op_call *c, const struct op_param *p)
{
    uint32_t n = 1;
    for (unsigned i = 0; i < p->rank; i++)
        n *= p->dims[i] == DIM_ANY ? 0 : p->dims[i] == DIM_RANK ? rank_of_input(c) : (uint32_t)p->dims[i];
    return n;
}

bool op_has(const struct op_call *c, const char *name)
{
    const struct op_value *v;
    find(c, name, &v);
    return v != NULL;
}

uint32_t op_count(const struct op_call *c, const char *name)
{
    const struct op_value *v;
    const struct op_param *p = find(c, name, &v);
    if (v)
        return v->count;
    if (p->dflt == DEFAULT_NONE)
        return 0;
    return p->dflt == DEFAULT_LAST || p->dflt == DEFAULT_RANK ? 1 : row_count(c, p);
}

int64_t op_int(const struct op_call *c, const char *name, uint32_t at)
{
    const struct op_value *v;
    const struct op_param *p = find(c, name, &v);
    if (!v)
        return (int64_t)default_value(c, p);
    assert(at < v->count);
    return dtype_is_float(v->type) ? (int64_t)float_at(v, at) : int_at(v, at);
}

double op_real(const struct op_call *c, const char *name, uint32_t at)
{
    const struct op_value *v;
    const struct op_param *p = find(c, name, &v);
    if (!v)
        return default_value(c, p);
    assert(at < v->count);
    return dtype_is_float(v->type) ? float_at(v, at) : (double)int_at(v, at);
}

uint32_t op_axis(const struct op_call *c, const char *name, uint32_t at, uint32_t rank)
{
    int64_t a = op_int(c, name, at);
    return (uint32_t)(a < 0 ? a + rank : a);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

static bool type_fits(const struct op_param *p, enum dtype given)
{
    enum dtype_kind k = dtype_kind(given);
    switch (dtype_kind(p->type)) {
    case DK_INT:
    case DK_UINT:
    case DK_BOOL:
        return k == DK_INT || k == DK_UINT || k == DK_BOOL;
    case DK_FLOAT:
        return k == DK_FLOAT;
    case DK_STRING:
        return k == DK_STRING;
    default:
        return k != DK_STRING && k != DK_NONE;
    }
}

static const char *type_wanted(const struct op_param *p)
{
    switch (dtype_kind(p->type)) {
    case DK_INT:
    case DK_UINT:
        return "an integer type";
    case DK_BOOL:
        return "a bool";
    case DK_FLOAT:
        return "a float type";
    case DK_STRING:
        return "a graph";
    default:
        return "a number";
    }
}

static enum status check_count(const struct op_call *c, const struct op_param *p, const struct op_value *v)
{
    const char *open = p->layout ? " (" : "", *close = p->layout ? ")" : "", *layout = p->layout ? p->layout : "";
    uint32_t want = row_count(c, p);
    REFUSE_IF(v->count == 0, c, "parameter \"%s\" is empty; at least one element is expected", p->name);
    if (want > 0)
        REFUSE_IF(v->count != want, c, "parameter \"%s\" has %u element%s; %u %s expected%s%s%s", p->name, v->count,
                  v->count == 1 ? "" : "s", want, want == 1 ? "is" : "are", open, layout, close);
    /* The count decides: a client may send [4] for [2, 2]. Only where the row leaves the count open must the shape match. */
    if (want > 0 || p->rank < 2)
        return ST_OK;
    REFUSE_IF(v->rank != p->rank, c, "parameter \"%s\" has rank %u; %u is expected%s%s%s", p->name, v->rank, p->rank, open,
              layout, close);
    for (unsigned i = 0; i < p->rank; i++) {
        uint32_t d = p->dims[i] == DIM_RANK ? rank_of_input(c) : (uint32_t)p->dims[i];
        REFUSE_IF(p->dims[i] != DIM_ANY && v->dims[i] != d, c, "parameter \"%s\": dimension %u is %u; %u is expected%s%s%s",
                  p->name, i, v->dims[i], d, open, layout, close);
    }
    return ST_OK;
}

static enum status check_int(const struct op_call *c, const struct op_param *p, int64_t value, uint32_t at)
{
    int64_t lo = dtype_min(p->type), hi = dtype_max(p->type);
    if (p->limit)
        lo = 0, hi = (int64_t)p->limit - 1;
    REFUSE_IF(value < lo || value > hi, c, "parameter \"%s\"[%u] is %lld; %lld … %lld are allowed", p->name, at,
              (long long)value, (long long)lo, (long long)hi);
    return ST_OK;
}

static enum status check_values(const struct op_call *c, const struct op_param *p, const struct op_value *v)
{
    enum dtype_kind k = dtype_kind(p->type);
    for (uint32_t i = 0; i < v->count; i++) {
        if (k == DK_INT || k == DK_UINT || k == DK_BOOL) {
            TRY(check_int(c, p, int_at(v, i), i));
        } else if (k == DK_FLOAT) {
            REFUSE_IF(isnan(float_at(v, i)), c, "parameter \"%s\"[%u] is not a number; a number is expected", p->name, i);
        }
    }
    return ST_OK;
}

enum status rule_params(const struct op_call *c)
{
    uint32_t n = op_param_count(c->op);
    for (uint32_t i = 0; i < n; i++) {
        const struct op_param *p = &c->op->params[i];
        const struct op_value *v = c->params ? &c->params[i] : NULL;
        if (!v || !v->data) {
            REFUSE_IF(p->required, c, "parameter \"%s\" is missing; it has no default", p->name);
            continue;
        }
        REFUSE_IF(!type_fits(p, v->type), c, "parameter \"%s\" is of type %s; %s is expected%s%s%s", p->name,
                  dtype_name(v->type), type_wanted(p), p->type ? " (" : "", p->type ? dtype_name(p->type) : "",
                  p->type ? ")" : "");
        if (p->type == DT_STR)
            continue;
        TRY(check_count(c, p, v));
        TRY(check_values(c, p, v));
    }
    return ST_OK;
}

/* ---- binding ----------------------------------------------------------------------------------------------------- */

static enum status unknown_name(const struct op_call *c, const char *name)
{
    const char *known[sizeof(c->op->params) / sizeof(c->op->params[0])];
    char list[512] = "";
    uint32_t n = op_param_count(c->op);
    size_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        known[i] = c->op->params[i].name;
        int more = snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", known[i]);
        used = used + (size_t)more < sizeof(list) ? used + (size_t)more : sizeof(list) - 1;
    }
    REFUSE_IF(n == 0, c, "unknown parameter \"%s\"; this operator has no parameters", name);
    const char *near = str_nearest(name, known, n);
    if (near)
        return op_refuse(c, "unknown parameter \"%s\"; did you mean \"%s\"? (known: %s)", name, near, list);
    return op_refuse(c, "unknown parameter \"%s\"; known are: %s", name, list);
}

enum status op_params_bind(const struct op_def *op, const char *node, const char *const *names,
                           const struct op_value *values, uint32_t n, struct op_value *ret)
{
    struct op_call c = {.op = op, .node = node};
    memset(ret, 0, op_param_count(op) * sizeof(*ret));
    for (uint32_t i = 0; i < n; i++) {
        REFUSE_IF(!names[i], &c, "parameter %u has no name; one of the operator's parameters is expected", i);
        int at = op_param_index(op, names[i]);
        if (at < 0)
            return unknown_name(&c, names[i]);
        REFUSE_IF(ret[at].data, &c, "parameter \"%s\" is given twice; once is expected", names[i]);
        REFUSE_IF(!values[i].data, &c, "parameter \"%s\" has no data; its values are expected", names[i]);
        ret[at] = values[i];
    }
    return ST_OK;
}
