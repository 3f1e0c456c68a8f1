/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL as a client of its own uses it: a context, a queue and buffers, through functions found by name. */
#ifndef TESTS_GPU_CL_H
#define TESTS_GPU_CL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

struct client_cl {
    void *lib;
    cl_context context;
    cl_command_queue queue;
};

#define CL_CALL(c, name) ((__typeof__(&name))dlsym((c)->lib, #name))

/* The library shall compute where the client does: devices differ in their last bits, and a machine may have several. */
static inline void client_cl_name(const struct client_cl *c, cl_device_id device)
{
    char name[256] = "";
    CL_CALL(c, clGetDeviceInfo)(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    setenv("OPENQNN_GPU_DEVICE", name, 1);
}

/* The first device there is; 0 on success. A library that is opened afterwards takes the same one. */
static inline int client_cl_open(struct client_cl *c)
{
    if (access("/sys/devices/system/cpu", F_OK)) /* PoCL would end the process */
        return -1;
    cl_platform_id platform;
    cl_device_id device;
    cl_int code = CL_SUCCESS;
    c->context = NULL;
    c->queue = NULL;
    c->lib = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!c->lib || CL_CALL(c, clGetPlatformIDs)(1, &platform, NULL) ||
        CL_CALL(c, clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    client_cl_name(c, device);
    c->context = CL_CALL(c, clCreateContext)(NULL, 1, &device, NULL, NULL, &code);
    if (code == CL_SUCCESS)
        c->queue = CL_CALL(c, clCreateCommandQueue)(c->context, device, 0, &code);
    return code != CL_SUCCESS;
}

static inline void client_cl_close(struct client_cl *c)
{
    CL_CALL(c, clReleaseCommandQueue)(c->queue);
    CL_CALL(c, clReleaseContext)(c->context);
}

static inline cl_mem client_cl_buffer(const struct client_cl *c, cl_mem_flags flags, size_t bytes)
{
    return CL_CALL(c, clCreateBuffer)(c->context, flags, bytes, NULL, NULL);
}

static inline void *client_cl_map(const struct client_cl *c, cl_mem m, cl_map_flags flags, size_t bytes)
{
    return CL_CALL(c, clEnqueueMapBuffer)(c->queue, m, CL_TRUE, flags, 0, bytes, 0, NULL, NULL, NULL);
}

static inline void client_cl_unmap(const struct client_cl *c, cl_mem m, void *p)
{
    CL_CALL(c, clEnqueueUnmapMemObject)(c->queue, m, p, 0, NULL, NULL);
    CL_CALL(c, clFinish)(c->queue);
}

#endif
