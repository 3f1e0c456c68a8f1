/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL loader's functions, found by name. */
#include "backend/gpu/gpu_opencl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOADER "libOpenCL.so.1"

enum { MAX_PLATFORMS = 16 };

struct gpu_cl gpu_cl;

static const struct {
    const char *name;
    void **at;
    bool optional;
} functions[] = {
#define GPU_CL_ROW(name) { "cl" #name, (void **)&gpu_cl.name, false },
#define GPU_CL_OPTIONAL_ROW(name) { "cl" #name, (void **)&gpu_cl.name, true },
    GPU_CL_LIST(GPU_CL_ROW)
    GPU_CL_OPTIONAL(GPU_CL_OPTIONAL_ROW)
#undef GPU_CL_ROW
#undef GPU_CL_OPTIONAL_ROW
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;
static char missing[256]; /* what dlopen or dlsym said */

/* PoCL ends the process when it cannot look around in there. */
#define SYSFS "/sys/devices/system/cpu"

/* The loader stays: drivers keep threads, and objects of the client may outlive this library. */
static void load(void)
{
    if (access(SYSFS, F_OK) != 0) {
        snprintf(missing, sizeof missing, "there is no " SYSFS ", which drivers need to see; mount /sys here");
        return;
    }
    const char *named = getenv("OPENQNN_OPENCL_LIBRARY"), *loader = named && *named ? named : LOADER;
    void *lib = dlopen(loader, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib) {
        snprintf(missing, sizeof missing, "%s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        *functions[i].at = dlsym(lib, functions[i].name);
        if (*functions[i].at || functions[i].optional)
            continue;
        snprintf(missing, sizeof missing, "%s has no %s; OpenCL 1.2 is needed", loader, functions[i].name);
        return;
    }
    loaded = true;
}

enum status gpu_cl_load(void)
{
    pthread_once(&once, load);
    RETURN_IF(!loaded, ST_LOADING,
              "OpenCL cannot be used: %s. Install the packages ocl-icd-libopencl1 and a driver: that of the GPU, or "
              "pocl-opencl-icd, which runs on any CPU",
              missing);
    return ST_OK;
}

static const struct {
    cl_int code;
    const char *name;
} error_names[] = {
#define NAME(code) { code, #code }
    NAME(CL_DEVICE_NOT_FOUND),
    NAME(CL_DEVICE_NOT_AVAILABLE),
    NAME(CL_COMPILER_NOT_AVAILABLE),
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NAME(CL_OUT_OF_RESOURCES),
    NAME(CL_OUT_OF_HOST_MEMORY),
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
    NAME(CL_BUILD_PROGRAM_FAILURE),
    NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAME(CL_INVALID_VALUE),
    NAME(CL_INVALID_PLATFORM),
    NAME(CL_INVALID_DEVICE),
    NAME(CL_INVALID_CONTEXT),
    NAME(CL_INVALID_COMMAND_QUEUE),
    NAME(CL_INVALID_MEM_OBJECT),
    NAME(CL_INVALID_BUILD_OPTIONS),
    NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    NAME(CL_INVALID_KERNEL_NAME),
    NAME(CL_INVALID_KERNEL_ARGS),
    NAME(CL_INVALID_ARG_INDEX),
    NAME(CL_INVALID_ARG_VALUE),
    NAME(CL_INVALID_ARG_SIZE),
    NAME(CL_INVALID_WORK_GROUP_SIZE),
    NAME(CL_INVALID_WORK_ITEM_SIZE),
    NAME(CL_INVALID_BUFFER_SIZE),
    NAME(CL_INVALID_GLOBAL_WORK_SIZE),
    { -1001, "CL_PLATFORM_NOT_FOUND_KHR" },
#undef NAME
};

const char *gpu_cl_error(cl_int code)
{
    for (size_t i = 0; i < sizeof error_names / sizeof error_names[0]; i++)
        if (error_names[i].code == code)
            return error_names[i].name;
    return "an unnamed error";
}

enum status gpu_cl_check(cl_int code, const char *what)
{
    bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY ||
                  code == CL_INVALID_BUFFER_SIZE;
    bool gone = code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_COMMAND_QUEUE;
    RETURN_IF(gone, ST_COMMUNICATION,
              "OpenCL: %s failed with %s (%d): the device is gone; free the context and create another", what,
              gpu_cl_error(code), (int)code);
    RETURN_IF(code != CL_SUCCESS, memory ? ST_NO_MEMORY : ST_SYSTEM, "OpenCL: %s failed with %s (%d)", what,
              gpu_cl_error(code), (int)code);
    return ST_OK;
}

/* Reading through the system call fails where a load would end the process. */
static bool first_word(const void *p, void **ret)
{
    struct iovec to = { ret, sizeof *ret }, from = { (void *)p, sizeof *ret };
    return p && (uintptr_t)p % sizeof(void *) == 0 &&
           process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof *ret;
}

/* Every object of an installable driver begins with the address of its driver's function table, platforms included. */
bool gpu_cl_alive(const void *p)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    void *table, *known;
    if (!first_word(p, &table) || gpu_cl.GetPlatformIDs(MAX_PLATFORMS, platforms, &n) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < n && i < MAX_PLATFORMS; i++)
        if (first_word(platforms[i], &known) && known == table)
            return true;
    return false;
}
