/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the constants that kernels want (packed weights, multipliers, tables) and drops the originals they replace.
 *
 *     const %w; %y = Conv2d(%x, %w)   ->   const %w.of.conv stripped, const %conv.aux0, const %conv.aux1
 *                                          %y = Conv2d(%x, %w.of.conv) aux (%conv.aux0, %conv.aux1)
 *
 * The descriptor of a replaced input stays, since shapes and encodings are still needed to bind the kernel. */
#include <string.h>

#include "prepare/cx.h"

enum { AUX_ALIGN = 64 };

static enum status add_aux(struct prepare_cx *cx, uint32_t node, uint32_t which, uint64_t bytes, uint32_t *ret)
{
    struct ir_graph *g = cx->g;
    uint8_t *p = arena_alloc(&g->arena, bytes + AUX_ALIGN);
    RETURN_IF(!p || bytes > UINT32_MAX, ST_NO_MEMORY, "no memory for %llu bytes of constants of node \"%s\"",
              (unsigned long long)bytes, g->nodes.at[node].name);
    p = (uint8_t *)(((uintptr_t)p + AUX_ALIGN - 1) & ~(uintptr_t)(AUX_ALIGN - 1));
    struct ir_call v;
    ir_call(g, &g->nodes.at[node], &v);
    TRY((cx->target->own_kernels ? cx->target->aux_fill : kernel_aux_fill)(&v.call, which, p));
    struct ir_tensor t = {
        .name = arena_printf(&g->arena, "%s.aux%u", g->nodes.at[node].name, which),
        .desc = { .type = DT_U8, .rank = 1, .dims = { (uint32_t)bytes } },
        .data = p,
        .raw_bytes = bytes,
    };
    return ir_add_const(g, &t, true, ret);
}

/* Give the node its own, empty copy of an input; the original goes when its last reader is gone. */
static enum status strip_input(struct ir_graph *g, uint32_t node, uint32_t i)
{
    struct ir_node *n = &g->nodes.at[node];
    struct ir_tensor t = g->tensors.at[n->in[i]];
    t.name = arena_printf(&g->arena, "%s.of.%s", t.name, n->name);
    t.data = NULL;
    t.stripped = true;
    return ir_add_const(g, &t, true, &g->nodes.at[node].in[i]);
}

static enum status pack_node(struct prepare_cx *cx, uint32_t node, bool *progress)
{
    struct ir_graph *g = cx->g;
    struct kernel_aux want;
    struct ir_call v;
    uint32_t aux[KERNEL_MAX_AUX];
    ir_call(g, &g->nodes.at[node], &v);
    TRY((cx->target->own_kernels ? cx->target->aux : kernel_aux)(&v.call, &want));
    if (!want.n)
        return ST_OK;
    *progress = true;
    for (uint32_t i = 0; i < want.n; i++)
        TRY(add_aux(cx, node, i, want.bytes[i], &aux[i]));
    struct ir_node *n = &g->nodes.at[node];
    n->aux = arena_dup(&g->arena, aux, want.n * sizeof(uint32_t));
    RETURN_IF(!n->aux, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    n->n_aux = want.n;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (want.replaces >> i & 1 && n->in[i] != IR_NONE && g->tensors.at[n->in[i]].role == IR_CONST)
            TRY(strip_input(g, node, i));
    return ST_OK;
}

enum status lower_pack(struct prepare_cx *cx, bool *progress)
{
    for (uint32_t k = 0; k < cx->g->nodes.n; k++) {
        TRY(prepare_interrupted(cx));
        TRY(pack_node(cx, k, progress));
    }
    return *progress ? ir_compact(cx->g) : ST_OK;
}
