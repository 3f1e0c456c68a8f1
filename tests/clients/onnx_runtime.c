/* SPDX-License-Identifier: Apache-2.0 */
/* In the manner of the ONNX Runtime execution provider: nodes are validated before their tensors exist and before their
 * constants are known; 64-bit integers come in through a Cast; layouts change by Transpose and Reshape; messages come from
 * the error functions; the library is opened again for every session. */
#include <dlfcn.h>
#include <stdarg.h>

#include "client_htp.h"

static void log_line(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    (void)level, (void)timestamp;
    CHECK(vsnprintf(text, sizeof text, fmt, args) >= 0);
}

static Qnn_BackendHandle_t backend;
static Qnn_DeviceHandle_t device;

/* Partitioning: asked about every node, with ids that are still 0; an error means "not for you", with a reason. */
static bool taken(struct node_spec *n)
{
    Qnn_ErrorHandle_t e = qnn.backendValidateOpConfig(backend, client_config(n));
    if (e == QNN_SUCCESS)
        return true;
    const char *text = NULL, *verbose = NULL;
    MUST(qnn.errorGetMessage(e, &text));
    CHECK(text && *text);
    if (qnn.errorGetVerboseMessage(e, &verbose) == QNN_SUCCESS) {
        CHECK(verbose && *verbose);
        MUST(qnn.errorFreeVerboseMessage(verbose));
    }
    return false;
}

static Qnn_Tensor_t loose(const char *name, Qnn_TensorType_t type, Qnn_DataType_t t, uint32_t rows, uint32_t columns)
{
    struct tensor_spec s = { 1, name, type, t, 2, { rows, columns }, NULL, 0, 0, 0 };
    return client_tensor(&s);
}

static void partition(void)
{
    static const uint32_t perm[2] = { 1, 0 };
    Qnn_Tensor_t a = loose("a", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, 3),
                 w = loose("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 3, 4),
                 y = loose("y", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, 4),
                 t = loose("t", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 3, 2);
    struct node_spec matmul = {
        "m", "MatMul", 2, 2, 1, { client_bool("transpose_in0", false), client_bool("transpose_in1", false) }, { a, w }, { y }
    };
    /* HardSwish in place of two nodes: it asks without the operation, which only the node that it adds has. */
    struct node_spec neuron = { "n", "ElementWiseNeuron", 0, 1, 1, { { 0 } }, { a }, { a } };
    struct node_spec bent = { "b", "ElementWiseNeuron", 0, 1, 1, { { 0 } }, { a }, { y } };
    struct node_spec strange = { "s", "NotAnOp", 0, 1, 1, { { 0 } }, { a }, { y } };
    struct node_spec crooked = { "c", "Relu", 0, 1, 1, { { 0 } }, { a }, { y } };
    struct node_spec turn = { "t",   "Transpose", 1, 1, 1, { { .paramType = QNN_PARAMTYPE_TENSOR, .name = "perm" } },
                              { a }, { t } };
    struct tensor_spec p = { 1, "perm", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, 1, { 2 }, perm, sizeof perm, 0, 0 };
    turn.p[0].tensorParam = client_tensor(&p);
    for (int twice = 0; twice < 2; twice++) {
        CHECK(taken(&matmul));
        CHECK(taken(&turn));
        CHECK(taken(&neuron));
        CHECK(!taken(&bent));
        CHECK(!taken(&strange));
        CHECK(!taken(&crooked));
    }
}

struct session {
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t ids, table, out;     /* graph inputs and output */
    QnnSystemContext_Handle_t reader; /* of a cached session: the tensors are its own */
};

/* out = transpose(gather(table, cast(ids))): ids are INT_64, as ONNX has them. */
static void build(struct session *s)
{
    static const uint32_t perm[2] = { 1, 0 };
    QnnContext_Config_t priority = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_NORMAL };
    QnnHtpContext_CustomConfig_t sharing = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                             .weightSharingEnabled = false };
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &sharing };
    const QnnContext_Config_t *config[] = { &priority, client_on_htp() ? &custom : NULL, NULL };
    QnnHtpGraph_CustomConfig_t options[] = {
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
          .optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 3 } },
        { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE, .vtcmSizeInMB = 8 },
    };
    MUST(qnn.contextCreate(backend, device, config, &s->context));
    MUST(qnn.graphCreate(s->context, "session", htp_graph_config(options, COUNT(options)), &s->graph));
    Qnn_GraphHandle_t g = s->graph;
    s->ids = client_create(
        g, (struct tensor_spec){ 1, "ids", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_INT_64, 1, { 3 }, NULL, 0, 0, 0 });
    s->table = client_create(
        g, (struct tensor_spec){ 1, "table", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, { 4, 2 }, NULL, 0, 0, 0 });
    Qnn_Tensor_t ids32 = client_create(
        g, (struct tensor_spec){ 1, "ids32", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_INT_32, 1, { 3 }, NULL, 0, 0, 0 });
    Qnn_Tensor_t rows = client_create(
        g, (struct tensor_spec){ 1, "rows", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, { 3, 2 }, NULL, 0, 0, 0 });
    s->out = client_create(
        g, (struct tensor_spec){ 1, "out", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, { 2, 3 }, NULL, 0, 0, 0 });
    struct node_spec cast = { "cast", "Cast", 0, 1, 1, { { 0 } }, { s->ids }, { ids32 } };
    Qnn_Param_t axis = { .paramType = QNN_PARAMTYPE_SCALAR,
                         .name = "axis",
                         .scalarParam = { .dataType = QNN_DATATYPE_INT_32, .int32Value = 0 } };
    struct node_spec gather = { "gather", "Gather", 1, 2, 1, { axis }, { s->table, ids32 }, { rows } };
    struct node_spec turn = { "turn",   "Transpose", 1, 1, 1, { client_u32s(g, 1, "perm", 1, (uint32_t[]){ 2 }, perm) },
                              { rows }, { s->out } };
    MUST(qnn.graphAddNode(g, client_config(&cast)));
    MUST(qnn.graphAddNode(g, client_config(&gather)));
    MUST(qnn.graphAddNode(g, client_config(&turn)));
}

