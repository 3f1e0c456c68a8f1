/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the planned graph into the records of binary.h and has them written. */
#include <string.h>

#include "prepare/cost.h"
#include "prepare/cx.h"

static void emit_tensor(const struct prepare_cx *cx, uint32_t i, struct binary_tensor *b, const void **data)
{
    const struct ir_tensor *t = &cx->g->tensors.at[i];
    const struct placement *p = &cx->places[i];
    static const uint8_t io_of_role[IR_ROLE_COUNT] = {
        [IR_INPUT] = IO_INPUT, [IR_OUTPUT] = IO_OUTPUT, [IR_INOUT] = IO_BOTH
    };
    *b = (struct binary_tensor){
        .name = t->name,
        .desc = t->desc,
        .place = p->place,
        .io = io_of_role[t->role],
        .optional = t->optional,
        .updateable = t->updateable,
        .mem_handle = t->mem_handle,
        .client_id = t->client_id,
        .client_type = t->client_type,
        .offset = p->offset,
        .bytes = p->bytes,
        .first = cx->step_of[p->first],
        .last = p->last == IR_NONE ? cx->n_steps : cx->last_step[p->last],
    };
    *data = p->place == PLACE_CONST ? cx->g->tensors.at[p->offset].data : NULL;
}

/* The room of an I/O tensor in scratch is a tensor of its own that no node names; it is found by the client's id. */
static void emit_home(const struct prepare_cx *cx, uint32_t k, struct binary_tensor *b)
{
    const struct ir_tensor *t = &cx->g->tensors.at[cx->io[k]];
    const struct placement *p = &cx->homes[k];
    *b = (struct binary_tensor){
        .name = t->name,
        .desc = t->desc,
        .place = PLACE_SCRATCH,
        .client_id = t->client_id,
        .client_type = t->client_type,
        .offset = p->offset,
        .bytes = p->bytes,
        .first = cx->step_of[p->first],
        .last = cx->last_step[p->last],
    };
}

static void emit_node(const struct prepare_cx *cx, uint32_t k, struct binary_node *b)
{
    const struct ir_node *n = &cx->g->nodes.at[k];
    const struct node_plan *p = &cx->nodes[k];
    uint64_t align = cx->target->tensor_align;
    *b = (struct binary_node){
        .tile = cx->tiles ? cx->tiles[k] : (struct binary_tile){ .bytes = 0 },
        .name = n->name,
        .op = n->op,
        .n_in = n->n_in,
        .n_out = n->n_out,
        .n_aux = n->n_aux,
        .in = n->in,
        .out = n->out,
        .aux = n->aux,
        .params = n->params,
        .post = n->post,
        .work_offset = p->work_offset,
        .work_bytes = (p->work_bytes + align - 1) / align * align,
        .n_guards = n->n_guards,
        .guards = (const uint32_t *)n->guards,
        .state_offset = p->state_offset,
        .state_bytes = p->state_bytes,
        .macs = p->macs,
    };
}

static void emit_chains(const struct prepare_cx *cx, struct binary_chain *chains)
{
    for (uint32_t i = 0; i < cx->n_chains; i++) {
        const struct chain *c = &cx->chains[i];
        chains[i] = (struct binary_chain){ .first = c->first,
                                           .n = c->n,
                                           .height = c->height,
                                           .lines = c->lines,
                                           .images = c->images,
                                           .work_offset = c->work_offset,
                                           .work_bytes = c->work_bytes };
    }
}

static struct binary_graph_info graph_info(const struct prepare_cx *cx)
{
    struct binary_graph_info info = {
        .name = cx->g->name,
        .n_inputs = cx->n_inputs,
        .n_outputs = cx->n_outputs,
        .scratch_bytes = cx->scratch_bytes,
        .persistent_bytes = cx->persistent_bytes,
        .scratch_align = cx->target->tensor_align,
        .live_bytes = cx->live_bytes,
        .order_bytes = cx->order_bound,
        .priority = cx->opts->priority,
        .opt_level = cx->opts->opt_level,
        .vtcm_mb = cx->opts->vtcm_mb,
        .hvx_threads = cx->opts->hvx_threads,
        .dlbc = cx->opts->dlbc,
        .options = cx->opts->options,
        .cores = cx->opts->cores > 1 ? cx->opts->cores : 0,
        .plan_optimal = cx->plan_optimal,
        .n_source_nodes = cx->n_source_nodes,
        .vtcm_bytes = cx->wanted ? cx->target->vtcm_bytes : 0,
        .vtcm_used = cx->vtcm_used,
        .spill_fill_bytes = cx->spill_bytes,
    };
    for (uint32_t i = 0; i < cx->n_inputs + cx->n_outputs; i++)
        info.io_bytes += cx->places[cx->io[i]].bytes;
    for (uint32_t i = 0; i < cx->g->tensors.n; i++)
        info.const_bytes += cx->places[i].place == PLACE_CONST ? cx->places[i].bytes : 0;
    for (uint32_t k = 0; k < cx->g->nodes.n; k++)
        info.macs += cx->nodes[k].macs;
    return info;
}

