/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to kernels, and from the client's pointers to operands. */
#include "base/mem.h"
#include "exec/program.h"

static const struct tensor_desc *desc_now(const struct exec_program *p, uint32_t t)
{
    return p->now ? &p->now[t] : &p->g->tensors[t].desc;
}

void bind_call(const struct exec_program *p, uint32_t node, struct exec_call *view)
{
    const struct binary_graph *g = p->g;
    const struct binary_node *n = &g->nodes[node];
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t t = n->in[i];
        view->in[i] = t == BINARY_NONE ? NULL : desc_now(p, t);
        view->in_data[i] =
            t != BINARY_NONE && g->tensors[t].place == PLACE_CONST ? p->constants + g->tensors[t].offset : NULL;
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        view->out[i] = n->out[i] == BINARY_NONE ? NULL : desc_now(p, n->out[i]);
    for (uint32_t i = 0; i < n->n_aux; i++)
        view->aux[i] = p->constants + g->tensors[n->aux[i]].offset;
    view->call = (struct op_call){ .op = n->op,
                                   .node = n->name,
                                   .n_in = n->n_in,
                                   .n_out = n->n_out,
                                   .n_aux = n->n_aux,
                                   .in = view->in,
                                   .out = view->out,
                                   .params = n->params,
                                   .in_data = view->in_data,
                                   .aux = view->aux,
                                   .post = n->post };
}

/* A binary is made by a compiler that may know other kernels than this library, or by somebody who wants to see it read
 * beyond a buffer. So what the kernels would ask for today is compared with what the file has: sizes of aux constants, and
 * that only inputs which they replace have no data. */
static enum status check_aux(const struct exec_program *p, uint32_t node, struct exec_call *view)
{
    const struct binary_graph *g = p->g;
    const struct binary_node *n = &g->nodes[node];
    struct kernel_aux want = {};
    if (n->n_aux) {
        /* The family asks for constants only when it sees that weights are constant, and does not look at the values. */
        static const uint64_t stripped[8];
        const void *saved[MAX_PORTS];
        for (uint32_t i = 0; i < n->n_in; i++) {
            saved[i] = view->in_data[i];
            if (n->in[i] != BINARY_NONE && g->tensors[n->in[i]].place == PLACE_NONE)
                view->in_data[i] = stripped;
        }
        TRY(kernel_aux(&view->call, &want));
        for (uint32_t i = 0; i < n->n_in; i++)
            view->in_data[i] = saved[i];
        RETURN_IF(want.n != n->n_aux, ST_BAD_BINARY,
                  "node \"%s\": the binary has %u kernel constants, this library's %s needs %u", n->name, n->n_aux,
                  n->op->name, want.n);
    }
    for (uint32_t i = 0; i < n->n_aux; i++)
        RETURN_IF(g->tensors[n->aux[i]].bytes < want.bytes[i], ST_BAD_BINARY,
                  "node \"%s\": kernel constant %u has %llu bytes, this library's %s needs %llu; prepare the model again",
                  n->name, i, (unsigned long long)g->tensors[n->aux[i]].bytes, n->op->name,
                  (unsigned long long)want.bytes[i]);
    for (uint32_t i = 0; i < n->n_in; i++) {
        bool empty = n->in[i] != BINARY_NONE && g->tensors[n->in[i]].place == PLACE_NONE;
        RETURN_IF(empty && (i >= 32 || !(want.replaces >> i & 1)), ST_BAD_BINARY,
                  "node \"%s\": input %u (\"%s\") has no data", n->name, i, g->tensors[n->in[i]].name);
    }
    return ST_OK;
}

