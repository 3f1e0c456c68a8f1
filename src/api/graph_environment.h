/* SPDX-License-Identifier: Apache-2.0 */
/* Execution environments of a graph (private to api/). The context is locked, but for graph_env_find. */
#ifndef API_GRAPH_ENVIRONMENT_H
#define API_GRAPH_ENVIRONMENT_H

#include "QNN/QnnGraph.h"
#include "api/objects.h"

/* All that are supported, or none. What is not is set back to its initial value; ST_NOT_SUPPORTED: nothing is. */
enum status graph_env_prepare(struct api_graph *g, QnnGraph_ExecuteEnvironment_t **envs, uint32_t n);
enum status graph_env_release(struct api_graph *g, const QnnGraph_ExecuteEnvironment_t **envs, uint32_t n);
void graph_env_finish(struct api_graph *g); /* the graph goes; nothing runs */
/* By an execution, in its turn or with the program locked: the handle of registered memory for entry `at` of the I/O table.
 * data NULL: that which is bound; otherwise that which was populated. NULL: there is none. */
void *graph_env_find(const struct api_graph *g, uint32_t at, const void *data);

#endif
