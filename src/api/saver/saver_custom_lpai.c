/* SPDX-License-Identifier: Apache-2.0 */
/* table: settings that only LPAI has: a number, and a pointer at what that number means. */
#include "QNN/LPAI/QnnLpaiBackend.h"
#include "QNN/LPAI/QnnLpaiContext.h"
#include "QNN/LPAI/QnnLpaiGraph.h"
#include "QNN/LPAI/QnnLpaiGraphPrepare.h"
#include "api/saver/saver_table.h"

#define POINTS_AT(t, v) { FIELD_OF(S, config, SAVER_ARRAY), .type = &(t), .count = COUNT_ONE, WHEN(v) }

#define S QnnLpaiBackend_CustomConfigHwInfo_t
static const struct saver_field hardware_f[] = { F(lpaiTarget, SAVER_I32), F(hwVersion, SAVER_I32) };
static TYPE(hardware, hardware_f, .plain = true);
#undef S
#define S QnnLpaiBackend_CustomConfig_t
static const struct saver_field backend_f[] = { F(option, SAVER_U32), POINTS_AT(hardware, QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO) };
TYPE(saver_lpai_backend, backend_f, .select = first_word);
#undef S

#define S QnnLpaiContext_CustomConfig_t
static const struct saver_field context_f[] = {
    F(option, SAVER_U32), POINTS_AT(saver_i32, QNN_LPAI_CONTEXT_SET_CFG_MODEL_BUFFER_MEM_TYPE),
    { FIELD_OF(S, config, SAVER_TEXT), WHEN(QNN_LPAI_CONTEXT_SET_CFG_ENABLE_ISLAND) }
};
TYPE(saver_lpai_context, context_f, .select = first_word);
#undef S

/* Memory of the client is memory of the program. */
#define S QnnLpaiGraph_Mem_t
static const struct saver_field memory_f[] = {
    F(memType, SAVER_I32), F(size, SAVER_U32), { FIELD_OF(S, addr, SAVER_ROOM), .count_at = offsetof(S, size) }
};
static TYPE(memory, memory_f, );
#undef S
#define S QnnLpaiGraph_PerfCfg_t
static const struct saver_field speed_f[] = { F(fps, SAVER_U32), F(ftrtRatio, SAVER_U32), F(clientType, SAVER_I32) };
static TYPE(speed, speed_f, .plain = true);
#undef S
#define S QnnLpaiGraph_CoreAffinity_t
static const struct saver_field affinity_f[] = { F(affinity, SAVER_I32), F(coreSelection, SAVER_U32) };
static TYPE(affinity, affinity_f, .plain = true);
#undef S
#define S QnnLpaiGraph_CustomConfigPrepare_t
static const struct saver_field prepare_f[] = { F(enablePerLayer, SAVER_U32), F(enableCoreSelection, SAVER_TEXT) };
static TYPE(prepare, prepare_f, );
#undef S
#define S QnnLpaiGraph_CustomConfig_t
static const struct saver_field graph_f[] = {
    F(option, SAVER_U32),
    POINTS_AT(memory, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM),
    POINTS_AT(memory, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM),
    POINTS_AT(speed, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG),
    POINTS_AT(affinity, QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY),
    POINTS_AT(prepare, QNN_LPAI_GRAPH_SET_CFG_PREPARE),
};
TYPE(saver_lpai_graph, graph_f, .select = first_word);
#undef S