enum status bind_node(struct exec_program *p, uint32_t node)
{
    struct exec_node *e = &p->nodes[node];
    struct exec_call view;
    struct kernel_bound b;
    bind_call(p, node, &view);
    view.call.work_budget = e->work_bytes; /* the workspace is what the plan gave */
    view.call.parts = p->team ? team_size(p->team) : 1;
    view.call.by_lines = p->g->chain_of && p->g->chain_of[node] != BINARY_NONE;
    if (!e->bind_args) {
        TRY(check_aux(p, node, &view));
        e->args = e->bind_args = arena_alloc(&p->arena, kernel_args_size(view.call.op->id));
        RETURN_IF(!e->args, ST_NO_MEMORY, "node \"%s\": no memory for its kernel", view.call.node);
    }
    TRY(outside_open(p, node, &view.call));
    TRY(kernel_bind(&view.call, p->isa, e->bind_args, &b));
    RETURN_IF(b.work_bytes > e->work_bytes, p->now ? ST_DYNAMIC_SHAPE : ST_BAD_BINARY,
              "node \"%s\": kernel %s needs %llu bytes of workspace, the binary has %llu; prepare the model again",
              view.call.node, b.name, (unsigned long long)b.work_bytes, (unsigned long long)e->work_bytes);
    struct op_lines lines;
    RETURN_IF(view.call.by_lines && (!b.by_lines || !desc_lines(view.out[0], &lines) || b.extent != lines.n), ST_BAD_BINARY,
              "node \"%s\": kernel %s does not work line by line, as its chain wants; prepare the model again",
              view.call.node, b.name);
    RETURN_IF(b.state_bytes > p->g->nodes[node].state_bytes, ST_BAD_BINARY,
              "node \"%s\": kernel %s needs %llu bytes of state, the binary has %llu; prepare the model again",
              view.call.node, b.name, (unsigned long long)b.state_bytes, (unsigned long long)p->g->nodes[node].state_bytes);
    e->run = b.run;
    e->extent = b.extent;
    e->whole = b.whole ? b.whole : 1;
    e->run_units = b.run_units;
    e->run_elements = b.run_elements;
    e->kernel = b.name;
    return ST_OK;
}

static enum status check_signal(const struct exec_program *p, const struct cancel *cancel, uint32_t done)
{
    enum status st = cancel_status(cancel);

    RETURN_IF(st != ST_OK, st, "graph \"%s\": loading it was ended by its signal, with %u of %u nodes done", p->g->info.name,
              done, p->g->n_nodes);
    return ST_OK;
}

enum status bind_all(struct exec_program *p, const struct cancel *cancel)
{
    for (uint32_t i = 0; i < p->g->n_nodes; i++) {
        TRY(check_signal(p, cancel, i));
        TRY(bind_node(p, i));
    }
    program_cut(p);
    near_find(p);
    return ST_OK;
}

/* What a step writes to the client another one may read as another tensor, which only the client knows. */
static bool buffers_overlap(const struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    for (uint32_t i = 0; i < g->n_io; i++) {
        uintptr_t begin = (uintptr_t)p->io_now[i], end = begin + p->io_bytes[i];
        for (uint32_t k = 0; g->tensors[g->io[i]].io > 1 && k < g->n_io; k++)
            if (k != i && (uintptr_t)p->io_now[k] < end && begin < (uintptr_t)p->io_now[k] + p->io_bytes[k])
                return true;
    }
    return false;
}

enum status bind_io(struct exec_program *p, const struct exec_binding *io)
{
    const struct binary_graph *g = p->g;
    for (uint32_t k = 0; k < g->n_io; k++) {
        void *data = io[k].data ? io[k].data : p->io_absent[k];
        if (data == p->io_now[k] && data)
            continue;
        RETURN_IF(!data, ST_INVALID_ARG, "graph \"%s\": tensor \"%s\" has no data; only optional tensors may be left out",
                  g->info.name, g->tensors[g->io[k]].name);
        p->io_now[k] = data;
        p->io_known = false;
        for (uint32_t s = p->io_first[k]; s < p->io_first[k + 1]; s++)
            p->slots[p->io_slot[s]] = data;
    }
    if (!p->io_known && (p->parallel || p->near))
        p->in_order = buffers_overlap(p);
    p->io_known = true;
    return ST_OK;
}
