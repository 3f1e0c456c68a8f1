/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of QAI AppBuilder: every inner tensor is an output that the next node reads, features are asked for one by
 * one, members are tested for NULL before use, the log level changes at run time, the context is freed with a
 * live profile. */
#include <dlfcn.h>
#include <stdarg.h>

#include "client_htp.h"

enum { N = 4 };

static void log_line(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[1024];
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
}

struct model {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t in, out[3];
};

/* Relu, then twice the result, then that times the input: all three are read by the application. */
static struct model build(Qnn_ContextHandle_t c)
{
    static const char *const names[3] = { "relu_out", "double_out", "product_out" };
    struct model m;
    struct tensor_spec s = { 1, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, { 1, N }, NULL, 0, 0, 0 };
    MUST(qnn.graphCreate(c, "chain", NULL, &m.graph));
    m.in = client_create(m.graph, s);
    for (int i = 0; i < 3; i++) {
        s.name = names[i], s.type = QNN_TENSOR_TYPE_APP_READ;
        m.out[i] = client_create(m.graph, s);
    }
    struct node_spec relu = { "relu", "Relu", 0, 1, 1, { { 0 } }, { m.in }, { m.out[0] } };
    struct node_spec twice = { "double", "ElementWiseAdd", 0, 2, 1, { { 0 } }, { m.out[0], m.out[0] }, { m.out[1] } };
    struct node_spec times = { "product", "ElementWiseMultiply", 0, 2, 1, { { 0 } }, { m.out[1], m.in }, { m.out[2] } };
    MUST(qnn.graphAddNode(m.graph, client_config(&relu)));
    MUST(qnn.graphAddNode(m.graph, client_config(&twice)));
    MUST(qnn.graphAddNode(m.graph, client_config(&times)));
    return m;
}

static void run(const struct model *m, Qnn_ProfileHandle_t p)
{
    static const float x[N] = { -1, 2, -3, 4 }, want[3][N] = { { 0, 2, 0, 4 }, { 0, 4, 0, 8 }, { 0, 8, 0, 32 } };
    float got[3][N];
    Qnn_Tensor_t in = client_bind(m->in, x, sizeof x), out[3];
    for (int i = 0; i < 3; i++)
        out[i] = client_bind(m->out[i], got[i], sizeof got[i]);
    MUST(qnn.graphExecute(m->graph, &in, 1, out, 3, p, NULL));
    for (int i = 0; i < 3; i++)
        client_floats(got[i], want[i], N, 0);
}

static void load(Qnn_BackendHandle_t backend, struct client_binary b, Qnn_ProfileHandle_t p)
{
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info;
    uint64_t size;
    Qnn_ContextHandle_t c;
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, b.data, b.size, &info, &size));
    struct client_graph_info g = client_first_graph(info);
    CHECK(g.binary_version <= 3 && (g.graph_version == 1 || g.graph_version == 3) && g.n_out == 3);
    MUST(qnn.contextCreateFromBinary(backend, NULL, NULL, b.data, b.size, &c, p));
    struct model m = { .in = g.in[0] };
    for (uint32_t i = 0; i < 3; i++) {
        const char *name = TV(g.out[i]).name;
        m.out[*name == 'r' ? 0 : *name == 'd' ? 1 : 2] = g.out[i];
    }
    MUST(qnn.graphRetrieve(c, g.name, &m.graph));
    if (qnn.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_DESERIALIZED_GRAPH) == QNN_PROPERTY_SUPPORTED)
        MUST(qnn.graphFinalize(m.graph, p, NULL));
    run(&m, p);
    if (qnn.propertyHasCapability(QNN_PROPERTY_CONTEXT_SUPPORT_BINARY_UPDATES) != QNN_PROPERTY_SUPPORTED)
        CHECK(qnn.contextApplyBinarySection(c, NULL, QNN_CONTEXT_SECTION_UPDATABLE, NULL, NULL, NULL) != QNN_SUCCESS);
    MUST(qnn.contextFree(c, p));
    MUST(sys.systemContextFree(reader));
}

int main(void)
{
    void *lib = client_open(client_library(), RTLD_NOW | RTLD_GLOBAL),
         *system_lib = client_open("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    client_provider(lib, FIRST_FITTING);
    client_system_provider(system_lib, FIRST_FITTING);
    Qnn_LogHandle_t log, system_log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t c;
    Qnn_ProfileHandle_t profile;
    const char *id;
    MUST(qnn.logCreate(log_line, QNN_LOG_LEVEL_ERROR, &log));
    MUST(sys.systemLogCreate(log_line, QNN_LOG_LEVEL_ERROR, &system_log));
    MUST(qnn.logSetLogLevel(log, QNN_LOG_LEVEL_DEBUG));
    MUST(qnn.backendCreate(log, NULL, &backend));
    CHECK(qnn.propertyHasCapability && qnn.profileCreate && qnn.profileSetConfig && qnn.deviceCreate &&
          qnn.backendRegisterOpPackage);
    CHECK(qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE) != QNN_PROPERTY_ERROR_UNKNOWN_KEY);
    MUST(qnn.backendGetBuildId(&id));
    htp_power_set(1, true); /* an id that it has never created */
    MUST(qnn.profileCreate(backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    QnnProfile_Config_t max = { .option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS, .numMaxEvents = 1000 };
    const QnnProfile_Config_t *config[] = { &max, NULL };
    if (qnn.propertyHasCapability(QNN_PROPERTY_PROFILE_SUPPORT_MAX_EVENTS_CONFIG) == QNN_PROPERTY_SUPPORTED)
        MUST(qnn.profileSetConfig(profile, config));
    MUST(qnn.contextCreate(backend, NULL, NULL, &c));
    struct model m = build(c);
    MUST(qnn.graphFinalize(m.graph, profile, NULL));
    run(&m, profile);
    struct client_binary b = client_save(c);
    MUST(qnn.contextFree(c, profile));
    load(backend, b, profile);
    free(b.data);
    MUST(qnn.profileFree(profile));
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    MUST(sys.systemLogFree(system_log));
    dlclose(system_lib);
    dlclose(lib);
    return 0;
}