static void run(const struct session *s, Qnn_ProfileHandle_t p)
{
    static const int64_t ids[3] = { 2, 0, 3 };
    static const float table[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, want[6] = { 5, 1, 7, 6, 2, 8 };
    float got[6];
    Qnn_Tensor_t ins[] = { client_bind(s->ids, ids, sizeof ids), client_bind(s->table, table, sizeof table) },
                 out = client_bind(s->out, got, sizeof got);
    MUST(qnn.graphExecute(s->graph, ins, 2, &out, 1, p, NULL));
    client_floats(got, want, 6, 1e-5f);
}

/* Loads a cached context; the description is read once more after the context exists. */
static void from_cache(struct client_binary b, struct session *s)
{
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    uint64_t size;
    MUST(sys.systemContextCreate(&s->reader));
    MUST(sys.systemContextGetBinaryInfo(s->reader, b.data, b.size, &info, &size));
    htp_check_blobs(info);
    MUST(qnn.contextCreateFromBinary(backend, device, NULL, b.data, b.size, &s->context, NULL));
    struct client_graph_info g = client_first_graph(info);
    CHECK(g.n_graphs == 1 && g.n_in == 2 && g.n_out == 1 && strcmp(g.name, "session") == 0);
    for (uint32_t i = 0; i < g.n_in; i++)
        *(strcmp(TV(g.in[i]).name, "ids") == 0 ? &s->ids : &s->table) = g.in[i];
    s->out = g.out[0];
    MUST(qnn.graphRetrieve(s->context, g.name, &s->graph));
    run(s, NULL);
}

static void one_session(int flags)
{
    void *lib = client_open(client_library(), flags), *system_lib = client_open("libQnnSystem.so", flags);
    const QnnInterface_t *p = client_provider(lib, FIRST_FITTING);
    client_system_provider(system_lib, FIRST_FITTING);
    CHECK(p->backendId == (client_on_htp() ? QNN_BACKEND_ID_HTP : QNN_BACKEND_ID_CPU));
    const QnnBackend_Config_t *none[] = { NULL };
    const char *id;
    Qnn_LogHandle_t log;
    Qnn_ProfileHandle_t profile;
    MUST(qnn.logCreate(flags & RTLD_LAZY ? NULL : log_line, QNN_LOG_LEVEL_ERROR, &log));
    MUST(qnn.logSetLogLevel(log, QNN_LOG_LEVEL_WARN));
    MUST(qnn.backendCreate(log, none, &backend));
    MUST(qnn.backendGetBuildId(&id));
    if (!client_on_htp())
        CHECK(qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE) == QNN_PROPERTY_NOT_SUPPORTED); /* so no device is made */
    device = htp_device(log, 60, QNN_HTP_DEVICE_ARCH_V73);
    uint32_t power = htp_power_on();
    htp_power_set(power, true);
    MUST(qnn.profileCreate(backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    struct session s, cached;
    partition();
    build(&s);
    MUST(qnn.graphFinalize(s.graph, profile, NULL));
    run(&s, profile);
    struct client_binary b = client_save(s.context);
    from_cache(b, &cached);
    free(b.data);
    run(&cached, NULL);
    MUST(qnn.contextFree(s.context, NULL));
    MUST(qnn.contextFree(cached.context, NULL));
    MUST(sys.systemContextFree(cached.reader));
    MUST(qnn.profileFree(profile));
    htp_power_off(power);
    htp_device_free(device);
    MUST(qnn.backendFree(backend));
    MUST(qnn.logFree(log));
    dlclose(system_lib);
    dlclose(lib);
}

int main(void)
{
    for (int i = 0; i < 4; i++)
        one_session(i % 2 ? RTLD_LAZY : RTLD_NOW | RTLD_GLOBAL);
    return 0;
}
