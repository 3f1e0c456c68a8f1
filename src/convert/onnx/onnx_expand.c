/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are other operators in a row: fused ones of com.microsoft, QLinear forms, losses. They are written out
 * before anything is converted, so that what is made of them is seen as if the exporter had written it: quantized pieces
 * become fixed point, patterns are found. Rows are in onnx_expand_rows.c. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/onnx/onnx.h"
#include "convert/onnx/onnx_expand.h"

#define MS "com.microsoft"
#define DQ "DequantizeLinear"

/* What conditions compare with when the attribute is not given. */
static const struct {
    const char *name, *value;
} defaults[] = { { "reduction", "mean" }, { "channels_last", "0" }, { "transB", "0" },
                 { "do_rotary", "0" },    { "scale", "1.0" },       { "rounding_mode", "ROUND" } };

struct expand {
    struct arena *a;
    const struct onnx_node *call;
    const char *name; /* what is in between is named after it */
    const char *p;    /* where we read */
    unsigned constants;
    unsigned serial; /* of the call: what is in between has names of its own */
    struct onnx_nodes_list {
        struct onnx_node *at;
        size_t n, cap;
    } *to;
    bool failed; /* no memory */
};

/* ---- the list ----------------------------------------------------------------------------------------------------- */

static struct onnx_node *push(struct expand *x, const struct onnx_node *n)
{
    struct onnx_nodes_list *l = x->to;
    if (l->n == l->cap) {
        size_t cap = l->cap * 2 + 16;
        struct onnx_node *more = arena_array(x->a, struct onnx_node, cap);
        if (!more) {
            x->failed = true;
            return NULL;
        }
        if (l->n)
            memcpy(more, l->at, l->n * sizeof(*more));
        l->at = more;
        l->cap = cap;
    }
    l->at[l->n] = *n;
    return &l->at[l->n++];
}

static const char *keep(struct expand *x, const char *s)
{
    x->failed |= !s;
    return s ? s : "";
}

/* ---- words -------------------------------------------------------------------------------------------------------- */

static void skip(struct expand *x)
{
    while (*x->p == ' ' || *x->p == ',')
        x->p++;
}

static const char *word(struct expand *x)
{
    const char *start = x->p;
    while (isalnum((unsigned char)*x->p) || *x->p == '_' || *x->p == '.' || *x->p == '-')
        x->p++;
    char *s = arena_printf(x->a, "%.*s", (int)(x->p - start), start);
    return keep(x, s);
}

static const struct onnx_attr *attr_of(const struct onnx_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].name, name))
            return &n->attrs[i];
    return NULL;
}

static bool given(const struct expand *x, const char *w)
{
    if (isdigit((unsigned char)w[0]))
        return onnx_has(x->call, (uint32_t)atoi(w));
    return attr_of(x->call, w) != NULL;
}

static bool equals(struct expand *x, const char *name, const char *value)
{
    const struct onnx_attr *a = attr_of(x->call, name);
    if (!a) {
        for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
            if (!strcmp(defaults[i].name, name))
                return !strcmp(defaults[i].value, value);
        return false;
    }
    if (a->s && a->s[0])
        return !strcmp(a->s, value);
    return strchr(value, '.') ? a->f == (float)atof(value) : a->i == atoi(value);
}

/* ?2, !name, ?name=value, ^…: all of them in front of a step. */
static bool conditions(struct expand *x, char kind)
{
    bool ok = true;
    for (skip(x); *x->p == kind || (kind == '?' && *x->p == '!'); skip(x)) {
        bool want = *x->p++ != '!';
        if (kind == '^' && *x->p == '!') {
            want = false;
            x->p++;
        }
        const char *w = word(x);
        if (*x->p == '=') {
            x->p++;
            ok &= equals(x, w, word(x));
        } else {
            ok &= given(x, w) == want;
        }
    }
    return ok;
}

/* ---- attributes --------------------------------------------------------------------------------------------------- */

static bool is_number(const char *w)
{
    return isdigit((unsigned char)w[w[0] == '-']);
}

