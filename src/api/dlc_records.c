/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemDlc.h, the part about records, and which of them are described (dlc_info.h). */
#include <string.h>

#include "QNN/System/QnnSystemDlc.h"
#include "api/interface_next.h"
#include "api/system_dlc.h"
#include "convert/convert.h"

struct dlc_record_handle {
    void *dlc; /* handle */
    uint32_t index;
};

static const struct {
    const char *name;
    QnnSystemDlc_RecordType_t type;
} record_types[] = {
    { "dlc.metadata", QNN_SYSTEM_DLC_RECORD_TYPE_DLC_METADATA },
    { "model", QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_TOPOLOGY },
    { "model.params", QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_PARAMS },
    { "openqnn.extra", QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_ENCODINGS },
    { "openqnn.sources", QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_MAPPING },
    { "openqnn.weights", QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_RAW_WIEGHTS },
};

static QnnSystemDlc_RecordType_t type_of(const char *name)
{
    for (size_t i = 0; i < sizeof record_types / sizeof record_types[0]; i++)
        if (strcmp(record_types[i].name, name) == 0)
            return record_types[i].type;
    return QNN_SYSTEM_DLC_RECORD_NAME_UNKNOWN;
}

static enum status record_open(struct system_dlc *d, void *dlc, uint32_t index, void **ret)
{
    struct dlc_record_handle *r = mem_new(struct dlc_record_handle);
    RETURN_IF(!r, ST_NO_MEMORY, "no memory for a DLC record");
    *r = (struct dlc_record_handle){ .dlc = dlc, .index = index };
    void *h = handle_open(HANDLE_SYSTEM_DLC_RECORD, r);
    if (h && children_add(&d->records, h) == ST_OK) {
        *ret = h;
        return ST_OK;
    }
    if (h)
        handle_close(h, HANDLE_SYSTEM_DLC_RECORD, 0);
    mem_free(r);
    return status_fail(ST_NO_MEMORY, "no memory for a DLC record");
}

static void record_close(struct system_dlc *d, void *h)
{
    children_remove(&d->records, h);
    mem_free(handle_close(h, HANDLE_SYSTEM_DLC_RECORD, 0));
}

static enum status record_by_name(struct system_dlc *d, void *dlc, const char *name, QnnSystemDlc_RecordHandle_t *ret)
{
    RETURN_IF(!name || !ret, ST_INVALID_ARG, "%s is NULL", name ? "recordHandle" : "recordName");
    for (uint32_t i = 0; i < convert_dlc_count(d->dlc); i++)
        if (strcmp(convert_dlc_name(d->dlc, i), name) == 0)
            return record_open(d, dlc, i, ret);
    return status_fail(ST_NOT_FOUND, "the DLC has no record \"%s\"", name);
}

static enum status records_by_type(struct system_dlc *d, void *dlc, QnnSystemDlc_RecordType_t type,
                                   QnnSystemDlc_RecordHandle_t **ret, uint32_t *ret_n)
{
    RETURN_IF(!ret || !ret_n, ST_INVALID_ARG, "%s is NULL; give a pointer that receives the result",
              ret ? "numRecordHandles" : "recordHandles");
    uint32_t n = 0;
    void **list = mem_array(void *, (size_t)convert_dlc_count(d->dlc) + 1);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for a list of DLC records");
    for (uint32_t i = 0; i < convert_dlc_count(d->dlc); i++) {
        if (type_of(convert_dlc_name(d->dlc, i)) != type)
            continue;
        enum status st = record_open(d, dlc, i, &list[n]);
        if (st != ST_OK) {
            while (n > 0)
                record_close(d, list[--n]);
            mem_free(list);
            return st;
        }
        n++;
    }
    if (n == 0) {
        mem_free(list);
        list = NULL;
    }
    *ret = list;
    *ret_n = n;
    return ST_OK;
}

static enum status describe_records(struct system_dlc *d)
{
    struct ir_graph *const *graphs;
    uint32_t n;
    TRY(convert_dlc_graphs(d->dlc, NULL, &graphs, &n));
    TRY(dlc_facts_graphs(&d->facts, graphs, n));
    TRY(dlc_facts_reserve(&d->facts, convert_dlc_count(d->dlc)));
    for (uint32_t i = 0; i < convert_dlc_count(d->dlc); i++) {
        const void *bytes;
        TRY(convert_dlc_record(d->dlc, i, &bytes));
        TRY(dlc_facts_record(&d->facts, bytes, convert_dlc_size(d->dlc, i)));
    }
    return ST_OK;
}

