/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel computes a product on which device. */
#include "backend/gpu/gpu_fit.h"

/* Rows and columns of one group of work items. */
struct way {
    enum gpu_kernel packed, any;
    uint32_t vector;                    /* floats of a register that it is made for */
    uint32_t rows, cols, any_rows, lanes;
};

static const struct way blocks[] = {
    { K_BLOCKS_16, K_BLOCKS_ANY_16, 16, 8, 32, 32, 1 },
    { K_BLOCKS_8, K_BLOCKS_ANY_8, 8, 6, 16, 24, 1 },
    { K_BLOCKS_4, K_BLOCKS_ANY_4, 4, 6, 8, 24, 1 },
};
enum { N_BLOCKS = sizeof blocks / sizeof blocks[0] };

void gpu_traits_read(cl_device_id device, struct gpu_traits *ret)
{
    cl_device_type type = 0;
    cl_device_local_mem_type local = 0;
    cl_ulong bytes = 0;
    cl_uint width = 0, units = 0;
    size_t lanes = 0;
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_TYPE, sizeof local, &local, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof lanes, &lanes, NULL);
    *ret = (struct gpu_traits){ .cpu = type & CL_DEVICE_TYPE_CPU, .vector = width >= 16 ? 16 : width >= 8 ? 8 : 4, .units = units ? units : 1,
                                .local_bytes = local == CL_LOCAL ? bytes : 0, .max_lanes = lanes };
}

static uint64_t parts(int n, uint32_t of)
{
    return ((uint64_t)n + of - 1) / of;
}

static void use(const struct way *w, struct gpu_launch *l)
{
    uint64_t groups;
    if (l->kernel == K_PRODUCT)
        groups = (uint64_t)l->args.conv.groups * parts(l->args.conv.rows, w->rows) * parts(l->args.conv.cols, w->cols);
    else
        groups = (uint64_t)l->args.matmul.slices * parts(l->args.matmul.rows, w->any_rows) * parts(l->args.matmul.cols, w->cols);
    l->kernel = l->kernel == K_PRODUCT ? w->packed : w->any;
    l->lanes = w->lanes;
    l->items = groups * w->lanes;
}

/* The widest vectors that the device has first. */
static const struct way *choose_block(const struct gpu_traits *t, uint32_t choice)
{
    for (uint32_t i = 0; i < N_BLOCKS; i++)
        if (blocks[i].vector <= t->vector && choice-- == 0)
            return &blocks[i];
    return NULL;
}

bool gpu_fit(const struct gpu_launch *l, const struct gpu_traits *t, uint32_t choice, struct gpu_launch *ret)
{
    *ret = *l;
    ret->lanes = l->lanes ? l->lanes : GPU_LANES;
    if (l->kernel != K_PRODUCT && l->kernel != K_PRODUCT_ANY)
        return choice == 0;
    const struct way *w = choose_block(t, choice);
    if (w)
        use(w, ret);
    return w;
}
