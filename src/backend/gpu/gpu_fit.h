/* SPDX-License-Identifier: Apache-2.0 */
/* From products to the kernels of one device: binding does not know the device, so it says what is to be computed; here is
 * said how. */
#ifndef BACKEND_GPU_GPU_FIT_H
#define BACKEND_GPU_GPU_FIT_H

#include "backend/gpu/gpu_launch.h"
#include "backend/gpu/gpu_opencl.h"

struct gpu_traits {
    bool tiles;           /* work items run side by side and have fast local memory */
    uint32_t vector;      /* floats in a register of the device: 4, 8 or 16 */
    uint32_t units;       /* compute units */
    uint64_t local_bytes; /* local memory of a group */
    size_t max_lanes;     /* work items of a group at most */
    const char *only;     /* OPENQNN_GPU_PRODUCTS: the one way that products are computed, for tests; NULL: the best */
};
void gpu_traits_read(cl_device_id device, struct gpu_traits *ret);

/* The launch as this device should run it: kernel, lanes and items. Choice 0 is the best guess, the others compute the same
 * in another way; false: there is no such choice. Results of choices differ by the order of sums at most. */
bool gpu_fit(const struct gpu_launch *l, const struct gpu_traits *t, uint32_t choice, struct gpu_launch *ret);

#endif
