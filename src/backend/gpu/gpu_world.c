/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds: a home and a queue of one's own in it. */
#include "backend/gpu/gpu_world.h"

#include <CL/cl_ext.h>

#include "backend/backend.h"
#include "base/mem.h"

void gpu_world_free(struct gpu_world *w)
{
    if (!w)
        return;
    if (w->queue)
        gpu_cl.ReleaseCommandQueue(w->queue);
    gpu_home_put(w->home);
    mem_free(w);
}

static void world_freep(struct gpu_world **w)
{
    gpu_world_free(*w);
}

/* The numbers of OpenCL's levels are bits from high to low, the same for both hints. */
static cl_queue_properties level_bit(enum gpu_level l)
{
    return (cl_queue_properties)1 << l;
}

static enum status new_queue(const struct gpu_home *h, struct gpu_queue_wish wish, cl_command_queue *ret)
{
    cl_command_queue_properties times = wish.times ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, times, 0, 0, 0, 0, 0 };
    int n = 2;
    cl_int code;
    if (gpu_device_can(h->device, "cl_khr_priority_hints")) {
        list[n++] = CL_QUEUE_PRIORITY_KHR;
        list[n++] = level_bit(wish.priority);
    }
    if (gpu_device_can(h->device, "cl_khr_throttle_hints")) {
        list[n++] = CL_QUEUE_THROTTLE_KHR;
        list[n++] = level_bit(wish.perf);
    }
    if (n > 2 && gpu_cl.CreateCommandQueueWithProperties)
        *ret = gpu_cl.CreateCommandQueueWithProperties(h->context, h->device, list, &code);
    else
        *ret = gpu_cl.CreateCommandQueue(h->context, h->device, times, &code);
    return gpu_cl_check(code, "making a command queue");
}

enum status gpu_world_wish(struct gpu_world *w, struct gpu_queue_wish wish)
{
    cl_command_queue q;
    TRY(new_queue(w->home, wish, &q));
    gpu_cl.ReleaseCommandQueue(w->queue);
    w->queue = q;
    w->wish = wish;
    return ST_OK;
}

static enum status create(cl_device_id device, cl_context context, struct gpu_queue_wish wish, struct gpu_world **ret)
{
    CLEANUP(world_freep) struct gpu_world *w = mem_new(struct gpu_world);
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for an OpenCL queue");
    TRY(gpu_home_get(device, context, &w->home));
    w->wish = wish;
    TRY(new_queue(w->home, wish, &w->queue));
    backend_log(BACKEND_INFO, "GPU: OpenCL device \"%s\"%s", w->home->name, context ? ", in the client's context" : "");
    *ret = TAKE(w);
    return ST_OK;
}

enum status gpu_world_create(uint32_t device, struct gpu_queue_wish wish, struct gpu_world **ret)
{
    cl_device_id devices[GPU_MAX_DEVICES];
    uint32_t n;
    TRY(gpu_devices(devices, &n));
    RETURN_IF(device >= n, ST_INVALID_CONFIG, "OpenCL device %u; there are %u, counted from 0", device, n);
    return create(devices[device], NULL, wish, ret);
}

enum status gpu_world_adopt(cl_context context, cl_device_id device, struct gpu_queue_wish wish, struct gpu_world **ret)
{
    cl_device_id devices[GPU_MAX_DEVICES], best;
    size_t bytes = 0;
    CL_TRY("asking for the devices of the client's context",
           gpu_cl.GetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes));
    best = devices[0];
    for (size_t i = 0; i < bytes / sizeof *devices; i++)
        best = devices[i] == device ? device : best;
    return create(best, context, wish, ret);
}
