/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnLpai.so: 8- and 16-bit fixed point in memory that the client brings. */
#include "backend/lpai/lpai_backend.h"

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
    303,  /* GRAPH_SUPPORT_SIGNALS */
    304,  /* GRAPH_SUPPORT_ASYNC_EXECUTION */
    306,  /* GRAPH_SUPPORT_PRIORITY_CONTROL */
    307,  /* GRAPH_SUPPORT_FINALIZE_SIGNAL */
    308,  /* GRAPH_SUPPORT_EXECUTE_SIGNAL */
    309,  /* GRAPH_SUPPORT_EXECUTE_ASYNC_SIGNAL */
    311,  /* GRAPH_SUPPORT_EXECUTE */
    312,  /* GRAPH_SUPPORT_BATCH_MULTIPLE */
    313,  /* GRAPH_SUPPORT_EXECUTE_PER_API_PROFILING */
    314,  /* GRAPH_SUPPORT_SUBGRAPH */
    319,  /* GRAPH_SUPPORT_FINALIZE_DESERIALIZED_GRAPH */
    321,  /* GRAPH_SUPPORT_EARLY_TERMINATION */
    322,  /* GRAPH_SUPPORT_ONLINE_PREPARE */
    501,  /* GROUP_TENSOR */
    502,  /* TENSOR_SUPPORT_MEMHANDLE_TYPE */
    509,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_SCALE_OFFSET */
    510,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET */
    511,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_SCALE_OFFSET */
    512,  /* TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET */
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
    0,
};

static const struct backend backend_lpai = {
    .name = "LPAI_QTI_AISW",
    .id = 12,
    .version = { 2, 33, 0 },
    .limits = { .max_async_depth = 1024, .async_depth = 16 },
    .capabilities = capabilities,
    .facts = OP_BACKEND_LPAI,
    .backend_config = lpai_backend_config,
    .backend_property = lpai_backend_property,
    .context_config = lpai_context_config,
    .graph_config = lpai_graph_config,
    .graph_config_free = lpai_graph_config_free,
    .loaded_config = lpai_loaded_config,
    .graph_property = lpai_graph_property,
    .check_target = lpai_check_target,
    .open = lpai_open,
    .close = lpai_close,
    .check_context = lpai_check_context,
    .prepare = lpai_prepare,
    .load = lpai_load,
    .attach = lpai_attach,
    .has_room = lpai_has_room,
    .run = lpai_run,
    .unload = lpai_unload,
    .mem_map = lpai_mem_map,
    .mem_unmap = lpai_mem_unmap,
    .mem_custom = lpai_mem_custom,
};

const struct backend *const backend_this = &backend_lpai;
