/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnSystem.so: its provider and exports, and right and wrong use of tensors, logs, DLC and profile targets.
 * What it says about context binaries is in test_system_info.c. */
#include "system_lib.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/profile.h"

static const QnnSystemInterface_ImplementationV1_12_t *sys;
static void *library;

/* A function of the same name in the program: the library must not call it. */
Qnn_ErrorHandle_t QnnSystemContext_create(QnnSystemContext_Handle_t *h)
{
    (void)h;
    return 77;
}

/* ---- provider --------------------------------------------------------------------------------------------------------- */

static void provider(void **state)
{
    (void)state;
    get_providers_fn get = (get_providers_fn)dlsym(library, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list;
    uint32_t n;
    assert_int_equal(get(NULL, &n), QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER);
    assert_int_equal(get(&list, NULL), QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER);
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    assert_int_equal(n, 1);
    assert_int_equal(list[0]->backendId, QNN_BACKEND_ID_NULL);
    assert_string_equal(list[0]->providerName, QNN_SYSTEM_INTERFACE_PROVIDER_NAME);
    assert_int_equal(list[0]->systemApiVersion.major, 1);
    assert_true(list[0]->systemApiVersion.minor >= 12);
    const uintptr_t *slots = (const uintptr_t *)&list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    assert_int_equal(sizeof(list[0]->QNN_SYSTEM_INTERFACE_VER_NAME) / sizeof(slots[0]), 27);
    for (unsigned i = 0; i < 27; i++) {
        assert_true(slots[i] != 0);
        for (unsigned k = 0; k < i; k++)
            assert_true(slots[i] != slots[k]);
        Dl_info at;
        assert_true(dladdr((void *)slots[i], &at) && strstr(at.dli_fname, "libQnnSystem.so"));
    }
}

static void exports(void **state)
{
    (void)state;
    assert_ptr_equal(dlsym(library, "QnnSystemContext_create"), (void *)sys->systemContextCreate);
    assert_ptr_equal(dlsym(library, "QnnSystemContext_getMetadata"), (void *)sys->systemContextGetMetaData);
    assert_ptr_equal(dlsym(library, "QnnSystemDlc_createWithDestinationDir"),
                     (void *)sys->systemDlcCreateWithDestinationDir);
    assert_ptr_equal(dlsym(library, "QnnSystemLog_create"), (void *)sys->systemLogCreate);
    assert_ptr_equal(dlsym(library, "QnnSystemProfile_serializeEventData"), (void *)sys->systemProfileSerializeEventData);
    assert_ptr_equal(dlsym(library, "QnnSystemTensor_getMemoryFootprint"), (void *)sys->systemTensorGetMemoryFootprint);
    static const char *const hidden[] = { "QnnLog_create", "QnnInterface_getProviders",
                                          "binary_open",   "handle_open",
                                          "api_error",     "log_create" };
    for (size_t i = 0; i < COUNT(hidden); i++)
        assert_null(dlsym(library, hidden[i]));
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t footprint(Qnn_DataType_t type, uint32_t rank, uint32_t *dims, uint64_t *ret)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = "t";
    t.v1.dataType = type;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    return sys->systemTensorGetMemoryFootprint(t, ret);
}

static void tensor_footprint(void **state)
{
    (void)state;
    static uint32_t d234[] = { 2, 3, 4 }, d3[] = { 3 }, huge[] = { UINT32_MAX, UINT32_MAX, UINT32_MAX },
                    wide[] = { UINT32_MAX, UINT32_MAX };
    static uint32_t zero[] = { 2, 0 };
    const struct {
        Qnn_DataType_t type;
        uint32_t rank, *dims;
        uint64_t bytes;
    } good[] = {
        { QNN_DATATYPE_FLOAT_32, 3, d234, 96 },         { QNN_DATATYPE_UFIXED_POINT_8, 3, d234, 24 },
        { QNN_DATATYPE_FLOAT_16, 3, d234, 48 },         { QNN_DATATYPE_INT_64, 3, d234, 192 },
        { QNN_DATATYPE_SFIXED_POINT_4, 3, d234, 12 },   { QNN_DATATYPE_UFIXED_POINT_4, 1, d3, 2 },
        { QNN_DATATYPE_BOOL_8, 1, d3, 3 },              { QNN_DATATYPE_SFIXED_POINT_32, 0, NULL, 4 },
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        uint64_t bytes = 0;
        assert_int_equal(footprint(good[i].type, good[i].rank, good[i].dims, &bytes), QNN_SUCCESS);
        assert_int_equal(bytes, good[i].bytes);
    }
    uint64_t bytes = 55;
    assert_int_equal(footprint(QNN_DATATYPE_UINT_8, 3, huge, &bytes), QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR);
    assert_int_equal(footprint(QNN_DATATYPE_FLOAT_64, 2, wide, &bytes), QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR);
    assert_int_equal(footprint(QNN_DATATYPE_UINT_8, 2, zero, &bytes), QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR);
    assert_int_equal(footprint(QNN_DATATYPE_UINT_8, 1, NULL, &bytes), QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR);
    assert_int_equal(footprint(QNN_DATATYPE_UINT_8, 9, d234, &bytes), QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR);
    assert_int_equal(footprint((Qnn_DataType_t)0x1234, 1, d3, &bytes), QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR);
    assert_int_equal(footprint(QNN_DATATYPE_STRING, 1, d3, &bytes), QNN_SYSTEM_TENSOR_ERROR_UNSUPPORTED_FEATURE);
    assert_int_equal(footprint(QNN_DATATYPE_UINT_8, 1, d3, NULL), QNN_SYSTEM_TENSOR_ERROR_INVALID_ARGUMENT);
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.version = (Qnn_TensorVersion_t)9;
    assert_int_equal(sys->systemTensorGetMemoryFootprint(t, &bytes), QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR);
    t = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    t.v1.dataType = QNN_DATATYPE_UINT_8;
    t.v1.dataFormat = QNN_TENSOR_DATA_FORMAT_UBWC_NV12;
    assert_int_equal(sys->systemTensorGetMemoryFootprint(t, &bytes), QNN_SYSTEM_TENSOR_ERROR_UNSUPPORTED_FEATURE);
    assert_int_equal(bytes, 55);
}

/* ---- logs and DLC ----------------------------------------------------------------------------------------------------- */

static _Thread_local char heard[2048];

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args)
{
    (void)level, (void)time;
    vsnprintf(heard, sizeof(heard), fmt, args);
}

