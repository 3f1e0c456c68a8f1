/* SPDX-License-Identifier: Apache-2.0 */
/* Building a graph: everything added is copied into the graph's arena, so callers may free their side at once. */
#include "ir/ir.h"

#include <string.h>

#include "base/mem.h"

enum status ir_graph_create(const char *name, struct ir_graph **ret)
{
    struct ir_graph *g = mem_new(struct ir_graph);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory for graph \"%s\"", name);
    arena_init(&g->arena);
    g->name = arena_strdup(&g->arena, name);
    if (!g->name) {
        ir_graph_free(g);
        return status_fail(ST_NO_MEMORY, "no memory for the name of a graph");
    }
    *ret = g;
    return ST_OK;
}

void ir_graph_free(struct ir_graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->children.n; i++)
        ir_graph_free(g->children.at[i]);
    for (size_t i = 0; i < g->spent.n; i++)
        ir_graph_free(g->spent.at[i]);
    vec_finish(&g->children);
    vec_finish(&g->spent);
    vec_finish(&g->tensors);
    vec_finish(&g->nodes);
    mem_free(g->names.slots);
    arena_finish(&g->arena);
    mem_free(g);
}

/* Copy `size` bytes at *p into the arena and point *p at the copy; NULL stays NULL. */
static bool own(struct arena *a, const void **p, uint64_t size)
{
    if (!*p)
        return true;
    *p = arena_dup(a, *p, size);
    return *p != NULL;
}

static uint64_t block_scale_bytes(const struct quant *q)
{
    return (uint64_t)q->n * q->blocks_per_axis * (q->block_scale_storage == 16 ? 2 : 1);
}

static bool own_quant(struct arena *a, struct quant *q)
{
    return own(a, (const void **)&q->scales, q->n * sizeof(float)) &&
           own(a, (const void **)&q->offsets, q->n * sizeof(int32_t)) &&
           own(a, (const void **)&q->float_offsets, q->n * sizeof(float)) &&
           own(a, &q->block_scales, block_scale_bytes(q));
}

enum status ir_keep_quant(struct ir_graph *g, struct quant *q)
{
    struct quant copy = *q;
    RETURN_IF(!own_quant(&g->arena, &copy), ST_NO_MEMORY, "no memory for an encoding of graph \"%s\"", g->name);
    *q = copy;
    return ST_OK;
}

static uint64_t data_bytes(const struct ir_tensor *t)
{
    return t->raw_bytes ? t->raw_bytes : desc_bytes(&t->desc);
}

static enum status add_tensor(struct ir_graph *g, const struct ir_tensor *t, bool borrow, uint32_t *ret)
{
    RETURN_IF(g->tensors.n >= IR_NONE, ST_NO_MEMORY, "graph \"%s\" has too many tensors", g->name);
    struct ir_tensor c = *t;
    bool ok = own_quant(&g->arena, &c.desc.q);
    c.name = t->name ? arena_strdup(&g->arena, t->name) : arena_printf(&g->arena, "t%zu", g->tensors.n);
    if (!borrow)
        ok = ok && own(&g->arena, &c.data, data_bytes(t));
    struct ir_tensor *slot = ok && c.name ? vec_push(&g->tensors) : NULL;
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for tensor \"%s\" of graph \"%s\"", t->name ? t->name : "", g->name);
    *slot = c;
    *ret = (uint32_t)(g->tensors.n - 1);
    return ST_OK;
}

enum status ir_add_tensor(struct ir_graph *g, const struct ir_tensor *t, uint32_t *ret)
{
    return add_tensor(g, t, false, ret);
}

enum status ir_add_const(struct ir_graph *g, const struct ir_tensor *t, bool borrow, uint32_t *ret)
{
    struct ir_tensor c = *t;
    c.role = IR_CONST;
    return add_tensor(g, &c, borrow, ret);
}

static bool own_params(struct arena *a, struct ir_node *n, const struct op_value *from)
{
    uint32_t count = op_param_count(n->op);
    n->params = arena_array(a, struct op_value, count);
    if (!n->params)
        return false;
    for (uint32_t i = 0; from && i < count; i++) {
        n->params[i] = from[i];
        if (!own(a, &n->params[i].data, dtype_bytes(from[i].type, from[i].count)))
            return false;
    }
    return true;
}

