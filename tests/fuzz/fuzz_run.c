/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_run.h"

#include <stdlib.h>

#include "exec/exec.h"
#include "fuzz_fill.h"
#include "kernels/kernels.h"
#include "prepare/prepare.h"

enum { MAX_BYTES = 1 << 18, MAX_TENSORS = 64, MAX_NODES = 16, MAX_MACS = 1 << 22 };

void require(bool ok)
{
    if (!ok)
        abort();
}

void check_graph(const struct ir_graph *g)
{
    struct str s;
    str_init(&s);
    require(ir_verify(g, "fuzz") == ST_OK);
    ir_print(g, 256, &s);
    require(!s.failed);
    str_finish(&s);
}

static bool is_small(const struct ir_graph *g)
{
    uint64_t total = 0;
    if (g->tensors.n > MAX_TENSORS || g->nodes.n > MAX_NODES)
        return false;
    for (size_t i = 0; i < g->tensors.n; i++) {
        uint64_t bytes = g->tensors.at[i].role == IR_ABSENT ? 0 : desc_bytes(&g->tensors.at[i].desc);
        if (bytes > MAX_BYTES)
            return false;
        total += bytes;
    }
    for (size_t i = 0; i < g->children.n; i++)
        if (g->children.n > 4 || !is_small(g->children.at[i]))
            return false;
    return total <= 4 * MAX_BYTES;
}

/* Inputs are hostile; what they are depends on the graph alone, so that the same file always runs the same. */
static void fill_inputs(const struct binary_graph *g, struct exec_binding *io)
{
    struct fuzz_bytes noise = fuzz_bytes_of((const uint8_t *)&g->n_nodes, sizeof(g->n_nodes));

    for (uint32_t i = 0; i < g->n_io; i++)
        fuzz_fill(&noise, &g->tensors[g->io[i]].desc, io[i].data);
}

/* A refusal is explained. */
static void bind_call(const struct op_call *c)
{
    struct kernel_bound b;
    void *args = calloc(1, kernel_args_size(c->op->id) + 1);

    require(args != NULL);
    status_clear();
    if (kernel_bind(c, cpu_isa(), args, &b) == ST_OK)
        require(b.extent > 0 && b.grain > 0);
    else
        require(status_text()[0] != '\0');
    free(args);
}

void bind_binary_graph(const struct binary_graph *g)
{
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];
        const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
        const struct op_call c = { .op = n->op,
                                   .node = n->name,
                                   .n_in = n->n_in,
                                   .n_out = n->n_out,
                                   .in = in,
                                   .out = out,
                                   .params = n->params,
                                   .post = n->post };

        if (n->n_in > MAX_PORTS || n->n_out > MAX_PORTS)
            continue;
        for (uint32_t i = 0; i < n->n_in; i++)
            in[i] = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]].desc;
        for (uint32_t i = 0; i < n->n_out; i++)
            out[i] = n->out[i] == BINARY_NONE ? NULL : &g->tensors[n->out[i]].desc;
        bind_call(&c);
    }
}

static void bind_graph(const struct ir_graph *g)
{
    struct ir_call v;

    for (size_t k = 0; k < g->nodes.n; k++) {
        ir_call(g, &g->nodes.at[k], &v);
        if (v.call.op->id != OP_If)
            bind_call(&v.call);
    }
    for (size_t i = 0; i < g->children.n; i++)
        bind_graph(g->children.at[i]);
}

void run_binary_graph(const struct binary_graph *g)
{
    struct exec_program *p = NULL;
    struct exec_opts o = { .isa = cpu_isa() };
    struct exec_binding *io = calloc(g->n_io + 1, sizeof(*io));
    struct cancel cancel = { .deadline_ns = 0 };
    struct exec_run r = { .io = io, .cancel = &cancel, .profile_nodes = true };
    require(io != NULL);
    for (uint32_t i = 0; i < g->n_io; i++) {
        io[i].data = calloc(1, desc_bytes(&g->tensors[g->io[i]].desc) + 1);
        require(io[i].data != NULL);
    }
    fill_inputs(g, io);
    status_clear();
    bool loaded = exec_load(g, &o, &p) == ST_OK;
    for (int run = 0; loaded && run < 2; run++)
        if (exec_run(p, &r) != ST_OK)
            require(status_text()[0] != '\0');
    require(loaded || status_text()[0] != '\0');
    exec_unload(p);
    for (uint32_t i = 0; i < g->n_io; i++)
        free(io[i].data);
    free(io);
}

void compile_and_run(struct ir_graph *g)
{
    static const struct cost_device device = { .clock_mhz = 1000,
                                               .matrix_macs = 1024,
                                               .vector_units = 1,
                                               .vector_percent = 100,
                                               .vtcm_rate = 64,
                                               .dram_mb_s = 1000,
                                               .vtcm_bytes = 65536 };
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 64,
                                .scratch_limit = 16 * MAX_BYTES,
                                .max_tiles = 3,
                                .order_steps = 2000,
                                .plan_nodes = 20000,
                                .device = &device,
                                .vtcm_bytes = 4096 };
    struct prepare_opts o = { .opt_level = 2 };
    struct binary_image im;
    struct binary b;
    bind_graph(g);
    if (!is_small(g))
        return;
    status_clear();
    if (prepare(&t, &o, g, &im) != ST_OK) {
        require(status_text()[0] != '\0');
        return;
    }
    /* What we write ourselves we must be able to read. */
    require(binary_open(im.data, im.size, &b) == ST_OK);
    require(binary_verify_constants(&b) == ST_OK);
    if (b.graphs[0].info.macs <= MAX_MACS)
        run_binary_graph(&b.graphs[0]);
    binary_close(&b);
    binary_image_free(&im);
}
