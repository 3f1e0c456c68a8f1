/* SPDX-License-Identifier: Apache-2.0 */
/* Every slot used wrongly: NULL, invented, freed and foreign handles, missing arguments, calls after the parent is gone,
 * from one thread and from eight. The answer is always an error of the right component, never a crash. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api_test.h"

#include <QNN/System/QnnSystemInterface.h>

/* ---- every slot that takes a handle ----------------------------------------------------------------------------------- */

/* Where answers go; per thread, so that eight threads do not meet here. */
static _Thread_local struct {
    void *handle;
    const void *data;
    const char *text;
    uint64_t size, size2;
    uint32_t n;
    const QnnBackend_OperationName_t *ops;
    const QnnProfile_EventId_t *ids;
    const QnnDevice_PlatformInfo_t *platform;
} got;

enum kind { LOG, BACKEND, DEVICE, CONTEXT, GRAPH, PROFILE, SIGNAL, MEM, KINDS };

/* Valid objects for the arguments that are not under test, and tensors that exist. */
static void *good[KINDS];
static struct net net;
static char buffer[64];
static QnnContext_Buffer_t section = { .version = QNN_CONTEXT_BUFFER_VERSION_1,
                                       .v1 = { .binaryBuf = { buffer, sizeof buffer } } };
static Qnn_ContextBinaryCallback_t callback;

static Qnn_Tensor_t *some_tensor(void)
{
    static _Thread_local Qnn_Tensor_t t;
    t = TENSOR("wrong", APP_WRITE, FLOAT_32, 2);
    return &t;
}

static Qnn_OpConfig_t some_node(void)
{
    static _Thread_local struct op o;
    o = (struct op){ .name = "n", .type = "Relu", .ni = 1, .in = { net.x }, .no = 1, .out = { net.y } };
    return op_config(&o);
}

static Qnn_ErrorHandle_t run_net(void *graph, void *profile, void *signal)
{
    static _Thread_local float x[AFFINE_N], y[AFFINE_N];
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y);
    return q.graphExecute(graph, &in, 1, &out, 1, profile, signal);
}

static Qnn_ErrorHandle_t run_async(void *graph)
{
    static _Thread_local float x[AFFINE_N], y[AFFINE_N];
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y);
    return q.graphExecuteAsync(graph, &in, 1, &out, 1, NULL, NULL, NULL, NULL);
}

static Qnn_ErrorHandle_t set_profile(void *profile)
{
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE, .profileHandle = profile };
    const QnnGraph_Config_t *config[] = { &c, NULL };
    return q.graphSetConfig(good[GRAPH], config);
}

static Qnn_ErrorHandle_t prepare_env(void *graph)
{
    QnnGraph_ExecuteEnvironment_t e = { .option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS };
    QnnGraph_ExecuteEnvironment_t *list[] = { &e };
    return q.graphPrepareExecutionEnvironment(graph, list, 1);
}

static Qnn_ErrorHandle_t release_env(void *graph)
{
    QnnGraph_ExecuteEnvironment_t e = { .option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS };
    const QnnGraph_ExecuteEnvironment_t *list[] = { &e };
    return q.graphReleaseExecutionEnvironment(graph, list, 1);
}

static Qnn_ErrorHandle_t register_mem(void *context)
{
    static uint32_t dims[] = { 4 };
    Qnn_MemDescriptor_t d = {
        .memShape = { 1, dims, NULL }, .dataType = QNN_DATATYPE_FLOAT_32, .memType = QNN_MEM_TYPE_ION, .ionInfo = { 0 }
    };
    return q.memRegister(context, &d, 1, &got.handle);
}

static Qnn_ErrorHandle_t run_with_mem(void *mem)
{
    static _Thread_local float y[AFFINE_N];
    Qnn_Tensor_t in = net.x, out = WITH(net.y, y);
    TV(in).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(in).memHandle = mem;
    return q.graphExecute(good[GRAPH], &in, 1, &out, 1, NULL, NULL);
}

