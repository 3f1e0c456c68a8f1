/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of context binaries. Which version of the info structs a binary gets depends on its backend: readers of LPAI
 * binaries know version 1 only, all others understand version 3. */
#include "api/binary_info.h"

#include "QNN/HTP/QnnHtpCommon.h"
#include "QNN/HTP/QnnHtpSystemContext.h"
#include "QNN/LPAI/QnnLpaiCommon.h"
#include "api/translate.h"
#include "base/mem.h"
#include "binary/binary.h"

/* The two blobs of a graph of HTP: version 1, and right behind it what version 2 adds. */
struct htp_graph_blob {
    QnnHtpSystemContext_GraphBlobInfo_t v1;
    QnnHtpSystemContext_GraphBlobInfoV2_t v2;
};

static enum status no_memory(const char *name)
{
    return status_fail(ST_NO_MEMORY, "no memory to describe \"%s\"", name);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

static enum status give_tensor(const struct binary_tensor *t, struct arena *a, Qnn_Tensor_t *ret)
{
    return tensor_to_client(&t->desc, t->name, t->client_id, t->client_type, a, ret);
}

static enum status fill_io(const struct binary_graph *g, struct arena *a, QnnSystemContext_GraphInfoV3_t *ret)
{
    Qnn_Tensor_t *io = arena_array(a, Qnn_Tensor_t, g->n_io);
    if (!io)
        return no_memory(g->info.name);
    for (uint32_t i = 0; i < g->n_io; i++)
        TRY(give_tensor(&g->tensors[g->io[i]], a, &io[i]));
    ret->numGraphInputs = g->info.n_inputs;
    ret->graphInputs = io;
    ret->numGraphOutputs = g->info.n_outputs;
    ret->graphOutputs = io + g->info.n_inputs;
    return ST_OK;
}

/* Constants that prepare made of such a tensor change with it, but are none of the client's. */
static bool is_updateable(const struct binary_tensor *t)
{
    return t->updateable && t->client_id;
}

static enum status fill_updateable(const struct binary_graph *g, struct arena *a, QnnSystemContext_GraphInfoV3_t *ret)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        n += is_updateable(&g->tensors[i]);
    if (n == 0)
        return ST_OK;
    Qnn_Tensor_t *list = arena_array(a, Qnn_Tensor_t, n);
    if (!list)
        return no_memory(g->info.name);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (is_updateable(&g->tensors[i]))
            TRY(give_tensor(&g->tensors[i], a, &list[ret->numUpdateableTensors++]));
    ret->updateableTensors = list;
    return ST_OK;
}

/* Bytes of a graph's constants that other graphs of the file use, too: those that begin where one of theirs does. */
static enum status shared_bytes(const struct binary *b, const struct binary_graph *g, uint64_t *ret)
{
    enum { UNIT = 64 }; /* alignment of constants */
    *ret = 0;
    CLEANUP(mem_freep) bool *used = NULL;
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const struct binary_graph *o = &b->graphs[i];
        if (o == g || !g->constants || o->constants != g->constants)
            continue;
        if (!used && !(used = mem_array(bool, g->constant_bytes / UNIT + 1)))
            return no_memory(g->info.name);
        for (uint32_t k = 0; k < o->n_tensors; k++)
            if (o->tensors[k].place == PLACE_CONST)
                used[o->tensors[k].offset / UNIT] = true;
    }
    for (uint32_t i = 0; used && i < g->n_tensors; i++)
        if (g->tensors[i].place == PLACE_CONST && used[g->tensors[i].offset / UNIT])
            *ret += g->tensors[i].bytes;
    return ST_OK;
}

static enum status fill_htp_blob(const struct binary *b, const struct binary_graph *g, struct arena *a,
                                 QnnSystemContext_GraphInfoV3_t *ret)
{
    const struct binary_graph_info *i = &g->info;
    struct htp_graph_blob *blob = arena_new(a, struct htp_graph_blob);
    if (!blob)
        return no_memory(i->name);
    uint64_t shared;
    TRY(shared_bytes(b, g, &shared));
    blob->v1.version = QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1;
    blob->v1.contextBinaryGraphBlobInfoV1 = (QnnHtpSystemContext_GraphBlobInfoV1_t){
        .spillFillBufferSize = i->spill_fill_bytes,
        .vtcmSize = i->vtcm_mb,
        .optimizationLevel = i->opt_level,
        .htpDlbc = i->dlbc != 0,
        .numHvxThreads = i->hvx_threads,
    };
    blob->v2 = (QnnHtpSystemContext_GraphBlobInfoV2_t){
        .version = QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2,
        .ioTensorSize = i->io_bytes,
        .opDataSize =
            g->n_tensors * sizeof(g->tensors[0]) + g->n_nodes * sizeof(g->nodes[0]) + g->n_commands * sizeof(g->commands[0]),
        .constSize = shared < i->const_bytes ? i->const_bytes - shared : 0,
        .ddrTensorSize = i->scratch_bytes + i->persistent_bytes,
        .sharedWeightsSize = shared,
    };
    ret->graphBlobInfo = blob;
    ret->graphBlobInfoSize = sizeof(*blob);
    return ST_OK;
}