/* $name or $name.2 of the call under another name; false: it is not given. */
static bool borrowed(struct expand *x, const char *w, struct onnx_attr *a)
{
    char name[64];
    const char *dot = strchr(w, '.');
    snprintf(name, sizeof(name), "%.*s", dot ? (int)(dot - w) : 63, w);
    const struct onnx_attr *from = attr_of(x->call, name);
    if (!from)
        return false;
    const char *as = a->name;
    *a = *from;
    a->name = as;
    if (!dot)
        return true;
    uint32_t i = (uint32_t)atoi(dot + 1);
    if (i >= from->n_floats)
        return false;
    a->f = from->floats[i];
    a->n_floats = 0;
    a->type = 1;
    return true;
}

/* How many items there are up to `end`, at most. */
static uint32_t items(const struct expand *x, char end)
{
    uint32_t n = 1;
    for (const char *p = x->p; *p && *p != end; p++)
        n += *p == ',';
    return n;
}

static void whole_numbers(struct expand *x, char end, struct onnx_attr *a)
{
    uint32_t most = items(x, end);
    a->type = 7;
    a->ints = arena_array(x->a, int64_t, most);
    x->failed |= !a->ints;
    for (skip(x); *x->p && *x->p != end && !x->failed && a->n_ints < most; skip(x))
        a->ints[a->n_ints++] = atoll(word(x));
    x->p++;
}

static bool value(struct expand *x, struct onnx_attr *a)
{
    if (*x->p == '$') {
        x->p++;
        return borrowed(x, word(x), a);
    }
    if (*x->p == '(') {
        x->p++;
        whole_numbers(x, ')', a);
        return true;
    }
    const char *w = word(x);
    a->s = "";
    a->type = !is_number(w) ? 3 : strchr(w, '.') ? 1 : 2;
    if (a->type == 3)
        a->s = w;
    a->f = (float)atof(w);
    a->i = a->type == 2 ? atoi(w) : 0;
    return true;
}

