/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, and the client's OpenCL buffers in them.
 *
 * A buffer belongs to an OpenCL context of the client, and kernels can only use buffers of their own context. So with the
 * first buffer the backend moves into the client's context: graphs that are loaded already are built again there, once, and
 * run there from then on. */
#include "backend/gpu/gpu_record.h"

#include <string.h>

#include "base/mem.h"

enum status gpu_check_machine(void)
{
    cl_device_id devices[GPU_MAX_DEVICES];
    uint32_t n;
    return gpu_devices(devices, &n);
}

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

/* QNN_PRIORITY_LOW is 0, NORMAL 100, HIGH 200. */
static enum gpu_level priority_level(uint32_t priority)
{
    return priority < 100 ? GPU_LOW : priority == 100 ? GPU_NORMAL : GPU_HIGH;
}

/* A hint of the client, that of the context binary, or the documented default. */
static struct gpu_queue_wish wish_of(const struct backend_context *c)
{
    uint64_t hint = c->own[GPU_OWN_PERF_HINT] ? c->own[GPU_OWN_PERF_HINT] : c->registry.cache.settings;
    return (struct gpu_queue_wish){ .perf = hint ? (enum gpu_level)(hint - 1) : GPU_HIGH,
                                    .priority = priority_level(c->priority),
                                    .times = c->kernel_times };
}

/* Invalidating the performance cache is done once per time that the backend is told to, not once per context. */
static void init_tuner(struct backend_context *c, const struct backend_context_cfg *cfg)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint32_t done; /* the last number of backend_cfg.arch that was followed */
    pthread_mutex_lock(&lock);
    bool fresh = cfg && cfg->backend.arch > done;
    done = fresh ? cfg->backend.arch : done;
    gpu_tuner_init(&c->tuner, c->world->home, cfg ? cfg->backend.folder : "",
                   cfg && cfg->backend.target & GPU_BACKEND_TUNING, fresh);
    pthread_mutex_unlock(&lock);
}

enum status gpu_open(const struct backend_context_cfg *cfg, struct backend_context **ret)
{
    struct backend_context *c = mem_new(struct backend_context);
    RETURN_IF(!c, ST_NO_MEMORY, "no memory for a context");
    c->kernel_times = !(cfg && cfg->backend.target & GPU_BACKEND_NO_KERNEL_TIMES);
    c->share_weights = cfg && cfg->backend.target & GPU_BACKEND_WEIGHT_SHARING;
    c->priority = cfg ? cfg->priority : 100;
    if (cfg)
        memcpy(c->own, cfg->own, sizeof c->own);
    enum status st = gpu_world_create(cfg && cfg->device.soc_model ? cfg->device.soc_model - 1 : 0, wish_of(c), &c->world);
    if (st != ST_OK) {
        mem_free(c);
        return st;
    }
    gpu_registry_init(&c->registry, cfg ? cfg->folder : "", c->own[GPU_OWN_FRESH_REPO]);
    init_tuner(c, cfg);
    pthread_mutex_init(&c->lock, NULL);
    *ret = c;
    return ST_OK;
}

