/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices there are. */
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gpu_world.h"
#include "base/mem.h"

enum { MAX_PLATFORMS = 16, TEXT = 256 };

static bool named(cl_platform_id p, cl_device_id d, const char *part)
{
    char device[TEXT] = "", platform[TEXT] = "";
    gpu_cl.GetDeviceInfo(d, CL_DEVICE_NAME, sizeof device - 1, device, NULL);
    gpu_cl.GetPlatformInfo(p, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    return strstr(device, part) || strstr(platform, part);
}

static bool usable(cl_device_id d)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    gpu_cl.GetDeviceInfo(d, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    gpu_cl.GetDeviceInfo(d, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    return available && compiler;
}

static bool is_gpu(cl_device_id d)
{
    cl_device_type type = 0;
    gpu_cl.GetDeviceInfo(d, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return type & CL_DEVICE_TYPE_GPU;
}

/* GPUs in front of all others, each kind in the order they come. */
static void insert(cl_device_id list[GPU_MAX_DEVICES], uint32_t *n, uint32_t *gpus, cl_device_id d)
{
    if (*n == GPU_MAX_DEVICES)
        return;
    uint32_t at = is_gpu(d) ? (*gpus)++ : *n;
    memmove(&list[at + 1], &list[at], (*n - at) * sizeof *list);
    list[at] = d;
    ++*n;
}

enum status gpu_devices(cl_device_id ret[GPU_MAX_DEVICES], uint32_t *n)
{
    const char *wanted = getenv("OPENQNN_GPU_DEVICE");
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_device_id found[GPU_MAX_DEVICES];
    cl_uint np = 0, nd = 0;
    uint32_t gpus = 0;
    *n = 0;
    TRY(gpu_cl_load());
    wanted = wanted && *wanted ? wanted : NULL;
    if (gpu_cl.GetPlatformIDs(MAX_PLATFORMS, platforms, &np) != CL_SUCCESS)
        np = 0;
    for (cl_uint i = 0; i < np && i < MAX_PLATFORMS; i++) {
        if (gpu_cl.GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, GPU_MAX_DEVICES, found, &nd) != CL_SUCCESS)
            continue;
        for (cl_uint k = 0; k < nd && k < GPU_MAX_DEVICES; k++)
            if (usable(found[k]) && (!wanted || named(platforms[i], found[k], wanted)))
                insert(ret, n, &gpus, found[k]);
    }
    RETURN_IF(!*n && wanted && np, ST_LOADING,
              "no OpenCL device has \"%s\" in its name or its platform's, as OPENQNN_GPU_DEVICE asks; clinfo -l lists what "
              "there is",
              wanted);
    RETURN_IF(!*n, ST_LOADING,
              "OpenCL has no device that can be used (%u drivers are installed); install the driver of the GPU, or the "
              "package pocl-opencl-icd, which runs on any CPU",
              (unsigned)np);
    return ST_OK;
}

bool gpu_device_can(cl_device_id device, const char *extension)
{
    size_t n = 0, len = strlen(extension);
    if (gpu_cl.GetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &n) != CL_SUCCESS)
        return false;
    CLEANUP(mem_freep) char *all = mem_zalloc(n + 1);
    if (!all || gpu_cl.GetDeviceInfo(device, CL_DEVICE_EXTENSIONS, n, all, NULL) != CL_SUCCESS)
        return false;
    for (const char *p = all; (p = strstr(p, extension)); p += len)
        if ((p == all || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
            return true;
    return false;
}