static void logs(void **state)
{
    (void)state;
    Qnn_LogHandle_t log;
    assert_int_equal(sys->systemLogCreate(listen, QNN_LOG_LEVEL_ERROR, NULL), QNN_LOG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemLogCreate(listen, (QnnLog_Level_t)0, &log), QNN_LOG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemLogCreate(listen, (QnnLog_Level_t)6, &log), QNN_LOG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemLogCreate(listen, QNN_LOG_LEVEL_MAX, &log), QNN_SUCCESS);
    assert_int_equal(sys->systemLogSetLogLevel(log, (QnnLog_Level_t)9), QNN_LOG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemLogSetLogLevel(log, QNN_LOG_LEVEL_WARN), QNN_SUCCESS);
    assert_int_equal(sys->systemLogFree(log), QNN_SUCCESS);
    assert_int_equal(sys->systemLogSetLogLevel(log, QNN_LOG_LEVEL_WARN), QNN_LOG_ERROR_INVALID_HANDLE);
    assert_int_equal(sys->systemLogFree(log), QNN_LOG_ERROR_INVALID_HANDLE);
    for (size_t i = 0; i < COUNT(not_handles); i++) {
        assert_int_equal(sys->systemLogSetLogLevel((void *)not_handles[i], QNN_LOG_LEVEL_WARN),
                         QNN_LOG_ERROR_INVALID_HANDLE);
        assert_int_equal(sys->systemLogFree((void *)not_handles[i]), QNN_LOG_ERROR_INVALID_HANDLE);
    }
}

