/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of the SDK's sample applications: a convolution with its activation, in floats and in 8 bits, validated node
 * by node, saved, described by the system library, loaded again, executed, and executed in the background. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>

#include "client.h"

enum { H = 5, W = 5, IN = 3, OUT = 2, K = 3, OH = 3, OW = 3 };

static void log_line(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)level, (void)timestamp;
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

static Qnn_BackendHandle_t backend;

static void add_validated(Qnn_GraphHandle_t g, struct node_spec *n)
{
    MUST(qnn.backendValidateOpConfig(backend, client_config(n)));
    MUST(qnn.graphAddNode(g, client_config(n)));
}

struct model {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t in, out;
};

static struct model compose(Qnn_ContextHandle_t c, bool quantized, const void *weights, const void *bias)
{
    static const uint32_t ones[2] = { 1, 1 }, zeros[4];
    struct model m;
    Qnn_DataType_t t = quantized ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_FLOAT_32;
    uint32_t e = quantized ? 1 : 4;
    float scale = quantized ? 1 : 0;
    MUST(qnn.graphCreate(c, quantized ? "quantized" : "floats", NULL, &m.graph));
    m.in = client_create(
        m.graph, (struct tensor_spec){ 1, "input", QNN_TENSOR_TYPE_APP_WRITE, t, 4, { 1, H, W, IN }, NULL, 0, scale, 0 });
    Qnn_Tensor_t w = client_create(
        m.graph,
        (struct tensor_spec){
            1, "weights", QNN_TENSOR_TYPE_STATIC, t, 4, { K, K, IN, OUT }, weights, K * K * IN * OUT * e, scale, 0 });
    Qnn_Tensor_t b = client_create(
        m.graph, (struct tensor_spec){ 1, "bias", QNN_TENSOR_TYPE_STATIC, t, 1, { OUT }, bias, OUT * e, scale, 0 });
    Qnn_Tensor_t mid = client_create(
        m.graph, (struct tensor_spec){ 1, "conv_out", QNN_TENSOR_TYPE_NATIVE, t, 4, { 1, OH, OW, OUT }, NULL, 0, scale, 0 });
    m.out = client_create(
        m.graph, (struct tensor_spec){ 1, "output", QNN_TENSOR_TYPE_APP_READ, t, 4, { 1, OH, OW, OUT }, NULL, 0, scale, 0 });
    struct node_spec conv = { "conv", "Conv2d", 3, 3, 1, { { 0 } }, { m.in, w, b }, { mid } };
    conv.p[0] = client_u32s(m.graph, 1, "stride", 1, (uint32_t[]){ 2 }, ones);
    conv.p[1] = client_u32s(m.graph, 1, "pad_amount", 2, (uint32_t[]){ 2, 2 }, zeros);
    conv.p[2] = client_u32s(m.graph, 1, "dilation", 1, (uint32_t[]){ 2 }, ones);
    struct node_spec relu = { "relu", "Relu", 0, 1, 1, { { 0 } }, { mid }, { m.out } };
    add_validated(m.graph, &conv);
    add_validated(m.graph, &relu);
    return m;
}

static void expected(const float *in, const float *w, const float *b, float *out)
{
    for (int y = 0; y < OH; y++)
        for (int x = 0; x < OW; x++)
            for (int o = 0; o < OUT; o++) {
                float sum = b[o];
                for (int k = 0; k < K * K * IN; k++)
                    sum += in[((y + k / (K * IN)) * W + x + k / IN % K) * IN + k % IN] * w[k * OUT + o];
                out[(y * OW + x) * OUT + o] = sum > 0 ? sum : 0;
            }
}

static float in_f[H * W * IN], w_f[K * K * IN * OUT], b_f[OUT] = { 2, 7 }, want[OH * OW * OUT];
static uint8_t in_q[COUNT(in_f)], w_q[COUNT(w_f)], b_q[OUT] = { 2, 7 };

static void fill(void)
{
    for (unsigned i = 0; i < COUNT(in_f); i++)
        in_f[i] = (float)(in_q[i] = (uint8_t)(i % 4));
    for (unsigned i = 0; i < COUNT(w_f); i++)
        w_f[i] = (float)(w_q[i] = (uint8_t)(i % 3));
    expected(in_f, w_f, b_f, want);
}

static void execute(const struct model *m, bool quantized, Qnn_ProfileHandle_t profile)
{
    float f[COUNT(want)];
    uint8_t u[COUNT(want)];
    Qnn_Tensor_t in = quantized ? client_bind(m->in, in_q, sizeof in_q) : client_bind(m->in, in_f, sizeof in_f);
    Qnn_Tensor_t out = quantized ? client_bind(m->out, u, sizeof u) : client_bind(m->out, f, sizeof f);
    Qnn_ErrorHandle_t e = qnn.graphExecute(m->graph, &in, 1, &out, 1, profile, NULL);
    CHECK(CODE(e) != QNN_COMMON_ERROR_SYSTEM_COMMUNICATION && CODE(e) != QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL);
    MUST(e);
    for (unsigned i = 0; quantized && i < COUNT(want); i++)
        f[i] = u[i];
    client_floats(f, want, COUNT(want), 0);
}

