/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of several cores (NUM_CORES): what profiles say of each (htp_cores.c). */
#ifndef BACKEND_HTP_HTP_CORES_H
#define BACKEND_HTP_HTP_CORES_H

#include "backend/htp/htp_backend.h"

/* Detailed: cycles in which the units of each core work, and bytes that cores exchange. Nothing for one core. */
void htp_cores_events(const struct binary_graph *g, struct prof *prof, int32_t parent, uint64_t times);
/* Refuses a graph for more cores than the context's device has. */
enum status htp_cores_check(const struct backend_context *c, const struct binary_graph_info *info);
/* False, with a warning, where level linting is not available: for graphs of several cores. */
bool htp_cores_lint(const struct binary_graph_info *info);

#endif
