/* SPDX-License-Identifier: Apache-2.0 */
/* The scenarios. Each holds its objects in a struct whose end frees them, so every early return is clean. */
#include "api_cycle.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api_test.h"

#define STEP(call)                        \
    do {                                  \
        Qnn_ErrorHandle_t step_ = (call); \
        if (step_ != QNN_SUCCESS)         \
            return step_;                 \
    } while (0)

static char bytes[1 << 17]; /* a saved binary */

struct objects {
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context, loaded;
    Qnn_ProfileHandle_t profile;
    Qnn_SignalHandle_t signal;
};

static void objects_end(struct objects *o)
{
    if (o->loaded)
        q.contextFree(o->loaded, NULL);
    if (o->context)
        q.contextFree(o->context, NULL);
    if (o->signal)
        q.signalFree(o->signal);
    if (o->profile)
        q.profileFree(o->profile);
    if (o->backend)
        q.backendFree(o->backend);
    if (o->log)
        q.logFree(o->log);
}
#define OBJECTS __attribute__((cleanup(objects_end))) struct objects

static void quiet(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)fmt, (void)level, (void)timestamp, (void)args;
}

static Qnn_ErrorHandle_t base(struct objects *o)
{
    STEP(q.logCreate(quiet, QNN_LOG_LEVEL_DEBUG, &o->log));
    STEP(q.backendCreate(o->log, NULL, &o->backend));
    return q.contextCreate(o->backend, NULL, NULL, &o->context);
}

static Qnn_ErrorHandle_t run_conv(const struct net *n)
{
    float y[CONV_OUT], want[CONV_OUT];
    STEP(net_run(n, conv_in, y, CONV_IN, CONV_OUT));
    conv_expected(want);
    for (int i = 0; i < CONV_OUT; i++)
        if (!(fabsf(y[i] - want[i]) <= 1e-6f))
            return WRONG_RESULT;
    return QNN_SUCCESS;
}

/* Build, finalize, execute, save, reload, execute. */
static Qnn_ErrorHandle_t whole_way(void)
{
    OBJECTS o = { 0 };
    struct net net;
    uint64_t size = 0, written = 0;
    STEP(base(&o));
    STEP(net_conv(o.context, "net", &net));
    STEP(q.graphFinalize(net.graph, NULL, NULL));
    STEP(run_conv(&net));
    STEP(q.contextGetBinarySize(o.context, &size));
    if (size > sizeof bytes)
        return WRONG_RESULT;
    STEP(q.contextGetBinary(o.context, bytes, sizeof bytes, &written));
    STEP(q.contextValidateBinary(o.backend, NULL, NULL, bytes, written));
    STEP(q.contextCreateFromBinary(o.backend, NULL, NULL, bytes, written, &o.loaded, NULL));
    STEP(q.graphRetrieve(o.loaded, "net", &net.graph));
    return run_conv(&net);
}

/* Profiles, signals, configuration. */
static Qnn_ErrorHandle_t with_extras(void)
{
    OBJECTS o = { 0 };
    struct net net;
    float x[AFFINE_N] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[AFFINE_N];
    QnnContext_Config_t oem = { .option = QNN_CONTEXT_CONFIG_OPTION_OEM_STRING, .oemString = "a text to be kept" };
    const QnnContext_Config_t *config[] = { &oem, NULL };
    STEP(q.backendCreate(NULL, NULL, &o.backend));
    STEP(q.contextCreate(o.backend, NULL, config, &o.context));
    STEP(q.profileCreate(o.backend, QNN_PROFILE_LEVEL_DETAILED, &o.profile));
    STEP(q.signalCreate(o.backend, NULL, &o.signal));
    STEP(net_affine(o.context, "net", 2, 1, &net));
    STEP(q.graphFinalize(net.graph, o.profile, o.signal));
    Qnn_Tensor_t in = WITH(net.x, x), out = WITH(net.y, y);
    STEP(q.graphExecute(net.graph, &in, 1, &out, 1, o.profile, o.signal));
    const QnnProfile_EventId_t *ids;
    uint32_t n;
    STEP(q.profileGetEvents(o.profile, &ids, &n));
    if (n)
        STEP(q.profileGetSubEvents(ids[0], &ids, &n));
    return y[7] == 17 ? QNN_SUCCESS : WRONG_RESULT;
}

