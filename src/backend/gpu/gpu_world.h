/* SPDX-License-Identifier: Apache-2.0 */
/* One device, ready for work: an OpenCL context of ours or of the client, a queue, and the programs built for it so far. */
#ifndef BACKEND_GPU_GPU_WORLD_H
#define BACKEND_GPU_GPU_WORLD_H

#include <stdint.h>

#include "backend/gpu/gpu_launch.h"
#include "backend/gpu/gpu_opencl.h"

struct gpu_world {
    cl_context context;
    cl_device_id device;
    cl_command_queue queue; /* in order, with times */
    uint32_t align;         /* bytes that a part of a buffer must begin at a multiple of */
    bool exact_division;    /* the device can round quotients and roots correctly */
    char name[128];
    cl_program programs[GPU_SOURCE_COUNT][GPU_STORAGE_COUNT];
};

/* A device that OPENQNN_GPU_DEVICE names (part of its name or its platform's), or the first GPU, or the first of any kind. ST_LOADING: there is none. */
enum status gpu_find_device(cl_device_id *ret);

enum status gpu_world_create(struct gpu_world **ret);
/* The same in a context of the client, on its first device. */
enum status gpu_world_adopt(cl_context context, struct gpu_world **ret);
void gpu_world_free(struct gpu_world *w);

/* A kernel of its own for one launch; its program is built when it is needed first. A failed build explains itself with the compiler's words. */
enum status gpu_world_kernel(struct gpu_world *w, enum gpu_kernel kernel, enum gpu_storage storage, cl_kernel *ret);

#endif