static void dlc_create(void **state)
{
    (void)state;
    enum { ARGUMENT = QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT, MALFORMED = QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY };
    static const uint8_t bytes[] = "PK\3\4";
    const char *self = "/proc/self/exe";
    QnnSystemDlc_Handle_t h = NULL;
    Qnn_LogHandle_t log;
    assert_int_equal(sys->systemLogCreate(listen, QNN_LOG_LEVEL_ERROR, &log), QNN_SUCCESS);
    assert_int_equal(sys->systemDlcCreateFromFile(NULL, NULL, &h), ARGUMENT);
    assert_int_equal(sys->systemDlcCreateFromFile(NULL, self, NULL), ARGUMENT);
    assert_int_equal(sys->systemDlcCreateFromFile((void *)0x1234, self, &h), ARGUMENT);
    assert_int_equal(sys->systemDlcCreateFromFile(NULL, "no/such/file.dlc", &h), QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED);
    assert_int_equal(sys->systemDlcCreateFromFile(log, self, &h), MALFORMED);
    assert_non_null(strstr(heard, self)); /* the explanation names the file */
    assert_non_null(strstr(heard, "DLC"));
    assert_int_equal(sys->systemDlcCreateFromFileWithDestinationDir(NULL, NULL, NULL, &h), ARGUMENT);
    assert_int_equal(sys->systemDlcCreateFromFileWithDestinationDir(NULL, self, NULL, &h), MALFORMED);
    assert_int_equal(sys->systemDlcCreateFromBinary(NULL, NULL, 4, &h), ARGUMENT);
    assert_int_equal(sys->systemDlcCreateFromBinary(NULL, bytes, 0, &h), ARGUMENT);
    assert_int_equal(sys->systemDlcCreateFromBinary(NULL, bytes, 4, NULL), ARGUMENT);
    assert_int_equal(sys->systemDlcCreateFromBinary(NULL, bytes, 4, &h), MALFORMED);
    assert_int_equal(sys->systemDlcCreateFromBinaryWithDestinationDir(NULL, bytes, 4, "x", NULL), ARGUMENT);
    assert_int_equal(sys->systemDlcCreateFromBinaryWithDestinationDir(NULL, bytes, 4, "x", &h), MALFORMED);
    assert_int_equal(sys->systemDlcCreateWithDestinationDir(NULL, "x", NULL), ARGUMENT);
    assert_null(h);
    assert_int_equal(sys->systemDlcCreateWithDestinationDir(NULL, "x", &h), QNN_SUCCESS);
    assert_int_equal(sys->systemDlcFree(h), QNN_SUCCESS);
    assert_int_equal(sys->systemLogFree(log), QNN_SUCCESS);
}

static void dlc_handles(void **state)
{
    (void)state;
    QnnInterface_t backend = QNN_INTERFACE_INIT;
    for (size_t i = 0; i < COUNT(not_handles); i++) {
        void *h = (void *)not_handles[i];
        const Qnn_ErrorHandle_t got[] = {
            sys->systemDlcComposeGraphs(h, NULL, 0, NULL, NULL, backend, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3, NULL,
                                        NULL),
            sys->systemDlcGetOpMappings(h, NULL, NULL),
            sys->systemDlcGetRecordByName(h, NULL, NULL),
            sys->systemDlcGetRecordsByType(h, QNN_SYSTEM_DLC_RECORD_TYPE_DLC_METADATA, 0, NULL, NULL),
            sys->systemDlcGetRecordDataSize(h, NULL),
            sys->systemDlcReadRecordDataMemoryMapped(h, NULL, NULL),
            sys->systemDlcFreeRecord(h),
            sys->systemDlcSave(h, NULL),
            sys->systemDlcGetBinarySize(h, NULL),
            sys->systemDlcGetBinary(h, NULL, 0, NULL),
            sys->systemDlcFree(h),
        };
        for (size_t k = 0; k < COUNT(got); k++)
            assert_int_equal(got[k], QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE);
    }
}

/* ---- profile targets -------------------------------------------------------------------------------------------------- */

static char dir[256];

static int make_dir(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof(dir), "%s/openqnn-system-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof(path), "%s/p.log", dir);
    unlink(path);
    return rmdir(dir);
}

static QnnSystemProfile_SerializationTarget_t target_in(const char *directory, const char *name)
{
    QnnSystemProfile_SerializationTarget_t t = { .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE };
    t.file.fileName = name;
    t.file.fileDirectory = directory;
    return t;
}

static struct prof_log read_log(void)
{
    static char data[65536];
    char path[300];
    snprintf(path, sizeof(path), "%s/p.log", dir);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(data, 1, sizeof(data), f);
    fclose(f);
    struct prof_log log;
    if (prof_log_read(data, n, &log) != ST_OK)
        fail_msg("%s", status_text());
    return log;
}

