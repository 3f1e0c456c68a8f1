/* SPDX-License-Identifier: Apache-2.0 */
/* See bench_gpu_limits.h. */
#include "bench_gpu_limits.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { MAX_PLATFORMS = 8, MAX_DEVICES = 16, SUMS = 12, RUNS = 25 };

/* SUMS independent sums per work item hide how long one multiplication takes. On CPUs a work item is a group, and vectors
 * are the device's. */
static const char text[] = "#define JOIN_(a, b) a##b\n"
                           "#define JOIN(a, b) JOIN_(a, b)\n"
                           "#if WIDTH == 1\n"
                           "typedef float V;\n"
                           "#else\n"
                           "typedef JOIN(float, WIDTH) V;\n"
                           "#endif\n"
                           "kernel void multiply(global float *y, int n)\n"
                           "{\n"
                           "    V sum[12], x = (V)(y[0]), z = (V)(y[1]), all = (V)(0.0f);\n"
                           "    for (int i = 0; i < 12; i++)\n"
                           "        sum[i] = (V)((float)i);\n"
                           "    for (int k = 0; k < n; k++) {\n"
                           "        #pragma unroll\n"
                           "        for (int i = 0; i < 12; i++)\n"
                           "            sum[i] = fma(sum[i], x, z);\n"
                           "    }\n"
                           "    for (int i = 0; i < 12; i++)\n"
                           "        all += sum[i];\n"
                           "    float part[WIDTH];\n"
                           "    *(V *)part = all;\n"
                           "    if (part[0] == 12345.0f)\n"
                           "        y[2] = part[0];\n"
                           "}\n"
                           "kernel void copy(global const float4 *x, global float4 *y, int each)\n"
                           "{\n"
                           "    size_t i = get_group_id(0) * get_local_size(0) * (size_t)each + get_local_id(0);\n"
                           "    for (int k = 0; k < each; k++, i += get_local_size(0))\n"
                           "        y[i] = x[i];\n"
                           "}\n";

static void fail(const char *what, cl_int code)
{
    if (code == CL_SUCCESS)
        return;
    fprintf(stderr, "bench: OpenCL: %s failed with %d\n", what, (int)code);
    exit(1);
}

static bool matches(const struct gpu_bench *b, cl_platform_id p, cl_device_id d)
{
    char device[256] = "", platform[256] = "";
    const char *wanted = getenv("OPENQNN_GPU_DEVICE");
    GPU_CALL(b, clGetDeviceInfo)(d, CL_DEVICE_NAME, sizeof device - 1, device, NULL);
    GPU_CALL(b, clGetPlatformInfo)(p, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    return !wanted || !*wanted || strstr(device, wanted) || strstr(platform, wanted);
}

static void find_device(struct gpu_bench *b)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_device_id devices[MAX_DEVICES];
    cl_uint np = 0, nd = 0;
    bool gpu = false;
    if (GPU_CALL(b, clGetPlatformIDs)(MAX_PLATFORMS, platforms, &np) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < np && i < MAX_PLATFORMS; i++) {
        if (GPU_CALL(b, clGetDeviceIDs)(platforms[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &nd) != CL_SUCCESS)
            continue;
        for (cl_uint k = 0; k < nd && k < MAX_DEVICES; k++) {
            cl_device_type type = 0;
            GPU_CALL(b, clGetDeviceInfo)(devices[k], CL_DEVICE_TYPE, sizeof type, &type, NULL);
            bool is_gpu = type & CL_DEVICE_TYPE_GPU;
            if (!matches(b, platforms[i], devices[k]) || (b->device && (gpu || !is_gpu)))
                continue;
            b->device = devices[k];
            gpu = is_gpu;
            b->cpu = type & CL_DEVICE_TYPE_CPU;
        }
    }
}

bool gpu_bench_open(struct gpu_bench *b)
{
    cl_int code;
    *b = (struct gpu_bench){ .lib = dlopen("libOpenCL.so.1", RTLD_NOW) };
    if (b->lib && access("/sys/devices/system/cpu", F_OK) == 0)
        find_device(b);
    if (!b->device) {
        printf("no OpenCL device: nothing is measured (package pocl-opencl-icd runs on any CPU)\n");
        return false;
    }
    GPU_CALL(b, clGetDeviceInfo)(b->device, CL_DEVICE_NAME, sizeof b->name - 1, b->name, NULL);
    GPU_CALL(b, clGetDeviceInfo)(b->device, CL_DRIVER_VERSION, sizeof b->driver - 1, b->driver, NULL);
    b->context = GPU_CALL(b, clCreateContext)(NULL, 1, &b->device, NULL, NULL, &code);
    fail("a context", code);
    b->queue = GPU_CALL(b, clCreateCommandQueue)(b->context, b->device, 0, &code);
    fail("a queue", code);
    setenv("OPENQNN_GPU_DEVICE", b->name, 1);
    return true;
}

void gpu_bench_close(struct gpu_bench *b)
{
    GPU_CALL(b, clReleaseCommandQueue)(b->queue);
    GPU_CALL(b, clReleaseContext)(b->context);
}

cl_mem gpu_bench_buffer(const struct gpu_bench *b, size_t bytes, const void *data)
{
    cl_int code;
    cl_mem m = GPU_CALL(b, clCreateBuffer)(b->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    fail("a buffer", code);
    if (data)
        fail("writing a buffer", GPU_CALL(b, clEnqueueWriteBuffer)(b->queue, m, CL_TRUE, 0, bytes, data, 0, NULL, NULL));
    return m;
}

static double best_seconds(const struct gpu_bench *b, cl_kernel k, size_t items, size_t group)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < RUNS; i++) {
        uint64_t t0 = clock_ns();
        fail("a kernel", GPU_CALL(b, clEnqueueNDRangeKernel)(b->queue, k, 1, NULL, &items, &group, 0, NULL, NULL));
        fail("waiting", GPU_CALL(b, clFinish)(b->queue));
        uint64_t took = clock_ns() - t0;
        best = took < best ? took : best;
    }
    return (double)best * 1e-9;
}

