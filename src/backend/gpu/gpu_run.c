/* SPDX-License-Identifier: Apache-2.0 */
/* One execution: what comes from the host is written, all kernels are put into the queue, what goes to the host is read, and
 * then there is one wait. Registered buffers are used where they are: nothing is written or read for them. */
#include "backend/gpu/gpu_record.h"

#include <stdio.h>

#include "base/clock.h"

/* What happened in one execution. */
struct run {
    struct backend_graph *g;
    const struct backend_run *r;
    cl_command_queue queue;
    uint32_t slice;          /* of a batch */
    uint64_t to_device, to_host; /* transfers */
    bool times;
};

enum { SIGNAL_KERNELS = 8 }; /* that a call with a signal has on the device at once */
#define NODE_EVENT "%s:OpId_%u (us)"

static bool is_input(const struct binary_tensor *t)
{
    return t->io & 1;
}

static bool is_output(const struct binary_tensor *t)
{
    return t->io & 2;
}

static const struct binary_tensor *io_tensor(const struct run *run, uint32_t k)
{
    return &run->g->g->tensors[run->g->g->io[k]];
}

/* ---- the client's buffers --------------------------------------------------------------------------------------------- */

static enum status check_mem(const struct run *run, uint32_t k)
{
    const struct binary_tensor *t = io_tensor(run, k);
    const struct backend_mem *m = run->r->io[k].mem;
    RETURN_IF(run->r->batch > 1, ST_INVALID_TENSOR, "tensor \"%s\": a batch of %u graphs cannot use registered buffers",
              t->name, run->r->batch);
    RETURN_IF(is_output(t) && m->flags & CL_MEM_READ_ONLY, ST_INVALID_TENSOR,
              "tensor \"%s\" is an output, and its OpenCL buffer is read-only; make it with CL_MEM_READ_WRITE", t->name);
    RETURN_IF(is_input(t) && m->flags & CL_MEM_WRITE_ONLY, ST_INVALID_TENSOR,
              "tensor \"%s\" is an input, and its OpenCL buffer is write-only; make it with CL_MEM_READ_WRITE", t->name);
    return ST_OK;
}

/* Kernels may write an output before they have read all inputs. */
static enum status check_apart(const struct run *run, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++)
        RETURN_IF(run->r->io[i].mem == run->r->io[k].mem && (is_output(io_tensor(run, i)) || is_output(io_tensor(run, k))),
                  ST_INVALID_TENSOR,
                  "tensors \"%s\" and \"%s\" have the same OpenCL buffer, and one is an output; give each tensor its own",
                  io_tensor(run, i)->name, io_tensor(run, k)->name);
    return ST_OK;
}

static enum status use_buffer(const struct run *run, uint32_t k, cl_mem buffer)
{
    struct backend_graph *g = run->g;
    if (g->io_now[k] == buffer)
        return ST_OK;
    g->io_now[k] = NULL;
    gpu_record_drop(g);
    for (size_t i = 0; i < g->patches.n; i++) {
        const struct gpu_patch *p = &g->patches.at[i];
        if (p->io == k)
            CL_TRY("giving a kernel the client's buffer",
                   gpu_cl.SetKernelArg(g->steps[p->step].kernel, p->arg, sizeof(cl_mem), &buffer));
    }
    g->io_now[k] = buffer;
    return ST_OK;
}

static enum status bind_io(const struct run *run)
{
    for (uint32_t k = 0; k < run->g->g->n_io; k++) {
        const struct backend_io *io = &run->r->io[k];
        RETURN_IF(!io->data && !io->mem && !io_tensor(run, k)->optional, ST_INVALID_ARG,
                  "graph \"%s\": tensor \"%s\" has no data; only optional tensors may be left out", run->g->g->info.name,
                  io_tensor(run, k)->name);
        if (io->mem)
            TRY(check_mem(run, k));
        if (io->mem)
            TRY(check_apart(run, k));
        TRY(use_buffer(run, k, io->mem ? io->mem->buffer : run->g->io_own[k]));
    }
    return ST_OK;
}

/* ---- the queue -------------------------------------------------------------------------------------------------------- */

static enum status write_input(struct run *run, uint32_t k)
{
    const struct backend_io *io = &run->r->io[k];
    static const cl_uint zero;
    uint64_t bytes = desc_bytes(&io_tensor(run, k)->desc);
    if (io->mem || !is_input(io_tensor(run, k)))
        return ST_OK;
    if (!io->data) /* left out: reads as zero */
        return gpu_cl_check(gpu_cl.EnqueueFillBuffer(run->queue, run->g->io_own[k], &zero, 1, 0, bytes, 0, NULL, NULL),
                            "clearing an input");
    run->to_device++;
    const char *from = (const char *)io->data + run->slice * bytes;
    return gpu_cl_check(gpu_cl.EnqueueWriteBuffer(run->queue, run->g->io_own[k], CL_FALSE, 0, bytes, from, 0, NULL, NULL),
                        "writing an input");
}

static enum status read_output(struct run *run, uint32_t k)
{
    const struct backend_io *io = &run->r->io[k];
    uint64_t bytes = desc_bytes(&io_tensor(run, k)->desc);
    if (!is_output(io_tensor(run, k)))
        return ST_OK;
    if (io->produced)
        *io->produced = 1;
    if (io->mem || !io->data)
        return ST_OK;
    run->to_host++;
    char *to = (char *)io->data + run->slice * bytes;
    return gpu_cl_check(gpu_cl.EnqueueReadBuffer(run->queue, run->g->io_own[k], CL_FALSE, 0, bytes, to, 0, NULL, NULL),
                        "reading an output");
}

