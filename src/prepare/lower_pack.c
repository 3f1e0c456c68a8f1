/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the constants that kernels want (packed weights, multipliers, tables) and drops the originals they replace.
 *
 *     const %w; %y = Conv2d(%x, %w)   ->   const %w.of.conv stripped, const %conv.aux0, const %conv.aux1
 *                                          %y = Conv2d(%x, %w.of.conv) aux (%conv.aux0, %conv.aux1)
 *
 * The descriptor of a replaced input stays, since shapes and encodings are still needed to bind the kernel. Nodes that are
 * the same but for what is computed before them (a layer that is run for every step of a sequence) share these constants:
 * they are made, stored and cached once; where only encodings of activations differ, those that come out the same. */
#include <stdlib.h>
#include <string.h>

#include "prepare/cx.h"

enum { AUX_ALIGN = 64, LOOK_BACK = 64 /* nodes with the same weights whose constants are compared */ };

/* Give the node its own, empty copy of an input; the original goes when its last reader is gone. One that the client may
 * update stays, so that it can be found in the binary. */
static enum status strip_input(struct ir_graph *g, uint32_t node, uint32_t i)
{
    struct ir_node *n = &g->nodes.at[node];
    struct ir_tensor t = g->tensors.at[n->in[i]];
    if (t.updateable)
        return ST_OK;
    t.name = arena_printf(&g->arena, "%s.of.%s", t.name, n->name);
    t.data = NULL;
    t.stripped = true;
    return ir_add_const(g, &t, true, &g->nodes.at[node].in[i]);
}

/* ---- nodes that share ------------------------------------------------------------------------------------------------- */

enum { HEADS = 1024 };

/* A node with constants made, as it was before. */
struct packed {
    struct ir_node before;
    uint32_t node;
    struct packed *next;
};

static bool same_desc(const struct tensor_desc *a, const struct tensor_desc *b)
{
    if (!a || !b)
        return a == b;
    return a->type == b->type && a->dynamic == b->dynamic && a->format == b->format && desc_same_shape(a, b) &&
           quant_same(&a->q, &b->q);
}

static bool same_params(const struct op_def *op, const struct op_value *a, const struct op_value *b)
{
    uint32_t n = op_param_count(op);
    for (uint32_t i = 0; i < n; i++) {
        bool there = a[i].data && b[i].data;
        if (!a[i].data != !b[i].data ||
            (there && (a[i].type != b[i].type || a[i].rank != b[i].rank || a[i].count != b[i].count)))
            return false;
        if (there && (memcmp(a[i].dims, b[i].dims, a[i].rank * sizeof(uint32_t)) ||
                      memcmp(a[i].data, b[i].data, (size_t)a[i].count * dtype_bits(a[i].type) / 8)))
            return false;
    }
    return true;
}

/* Whatever constants are made of: operator, parameters, descriptors and the contents of constant inputs, which are
 * one copy. */
static bool same_call(const struct op_call *a, const struct op_call *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || memcmp(&a->post, &b->post, sizeof(a->post)) ||
        !same_params(a->op, a->params, b->params))
        return false;
    for (uint32_t i = 0; i < a->n_in; i++)
        if (a->in_data[i] != b->in_data[i] || !same_desc(a->in[i], b->in[i]))
            return false;
    for (uint32_t i = 0; i < a->n_out; i++)
        if (!same_desc(a->out[i], b->out[i]))
            return false;
    return true;
}

/* Where to look: by the first constant input. NULL: it has none, or one that may change. */
static struct packed **head_of(struct prepare_cx *cx, struct packed **heads, const struct ir_node *n)
{
    const void *first = NULL;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct ir_tensor *t = n->in[i] == IR_NONE ? NULL : &cx->g->tensors.at[n->in[i]];
        if (t && t->updateable)
            return NULL;
        if (t && t->role == IR_CONST && !first)
            first = t->data;
    }
    return first ? &heads[(uintptr_t)first / 16 % HEADS] : NULL;
}

static enum status share(struct prepare_cx *cx, const struct packed *list, uint32_t node, bool *ret)
{
    struct ir_graph *g = cx->g;
    struct ir_node *n = &g->nodes.at[node];
    struct ir_call v, w;
    ir_call(g, n, &v);
    *ret = false;
    for (const struct packed *p = list; p && !*ret; p = p->next) {
        const struct ir_node *made = &g->nodes.at[p->node];
        ir_call(g, &p->before, &w);
        if (!same_call(&v.call, &w.call))
            continue;
        n->aux = arena_dup(&g->arena, made->aux, made->n_aux * sizeof(*n->aux)); /* lists are renumbered one by one */
        RETURN_IF(!n->aux, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
        n->n_aux = made->n_aux;
        for (uint32_t i = 0; i < n->n_in; i++)
            if (p->before.in[i] != made->in[i])
                n->in[i] = made->in[i];
        *ret = true;
    }
    return ST_OK;
}

static enum status remember(struct prepare_cx *cx, struct packed **head, const struct ir_node *before, uint32_t node)
{
    struct packed *p = arena_new(&cx->arena, struct packed);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory for node \"%s\"", before->name);
    *p = (struct packed){ *before, node, *head };
    *head = p;
    return ST_OK;
}

/* ---- one constant ----------------------------------------------------------------------------------------------------- */

static uint8_t *aligned(void *p)
{
    return (uint8_t *)(((uintptr_t)p + AUX_ALIGN - 1) & ~(uintptr_t)(AUX_ALIGN - 1));
}

/* A constant of a node before that has these bytes. Weights that are used with several encodings (a layer whose activations
 * were quantized step by step) differ in their multipliers only. */