/* name of the case, kind of the handle h, lowest code of its component, whether NULL is allowed, the call */
#define USES(X)                                                                                                        \
    X(backendCreate, LOG, 4000, true, q.backendCreate(h, NULL, &got.handle))                                           \
    X(logSetLogLevel, LOG, 11000, false, q.logSetLogLevel(h, QNN_LOG_LEVEL_INFO))                                      \
    X(logFree, LOG, 11000, false, q.logFree(h))                                                                        \
    X(backendSetConfig, BACKEND, 4000, false, q.backendSetConfig(h, NULL))                                             \
    X(backendRegisterOpPackage, BACKEND, 4000, false, q.backendRegisterOpPackage(h, "/nowhere.so", "provider", NULL))  \
    X(backendGetSupportedOperations, BACKEND, 4000, true, q.backendGetSupportedOperations(h, &got.n, &got.ops))        \
    X(backendValidateOpConfig, BACKEND, 4000, false, q.backendValidateOpConfig(h, some_node()))                        \
    X(backendGetProperty, BACKEND, 4000, false, q.backendGetProperty(h, (QnnBackend_Property_t *[]){ NULL }))          \
    X(backendFree, BACKEND, 4000, false, q.backendFree(h))                                                             \
    X(contextCreate, BACKEND, 5000, false, q.contextCreate(h, NULL, NULL, &got.handle))                                \
    X(contextCreate_device, DEVICE, 5000, true, q.contextCreate(good[BACKEND], h, NULL, &got.handle))                  \
    X(contextCreateFromBinary, BACKEND, 5000, false,                                                                   \
      q.contextCreateFromBinary(h, NULL, NULL, buffer, sizeof buffer, &got.handle, NULL))                              \
    X(contextCreateFromBinaryWithSignal, BACKEND, 5000, false,                                                         \
      q.contextCreateFromBinaryWithSignal(h, NULL, NULL, buffer, sizeof buffer, &got.handle, NULL, NULL))              \
    X(contextCreateFromBinaryWithCallback, BACKEND, 5000, false,                                                       \
      q.contextCreateFromBinaryWithCallback(h, NULL, NULL, &callback, buffer, sizeof buffer, &got.handle, NULL, NULL)) \
    X(contextCreateFromBinaryListAsync, BACKEND, 5000, false,                                                          \
      q.contextCreateFromBinaryListAsync(h, NULL, NULL, NULL, NULL))                                                   \
    X(contextValidateBinary, BACKEND, 5000, false, q.contextValidateBinary(h, NULL, NULL, buffer, sizeof buffer))      \
    X(contextSetConfig, CONTEXT, 5000, false, q.contextSetConfig(h, NULL))                                             \
    X(contextGetBinarySize, CONTEXT, 5000, false, q.contextGetBinarySize(h, &got.size))                                \
    X(contextGetBinary, CONTEXT, 5000, false, q.contextGetBinary(h, buffer, sizeof buffer, &got.size))                 \
    X(contextGetProperty, CONTEXT, 5000, false, q.contextGetProperty(h, (QnnContext_Property_t *[]){ NULL }))          \
    X(contextFinalize, CONTEXT, 5000, false, q.contextFinalize(h, NULL))                                               \
    X(contextGetBinarySectionSize, CONTEXT, 5000, false,                                                               \
      q.contextGetBinarySectionSize(h, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &got.size))                                \
    X(contextGetBinarySection, CONTEXT, 5000, false,                                                                   \
      q.contextGetBinarySection(h, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &section, &got.size, NULL, NULL))              \
    X(contextApplyBinarySection, CONTEXT, 5000, false,                                                                 \
      q.contextApplyBinarySection(h, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &section, NULL, NULL))                       \
    X(contextGetIncrementalBinary, CONTEXT, 5000, false,                                                               \
      q.contextGetIncrementalBinary(h, &got.data, &got.size, &got.size2))                                              \
    X(contextReleaseIncrementalBinary, CONTEXT, 5000, false, q.contextReleaseIncrementalBinary(h, buffer, 0))          \
    X(contextAddToDlc, CONTEXT, 5000, false, q.contextAddToDlc(h, NULL))                                               \
    X(contextFree, CONTEXT, 5000, false, q.contextFree(h, NULL))                                                       \
    X(graphCreate, CONTEXT, 6000, false, q.graphCreate(h, "wrong", NULL, &got.handle))                                 \
    X(graphRetrieve, CONTEXT, 6000, false, q.graphRetrieve(h, "net", &got.handle))                                     \
    X(graphCreateSubgraph, GRAPH, 6000, false, q.graphCreateSubgraph(h, "sub", &got.handle))                           \
    X(graphSetConfig, GRAPH, 6000, false, q.graphSetConfig(h, NULL))                                                   \
    X(graphSetConfig_profile, PROFILE, 6000, true, set_profile(h))                                                     \
    X(graphAddNode, GRAPH, 6000, false, q.graphAddNode(h, some_node()))                                                \
    X(graphFinalize, GRAPH, 6000, false, q.graphFinalize(h, NULL, NULL))                                               \
    X(graphExecute, GRAPH, 6000, false, run_net(h, NULL, NULL))                                                        \
    X(graphExecute_profile, PROFILE, 6000, true, run_net(good[GRAPH], h, NULL))                                        \
    X(graphExecute_signal, SIGNAL, 6000, true, run_net(good[GRAPH], NULL, h))                                          \
    X(graphExecute_mem, MEM, 6000, false, run_with_mem(h))                                                             \
    X(graphExecuteAsync, GRAPH, 6000, false, run_async(h))                                                             \
    X(graphPrepareExecutionEnvironment, GRAPH, 6000, false, prepare_env(h))                                            \
    X(graphReleaseExecutionEnvironment, GRAPH, 6000, false, release_env(h))                                            \
    X(graphGetProperty, GRAPH, 6000, false, q.graphGetProperty(h, (QnnGraph_Property_t *[]){ NULL }))                  \
    X(tensorCreateContextTensor, CONTEXT, 7000, false, q.tensorCreateContextTensor(h, some_tensor()))                  \
    X(tensorCreateGraphTensor, GRAPH, 7000, false, q.tensorCreateGraphTensor(h, some_tensor()))                        \
    X(tensorUpdateGraphTensors, GRAPH, 7000, false,                                                                    \
      q.tensorUpdateGraphTensors(h, (const Qnn_Tensor_t *[]){ some_tensor() }, 1))                                     \
    X(tensorUpdateContextTensors, CONTEXT, 7000, false,                                                                \
      q.tensorUpdateContextTensors(h, (const Qnn_Tensor_t *[]){ some_tensor() }, 1))                                   \
    X(profileCreate, BACKEND, 12000, false, q.profileCreate(h, QNN_PROFILE_LEVEL_BASIC, &got.handle))                  \
    X(profileSetConfig, PROFILE, 12000, false, q.profileSetConfig(h, NULL))                                            \
    X(profileGetEvents, PROFILE, 12000, false, q.profileGetEvents(h, &got.ids, &got.n))                                \
    X(profileFree, PROFILE, 12000, false, q.profileFree(h))                                                            \
    X(memRegister, CONTEXT, 8000, false, register_mem(h))                                                              \
    X(memDeRegister, MEM, 8000, false, q.memDeRegister(&h, 1))                                                         \
    X(deviceSetConfig, DEVICE, 14000, false, q.deviceSetConfig(h, NULL))                                               \
    X(deviceGetInfo, DEVICE, 14000, false, q.deviceGetInfo(h, &got.platform))                                          \
    X(deviceFree, DEVICE, 14000, false, q.deviceFree(h))                                                               \
    X(signalCreate, BACKEND, 9000, false, q.signalCreate(h, NULL, &got.handle))                                        \
    X(signalSetConfig, SIGNAL, 9000, false, q.signalSetConfig(h, NULL))                                                \
    X(signalTrigger, SIGNAL, 9000, false, q.signalTrigger(h))                                                          \
    X(signalFree, SIGNAL, 9000, false, q.signalFree(h))

