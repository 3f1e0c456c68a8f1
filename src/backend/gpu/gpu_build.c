/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded graph in a world: buffers, and one kernel object per launch with all arguments set.
 *
 *     scratch     one buffer, cut into parts as the planner said
 *     constants   a buffer each, filled when the graph is built, or shared
 *     room        one buffer for what launches need besides their tensors; one per node for what a node keeps between
 *                 executions
 *     I/O         the client's registered buffers, or buffers of our own that are filled from and read to the host */
#include "backend/gpu/gpu_fit.h"
#include "backend/gpu/gpu_record.h"

#include "base/clock.h"

/* ---- buffers ---------------------------------------------------------------------------------------------------------- */

static enum status new_buffer(struct gpu_world *w, uint64_t bytes, const void *data, cl_mem *ret)
{
    cl_int code;
    *ret = gpu_cl.CreateBuffer(w->home->context, data ? CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE,
                               bytes ? bytes : 1, (void *)data, &code);
    return gpu_cl_check(code, "making a buffer");
}

static enum status new_part(const struct backend_graph *g, const struct gpu_world *w, const struct binary_tensor *t,
                            cl_mem *ret)
{
    cl_int code;
    cl_buffer_region region = { t->offset, t->bytes };
    RETURN_IF(t->offset % w->home->align, ST_BINARY_CONFIG,
              "tensor \"%s\" begins at %llu in its memory; device \"%s\" wants multiples of %u", t->name,
              (unsigned long long)t->offset, w->home->name, w->home->align);
    *ret = gpu_cl.CreateSubBuffer(g->scratch, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return gpu_cl_check(code, "cutting the scratch memory");
}

/* Tensors that take the place of others are the same part: a driver was seen to stumble over parts that are cut twice. */
static enum status get_part(struct backend_graph *g, const struct gpu_world *w, uint32_t tensor)
{
    const struct binary_tensor *all = g->g->tensors, *t = &all[tensor];
    for (uint32_t i = 0; i < tensor; i++)
        if (g->tensors[i] && all[i].place == PLACE_SCRATCH && all[i].offset == t->offset && all[i].bytes == t->bytes) {
            CL_TRY("sharing a part of the scratch memory", gpu_cl.RetainMemObject(g->tensors[i]));
            g->tensors[tensor] = g->tensors[i];
            return ST_OK;
        }
    return new_part(g, w, t, &g->tensors[tensor]);
}

static enum status build_buffers(struct backend_graph *g, struct gpu_world *w)
{
    const struct binary_graph *b = g->g;
    if (b->info.scratch_bytes)
        TRY(new_buffer(w, b->info.scratch_bytes, NULL, &g->scratch));
    for (uint32_t i = 0; i < b->n_tensors; i++) {
        const struct binary_tensor *t = &b->tensors[i];
        if (t->place == PLACE_CONST && t->bytes && g->context->share_weights)
            TRY(gpu_weight_get(w->home, b->constants + t->offset, t->bytes, &g->tensors[i]));
        else if (t->place == PLACE_CONST)
            TRY(new_buffer(w, t->bytes, b->constants + t->offset, &g->tensors[i]));
        else if (t->place == PLACE_SCRATCH && t->bytes)
            TRY(get_part(g, w, i));
    }
    for (uint32_t k = 0; k < b->n_io; k++)
        TRY(new_buffer(w, desc_bytes(&b->tensors[b->io[k]].desc), NULL, &g->io_own[k]));
    return ST_OK;
}

/* ---- memory besides the tensors --------------------------------------------------------------------------------------- */

static enum status clear(const struct gpu_world *w, cl_mem buffer, uint64_t bytes)
{
    static const cl_uint zero;
    return bytes ? gpu_cl_check(gpu_cl.EnqueueFillBuffer(w->queue, buffer, &zero, 1, 0, bytes, 0, NULL, NULL),
                                "clearing a buffer")
                 : ST_OK;
}

static enum status build_rooms(struct backend_graph *g, struct gpu_world *w)
{
    uint64_t most = 0;
    for (size_t i = 0; i < g->work.launches.n; i++) {
        const struct gpu_launch *l = &g->work.launches.at[i];
        most = !l->kept && l->room > most ? l->room : most;
        if (!l->kept || g->kept[l->node])
            continue;
        TRY(new_buffer(w, l->room, NULL, &g->kept[l->node]));
        TRY(clear(w, g->kept[l->node], l->room));
    }
    return most ? new_buffer(w, most, NULL, &g->room) : ST_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------ */

static bool same_memory(const struct binary_tensor *a, const struct binary_tensor *b)
{
    return a->place == b->place && a->offset == b->offset;
}

/* A kernel with all its arguments; inputs and outputs of the graph are our own buffers until a run brings others. */
static enum status set_args(struct backend_graph *g, const struct gpu_launch *l, cl_kernel kernel)
{
    CL_TRY("setting the parameters of a kernel", gpu_cl.SetKernelArg(kernel, 0, l->args_bytes, &l->args));
    for (uint32_t i = 0; i < l->n_operands; i++) {
        const struct binary_tensor *t = &g->g->tensors[l->tensors[i]];
        const cl_mem *buffer = t->place == PLACE_IO ? &g->io_own[t->offset] : &g->tensors[l->tensors[i]];
        CL_TRY("setting an operand of a kernel", gpu_cl.SetKernelArg(kernel, i + 1, sizeof(cl_mem), buffer));
    }
    if (l->room)
        CL_TRY("giving a kernel its room",
               gpu_cl.SetKernelArg(kernel, l->n_operands + 1u, sizeof(cl_mem), l->kept ? &g->kept[l->node] : &g->room));
    return ST_OK;
}

static enum status make_step(struct backend_graph *g, const struct gpu_launch *l, struct gpu_step *ret)
{
    *ret = (struct gpu_step){ .group = l->lanes, .items = (l->items + l->lanes - 1) / l->lanes * l->lanes };
    TRY(gpu_home_kernel(g->world->home, &g->context->registry, l->kernel, l->storage, &ret->kernel));
    enum status st = set_args(g, l, ret->kernel);
    if (st != ST_OK)
        gpu_cl.ReleaseKernel(ret->kernel);
    return st;
}

static enum status note_patches(struct backend_graph *g, const struct gpu_launch *l)
{
    for (uint32_t i = 0; i < l->n_operands; i++) {
        const struct binary_tensor *t = &g->g->tensors[l->tensors[i]];
        if (t->place != PLACE_IO)
            continue;
        struct gpu_patch *p = vec_push(&g->patches);
        RETURN_IF(!p, ST_NO_MEMORY, "no memory for the operands of a kernel");
        *p = (struct gpu_patch){ g->n_steps - 1, i + 1, (uint32_t)t->offset };
    }
    return ST_OK;
}

/* What a launch takes when it is run by itself: the better of two times. */
static enum status time_step(void *arg, const struct gpu_launch *l, uint64_t *ns)
{
    enum { TRIALS = 3, TOGETHER = 3 };
    struct backend_graph *g = arg;
    cl_command_queue queue = g->world->queue;
    struct gpu_step s;
    enum status st = ST_OK;
    TRY(make_step(g, l, &s));
    for (int i = 0; i < TRIALS && st == ST_OK; i++) { /* the first one is for getting ready */
        uint64_t t0 = clock_ns();
        for (int k = 0; k < TOGETHER && st == ST_OK; k++)
            st = gpu_cl_check(gpu_cl.EnqueueNDRangeKernel(queue, s.kernel, 1, NULL, &s.items, &s.group, 0, NULL, NULL),
                              "trying a kernel");
        enum status done = gpu_cl_check(gpu_cl.Finish(queue), "waiting for a kernel that is tried");
        st = st == ST_OK ? done : st;
        uint64_t t = (clock_ns() - t0) / TOGETHER;
        *ns = i < 2 || t < *ns ? t : *ns;
    }
    gpu_cl.ReleaseKernel(s.kernel);
    return st;
}

static enum status build_step(struct backend_graph *g, const struct gpu_traits *traits, size_t at)
{
    const struct gpu_launch *bound = &g->work.launches.at[at];
    struct gpu_tuner *tuner = &g->context->tuner;
    struct gpu_launch l;
    if (bound->view && same_memory(&g->g->tensors[bound->tensors[0]], &g->g->tensors[bound->tensors[1]]))
        return ST_OK;
    /* What a node keeps begins as zeros: it is not tried. */
    if (!gpu_tuned(tuner, g->world->home, bound, traits, &l) && tuner->search && !bound->kept) {
        TRY(gpu_tune(tuner, g->world->home, bound, traits, time_step, g));
        gpu_tuned(tuner, g->world->home, bound, traits, &l);
        backend_log(BACKEND_INFO, "GPU tuning: graph \"%s\", %zu of %zu kernels", g->g->info.name, at + 1,
                    g->work.launches.n);
    }
    struct gpu_step *s = &g->steps[g->n_steps];
    enum status st = make_step(g, &l, s);
    if (st != ST_OK)
        return status_prefix(st, "node \"%s\"", g->g->nodes[g->nodes.at[at]].name);
    s->node = g->nodes.at[at];
    g->n_steps++;
    return note_patches(g, &l);
}

/* Kernels that are tried compute with what is there: it should be numbers, and indices that exist. */
static enum status clear_all(struct backend_graph *g, const struct gpu_world *w)
{
    TRY(clear(w, g->scratch, g->g->info.scratch_bytes));
    for (uint32_t k = 0; k < g->g->n_io; k++)
        TRY(clear(w, g->io_own[k], desc_bytes(&g->g->tensors[g->g->io[k]].desc)));
    return ST_OK;
}

static enum status build(struct backend_graph *g, struct gpu_world *w)
{
    struct gpu_traits traits;
    gpu_traits_read(w->home->device, &traits);
    TRY(build_buffers(g, w));
    TRY(build_rooms(g, w));
    if (g->context->tuner.search)
        TRY(clear_all(g, w));
    for (size_t i = 0; i < g->work.launches.n; i++)
        TRY(build_step(g, &traits, i));
    for (uint32_t k = 0; k < g->g->n_io; k++)
        g->io_now[k] = g->io_own[k];
    /* What constants were filled from is the binary, which may be unmapped one day. */
    return gpu_cl_check(gpu_cl.Finish(w->queue), "waiting for the constants");
}

enum status gpu_graph_build(struct backend_graph *g, struct gpu_world *w)
{
    g->world = w;
    enum status st = gpu_home_seen(w->home, build(g, w));
    g->built = st == ST_OK;
    if (g->built)
        return ST_OK;
    gpu_graph_drop(g);
    return status_prefix(st, "graph \"%s\"", g->g->info.name);
}

static void release(cl_mem *m)
{
    if (*m)
        gpu_cl.ReleaseMemObject(*m);
    *m = NULL;
}

void gpu_graph_drop(struct backend_graph *g)
{
    g->built = false;
    gpu_record_drop(g);
    for (uint32_t i = 0; i < g->n_steps; i++)
        gpu_cl.ReleaseKernel(g->steps[i].kernel);
    g->n_steps = 0;
    g->patches.n = 0;
    for (uint32_t i = g->g->n_tensors; i-- > 0;) {
        if (g->tensors[i] && g->context->share_weights && gpu_weight_put(g->world->home, g->tensors[i]))
            g->tensors[i] = NULL;
        release(&g->tensors[i]);
    }
    for (uint32_t k = 0; k < g->g->n_io; k++) {
        release(&g->io_own[k]);
        g->io_now[k] = NULL;
    }
    for (uint32_t i = 0; i < g->g->n_nodes; i++)
        release(&g->kept[i]);
    release(&g->room);
    release(&g->scratch);
}
