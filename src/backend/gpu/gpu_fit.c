/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel computes a product on which device: on CPUs the blocks of the widest vectors, elsewhere the tiles that an
 * estimate says are done first. */
#include "backend/gpu/gpu_fit.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEP = 16,            /* products that steps of tiles.cl are counted in */
    UNIT_PRODUCTS = 128,  /* multiplications of a compute unit at once; most GPUs have as many lanes */
    CPU_LANES = 16,       /* work items of a group where they run one after the other */
    BUSY_LANES = 256,     /* work items that keep a compute unit busy */
    STEP_CYCLES = 700,    /* a step takes no less, however little it multiplies: it waits for memory */
};

struct way {
    const char *name;
    enum gpu_kernel packed, any;
    uint32_t vector;                /* blocks: floats of a register that it is made for; tiles: 0 */
    uint32_t rows, cols, any_rows;  /* of one group of work items */
    uint32_t lanes, teams;
    uint32_t percent, together; /* tiles: of the multiplications that a unit could do; groups that a unit holds at once */
    uint64_t local_bytes;
};

static const struct way ways[] = {
    { "blocks_16", K_BLOCKS_16, K_BLOCKS_ANY_16, 16, 8, 32, 32, 1, 1, 0, 0, 0 },
    { "blocks_8", K_BLOCKS_8, K_BLOCKS_ANY_8, 8, 6, 16, 24, 1, 1, 0, 0, 0 },
    { "blocks_4", K_BLOCKS_4, K_BLOCKS_ANY_4, 4, 6, 8, 24, 1, 1, 0, 0, 0 },
    { "tiles_128", K_TILES_128, K_TILES_ANY_128, 0, 128, 128, 128, 256, 1, 66, 1, 33280 },
    { "tiles_64", K_TILES_64, K_TILES_ANY_64, 0, 128, 64, 128, 128, 1, 60, 3, 25088 },
    { "tiles_32", K_TILES_32, K_TILES_ANY_32, 0, 64, 64, 64, 256, 1, 52, 4, 16896 },
    { "tiles_16", K_TILES_16, K_TILES_ANY_16, 0, 32, 32, 32, 512, 8, 36, 2, 34816 },
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

void gpu_traits_read(cl_device_id device, struct gpu_traits *ret)
{
    cl_device_type type = 0;
    cl_device_local_mem_type local = 0;
    cl_ulong bytes = 0;
    cl_uint width = 0, units = 0;
    size_t lanes = 0;
    const char *only = getenv("OPENQNN_GPU_PRODUCTS");
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof width, &width, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_TYPE, sizeof local, &local, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof lanes, &lanes, NULL);
    *ret = (struct gpu_traits){ .tiles = local == CL_LOCAL && !(type & CL_DEVICE_TYPE_CPU),
                                .vector = width >= 16  ? 16
                                          : width >= 8 ? 8
                                                       : 4,
                                .units = units ? units : 1,
                                .local_bytes = bytes,
                                .max_lanes = lanes,
                                .only = only && *only ? only : NULL };
}

static uint64_t parts(uint64_t n, uint64_t of)
{
    return (n + of - 1) / of;
}

static uint64_t groups_of(const struct gpu_launch *l, const struct way *w)
{
    if (l->kernel == K_PRODUCT)
        return (uint64_t)l->args.conv.groups * parts((uint64_t)l->args.conv.rows, w->rows) *
               parts((uint64_t)l->args.conv.cols, w->cols);
    return (uint64_t)l->args.matmul.slices * parts((uint64_t)l->args.matmul.rows, w->any_rows) *
           parts((uint64_t)l->args.matmul.cols, w->cols);
}

/* Whether the device can run it at all. */
static bool possible(const struct way *w, const struct gpu_traits *t)
{
    if (t->only)
        return !strcmp(t->only, w->name);
    if (w->vector)
        return w->vector <= t->vector;
    return t->tiles && w->local_bytes <= t->local_bytes && w->lanes <= t->max_lanes;
}

/* Cycles until the last group is done. Blocks on a device for tiles are the last resort. */
static uint64_t cost(const struct gpu_launch *l, const struct way *w, const struct gpu_traits *t)
{
    if (w->vector)
        return t->tiles ? UINT64_MAX : 16 / w->vector;
    uint64_t depth = (uint64_t)(l->kernel == K_PRODUCT ? l->args.conv.depth : l->args.matmul.depth), n = groups_of(l, w);
    uint64_t each = parts(n, t->units), busy = (each < w->together ? each : w->together) * w->lanes;
    uint64_t work = each * w->rows * w->cols * STEP * w->teams * 100 / (UNIT_PRODUCTS * w->percent);
    work = busy < BUSY_LANES ? work * 3 / 2 : work; /* too few to multiply while others wait */
    uint64_t wait = parts(n, t->units * w->together) * STEP_CYCLES;
    return parts(depth, STEP * w->teams) * (work > wait ? work : wait);
}

static const struct way *choose(const struct gpu_launch *l, const struct gpu_traits *t, uint32_t choice)
{
    bool used[N_WAYS] = { false };
    for (;; choice--) {
        uint32_t best = N_WAYS;
        for (uint32_t i = 0; i < N_WAYS; i++)
            if (!used[i] && possible(&ways[i], t) && (best == N_WAYS || cost(l, &ways[i], t) < cost(l, &ways[best], t)))
                best = i;
        if (best == N_WAYS || choice == 0)
            return best == N_WAYS ? NULL : &ways[best];
        used[best] = true;
    }
}

/* Several channels at once, and several pixels beside each other: the device's vectors, or a narrower one that divides the
 * channels. */
static void fit_depthwise(const struct gpu_traits *t, struct gpu_launch *l)
{
    static const enum gpu_kernel kernels[] = { K_CHANNELS_16, K_CHANNELS_8, K_CHANNELS_4 };
    const struct gpu_taps *a = &l->args.taps;
    for (uint32_t i = 0, vector = 16; i < 3 && a->group_out == 1; i++, vector /= 2)
        if (vector <= (t->tiles ? 4 : t->vector) && a->out_c % (int)vector == 0) {
            l->kernel = kernels[i];
            l->items = (uint64_t)a->n / (uint64_t)a->out_w / vector * parts((uint64_t)a->out_w, GPU_PIXELS);
            l->lanes = t->tiles ? GPU_LANES : CPU_LANES;
            return;
        }
}

bool gpu_fit(const struct gpu_launch *l, const struct gpu_traits *t, uint32_t choice, struct gpu_launch *ret)
{
    *ret = *l;
    ret->lanes = l->lanes ? l->lanes : GPU_LANES;
    if (l->kernel == K_DEPTHWISE)
        fit_depthwise(t, ret);
    if (l->kernel != K_PRODUCT && l->kernel != K_PRODUCT_ANY)
        return choice == 0;
    const struct way *w = choose(l, t, choice);
    if (!w && choice == 0)
        w = &ways[0]; /* OPENQNN_GPU_PRODUCTS names nothing that there is */
    if (!w)
        return false;
    ret->kernel = l->kernel == K_PRODUCT ? w->packed : w->any;
    ret->lanes = w->lanes;
    ret->items = groups_of(l, w) * w->lanes;
    return true;
}