static enum status interrupted(const struct cancel *c)
{
    enum status st = cancel_status(c);
    RETURN_IF(st == ST_ABORTED, st, "the execution was aborted by its signal");
    RETURN_IF(st == ST_TIMED_OUT, st, "the execution ran past the time of its signal");
    return ST_OK;
}

/* Times of single kernels and ends in between need kernels one by one. */
static enum status enqueue_steps(struct run *run)
{
    if (!run->times && !run->r->cancel && gpu_record_ready(run->g))
        return gpu_record_enqueue(run->g);
    for (uint32_t i = 0; i < run->g->n_steps; i++) {
        struct gpu_step *s = &run->g->steps[i];
        TRY(interrupted(run->r->cancel));
        cl_int code = gpu_cl.EnqueueNDRangeKernel(run->queue, s->kernel, 1, NULL, &s->items, &s->group, 0, NULL,
                                                  run->times ? &s->event : NULL);
        if (code != CL_SUCCESS)
            return status_prefix(gpu_cl_check(code, "starting a kernel"), "node \"%s\"", run->g->g->nodes[s->node].name);
        if (run->r->cancel && i % SIGNAL_KERNELS == SIGNAL_KERNELS - 1) /* what is in the device's queue cannot be aborted */
            TRY(gpu_cl_check(gpu_cl.Finish(run->queue), "waiting for the device"));
    }
    return ST_OK;
}

static enum status enqueue(struct run *run)
{
    for (uint32_t k = 0; k < run->g->g->n_io; k++)
        TRY(write_input(run, k));
    TRY(enqueue_steps(run));
    for (uint32_t k = 0; k < run->g->g->n_io; k++)
        TRY(read_output(run, k));
    return ST_OK;
}

/* Every event is given back, whether it is wanted or not. */
static void take_times(struct run *run)
{
    for (uint32_t i = 0; i < run->g->n_steps; i++) {
        struct gpu_step *s = &run->g->steps[i];
        cl_ulong begin = 0, end = 0;
        if (!s->event)
            continue;
        if (gpu_cl.GetEventProfilingInfo(s->event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL) == CL_SUCCESS &&
            gpu_cl.GetEventProfilingInfo(s->event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS &&
            end > begin)
            run->g->node_ns[s->node] += end - begin;
        gpu_cl.ReleaseEvent(s->event);
        s->event = NULL;
    }
}

static enum status run_slices(struct run *run)
{
    RETURN_IF(!run->g->built, ST_STATE,
              "graph \"%s\" lost its kernels when it was moved to the client's OpenCL context; create the context again",
              run->g->g->info.name);
    TRY(bind_io(run));
    for (run->slice = 0; run->slice < (run->r->batch ? run->r->batch : 1); run->slice++) {
        enum status st = enqueue(run);
        /* Also after a failure: what is in the queue still uses the client's memory. */
        enum status done = gpu_cl_check(gpu_cl.Finish(run->queue), "waiting for the device");
        take_times(run);
        TRY(st);
        TRY(done);
    }
    return ST_OK;
}

/* ---- profile ---------------------------------------------------------------------------------------------------------- */

static uint64_t to_us(uint64_t ns)
{
    return (ns + 500) / 1000;
}

static void add_events(const struct run *run, uint64_t waited, uint64_t ran)
{
    struct prof *p = run->r->prof;
    int32_t parent = run->r->prof_parent;
    prof_add(p, parent, PROF_QUEUE_WAIT, PROF_UNIT_US, to_us(waited), "Queue wait (execute) time");
    prof_add(p, parent, PROF_DEVICE, PROF_UNIT_US, to_us(ran), "Accelerator (execute) time");
    prof_add(p, parent, EVENT_TO_DEVICE, PROF_UNIT_COUNT, run->to_device, "Transfers from host to device");
    prof_add(p, parent, EVENT_TO_HOST, PROF_UNIT_COUNT, run->to_host, "Transfers from device to host");
    for (uint32_t i = 0; run->times && i < run->g->g->n_nodes; i++)
        prof_addf(p, parent, PROF_NODE, PROF_UNIT_US, to_us(run->g->node_ns[i]), NODE_EVENT, run->g->g->nodes[i].name, i);
}

enum status gpu_run(struct backend_graph *g, const struct backend_run *r)
{
    struct run run = { .g = g,
                       .r = r,
                       .times = r->prof && g->context->kernel_times && prof_level(r->prof) >= PROF_DETAILED };
    uint64_t t0 = r->prof ? clock_ns() : 0;
    pthread_mutex_lock(&g->context->lock);
    run.queue = g->context->world->queue;
    uint64_t t1 = r->prof ? clock_ns() : 0;
    for (uint32_t i = 0; run.times && i < g->g->n_nodes; i++)
        g->node_ns[i] = 0;
    enum status st = gpu_home_seen(g->context->world->home, run_slices(&run));
    if (r->prof)
        add_events(&run, t1 - t0 + (r->turn ? r->turn->waited_ns : 0), clock_ns() - t1);
    pthread_mutex_unlock(&g->context->lock);
    return st;
}
