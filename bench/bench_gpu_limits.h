/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL device of the benchmark's own, and what it can do at most: plain kernels that only multiply and add, or only
 * copy. */
#ifndef BENCH_GPU_LIMITS_H
#define BENCH_GPU_LIMITS_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

struct gpu_bench {
    void *lib;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    char name[128], driver[64];
    bool cpu;
    double gflops, copy_gbs; /* the limits: float32 operations, bytes read and written */
};

#define GPU_CALL(b, name) ((__typeof__(&name))dlsym((b)->lib, #name))

/* The device that libQnnGpu.so would take; false, with a reason printed, when there is none. */
bool gpu_bench_open(struct gpu_bench *b);
void gpu_bench_close(struct gpu_bench *b);
void gpu_bench_limits(struct gpu_bench *b);
cl_mem gpu_bench_buffer(const struct gpu_bench *b, size_t bytes, const void *data);

#endif
