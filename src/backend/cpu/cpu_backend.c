/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnCpu.so: float32 and fixed point, the reference that the other backends are compared with. */
#include "backend/cpu/cpu_backend.h"

const struct backend backend_cpu = {
    .name = "CPU",
    .id = 3,
    .version = { 1, 1, 0 },
    .limits = { .max_async_depth = 1024, .async_depth = 16 },
    .column = COLUMN_CPU,
    .graph_config = cpu_graph_config,
    .package_infrastructure = backend_package_infrastructure,
    .open = cpu_open,
    .close = cpu_close,
    .prepare = cpu_prepare,
    .watch_signal = cpu_watch_signal,
    .load = cpu_load,
    .run = cpu_run,
    .needs = cpu_needs,
    .unload = cpu_unload,
    .direct = DIRECT_ALL,
    .mem_map = backend_map_fd,
    .mem_unmap = backend_unmap_fd,
};

const struct backend *const backend_this = &backend_cpu;