enum status dlc_describe(struct system_dlc *d)
{
    if (d->facts.ready)
        return ST_OK;
    enum status st = describe_records(d);
    if (st != ST_OK) {
        dlc_facts_finish(&d->facts); /* can be asked again */
        dlc_facts_init(&d->facts);
    }
    d->facts.ready = st == ST_OK;
    return st;
}

/* ---- entry points ----------------------------------------------------------------------------------------------------- */

/* A record and the container it is in. */
#define RECORD_FROM_HANDLE(r, d, handle)                                                    \
    API_OBJECT(struct dlc_record_handle, r, handle, HANDLE_SYSTEM_DLC_RECORD, COMP_SYSTEM); \
    DLC_FROM_HANDLE(d, (r)->dlc)

Qnn_ErrorHandle_t QnnSystemDlc_getRecordByName(QnnSystemDlc_Handle_t dlcHandle, const char *recordName,
                                               QnnSystemDlc_RecordHandle_t *recordHandle)
{
    DLC_FROM_HANDLE(d, dlcHandle);
    return api_error(COMP_SYSTEM, record_by_name(d, dlcHandle, recordName, recordHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_getRecordsByType(QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_RecordType_t recordType,
                                                uint8_t getMostOptimalContextBinary,
                                                QnnSystemDlc_RecordHandle_t **recordHandles, uint32_t *numRecordHandles)
{
    (void)getMostOptimalContextBinary; /* no record that we know is a context binary */
    DLC_FROM_HANDLE(d, dlcHandle);
    return api_error(COMP_SYSTEM, records_by_type(d, dlcHandle, recordType, recordHandles, numRecordHandles));
}

Qnn_ErrorHandle_t QnnSystemDlc_getRecordDataSize(QnnSystemDlc_RecordHandle_t recordHandle, uint64_t *dataSize)
{
    RECORD_FROM_HANDLE(r, d, recordHandle);
    API_CHECK(dataSize, COMP_SYSTEM, ST_INVALID_ARG, "dataSize is NULL; give a pointer that receives the size");
    *dataSize = convert_dlc_size(d->dlc, r->index);
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnSystemDlc_readRecordDataMemoryMapped(QnnSystemDlc_RecordHandle_t recordHandle, const uint8_t **data,
                                                          uint64_t *dataSize)
{
    RECORD_FROM_HANDLE(r, d, recordHandle);
    API_CHECK(data && dataSize, COMP_SYSTEM, ST_INVALID_ARG, "%s is NULL; give a pointer that receives the result",
              data ? "dataSize" : "data");
    const void *bytes;
    enum status st = convert_dlc_record(d->dlc, r->index, &bytes);
    if (st != ST_OK)
        return api_error(COMP_SYSTEM, st);
    *data = bytes;
    *dataSize = convert_dlc_size(d->dlc, r->index);
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnSystemDlc_freeRecord(QnnSystemDlc_RecordHandle_t recordHandle)
{
    log_enter(NULL);
    struct dlc_record_handle *r = handle_close(recordHandle, HANDLE_SYSTEM_DLC_RECORD, 0);
    API_CHECK(r, COMP_SYSTEM, ST_INVALID_HANDLE, "the %s handle is %s", handle_type_name(HANDLE_SYSTEM_DLC_RECORD),
              handle_describe(recordHandle, HANDLE_SYSTEM_DLC_RECORD));
    struct system_dlc *d = handle_get(r->dlc, HANDLE_SYSTEM_DLC);
    if (d) {
        children_remove(&d->records, recordHandle);
        handle_put(r->dlc);
    }
    mem_free(r);
    return QNN_SUCCESS;
}

/* A record is read as a whole and lives as long as the container: there is nothing that could be let go on its own. */
Qnn_ErrorHandle_t next_free_record_range(void *recordHandle, uint64_t offset, uint64_t size)
{
    RECORD_FROM_HANDLE(r, d, recordHandle);
    uint64_t all = convert_dlc_size(d->dlc, r->index);
    API_CHECK(size && offset <= all && size <= all - offset, COMP_SYSTEM, ST_INVALID_ARG,
              "%llu bytes at %llu of a record of %llu; give a range within it", (unsigned long long)size,
              (unsigned long long)offset, (unsigned long long)all);
    return QNN_SUCCESS;
}
