/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemDlc.h: DLC containers.
 *
 * The container itself is convert/'s; here it gets a handle, a lock, and children: the handles of its records
 * (dlc_records.c) and of what is told about it (dlc_info.c), which end with it. The model is read when a container is
 * opened, so that a damaged one is refused at once; a model with operators that we do not have still gives its records, and
 * composing it says which operators they are. Directories for temporary data are not needed: nothing is unpacked to disk. */
#include "QNN/System/QnnSystemDlc.h"

#include <string.h>

#include "api/dlc_compose.h"
#include "api/interface_next.h"
#include "api/objects.h"
#include "api/op_mapping.h"
#include "api/system_dlc.h"
#include "base/fpu_mode.h"
#include "convert/convert.h"

/* ---- opening ---------------------------------------------------------------------------------------------------------- */

static void dlc_destroy(struct system_dlc *d)
{
    for (void *h; (h = children_take(&d->records));)
        mem_free(handle_close(h, HANDLE_SYSTEM_DLC_RECORD, 0));
    children_finish(&d->records);
    dlc_facts_finish(&d->facts);
    convert_dlc_close(d->dlc);
    arena_finish(&d->mappings_arena);
    mem_free(d->image);
    pthread_mutex_destroy(&d->lock);
    mem_free(d);
}

static enum status check_out(Qnn_LogHandle_t logger, const void *out)
{
    RETURN_IF(!out, ST_INVALID_ARG, "dlcHandle is NULL; give a pointer that receives the handle");
    if (!logger)
        return ST_OK;
    void *log = handle_get(logger, HANDLE_LOG);
    RETURN_IF(!log, ST_INVALID_ARG, "the logger is %s; give one of QnnSystemLog_create, or NULL",
              handle_describe(logger, HANDLE_LOG));
    handle_put(logger);
    return ST_OK;
}

/* A handle for an opened container, which it takes over in any case. */
static enum status publish(Qnn_LogHandle_t logger, struct convert_dlc *dlc, QnnSystemDlc_Handle_t *ret)
{
    struct ir_graph *const *graphs;
    uint32_t n;
    enum status st = convert_dlc_graphs(dlc, NULL, &graphs, &n);
    if (st == ST_NOT_SUPPORTED) {
        api_log(LOG_WARN, "%s", status_text());
        st = ST_OK;
    }
    struct system_dlc *d = st == ST_OK ? mem_new(struct system_dlc) : NULL;
    if (!d) {
        convert_dlc_close(dlc);
        return st == ST_OK ? status_fail(ST_NO_MEMORY, "no memory for a DLC") : st;
    }
    *d = (struct system_dlc){ .log = logger, .dlc = dlc };
    pthread_mutex_init(&d->lock, NULL);
    arena_init(&d->mappings_arena);
    dlc_facts_init(&d->facts);
    void *h = handle_open(HANDLE_SYSTEM_DLC, d);
    if (!h) {
        dlc_destroy(d);
        return status_fail(ST_NO_MEMORY, "no memory for a DLC");
    }
    *ret = h;
    return ST_OK;
}

static enum status from_file(Qnn_LogHandle_t logger, const char *path, QnnSystemDlc_Handle_t *out)
{
    FPU_DEFAULT_MODE(fpu);
    struct convert_dlc *dlc;
    TRY(check_out(logger, out));
    RETURN_IF(!path, ST_INVALID_ARG, "dlcPath is NULL; give the path of a DLC");
    TRY(convert_dlc_open(path, &dlc));
    enum status st = publish(logger, dlc, out);
    return st == ST_OK ? ST_OK : status_prefix(st, "\"%s\"", path);
}

static enum status from_binary(Qnn_LogHandle_t logger, const uint8_t *buffer, Qnn_ContextBinarySize_t size,
                               QnnSystemDlc_Handle_t *out)
{
    FPU_DEFAULT_MODE(fpu);
    struct convert_dlc *dlc;
    TRY(check_out(logger, out));
    RETURN_IF(!buffer || size == 0, ST_INVALID_ARG, "the buffer is %s and has %llu bytes; give the bytes of a DLC",
              buffer ? "given" : "NULL", (unsigned long long)size);
    TRY(convert_dlc_open_data(buffer, size, &dlc));
    return publish(logger, dlc, out);
}

