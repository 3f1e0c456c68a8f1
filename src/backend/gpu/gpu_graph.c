/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a graph: the launches of its nodes, which gpu_build.c then makes ready in a world. */
#include "backend/gpu/gpu_backend.h"
#include "backend/gpu/gpu_fuse.h"

#include "base/mem.h"

/* ---- launches --------------------------------------------------------------------------------------------------------- */

struct node_call {
    struct op_call call;
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    const void *in_data[MAX_PORTS];
};

static void view_node(const struct binary_graph *g, const struct binary_node *n, struct node_call *v)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct binary_tensor *t = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]];
        v->in[i] = t ? &t->desc : NULL;
        v->in_data[i] = t && t->place == PLACE_CONST ? g->constants + t->offset : NULL;
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        v->out[i] = n->out[i] == BINARY_NONE ? NULL : &g->tensors[n->out[i]].desc;
    v->call = (struct op_call){ .op = n->op,
                                .node = n->name,
                                .n_in = n->n_in,
                                .n_out = n->n_out,
                                .n_aux = n->n_aux,
                                .in = v->in,
                                .out = v->out,
                                .params = n->params,
                                .in_data = v->in_data,
                                .post = n->post };
}

static uint32_t tensor_of(const struct binary_node *n, uint32_t operand)
{
    uint32_t io = n->n_in + n->n_out;
    if (operand >= io)
        return operand - io < n->n_aux ? n->aux[operand - io] : BINARY_NONE;
    return operand < n->n_in ? n->in[operand] : n->out[operand - n->n_in];
}

/* A binary may come from elsewhere: what a launch uses must be there. */
static enum status find_operands(const struct binary_graph *g, const struct binary_node *n, uint64_t packed_bytes,
                                 struct gpu_launch *l)
{
    for (uint32_t i = 0; i < l->n_operands; i++) {
        uint32_t t = l->tensors[i] = tensor_of(n, l->operand[i]);
        RETURN_IF(t == BINARY_NONE || g->tensors[t].place == PLACE_NONE || g->tensors[t].place == PLACE_PERSISTENT,
                  ST_BAD_BINARY, "node \"%s\": operand %u has no memory; prepare the model again", n->name, l->operand[i]);
        RETURN_IF(l->operand[i] >= n->n_in + n->n_out && g->tensors[t].bytes != packed_bytes, ST_BAD_BINARY,
                  "node \"%s\": its packed weights are %llu bytes and should be %llu; prepare the model again", n->name,
                  (unsigned long long)g->tensors[t].bytes, (unsigned long long)packed_bytes);
    }
    return ST_OK;
}

static enum status bind_node(struct backend_graph *g, uint32_t node)
{
    const struct binary_node *n = &g->g->nodes[node];
    struct node_call v;
    size_t first = g->work.launches.n;
    RETURN_IF(n->n_guards, ST_BINARY_CONFIG, "node \"%s\" runs on a condition, which the GPU backend cannot do", n->name);
    view_node(g->g, n, &v);
    TRY(gpu_bind(&v.call, &g->work));
    for (size_t i = first; i < g->work.launches.n; i++) {
        uint32_t *slot = vec_push(&g->nodes);
        RETURN_IF(!slot, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
        *slot = node;
        g->work.launches.at[i].node = node;
        TRY(find_operands(g->g, n, gpu_packed_bytes(&v.call), &g->work.launches.at[i]));
    }
    return ST_OK;
}

static enum status bind_nodes(struct backend_graph *g)
{
    for (uint32_t i = 0; i < g->g->n_commands; i++)
        if (g->g->commands[i].begin == 0)
            TRY(bind_node(g, g->g->commands[i].node));
    return ST_OK;
}

/* ---- entries ---------------------------------------------------------------------------------------------------------- */

static void graph_free(struct backend_graph *g)
{
    if (g->tensors && g->io_own && g->io_now && g->kept)
        gpu_graph_drop(g);
    vec_finish(&g->work.launches);
    vec_finish(&g->nodes);
    vec_finish(&g->patches);
    mem_free(g->steps);
    mem_free(g->tensors);
    mem_free(g->kept);
    mem_free(g->io_own);
    mem_free(g->io_now);
    mem_free(g->node_ns);
    mem_free(g);
}

static enum status fuse(struct backend_graph *g)
{
    CLEANUP(arena_finish) struct arena a;
    arena_init(&a);
    if (g->g->info.options & GPU_GRAPH_NO_FUSION)
        return ST_OK;
    TRY(gpu_fuse(g->g, &a, &g->work, g->nodes.at));
    g->nodes.n = g->work.launches.n;
    return ST_OK;
}

static enum status load(struct backend_graph *g)
{
    TRY(bind_nodes(g));
    TRY(fuse(g));
    g->steps = mem_array(struct gpu_step, g->work.launches.n);
    g->tensors = mem_array(cl_mem, g->g->n_tensors);
    g->kept = mem_array(cl_mem, g->g->n_nodes);
    g->io_own = mem_array(cl_mem, g->g->n_io);
    g->io_now = mem_array(cl_mem, g->g->n_io);
    g->node_ns = mem_array(uint64_t, g->g->n_nodes);
    RETURN_IF(!g->steps || !g->tensors || !g->kept || !g->io_own || !g->io_now || !g->node_ns, ST_NO_MEMORY,
              "graph \"%s\": no memory to load it", g->g->info.name);
    return gpu_graph_build(g, g->context->world);
}

enum status gpu_load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret)
{
    struct binary_target own = gpu_target();
    RETURN_IF(b->target.backend_id != own.backend_id, ST_BINARY_CONFIG,
              "the context binary was made for backend %u; this is the GPU backend (%u)", b->target.backend_id,
              own.backend_id);
    RETURN_IF(graph >= b->n_graphs, ST_INVALID_ARG, "graph %u of a context binary that has %u", graph, b->n_graphs);
    struct backend_graph *g = mem_new(struct backend_graph);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory to load a graph");
    g->context = c;
    g->g = &b->graphs[graph];
    g->no_recording = g->g->info.options & GPU_GRAPH_NO_RECORDING;
    pthread_mutex_lock(&c->lock);
    gpu_take_bytes(c, b);
    enum status st = load(g);
    if (st == ST_OK) {
        g->next = c->graphs;
        c->graphs = g;
    }
    pthread_mutex_unlock(&c->lock);
    if (st != ST_OK) {
        graph_free(g);
        return st;
    }
    *ret = g;
    return ST_OK;
}

void gpu_unload(struct backend_graph *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->context->lock);
    struct backend_graph **at = &g->context->graphs;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    pthread_mutex_unlock(&g->context->lock);
    graph_free(g);
}
