/* SPDX-License-Identifier: Apache-2.0 */
/* How constants are stored in a saved file, and what share of their bytes a device that moves them so has to move. The bytes
 * are those that kernels of this computer want of them: what is made of weights has the same values in another order. */
#include "base/mem.h"
#include "prepare/cx.h"

enum { LEAST = 64 /* bytes */ };

struct storage {
    const struct prepare_cx *cx;
    struct binary_tensor *tensors;
    const void *const *data; /* per tensor */
    uint64_t *stored;        /* per tensor, 0: not counted yet */
};

static bool has_bytes(enum dtype type)
{
    return type == DT_I8 || type == DT_U8 || type == DT_SQ8 || type == DT_UQ8;
}

/* Weights, which have gone where kernels have their own form of them; their descriptor is there. */
static bool has_byte_weights(const struct ir_graph *g, const struct ir_node *n)
{
    if (n->n_in < 2 || n->in[1] == IR_NONE)
        return false;
    const struct ir_tensor *w = &g->tensors.at[n->in[1]];

    return (w->role == IR_CONST || w->stripped) && has_bytes(w->desc.type);
}

static uint64_t stored_bytes(struct storage *s, uint32_t tensor)
{
    struct binary_tensor *t = &s->tensors[tensor];

    if (s->stored[tensor])
        return s->stored[tensor];
    uint64_t bytes = t->bytes < LEAST ? t->bytes : binary_stored_bytes(s->cx->opts->store_as, s->data[tensor], t->bytes);
    t->storage = bytes < t->bytes ? s->cx->opts->store_as : STORE_PLAIN;
    s->stored[tensor] = bytes;
    return bytes;
}

static uint32_t share_of(struct storage *s, const struct ir_node *n)
{
    uint64_t plain = 0, stored = 0;

    for (uint32_t i = 0; i < n->n_in + n->n_aux; i++) {
        uint32_t t = i < n->n_in ? n->in[i] : n->aux[i - n->n_in];
        if (t == IR_NONE || s->tensors[t].place != PLACE_CONST || !s->data[t])
            continue;
        plain += s->tensors[t].bytes;
        stored += stored_bytes(s, t);
    }
    uint32_t share = plain ? (uint32_t)((unsigned __int128)stored * BINARY_WHOLE / plain) : 0;
    return stored < plain ? share + !share : 0;
}

enum status emit_storage(const struct prepare_cx *cx, struct binary_tensor *tensors, const void *const *data,
                         struct binary_node *nodes)
{
    const struct ir_graph *g = cx->g;
    struct storage s = { .cx = cx, .tensors = tensors, .data = data };

    if (cx->opts->store_as == STORE_PLAIN)
        return ST_OK;
    s.stored = mem_array(uint64_t, g->tensors.n);
    RETURN_IF(!s.stored, ST_NO_MEMORY, "no memory to store %zu tensors", g->tensors.n);
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        const struct ir_node *n = &g->nodes.at[k];
        if (cx->opts->store_as != STORE_NIBBLES || has_byte_weights(g, n))
            nodes[k].stored_share = share_of(&s, n);
    }
    mem_free(s.stored);
    return ST_OK;
}