static void measure_products(struct gpu_bench *b, cl_program p, cl_uint units, cl_uint width)
{
    static const float start[4] = { 0.5f, 0.25f, 0, 0 };
    cl_int code, n = b->cpu ? 1 << 20 : 1 << 14;
    size_t group = b->cpu ? 1 : 256, items = b->cpu ? units : units * (size_t)2048;
    cl_kernel k = GPU_CALL(b, clCreateKernel)(p, "multiply", &code);
    fail("a kernel", code);
    cl_mem y = gpu_bench_buffer(b, sizeof start, start);
    GPU_CALL(b, clSetKernelArg)(k, 0, sizeof y, &y);
    GPU_CALL(b, clSetKernelArg)(k, 1, sizeof n, &n);
    b->gflops = 2e-9 * SUMS * (double)n * (double)items * width / best_seconds(b, k, items, group);
    GPU_CALL(b, clReleaseMemObject)(y);
    GPU_CALL(b, clReleaseKernel)(k);
}

static void measure_copy(struct gpu_bench *b, cl_program p)
{
    cl_int code, each = b->cpu ? 1 << 14 : 16;
    size_t bytes = b->cpu ? 256 << 20 : (size_t)1 << 30, group = b->cpu ? 1 : 256, items = bytes / 16 / (size_t)each;
    cl_kernel k = GPU_CALL(b, clCreateKernel)(p, "copy", &code);
    fail("a kernel", code);
    cl_mem x = gpu_bench_buffer(b, bytes, NULL), y = gpu_bench_buffer(b, bytes, NULL);
    GPU_CALL(b, clSetKernelArg)(k, 0, sizeof x, &x);
    GPU_CALL(b, clSetKernelArg)(k, 1, sizeof y, &y);
    GPU_CALL(b, clSetKernelArg)(k, 2, sizeof each, &each);
    b->copy_gbs = 2e-9 * (double)bytes / best_seconds(b, k, items, group);
    GPU_CALL(b, clReleaseMemObject)(x);
    GPU_CALL(b, clReleaseMemObject)(y);
    GPU_CALL(b, clReleaseKernel)(k);
}

void gpu_bench_limits(struct gpu_bench *b)
{
    cl_int code;
    cl_uint units = 1, width = 1;
    const char *source = text;
    char options[64];
    GPU_CALL(b, clGetDeviceInfo)(b->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    if (b->cpu)
        GPU_CALL(b, clGetDeviceInfo)(b->device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width, NULL);
    snprintf(options, sizeof options, "-DWIDTH=%u", width ? width : 1);
    cl_program p = GPU_CALL(b, clCreateProgramWithSource)(b->context, 1, &source, NULL, &code);
    fail("a program", code);
    fail("building a program", GPU_CALL(b, clBuildProgram)(p, 1, &b->device, options, NULL, NULL));
    measure_products(b, p, units, width ? width : 1);
    measure_copy(b, p);
    GPU_CALL(b, clReleaseProgram)(p);
}