static bool made_before(const struct ir_graph *g, const struct packed *list, uint32_t which, const void *data,
                        uint64_t bytes, uint32_t *ret)
{
    uint32_t left = LOOK_BACK;
    for (const struct packed *p = list; p && left; p = p->next, left--) {
        const struct ir_node *made = &g->nodes.at[p->node];
        const struct ir_tensor *t = which < made->n_aux ? &g->tensors.at[made->aux[which]] : NULL;
        if (t && t->raw_bytes == bytes && !memcmp(t->data, data, bytes)) {
            *ret = made->aux[which];
            return true;
        }
    }
    return false;
}

/* What an update of some operand would change. */
static bool from_updateable(const struct ir_graph *g, const struct ir_node *n)
{
    bool found = false;
    for (uint32_t i = 0; i < n->n_in + n->n_out && !found; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        found = t != IR_NONE && g->tensors.at[t].updateable;
    }
    return found;
}

static enum status add_const(struct ir_graph *g, uint32_t node, uint32_t which, const void *data, uint64_t bytes,
                             uint32_t *ret)
{
    struct ir_tensor t = {
        .updateable = from_updateable(g, &g->nodes.at[node]),
        .name = arena_printf(&g->arena, "%s.aux%u", g->nodes.at[node].name, which),
        .desc = { .type = DT_U8, .rank = 1, .dims = { (uint32_t)bytes } },
        .data = data,
        .raw_bytes = bytes,
    };
    return ir_add_const(g, &t, true, ret);
}

static enum status fill(struct prepare_cx *cx, uint32_t node, uint32_t which, void *to)
{
    struct ir_call v;
    ir_call(cx->g, &cx->g->nodes.at[node], &v);
    return (cx->target->own_kernels ? cx->target->aux_fill : kernel_aux_fill)(&v.call, which, to);
}

/* Beside a list of nodes with the same weights the constant is made apart first: it may be there already. */
static enum status add_aux(struct prepare_cx *cx, const struct packed *list, uint32_t node, uint32_t which, uint64_t bytes,
                           uint32_t *ret)
{
    struct ir_graph *g = cx->g;
    enum status s = ST_OK;
    RETURN_IF(bytes > UINT32_MAX, ST_NO_MEMORY, "%llu bytes of constants of node \"%s\"; at most %u",
              (unsigned long long)bytes, g->nodes.at[node].name, UINT32_MAX);
    void *apart = list ? malloc(bytes + AUX_ALIGN) : NULL;
    bool there = false;
    if (apart) {
        memset(apart, 0, bytes + AUX_ALIGN); /* as the memory of an arena is */
        s = fill(cx, node, which, aligned(apart));
        there = s == ST_OK && made_before(g, list, which, aligned(apart), bytes, ret);
    }
    uint8_t *p = s == ST_OK && !there ? arena_alloc(&g->arena, bytes + AUX_ALIGN) : NULL;
    if (p && apart)
        memcpy(aligned(p), aligned(apart), bytes);
    free(apart);
    TRY(s);
    if (there)
        return ST_OK;
    RETURN_IF(!p, ST_NO_MEMORY, "no memory for %llu bytes of constants of node \"%s\"", (unsigned long long)bytes,
              g->nodes.at[node].name);
    if (!apart)
        TRY(fill(cx, node, which, aligned(p)));
    return add_const(g, node, which, aligned(p), bytes, ret);
}

/* ---- one node --------------------------------------------------------------------------------------------------------- */

static enum status make(struct prepare_cx *cx, const struct packed *list, uint32_t node, const struct kernel_aux *wanted)
{
    struct ir_graph *g = cx->g;
    struct kernel_aux want = *wanted;
    uint32_t aux[KERNEL_MAX_AUX];
    for (uint32_t i = 0; i < want.n; i++)
        TRY(add_aux(cx, list, node, i, want.bytes[i], &aux[i]));
    struct ir_node *n = &g->nodes.at[node];
    n->aux = arena_dup(&g->arena, aux, want.n * sizeof(uint32_t));
    RETURN_IF(!n->aux, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    n->n_aux = want.n;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (want.replaces >> i & 1 && n->in[i] != IR_NONE && g->tensors.at[n->in[i]].role == IR_CONST)
            TRY(strip_input(g, node, i));
    return ST_OK;
}

static enum status pack_node(struct prepare_cx *cx, struct packed **heads, uint32_t node, bool *progress)
{
    struct ir_graph *g = cx->g;
    struct kernel_aux want;
    struct ir_call v;
    struct packed **head = head_of(cx, heads, &g->nodes.at[node]);
    bool shared = false;
    if (head)
        TRY(share(cx, *head, node, &shared));
    if (shared)
        return ST_OK;
    ir_call(g, &g->nodes.at[node], &v);
    TRY((cx->target->own_kernels ? cx->target->aux : kernel_aux)(&v.call, &want));
    if (!want.n)
        return ST_OK;
    *progress = true;
    struct ir_node before = g->nodes.at[node];
    before.in = arena_dup(&cx->arena, before.in, before.n_in * sizeof(*before.in));
    RETURN_IF(!before.in && before.n_in, ST_NO_MEMORY, "no memory for node \"%s\"", before.name);
    TRY(make(cx, head ? *head : NULL, node, &want));
    return head ? remember(cx, head, &before, node) : ST_OK;
}

enum status lower_pack(struct prepare_cx *cx, bool *progress)
{
    struct packed **heads = arena_array(&cx->arena, struct packed *, HEADS);
    RETURN_IF(!heads, ST_NO_MEMORY, "no memory for the constants of kernels");
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        TRY(prepare_interrupted(cx));
        TRY(pack_node(cx, heads, k, progress));
    }
    return *progress ? ir_compact(cx->g) : ST_OK;
}
