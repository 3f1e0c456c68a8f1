/* SPDX-License-Identifier: Apache-2.0 */
/* What the client's IR structures mean here; the only file of this folder that sees them. */
#include <QNN/IR/QnnIrGraph.h>

#include "backend/ir/dlc_backend.h"
#include "base/mem.h"

enum status dlc_graph_config(const void *custom, struct backend_graph_cfg *cfg)
{
    const QnnIrGraph_CustomConfig_t *c = custom;
    RETURN_IF(!c, ST_INVALID_CONFIG,
              "IR graph config: customConfig is NULL; a QnnIrGraph_CustomConfig_t is expected");
    RETURN_IF(c->option != QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION, ST_INVALID_CONFIG,
              "IR graph config: unknown option %u; %d (SERIALIZATION) is known", (unsigned)c->option,
              QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION);
    const QnnIrGraph_SerializationOption_t *s = &c->serializationOption;
    RETURN_IF(s->serializationType != QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER, ST_INVALID_CONFIG,
              "IR graph config: serialization type %u; %d (FLAT_BUFFER) is the one there is", (unsigned)s->serializationType,
              QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER);
    char *path = mem_strdup(s->outputPath ? s->outputPath : "");
    RETURN_IF(!path, ST_NO_MEMORY, "IR graph config: no memory for a path");
    mem_free(cfg->custom);
    cfg->custom = path;
    return ST_OK;
}

void dlc_graph_config_free(struct backend_graph_cfg *cfg)
{
    mem_free(cfg->custom);
    cfg->custom = NULL;
}
