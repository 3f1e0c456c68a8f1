/* SPDX-License-Identifier: Apache-2.0 */
/* Constants on the device. With weight sharing, equal constants of all graphs and QNN contexts in a home are one buffer:
 * kernels only read them. Equal means the same 128-bit hash and size; looking at the bytes again would mean to keep a copy
 * of them on the host. */
#include <string.h>

#include "backend/gpu/gpu_world.h"
#include "base/mem.h"

struct gpu_weight {
    struct gpu_weight *next;
    struct gpu_key key;
    cl_mem buffer;
    uint32_t refs;
};

static enum status new_weight(struct gpu_home *h, const struct gpu_key *key, const void *data, uint64_t bytes,
                              struct gpu_weight **ret)
{
    struct gpu_weight *w = mem_new(struct gpu_weight);
    cl_int code;
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for a constant");
    w->key = *key;
    w->buffer =
        gpu_cl.CreateBuffer(h->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, (void *)(uintptr_t)data, &code);
    if (code != CL_SUCCESS) {
        mem_free(w);
        return gpu_cl_check(code, "making a buffer for a constant");
    }
    w->next = h->weights;
    h->weights = w;
    *ret = w;
    return ST_OK;
}

static enum status get(struct gpu_home *h, const void *data, uint64_t bytes, cl_mem *ret)
{
    struct gpu_key key = GPU_KEY_INIT;
    gpu_key_add(&key, data, bytes);
    struct gpu_weight *w = h->weights;
    while (w && memcmp(&w->key, &key, sizeof key))
        w = w->next;
    if (!w)
        TRY(new_weight(h, &key, data, bytes, &w));
    w->refs++;
    *ret = w->buffer;
    return ST_OK;
}

enum status gpu_weight_get(struct gpu_home *h, const void *data, uint64_t bytes, cl_mem *ret)
{
    pthread_mutex_lock(&h->lock);
    enum status st = get(h, data, bytes, ret);
    pthread_mutex_unlock(&h->lock);
    return st;
}

bool gpu_weight_put(struct gpu_home *h, cl_mem buffer)
{
    pthread_mutex_lock(&h->lock);
    struct gpu_weight **at = &h->weights, *w;
    while (*at && (*at)->buffer != buffer)
        at = &(*at)->next;
    w = *at;
    if (w && --w->refs == 0) {
        *at = w->next;
        gpu_cl.ReleaseMemObject(w->buffer);
        mem_free(w);
    }
    pthread_mutex_unlock(&h->lock);
    return w;
}
