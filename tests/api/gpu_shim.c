/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu_shim.h. Releasing never fails: drivers do not refuse it, and what is not released would be lost. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "gpu_shim.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FUNCTIONS = 96, MAX_PROPERTIES = 16, MAX_ASKED = 16, YIELDS = 50 };

static struct {
    pthread_mutex_t lock;
    struct {
        const char *name;
        uint32_t count;
    } functions[MAX_FUNCTIONS];
    uint32_t n_functions, total;
    const char *function; /* to fail, NULL: any */
    uint32_t nth;
    int code; /* 0: none */
    bool lasting, failed;
    _Atomic int live;
    _Atomic uint64_t bytes;
    uint32_t meetings;
    char driver[64], more[256];
    cl_uint align; /* bytes */
    cl_queue_properties properties[MAX_PROPERTIES];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *real(const char *name)
{
    static void *_Atomic lib;
    void *found = NULL;
    if (!lib)
        lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (lib)
        found = dlsym(lib, name);
    return found;
}

static uint32_t *counter(const char *name)
{
    for (uint32_t i = 0; i < state.n_functions; i++)
        if (strcmp(state.functions[i].name, name) == 0)
            return &state.functions[i].count;
    if (state.n_functions == MAX_FUNCTIONS)
        abort();
    state.functions[state.n_functions].name = name;
    return &state.functions[state.n_functions++].count;
}

/* One call; what it shall return instead of being made, or CL_SUCCESS. */
static cl_int step(const char *name)
{
    cl_int code = CL_SUCCESS;
    pthread_mutex_lock(&state.lock);
    uint32_t at = (*counter(name))++, all = state.total++;
    bool meant = state.code && (!state.function || strcmp(state.function, name) == 0);
    uint32_t number = state.function ? at : all;
    if (meant && (number == state.nth || (state.lasting && number > state.nth))) {
        state.failed = true;
        code = state.code;
    }
    pthread_mutex_unlock(&state.lock);
    return code;
}

/* ---- control ---------------------------------------------------------------------------------------------------------- */

static void shim_reset(void)
{
    pthread_mutex_lock(&state.lock);
    for (uint32_t i = 0; i < state.n_functions; i++)
        state.functions[i].count = 0;
    state.total = 0;
    state.code = 0;
    state.failed = false;
    state.bytes = 0;
    state.meetings = 0;
    state.driver[0] = state.more[0] = 0;
    state.align = 0;
    memset(state.properties, 0, sizeof state.properties);
    pthread_mutex_unlock(&state.lock);
}

static uint32_t shim_count(const char *function)
{
    pthread_mutex_lock(&state.lock);
    uint32_t n = state.total;
    for (uint32_t i = 0; function && i < state.n_functions; i++)
        if (strcmp(state.functions[i].name, function) == 0) {
            n = state.functions[i].count;
            function = NULL;
        }
    pthread_mutex_unlock(&state.lock);
    return function ? 0 : n;
}

static void shim_fail(const char *function, uint32_t nth, int code, bool lasting)
{
    pthread_mutex_lock(&state.lock);
    state.function = function;
    state.nth = nth + (function ? *counter(function) : state.total);
    state.code = code;
    state.lasting = lasting;
    pthread_mutex_unlock(&state.lock);
}

static bool shim_failed(void)
{
    return state.failed;
}

static int shim_live(void)
{
    return state.live;
}

static uint64_t shim_bytes(void)
{
    return state.bytes;
}

static void shim_driver(const char *version)
{
    snprintf(state.driver, sizeof state.driver, "%s", version ? version : "");
}

static void shim_align(uint32_t bytes)
{
    state.align = bytes;
}

static void shim_extensions(const char *more)
{
    snprintf(state.more, sizeof state.more, "%s", more ? more : "");
}

static uint64_t shim_property(uint64_t key)
{
    for (int i = 0; i + 1 < MAX_PROPERTIES && state.properties[i]; i += 2)
        if (state.properties[i] == key)
            return state.properties[i + 1];
    return 0;
}

static uint32_t shim_meetings(void)
{
    pthread_mutex_lock(&state.lock);
    uint32_t n = state.meetings;
    pthread_mutex_unlock(&state.lock);
    return n;
}

extern const struct gpu_shim gpu_shim;
__attribute__((visibility("default"))) const struct gpu_shim gpu_shim = {
    shim_reset,  shim_count, shim_fail,       shim_failed,   shim_live,     shim_bytes,
    shim_driver, shim_align, shim_extensions, shim_property, shim_meetings,
};

/* ---- functions -------------------------------------------------------------------------------------------------------- */

#define SHOWN __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))real(#name))

#define PLAIN(name, params, args)        \
    SHOWN cl_int name params             \
    {                                    \
        cl_int refused = step(#name);    \
        return refused ? refused : REAL(name) args; \
    }
#define RETAIN(name, params, args)       \
    SHOWN cl_int name params             \
    {                                    \
        cl_int refused = step(#name);    \
        cl_int code = refused ? refused : REAL(name) args; \
        state.live += code == CL_SUCCESS; \
        return code;                     \
    }
#define RELEASE(name, params, args) \
    SHOWN cl_int name params        \
    {                               \
        state.live--;               \
        return REAL(name) args;     \
    }
#define OBJECT(type, name, params, args) \
    SHOWN type name params               \
    {                                    \
        cl_int refused = step(#name);    \
        type made = refused ? NULL : REAL(name) args; \
        state.live += made != NULL;      \
        if (refused && e)                \
            *e = refused;                \
        return made;                     \
    }

PLAIN(clGetPlatformIDs, (cl_uint n, cl_platform_id *p, cl_uint *m), (n, p, m))
PLAIN(clGetPlatformInfo, (cl_platform_id p, cl_platform_info i, size_t s, void *v, size_t *r), (p, i, s, v, r))
PLAIN(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *d, cl_uint *m), (p, t, n, d, m))
OBJECT(cl_context, clCreateContext,
       (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
        void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *e),
       (p, n, d, f, u, e))
RETAIN(clRetainContext, (cl_context c), (c))
RELEASE(clReleaseContext, (cl_context c), (c))
PLAIN(clGetContextInfo, (cl_context c, cl_context_info i, size_t s, void *v, size_t *r), (c, i, s, v, r))
OBJECT(cl_command_queue, clCreateCommandQueue, (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *e),
       (c, d, p, e))
RELEASE(clReleaseCommandQueue, (cl_command_queue c), (c))
OBJECT(cl_mem, clCreateSubBuffer, (cl_mem m, cl_mem_flags f, cl_buffer_create_type t, const void *i, cl_int *e),
       (m, f, t, i, e))
RETAIN(clRetainMemObject, (cl_mem m), (m))
RELEASE(clReleaseMemObject, (cl_mem m), (m))
PLAIN(clGetMemObjectInfo, (cl_mem m, cl_mem_info i, size_t s, void *v, size_t *r), (m, i, s, v, r))
OBJECT(cl_program, clCreateProgramWithSource, (cl_context c, cl_uint n, const char **t, const size_t *l, cl_int *e),
       (c, n, t, l, e))
OBJECT(cl_program, clCreateProgramWithBinary,
       (cl_context c, cl_uint n, const cl_device_id *d, const size_t *l, const unsigned char **b, cl_int *s, cl_int *e),
       (c, n, d, l, b, s, e))

/* Drivers crash when two threads ask one program for its binary. Other threads are let run before the real call, so that
 * those that may come in do. */
SHOWN cl_int clGetProgramInfo(cl_program p, cl_program_info i, size_t s, void *v, size_t *r)
{
    static cl_program asked[MAX_ASKED];
    cl_int refused = step("clGetProgramInfo");
    int own = 0;
    if (refused)
        return refused;

    pthread_mutex_lock(&state.lock);
    for (int k = 0; k < MAX_ASKED; k++)
        state.meetings += asked[k] == p;
    while (own < MAX_ASKED - 1 && asked[own])
        own++;
    asked[own] = p;
    pthread_mutex_unlock(&state.lock);

    for (int k = 0; k < YIELDS; k++)
        sched_yield();
    cl_int code = REAL(clGetProgramInfo)(p, i, s, v, r);

    pthread_mutex_lock(&state.lock);
    asked[own] = NULL;
    pthread_mutex_unlock(&state.lock);
    return code;
}

PLAIN(clBuildProgram,
      (cl_program p, cl_uint n, const cl_device_id *d, const char *o, void(CL_CALLBACK *f)(cl_program, void *), void *u),
      (p, n, d, o, f, u))
PLAIN(clGetProgramBuildInfo, (cl_program p, cl_device_id d, cl_program_build_info i, size_t s, void *v, size_t *r),
      (p, d, i, s, v, r))
RELEASE(clReleaseProgram, (cl_program p), (p))
OBJECT(cl_kernel, clCreateKernel, (cl_program p, const char *n, cl_int *e), (p, n, e))
PLAIN(clSetKernelArg, (cl_kernel k, cl_uint i, size_t s, const void *v), (k, i, s, v))
RELEASE(clReleaseKernel, (cl_kernel k), (k))
PLAIN(clGetKernelWorkGroupInfo, (cl_kernel k, cl_device_id d, cl_kernel_work_group_info i, size_t s, void *v, size_t *r),
      (k, d, i, s, v, r))
#define WITH_EVENT(name, params, args)   \
    SHOWN cl_int name params             \
    {                                    \
        cl_int refused = step(#name);    \
        cl_int code = refused ? refused : REAL(name) args; \
        state.live += e && code == CL_SUCCESS; \
        return code;                     \
    }
WITH_EVENT(clEnqueueNDRangeKernel,
           (cl_command_queue c, cl_kernel k, cl_uint n, const size_t *o, const size_t *g, const size_t *l, cl_uint w,
            const cl_event *ws, cl_event *e),
           (c, k, n, o, g, l, w, ws, e))
PLAIN(clEnqueueWriteBuffer,
      (cl_command_queue c, cl_mem m, cl_bool b, size_t o, size_t s, const void *p, cl_uint w, const cl_event *ws,
       cl_event *e),
      (c, m, b, o, s, p, w, ws, e))
PLAIN(clEnqueueReadBuffer,
      (cl_command_queue c, cl_mem m, cl_bool b, size_t o, size_t s, void *p, cl_uint w, const cl_event *ws, cl_event *e),
      (c, m, b, o, s, p, w, ws, e))
PLAIN(clEnqueueFillBuffer,
      (cl_command_queue c, cl_mem m, const void *p, size_t ps, size_t o, size_t s, cl_uint w, const cl_event *ws,
       cl_event *e),
      (c, m, p, ps, o, s, w, ws, e))
PLAIN(clEnqueueCopyBuffer,
      (cl_command_queue c, cl_mem m, cl_mem t, size_t o, size_t p, size_t s, cl_uint w, const cl_event *ws, cl_event *e),
      (c, m, t, o, p, s, w, ws, e))
PLAIN(clFlush, (cl_command_queue c), (c))
PLAIN(clFinish, (cl_command_queue c), (c))
PLAIN(clGetEventProfilingInfo, (cl_event v, cl_profiling_info i, size_t s, void *p, size_t *r), (v, i, s, p, r))
RELEASE(clReleaseEvent, (cl_event v), (v))

SHOWN cl_mem clCreateBuffer(cl_context c, cl_mem_flags f, size_t s, void *p, cl_int *e)
{
    cl_int refused = step("clCreateBuffer");
    if (e)
        *e = refused;
    if (refused)
        return NULL;
    state.bytes += s;
    cl_mem made = REAL(clCreateBuffer)(c, f, s, p, e);
    state.live += made != NULL;
    return made;
}

static cl_int answer(const char *text, size_t s, void *v, size_t *r)
{
    size_t n = strlen(text) + 1;
    if (r)
        *r = n;
    if (v && s < n)
        return CL_INVALID_VALUE;
    if (v)
        memcpy(v, text, n);
    return CL_SUCCESS;
}

static cl_int answer_extensions(cl_device_id d, size_t s, void *v, size_t *r)
{
    char text[4096] = "";
    if (state.more[0] == '-') {
        REAL(clGetDeviceInfo)(d, CL_DEVICE_EXTENSIONS, sizeof text - 1, text, NULL);
        char *at = strstr(text, state.more + 1);
        if (at)
            memset(at, ' ', strlen(state.more + 1));
        return answer(text, s, v, r);
    }
    REAL(clGetDeviceInfo)(d, CL_DEVICE_EXTENSIONS, sizeof text / 2, text, NULL);
    snprintf(text + strlen(text), sizeof text / 4, " %s", state.more);
    return answer(text, s, v, r);
}

SHOWN cl_int clGetDeviceInfo(cl_device_id d, cl_device_info i, size_t s, void *v, size_t *r)
{
    cl_int refused = step("clGetDeviceInfo");
    if (refused)
        return refused;
    if (i == CL_DRIVER_VERSION && state.driver[0])
        return answer(state.driver, s, v, r);
    if (i == CL_DEVICE_EXTENSIONS && state.more[0])
        return answer_extensions(d, s, v, r);
    cl_int code = REAL(clGetDeviceInfo)(d, i, s, v, r);
    if (i == CL_DEVICE_MEM_BASE_ADDR_ALIGN && state.align && v && code == CL_SUCCESS)
        *(cl_uint *)v = 8 * state.align;
    return code;
}

/* Hints that were only pretended are kept here; the driver would refuse them. */
SHOWN cl_command_queue clCreateCommandQueueWithProperties(cl_context c, cl_device_id d, const cl_queue_properties *p,
                                                          cl_int *e)
{
    cl_queue_properties left[] = { CL_QUEUE_PROPERTIES, 0, 0 };
    cl_int refused = step("clCreateCommandQueueWithProperties");
    memset(state.properties, 0, sizeof state.properties);
    for (int i = 0; p && p[i] && i + 2 < MAX_PROPERTIES; i += 2) {
        memcpy(&state.properties[i], &p[i], 2 * sizeof *p);
        if (p[i] == CL_QUEUE_PROPERTIES)
            left[1] = p[i + 1];
    }
    cl_command_queue made = refused ? NULL : REAL(clCreateCommandQueueWithProperties)(c, d, left, e);
    state.live += made != NULL;
    if (refused && e)
        *e = refused;
    return made;
}

/* ---- functions of extensions, which are found by asking --------------------------------------------------------------- */

/* Written out, because headers of different years disagree about some of the types. */
typedef void *(*create_fn)(cl_uint n, const cl_command_queue *q, const void *p, cl_int *e);
typedef cl_int (*finalize_fn)(void *b);
typedef cl_int (*enqueue_fn)(cl_uint n, cl_command_queue *q, void *b, cl_uint w, const cl_event *ws, cl_event *e);
typedef cl_int (*command_fn)(void *b, cl_command_queue q, const void *p, cl_kernel k, cl_uint d, const size_t *o,
                             const size_t *g, const size_t *l, cl_uint n, const cl_uint *w, cl_uint *s, void *m);

static cl_platform_id platform;
#define EXTENSION(type, name) ((type)REAL(clGetExtensionFunctionAddressForPlatform)(platform, name))

static void *record(cl_uint n, const cl_command_queue *q, const void *p, cl_int *e)
{
    cl_int refused = step("clCreateCommandBufferKHR");
    void *made = refused ? NULL : EXTENSION(create_fn, "clCreateCommandBufferKHR")(n, q, p, e);
    state.live += made != NULL;
    if (refused && e)
        *e = refused;
    return made;
}

static cl_int forget(void *b)
{
    state.live--;
    return EXTENSION(finalize_fn, "clReleaseCommandBufferKHR")(b);
}

static cl_int finalize(void *b)
{
    cl_int refused = step("clFinalizeCommandBufferKHR");
    return refused ? refused : EXTENSION(finalize_fn, "clFinalizeCommandBufferKHR")(b);
}

static cl_int enqueue(cl_uint n, cl_command_queue *q, void *b, cl_uint w, const cl_event *ws, cl_event *e)
{
    cl_int refused = step("clEnqueueCommandBufferKHR");
    return refused ? refused : EXTENSION(enqueue_fn, "clEnqueueCommandBufferKHR")(n, q, b, w, ws, e);
}

#define COMMAND(function, type, name, params, args) \
    static cl_int function params                   \
    {                                               \
        cl_int refused = step(name);                \
        return refused ? refused : EXTENSION(type, name) args; \
    }
COMMAND(command, command_fn, "clCommandNDRangeKernelKHR",
        (void *b, cl_command_queue q, const void *p, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
         const size_t *l, cl_uint n, const cl_uint *w, cl_uint *s, void *m),
        (b, q, p, k, d, o, g, l, n, w, s, m))

SHOWN void *clGetExtensionFunctionAddressForPlatform(cl_platform_id p, const char *name)
{
    static const struct {
        const char *name;
        void *at;
    } own[] = {
        { "clCreateCommandBufferKHR", (void *)record },
        { "clFinalizeCommandBufferKHR", (void *)finalize },
        { "clReleaseCommandBufferKHR", (void *)forget },
        { "clEnqueueCommandBufferKHR", (void *)enqueue },
        { "clCommandNDRangeKernelKHR", (void *)command },
    };
    void *found = REAL(clGetExtensionFunctionAddressForPlatform)(p, name);
    platform = p;
    for (size_t i = 0; found && i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i].name, name) == 0)
            return own[i].at;
    return found;
}
