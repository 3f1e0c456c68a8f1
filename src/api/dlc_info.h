/* SPDX-License-Identifier: Apache-2.0 */
/* What a DLC says about itself, for calls that ask for one fact at a time (private to api/). Things that can be asked about
 * have handles, which live as long as the container:
 *
 *     DLC ─┬─ graph that can be composed ─┬─ tensor ── encoding
 *          └─ context binary ─── graph ───┘ */
#ifndef API_DLC_INFO_H
#define API_DLC_INFO_H

#include <pthread.h>

#include "QNN/System/QnnSystemContext.h"
#include "api/objects.h"
#include "base/arena.h"
#include "ir/ir.h"

enum dlc_info_kind { INFO_GRAPH, INFO_BINARY, INFO_BINARY_GRAPH, INFO_TENSOR, INFO_ENCODING };

/* A graph as newer headers describe it. */
struct dlc_graph_info {
    uint32_t version; /* 1 */
    QnnSystemContext_GraphInfoV1_t v1;
};

struct dlc_facts {
    pthread_mutex_t lock;
    bool ready;
    struct arena arena;
    struct dlc_graph_info *graphs;
    QnnSystemContext_BinaryInfo_t **binaries;
    void **graph_handles, **binary_handles;
    uint32_t n_graphs, n_binaries;
    VEC(struct dlc_info *) infos;
};

/* Behind a handle. */
struct dlc_info {
    struct dlc_facts *facts;
    enum dlc_info_kind kind;
    const void *object;
    void *handle;
};

void dlc_facts_init(struct dlc_facts *f);
void dlc_facts_finish(struct dlc_facts *f); /* with all handles; waits for calls that use them */
enum status dlc_facts_graphs(struct dlc_facts *f, struct ir_graph *const *graphs, uint32_t n);
enum status dlc_facts_reserve(struct dlc_facts *f, uint32_t records);
enum status dlc_facts_record(struct dlc_facts *f, const void *bytes, uint64_t size); /* one that may be a context binary */

/* The handle of a part of the facts: the same whenever it is asked for. */
enum status dlc_info_handle(struct dlc_facts *f, enum dlc_info_kind kind, const void *object, void **ret);

#endif
