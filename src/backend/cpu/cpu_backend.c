/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnCpu.so: float32 and fixed point, the reference that the other backends are compared with. */
#include "backend/cpu/cpu_backend.h"

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
    211,  /* CONTEXT_SUPPORT_CREATE_FROM_BINARY_WITH_SIGNALS */
    212,  /* CONTEXT_SUPPORT_CREATE_FROM_BINARY_LIST_ASYNC */
    217,  /* CONTEXT_SUPPORT_DEFERRED_GRAPH_INIT */
    220,  /* CONTEXT_SUPPORT_CREATE_FROM_BINARY_WITH_CALLBACK */
    301,  /* GROUP_GRAPH */
    302,  /* GRAPH_SUPPORT_CONFIG */
    303,  /* GRAPH_SUPPORT_SIGNALS */
    304,  /* GRAPH_SUPPORT_ASYNC_EXECUTION */
    305,  /* GRAPH_SUPPORT_NULL_INPUTS */
    306,  /* GRAPH_SUPPORT_PRIORITY_CONTROL */
    307,  /* GRAPH_SUPPORT_FINALIZE_SIGNAL */
    308,  /* GRAPH_SUPPORT_EXECUTE_SIGNAL */
    309,  /* GRAPH_SUPPORT_EXECUTE_ASYNC_SIGNAL */
    310,  /* GRAPH_SUPPORT_CONTINUOUS_PROFILING */
    311,  /* GRAPH_SUPPORT_EXECUTE */
    312,  /* GRAPH_SUPPORT_BATCH_MULTIPLE */
    313,  /* GRAPH_SUPPORT_EXECUTE_PER_API_PROFILING */
    315,  /* GRAPH_SUPPORT_PROFILING_STATE */
    316,  /* GRAPH_SUPPORT_SET_PROFILING_NUM_EXECUTIONS */
    321,  /* GRAPH_SUPPORT_EARLY_TERMINATION */
    322,  /* GRAPH_SUPPORT_ONLINE_PREPARE */
    501,  /* GROUP_TENSOR */
    502,  /* TENSOR_SUPPORT_MEMHANDLE_TYPE */
    503,  /* TENSOR_SUPPORT_CONTEXT_TENSORS */
    504,  /* TENSOR_SUPPORT_DYNAMIC_DIMENSIONS */
    509,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_SCALE_OFFSET */
    510,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET */
    511,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_SCALE_OFFSET */
    512,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET */
    516,  /* TENSOR_SUPPORT_RETRIEVE_RAW */
    517,  /* TENSOR_SUPPORT_OPTIONAL_APP_WRITE */
    518,  /* TENSOR_SUPPORT_OPTIONAL_APP_READ */
    519,  /* TENSOR_SUPPORT_OPTIONAL_APP_READWRITE */
    1001, /* GROUP_ERROR */
    1002, /* ERROR_GET_VERBOSE_MESSAGE */
    1101, /* GROUP_MEMORY */
    1102, /* MEMORY_SUPPORT_MEM_TYPE_ION */
    1104, /* MEMORY_SUPPORT_MEM_TYPE_DMA_BUF */
    1201, /* GROUP_SIGNAL */
    1202, /* SIGNAL_SUPPORT_ABORT */
    1203, /* SIGNAL_SUPPORT_TIMEOUT */
    1301, /* GROUP_LOG */
    1302, /* LOG_SUPPORTS_DEFAULT_STREAM */
    1401, /* GROUP_PROFILE */
    1403, /* PROFILE_SUPPORT_MAX_EVENTS_CONFIG */
    1404, /* PROFILE_SUPPORTS_EXTENDED_EVENT */
    0,
};

const struct backend backend_cpu = {
    .name = "CPU",
    .id = 3,
    .version = { 1, 1, 0 },
    .limits = { .max_async_depth = 1024, .async_depth = 16 },
    .capabilities = capabilities,
    .graph_config = cpu_graph_config,
    .open = cpu_open,
    .close = cpu_close,
    .prepare = cpu_prepare,
    .load = cpu_load,
    .run = cpu_run,
    .unload = cpu_unload,
    .mem_map = backend_map_fd,
    .mem_unmap = backend_unmap_fd,
};

const struct backend *const backend_this = &backend_cpu;
