/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnHtp.so: a virtual SoC whose DSP is another process. */
#include "backend/htp/htp_backend.h"

static const struct backend backend_htp = {
    .name = "HTP_QTI_AISW",
    .id = HTP_BACKEND_ID,
    .version = { 5, 50, 0 },
    .limits = { .max_async_depth = HTP_MAX_ASYNC, .async_depth = 16 },
    .column = COLUMN_HTP,
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
    .announce = htp_announce, .load = htp_load,
    .run = htp_run,
    .unload = htp_unload,
    .mem_custom = htp_mem_custom,
    .mem_register = htp_mem_register,
    .mem_release = htp_mem_release,
    .profile_level = htp_profile_level,
    .stage_events = htp_stage_events,
};

const struct backend *const backend_this = &backend_htp;
