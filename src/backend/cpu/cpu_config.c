/* SPDX-License-Identifier: Apache-2.0 */
/* What the client's CPU structures mean here; the only file of this folder that sees them. */
#include <string.h>

#include <QNN/CPU/QnnCpuCommon.h>
#include <QNN/CPU/QnnCpuGraph.h>
#include <QNN/QnnCommon.h>
#include <QNN/QnnSdkBuildId.h>

#include "backend/cpu/cpu_backend.h"

enum status cpu_graph_config(const void *custom, struct backend_graph_cfg *cfg)
{
    (void)cfg;
    RETURN_IF(!custom, ST_INVALID_CONFIG,
              "CPU graph config: customConfig is NULL; a QnnCpuGraph_CustomConfig_t is expected");
    const QnnCpuGraph_CustomConfig_t *c = custom;
    /* QMX is a matrix unit of other CPUs. Asking for it changes speed only, so here it changes nothing. */
    if (c->option == QNN_CPU_GRAPH_CONFIG_OPTION_USE_QMX)
        return ST_OK;
    RETURN_IF(c->option == QNN_CPU_GRAPH_CONFIG_OPTION_OP_DEBUG_CALLBACK, ST_NOT_SUPPORTED,
              "CPU graph config: OP_DEBUG_CALLBACK is not supported; use a profile of level DETAILED to see operators");
    return status_fail(
        ST_INVALID_CONFIG, "CPU graph config: unknown option %u; %d (OP_DEBUG_CALLBACK) and %d (USE_QMX) are known",
        (unsigned)c->option, QNN_CPU_GRAPH_CONFIG_OPTION_OP_DEBUG_CALLBACK, QNN_CPU_GRAPH_CONFIG_OPTION_USE_QMX);
}

struct binary_target cpu_target(void)
{
    struct binary_target t = {
        .backend_id = QNN_BACKEND_ID_CPU,
        .core_version = { QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH },
        .backend_version = { QNN_CPU_API_VERSION_MAJOR, QNN_CPU_API_VERSION_MINOR, QNN_CPU_API_VERSION_PATCH },
    };
    strncpy(t.build_id, QNN_SDK_BUILD_ID, sizeof(t.build_id) - 1);
    return t;
}
