/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a DLC, and handles for them. A graph is described by composing it for nobody: what a client would get from a
 * backend is known without one. */
#include "api/dlc_info.h"

#include <string.h>

#include "api/binary_info.h"
#include "api/compose.h"

void dlc_facts_init(struct dlc_facts *f)
{
    *f = (struct dlc_facts){ 0 };
    pthread_mutex_init(&f->lock, NULL);
    arena_init(&f->arena);
}

void dlc_facts_finish(struct dlc_facts *f)
{
    for (size_t i = 0; i < f->infos.n; i++) {
        handle_close(f->infos.at[i]->handle, HANDLE_SYSTEM_DLC_INFO, 0);
        mem_free(f->infos.at[i]);
    }
    vec_finish(&f->infos);
    arena_finish(&f->arena);
    pthread_mutex_destroy(&f->lock);
}

/* ---- handles ---------------------------------------------------------------------------------------------------------- */

static enum status add_info(struct dlc_facts *f, enum dlc_info_kind kind, const void *object, void **ret)
{
    struct dlc_info *i = mem_new(struct dlc_info), **place = i ? vec_push(&f->infos) : NULL;
    void *h = place ? handle_open(HANDLE_SYSTEM_DLC_INFO, i) : NULL;
    if (!h) {
        f->infos.n -= place != NULL;
        mem_free(i);
        return status_fail(ST_NO_MEMORY, "no memory for what a DLC says about itself");
    }
    *i = (struct dlc_info){ .facts = f, .kind = kind, .object = object, .handle = h };
    *place = i;
    *ret = h;
    return ST_OK;
}

enum status dlc_info_handle(struct dlc_facts *f, enum dlc_info_kind kind, const void *object, void **ret)
{
    enum status st = ST_NOT_FOUND;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->infos.n && st != ST_OK; i++)
        if (f->infos.at[i]->object == object && f->infos.at[i]->kind == kind) {
            *ret = f->infos.at[i]->handle;
            st = ST_OK;
        }
    if (st != ST_OK)
        st = add_info(f, kind, object, ret);
    pthread_mutex_unlock(&f->lock);
    return st;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

/* A backend that only counts tensors: a graph's handle is where it counts. */
static Qnn_ErrorHandle_t count_graph(Qnn_ContextHandle_t context, const char *name, const QnnGraph_Config_t **config,
                                     Qnn_GraphHandle_t *graph)
{
    (void)name, (void)config;
    *(uint32_t *)context = 0;
    *graph = context;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t count_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *tensor)
{
    tensor->v1.id = ++*(uint32_t *)graph;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t count_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op)
{
    (void)graph, (void)op;
    return QNN_SUCCESS;
}

static const QNN_INTERFACE_VER_TYPE nobody = { .graphCreate = count_graph,
                                               .graphAddNode = count_node,
                                               .tensorCreateContextTensor = count_tensor,
                                               .tensorCreateGraphTensor = count_tensor };

enum status dlc_facts_graphs(struct dlc_facts *f, struct ir_graph *const *graphs, uint32_t n)
{
    uint32_t ids;
    struct compose_target t = { .api = &nobody, .context = &ids };
    f->graphs = arena_array(&f->arena, struct dlc_graph_info, n);
    f->graph_handles = arena_array(&f->arena, void *, n);
    RETURN_IF(!f->graphs || !f->graph_handles, ST_NO_MEMORY, "no memory to describe %u graphs", n);
    for (; f->n_graphs < n; f->n_graphs++) {
        struct dlc_graph_info *g = &f->graphs[f->n_graphs];
        struct composed c;
        TRY(compose_graph(graphs[f->n_graphs], &t, &f->arena, &c));
        *g = (struct dlc_graph_info){ 1, { c.name, c.inputs.n, c.inputs.at, c.outputs.n, c.outputs.at } };
        TRY(dlc_info_handle(f, INFO_GRAPH, g, &f->graph_handles[f->n_graphs]));
    }
    return ST_OK;
}

/* ---- context binaries ------------------------------------------------------------------------------------------------- */

enum status dlc_facts_reserve(struct dlc_facts *f, uint32_t records)
{
    f->binaries = arena_array(&f->arena, QnnSystemContext_BinaryInfo_t *, records);
    f->binary_handles = arena_array(&f->arena, void *, records);
    RETURN_IF(!f->binaries || !f->binary_handles, ST_NO_MEMORY, "no memory to describe %u records", records);
    return ST_OK;
}

enum status dlc_facts_record(struct dlc_facts *f, const void *bytes, uint64_t size)
{
    static const char begin[4] = "OQNB"; /* any other record is no context binary */
    if (size < sizeof begin || memcmp(bytes, begin, sizeof begin) != 0)
        return ST_OK;
    TRY(binary_info_make(bytes, size, &f->arena, &f->binaries[f->n_binaries]));
    TRY(dlc_info_handle(f, INFO_BINARY, f->binaries[f->n_binaries], &f->binary_handles[f->n_binaries]));
    f->n_binaries++;
    return ST_OK;
}
