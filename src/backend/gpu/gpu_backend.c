/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnGpu.so: float operators as OpenCL kernels. */
#include "backend/gpu/gpu_backend.h"

const struct backend backend_gpu = {
    .name = "GPU",
    .no_packages = "those with OpenCL kernels are not supported yet; libQnnCpu.so runs packages for the CPU",
    .id = 4,
    .version = { 3, 15, 0 },
    .limits = { .max_async_depth = 1024, .async_depth = 16 },
    .column = COLUMN_GPU,
    .facts = OP_BACKEND_GPU,
    .has_kernel = gpu_has_op,
    .try_kernel = gpu_supports,
    .backend_config = gpu_backend_config,
    .context_config = gpu_context_config,
    .graph_config = gpu_graph_config,
    .graph_config_free = gpu_graph_config_free,
    .device_config = gpu_device_config,
    .device_platform = gpu_device_platform,
    .device_check = gpu_device_check,
    .platform_info = gpu_platform_info,
    .platform_info_free = gpu_platform_info_free,
    .check_machine = gpu_check_machine,
    .open = gpu_open,
    .close = gpu_close,
    .context_update = gpu_update,
    .context_bytes = gpu_bytes,
    .stage_events = gpu_stage_events,
    .prepare = gpu_prepare,
    .load = gpu_load,
    .run = gpu_run,
    .unload = gpu_unload,
    .mem_custom = gpu_mem_custom,
    .mem_register = gpu_mem_register,
    .mem_release = gpu_mem_release,
};

const struct backend *const backend_this = &backend_gpu;