static QnnSystemProfile_ProfileEventV1_t event(uint32_t type, uint32_t unit, uint64_t value, const char *name)
{
    QnnSystemProfile_ProfileEventV1_t e = { .type = QNN_SYSTEM_PROFILE_EVENT_DATA };
    e.eventData = (QnnProfile_EventData_t){ .type = type, .unit = unit, .value = value, .identifier = name };
    return e;
}

static QnnSystemProfile_ProfileData_t call_data(QnnSystemProfile_MethodType_t method, const char *graph, uint64_t start,
                                                uint64_t stop)
{
    QnnSystemProfile_ProfileData_t d = { .version = QNN_SYSTEM_PROFILE_DATA_VERSION_1 };
    d.v1.header =
        (QnnSystemProfile_HeaderV1_t){ .startTime = start, .stopTime = stop, .methodType = method, .graphName = graph };
    return d;
}

static void check_record(const struct prof_log_record *r)
{
    static const struct {
        uint32_t type, unit;
        uint64_t value, time;
        int32_t parent;
        const char *name;
    } want[] = {
        { 400, 1, 90, 1000, -1, "top" }, { 404, 3, 55, 1000, 0, "node a" }, { 404, 3, 66, 1234, 0, "node b" },
        { 9, 5, 40, 1235, 2, "blob" },   { 405, 1, 3, 1000, -1, "wait" },
    };
    assert_int_equal(r->n_events, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_int_equal(r->events[i].type, want[i].type);
        assert_int_equal(r->events[i].unit, want[i].unit);
        assert_int_equal(r->events[i].value, want[i].value);
        assert_int_equal(r->events[i].timestamp_us, want[i].time);
        assert_int_equal(r->events[i].parent, want[i].parent);
        assert_string_equal(r->events[i].name, want[i].name);
    }
}

static void profile_round_trip(void **state)
{
    (void)state;
    QnnSystemProfile_SerializationTargetConfig_t configs[2] = {
        { .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER },
        { .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_MAX_NUM_MESSAGES }
    };
    configs[0].serializationHeader = (QnnSystemProfile_SerializationFileHeader_t){ "my app", "1.2", "backend 3" };
    configs[1].maxNumMessages = 3;
    QnnSystemProfile_SerializationTargetHandle_t h;
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(dir, "p.log"), configs, 2, &h), QNN_SUCCESS);

    QnnSystemProfile_ProfileEventV1_t object = { .type = QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA };
    object.extendedEventData.version = QNN_PROFILE_DATA_VERSION_1;
    object.extendedEventData.v1 = (QnnProfile_ExtendedEventDataV1_t){
        .type = 9, .unit = QNN_PROFILE_EVENTUNIT_OBJECT, .timestamp = 1235, .identifier = "blob"
    };
    object.extendedEventData.v1.backendOpaqueObject.opaqueObject.len = 40;
    QnnSystemProfile_ProfileEventV1_t nodes[2] = { event(404, 3, 55, "node a"),
                                                   { .type = QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA } };
    nodes[1].extendedEventData.version = QNN_PROFILE_DATA_VERSION_1;
    nodes[1].extendedEventData.v1 =
        (QnnProfile_ExtendedEventDataV1_t){ .type = 404, .unit = 3, .timestamp = 1234, .identifier = "node b" };
    nodes[1].extendedEventData.v1.value = (Qnn_Scalar_t){ .dataType = QNN_DATATYPE_UINT_32, .uint32Value = 66 };
    nodes[1].profileSubEventData = &object;
    nodes[1].numSubEvents = 1;
    QnnSystemProfile_ProfileEventV1_t top[2] = { event(400, 1, 90, "top"), event(405, 1, 3, "wait") };
    top[0].profileSubEventData = nodes;
    top[0].numSubEvents = 2;
    QnnSystemProfile_ProfileData_t finalize = call_data(QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE, "one", 10, 20);
    QnnSystemProfile_ProfileData_t execute = call_data(QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE, "two", 1000, 1100);
    execute.v1.profilingEvents = top;
    execute.v1.numProfilingEvents = 2;
    const QnnSystemProfile_ProfileData_t *list[] = { &finalize, &execute };
    assert_int_equal(sys->systemProfileSerializeEventData(h, list, 2), QNN_SUCCESS);
    assert_int_equal(sys->systemProfileSerializeEventData(h, NULL, 0), QNN_SUCCESS);
    assert_int_equal(sys->systemProfileSerializeEventData(h, list, 2), QNN_SUCCESS); /* the second is over the limit */
    assert_int_equal(sys->systemProfileFreeSerializationTarget(h), QNN_SUCCESS);

    struct prof_log log = read_log();
    assert_string_equal(log.header.app_name, "my app");
    assert_string_equal(log.header.app_version, "1.2");
    assert_string_equal(log.header.backend_version, "backend 3");
    assert_int_equal(log.n_records, 3);
    assert_int_equal(log.records[0].method, 2);
    assert_string_equal(log.records[0].graph_name, "one");
    assert_int_equal(log.records[0].n_events, 0);
    assert_int_equal(log.records[1].graph, 1);
    assert_int_equal(log.records[1].start_us, 1000);
    assert_int_equal(log.records[1].stop_us, 1100);
    check_record(&log.records[1]);
    assert_int_equal(log.records[2].graph, 0);
    prof_log_free(&log);
}

