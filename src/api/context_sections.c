/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext.h, the part about sections of a binary: what graphs became after updates of their tensors, stored and applied
 * without the rest (binary_update.c). Pieces and DLC records are features that no backend has yet; their arguments are
 * checked, so that a wrong call gets its own error. */
#include <string.h>

#include "QNN/QnnContext.h"
#include "QNN/QnnProperty.h"
#include "api/call_signal.h"
#include "api/objects.h"
#include "base/clock.h"

/* ---- sections --------------------------------------------------------------------------------------------------------- */

/* The graph behind a handle that may be NULL, which means all of them; it is pinned until pin_end. */
static enum status pin_graph(const struct api_context *c, void *handle, struct pin *pin, struct api_graph **ret)
{
    *ret = NULL;
    if (!handle)
        return ST_OK;
    struct api_graph *g = handle_get(handle, HANDLE_GRAPH);
    RETURN_IF(!g, ST_INVALID_HANDLE, "the graph handle is %s", handle_describe(handle, HANDLE_GRAPH));
    pin->handle = handle;
    RETURN_IF(g->context != c, ST_INVALID_ARG, "graph \"%s\" belongs to another context", g->name);
    RETURN_IF(g->subgraph, ST_INVALID_ARG, "graph \"%s\" is a subgraph; name the graph it belongs to", g->name);
    *ret = g;
    return ST_OK;
}

static void unpin_graph(struct pin *p)
{
    if (p->handle)
        pin_end(p);
}

static enum status check_backend(QnnContext_SectionType_t section)
{
    RETURN_IF(!backend_capable(backend_this, QNN_PROPERTY_CONTEXT_SUPPORT_BINARY_UPDATES), ST_NOT_SUPPORTED,
              "binary sections are not supported by the %s backend", backend_this->name);
    RETURN_IF(section < QNN_CONTEXT_SECTION_UPDATABLE || section > QNN_CONTEXT_SECTION_UPDATABLE_QUANT_PARAMS,
              ST_INVALID_ARG, "section %u is unknown; 1 (updatable), 2 (its weights) and 3 (its encodings) are known",
              (unsigned)section);
    return ST_OK;
}

/* A section has all that is new. Where that is both data and encodings, neither alone would be the graph that was
 * finalized. */
static enum status check_kind(const struct api_graph *g, QnnContext_SectionType_t section)
{
    bool lacks = (section == QNN_CONTEXT_SECTION_UPDATABLE_WEIGHTS && g->other_quants) ||
                 (section == QNN_CONTEXT_SECTION_UPDATABLE_QUANT_PARAMS && g->other_data);
    RETURN_IF(lacks, ST_NOT_SUPPORTED,
              "graph \"%s\" has new %s, too, which section %u would leave out; ask for section 1 (updatable)", g->name,
              section == QNN_CONTEXT_SECTION_UPDATABLE_WEIGHTS ? "encodings" : "data", (unsigned)section);
    return ST_OK;
}

static enum status check_source(const struct api_graph *g, QnnContext_SectionType_t section)
{
    RETURN_IF(g->state != GRAPH_FINAL || g->changed, ST_NOT_FINALIZED, "graph \"%s\" is not finalized%s", g->name,
              g->changed ? " since tensors of it were updated" : "");
    RETURN_IF(!g->ir, ST_INVALID_ARG, "graph \"%s\" has no updateable tensors", g->name);
    return check_kind(g, section);
}

static enum status write_section(const struct api_context *c, const struct api_graph *only, QnnContext_SectionType_t section,
                                 struct binary_image *ret)
{
    TRY(check_backend(section));
    RETURN_IF(c->from_binary, ST_NOT_PERMITTED, "the context was made from a binary; nothing of it was updated");
    CLEANUP(mem_freep) const struct binary **parts = mem_array(const struct binary *, c->graphs.n);
    CLEANUP(mem_freep) const struct binary_constants **base = mem_array(const struct binary_constants *, c->graphs.n);
    RETURN_IF(!parts || !base, ST_NO_MEMORY, "no memory to list %zu graphs", c->graphs.n);
    uint32_t n = 0;
    for (size_t i = 0; i < c->graphs.n; i++) {
        const struct api_graph *g = c->graphs.at[i];
        if (only ? g != only : g->subgraph || (g->state == GRAPH_FINAL && !g->ir))
            continue;
        TRY(check_source(g, section));
        parts[n] = g->binary;
        base[n++] = &g->base;
    }
    RETURN_IF(!n, ST_INVALID_ARG, "the context has no graph with updateable tensors");
    return binary_update_write(parts, base, n, ret);
}

