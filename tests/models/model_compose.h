/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of ours, given to a backend library as any client would: dlopen, tensors, nodes, finalize, execute. */
#ifndef TESTS_MODELS_MODEL_COMPOSE_H
#define TESTS_MODELS_MODEL_COMPOSE_H

#include <stdbool.h>
#include <stdint.h>

#include <QNN/QnnInterface.h>

#include "ir/ir.h"

struct compose {
    void *library;
    QNN_INTERFACE_VER_TYPE q;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    const struct ir_graph *g;
    const QnnGraph_Config_t **config; /* of the next graph; NULL: none */
    struct arena arena;
    void *saved;                      /* a binary that the context was made from */
    Qnn_Tensor_t *tensors; /* one per tensor of g */
    char error[1200];      /* why something returned false */
};

bool compose_open(struct compose *c, const char *library); /* close it in any case */
void compose_close(struct compose *c);

/* g and its constants stay valid until compose_drop. */
bool compose_graph(struct compose *c, const struct ir_graph *g);
/* The context saved, freed and made again from its binary. */
bool compose_reload(struct compose *c);
void compose_drop(struct compose *c); /* the graph; another one may be composed */

/* data: per tensor of the graph, the client's memory; only those of inputs and outputs are used. */
bool compose_run(struct compose *c, void *const *data);

#endif
