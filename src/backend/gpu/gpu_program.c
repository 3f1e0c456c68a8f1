/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: the text of a .cl file behind the shared beginning, built for one device and one kind of storage, once per home. */
#include <stdio.h>

#include "backend/gpu/gpu_world.h"
#include "base/mem.h"

static const struct {
    const char *name;
    enum gpu_source source;
} kernels[GPU_KERNEL_COUNT] = {
#define GPU_KERNEL_ROW(id, name, source) [id] = { name, source },
    GPU_KERNEL_LIST(GPU_KERNEL_ROW)
#undef GPU_KERNEL_ROW
};

static const char *const source_names[GPU_SOURCE_COUNT] = { "elementwise.cl", "bits.cl", "cast.cl", "product.cl", "window.cl", "rows.cl",
                                                             "blocks_4.cl", "blocks_8.cl", "blocks_16.cl" };

/* The end of the compiler's log; the beginning is mostly the text itself. */
static enum status build_failed(const struct gpu_home *h, cl_program p, enum gpu_source source, cl_int code)
{
    size_t n = 0;
    enum { SHOWN = 600 };
    gpu_cl.GetProgramBuildInfo(p, h->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n);
    CLEANUP(mem_freep) char *log = mem_zalloc(n + 1);
    if (log)
        gpu_cl.GetProgramBuildInfo(p, h->device, CL_PROGRAM_BUILD_LOG, n, log, NULL);
    return status_fail(code == CL_OUT_OF_HOST_MEMORY ? ST_NO_MEMORY : ST_PREPARE_FAILED, "OpenCL device \"%s\" could not build %s (%s): %s", h->name,
                       source_names[source], gpu_cl_error(code), log ? log + (n > SHOWN ? n - SHOWN : 0) : "");
}

static enum status build(struct gpu_home *h, enum gpu_source source, enum gpu_storage storage, cl_program *ret)
{
    const char *text[] = { gpu_text_args, gpu_text_kernels, gpu_text_common, gpu_texts[source] };
    char options[96];
    cl_int code;
    cl_program p = gpu_cl.CreateProgramWithSource(h->context, sizeof text / sizeof text[0], text, NULL, &code);
    CL_TRY("making a program", code);
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DSTORAGE=%d%s", (int)storage, h->exact_division ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    code = gpu_cl.BuildProgram(p, 1, &h->device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        enum status st = build_failed(h, p, source, code);
        gpu_cl.ReleaseProgram(p);
        return st;
    }
    *ret = p;
    return ST_OK;
}

static enum status get_program(struct gpu_home *h, enum gpu_source source, enum gpu_storage storage, cl_program *ret)
{
    pthread_mutex_lock(&h->lock);
    enum status st = h->programs[source][storage] ? ST_OK : build(h, source, storage, &h->programs[source][storage]);
    *ret = h->programs[source][storage];
    pthread_mutex_unlock(&h->lock);
    return st;
}

enum status gpu_home_kernel(struct gpu_home *h, enum gpu_kernel kernel, enum gpu_storage storage, cl_kernel *ret)
{
    cl_program p;
    cl_int code;
    TRY(get_program(h, kernels[kernel].source, storage, &p));
    *ret = gpu_cl.CreateKernel(p, kernels[kernel].name, &code);
    return gpu_cl_check(code, kernels[kernel].name);
}