/* A log that cannot grow any more is an error of the call that would make it grow. */
static void profile_full_disk(void **state)
{
    (void)state;
    struct rlimit former, tight;
    QnnSystemProfile_SerializationTargetHandle_t h;
    QnnSystemProfile_ProfileData_t execute = call_data(QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE, "two", 1000, 1100);
    const QnnSystemProfile_ProfileData_t *list[] = { &execute };
    unsigned written = 0;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &former), 0);
    tight = (struct rlimit){ 1000, former.rlim_max };
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(dir, "p.log"), NULL, 0, &h), QNN_SUCCESS);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    while (written < 1000 && sys->systemProfileSerializeEventData(h, list, 1) == QNN_SUCCESS)
        written++;
    Qnn_ErrorHandle_t again = sys->systemProfileSerializeEventData(h, list, 1);
    sys->systemProfileFreeSerializationTarget(h);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &former), 0);
    assert_in_range(written, 1, 100);
    assert_int_not_equal(again, QNN_SUCCESS);
}

static void profile_wrong_targets(void **state)
{
    (void)state;
    enum { ARGUMENT = QNN_SYSTEM_PROFILE_ERROR_INVALID_ARGUMENT };
    QnnSystemProfile_SerializationTargetHandle_t h;
    QnnSystemProfile_SerializationTarget_t bad_type = target_in(dir, "p.log");
    bad_type.type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_UNDEFINED;
    QnnSystemProfile_SerializationTargetConfig_t bad_config = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_UNDEFINED
    };
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(dir, "p.log"), NULL, 0, NULL), ARGUMENT);
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(dir, "p.log"), NULL, 1, &h), ARGUMENT);
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(dir, "p.log"), &bad_config, 1, &h), ARGUMENT);
    assert_int_equal(sys->systemProfileCreateSerializationTarget(bad_type, NULL, 0, &h), ARGUMENT);
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(dir, NULL), NULL, 0, &h), ARGUMENT);
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(dir, ""), NULL, 0, &h), ARGUMENT);
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in("no/such/folder", "p.log"), NULL, 0, &h),
                     ARGUMENT);
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(NULL, dir), NULL, 0, &h),
                     ARGUMENT); /* a folder */
}