#define DEFINE_USE(name, kind, low, null_ok, call)  \
    static Qnn_ErrorHandle_t use_##name(void *h) \
    {                                            \
        return call;                             \
    }
USES(DEFINE_USE)

static const struct use {
    const char *name;
    enum kind kind;
    uint32_t low; /* codes low … low + 999, the common ones, and for a bad backend handle the backend's own */
    bool null_ok;
    Qnn_ErrorHandle_t (*call)(void *h);
} uses[] = {
#define LIST_USE(name, kind, low, null_ok, call) { #name, kind, low, null_ok, use_##name },
    USES(LIST_USE)
};

static bool documented(const struct use *u, uint32_t code)
{
    return (code >= u->low && code < u->low + 1000) || (code >= 1000 && code < 2000) ||
           (u->kind == BACKEND && code == QNN_BACKEND_ERROR_INVALID_HANDLE);
}

/* NULL when all is well, else what is wrong. */
static const char *wrong_answer(const struct use *u, void *h)
{
    static _Thread_local char text[256];
    uint32_t code = CODE(u->call(h));
    if (code != QNN_SUCCESS && documented(u, code))
        return NULL;
    snprintf(text, sizeof text, "%s with handle %p returned %u", u->name, h, code);
    return text;
}

/* ---- fixtures --------------------------------------------------------------------------------------------------------- */