static enum status fill_graph(const struct binary *b, const struct binary_graph *g, struct arena *a,
                              QnnSystemContext_GraphInfo_t *ret)
{
    /* Versions 1 and 2 are the beginning of version 3. */
    QnnSystemContext_GraphInfoV3_t *v = &ret->graphInfoV3;
    v->graphName = arena_strdup(a, g->info.name);
    if (!v->graphName)
        return no_memory(g->info.name);
    TRY(fill_io(g, a, v));
    if (ret->version == QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1)
        return ST_OK;
    TRY(fill_updateable(g, a, v));
    v->endOpIndex = g->info.n_source_nodes ? g->info.n_source_nodes - 1 : 0;
    return b->target.backend_id == QNN_BACKEND_ID_HTP ? fill_htp_blob(b, g, a, v) : ST_OK;
}

static enum status fill_graphs(const struct binary *b, QnnSystemContext_GraphInfoVersion_t version, struct arena *a,
                               QnnSystemContext_GraphInfo_t **ret)
{
    QnnSystemContext_GraphInfo_t *graphs = arena_array(a, QnnSystemContext_GraphInfo_t, b->n_graphs);
    RETURN_IF(!graphs, ST_NO_MEMORY, "no memory to describe %u graphs", b->n_graphs);
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        graphs[i].version = version;
        TRY(fill_graph(b, &b->graphs[i], a, &graphs[i]));
    }
    *ret = graphs;
    return ST_OK;
}

/* ---- the binary ------------------------------------------------------------------------------------------------------- */

static Qnn_Version_t version_of(const uint32_t v[3])
{
    return (Qnn_Version_t){ .major = v[0], .minor = v[1], .patch = v[2] };
}

static const Qnn_Version_t blob_version = {
    .major = 1
}; /* what clients know; our format has a number of its own in its header */

static enum status fill_v1(const struct binary *b, struct arena *a, QnnSystemContext_BinaryInfoV1_t *v)
{
    v->backendId = b->target.backend_id;
    v->buildId = arena_strdup(a, b->target.build_id);
    v->coreApiVersion = version_of(b->target.core_version);
    v->backendApiVersion = version_of(b->target.backend_version);
    v->socVersion = arena_strdup(a, "");
    v->contextBlobVersion = blob_version;
    v->contextBlobSize = b->size;
    v->numGraphs = b->n_graphs;
    if (!v->buildId || !v->socVersion)
        return no_memory("context binary");
    return fill_graphs(b, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1, a, &v->graphs);
}

static enum status fill_htp_context(const struct binary *b, struct arena *a, QnnSystemContext_BinaryInfoV3_t *v)
{
    QnnHtpSystemContext_ContextBlobInfo_t *blob = arena_new(a, QnnHtpSystemContext_ContextBlobInfo_t);
    if (!blob)
        return no_memory("context binary");
    blob->version = QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1;
    blob->contextBinaryContextBlobInfoV1.dspArch = b->target.arch;
    v->contextMetadata = blob;
    v->contextMetadataSize = sizeof(*blob);
    return ST_OK;
}

static enum status fill_v3(const struct binary *b, struct arena *a, QnnSystemContext_BinaryInfoV3_t *v)
{
    v->backendId = b->target.backend_id;
    v->buildId = arena_strdup(a, b->target.build_id);
    v->coreApiVersion = version_of(b->target.core_version);
    v->backendApiVersion = version_of(b->target.backend_version);
    v->socVersion = arena_strdup(a, "");
    v->contextBlobVersion = blob_version;
    v->contextBlobSize = b->size;
    v->numGraphs = b->n_graphs;
    v->socModel = b->target.soc_model;
    if (!v->buildId || !v->socVersion)
        return no_memory("context binary");
    if (b->target.backend_id == QNN_BACKEND_ID_HTP)
        TRY(fill_htp_context(b, a, v));
    return fill_graphs(b, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3, a, &v->graphs);
}

static enum status fill_info(const struct binary *b, struct arena *a, QnnSystemContext_BinaryInfo_t *ret)
{
    uint32_t id = b->target.backend_id;
    if (id == QNN_BACKEND_ID_LPAI || id == QNN_BACKEND_ID_LPAI_ISLAND) {
        ret->version = QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1;
        return fill_v1(b, a, &ret->contextBinaryInfoV1);
    }
    ret->version = QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3;
    return fill_v3(b, a, &ret->contextBinaryInfoV3);
}

enum status binary_info_make(const void *data, uint64_t size, struct arena *a, QnnSystemContext_BinaryInfo_t **ret)
{
    struct binary b;
    TRY(binary_open(data, size, &b));
    *ret = arena_new(a, QnnSystemContext_BinaryInfo_t);
    enum status st = *ret ? fill_info(&b, a, *ret) : no_memory("context binary");
    binary_close(&b);
    return st;
}
