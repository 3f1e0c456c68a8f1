/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnGpu.so: float operators as OpenCL kernels. */
#include "backend/gpu/gpu_backend.h"

/* Property keys answered SUPPORTED, by the numbers of QnnProperty.h; every other known key is answered NOT_SUPPORTED. */
static const uint32_t capabilities[] = {
    1,    /* GROUP_CORE */
    101,  /* GROUP_BACKEND */
    107,  /* BACKEND_SUPPORT_COMPOSITION */
    201,  /* GROUP_CONTEXT */
    202,  /* CONTEXT_SUPPORT_CACHING */
    205,  /* CONTEXT_SUPPORT_CONFIGURATION */
    206,  /* CONTEXT_SUPPORT_CONFIG_ENABLE_GRAPHS */
    208,  /* CONTEXT_SUPPORT_CONFIG_PERSISTENT_BINARY */
    210,  /* CONTEXT_SUPPORT_VALIDATE_BINARY */
    301,  /* GROUP_GRAPH */
    302,  /* GRAPH_SUPPORT_CONFIG */
    304,  /* GRAPH_SUPPORT_ASYNC_EXECUTION */
    305,  /* GRAPH_SUPPORT_NULL_INPUTS */
    306,  /* GRAPH_SUPPORT_PRIORITY_CONTROL */
    311,  /* GRAPH_SUPPORT_EXECUTE */
    313,  /* GRAPH_SUPPORT_EXECUTE_PER_API_PROFILING */
    322,  /* GRAPH_SUPPORT_ONLINE_PREPARE */
    501,  /* GROUP_TENSOR */
    502,  /* TENSOR_SUPPORT_MEMHANDLE_TYPE */
    503,  /* TENSOR_SUPPORT_CONTEXT_TENSORS */
    516,  /* TENSOR_SUPPORT_RETRIEVE_RAW */
    517,  /* TENSOR_SUPPORT_OPTIONAL_APP_WRITE */
    518,  /* TENSOR_SUPPORT_OPTIONAL_APP_READ */
    1001, /* GROUP_ERROR */
    1002, /* ERROR_GET_VERBOSE_MESSAGE */
    1101, /* GROUP_MEMORY */
    1103, /* MEMORY_SUPPORT_MEM_TYPE_CUSTOM */
    1301, /* GROUP_LOG */
    1302, /* LOG_SUPPORTS_DEFAULT_STREAM */
    1401, /* GROUP_PROFILE */
    1403, /* PROFILE_SUPPORT_MAX_EVENTS_CONFIG */
    1404, /* PROFILE_SUPPORTS_EXTENDED_EVENT */
    0,
};

const struct backend backend_gpu = {
    .name = "GPU",
    .id = 4,
    .version = { 3, 15, 0 },
    .limits = { .max_async_depth = 1024, .async_depth = 16 },
    .capabilities = capabilities,
    .facts = OP_BACKEND_GPU,
    .has_kernel = gpu_has_op,
    .try_kernel = gpu_supports,
    .backend_config = gpu_backend_config,
    .context_config = gpu_context_config,
    .graph_config = gpu_graph_config,
    .graph_config_free = gpu_graph_config_free,
    .check_machine = gpu_check_machine,
    .open = gpu_open,
    .close = gpu_close,
    .prepare = gpu_prepare,
    .load = gpu_load,
    .run = gpu_run,
    .unload = gpu_unload,
    .mem_custom = gpu_mem_custom,
    .mem_register = gpu_mem_register,
    .mem_release = gpu_mem_release,
};

const struct backend *const backend_this = &backend_gpu;
