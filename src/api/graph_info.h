/* SPDX-License-Identifier: Apache-2.0 */
/* Composed graphs described for the client (private to api/). */
#ifndef API_GRAPH_INFO_H
#define API_GRAPH_INFO_H

#include "QNN/System/QnnSystemContext.h"
#include "api/compose.h"

/* One block of malloc that holds the array and what it points to, so that the client's single free() releases all of it. */
enum status graph_info_pack(const struct composed *graphs, uint32_t n, QnnSystemContext_GraphInfoVersion_t version,
                            QnnSystemContext_GraphInfo_t **ret);

#endif
