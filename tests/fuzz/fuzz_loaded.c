/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: context binaries that a backend wrote, changed in chosen sections, with checksums made right again, then read
 * by libQnnSystem.so, loaded by the backend and executed with hostile data. An input that begins with the magic number is a
 * whole file; any other says which use of an operator the file is made of, and what changes where. */
#include <stdlib.h>

#include "../passes/handmade.h"
#include "fuzz_use.h"

enum { USES = 512, LIBRARIES = 2, MAX_CHANGES = 16, MAX_CLAIM = 1 << 24, MAX_GRAPHS = 8, MAX_FILE = 1 << 18 };

static const char *const libraries[LIBRARIES] = { "libQnnCpu.so", "libQnnHtp.so" };
static const uint32_t values[] = { 0, 1, 2, 4, 8, 64, 255, 256, 4096, 65535, 65536, INT32_MAX, 1u << 31, UINT32_MAX };

struct file {
    uint8_t *data;
    size_t size;
    bool tried;
};
static struct file files[LIBRARIES][USES];

/* ---- making files ---------------------------------------------------------------------------- */

static void save(struct fuzz_library *l, Qnn_ContextHandle_t context, struct file *f)
{
    uint64_t size = 0;
    uint64_t written = 0;

    if (!fuzz_done(l, l->q.contextGetBinarySize(context, &size)) || size > MAX_FILE)
        return;
    uint8_t *data = malloc(size);
    require(data != NULL);
    require(l->q.contextGetBinary(context, data, size, &written) == QNN_SUCCESS && written <= size);
    f->data = data;
    f->size = written;
}

/* The same file whatever the input is. */
static const struct file *file_of(unsigned library, uint32_t which)
{
    static struct fuzz_use u;
    struct file *f = &files[library][which];
    struct fuzz_library *l = fuzz_library(libraries[library]);
    struct fuzz_bytes none = fuzz_bytes_of(NULL, 0);
    Qnn_ContextHandle_t context = NULL;
    Qnn_GraphHandle_t graph = NULL;

    if (f->tried)
        return f;
    f->tried = true;
    fuzz_use_take(&u, which);
    if (!u.text.call.op || !fuzz_use_translate(&u, &none))
        return f;
    require(l->q.contextCreate(l->backend, NULL, NULL, &context) == QNN_SUCCESS);
    if (fuzz_done(l, l->q.graphCreate(context, "g", NULL, &graph)) && fuzz_use_add(&u, l, graph) &&
        fuzz_done(l, l->q.graphFinalize(graph, NULL, NULL)))
        save(l, context, f);
    l->q.contextFree(context, NULL);
    return f;
}

/* ---- changing them --------------------------------------------------------------------------- */

static void change(struct fuzz_bytes *b, uint8_t *data, size_t size)
{
    struct bin_header h;
    struct bin_section s;

    memcpy(&h, data, sizeof(h));
    uint32_t number = h.n_sections ? fuzz_below(b, h.n_sections) : 0;
    size_t record = sizeof(h) + number * sizeof(s);
    if (record + sizeof(s) > size)
        return;
    memcpy(&s, data + record, sizeof(s));
    if (s.size < 4 || s.offset > size || s.size > size - s.offset)
        return;

    uint32_t at = fuzz_below(b, 1 << 16) % (uint32_t)(s.size - 3);
    uint8_t *p = data + s.offset + (fuzz_one_in(b, 4) ? at : at & ~3u);
    uint32_t value;
    switch (fuzz_below(b, 5)) {
    case 0: /* one byte */ *p = fuzz_u8(b); return;
    case 1: /* one bit */ *p ^= (uint8_t)(1 << fuzz_below(b, 8)); return;
    case 2: /* a little more or less */
        memcpy(&value, p, sizeof(value));
        value += fuzz_u8(b) - 128u;
        break;
    case 3: /* another field's value */
        memcpy(&value, data + s.offset + fuzz_below(b, 1 << 16) % (uint32_t)(s.size - 3), sizeof(value));
        break;
    default: value = FUZZ_ONE_OF(b, values);
    }
    memcpy(p, &value, sizeof(value));
}