static enum status estimate(const struct prepare_cx *cx, const struct binary_graph *g, struct binary_node *nodes,
                            struct binary_source *s)
{
    if (cx->target->cost)
        s->info.cycles = cost_nodes(cx->target->cost, g, nodes);
    if (!cx->target->device)
        return ST_OK;
    struct cost_spans spans = { 0 };
    struct cost_result r = { .spans = &spans };
    enum status st = cost_events(cx->target->device, g, nodes, &r);
    const struct cost_device *d = cx->target->device;
    struct binary_timeline line = { .clock_mhz = d->clock_mhz,
                                    .threads = d->vector_units ? d->vector_units : 1,
                                    .n_spans = (uint32_t)spans.list.n };
    if (st == ST_OK)
        st = binary_spans_encode(g, &line, spans.list.at, &s->spans, &s->span_bytes);
    s->info.cycles = r.cycles;
    vec_finish(&spans.list);
    return st;
}

enum status emit_binary(struct prepare_cx *cx, struct binary_image *ret)
{
    uint32_t no = (uint32_t)cx->g->tensors.n, nn = (uint32_t)cx->g->nodes.n;
    uint32_t nt = no + (cx->homes ? cx->n_inputs + cx->n_outputs : 0);
    struct binary_tensor *tensors = arena_array(&cx->arena, struct binary_tensor, nt);
    const void **data = arena_array(&cx->arena, const void *, nt);
    struct binary_node *nodes = arena_array(&cx->arena, struct binary_node, nn);
    struct binary_chain *chains = arena_array(&cx->arena, struct binary_chain, cx->n_chains);
    RETURN_IF(!tensors || !data || !nodes || !chains, ST_NO_MEMORY, "no memory to write %u tensors and %u nodes", nt, nn);
    for (uint32_t i = 0; i < no; i++)
        emit_tensor(cx, i, &tensors[i], &data[i]);
    for (uint32_t i = no; i < nt; i++)
        emit_home(cx, i - no, &tensors[i]);
    for (uint32_t k = 0; k < nn; k++)
        emit_node(cx, k, &nodes[k]);
    TRY(emit_storage(cx, tensors, data, nodes));
    emit_chains(cx, chains);
    struct binary_graph_info info = graph_info(cx);
    uint64_t kb = info.const_bytes >> 10, most = cx->target->const_kb;
    RETURN_IF(most && kb > most, ST_NO_MEMORY,
              "graph \"%s\" requires estimated allocation of %llu KB, limit is %llu KB; error during serialize: memory "
              "usage too large. Divide the model into several graphs, or give "
              "its constants smaller types",
              cx->g->name, (unsigned long long)kb, (unsigned long long)most);
    struct binary_source s = {
        .info = info,
        .n_tensors = nt,
        .n_nodes = nn,
        .n_commands = (uint32_t)cx->commands.n,
        .tensors = tensors,
        .data = data,
        .nodes = nodes,
        .commands = cx->commands.at,
        .n_chains = cx->n_chains,
        .chains = chains,
    };
    struct binary_graph placed = { .info = info,
                                   .n_tensors = nt,
                                   .n_nodes = nn,
                                   .tensors = tensors,
                                   .nodes = nodes,
                                   .n_commands = s.n_commands,
                                   .commands = s.commands,
                                   .n_chains = cx->n_chains,
                                   .chains = chains,
                                   .chain_of = cx->n_chains ? cx->chain_of : NULL };
    enum status st = estimate(cx, &placed, nodes, &s);
    cx->cycles = s.info.cycles;
    if (st == ST_OK && ret)
        st = binary_write(&cx->opts->binary, &s, ret);
    mem_free((void *)s.spans);
    return st;
}
