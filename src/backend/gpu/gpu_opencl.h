/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL, loaded when it is first needed: every function by name into one table, linking nothing. */
#ifndef BACKEND_GPU_GPU_OPENCL_H
#define BACKEND_GPU_GPU_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 200 /* what is newer than 1.2 is optional */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "base/status.h"

#define GPU_CL_LIST(X)        \
    X(GetPlatformIDs)         \
    X(GetPlatformInfo)        \
    X(GetDeviceIDs)           \
    X(GetDeviceInfo)          \
    X(CreateContext)          \
    X(RetainContext)          \
    X(ReleaseContext)         \
    X(GetContextInfo)         \
    X(CreateCommandQueue)     \
    X(ReleaseCommandQueue)    \
    X(CreateBuffer)           \
    X(CreateSubBuffer)        \
    X(RetainMemObject)        \
    X(ReleaseMemObject)       \
    X(GetMemObjectInfo)       \
    X(CreateProgramWithSource) \
    X(CreateProgramWithBinary) \
    X(BuildProgram)           \
    X(GetProgramInfo)         \
    X(GetProgramBuildInfo)    \
    X(ReleaseProgram)         \
    X(CreateKernel)           \
    X(SetKernelArg)           \
    X(ReleaseKernel)          \
    X(EnqueueNDRangeKernel)   \
    X(EnqueueWriteBuffer)     \
    X(EnqueueReadBuffer)      \
    X(EnqueueFillBuffer)      \
    X(Flush)                  \
    X(Finish)                 \
    X(GetEventProfilingInfo)  \
    X(ReleaseEvent)

/* Functions that older loaders do not have; NULL then. */
#define GPU_CL_OPTIONAL(X)               \
    X(CreateCommandQueueWithProperties)  \
    X(GetExtensionFunctionAddressForPlatform)

struct gpu_cl {
#define GPU_CL_MEMBER(name) __typeof__(&cl##name) name;
    GPU_CL_LIST(GPU_CL_MEMBER)
    GPU_CL_OPTIONAL(GPU_CL_MEMBER)
#undef GPU_CL_MEMBER
};
extern struct gpu_cl gpu_cl; /* filled by gpu_cl_load */

/* The loader (libOpenCL.so.1, or what OPENQNN_OPENCL_LIBRARY names) and all its functions; again and again the
 * same answer. */
enum status gpu_cl_load(void);

/* "CL_OUT_OF_RESOURCES", or the number. */
const char *gpu_cl_error(cl_int code);

/* ST_OK, or a failure that names the call and OpenCL's code; out-of-memory codes become ST_NO_MEMORY, codes of a
 * device that is gone ST_COMMUNICATION. */
enum status gpu_cl_check(cl_int code, const char *what);
#define CL_TRY(what, code) TRY(gpu_cl_check((code), (what)))

/* Whether the object behind `p` belongs to a driver of this process: reads one word, and survives any pointer. */
bool gpu_cl_alive(const void *p);

#endif