/* Memory that a file asks for is bounded elsewhere; here it would only take time. */
static bool claims_little(const uint8_t *data, size_t size)
{
    struct binary opened;
    bool little = true;

    if (binary_open(data, size, &opened) != ST_OK)
        return true; /* the refusal is what we want to see */
    for (uint32_t i = 0; i < opened.n_graphs; i++) {
        const struct binary_graph_info *g = &opened.graphs[i].info;
        uint64_t most = g->scratch_bytes | g->persistent_bytes | g->vtcm_bytes | g->spill_fill_bytes;
        little = little && most < MAX_CLAIM && opened.graphs[i].n_commands < 1 << 14;
    }
    binary_close(&opened);
    return little;
}

/* ---- using them ------------------------------------------------------------------------------ */

static void execute_graph(struct fuzz_library *l, struct fuzz_bytes *b, Qnn_ContextHandle_t context,
                          const QnnSystemContext_GraphInfo_t *info)
{
    Qnn_GraphHandle_t graph = NULL;
    const QnnSystemContext_GraphInfoV1_t *g = &info->graphInfoV1; /* a prefix of the later versions */

    if (fuzz_done(l, l->q.graphRetrieve(context, g->graphName, &graph)))
        fuzz_execute(l, b, graph, g->graphInputs, g->numGraphInputs, g->graphOutputs, g->numGraphOutputs);
}

static const QnnSystemContext_GraphInfo_t *graphs_of(const QnnSystemContext_BinaryInfo_t *info, uint32_t *ret_n)
{
    switch (info->version) {
    case QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1:
        *ret_n = info->contextBinaryInfoV1.numGraphs;
        return info->contextBinaryInfoV1.graphs;
    case QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_2:
        *ret_n = info->contextBinaryInfoV2.numGraphs;
        return info->contextBinaryInfoV2.graphs;
    default: *ret_n = info->contextBinaryInfoV3.numGraphs; return info->contextBinaryInfoV3.graphs;
    }
}

static void use(struct fuzz_library *l, struct fuzz_bytes *b, uint8_t *data, size_t size)
{
    QNN_SYSTEM_INTERFACE_VER_TYPE *system = fuzz_system();
    QnnSystemContext_Handle_t reader = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    Qnn_ContextHandle_t context = NULL;
    uint32_t n = 0;

    require(system->systemContextCreate(&reader) == QNN_SUCCESS);
    Qnn_ErrorHandle_t e = system->systemContextGetBinaryInfo(reader, data, size, &info, &info_size);
    (void)fuzz_done(l, l->q.contextValidateBinary(l->backend, NULL, NULL, data, size));
    if (fuzz_done(l, l->q.contextCreateFromBinary(l->backend, NULL, NULL, data, size, &context, NULL))) {
        require(e == QNN_SUCCESS); /* what loads can be listed */
        const QnnSystemContext_GraphInfo_t *graphs = graphs_of(info, &n);
        for (uint32_t i = 0; i < n && i < MAX_GRAPHS; i++)
            execute_graph(l, b, context, &graphs[i]);
        require(l->q.contextFree(context, NULL) == QNN_SUCCESS);
    }
    system->systemContextFree(reader);
}

static void repair_and_use(struct fuzz_library *l, struct fuzz_bytes *b, uint8_t *copy, size_t size)
{
    hm_repair(copy, size);
    if (claims_little(copy, size))
        use(l, b, copy, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes b = fuzz_bytes_of(data, size);

    if (size >= sizeof(struct bin_header) && memcmp(data, BIN_MAGIC, 4) == 0) {
        uint8_t *copy = fuzz_block(size);
        memcpy(copy, data, size);
        for (unsigned i = 0; i < LIBRARIES; i++)
            repair_and_use(fuzz_library(libraries[i]), &b, copy, size);
        fuzz_blocks_free();
        return 0;
    }

    unsigned library = fuzz_below(&b, LIBRARIES);
    uint32_t which = fuzz_below(&b, fuzz_use_count() < USES ? fuzz_use_count() : USES);
    const struct file *f = file_of(library, which);
    if (f->data) {
        uint8_t *copy = fuzz_block(f->size);
        memcpy(copy, f->data, f->size);
        for (uint32_t left = fuzz_one_in(&b, 8) ? MAX_CHANGES : fuzz_below(&b, 4); left > 0; left--)
            change(&b, copy, f->size);
        repair_and_use(fuzz_library(libraries[library]), &b, copy, f->size);
    }
    fuzz_blocks_free();
    return 0;
}
