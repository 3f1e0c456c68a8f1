/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: the text of a .cl file behind the shared beginning, built for one device and one kind of storage, once per home;
 * from a device binary where there is one that fits. */
#include <stdio.h>

#include "backend/backend.h"
#include "backend/gpu/gpu_registry.h"
#include "base/clock.h"
#include "base/mem.h"

enum { OPTIONS = 96 };

static const struct {
    const char *name;
    enum gpu_source source;
} kernels[GPU_KERNEL_COUNT] = {
#define GPU_KERNEL_ROW(id, name, source) [id] = { name, source },
    GPU_KERNEL_LIST(GPU_KERNEL_ROW)
#undef GPU_KERNEL_ROW
};

static const char *const source_names[GPU_SOURCE_COUNT] = {
#define GPU_SOURCE_NAME(id, name) [id] = name,
    GPU_SOURCE_LIST(GPU_SOURCE_NAME)
#undef GPU_SOURCE_NAME
};

const char *gpu_kernel_name(enum gpu_kernel kernel)
{
    return kernel < GPU_KERNEL_COUNT ? kernels[kernel].name : "product";
}

enum gpu_source gpu_kernel_source(enum gpu_kernel kernel)
{
    return kernels[kernel].source;
}

/* The end of the compiler's log; the beginning is mostly the text itself. */
static enum status build_failed(const struct gpu_home *h, cl_program p, enum gpu_source source, cl_int code)
{
    size_t n = 0;
    enum { SHOWN = 600 };
    gpu_cl.GetProgramBuildInfo(p, h->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n);
    CLEANUP(mem_freep) char *log = mem_zalloc(n + 1);
    if (log)
        gpu_cl.GetProgramBuildInfo(p, h->device, CL_PROGRAM_BUILD_LOG, n, log, NULL);
    return status_fail(code == CL_OUT_OF_HOST_MEMORY ? ST_NO_MEMORY : ST_PREPARE_FAILED,
                       "OpenCL device \"%s\" could not build %s (%s): %s", h->name, source_names[source], gpu_cl_error(code),
                       log ? log + (n > SHOWN ? n - SHOWN : 0) : "");
}

static void texts_of(enum gpu_source source, const char *text[4])
{
    text[0] = gpu_text_args;
    text[1] = gpu_text_kernels;
    text[2] = gpu_text_common;
    text[3] = gpu_texts[source];
}

static void options_of(const struct gpu_home *h, enum gpu_storage storage, char ret[OPTIONS])
{
    snprintf(ret, OPTIONS, "-cl-std=CL1.2 -DSTORAGE=%d%s", (int)storage,
             h->exact_division ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
}

struct gpu_key gpu_program_key(const struct gpu_home *h, enum gpu_source source, enum gpu_storage storage)
{
    struct gpu_key k = GPU_KEY_INIT;
    const char *text[4];
    char options[OPTIONS];
    texts_of(source, text);
    options_of(h, storage, options);
    for (int i = 0; i < 4; i++)
        gpu_key_text(&k, text[i]);
    gpu_key_text(&k, options);
    gpu_home_name(h, &k);
    return k;
}

static struct gpu_key maker;

static void hash_all(void)
{
    maker = GPU_KEY_INIT;
    gpu_key_text(&maker, gpu_text_args);
    gpu_key_text(&maker, gpu_text_kernels);
    gpu_key_text(&maker, gpu_text_common);
    for (int s = 0; s < GPU_SOURCE_COUNT; s++)
        gpu_key_text(&maker, gpu_texts[s]);
}

struct gpu_key gpu_program_maker(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, hash_all);
    return maker;
}

static enum status build_text(struct gpu_home *h, enum gpu_source source, enum gpu_storage storage, cl_program *ret)
{
    const char *text[4];
    char options[OPTIONS];
    cl_int code;
    texts_of(source, text);
    options_of(h, storage, options);
    cl_program p = gpu_cl.CreateProgramWithSource(h->context, 4, text, NULL, &code);
    CL_TRY("making a program", code);
    code = gpu_cl.BuildProgram(p, 1, &h->device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        enum status st = build_failed(h, p, source, code);
        gpu_cl.ReleaseProgram(p);
        return st;
    }
    *ret = p;
    return ST_OK;
}

