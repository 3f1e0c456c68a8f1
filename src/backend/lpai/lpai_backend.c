/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnLpai.so: 8- and 16-bit fixed point in memory that the client brings. */
#include "backend/lpai/lpai_backend.h"

static const struct backend backend_lpai = {
    .name = "LPAI_QTI_AISW",
    .no_packages = "they are code for a DSP, which this computer does not have; libQnnCpu.so runs packages for the CPU",
    .id = 12,
    .version = { 2, 34, 0 },
    .limits = { .max_async_depth = 1024, .async_depth = 16 },
    .column = COLUMN_LPAI,
    .facts = OP_BACKEND_LPAI,
    .backend_config = lpai_backend_config,
    .backend_property = lpai_backend_property,
    .context_config = lpai_context_config,
    .graph_config = lpai_graph_config,
    .graph_config_free = lpai_graph_config_free,
    .loaded_config = lpai_loaded_config,
    .graph_property = lpai_graph_property,
    .check_target = lpai_check_target,
    .check_in_place = lpai_check_in_place,
    .open = lpai_open,
    .close = lpai_close,
    .check_context = lpai_check_context,
    .prepare = lpai_prepare,
    .load = lpai_load,
    .attach = lpai_attach,
    .has_room = lpai_has_room,
    .run = lpai_run,
    .needs = lpai_needs,
    .unload = lpai_unload,
    .mem_map = lpai_mem_map,
    .mem_unmap = lpai_mem_unmap,
    .mem_custom = lpai_mem_custom,
};

const struct backend *const backend_this = &backend_lpai;
