/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, contexts and queues. */
#include "backend/gpu/gpu_world.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/mem.h"

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 32, TEXT = 256 };

static bool named(cl_platform_id p, cl_device_id d, const char *part)
{
    char device[TEXT] = "", platform[TEXT] = "";
    gpu_cl.GetDeviceInfo(d, CL_DEVICE_NAME, sizeof device - 1, device, NULL);
    gpu_cl.GetPlatformInfo(p, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    return strstr(device, part) || strstr(platform, part);
}

/* 0: not to be used; more is better. */
static int rank_of(cl_platform_id p, cl_device_id d, const char *wanted)
{
    cl_device_type type = 0;
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    gpu_cl.GetDeviceInfo(d, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    gpu_cl.GetDeviceInfo(d, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    gpu_cl.GetDeviceInfo(d, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    if (!available || !compiler || (wanted && !named(p, d, wanted)))
        return 0;
    return type & CL_DEVICE_TYPE_GPU ? 2 : 1;
}

enum status gpu_find_device(cl_device_id *ret)
{
    const char *wanted = getenv("OPENQNN_GPU_DEVICE");
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_device_id devices[MAX_DEVICES];
    cl_uint np = 0, nd = 0;
    int best = 0;
    TRY(gpu_cl_load());
    wanted = wanted && *wanted ? wanted : NULL;
    if (gpu_cl.GetPlatformIDs(MAX_PLATFORMS, platforms, &np) != CL_SUCCESS)
        np = 0;
    for (cl_uint i = 0; i < np && i < MAX_PLATFORMS; i++) {
        if (gpu_cl.GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &nd) != CL_SUCCESS)
            continue;
        for (cl_uint k = 0; k < nd && k < MAX_DEVICES; k++) {
            int rank = rank_of(platforms[i], devices[k], wanted);
            *ret = rank > best ? devices[k] : *ret;
            best = rank > best ? rank : best;
        }
    }
    RETURN_IF(!best && wanted && np, ST_LOADING, "no OpenCL device has \"%s\" in its name or its platform's, as OPENQNN_GPU_DEVICE asks; clinfo -l lists what there is",
              wanted);
    RETURN_IF(!best, ST_LOADING,
              "OpenCL has no device that can be used (%u drivers are installed); install the driver of the GPU, or the package pocl-opencl-icd, which runs on any CPU",
              (unsigned)np);
    return ST_OK;
}

void gpu_world_free(struct gpu_world *w)
{
    if (!w)
        return;
    for (int s = 0; s < GPU_SOURCE_COUNT; s++)
        for (int t = 0; t < GPU_STORAGE_COUNT; t++)
            if (w->programs[s][t])
                gpu_cl.ReleaseProgram(w->programs[s][t]);
    if (w->queue)
        gpu_cl.ReleaseCommandQueue(w->queue);
    if (w->context)
        gpu_cl.ReleaseContext(w->context);
    mem_free(w);
}

static enum status check_device(const struct gpu_world *w)
{
    size_t items = 0;
    gpu_cl.GetDeviceInfo(w->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof items, &items, NULL);
    RETURN_IF(items < GPU_LANES, ST_NOT_SUPPORTED, "OpenCL device \"%s\" runs %zu work items in a group; at least %d are needed", w->name, items, GPU_LANES);
    return ST_OK;
}

static enum status begin(struct gpu_world *w)
{
    cl_int code;
    cl_uint bits = 0;
    gpu_cl.GetDeviceInfo(w->device, CL_DEVICE_NAME, sizeof w->name - 1, w->name, NULL);
    CL_TRY("asking for the alignment of buffers", gpu_cl.GetDeviceInfo(w->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL));
    w->align = bits / 8 ? bits / 8 : 1;
    cl_device_fp_config single = 0;
    gpu_cl.GetDeviceInfo(w->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
    w->exact_division = single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    TRY(check_device(w));
    w->queue = gpu_cl.CreateCommandQueue(w->context, w->device, CL_QUEUE_PROFILING_ENABLE, &code);
    return gpu_cl_check(code, "making a command queue");
}

static void world_freep(struct gpu_world **w)
{
    gpu_world_free(*w);
}

enum status gpu_world_create(struct gpu_world **ret)
{
    cl_int code;
    cl_device_id device = NULL;
    TRY(gpu_find_device(&device));
    CLEANUP(world_freep) struct gpu_world *w = mem_new(struct gpu_world);
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for an OpenCL context");
    w->device = device;
    w->context = gpu_cl.CreateContext(NULL, 1, &device, NULL, NULL, &code);
    CL_TRY("making a context", code);
    TRY(begin(w));
    backend_log(BACKEND_INFO, "GPU: OpenCL device \"%s\"", w->name);
    *ret = TAKE(w);
    return ST_OK;
}

enum status gpu_world_adopt(cl_context context, struct gpu_world **ret)
{
    cl_device_id devices[MAX_DEVICES];
    CLEANUP(world_freep) struct gpu_world *w = mem_new(struct gpu_world);
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for an OpenCL context");
    CL_TRY("asking for the devices of the client's context", gpu_cl.GetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL));
    w->device = devices[0];
    CL_TRY("keeping the client's context", gpu_cl.RetainContext(context));
    w->context = context;
    TRY(begin(w));
    backend_log(BACKEND_INFO, "GPU: OpenCL device \"%s\", in the client's context", w->name);
    *ret = TAKE(w);
    return ST_OK;
}