/* ---- asynchronous ----------------------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned done;
    Qnn_ErrorHandle_t first_error;
} board = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

static void on_done(void *param, Qnn_NotifyStatus_t status)
{
    (void)param;
    pthread_mutex_lock(&board.lock);
    board.done++;
    if (board.first_error == QNN_SUCCESS)
        board.first_error = status.error;
    pthread_cond_signal(&board.change);
    pthread_mutex_unlock(&board.lock);
}

static void wait_for(unsigned n)
{
    pthread_mutex_lock(&board.lock);
    while (board.done < n)
        pthread_cond_wait(&board.change, &board.lock);
    pthread_mutex_unlock(&board.lock);
}

static Qnn_ErrorHandle_t in_background(void)
{
    OBJECTS o = { 0 };
    struct net net;
    float x[AFFINE_N] = { 1, 2, 3, 4, 5, 6, 7, 8 }, y[4][AFFINE_N];
    Qnn_Tensor_t in, out[4];
    unsigned sent = 0;
    Qnn_ErrorHandle_t e = QNN_SUCCESS;
    board.done = 0;
    board.first_error = QNN_SUCCESS;
    STEP(base(&o));
    STEP(net_affine(o.context, "net", 3, 0, &net));
    STEP(q.graphFinalize(net.graph, NULL, NULL));
    in = WITH(net.x, x);
    for (; sent < 4 && e == QNN_SUCCESS; sent += e == QNN_SUCCESS) {
        out[sent] = WITH(net.y, y[sent]);
        e = q.graphExecuteAsync(net.graph, &in, 1, &out[sent], 1, NULL, NULL, on_done, NULL);
    }
    wait_for(sent);
    STEP(e);
    STEP(board.first_error);
    for (unsigned i = 0; i < sent; i++)
        if (y[i][7] != 24)
            return WRONG_RESULT;
    return QNN_SUCCESS;
}

/* ---- other ways to load ----------------------------------------------------------------------------------------------- */

static struct {
    uint64_t size;
    Qnn_ContextHandle_t context;
    Qnn_ErrorHandle_t status;
} listed;

