/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed-point model that the LPAI clients compile and run, and its result. */
#ifndef TESTS_LPAI_MODEL_H
#define TESTS_LPAI_MODEL_H

#include <QNN/LPAI/QnnLpaiBackend.h>
#include <QNN/LPAI/QnnLpaiContext.h>
#include <QNN/LPAI/QnnLpaiGraph.h>
#include <QNN/LPAI/QnnLpaiGraphPrepare.h>

#include "client.h"

enum { LPAI_N = 48 };

/* Adds to a graph that exists: y = relu(x) + x over LPAI_N bytes, real = q / 4. Every node is validated first when `backend`
 * is not NULL. */
void lpai_model_add(Qnn_GraphHandle_t g, int version, Qnn_BackendHandle_t backend);
void lpai_model_check(const int8_t *x, const int8_t *y);

Qnn_ErrorHandle_t lpai_backend_property(Qnn_BackendHandle_t b, uint32_t option, void *value);
Qnn_ErrorHandle_t lpai_graph_property(Qnn_GraphHandle_t g, uint32_t option, void *value);
Qnn_ErrorHandle_t lpai_graph_config(Qnn_GraphHandle_t g, uint32_t option, void *value);
Qnn_BackendHandle_t lpai_backend(QnnLpaiBackend_Target_t target, QnnLpaiBackend_HwVersion_t version);
void *lpai_pool(Qnn_GraphHandle_t g, uint32_t size_option, uint32_t mem_option); /* asks, allocates, sets */

#endif
