/* SPDX-License-Identifier: Apache-2.0 */
/* Where graphs are computed.
 *
 *     device   what OpenCL has, in a fixed order
 *     home     an OpenCL context on one device, and what is made once in it: programs. Shared by all QNN contexts of the
 *              process that compute there
 *     world    a home and a queue: one per QNN context */
#ifndef BACKEND_GPU_GPU_WORLD_H
#define BACKEND_GPU_GPU_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "backend/gpu/gpu_cache.h"
#include "backend/gpu/gpu_launch.h"
#include "backend/gpu/gpu_opencl.h"

/* ---- devices (gpu_device.c) ------------------------------------------------------------------------------------------- */

enum { GPU_MAX_DEVICES = 32 };

/* All devices that can be used, or those that OPENQNN_GPU_DEVICE names by a part of their name or their platform's: GPUs
 * first, otherwise in OpenCL's order. ST_LOADING: there is none. */
enum status gpu_devices(cl_device_id ret[GPU_MAX_DEVICES], uint32_t *n);
/* Whether the device has an extension. */
bool gpu_device_can(cl_device_id device, const char *extension);

/* ---- homes (gpu_home.c) ----------------------------------------------------------------------------------------------- */

struct gpu_home {
    struct gpu_home *next;
    uint32_t refs;
    bool of_client;         /* the OpenCL context is the client's */
    _Atomic bool lost;      /* the device is gone: nobody moves in any more */
    cl_context context;
    cl_device_id device;
    uint32_t align;         /* bytes that a part of a buffer must begin at a multiple of */
    bool exact_division;    /* the device can round quotients and roots correctly */
    char name[128], driver[128], version[128];
    struct gpu_recorder *recorder; /* functions for recorded queues; NULL: the device has none */
    pthread_mutex_t lock;   /* of what follows */
    cl_program programs[GPU_SOURCE_COUNT][GPU_STORAGE_COUNT];
    struct gpu_weight *weights;    /* constants that graphs share (gpu_weights.c) */
};

/* The home on a device in an OpenCL context of ours (`context` NULL) or of the client; made when it is the first one. Worlds
 * hold it. */
enum status gpu_home_get(cl_device_id device, cl_context context, struct gpu_home **ret);
void gpu_home_put(struct gpu_home *h);
/* Passes `st` on; one that says that the device is gone is remembered. */
enum status gpu_home_seen(struct gpu_home *h, enum status st);

struct gpu_recorder *gpu_recorder_find(const struct gpu_home *h); /* free with mem_free (gpu_record.c) */
/* Device and driver become part of a key. */
void gpu_home_name(const struct gpu_home *h, struct gpu_key *k);

/* A constant that is shared with all who ask for the same bytes; and given back. false: it is not a shared one
 * (gpu_weights.c). */
enum status gpu_weight_get(struct gpu_home *h, const void *data, uint64_t bytes, cl_mem *ret);
bool gpu_weight_put(struct gpu_home *h, cl_mem buffer);

/* ---- worlds (gpu_world.c) --------------------------------------------------------------------------------------------- */

enum gpu_level { GPU_HIGH, GPU_NORMAL, GPU_LOW };

/* What a queue is asked for. Levels are hints that a device may not know. */
struct gpu_queue_wish {
    enum gpu_level perf;     /* energy that may be spent */
    enum gpu_level priority; /* against other queues */
    bool times;              /* of each kernel */
};

static inline bool gpu_same_wish(struct gpu_queue_wish a, struct gpu_queue_wish b)
{
    return a.perf == b.perf && a.priority == b.priority && a.times == b.times;
}

struct gpu_world {
    struct gpu_home *home;
    cl_command_queue queue; /* in order */
    struct gpu_queue_wish wish;
};

/* A number of gpu_devices. */
enum status gpu_world_create(uint32_t device, struct gpu_queue_wish wish, struct gpu_world **ret);
/* The same in a context of the client: on `device` if the context has it, otherwise on its first one. */
enum status gpu_world_adopt(cl_context context, cl_device_id device, struct gpu_queue_wish wish, struct gpu_world **ret);
/* Another queue. The old one must be empty and in nobody's hands. On failure it stays. */
enum status gpu_world_wish(struct gpu_world *w, struct gpu_queue_wish wish);
void gpu_world_free(struct gpu_world *w);

#endif