Qnn_ErrorHandle_t QnnContext_getBinarySectionSize(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                                  QnnContext_SectionType_t section,
                                                  Qnn_ContextBinarySize_t *binaryBufferSize)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    API_CHECK(binaryBufferSize, COMP_CONTEXT, ST_INVALID_ARG, "binaryBufferSize is NULL");
    CLEANUP(unpin_graph) struct pin pin = { 0 };
    struct api_graph *g;
    struct binary_image im = { 0 };
    LOCKED(&c->lock);
    enum status st = context_alive(c);
    if (st == ST_OK)
        st = pin_graph(c, graph, &pin, &g);
    if (st == ST_OK)
        st = write_section(c, g, section, &im);
    if (st == ST_OK)
        *binaryBufferSize = im.size;
    binary_image_free(&im);
    return api_error(COMP_CONTEXT, st);
}

static enum status raw_buffer(const QnnContext_Buffer_t *b, const Qnn_BinaryBuffer_t **ret)
{
    RETURN_IF(!b, ST_INVALID_ARG, "binaryBuffer is NULL");
    RETURN_IF(b->version != QNN_CONTEXT_BUFFER_VERSION_1, ST_INVALID_ARG, "binaryBuffer has version %u; 1 is known",
              (unsigned)b->version);
    RETURN_IF(b->v1.memType != QNN_CONTEXTMEMTYPE_RAW, ST_NOT_SUPPORTED,
              "binaryBuffer has memType %u; 0 (raw memory) is supported", (unsigned)b->v1.memType);
    RETURN_IF(!b->v1.binaryBuf.data || !b->v1.binaryBuf.dataSize, ST_INVALID_ARG, "binaryBuffer is empty");
    *ret = &b->v1.binaryBuf;
    return ST_OK;
}

static enum status give_section(const struct api_context *c, const struct api_graph *only, QnnContext_SectionType_t section,
                                const Qnn_BinaryBuffer_t *to, uint64_t *written)
{
    struct binary_image im = { 0 };
    TRY(write_section(c, only, section, &im));
    uint64_t need = im.size;
    if (need <= to->dataSize)
        memcpy(to->data, im.data, im.size);
    binary_image_free(&im);
    RETURN_IF(need > to->dataSize, ST_INVALID_ARG,
              "the buffer has %llu bytes; the section needs %llu (QnnContext_getBinarySectionSize)",
              (unsigned long long)to->dataSize, (unsigned long long)need);
    *written = need;
    return ST_OK;
}

/* A call with a profile and a signal around it. */
struct section_call {
    struct api_context *c;
    struct api_graph *only; /* NULL: all graphs */
    QnnContext_SectionType_t section;
    const Qnn_BinaryBuffer_t *buffer;
    uint64_t *written; /* NULL: the section is applied */
    struct cancel *cancel;
};

static enum status apply_section(const struct section_call *s);

static enum status section_step(const struct section_call *s)
{
    return call_check(s->cancel, s->written ? "reading the section" : "applying the section");
}

/* With the context locked. */
static enum status section_work(const struct section_call *s)
{
    TRY(context_alive(s->c));
    TRY(section_step(s));
    if (s->written)
        return give_section(s->c, s->only, s->section, s->buffer, s->written);

    context_watch(s->c, s->cancel);
    enum status st = apply_section(s);
    context_watch(s->c, NULL);
    return st;
}

/* The signal counts from the call, also while another call has the context. */
static enum status section_in_turn(const struct section_call *s, struct api_profile *p)
{
    TRY(call_lock(&s->c->lock, s->cancel, s->written ? "reading the section" : "applying the section"));
    uint64_t start = clock_ns();
    enum status st = section_work(s);

    if (!s->written)
        context_stage_events(s->c, STAGE_UPDATE, st == ST_OK ? p : NULL);
    if (p && st == ST_OK && !s->written)
        prof_add(p->prof, PROF_ROOT, backend_this->update_event ? backend_this->update_event : PROF_INIT, PROF_UNIT_US,
                 (clock_ns() - start) / 1000, "QNN (apply binary section) time");
    pthread_mutex_unlock(&s->c->lock);
    return st;
}