static void profile_wrong_events(void **state)
{
    (void)state;
    enum { ARGUMENT = QNN_SYSTEM_PROFILE_ERROR_INVALID_ARGUMENT, HANDLE = QNN_SYSTEM_PROFILE_ERROR_INVALID_HANDLE };
    QnnSystemProfile_SerializationTargetHandle_t h;
    assert_int_equal(sys->systemProfileCreateSerializationTarget(target_in(dir, "p.log"), NULL, 0, &h), QNN_SUCCESS);
    QnnSystemProfile_ProfileData_t d = call_data(QNN_SYSTEM_PROFILE_METHOD_TYPE_NONE, NULL, 0, 0),
                                   old = { .version = (QnnSystemProfile_ProfileDataVersion_t)2 };
    const QnnSystemProfile_ProfileData_t *list[] = { &d }, *none[] = { NULL }, *newer[] = { &old };
    assert_int_equal(sys->systemProfileSerializeEventData(h, NULL, 1), ARGUMENT);
    assert_int_equal(sys->systemProfileSerializeEventData(h, none, 1), ARGUMENT);
    assert_int_equal(sys->systemProfileSerializeEventData(h, newer, 1), ARGUMENT);
    d.v1.numProfilingEvents = 1;
    assert_int_equal(sys->systemProfileSerializeEventData(h, list, 1), ARGUMENT); /* the list is NULL */
    QnnSystemProfile_ProfileEventV1_t e = QNN_SYSTEM_PROFILE_EVENT_V1_INIT;
    d.v1.profilingEvents = &e;
    assert_int_equal(sys->systemProfileSerializeEventData(h, list, 1), ARGUMENT); /* of no type */
    e.type = QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA;
    e.extendedEventData.version = QNN_PROFILE_DATA_VERSION_UNDEFINED;
    assert_int_equal(sys->systemProfileSerializeEventData(h, list, 1), ARGUMENT);
    e = event(400, 1, 1, NULL);
    e.profileSubEventData = &e; /* its own child */
    e.numSubEvents = 1;
    assert_int_equal(sys->systemProfileSerializeEventData(h, list, 1), ARGUMENT);
    e.numSubEvents = 0;
    assert_int_equal(sys->systemProfileSerializeEventData(h, list, 1), QNN_SUCCESS);
    assert_int_equal(sys->systemProfileFreeSerializationTarget(h), QNN_SUCCESS);
    struct prof_log log = read_log();
    assert_int_equal(log.n_records, 1); /* nothing of what was refused */
    prof_log_free(&log);
    QnnSystemProfile_SerializationTargetHandle_t wrong[COUNT(not_handles) + 1] = { h };
    memcpy(wrong + 1, not_handles, sizeof(not_handles));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(sys->systemProfileSerializeEventData(wrong[i], list, 1), HANDLE);
        assert_int_equal(sys->systemProfileFreeSerializationTarget(wrong[i]), HANDLE);
    }
}

/* ---- threads, and the library going and coming ------------------------------------------------------------------------ */

static void *use_all(void *arg)
{
    unsigned *wrong = arg;
    Qnn_LogHandle_t log;
    *wrong += sys->systemLogCreate(listen, QNN_LOG_LEVEL_ERROR, &log) != QNN_SUCCESS;
    *wrong += sys->systemLogSetLogLevel(log, QNN_LOG_LEVEL_DEBUG) != QNN_SUCCESS;
    for (unsigned i = 0; i < 200; i++) {
        QnnSystemContext_Handle_t h;
        *wrong += sys->systemContextCreate(&h) != QNN_SUCCESS;
        *wrong += sys->systemContextFree(h) != QNN_SUCCESS;
    }
    *wrong += sys->systemContextFree(NULL) != QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE;
    *wrong += sys->systemLogFree(log) != QNN_SUCCESS;
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    enum { N = 4 };
    pthread_t t[N];
    unsigned wrong[N] = { 0 };
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(pthread_create(&t[i], NULL, use_all, &wrong[i]), 0);
    for (unsigned i = 0; i < N; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
}

static void closed_and_opened_again(void **state)
{
    (void)state;
    QnnSystemContext_Handle_t old, h;
    assert_int_equal(sys->systemContextCreate(&old), QNN_SUCCESS);
    assert_int_equal(sys->systemContextFree(old), QNN_SUCCESS);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(dlclose(library), 0);
        library = system_open();
        sys = &system_provider(library)->QNN_SYSTEM_INTERFACE_VER_NAME;
        assert_int_equal(sys->systemContextCreate(&h), QNN_SUCCESS);
        assert_int_equal(sys->systemContextFree(old), QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE);
        assert_int_equal(sys->systemContextFree(h), QNN_SUCCESS);
        old = h;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(provider),
        cmocka_unit_test(exports),
        cmocka_unit_test(tensor_footprint),
        cmocka_unit_test(logs),
        cmocka_unit_test(dlc_create),
        cmocka_unit_test(dlc_handles),
        cmocka_unit_test_setup_teardown(profile_round_trip, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(profile_full_disk, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(profile_wrong_targets, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(profile_wrong_events, make_dir, remove_dir),
        cmocka_unit_test(threads),
        cmocka_unit_test(closed_and_opened_again),
    };
    library = system_open();
    sys = &system_provider(library)->QNN_SYSTEM_INTERFACE_VER_NAME;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dlclose(library);
    return failed;
}