void gpu_close(struct backend_context *c)
{
    if (!c)
        return;
    gpu_registry_finish(&c->registry, c->world->home);
    gpu_tuner_finish(&c->tuner);
    gpu_world_free(c->world);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

static void follow_wish(struct backend_context *c)
{
    struct gpu_queue_wish wish = wish_of(c);
    if (gpu_same_wish(c->world->wish, wish))
        return;
    for (struct backend_graph *g = c->graphs; g; g = g->next)
        gpu_record_drop(g); /* recordings hold the queue */
    if (gpu_world_wish(c->world, wish) != ST_OK)
        backend_log(BACKEND_WARN, "GPU: hints to the device stay as they were: %s", status_text());
}

void gpu_update(struct backend_context *c, const struct backend_context_cfg *cfg)
{
    pthread_mutex_lock(&c->lock);
    if (cfg->own[GPU_OWN_REPO_GIVEN] != c->own[GPU_OWN_REPO_GIVEN])
        backend_log(BACKEND_WARN,
                    "GPU context config: KERNEL_REPO_DIR is for contexts that are created; this one stays as it was");
    memcpy(c->own, cfg->own, sizeof c->own);
    c->priority = cfg->priority;
    follow_wish(c);
    pthread_mutex_unlock(&c->lock);
}

enum status gpu_bytes(struct backend_context *c, const void **ret, uint64_t *bytes)
{
    pthread_mutex_lock(&c->lock);
    c->registry.cache.settings = (uint32_t)c->own[GPU_OWN_PERF_HINT];
    enum status st = gpu_registry_write(&c->registry, c->world->home, ret, bytes);
    pthread_mutex_unlock(&c->lock);
    return st;
}

void gpu_stage_events(struct backend_context *c, enum backend_stage stage, struct prof *prof, int32_t parent)
{
    pthread_mutex_lock(&c->lock);
    const struct gpu_builds b = c->registry.builds;
    c->registry.builds = (struct gpu_builds){ 0 };
    pthread_mutex_unlock(&c->lock);
    if (!prof || stage == STAGE_DEINIT)
        return;
    prof_add(prof, parent, EVENT_BUILD_TIME, PROF_UNIT_US, (b.ns + 500) / 1000, "Program build time");
    prof_add(prof, parent, EVENT_COMPILED, PROF_UNIT_COUNT, b.compiled, "Programs compiled");
    prof_add(prof, parent, EVENT_FROM_BINARY, PROF_UNIT_COUNT, b.from_bytes, "Programs from device binaries");
}

void gpu_take_bytes(struct backend_context *c, const struct binary *b)
{
    gpu_registry_read(&c->registry, b);
    if (c->registry.cache.settings > GPU_PERF_COUNT) /* not by us */
        c->registry.cache.settings = 0;
    follow_wish(c);
}

/* ---- registered buffers ----------------------------------------------------------------------------------------------- */

static enum status move_graphs(struct backend_context *c, struct gpu_world *to)
{
    for (struct backend_graph *g = c->graphs; g; g = g->next) {
        gpu_graph_drop(g);
        TRY(gpu_graph_build(g, to));
    }
    return ST_OK;
}

/* Everything into the client's context, or back to where it was. */
static enum status adopt(struct backend_context *c, cl_context context)
{
    struct gpu_world *to = NULL;
    TRY(gpu_world_adopt(context, c->world->home->device, c->world->wish, &to));
    enum status st = move_graphs(c, to), back = ST_OK;
    if (st != ST_OK) {
        char why[STATUS_TEXT_MAX];
        __builtin_strncpy(why, status_text(), sizeof why - 1);
        why[sizeof why - 1] = 0;
        back = move_graphs(c, c->world);
        gpu_world_free(to);
        return back == ST_OK ? status_fail(st, "%s", why) : back;
    }
    gpu_world_free(c->world);
    c->world = to;
    return ST_OK;
}

static enum status check_buffer(const struct backend_mem_spec *s, struct backend_mem *m, cl_context *context)
{
    cl_mem_object_type type = 0;
    size_t bytes = 0;
    RETURN_IF(!s->object, ST_MEM_TYPE,
              "the GPU backend registers OpenCL buffers: memory type CUSTOM with a QnnGpu_MemInfoCustom_t of type OPENCL");
    RETURN_IF(!gpu_cl_alive(s->object), ST_INVALID_ARG,
              "%p is not an OpenCL buffer of this process; give a cl_mem that is not released, made through the same "
              "libOpenCL.so.1",
              s->object);
    CL_TRY("asking for the type of the client's buffer",
           gpu_cl.GetMemObjectInfo(m->buffer, CL_MEM_TYPE, sizeof type, &type, NULL));
    RETURN_IF(type != CL_MEM_OBJECT_BUFFER, ST_INVALID_ARG, "the OpenCL memory object %p is an image; a buffer is expected",
              s->object);
    CL_TRY("asking for the size of the client's buffer",
           gpu_cl.GetMemObjectInfo(m->buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL));
    RETURN_IF(bytes < s->bytes, ST_INVALID_ARG, "the OpenCL buffer %p has %zu bytes; the tensor needs %llu", s->object,
              bytes, (unsigned long long)s->bytes);
    CL_TRY("asking for the flags of the client's buffer",
           gpu_cl.GetMemObjectInfo(m->buffer, CL_MEM_FLAGS, sizeof m->flags, &m->flags, NULL));
    return gpu_cl_check(gpu_cl.GetMemObjectInfo(m->buffer, CL_MEM_CONTEXT, sizeof *context, context, NULL),
                        "asking for the context of the client's buffer");
}

static enum status register_locked(struct backend_context *c, const struct backend_mem_spec *s, struct backend_mem *m)
{
    cl_context context = NULL;
    TRY(check_buffer(s, m, &context));
    RETURN_IF(context != c->world->home->context && c->n_mems, ST_INVALID_ARG,
              "the OpenCL buffer %p belongs to another OpenCL context than the %u buffers registered before it; a QNN "
              "context works in one of them at a time",
              s->object, c->n_mems);
    if (context != c->world->home->context)
        TRY(adopt(c, context));
    CL_TRY("keeping the client's buffer", gpu_cl.RetainMemObject(m->buffer));
    c->n_mems++;
    return ST_OK;
}

enum status gpu_mem_register(struct backend_context *c, const struct backend_mem_spec *s, struct backend_mem **ret)
{
    struct backend_mem *m = mem_new(struct backend_mem);
    RETURN_IF(!m, ST_NO_MEMORY, "no memory for a registration");
    m->context = c;
    m->buffer = s->object;
    pthread_mutex_lock(&c->lock);
    enum status st = register_locked(c, s, m);
    pthread_mutex_unlock(&c->lock);
    if (st != ST_OK) {
        mem_free(m);
        return st;
    }
    *ret = m;
    return ST_OK;
}

/* Kernels must not keep a buffer that nobody holds any more. */
static void forget(struct backend_context *c, cl_mem buffer)
{
    for (struct backend_graph *g = c->graphs; g; g = g->next)
        for (uint32_t i = 0; g->io_now && i < g->g->n_io; i++)
            if (g->io_now[i] == buffer) {
                g->io_now[i] = NULL;
                gpu_record_drop(g);
            }
}

void gpu_mem_release(struct backend_mem *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->context->lock);
    forget(m->context, m->buffer);
    gpu_cl.ReleaseMemObject(m->buffer);
    m->context->n_mems--;
    pthread_mutex_unlock(&m->context->lock);
    mem_free(m);
}