/* NULL: there are no bytes, or the driver does not want them. */
static cl_program build_bytes(struct gpu_home *h, const struct gpu_registry *r, enum gpu_source source,
                              enum gpu_storage storage)
{
    struct gpu_key key = gpu_program_key(h, source, storage);
    const struct gpu_entry *e = gpu_registry_find(r, &key);
    char options[OPTIONS];
    cl_int state = CL_SUCCESS, code;
    if (!e)
        return NULL;
    const unsigned char *bytes = e->data;
    size_t n = e->bytes;
    cl_program p = gpu_cl.CreateProgramWithBinary(h->context, 1, &h->device, &n, &bytes, &state, &code);
    options_of(h, storage, options);
    if (code == CL_SUCCESS)
        code = gpu_cl.BuildProgram(p, 1, &h->device, options, NULL, NULL);
    if (code == CL_SUCCESS)
        return p;
    if (p)
        gpu_cl.ReleaseProgram(p);
    backend_log(BACKEND_WARN, "GPU: device \"%s\" refuses the stored form of %s (%s); it is compiled again", h->name,
                source_names[source], gpu_cl_error(code));
    return NULL;
}

static enum status build(struct gpu_home *h, struct gpu_registry *r, enum gpu_source source, enum gpu_storage storage,
                         cl_program *ret)
{
    uint64_t t0 = clock_ns();
    enum status st = ST_OK;
    *ret = build_bytes(h, r, source, storage);
    r->builds.from_bytes += *ret != NULL;
    r->builds.compiled += *ret == NULL;
    if (!*ret)
        st = build_text(h, source, storage, ret);
    r->builds.ns += clock_ns() - t0;
    return st;
}

static enum status get_program(struct gpu_home *h, struct gpu_registry *r, enum gpu_source source, enum gpu_storage storage,
                               cl_program *ret)
{
    cl_program *at = &h->programs[source][storage];
    pthread_mutex_lock(&h->lock);
    enum status st = *at ? ST_OK : build(h, r, source, storage, at);
    *ret = *at;
    pthread_mutex_unlock(&h->lock);
    return st;
}

enum status gpu_home_kernel(struct gpu_home *h, struct gpu_registry *r, enum gpu_kernel kernel, enum gpu_storage storage,
                            cl_kernel *ret)
{
    enum gpu_source source = kernels[kernel].source;
    cl_program p;
    cl_int code;
    TRY(get_program(h, r, source, storage, &p));
    r->used[source][storage] = true;
    *ret = gpu_cl.CreateKernel(p, kernels[kernel].name, &code);
    return gpu_cl_check(code, kernels[kernel].name);
}

/* With the lock held: drivers crash when two threads ask one program, and its size may not change between the calls. */
static enum status read_program(struct gpu_home *h, enum gpu_source source, enum gpu_storage storage, void **ret,
                                uint64_t *bytes)
{
    size_t n = 0;
    cl_program p = h->programs[source][storage];
    RETURN_IF(!p, ST_NOT_FOUND, "%s is not built", source_names[source]);
    CL_TRY("asking for the size of a device binary", gpu_cl.GetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL));
    RETURN_IF(!n, ST_NOT_SUPPORTED, "device \"%s\" gives no device binaries", h->name);
    CLEANUP(mem_freep) unsigned char *data = mem_alloc(n);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for a device binary of %zu bytes", n);
    CL_TRY("asking for a device binary", gpu_cl.GetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof data, &data, NULL));
    *ret = TAKE(data);
    *bytes = n;
    return ST_OK;
}

enum status gpu_program_bytes(struct gpu_home *h, enum gpu_source source, enum gpu_storage storage, void **ret,
                              uint64_t *bytes)
{
    pthread_mutex_lock(&h->lock);
    enum status st = read_program(h, source, storage, ret, bytes);
    pthread_mutex_unlock(&h->lock);
    return st;
}
