/* SPDX-License-Identifier: Apache-2.0 */
/* Adding nodes to a graph (private to api/). */
#ifndef API_GRAPH_BUILD_H
#define API_GRAPH_BUILD_H

#include "api/objects.h"

/* The context is locked and the graph open. On failure the graph is as before. */
enum status graph_add_node(struct api_graph *g, const Qnn_OpConfig_t *config);

#endif
