/* SPDX-License-Identifier: Apache-2.0 */
/* Homes: one per device in an OpenCL context of our own, one per OpenCL context that clients brought. Programs belong to
 * OpenCL contexts, so sharing them between QNN contexts means sharing the OpenCL context. */
#include "backend/gpu/gpu_world.h"
#include "base/mem.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and the counts */
static struct gpu_home *homes;

static void home_free(struct gpu_home *h)
{
    for (int s = 0; s < GPU_SOURCE_COUNT; s++)
        for (int t = 0; t < GPU_STORAGE_COUNT; t++)
            if (h->programs[s][t])
                gpu_cl.ReleaseProgram(h->programs[s][t]);
    if (h->context)
        gpu_cl.ReleaseContext(h->context);
    pthread_mutex_destroy(&h->lock);
    mem_free(h->recorder);
    mem_free(h);
}

static enum status look_at_device(struct gpu_home *h)
{
    cl_uint bits = 0;
    size_t items = 0;
    cl_device_fp_config single = 0;
    gpu_cl.GetDeviceInfo(h->device, CL_DEVICE_NAME, sizeof h->name - 1, h->name, NULL);
    gpu_cl.GetDeviceInfo(h->device, CL_DRIVER_VERSION, sizeof h->driver - 1, h->driver, NULL);
    gpu_cl.GetDeviceInfo(h->device, CL_DEVICE_VERSION, sizeof h->version - 1, h->version, NULL);
    CL_TRY("asking for the alignment of buffers",
           gpu_cl.GetDeviceInfo(h->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL));
    h->align = bits / 8 ? bits / 8 : 1;
    gpu_cl.GetDeviceInfo(h->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
    h->exact_division = single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    gpu_cl.GetDeviceInfo(h->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof items, &items, NULL);
    RETURN_IF(items < GPU_LANES, ST_NOT_SUPPORTED,
              "OpenCL device \"%s\" runs %zu work items in a group; at least %d are needed", h->name, items, GPU_LANES);
    return ST_OK;
}

static enum status settle(struct gpu_home *h, cl_context context)
{
    cl_int code = CL_SUCCESS;
    if (context)
        CL_TRY("keeping the client's context", gpu_cl.RetainContext(context));
    h->context = context ? context : gpu_cl.CreateContext(NULL, 1, &h->device, NULL, NULL, &code);
    CL_TRY("making a context", code);
    h->recorder = gpu_recorder_find(h);
    return look_at_device(h);
}

static struct gpu_home *find(cl_device_id device, cl_context context)
{
    for (struct gpu_home *h = homes; h; h = h->next)
        if (h->device == device && !atomic_load(&h->lost) && (context ? h->context == context : !h->of_client))
            return h;
    return NULL;
}

static enum status get(cl_device_id device, cl_context context, struct gpu_home **ret)
{
    struct gpu_home *h = find(device, context);
    if (!h) {
        h = mem_new(struct gpu_home);
        RETURN_IF(!h, ST_NO_MEMORY, "no memory for an OpenCL context");
        h->device = device;
        h->of_client = context;
        pthread_mutex_init(&h->lock, NULL);
        enum status st = settle(h, context);
        if (st != ST_OK) {
            home_free(h);
            return st;
        }
        h->next = homes;
        homes = h;
    }
    h->refs++;
    *ret = h;
    return ST_OK;
}

enum status gpu_home_get(cl_device_id device, cl_context context, struct gpu_home **ret)
{
    pthread_mutex_lock(&lock);
    enum status st = get(device, context, ret);
    pthread_mutex_unlock(&lock);
    return st;
}

void gpu_home_name(const struct gpu_home *h, struct gpu_key *k)
{
    gpu_key_text(k, h->name);
    gpu_key_text(k, h->driver);
    gpu_key_text(k, h->version);
}

enum status gpu_home_seen(struct gpu_home *h, enum status st)
{
    if (st == ST_COMMUNICATION)
        atomic_store(&h->lost, true);
    return st;
}

void gpu_home_put(struct gpu_home *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&lock);
    bool last = --h->refs == 0;
    struct gpu_home **at = &homes;
    while (last && *at != h)
        at = &(*at)->next;
    if (last)
        *at = h->next;
    pthread_mutex_unlock(&lock);
    if (last)
        home_free(h);
}
