/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes before those that read them. The standard asks for that order, but programs that insert nodes (casts of models
 * turned into 16-bit floats, for one) put them at the end of the list, and ONNX Runtime sorts what it loads. A list that is
 * in order stays as it is; in others a node stands where the file has it, behind the makers that it lacks. */
#include <string.h>

#include "base/str.h"
#include "convert/onnx/onnx_model.h"

#define NO_MEMORY(pointer) RETURN_IF(!(pointer), ST_NO_MEMORY, "no memory for the order of nodes")

enum { MAX_DEPTH = 16 /* deeper bodies are refused when they are converted */ };
enum { NOBODY = UINT32_MAX };

struct maker {
    const char *name; /* NULL: a free slot */
    uint32_t node;
};

struct link {
    uint32_t node;
    struct link *next;
};

struct order {
    struct arena *arena;
    const struct onnx_node *nodes;
    size_t n;
    struct maker *makers; /* by name of an output */
    size_t mask;
    struct link **wants; /* per node: whose outputs it reads */
};

/* ---- who makes what ----------------------------------------------------------------------------------------------- */

static struct maker *slot(const struct order *o, const char *name)
{
    size_t i = str_hash(name) & o->mask;
    while (o->makers[i].name && strcmp(o->makers[i].name, name) != 0)
        i = (i + 1) & o->mask;
    return &o->makers[i];
}

static uint32_t maker_of(const struct order *o, const char *name)
{
    const struct maker *m = slot(o, name);
    return name[0] && m->name ? m->node : NOBODY;
}

static enum status note_makers(struct order *o)
{
    size_t outputs = 1, slots = 2;
    for (size_t i = 0; i < o->n; i++)
        outputs += o->nodes[i].n_out;
    while (slots < 2 * outputs)
        slots *= 2;
    o->mask = slots - 1;
    NO_MEMORY(o->makers = arena_array(o->arena, struct maker, slots));
    for (size_t i = 0; i < o->n; i++)
        for (uint32_t k = 0; k < o->nodes[i].n_out; k++) {
            struct maker *m = slot(o, o->nodes[i].out[k]);
            if (!m->name)
                *m = (struct maker){ o->nodes[i].out[k], (uint32_t)i };
        }
    return ST_OK;
}

static bool is_sorted(const struct order *o)
{
    for (size_t i = 0; i < o->n; i++)
        for (uint32_t k = 0; k < o->nodes[i].n_in; k++) {
            uint32_t m = maker_of(o, o->nodes[i].in[k]);
            if (m != NOBODY && m >= i)
                return false;
        }
    return true;
}

/* ---- who reads it ------------------------------------------------------------------------------------------------- */

/* What a node of the list reads, itself or in a body. */
static enum status note_wants(struct order *o, uint32_t reader, const struct onnx_node *n, unsigned depth)
{
    for (uint32_t k = 0; k < n->n_in; k++) {
        uint32_t m = maker_of(o, n->in[k]);
        if (m == NOBODY)
            continue;
        struct link *l = arena_new(o->arena, struct link);
        NO_MEMORY(l);
        *l = (struct link){ m, o->wants[reader] };
        o->wants[reader] = l;
    }
    for (uint32_t k = 0; k < n->n_attrs && depth < MAX_DEPTH; k++) {
        struct onnx_node *body;
        size_t count = 0;
        if (n->attrs[k].graph.p)
            TRY(onnx_parse_list(o->arena, n->attrs[k].graph, 1, &body, &count));
        for (size_t i = 0; i < count; i++)
            TRY(note_wants(o, reader, &body[i], depth + 1));
    }
    return ST_OK;
}

/* Depth first. A node that waits for itself is left where it is met: conversion says which value is missing. */
static void sort(struct order *o, uint32_t *stack, bool *met, struct onnx_node *sorted)
{
    size_t done = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        size_t depth = 0;
        if (!met[i])
            stack[depth++] = i;
        met[i] = true;
        while (depth > 0) {
            uint32_t top = stack[depth - 1];
            struct link *l = o->wants[top];
            if (!l) {
                sorted[done++] = o->nodes[top];
                depth--;
                continue;
            }
            o->wants[top] = l->next;
            if (!met[l->node])
                stack[depth++] = l->node;
            met[l->node] = true;
        }
    }
}

enum status onnx_order(struct arena *a, struct onnx_node **nodes, size_t n)
{
    struct order o = { .arena = a, .nodes = *nodes, .n = n };
    TRY(note_makers(&o));
    if (is_sorted(&o))
        return ST_OK;
    uint32_t *stack = arena_array(a, uint32_t, n);
    bool *met = arena_array(a, bool, n);
    struct onnx_node *sorted = arena_array(a, struct onnx_node, n);
    NO_MEMORY(o.wants = arena_array(a, struct link *, n));
    NO_MEMORY(stack && met && sorted);
    for (size_t i = 0; i < n; i++)
        TRY(note_wants(&o, (uint32_t)i, &o.nodes[i], 0));
    sort(&o, stack, met, sorted);
    *nodes = sorted;
    return ST_OK;
}
