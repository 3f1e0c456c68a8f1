/* SPDX-License-Identifier: Apache-2.0 */
/* Another layout for an input or output: a Transpose between what the client sees and what the graph has.
 *
 *     in %image : f32[1,16,16,3]
 *       -> in %image : f32[1,3,16,16];  %image_graph : f32[1,16,16,3] = Transpose(%image) { perm=(0,2,3,1) } */
#include <string.h>

#include "base/str.h"
#include "converter/custom_io.h"

/* perm[i]: where letter i of `to` stands in `from`. */
static enum status find_perm(const char *name, const char *from, const char *to, uint32_t rank, uint32_t *perm)
{
    RETURN_IF(strlen(from) != rank || strlen(to) != rank, ST_INVALID_ARG,
              "\"%s\" has %u dimensions; layouts \"%s\" and \"%s\" do not fit", name, rank, from, to);
    for (uint32_t i = 0; i < rank; i++) {
        const char *at = strchr(from, to[i]);
        RETURN_IF(!at || strchr(to, to[i]) != to + i, ST_INVALID_ARG,
                  "\"%s\": layouts \"%s\" and \"%s\" are not orders of the same dimensions", name, from, to);
        perm[i] = (uint32_t)(at - from);
    }
    return ST_OK;
}

/* Everybody who used `from` uses `to`. */
static void redirect(struct ir_graph *g, uint32_t from, uint32_t to)
{
    for (size_t k = 0; k < g->nodes.n; k++) {
        struct ir_node *n = &g->nodes.at[k];
        for (uint32_t i = 0; i < n->n_in; i++)
            n->in[i] = n->in[i] == from ? to : n->in[i];
        for (uint32_t i = 0; i < n->n_out; i++)
            n->out[i] = n->out[i] == from ? to : n->out[i];
    }
}

static enum status add_transpose(struct ir_graph *g, const char *name, uint32_t in, uint32_t out, const uint32_t *perm,
                                 uint32_t rank)
{
    const struct op_def *op = op_find("Transpose");
    struct op_value params[14] = { 0 };
    uint32_t at;
    params[op_param_index(op, "perm")] =
        (struct op_value){ .type = DT_U32, .rank = 1, .dims = { rank }, .count = rank, .data = perm };
    struct ir_node n = { .name = name, .op = op, .n_in = 1, .n_out = 1, .in = &in, .out = &out, .params = params };
    return ir_add_node(g, &n, &at);
}

void custom_io_last_first(struct ir_graph *g)
{
    struct ir_node last = g->nodes.at[g->nodes.n - 1];
    memmove(g->nodes.at + 1, g->nodes.at, (g->nodes.n - 1) * sizeof(last));
    g->nodes.at[0] = last;
}

enum status custom_io_split(struct ir_graph *g, uint32_t t, struct arena *a, uint32_t *inner)
{
    struct ir_tensor copy = g->tensors.at[t];
    const char *outside = copy.name;
    copy.name = arena_printf(a, "%s_graph", outside);
    RETURN_IF(!copy.name, ST_NO_MEMORY, "no memory for a name");
    for (unsigned i = 2; ir_find_tensor(g, copy.name) != IR_NONE; i++) { /* color and layout of one input */
        copy.name = arena_printf(a, "%s_graph%u", outside, i);
        RETURN_IF(!copy.name || i > 9, ST_EXISTS, "the order of \"%s\" needs the name \"%s_graph\", which is taken", outside,
                  outside);
    }
    copy.role = IR_NATIVE;
    TRY(ir_add_tensor(g, &copy, inner));
    redirect(g, t, *inner);
    return ST_OK;
}

enum status custom_io_layout(struct ir_graph *g, uint32_t t, const char *from, const char *to, struct arena *a)
{
    uint32_t perm[MAX_RANK], back[MAX_RANK], inner;
    const struct tensor_desc d = g->tensors.at[t].desc;
    const char *outside = g->tensors.at[t].name;
    bool input = g->tensors.at[t].role == IR_INPUT;
    uint32_t rank = d.rank;
    TRY(find_perm(outside, from, to, rank, perm));
    TRY(find_perm(outside, to, from, rank, back));
    TRY(custom_io_split(g, t, a, &inner));
    for (uint32_t i = 0; i < rank; i++)
        g->tensors.at[t].desc.dims[i] = d.dims[perm[i]];
    const char *node = arena_printf(a, "%s_layout", outside);
    RETURN_IF(!node, ST_NO_MEMORY, "no memory for a name");
    TRY(add_transpose(g, node, input ? t : inner, input ? inner : t, input ? back : perm, rank));
    if (input)
        custom_io_last_first(g);
    return ir_verify(g, "custom layout");
}
