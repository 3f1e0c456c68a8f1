/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnHtp.so: a virtual SoC whose DSP is another process. */
#include "backend/htp/htp_backend.h"

/* Property keys answered SUPPORTED, by the numbers of QnnProperty.h; every other known key is answered NOT_SUPPORTED. */
static const uint32_t capabilities[] = {
    1,    /* GROUP_CORE */
    101,  /* GROUP_BACKEND */
    107,  /* BACKEND_SUPPORT_COMPOSITION */
    201,  /* GROUP_CONTEXT */
    202,  /* CONTEXT_SUPPORT_CACHING */
    205,  /* CONTEXT_SUPPORT_CONFIGURATION */
    206,  /* CONTEXT_SUPPORT_CONFIG_ENABLE_GRAPHS */
    207,  /* CONTEXT_SUPPORT_CONFIG_MEMORY_LIMIT_HINT */
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
    314,  /* GRAPH_SUPPORT_SUBGRAPH */
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
    513,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BLOCK */
    514,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION */
    516,  /* TENSOR_SUPPORT_RETRIEVE_RAW */
    517,  /* TENSOR_SUPPORT_OPTIONAL_APP_WRITE */
    518,  /* TENSOR_SUPPORT_OPTIONAL_APP_READ */
    519,  /* TENSOR_SUPPORT_OPTIONAL_APP_READWRITE */
    528,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_FLOAT_BLOCK */
    529,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED */
    530,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_BLOCK_SCALE_OFFSET_MAPPED */
    531,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED */
    532,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK */
    1001, /* GROUP_ERROR */
    1002, /* ERROR_GET_VERBOSE_MESSAGE */
    1101, /* GROUP_MEMORY */
    1102, /* MEMORY_SUPPORT_MEM_TYPE_ION */
    1103, /* MEMORY_SUPPORT_MEM_TYPE_CUSTOM */
    1104, /* MEMORY_SUPPORT_MEM_TYPE_DMA_BUF */
    1201, /* GROUP_SIGNAL */
    1202, /* SIGNAL_SUPPORT_ABORT */
    1203, /* SIGNAL_SUPPORT_TIMEOUT */
    1301, /* GROUP_LOG */
    1302, /* LOG_SUPPORTS_DEFAULT_STREAM */
    1401, /* GROUP_PROFILE */
    1403, /* PROFILE_SUPPORT_MAX_EVENTS_CONFIG */
    1404, /* PROFILE_SUPPORTS_EXTENDED_EVENT */
    1501, /* GROUP_DEVICE */
    1502, /* DEVICE_SUPPORT_INFRASTRUCTURE */
    2001, /* GROUP_CUSTOM */
    2002, /* CUSTOM_HTP_UNSIGNED_PD_SUPPORT */
    0,
};

static const struct backend backend_htp = {
    .name = "HTP_QTI_AISW",
    .id = HTP_BACKEND_ID,
    .version = { 5, 48, 0 },
    .limits = { .max_async_depth = HTP_MAX_ASYNC, .async_depth = 16 },
    .capabilities = capabilities,
    .facts = OP_BACKEND_HTP,
    .context_config = htp_context_config,
    .context_property = htp_context_property,
    .graph_config = htp_graph_config,
    .graph_config_free = htp_graph_config_free,
    .loaded_config = htp_loaded_config,
    .soc_model = htp_soc_model,
    .device_config = htp_device_config,
    .device_platform = htp_device_platform,
    .device_check = htp_device_check,
    .platform_info = htp_platform_info,
    .platform_info_free = htp_platform_info_free,
    .infrastructure = htp_infrastructure,
    .check_process = htp_check_process,
    .check_target = htp_check_target,
    .open = htp_open,
    .close = htp_close,
    .context_update = htp_context_update,
    .check_context = htp_check_context,
    .bytes_alloc = htp_bytes_alloc,
    .bytes_free = htp_bytes_free,
    .prepare = htp_prepare,
    .load = htp_load,
    .run = htp_run,
    .unload = htp_unload,
    .mem_custom = htp_mem_custom,
    .mem_register = htp_mem_register,
    .mem_release = htp_mem_release,
    .profile_level = htp_profile_level,
    .stage_events = htp_stage_events,
};

const struct backend *const backend_this = &backend_htp;
