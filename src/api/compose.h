/* SPDX-License-Identifier: Apache-2.0 */
/* From a graph of ours to calls of a backend's interface table (private to api/): the reverse of what QnnGraph.c does, used
 * where a model comes from a file. The backend may be anybody's; only its table is used. */
#ifndef API_COMPOSE_H
#define API_COMPOSE_H

#include "QNN/QnnInterface.h"
#include "base/arena.h"
#include "base/status.h"
#include "ir/ir.h"

struct compose_target {
    const QNN_INTERFACE_VER_TYPE *api;
    Qnn_ContextHandle_t context;
    const QnnGraph_Config_t **config; /* ends with NULL; NULL: none */
    bool all_outputs;                 /* every tensor between nodes becomes an output */
};

struct compose_list {
    Qnn_Tensor_t *at;
    uint32_t n;
};

/* The graph as it is in the context now. An APP_READWRITE tensor is in both lists. */
struct composed {
    Qnn_GraphHandle_t graph;
    const char *name;
    struct compose_list inputs, outputs, updateable;
};

/* The table has what composing needs. */
enum status compose_check(const QNN_INTERFACE_VER_TYPE *api);

/* Everything that the result points to is in the arena. On failure the context keeps an unfinished graph: the API cannot
 * remove one. ST_PREPARE_FAILED: the graph was refused; ST_INVALID_TENSOR: a tensor; ST_INVALID_OP: a node. */
enum status compose_graph(const struct ir_graph *g, const struct compose_target *t, struct arena *a, struct composed *ret);

#endif