static void attributes(struct expand *x, struct onnx_node *n)
{
    enum { OWN = 8 };
    n->attrs = arena_array(x->a, struct onnx_attr, x->call->n_attrs + OWN);
    x->failed |= !n->attrs;
    if (x->failed || *x->p != '[')
        return;
    x->p++;
    for (skip(x); *x->p && *x->p != ']' && n->n_attrs < x->call->n_attrs + OWN; skip(x)) {
        if (*x->p == '*') {
            x->p++;
            memcpy(n->attrs, x->call->attrs, x->call->n_attrs * sizeof(*n->attrs));
            n->n_attrs = x->call->n_attrs;
            continue;
        }
        struct onnx_attr a = {.name = word(x), .s = ""};
        x->p++; /* = */
        if (value(x, &a))
            n->attrs[n->n_attrs++] = a;
    }
    x->p++;
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

static const char *local(struct expand *x, const char *name)
{
    return keep(x, arena_printf(x->a, "%s~%u~%s", x->name, x->serial, name));
}

/* A Constant and a CastLike that gives it the type of an input. */
static const char *constant(struct expand *x, struct onnx_attr a, uint32_t like)
{
    const char **out = arena_array(x->a, const char *, 4);
    x->failed |= !out;
    if (x->failed)
        return "";
    out[0] = keep(x, arena_printf(x->a, "%s~%u~#c%u", x->name, x->serial, x->constants));
    out[1] = keep(x, arena_printf(x->a, "%s~%u~#k%u", x->name, x->serial, x->constants++));
    out[2] = out[0];
    out[3] = like < x->call->n_in ? x->call->in[like] : "";
    struct onnx_attr *kept = arena_dup(x->a, &a, sizeof(a));
    x->failed |= !kept;
    if (!kept)
        return "";
    kept->name = a.n_floats ? "value_floats" : a.type == 2 || (!a.type && a.i) ? "value_int" : "value_float";
    push(x,
         &(struct onnx_node){
             .name = "", .op = "Constant", .domain = "", .in = out, .out = out, .n_out = 1, .attrs = kept, .n_attrs = 1 });
    push(x, &(struct onnx_node){
                .name = "", .op = "CastLike", .domain = "", .in = out + 2, .n_in = 2, .out = out + 1, .n_out = 1 });
    return out[1];
}

static const char *whole_constant(struct expand *x)
{
    const char **out = arena_array(x->a, const char *, 1);
    struct onnx_attr *a = arena_new(x->a, struct onnx_attr);
    x->failed |= !out || !a;
    if (x->failed)
        return "";
    *a = (struct onnx_attr){.name = "value_ints", .s = ""};
    x->p++;
    whole_numbers(x, '}', a);
    out[0] = keep(x, arena_printf(x->a, "%s~%u~#i%u", x->name, x->serial, x->constants++));
    push(x, &(struct onnx_node){
                .name = "", .op = "Constant", .domain = "", .in = out, .out = out, .n_out = 1, .attrs = a, .n_attrs = 1 });
    return out[0];
}

static const char *argument(struct expand *x)
{
    struct onnx_attr a = {.name = "", .s = ""};
    if (*x->p == '{')
        return whole_constant(x);
    if (*x->p == '#' || *x->p == '@') {
        bool in = *x->p++ == '#';
        uint32_t i = (uint32_t)atoi(word(x));
        return in ? (i < x->call->n_in ? x->call->in[i] : "") : i < x->call->n_out ? x->call->out[i] : "";
    }
    if (*x->p == '$') {
        uint32_t like = 0;
        a.type = 1;
        value(x, &a);
        if (*x->p == '!') { /* of the second input's type */
            x->p++;
            like = 1;
        }
        return constant(x, a, like);
    }
    if (!isdigit((unsigned char)*x->p))
        return local(x, word(x));
    const char *w = word(x);
    bool whole = w[strlen(w) - 1] == 'i';
    a.type = whole ? 2 : 1;
    a.i = atoi(w);
    a.f = (float)atof(w);
    return constant(x, a, whole);
}

static uint32_t list(struct expand *x, char end, const char **ret, uint32_t max)
{
    uint32_t n = 0;
    for (skip(x); *x->p && *x->p != end && n < max; skip(x))
        ret[n++] = argument(x);
    return n;
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static void step(struct expand *x)
{
    enum { OUT = 4 };
    bool wanted = conditions(x, '?');
    if (!wanted) {
        x->p += strcspn(x->p, ";");
        return;
    }
    uint32_t most = items(x, ';') + 1;
    const char **names = arena_array(x->a, const char *, most + OUT);
    struct onnx_node n = {.name = x->call->name, .domain = "", .at = x->call->at, .in = names, .out = names + most};
    x->failed |= !names;
    if (x->failed)
        return;
    n.n_out = list(x, '=', n.out, OUT);
    x->p++;
    skip(x);
    n.op = word(x);
    attributes(x, &n);
    x->p++; /* ( */
    n.n_in = list(x, ')', n.in, most);
    x->p++;
    while (n.n_in && !n.in[n.n_in - 1][0])
        n.n_in--;
    if (!x->failed)
        push(x, &n);
}

static void steps(struct expand *x)
{
    while (*x->p && !x->failed) {
        step(x);
        x->p += *x->p == ';';
        skip(x);
    }
}

static const struct expand_row *find(struct expand *x)
{
    const struct expand_row *rows = onnx_expand_rows;
    for (size_t i = 0; rows[i].op; i++) {
        bool domain =
            !strcmp(rows[i].domain, x->call->domain) || (!rows[i].domain[0] && !strcmp(x->call->domain, "ai.onnx"));
        x->p = rows[i].text;
        if (domain && !strcmp(rows[i].op, x->call->op) && x->call->n_out && conditions(x, '^'))
            return &rows[i];
    }
    return NULL;
}

/* (scale, zero point), then (value, scale, zero point) of each input */
static bool is_joined(const struct onnx_node *n)
{
    return !strcmp(n->op, "QLinearConcat") && !strcmp(n->domain, MS) && n->n_in >= 5 && (n->n_in - 2) % 3 == 0 &&
           n->n_out == 1;
}

static void join(struct expand *x)
{
    const struct onnx_node *n = x->call;
    uint32_t parts = (n->n_in - 2) / 3;
    const char **names = arena_array(x->a, const char *, parts + 4);
    x->failed |= !names;
    for (uint32_t i = 0; i < parts && !x->failed; i++) {
        names[i] = keep(x, arena_printf(x->a, "%s~%u~%u", n->out[0], x->serial, i));
        push(
            x,
            &(struct onnx_node){
                .name = n->name, .op = DQ, .domain = "", .in = n->in + 2 + 3 * i, .n_in = 3, .out = names + i, .n_out = 1 });
    }
    if (x->failed)
        return;
    names[parts] = local(x, "y");
    names[parts + 1] = names[parts];
    names[parts + 2] = n->in[0];
    names[parts + 3] = n->in[1];
    push(x, &(struct onnx_node){ .name = n->name,
                                 .op = "Concat",
                                 .domain = "",
                                 .in = names,
                                 .n_in = parts,
                                 .out = names + parts,
                                 .n_out = 1,
                                 .attrs = n->attrs,
                                 .n_attrs = n->n_attrs });
    push(x, &(struct onnx_node){ .name = n->name,
                                 .op = "QuantizeLinear",
                                 .domain = "",
                                 .in = names + parts + 1,
                                 .n_in = 3,
                                 .out = n->out,
                                 .n_out = 1 });
}

static bool one_round(struct arena *a, const struct onnx_node *nodes, size_t n, struct onnx_nodes_list *to, unsigned *serial,
                      bool *changed)
{
    struct expand x = {.a = a, .to = to};
    for (size_t i = 0; i < n && !x.failed; i++) {
        x.call = &nodes[i];
        x.name = x.call->n_out ? x.call->out[0] : "";
        x.serial = ++*serial;
        const struct expand_row *r = find(&x);
        *changed |= r || is_joined(x.call);
        if (!r) {
            is_joined(x.call) ? join(&x) : (void)push(&x, x.call);
            continue;
        }
        steps(&x);
    }
    return !x.failed;
}

enum status onnx_expand(struct onnx_cx *cx, struct onnx_node **nodes, size_t *n)
{
    enum { ROUNDS = 3 }; /* a loss of a softmax, an activation of a fused convolution */
    bool changed = true;
    unsigned serial = 0;
    for (unsigned i = 0; i < ROUNDS && changed; i++) {
        struct onnx_nodes_list to = {0};
        changed = false;
        RETURN_IF(!one_round(&cx->arena, *nodes, *n, &to, &serial, &changed), ST_NO_MEMORY,
                  "no memory to write out the nodes of the model");
        if (changed) {
            *nodes = to.at;
            *n = to.n;
        }
    }
    return ST_OK;
}

/* Nodes of the model's own level are left out unless something needs them. */
static enum status need_all(struct onnx_cx *cx, const struct onnx_node *nodes, size_t n)
{
    for (size_t i = 0; i < n && !cx->scope->parent; i++)
        for (uint32_t k = 0; k < nodes[i].n_out; k++) {
            struct onnx_entry *e = nodes[i].out[k][0] ? onnx_entry(cx, "", nodes[i].out[k], true) : NULL;
            RETURN_IF(!e && nodes[i].out[k][0], ST_NO_MEMORY, "no memory for the names of the model");
            if (e)
                e->needed = true;
        }
    return ST_OK;
}

enum status onnx_write_out(struct onnx_cx *cx, const struct onnx_node *n, const char *text)
{
    struct onnx_nodes_list to = {0};
    struct expand x = {.a = &cx->arena, .call = n, .name = cx->label, .p = text, .to = &to};
    steps(&x);
    RETURN_IF(x.failed, ST_NO_MEMORY, "no memory to write out the nodes of an operator");
    TRY(onnx_expand(cx, &to.at, &to.n));
    TRY(need_all(cx, to.at, to.n));
    return onnx_nodes(cx, to.at, to.n);
}
