/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of graphs. The functions are the extension's, which no loader exports: they are asked for by name, per
 * platform. Their types are written out here, because headers of different years disagree about them. */
#include "backend/gpu/gpu_record.h"

#include "base/mem.h"

typedef void *(CL_API_CALL *create_fn)(cl_uint n, const cl_command_queue *queues, const cl_ulong *properties, cl_int *code);
typedef cl_int(CL_API_CALL *command_fn)(void *buffer, cl_command_queue queue, const cl_ulong *properties, cl_kernel kernel,
                                        cl_uint rank, const size_t *offset, const size_t *global, const size_t *local,
                                        cl_uint n_wait, const cl_uint *wait, cl_uint *point, void **handle);
typedef cl_int(CL_API_CALL *one_fn)(void *buffer);
typedef cl_int(CL_API_CALL *enqueue_fn)(cl_uint n, cl_command_queue *queues, void *buffer, cl_uint n_wait,
                                        const cl_event *wait, cl_event *event);

struct gpu_recorder {
    create_fn create;
    command_fn command;
    one_fn finalize, release;
    enqueue_fn enqueue;
};

static bool find_all(const struct gpu_home *h, struct gpu_recorder *ret)
{
    cl_platform_id platform = NULL;
    if (!gpu_cl.GetExtensionFunctionAddressForPlatform || !gpu_device_can(h->device, "cl_khr_command_buffer"))
        return false;
    if (gpu_cl.GetDeviceInfo(h->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS)
        return false;
    ret->create = (create_fn)gpu_cl.GetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR");
    ret->command = (command_fn)gpu_cl.GetExtensionFunctionAddressForPlatform(platform, "clCommandNDRangeKernelKHR");
    ret->finalize = (one_fn)gpu_cl.GetExtensionFunctionAddressForPlatform(platform, "clFinalizeCommandBufferKHR");
    ret->release = (one_fn)gpu_cl.GetExtensionFunctionAddressForPlatform(platform, "clReleaseCommandBufferKHR");
    ret->enqueue = (enqueue_fn)gpu_cl.GetExtensionFunctionAddressForPlatform(platform, "clEnqueueCommandBufferKHR");
    return ret->create && ret->command && ret->finalize && ret->release && ret->enqueue;
}

struct gpu_recorder *gpu_recorder_find(const struct gpu_home *h)
{
    struct gpu_recorder r = { 0 };
    return find_all(h, &r) ? mem_dup(&r, sizeof r) : NULL;
}

static enum status record(struct backend_graph *g, const struct gpu_recorder *r)
{
    cl_command_queue queue = g->world->queue;
    cl_int code;
    g->recording = r->create(1, &queue, NULL, &code);
    CL_TRY("beginning a recording", code);
    for (uint32_t i = 0; i < g->n_steps; i++) {
        const struct gpu_step *s = &g->steps[i];
        CL_TRY("recording a kernel",
               r->command(g->recording, NULL, NULL, s->kernel, 1, NULL, &s->items, &s->group, 0, NULL, NULL, NULL));
    }
    return gpu_cl_check(r->finalize(g->recording), "ending a recording");
}

bool gpu_record_ready(struct backend_graph *g)
{
    bool again = g->settled; /* a buffer that is used once is not worth a recording */
    g->settled = true;
    if (g->recording)
        return true;
    if (!again || g->no_recording || !g->n_steps)
        return false;
    const struct gpu_recorder *r = g->world->home->recorder;
    g->no_recording = !r;
    if (!r || record(g, r) == ST_OK)
        return r;
    backend_log(BACKEND_INFO, "GPU: graph \"%s\" runs without a recorded queue: %s", g->g->info.name, status_text());
    gpu_record_drop(g);
    g->no_recording = true;
    return false;
}

enum status gpu_record_enqueue(struct backend_graph *g)
{
    const struct gpu_recorder *r = g->world->home->recorder;
    return gpu_cl_check(r->enqueue(0, NULL, g->recording, 0, NULL, NULL), "starting a recorded queue");
}

void gpu_record_drop(struct backend_graph *g)
{
    if (g->recording)
        g->world->home->recorder->release(g->recording);
    g->recording = NULL;
    g->settled = false;
}