static enum status create_empty(Qnn_LogHandle_t logger, QnnSystemDlc_Handle_t *out)
{
    FPU_DEFAULT_MODE(fpu);
    struct convert_dlc *dlc;
    TRY(check_out(logger, out));
    TRY(convert_dlc_create(&dlc));
    return publish(logger, dlc, out);
}

/* ---- composing and mappings ------------------------------------------------------------------------------------------- */

static enum status compose(struct system_dlc *d, const struct dlc_compose *a, QnnSystemContext_GraphInfo_t **ret,
                           uint32_t *ret_n)
{
    FPU_DEFAULT_MODE(fpu);
    struct ir_graph *const *graphs;
    uint32_t n;
    RETURN_IF(!ret || !ret_n, ST_INVALID_ARG, "%s is NULL; give a pointer that receives the result",
              ret ? "numGraphs" : "graphs");
    TRY(dlc_compose_check(a));
    TRY(convert_dlc_graphs(d->dlc, NULL, &graphs, &n));
    RETURN_IF(n == 0, ST_NOT_FOUND, "the DLC has no model, so there is nothing to compose");
    TRY(dlc_compose(a, graphs, n, ret));
    *ret_n = n;
    return ST_OK;
}

static enum status map_all(struct system_dlc *d, const Qnn_OpMapping_t **ret, uint32_t *ret_n)
{
    FPU_DEFAULT_MODE(fpu);
    struct ir_graph *const *graphs;
    uint32_t n;
    RETURN_IF(!ret || !ret_n, ST_INVALID_ARG, "%s is NULL; give a pointer that receives the result",
              ret ? "numOpMappings" : "opMappings");
    TRY(convert_dlc_graphs(d->dlc, NULL, &graphs, &n));
    if (!d->mappings) {
        Qnn_OpMapping_t *list = arena_array(&d->mappings_arena, Qnn_OpMapping_t, n);
        for (uint32_t i = 0; list && i < n; i++)
            if (!op_mapping_make(&d->mappings_arena, graphs[i], &list[i]))
                list = NULL;
        RETURN_IF(!list, ST_NO_MEMORY, "no memory for the mappings of a DLC");
        d->mappings = list;
    }
    *ret = d->mappings;
    *ret_n = n;
    return ST_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static enum status image_of(struct system_dlc *d)
{
    FPU_DEFAULT_MODE(fpu);
    return d->image ? ST_OK : convert_dlc_image(d->dlc, &d->image, &d->image_size);
}

/* ---- entry points ----------------------------------------------------------------------------------------------------- */

Qnn_ErrorHandle_t QnnSystemDlc_createFromFile(Qnn_LogHandle_t logger, const char *dlcPath, QnnSystemDlc_Handle_t *dlcHandle)
{
    log_enter(logger);
    return api_error(COMP_SYSTEM, from_file(logger, dlcPath, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromFileWithDestinationDir(Qnn_LogHandle_t logger, const char *dlcPath,
                                                                const char *destinationDirectoryHint,
                                                                QnnSystemDlc_Handle_t *dlcHandle)
{
    (void)destinationDirectoryHint;
    log_enter(logger);
    return api_error(COMP_SYSTEM, from_file(logger, dlcPath, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromBinary(Qnn_LogHandle_t logger, const uint8_t *buffer,
                                                const Qnn_ContextBinarySize_t bufferSize, QnnSystemDlc_Handle_t *dlcHandle)
{
    log_enter(logger);
    return api_error(COMP_SYSTEM, from_binary(logger, buffer, bufferSize, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromBinaryWithDestinationDir(Qnn_LogHandle_t logger, const uint8_t *buffer,
                                                                  const Qnn_ContextBinarySize_t bufferSize,
                                                                  const char *destinationDirectoryHint,
                                                                  QnnSystemDlc_Handle_t *dlcHandle)
{
    (void)destinationDirectoryHint;
    log_enter(logger);
    return api_error(COMP_SYSTEM, from_binary(logger, buffer, bufferSize, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createWithDestinationDir(Qnn_LogHandle_t logger, const char *destinationDirectoryHint,
                                                        QnnSystemDlc_Handle_t *dlcHandle)
{
    (void)destinationDirectoryHint;
    log_enter(logger);
    return api_error(COMP_SYSTEM, create_empty(logger, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_composeGraphs(QnnSystemDlc_Handle_t dlcHandle,
                                             const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
                                             const uint32_t numGraphConfigs, Qnn_BackendHandle_t backend,
                                             Qnn_ContextHandle_t context, QnnInterface_t backendInterface,
                                             QnnSystemContext_GraphInfoVersion_t graphVersion,
                                             QnnSystemContext_GraphInfo_t **graphs, uint32_t *numGraphs)
{
    (void)backend; /* the context knows it */
#if defined(__x86_64__)
    const uintptr_t *behind = next_behind_table(NEXT_STACK_ARGS + offsetof(QnnInterface_t, QNN_INTERFACE_VER_NAME));
    graphs = (QnnSystemContext_GraphInfo_t **)behind[0];
    numGraphs = (uint32_t *)behind[1];
#endif
    DLC_FROM_HANDLE(d, dlcHandle);
    struct dlc_compose a = { graphConfigs, numGraphConfigs, context, &backendInterface, graphVersion };
    return api_error(COMP_SYSTEM, compose(d, &a, graphs, numGraphs));
}

Qnn_ErrorHandle_t QnnSystemDlc_getOpMappings(QnnSystemDlc_Handle_t dlcHandle, const Qnn_OpMapping_t **opMappings,
                                             uint32_t *numOpMappings)
{
    DLC_FROM_HANDLE(d, dlcHandle);
    return api_error(COMP_SYSTEM, map_all(d, opMappings, numOpMappings));
}

Qnn_ErrorHandle_t QnnSystemDlc_free(QnnSystemDlc_Handle_t dlcHandle)
{
    log_enter(NULL);
    struct system_dlc *d = handle_close(dlcHandle, HANDLE_SYSTEM_DLC, 0);
    API_CHECK(d, COMP_SYSTEM, ST_INVALID_HANDLE, "the %s handle is %s", handle_type_name(HANDLE_SYSTEM_DLC),
              handle_describe(dlcHandle, HANDLE_SYSTEM_DLC));
    dlc_destroy(d);
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnSystemDlc_save(QnnSystemDlc_Handle_t dlcHandle, const char *path)
{
    DLC_FROM_HANDLE(d, dlcHandle);
    API_CHECK(path, COMP_SYSTEM, ST_INVALID_ARG, "path is NULL; give the path of the file to write");
    return api_error(COMP_SYSTEM, convert_dlc_save(d->dlc, path));
}

Qnn_ErrorHandle_t QnnSystemDlc_getBinarySize(QnnSystemDlc_Handle_t dlcHandle, Qnn_SystemDlcBinarySize_t *binaryBufferSize)
{
    DLC_FROM_HANDLE(d, dlcHandle);
    API_CHECK(binaryBufferSize, COMP_SYSTEM, ST_INVALID_ARG,
              "binaryBufferSize is NULL; give a pointer that receives the size");
    enum status st = image_of(d);
    if (st == ST_OK)
        *binaryBufferSize = d->image_size;
    return api_error(COMP_SYSTEM, st);
}

Qnn_ErrorHandle_t QnnSystemDlc_getBinary(QnnSystemDlc_Handle_t dlcHandle, uint8_t *binaryBuffer,
                                         Qnn_SystemDlcBinarySize_t binaryBufferSize,
                                         Qnn_SystemDlcBinarySize_t *writtenBufferSize)
{
    DLC_FROM_HANDLE(d, dlcHandle);
    API_CHECK(binaryBuffer && writtenBufferSize, COMP_SYSTEM, ST_INVALID_ARG, "%s is NULL",
              binaryBuffer ? "writtenBufferSize" : "binaryBuffer");
    enum status st = image_of(d);
    if (st != ST_OK)
        return api_error(COMP_SYSTEM, st);
    API_CHECK(binaryBufferSize >= d->image_size, COMP_SYSTEM, ST_INVALID_ARG, "the buffer has %llu bytes; the DLC needs %zu",
              (unsigned long long)binaryBufferSize, d->image_size);
    memcpy(binaryBuffer, d->image, d->image_size);
    *writtenBufferSize = d->image_size;
    return QNN_SUCCESS;
}