/* ---- in the background ------------------------------------------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned done;
} board = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static void on_done(void *param, Qnn_NotifyStatus_t status)
{
    pthread_mutex_lock(&board.lock);
    *(Qnn_ErrorHandle_t *)param = status.error;
    board.done++;
    pthread_cond_signal(&board.change);
    pthread_mutex_unlock(&board.lock);
}

static void execute_async(const struct model *m)
{
    enum { FLIGHT = 6 };
    static float out[FLIGHT][COUNT(want)];
    Qnn_Tensor_t in = client_bind(m->in, in_f, sizeof in_f), outs[FLIGHT];
    Qnn_ErrorHandle_t status[FLIGHT];
    for (int i = 0; i < FLIGHT; i++) {
        outs[i] = client_bind(m->out, out[i], sizeof out[i]);
        MUST(qnn.graphExecuteAsync(m->graph, &in, 1, &outs[i], 1, NULL, NULL, on_done, &status[i]));
    }
    pthread_mutex_lock(&board.lock);
    while (board.done < FLIGHT)
        pthread_cond_wait(&board.change, &board.lock);
    pthread_mutex_unlock(&board.lock);
    for (int i = 0; i < FLIGHT; i++) {
        MUST(status[i]);
        client_floats(out[i], want, COUNT(want), 0);
    }
}

static void events(Qnn_ProfileHandle_t p)
{
    const QnnProfile_EventId_t *ids, *subs;
    uint32_t n, m;
    MUST(qnn.profileGetEvents(p, &ids, &n));
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t d;
        MUST(qnn.profileGetEventData(ids[i], &d));
        MUST(qnn.profileGetSubEvents(ids[i], &subs, &m));
        for (uint32_t k = 0; k < m; k++)
            MUST(qnn.profileGetEventData(subs[k], &d));
    }
}

/* Reads descriptions of version 1, 2 or 3, graphs of 1 or 3. */
static void reload(struct client_binary b, bool quantized, Qnn_ProfileHandle_t p)
{
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    uint64_t info_size = 0;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, b.data, b.size, &info, &info_size));
    struct client_graph_info g = client_first_graph(info);
    CHECK(g.binary_version >= 1 && g.binary_version <= 3 && (g.graph_version == 1 || g.graph_version == 3));
    CHECK(g.n_graphs == 1 && g.n_in == 1 && g.n_out == 1);
    Qnn_ContextHandle_t c;
    MUST(qnn.contextCreateFromBinary(backend, NULL, NULL, b.data, b.size, &c, p));
    struct model m = { .in = g.in[0], .out = g.out[0] };
    MUST(qnn.graphRetrieve(c, g.name, &m.graph));
    if (qnn.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_DESERIALIZED_GRAPH) == QNN_PROPERTY_SUPPORTED)
        MUST(qnn.graphFinalize(m.graph, NULL, NULL));
    execute(&m, quantized, p);
    MUST(qnn.contextFree(c, p));
    MUST(sys.systemContextFree(reader));
}

static void one_build(bool quantized, Qnn_ProfileHandle_t p)
{
    Qnn_ContextHandle_t c;
    MUST(qnn.contextCreate(backend, NULL, NULL, &c));
    struct model m = compose(c, quantized, quantized ? (void *)w_q : w_f, quantized ? (void *)b_q : b_f);
    MUST(qnn.graphFinalize(m.graph, p, NULL));
    execute(&m, quantized, p);
    events(p);
    if (!quantized)
        execute_async(&m);
    struct client_binary b = client_save(c);
    MUST(qnn.contextFree(c, NULL));
    reload(b, quantized, p);
    free(b.data);
}

int main(void)
{
    void *lib = client_open(client_library(), RTLD_NOW | RTLD_GLOBAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    client_provider(lib, FIRST_FITTING);
    client_system_provider(system_lib, FIRST_FITTING);
    Qnn_LogHandle_t log;
    Qnn_DeviceHandle_t device = NULL;
    Qnn_ProfileHandle_t profile;
    const char *id;
    MUST(qnn.logCreate(log_line, QNN_LOG_LEVEL_WARN, &log));
    MUST(qnn.backendCreate(log, NULL, &backend));
    MUST(qnn.backendGetBuildId(&id));
    Qnn_ErrorHandle_t has_device = qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE);
    if (has_device == QNN_PROPERTY_SUPPORTED) {
        uint32_t code = CODE(qnn.deviceCreate(log, NULL, &device));
        CHECK(code == QNN_SUCCESS || code == QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE);
    }
    MUST(qnn.profileCreate(backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    fill();
    one_build(false, profile);
    one_build(true, profile);
    MUST(qnn.profileFree(profile));
    if (device)
        MUST(qnn.deviceFree(device));
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