static enum status section_run(struct section_call *s, void *profile, void *signal)
{
    struct api_profile *p = NULL;
    struct api_signal *sig = NULL;
    TRY(profile_begin(profile, &p));
    enum status st = signal_begin(signal, NULL, &sig);
    s->cancel = sig ? &sig->cancel : NULL;
    if (st == ST_OK)
        st = section_in_turn(s, p);
    signal_end(sig);
    profile_end(p);
    return st == ST_BAD_BINARY ? ST_INVALID_ARG : st; /* of this call it is an argument */
}

static enum status section_begin(struct section_call *s, void *graph, struct pin *pin, const QnnContext_Buffer_t *buffer)
{
    TRY(check_backend(s->section));
    TRY(raw_buffer(buffer, &s->buffer));
    return pin_graph(s->c, graph, pin, &s->only);
}

Qnn_ErrorHandle_t QnnContext_getBinarySection(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                              QnnContext_SectionType_t section, const QnnContext_Buffer_t *binaryBuffer,
                                              Qnn_ContextBinarySize_t *writtenBufferSize, Qnn_ProfileHandle_t profile,
                                              Qnn_SignalHandle_t signal)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    API_CHECK(writtenBufferSize, COMP_CONTEXT, ST_INVALID_ARG, "writtenBufferSize is NULL");
    CLEANUP(unpin_graph) struct pin pin = { 0 };
    struct section_call s = { .c = c, .section = section, .written = writtenBufferSize };
    enum status st = section_begin(&s, graph, &pin, binaryBuffer);
    return api_error(COMP_CONTEXT, st == ST_OK ? section_run(&s, profile, signal) : st);
}

/* ---- applying --------------------------------------------------------------------------------------------------------- */

/* A graph and what takes its place. */
struct change {
    struct api_graph *graph;
    struct graph_spare spare;
};

/* Puts the new binary of a graph together. Constants that no update changes are those of the context's own file, whatever
 * was applied before; they are looked at once. A graph that was built here has them in its program. */
static enum status build_update(struct api_graph *g, const struct binary_update *u, uint32_t part, struct binary_image *ret)
{
    const struct api_context *c = g->context;
    if (c->from_binary) {
        if (!g->base.at)
            TRY(binary_list_constants(&c->binary.graphs[g->index], &g->base));
        return binary_update_build(u, part, &g->base, ret);
    }
    struct binary_constants now;
    TRY(binary_list_constants(&g->own->graphs[0], &now));
    enum status st = binary_update_build(u, part, &now, ret);
    binary_constants_finish(&now);
    return st;
}

static enum status prepare_change(const struct section_call *s, const struct binary_update *u, uint32_t part,
                                  struct change *ret)
{
    const char *name = binary_update_name(u, part);
    struct api_graph *g = context_find_graph(s->c, name);
    struct binary_image im;
    RETURN_IF(!g || g->subgraph, ST_BINARY_CONFIG, "the section is for a graph \"%s\", which this context does not have",
              name);
    TRY(graph_present(g));
    RETURN_IF(g->state == GRAPH_OPEN, ST_NOT_FINALIZED, "graph \"%s\" is not finalized", name);
    TRY(section_step(s));
    TRY(build_update(g, u, part, &im));
    TRY(graph_spare_load(g, &im, &ret->spare));
    ret->graph = g;
    return ST_OK;
}

static enum status prepare_changes(const struct section_call *s, const struct binary_update *u, struct change *at,
                                   uint32_t *n)
{
    for (uint32_t i = 0; i < u->n_parts; i++) {
        const char *name = binary_update_name(u, i);
        if (s->only && strcmp(name, s->only->name) != 0)
            continue;
        for (uint32_t k = 0; k < *n; k++)
            RETURN_IF(strcmp(at[k].graph->name, name) == 0, ST_BAD_BINARY, "the section has graph \"%s\" twice", name);
        TRY(prepare_change(s, u, i, &at[*n]));
        ++*n;
    }
    RETURN_IF(!*n, ST_BINARY_CONFIG, "the section has nothing for graph \"%s\"", s->only ? s->only->name : "");
    return ST_OK;
}

/* All graphs change or none. */
static enum status apply_section(const struct section_call *s)
{
    struct binary_update u;
    struct backend_loading loading = { 0 };
    if (backend_this->loading)
        loading = backend_this->loading(&s->c->cfg);