/* Whether line `x` of n characters is one of the lines of `list`. */
static bool has_line(const char *list, const char *x, size_t n)
{
    for (const char *p = list; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (strcspn(p, "\n") == n && !memcmp(p, x, n))
            return true;
    return false;
}

const char *ir_join_sources(struct arena *a, const char *x, const char *y)
{
    if (!x || !y)
        return x ? x : y;
    const char *all = x;
    for (const char *p = y; all && *p; p += *p == '\n') {
        size_t n = strcspn(p, "\n");
        if (!has_line(all, p, n))
            all = arena_printf(a, "%s\n%.*s", all, (int)n, p);
        p += n;
    }
    return all;
}

enum status ir_add_node(struct ir_graph *g, const struct ir_node *n, uint32_t *ret)
{
    struct arena *a = &g->arena;
    struct ir_node c = *n;
    if (c.post.lo == 0 && c.post.hi == 0) /* a zeroed struct means no clamp; [0, 0] itself would be a constant */
        c.post = OP_POST_NONE;
    c.name = n->name ? arena_strdup(a, n->name) : arena_printf(a, "n%zu", g->nodes.n);
    c.source = arena_strdup(a, n->source);
    c.in = arena_dup(a, n->in, n->n_in * sizeof(uint32_t));
    c.out = arena_dup(a, n->out, n->n_out * sizeof(uint32_t));
    c.aux = arena_dup(a, n->aux, n->n_aux * sizeof(uint32_t));
    c.guards = arena_dup(a, n->guards, n->n_guards * sizeof(struct ir_guard));
    bool ok = c.name && (c.source || !n->source) && c.in && c.out && c.aux && c.guards && own_params(a, &c, n->params);
    struct ir_node *slot = ok ? vec_push(&g->nodes) : NULL;
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for node \"%s\" of graph \"%s\"", n->name ? n->name : "", g->name);
    *slot = c;
    *ret = (uint32_t)(g->nodes.n - 1);
    return ST_OK;
}

enum status ir_clone(const struct ir_graph *g, struct ir_graph **ret)
{
    struct ir_graph *c;
    uint32_t at;
    TRY(ir_graph_create(g->name, &c));
    enum status st = ST_OK;
    for (size_t i = 0; i < g->tensors.n && st == ST_OK; i++)
        st = add_tensor(c, &g->tensors.at[i], true, &at);
    for (size_t i = 0; i < g->nodes.n && st == ST_OK; i++) {
        st = ir_add_node(c, &g->nodes.at[i], &at);
        if (st == ST_OK)
            c->nodes.at[at].post = g->nodes.at[i].post; /* [0, 0] stays [0, 0] */
    }
    for (size_t i = 0; i < g->children.n && st == ST_OK; i++)
        st = ir_add_child(c, g->children.at[i]);
    if (st != ST_OK)
        ir_graph_free(c);
    else
        *ret = c;
    return st;
}

static uint32_t *name_slot(const struct ir_graph *g, const char *name)
{
    size_t i = str_hash(name) & (g->names.cap - 1);
    while (g->names.slots[i] != IR_NONE && strcmp(g->tensors.at[g->names.slots[i]].name, name) != 0)
        i = (i + 1) & (g->names.cap - 1);
    return &g->names.slots[i];
}

/* Bring the index up to date; false when there is no memory for it. */
static bool index_names(struct ir_graph *g)
{
    if (g->names.n == g->tensors.n)
        return g->names.slots;
    if (g->tensors.n * 2 > g->names.cap || g->names.n > g->tensors.n) {
        size_t cap = 64;
        while (cap < g->tensors.n * 4)
            cap *= 2;
        mem_free(g->names.slots);
        g->names.slots = mem_alloc(cap * sizeof(uint32_t));
        g->names.cap = g->names.slots ? cap : 0;
        g->names.n = 0;
        if (!g->names.slots)
            return false;
        memset(g->names.slots, 0xff, cap * sizeof(uint32_t));
    }
    for (; g->names.n < g->tensors.n; g->names.n++) {
        uint32_t *slot = name_slot(g, g->tensors.at[g->names.n].name);
        if (*slot == IR_NONE)
            *slot = (uint32_t)g->names.n;
    }
    return true;
}

uint32_t ir_find_tensor(struct ir_graph *g, const char *name)
{
    if (g->tensors.n && index_names(g))
        return *name_slot(g, name);
    for (size_t i = 0; i < g->tensors.n; i++)
        if (strcmp(g->tensors.at[i].name, name) == 0)
            return (uint32_t)i;
    return IR_NONE;
}