static void *system_library;
static QNN_SYSTEM_INTERFACE_VER_TYPE sys;
static void *foreign[2]; /* objects of libQnnSystem.so */

static void create_objects(void **ret)
{
    static uint32_t dims[] = { 1, AFFINE_N };
    OK(q.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &ret[LOG]));
    OK(q.backendCreate(NULL, NULL, &ret[BACKEND]));
    OK(q.contextCreate(ret[BACKEND], NULL, NULL, &ret[CONTEXT]));
    OK(net_affine(ret[CONTEXT], "net", 2, 1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    ret[GRAPH] = net.graph;
    OK(q.profileCreate(ret[BACKEND], QNN_PROFILE_LEVEL_BASIC, &ret[PROFILE]));
    OK(q.signalCreate(ret[BACKEND], NULL, &ret[SIGNAL]));
    FILE *f = tmpfile();
    char zeros[AFFINE_N * sizeof(float)] = { 0 };
    assert_int_equal(fwrite(zeros, 1, sizeof zeros, f), sizeof zeros);
    fflush(f);
    Qnn_MemDescriptor_t d = { .memShape = { 2, dims, NULL },
                              .dataType = QNN_DATATYPE_FLOAT_32,
                              .memType = QNN_MEM_TYPE_ION,
                              .ionInfo = { fileno(f) } };
    OK(q.memRegister(ret[CONTEXT], &d, 1, &ret[MEM]));
    fclose(f);
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    create_objects(good);
    system_library = lib_dlopen("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) =
        dlsym(system_library, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list;
    uint32_t n;
    if (!get || get(&list, &n) != QNN_SUCCESS)
        return 1;
    sys = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    return sys.systemContextCreate(&foreign[0]) != QNN_SUCCESS ||
           sys.systemLogCreate(NULL, QNN_LOG_LEVEL_ERROR, &foreign[1]) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    sys.systemContextFree(foreign[0]);
    sys.systemLogFree(foreign[1]);
    dlclose(system_library);
    q.backendFree(good[BACKEND]);
    q.logFree(good[LOG]);
    lib_close();
    return 0;
}

/* ---- handles ---------------------------------------------------------------------------------------------------------- */

static void check_all(void *h, enum kind skip)
{
    for (unsigned i = 0; i < COUNT(uses); i++) {
        if (uses[i].kind == skip || (!h && uses[i].null_ok))
            continue;
        hush(true);
        const char *wrong = wrong_answer(&uses[i], h);
        hush(false);
        if (wrong)
            fail_msg("%s", wrong);
    }
}

static void still_works(void)
{
    OK(run_net(good[GRAPH], NULL, NULL));
}

static void test_null_and_garbage(void **state)
{
    (void)state;
    int here;
    const uintptr_t values[] = {
        0, 1, 8, 0x1234, 0xDEADBEEF, 0x7FFFFFFFFFFF, ~(uintptr_t)0, (uintptr_t)&here, (uintptr_t)buffer, (uintptr_t)good
    };
    for (unsigned i = 0; i < COUNT(values); i++)
        check_all((void *)values[i], KINDS);
    for (int k = 0; k < KINDS; k++) { /* next to a real one */
        if (!good[k])
            continue;
        uintptr_t v = (uintptr_t)good[k];
        check_all((void *)(v + ((uintptr_t)1 << 24)), KINDS);
        check_all((void *)(v ^ (uintptr_t)1 << 60), KINDS);
    }
    still_works();
}

static void test_other_kinds(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        if (good[k])
            check_all(good[k], (enum kind)k);
    for (unsigned i = 0; i < COUNT(foreign); i++)
        check_all(foreign[i], KINDS);
    still_works();
    for (int k = 0; k < KINDS; k++) { /* and ours in the other library */
        assert_int_not_equal(CODE(sys.systemContextFree(good[k])), QNN_SUCCESS);
        assert_int_not_equal(CODE(sys.systemLogFree(good[k])), QNN_SUCCESS);
        assert_int_not_equal(CODE(sys.systemDlcFree(good[k])), QNN_SUCCESS);
        assert_int_not_equal(CODE(sys.systemProfileFreeSerializationTarget(good[k])), QNN_SUCCESS);
    }
    still_works();
}

/* Everything below a backend goes with it; what was below is refused by name and number. */
static void test_after_parent(void **state)
{
    (void)state;
    void *old[KINDS] = { NULL }, *mine[KINDS];
    memcpy(mine, good, sizeof mine);
    struct net mine_net = net;
    create_objects(old);
    net = mine_net;
    OK(q.backendFree(old[BACKEND]));
    OK(q.logFree(old[LOG]));
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < KINDS; k++)
            if (old[k])
                check_all(old[k], KINDS);
        void *fresh[KINDS] = { NULL }; /* the slots are used again: the old handles must not reach the new objects */
        create_objects(fresh);
        net = mine_net;
        for (int k = 0; k < KINDS; k++)
            if (old[k])
                check_all(old[k], KINDS);
        OK(q.backendFree(fresh[BACKEND]));
        OK(q.logFree(fresh[LOG]));
    }
    still_works();
}

/* ---- arguments -------------------------------------------------------------------------------------------------------- */

#define B good[BACKEND]
#define C good[CONTEXT]
#define G good[GRAPH]

#define MISSING(X)                                                                                           \
    X(4004, q.backendCreate(NULL, NULL, NULL))                                                               \
    X(4004, q.backendGetApiVersion(NULL))                                                                    \
    X(4004, q.backendGetBuildId(NULL))                                                                       \
    X(4004, q.backendRegisterOpPackage(B, NULL, "p", NULL))                                                  \
    X(4004, q.backendRegisterOpPackage(B, "x", NULL, NULL))                                                  \
    X(4004, q.backendGetSupportedOperations(B, NULL, &got.ops))                                              \
    X(4004, q.backendGetSupportedOperations(B, &got.n, NULL))                                                \
    X(4004, q.backendGetProperty(B, NULL))                                                                   \
    X(5000, q.contextCreate(B, NULL, NULL, NULL))                                                            \
    X(5000, q.contextGetBinarySize(C, NULL))                                                                 \
    X(5000, q.contextGetBinary(C, NULL, 5, &got.size))                                                       \
    X(5000, q.contextGetBinary(C, buffer, 64, NULL))                                                         \
    X(5000, q.contextCreateFromBinary(B, NULL, NULL, NULL, 64, &got.handle, NULL))                           \
    X(5000, q.contextCreateFromBinary(B, NULL, NULL, buffer, 64, NULL, NULL))                                \
    X(5000, q.contextCreateFromBinaryWithSignal(B, NULL, NULL, NULL, 64, &got.handle, NULL, NULL))           \
    X(5000, q.contextCreateFromBinaryWithCallback(B, NULL, NULL, NULL, buffer, 64, &got.handle, NULL, NULL)) \
    X(5000, q.contextCreateFromBinaryListAsync(B, NULL, NULL, NULL, NULL))                                   \
    X(5000, q.contextValidateBinary(B, NULL, NULL, NULL, 64))                                                \
    X(5000, q.contextValidateBinary(B, NULL, NULL, buffer, 0))                                               \
    X(5000, q.contextGetProperty(C, NULL))                                                                   \
    X(5000, q.contextGetBinarySectionUpdate(NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL))                 \
    X(6000, q.graphCreate(C, "name", NULL, NULL))                                                            \
    X(6003, q.graphCreate(C, NULL, NULL, &got.handle))                                                       \
    X(6003, q.graphRetrieve(C, NULL, &got.handle))                                                           \
    X(6000, q.graphRetrieve(C, "net", NULL))                                                                 \
    X(6000, q.graphCreateSubgraph(G, "name", NULL))                                                          \
    X(6000, q.graphGetProperty(G, NULL))                                                                     \
    X(6005, q.graphAddNode(open_graph, (Qnn_OpConfig_t)QNN_OPCONFIG_INIT))                                   \
    X(6000, q.graphExecute(G, NULL, 1, NULL, 1, NULL, NULL))                                                 \
    X(6000, q.graphPrepareExecutionEnvironment(G, NULL, 1))                                                  \
    X(6000, q.graphReleaseExecutionEnvironment(G, NULL, 1))                                                  \
    X(7004, q.tensorCreateContextTensor(C, NULL))                                                            \
    X(7004, q.tensorCreateGraphTensor(open_graph, NULL))                                                     \
    X(7004, q.tensorUpdateGraphTensors(G, NULL, 1))                                                          \
    X(7004, q.tensorUpdateContextTensors(C, NULL, 1))                                                        \
    X(11003, q.logCreate(NULL, QNN_LOG_LEVEL_INFO, NULL))                                                    \
    X(11003, q.logCreate(NULL, (QnnLog_Level_t)0, &got.handle))                                              \
    X(11003, q.logSetLogLevel(good[LOG], (QnnLog_Level_t)99))                                                \
    X(1004, q.profileCreate(B, QNN_PROFILE_LEVEL_BASIC, NULL))                                               \
    X(1004, q.profileGetEvents(good[PROFILE], NULL, &got.n))                                                 \
    X(1004, q.profileGetEvents(good[PROFILE], &got.ids, NULL))                                               \
    X(12000, q.profileGetSubEvents(0, &got.ids, &got.n))                                                     \
    X(12000, q.profileGetEventData(12345, &(QnnProfile_EventData_t){ 0 }))                                   \
    X(12000, q.profileGetExtendedEventData(~0ull, &(QnnProfile_ExtendedEventData_t){ 0 }))                   \
    X(8000, q.memRegister(C, NULL, 1, &got.handle))                                                          \
    X(8000, q.memRegister(C, &(Qnn_MemDescriptor_t)QNN_MEM_DESCRIPTOR_INIT, 1, NULL))                        \
    X(8000, q.memRegister(C, &(Qnn_MemDescriptor_t)QNN_MEM_DESCRIPTOR_INIT, 0, &got.handle))                 \
    X(8000, q.memDeRegister(NULL, 1))                                                                        \
    X(1004, q.deviceGetPlatformInfo(NULL, NULL))                                                             \
    X(1004, q.deviceFreePlatformInfo(NULL, NULL))                                                            \
    X(1004, q.deviceGetInfrastructure(NULL))                                                                 \
    X(1004, q.deviceCreate(NULL, NULL, NULL))                                                                \
    X(9002, q.signalCreate(B, NULL, NULL))                                                                   \
    X(10000, q.errorGetMessage(1000, NULL))                                                                  \
    X(10000, q.errorGetVerboseMessage(1000, NULL))                                                           \
    X(10000, q.errorFreeVerboseMessage(NULL))                                                                \
    X(10000, q.errorFreeVerboseMessage(buffer))                                                              \
    X(15000, q.globalConfigSet(NULL))                                                                        \
    X(4005, q.backendRegisterOpPackage(B, "/nowhere/libNothing.so", "provider", "CPU"))

static void test_missing_arguments(void **state)
{
    (void)state;
    Qnn_GraphHandle_t open_graph;
    OK(q.graphCreate(C, "open", NULL, &open_graph));
#define CHECK_MISSING(code, call) FAILS(code, call);
    MISSING(CHECK_MISSING)
    still_works();
}

/* Features that the backend does not have are refused as such. */
#define ABSENT_DEVICES(X)                      \
    X(q.deviceCreate(NULL, NULL, &got.handle)) \
    X(q.deviceGetPlatformInfo(NULL, &got.platform))
#define ABSENT(X)                                                                                                        \
    X(q.contextGetIncrementalBinary(C, &got.data, &got.size, &got.size2))                                                \
    X(q.contextReleaseIncrementalBinary(C, buffer, 0))                                                                   \
    X(q.contextAddToDlc(C, NULL))                                                                                        \
    X(q.contextGetBinarySectionUpdate(&section, NULL, (const Qnn_Tensor_t *[]){ some_tensor() }, 1, 0, NULL, NULL, NULL, \
                                      &section))                                                                         \
    X(q.contextFreeBinarySectionUpdate(section, NULL))

static void test_absent_features(void **state)
{
    (void)state;
#define CHECK_ABSENT(call) FAILS(QNN_COMMON_ERROR_NOT_SUPPORTED, call);
    if (!lib_is_htp()) {
        ABSENT_DEVICES(CHECK_ABSENT)
    }
    ABSENT(CHECK_ABSENT)
    still_works();
}

/* ---- eight threads ---------------------------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 10 };
static void *stale[KINDS];

static void *misuse(void *arg)
{
    unsigned *wrong = arg;
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < COUNT(uses); i++) {
            for (int k = 0; k < KINDS; k++)
                if (stale[k] && wrong_answer(&uses[i], stale[k]))
                    (*wrong)++;
            if (!uses[i].null_ok && wrong_answer(&uses[i], NULL))
                (*wrong)++;
        }
    return NULL;
}

static void *use_well(void *arg)
{
    unsigned *wrong = arg;
    for (int round = 0; round < ROUNDS * 20; round++)
        *wrong += run_net(good[GRAPH], NULL, NULL) != QNN_SUCCESS;
    return NULL;
}

static void test_eight_threads(void **state)
{
    (void)state;
    struct net mine = net;
    create_objects(stale);
    net = mine;
    OK(q.backendFree(stale[BACKEND]));
    OK(q.logFree(stale[LOG]));
    pthread_t t[THREADS];
    unsigned wrong[THREADS] = { 0 };
    hush(true);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, i % 4 ? misuse : use_well, &wrong[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    hush(false);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(wrong[i], 0);
    still_works();
}

/* Priorities of a graph and of its context may change while it runs (the thread sanitizer watches). */
static void test_priority_while_running(void **state)
{
    (void)state;
    pthread_t t;
    unsigned wrong = 0;
    pthread_create(&t, NULL, use_well, &wrong);
    for (int i = 0; i < ROUNDS * 20; i++) {
        const Qnn_Priority_t to = i % 2 ? QNN_PRIORITY_HIGH : QNN_PRIORITY_LOW;
        QnnGraph_Config_t g = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = to };
        QnnContext_Config_t c = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = to };
        OK(q.graphSetConfig(good[GRAPH], (const QnnGraph_Config_t *[]){ &g, NULL }));
        OK(q.contextSetConfig(good[CONTEXT], (const QnnContext_Config_t *[]){ &c, NULL }));
    }
    pthread_join(t, NULL);
    assert_int_equal(wrong, 0);
}

static void *free_it(void *context)
{
    return (void *)(uintptr_t)(q.contextFree(context, NULL) == QNN_SUCCESS);
}

/* Two threads free the same object: one succeeds, the other hears that the handle is not valid. */
static void test_race_to_free(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        Qnn_ContextHandle_t c;
        pthread_t t[4];
        uintptr_t won = 0;
        OK(q.contextCreate(B, NULL, NULL, &c));
        for (int i = 0; i < 4; i++)
            pthread_create(&t[i], NULL, free_it, c);
        for (int i = 0; i < 4; i++) {
            void *r;
            pthread_join(t[i], &r);
            won += (uintptr_t)r;
        }
        assert_int_equal(won, 1);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_null_and_garbage),
        CASE(test_other_kinds),
        CASE(test_after_parent),
        CASE(test_missing_arguments),
        CASE(test_absent_features),
        CASE(test_eight_threads),
        CASE(test_priority_while_running),
        CASE(test_race_to_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