    if (loading.unsummed_sections)
        TRY(binary_update_open_unsummed(s->buffer->data, s->buffer->dataSize, &u));
    else
        TRY(binary_update_open(s->buffer->data, s->buffer->dataSize, &u));
    RETURN_IF(u.backend_id != backend_this->id, ST_BINARY_CONFIG,
              "the section was made for backend %u; this is the %s backend (%u)", u.backend_id, backend_this->name,
              backend_this->id);
    struct change *at = mem_array(struct change, u.n_parts);
    RETURN_IF(!at, ST_NO_MEMORY, "no memory to change %u graphs", u.n_parts);
    uint32_t n = 0;
    enum status st = prepare_changes(s, &u, at, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (st == ST_OK)
            graph_spare_swap(at[i].graph, &at[i].spare);
        graph_spare_free(&at[i].spare);
    }
    mem_free(at);
    return st;
}

Qnn_ErrorHandle_t QnnContext_applyBinarySection(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                                                QnnContext_SectionType_t section, const QnnContext_Buffer_t *binaryBuffer,
                                                Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    CLEANUP(unpin_graph) struct pin pin = { 0 };
    struct section_call s = { .c = c, .section = section };
    enum status st = section_begin(&s, graph, &pin, binaryBuffer);
    return api_error(COMP_CONTEXT, st == ST_OK ? section_run(&s, profile, signal) : st);
}

/* ---- what no backend has ---------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t refuse(Qnn_ContextHandle_t context, const char *call, const char *instead)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_CONTEXT);
    log_enter(c->log);
    return api_fail(COMP_CONTEXT, ST_NOT_SUPPORTED, "%s is not supported by the %s backend; %s", call, backend_this->name,
                    instead);
}

Qnn_ErrorHandle_t QnnContext_getBinarySectionUpdate(const QnnContext_Buffer_t *binaryBuffer,
                                                    const QnnContext_Buffer_t *auxiliaryBuffer, const Qnn_Tensor_t **tensors,
                                                    uint64_t numTensors, uint8_t keepUpdatable, Qnn_LogHandle_t logger,
                                                    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal,
                                                    QnnContext_Buffer_t *binarySectionUpdate)
{
    (void)auxiliaryBuffer, (void)keepUpdatable, (void)profile, (void)signal;
    log_enter(logger);
    API_CHECK(binaryBuffer && tensors && numTensors && binarySectionUpdate, COMP_CONTEXT, ST_INVALID_ARG,
              "a buffer or the list of tensors is missing");
    return api_fail(COMP_CONTEXT, ST_NOT_SUPPORTED, "QnnContext_getBinarySectionUpdate is not supported by the %s backend",
                    backend_this->name);
}

Qnn_ErrorHandle_t QnnContext_freeBinarySectionUpdate(QnnContext_Buffer_t binarySectionUpdate, Qnn_LogHandle_t logger)
{
    (void)binarySectionUpdate;
    log_enter(logger);
    return api_fail(COMP_CONTEXT, ST_NOT_SUPPORTED, "QnnContext_freeBinarySectionUpdate is not supported by the %s backend",
                    backend_this->name);
}

Qnn_ErrorHandle_t QnnContext_getIncrementalBinary(Qnn_ContextHandle_t context, const void **binaryBuffer,
                                                  Qnn_ContextBinarySize_t *startOffset,
                                                  Qnn_ContextBinarySize_t *writtenBufferSize)
{
    (void)binaryBuffer, (void)startOffset, (void)writtenBufferSize;
    return refuse(context, "QnnContext_getIncrementalBinary", "use QnnContext_getBinary");
}

Qnn_ErrorHandle_t QnnContext_releaseIncrementalBinary(Qnn_ContextHandle_t context, const void *binaryBuffer,
                                                      Qnn_ContextBinarySize_t startOffset)
{
    (void)binaryBuffer, (void)startOffset;
    return refuse(context, "QnnContext_releaseIncrementalBinary", "use QnnContext_getBinary");
}

Qnn_ErrorHandle_t QnnContext_addToDlc(Qnn_ContextHandle_t context, QnnSystemDlc_Handle_t dlcHandle)
{
    (void)dlcHandle;
    return refuse(context, "QnnContext_addToDlc", "save the binary to its own file");
}
