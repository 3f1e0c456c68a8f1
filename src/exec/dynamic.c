/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic dimensions. Memory is planned for the largest dimensions; a run may bring smaller ones. Then shapes are worked out
 * again from node to node and the kernels of changed nodes are bound again into the memory they have. Nothing is allocated,
 * and a run with the dimensions of the last one skips all of it. */
#include <string.h>

#include "base/mem.h"
#include "exec/program.h"

static bool same_dims(const uint32_t *a, const uint32_t *b, uint32_t rank)
{
    return memcmp(a, b, rank * sizeof(a[0])) == 0;
}

static enum status check_input(const struct binary_tensor *t, const uint32_t *dims)
{
    for (uint32_t i = 0; i < t->desc.rank; i++) {
        bool dynamic = t->desc.dynamic >> i & 1;
        RETURN_IF(dynamic && (dims[i] == 0 || dims[i] > t->desc.dims[i]), ST_DYNAMIC_SHAPE,
                  "tensor \"%s\": dimension %u is %u; 1 … %u are allowed", t->name, i, dims[i], t->desc.dims[i]);
        RETURN_IF(!dynamic && dims[i] != t->desc.dims[i], ST_DYNAMIC_SHAPE,
                  "tensor \"%s\": dimension %u is %u; it is not dynamic and must be %u", t->name, i, dims[i],
                  t->desc.dims[i]);
    }
    return ST_OK;
}

/* Look before touching anything: a refused run leaves the program as it was. */
static enum status inputs_changed(const struct exec_program *p, const struct exec_binding *io, bool *ret)
{
    const struct binary_graph *g = p->g;
    for (uint32_t k = 0; k < g->info.n_inputs; k++) {
        const struct binary_tensor *t = &g->tensors[g->io[k]];
        const uint32_t *dims = io[k].dims ? io[k].dims : t->desc.dims;
        if (same_dims(dims, p->now[g->io[k]].dims, t->desc.rank))
            continue;
        TRY(check_input(t, dims));
        *ret = true;
    }
    return ST_OK;
}

static void take_inputs(struct exec_program *p, const struct exec_binding *io)
{
    const struct binary_graph *g = p->g;
    memset(p->changed, 0, g->n_tensors);
    for (uint32_t k = 0; k < g->info.n_inputs; k++) {
        uint32_t t = g->io[k];
        const struct tensor_desc *max = &g->tensors[t].desc;
        const uint32_t *dims = io[k].dims ? io[k].dims : max->dims;
        if (same_dims(dims, p->now[t].dims, max->rank))
            continue;
        memcpy(p->now[t].dims, dims, max->rank * sizeof(dims[0]));
        p->changed[t] = 1;
    }
}

static enum status take_output(struct exec_program *p, const struct binary_node *n, uint32_t t,
                               const struct tensor_desc *want)
{
    const struct binary_tensor *max = &p->g->tensors[t];
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    bool fits = want->rank == max->desc.rank;
    for (uint32_t i = 0; fits && i < want->rank; i++) {
        bool may_shrink = max->io == IO_NONE || max->desc.dynamic >> i & 1;
        fits = want->dims[i] > 0 && (may_shrink ? want->dims[i] <= max->desc.dims[i] : want->dims[i] == max->desc.dims[i]);
    }
    RETURN_IF(!fits, ST_DYNAMIC_SHAPE,
              "node \"%s\": its output \"%s\" becomes %s; %s was declared, where ? marks dimensions that may be smaller",
              n->name, max->name, desc_text(want, a), desc_text(&max->desc, b));
    if (!same_dims(p->now[t].dims, want->dims, want->rank)) {
        memcpy(p->now[t].dims, want->dims, sizeof(want->dims));
        p->changed[t] = 1;
    }
    return ST_OK;
}

static bool touched(const struct exec_program *p, const struct binary_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != BINARY_NONE && p->changed[n->in[i]])
            return true;
    return false;
}

static enum status update_node(struct exec_program *p, uint32_t node)
{
    const struct binary_node *n = &p->g->nodes[node];
    struct tensor_desc want[MAX_PORTS];
    struct exec_call view;
    bind_call(p, node, &view);
    /* Rules start from the declared outputs, not from those of the last run. */
    for (uint32_t i = 0; i < n->n_out; i++)
        view.out[i] = n->out[i] == BINARY_NONE ? NULL : &p->g->tensors[n->out[i]].desc;
    if (op_infer(&view.call, want) != ST_OK)
        return status_prefix(ST_DYNAMIC_SHAPE, "with the dimensions of this execution");
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != BINARY_NONE)
            TRY(take_output(p, n, n->out[i], &want[i]));
    return bind_node(p, node);
}

static enum status update(struct exec_program *p, const struct exec_binding *io)
{
    bool all = p->stale;
    take_inputs(p, io);
    p->stale = true;
    for (uint32_t i = 0; i < p->g->n_nodes; i++)
        if (all || touched(p, &p->g->nodes[i]))
            TRY(update_node(p, i));
    p->stale = false;
    return ST_OK;
}

enum status dynamic_run(struct exec_program *p, const struct exec_binding *io)
{
    bool changed = p->stale;
    TRY(inputs_changed(p, io, &changed));
    if (changed)
        TRY(update(p, io));
    const struct binary_graph *g = p->g;
    for (uint32_t k = 0; k < g->n_io; k++)
        if (io[k].out_dims)
            memcpy(io[k].out_dims, p->now[g->io[k]].dims, p->now[g->io[k]].rank * sizeof(uint32_t));
    return ST_OK;
}

enum status dynamic_load(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    bool any = false;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        any |= g->tensors[i].desc.dynamic != 0;
    if (!any)
        return ST_OK;
    p->now = arena_array(&p->arena, struct tensor_desc, g->n_tensors);
    p->changed = arena_array(&p->arena, uint8_t, g->n_tensors);
    RETURN_IF(!p->now || !p->changed, ST_NO_MEMORY, "graph \"%s\": no memory for dynamic dimensions", g->info.name);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        p->now[i] = g->tensors[i].desc;
    p->stale = true; /* a declared maximum may be larger than what the inputs give even at their largest: infer before the
                        first run */
    return ST_OK;
}
