/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs of a DLC in a context of some backend (private to api/). */
#ifndef API_DLC_COMPOSE_H
#define API_DLC_COMPOSE_H

#include "QNN/QnnInterface.h"
#include "QNN/System/QnnSystemDlc.h"
#include "ir/ir.h"

/* The arguments of QnnSystemDlc_composeGraphs that say what to do. */
struct dlc_compose {
    const QnnSystemDlc_GraphConfigInfo_t **configs;
    uint32_t n_configs;
    Qnn_ContextHandle_t context;
    const QnnInterface_t *backend;
    QnnSystemContext_GraphInfoVersion_t version;
};

enum status dlc_compose_check(const struct dlc_compose *a); /* all that needs no graphs */
enum status dlc_compose(const struct dlc_compose *a, struct ir_graph *const *graphs, uint32_t n,
                        QnnSystemContext_GraphInfo_t **ret);

#endif
