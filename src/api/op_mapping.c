/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes whose sources are known map to those, others to themselves: converters name nodes and tensors after the source's. */
#include "api/op_mapping.h"

#include <string.h>

static bool map_name(struct arena *a, const char *name, Qnn_MappingType_t type, Qnn_Mapping_t *ret)
{
    Qnn_OpMappingPair_t *pair = arena_new(a, Qnn_OpMappingPair_t);
    char *own = arena_strdup(a, name);
    if (!pair || !own)
        return false;
    *pair = (Qnn_OpMappingPair_t){ .name = own, .type = type };
    *ret = (Qnn_Mapping_t){ .name = own, .pair = pair, .numPairs = 1 };
    return true;
}

/* The operators that a node, or a tensor that it makes, was made from: the name behind "Type:" of every line. A tensor
 * stands for itself first. */
static bool map_sources(struct arena *a, const char *named, const char *source, bool tensor, Qnn_Mapping_t *ret)
{
    uint32_t count = 2;
    for (const char *p = source; *p; p++)
        count += *p == '\n';
    *ret = (Qnn_Mapping_t){ .name = arena_strdup(a, named), .pair = arena_array(a, Qnn_OpMappingPair_t, count) };
    bool ok = ret->name && ret->pair;
    if (ok && tensor)
        ret->pair[ret->numPairs++] = (Qnn_OpMappingPair_t){ .name = ret->name, .type = QNN_OP_MAPPING_TYPE_TENSOR };
    for (const char *p = source; ok && *p; p += *p == '\n') {
        size_t all = strcspn(p, "\n"), type = strcspn(p, ":\n");
        type = type < all ? type + 1 : 0;
        char *name = arena_printf(a, "%.*s", (int)(all - type), p + type);
        ret->pair[ret->numPairs++] = (Qnn_OpMappingPair_t){ .name = name, .type = QNN_OP_MAPPING_TYPE_OP };
        ok = name;
        p += all;
    }
    return ok;
}

/* Tensors that nodes with known sources make map to those as well, all others to themselves. */
static bool map_tensors(struct arena *a, const struct ir_graph *g, Qnn_Mapping_t *tensors)
{
    bool ok = true;
    for (size_t i = 0; ok && i < g->nodes.n; i++) {
        const struct ir_node *n = &g->nodes.at[i];
        for (uint32_t k = 0; ok && n->source && k < n->n_out; k++)
            ok = n->out[k] == IR_NONE || map_sources(a, g->tensors.at[n->out[k]].name, n->source, true, &tensors[n->out[k]]);
    }
    for (size_t i = 0; ok && i < g->tensors.n; i++)
        ok = tensors[i].name || map_name(a, g->tensors.at[i].name, QNN_OP_MAPPING_TYPE_TENSOR, &tensors[i]);
    return ok;
}

bool op_mapping_make(struct arena *a, const struct ir_graph *g, Qnn_OpMapping_t *ret)
{
    Qnn_OpMappingV1_t *v = arena_new(a, Qnn_OpMappingV1_t);
    Qnn_Mapping_t *ops = arena_array(a, Qnn_Mapping_t, g->nodes.n), *tensors = arena_array(a, Qnn_Mapping_t, g->tensors.n);
    char *name = arena_strdup(a, g->name);
    bool ok = v && ops && tensors && name;
    for (size_t i = 0; ok && i < g->nodes.n; i++)
        ok = g->nodes.at[i].source ? map_sources(a, g->nodes.at[i].name, g->nodes.at[i].source, false, &ops[i])
                                   : map_name(a, g->nodes.at[i].name, QNN_OP_MAPPING_TYPE_OP, &ops[i]);
    if (!ok || !map_tensors(a, g, tensors))
        return false;
    *v = (Qnn_OpMappingV1_t){ name, ops, (uint32_t)g->nodes.n, tensors, (uint32_t)g->tensors.n };
    *ret = (Qnn_OpMapping_t){ .version = QNN_OP_MAPPING_VERSION_1, .v1 = v };
    return true;
}
