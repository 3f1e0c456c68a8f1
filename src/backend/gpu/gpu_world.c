/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds: a home and a queue of one's own in it. */
#include "backend/gpu/gpu_world.h"

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

static enum status create(cl_device_id device, cl_context context, struct gpu_world **ret)
{
    cl_int code;
    CLEANUP(world_freep) struct gpu_world *w = mem_new(struct gpu_world);
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for an OpenCL queue");
    TRY(gpu_home_get(device, context, &w->home));
    w->queue = gpu_cl.CreateCommandQueue(w->home->context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    CL_TRY("making a command queue", code);
    backend_log(BACKEND_INFO, "GPU: OpenCL device \"%s\"%s", w->home->name, context ? ", in the client's context" : "");
    *ret = TAKE(w);
    return ST_OK;
}

enum status gpu_world_create(uint32_t device, struct gpu_world **ret)
{
    cl_device_id devices[GPU_MAX_DEVICES];
    uint32_t n;
    TRY(gpu_devices(devices, &n));
    RETURN_IF(device >= n, ST_INVALID_CONFIG, "OpenCL device %u; there are %u, counted from 0", device, n);
    return create(devices[device], NULL, ret);
}

enum status gpu_world_adopt(cl_context context, struct gpu_world **ret)
{
    cl_device_id devices[GPU_MAX_DEVICES];
    CL_TRY("asking for the devices of the client's context", gpu_cl.GetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL));
    return create(devices[0], context, ret);
}