static void on_listed(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                      QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    (void)graph, (void)name, (void)param;
    if (type != QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        return;
    pthread_mutex_lock(&board.lock);
    listed.context = context;
    listed.status = status;
    board.done++;
    pthread_cond_signal(&board.change);
    pthread_mutex_unlock(&board.lock);
}

static Qnn_ErrorHandle_t provide(Qnn_ContextBinaryDataRequest_t req, Qnn_ContextBinaryRawDataResponse_t *r, void *param)
{
    (void)param;
    *r = (Qnn_ContextBinaryRawDataResponse_t){ bytes + req.offset, 0, req.size };
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t take_back(Qnn_ContextBinaryRawDataMem_t mem, void *param)
{
    (void)mem, (void)param;
    return QNN_SUCCESS;
}

/* Runs the loaded model and frees its context. */
static Qnn_ErrorHandle_t run_loaded(Qnn_ContextHandle_t *c, struct net net)
{
    Qnn_ErrorHandle_t e = q.graphRetrieve(*c, "net", &net.graph);
    e = e ? e : run_conv(&net);
    q.contextFree(*c, NULL);
    *c = NULL;
    return e;
}

static Qnn_ErrorHandle_t load_list(Qnn_BackendHandle_t backend, struct net net)
{
    QnnContext_Params_t p = { .version = QNN_CONTEXT_PARAMS_VERSION_1,
                              .v1 = { NULL, bytes, listed.size, NULL, on_listed, NULL } };
    const QnnContext_Params_t *list[] = { &p, NULL };
    board.done = 0;
    STEP(q.contextCreateFromBinaryListAsync(backend, NULL, list, NULL, NULL));
    wait_for(1);
    STEP(listed.status);
    return run_loaded(&listed.context, net);
}

static Qnn_ErrorHandle_t other_loads(void)
{
    static const char *const names[] = { "net", NULL };
    OBJECTS o = { 0 };
    struct net net;
    Qnn_Tensor_t shared = TENSOR("shared", APP_READWRITE, FLOAT_32, 4);
    STEP(base(&o));
    STEP(q.tensorCreateContextTensor(o.context, &shared));
    STEP(net_conv(o.context, "net", &net));
    STEP(q.graphFinalize(net.graph, NULL, NULL));
    STEP(q.contextGetBinary(o.context, bytes, sizeof bytes, &listed.size));
    Qnn_ContextBinaryCallback_t cb = { .type = QNN_CONTEXT_CALLBACK_RAW_BUFFER };
    cb.rawBufferCallback.version = QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1;
    cb.rawBufferCallback.v1 = (Qnn_ContextBinaryRawBufferCallbackV1_t){ provide, take_back, NULL };
    STEP(q.contextCreateFromBinaryWithCallback(o.backend, NULL, NULL, &cb, bytes, listed.size, &o.loaded, NULL, NULL));
    STEP(run_loaded(&o.loaded, net));
    QnnContext_Config_t defer = { .option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT, .isGraphInitDeferred = 1 },
                        only = { .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = names };
    const QnnContext_Config_t *config[] = { &defer, &only, NULL };
    STEP(q.contextCreateFromBinary(o.backend, NULL, config, bytes, listed.size, &o.loaded, NULL));
    if (q.contextFinalize(o.loaded, NULL) != QNN_SUCCESS) /* what failed can be tried again */
        STEP(q.contextFinalize(o.loaded, NULL));
    STEP(run_loaded(&o.loaded, net));
    return load_list(o.backend, net);
}

/* ---- memory, refusals ------------------------------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static Qnn_ErrorHandle_t registered_memory(void)
{
    __attribute__((cleanup(close_fd))) int fd = memfd_create("cycle", MFD_CLOEXEC);
    OBJECTS o = { 0 };
    struct net net;
    uint32_t dims[] = { 1, AFFINE_N };
    float x[AFFINE_N] = { 1 }, y[AFFINE_N] = { 0 };
    if (fd < 0 || write(fd, x, sizeof x) != sizeof x)
        return WRONG_RESULT;
    Qnn_MemDescriptor_t d = {
        .memShape = { 2, dims, NULL }, .dataType = QNN_DATATYPE_FLOAT_32, .memType = QNN_MEM_TYPE_ION, .ionInfo = { fd }
    };
    Qnn_MemHandle_t h;
    STEP(base(&o));
    STEP(net_affine(o.context, "net", 4, 2, &net));
    STEP(q.graphFinalize(net.graph, NULL, NULL));
    STEP(q.memRegister(o.context, &d, 1, &h));
    Qnn_Tensor_t in = net.x, out = WITH(net.y, y);
    TV(in).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(in).memHandle = h;
    STEP(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    STEP(q.memDeRegister(&h, 1));
    return y[0] == 6 ? QNN_SUCCESS : WRONG_RESULT;
}

/* One side of an If: x from outside through one operator that remembers and one that does not. */
static Qnn_ErrorHandle_t side(Qnn_GraphHandle_t g, const char *name, const char *type, Qnn_Tensor_t x)
{
    Qnn_GraphHandle_t s;
    STEP(q.graphCreateSubgraph(g, name, &s));
    Qnn_Tensor_t t = TENSOR(keep_name("%s_t", name), NATIVE, FLOAT_32, 4),
                 o = TENSOR(keep_name("%s_o", name), APP_READ, FLOAT_32, 4);
    STEP(q.tensorCreateGraphTensor(s, &t));
    STEP(q.tensorCreateGraphTensor(s, &o));
    struct op
        window = { .name = keep_name("%s_w", name), .type = "Buffer", .np = 2, .ni = 1, .in = { x }, .no = 1, .out = { t } },
        last = { .name = keep_name("%s_l", name), .type = type, .ni = 1, .in = { t }, .no = 1, .out = { o } };
    window.p[0] = param_u32("buffer_size", 4);
    window.p[1] = param_u32("buffer_dim", 0);
    window.p[2] = param_u32("stride", 4);
    window.np = 3;
    STEP(op_add(s, &window));
    return op_add(s, &last);
}

static Qnn_ErrorHandle_t branches(void)
{
    OBJECTS o = { 0 };
    Qnn_GraphHandle_t g;
    float x[4] = { 1, -2, 3, -4 }, y[4];
    uint8_t c[1] = { 0 };
    STEP(base(&o));
    STEP(q.graphCreate(o.context, "g", NULL, &g));
    Qnn_Tensor_t tx = TENSOR("x", APP_WRITE, FLOAT_32, 4), tc = TENSOR("c", APP_WRITE, BOOL_8, 1),
                 ty = TENSOR("y", APP_READ, FLOAT_32, 4);
    STEP(q.tensorCreateGraphTensor(g, &tx));
    STEP(q.tensorCreateGraphTensor(g, &tc));
    STEP(q.tensorCreateGraphTensor(g, &ty));
    STEP(side(g, "yes", "Relu", tx));
    STEP(side(g, "no", "ElementWiseNeg", tx));
    struct op i = { .name = "if", .type = "If", .np = 2, .ni = 1, .in = { tc }, .no = 1, .out = { ty } };
    i.p[0] = param_text("then_graph", "yes");
    i.p[1] = param_text("else_graph", "no");
    STEP(op_add(g, &i));
    STEP(q.graphFinalize(g, NULL, NULL));
    Qnn_Tensor_t in[] = { WITH(tx, x), WITH(tc, c) }, out = WITH(ty, y);
    STEP(q.graphExecute(g, in, 2, &out, 1, NULL, NULL));
    return y[0] == -1 && y[3] == 4 ? QNN_SUCCESS : WRONG_RESULT;
}

static Qnn_ErrorHandle_t refusals(void)
{
    OBJECTS o = { 0 };
    Qnn_GraphHandle_t g, none;
    STEP(base(&o));
    STEP(q.graphCreate(o.context, "g", NULL, &g));
    Qnn_Tensor_t bad = TENSOR("bad", STATIC, FLOAT_32, 4), x = TENSOR("x", APP_WRITE, FLOAT_32, 4);
    if (q.tensorCreateGraphTensor(g, &bad) == QNN_SUCCESS)
        return MUST_FAIL;
    STEP(q.tensorCreateGraphTensor(g, &x));
    struct op wrong = { .name = "n", .type = "Nonsense", .ni = 1, .in = { x }, .no = 1, .out = { x } };
    if (op_add(g, &wrong) == QNN_SUCCESS || op_validate(o.backend, &wrong) == QNN_SUCCESS ||
        q.graphFinalize(g, NULL, NULL) == QNN_SUCCESS || q.graphRetrieve(o.context, "h", &none) == QNN_SUCCESS ||
        q.graphCreate(o.context, "g", NULL, &none) == QNN_SUCCESS)
        return MUST_FAIL;
    const char *text;
    STEP(q.errorGetVerboseMessage(QNN_GRAPH_ERROR_INVALID_NAME, &text));
    return q.errorFreeVerboseMessage(text);
}

/* ---- updates ---------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t adds(const struct net *n, float wanted)
{
    float x[4] = { 1, 2, 3, 4 }, y[4];
    STEP(net_run(n, x, y, 4, 4));
    for (int i = 0; i < 4; i++)
        if (y[i] != x[i] + wanted)
            return WRONG_RESULT;
    return QNN_SUCCESS;
}

/* A tensor gets new data; the section that has them is applied to the context as it was before. What fails changes
 * nothing. */
static Qnn_ErrorHandle_t updates(void)
{
    static const float one[4] = { 1, 1, 1, 1 }, nine[4] = { 9, 9, 9, 9 };
    static char part[1 << 16];
    OBJECTS o = { 0 };
    struct net n, loaded;
    uint64_t size = 0, written = 0;
    STEP(base(&o));
    STEP(q.graphCreate(o.context, "net", NULL, &n.graph));
    n.x = TENSOR("x", APP_WRITE, FLOAT_32, 4);
    n.y = TENSOR("y", APP_READ, FLOAT_32, 4);
    Qnn_Tensor_t c = WITH(TENSOR("c", UPDATEABLE_STATIC, FLOAT_32, 4), one);
    STEP(q.tensorCreateGraphTensor(n.graph, &n.x));
    STEP(q.tensorCreateGraphTensor(n.graph, &n.y));
    STEP(q.tensorCreateGraphTensor(n.graph, &c));
    struct op plus = { .name = "plus", .type = "ElementWiseAdd", .ni = 2, .in = { n.x, c }, .no = 1, .out = { n.y } };
    STEP(op_add(n.graph, &plus));
    STEP(q.graphFinalize(n.graph, NULL, NULL));
    STEP(q.contextGetBinary(o.context, bytes, sizeof bytes, &written));
    c = WITH(c, nine);
    const Qnn_Tensor_t *list[] = { &c };
    STEP(q.tensorUpdateGraphTensors(n.graph, list, 1));
    Qnn_ErrorHandle_t e = q.graphFinalize(n.graph, NULL, NULL);
    STEP(adds(&n, e == QNN_SUCCESS ? 9 : 1));
    STEP(e);
    QnnContext_Buffer_t b = { .version = QNN_CONTEXT_BUFFER_VERSION_1,
                              .v1 = { .memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = { part, sizeof part } } };
    STEP(q.contextGetBinarySection(o.context, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &b, &size, NULL, NULL));
    STEP(q.contextCreateFromBinary(o.backend, NULL, NULL, bytes, written, &o.loaded, NULL));
    loaded = n;
    STEP(q.graphRetrieve(o.loaded, "net", &loaded.graph));
    b.v1.binaryBuf.dataSize = size;
    e = q.contextApplyBinarySection(o.loaded, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &b, NULL, NULL);
    STEP(adds(&loaded, e == QNN_SUCCESS ? 9 : 1));
    return e;
}

const struct scenario scenarios[] = {
    { "whole way", whole_way },
    { "profile and signal", with_extras },
    { "in the background", in_background },
    { "other ways to load", other_loads },
    { "registered memory", registered_memory },
    { "refusals", refusals },
    { "branches", branches },
    { "updates", updates },
};
const unsigned n_scenarios = COUNT(scenarios);
