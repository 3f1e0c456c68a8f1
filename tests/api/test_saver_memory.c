/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnSaver.so: registered memory, environments of executions, lists of contexts and sections of binaries are recorded.
 * What a recording gives on a library is compared with the same calls made on it directly.
 *
 *     test_saver_memory COMPILER INCLUDE_FOLDER */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpCommon.h>
#include <QNN/HTP/QnnHtpMem.h>

#include "saver_kit.h"

enum { PAGE = 4096, N = 64 };

/* ---- a graph of three inputs: y = (a + b) * c ------------------------------------------------------------------------- */

struct sum {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t t[5]; /* a b c, in between, y */
};

static void sum_build(struct sum *s)
{
    static const char *const names[] = { "a", "b", "c", "in between", "y" };
    OK(q.backendCreate(NULL, NULL, &s->backend));
    OK(q.contextCreate(s->backend, NULL, NULL, &s->context));
    OK(q.graphCreate(s->context, "sum", NULL, &s->graph));
    for (int i = 0; i < 5; i++) {
        s->t[i] = i % 2 ? TENSOR2(names[i], APP_WRITE, FLOAT_32, 1, N) : TENSOR(names[i], APP_WRITE, FLOAT_32, 1, N);
        TV(s->t[i]).type = i < 3 ? QNN_TENSOR_TYPE_APP_WRITE : i == 3 ? QNN_TENSOR_TYPE_NATIVE : QNN_TENSOR_TYPE_APP_READ;
        OK(q.tensorCreateGraphTensor(s->graph, &s->t[i]));
    }
    OK(op_add(
        s->graph,
        &(struct op){
            .name = "add", .type = "ElementWiseAdd", .ni = 2, .in = { s->t[0], s->t[1] }, .no = 1, .out = { s->t[3] } }));
    OK(op_add(s->graph, &(struct op){ .name = "times",
                                      .type = "ElementWiseMultiply",
                                      .ni = 2,
                                      .in = { s->t[3], s->t[2] },
                                      .no = 1,
                                      .out = { s->t[4] } }));
    OK(q.graphFinalize(s->graph, NULL, NULL));
}

static void sum_end(struct sum *s)
{
    OK(q.contextFree(s->context, NULL));
    OK(q.backendFree(s->backend));
}

static Qnn_Tensor_t in_memory(Qnn_Tensor_t t, Qnn_MemHandle_t m)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = m;
    return t;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

struct buffer {
    int fd;
    float *at;
};

static struct buffer buffer_new(size_t bytes)
{
    struct buffer b = { .fd = memfd_create("test", 0) };
    assert_true(b.fd >= 0);
    assert_int_equal(ftruncate(b.fd, (off_t)bytes), 0);
    b.at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b.fd, 0);
    assert_true(b.at != MAP_FAILED);
    return b;
}

static void buffer_free(struct buffer b, size_t bytes)
{
    munmap(b.at, bytes);
    close(b.fd);
}

static void number(float *at, int seed)
{
    for (int i = 0; i < N; i++)
        at[i] = (float)((i * seed) % 17) - 4;
}

/* Inputs a and c and the output registered, b a plain buffer; twice, with other values the second time. How memory is
 * described differs: as ION and DMA buffers, or as parts of one buffer as only the HTP has them. */
static void use_memory(bool parts, float out[2][N])
{
    struct sum s;
    float b[N];
    uint32_t dims[] = { 1, N };
    struct buffer one = buffer_new(4 * PAGE), two = buffer_new(PAGE), three = buffer_new(PAGE);
    float *at[3] = { one.at, parts ? one.at + PAGE / 4 : two.at, parts ? one.at + PAGE / 2 : three.at };
    QnnMemHtp_Descriptor_t htp[3];
    Qnn_MemDescriptor_t d[3];
    Qnn_MemHandle_t m[3];
    sum_build(&s);
    for (int i = 0; i < 3; i++) {
        d[i] = (Qnn_MemDescriptor_t){ .memShape = { 2, dims, NULL },
                                      .dataType = QNN_DATATYPE_FLOAT_32,
                                      .memType = QNN_MEM_TYPE_ION,
                                      .ionInfo = { i == 0   ? one.fd
                                                   : i == 1 ? two.fd
                                                            : three.fd } };
        htp[i] = (QnnMemHtp_Descriptor_t){ .type = QNN_HTP_MEM_SHARED_BUFFER,
                                           .size = 4 * PAGE,
                                           .sharedBufferConfig = { one.fd, (uint64_t)i * PAGE } };
        if (parts) {
            d[i].memType = QNN_MEM_TYPE_CUSTOM;
            d[i].customInfo = &htp[i];
        }
    }
    if (!parts) {
        d[1].memType = QNN_MEM_TYPE_DMA_BUF;
        d[1].dmaBufInfo = (Qnn_MemDmaBufInfo_t){ two.fd, two.at };
    }
    OK(q.memRegister(s.context, d, 2, m));
    OK(q.memRegister(s.context, &d[2], 1, &m[2]));
    for (int turn = 0; turn < 2; turn++) {
        number(at[0], 3 + turn);
        number(at[1], 5);
        number(b, 7 * turn + 2);
        Qnn_Tensor_t in[] = { in_memory(s.t[0], m[0]), tensor_data(s.t[1], b, sizeof b), in_memory(s.t[2], m[1]) };
        Qnn_Tensor_t y = in_memory(s.t[4], m[2]);
        OK(q.graphExecute(s.graph, in, 3, &y, 1, NULL, NULL));
        memcpy(out[turn], at[2], sizeof out[turn]);
    }
    OK(q.memDeRegister(m, 3));
    hush(true);
    FAILS(QNN_MEM_ERROR_INVALID_HANDLE, q.memDeRegister(m, 1));
    hush(false);
    sum_end(&s);
    buffer_free(one, 4 * PAGE);
    buffer_free(two, PAGE);
    buffer_free(three, PAGE);
}

static void same_memory(const char *below, const char *library, bool parts)
{
    float wanted[2][N], got[N + 1];
    void *lib = open_table(library);
    use_memory(parts, wanted);
    dlclose(lib);
    assert_memory_not_equal(wanted[0], wanted[1], sizeof wanted[0]);
    assert_int_equal(replay(below, library), 0);
    for (unsigned i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/execute_%u_0.raw", below, replayed_call(below, "QnnGraph_execute", i));
        assert_int_equal(read_file(name, got, sizeof got), sizeof wanted[i]);
        assert_memory_equal(got, wanted[i], sizeof wanted[i]);
    }
}

static void test_memory(void **state)
{
    (void)state;
    float out[2][N];
    void *lib = open_saver();
    OK(record_to("memory", 0));
    use_memory(false, out);
    OK(record_to("parts", QNN_BACKEND_ID_HTP));
    use_memory(true, out);
    dlclose(lib);
    if (!compile("memory") || !compile("parts"))
        skip();
    for (size_t i = 0; i < COUNT(replay_libraries); i++)
        same_memory("memory", replay_libraries[i], false);
    same_memory("parts", "libQnnHtp.so", true);
}

/* Memory that cannot be made again is refused, and so is what is not there. */
static void test_memory_refused(void **state)
{
    (void)state;
    struct sum s;
    struct buffer b = buffer_new(PAGE);
    uint32_t dims[] = { 1, N }, large[] = { 4096, N };
    Qnn_MemHandle_t m[2] = { NULL, NULL };
    Qnn_MemDescriptor_t good = { .memShape = { 2, dims, NULL },
                                 .dataType = QNN_DATATYPE_FLOAT_32,
                                 .memType = QNN_MEM_TYPE_ION,
                                 .ionInfo = { b.fd } },
                        bad = good;
    void *lib = open_saver();
    OK(record_to("refused", 0));
    sum_build(&s);
    hush(true);
    bad.ionInfo.fd = -1;
    FAILS_SAYING(QNN_MEM_ERROR_MAPPING, "file descriptor -1", q.memRegister(s.context, &bad, 1, m));
    FAILS(QNN_MEM_ERROR_MAPPING, q.memRegister(s.context, (Qnn_MemDescriptor_t[]){ good, bad }, 2, m));
    assert_null(m[0]); /* all or none */
    bad.ionInfo.fd = b.fd;
    bad.memShape.dimSize = large;
    FAILS_SAYING(QNN_MEM_ERROR_MAPPING, "of a buffer of 4096", q.memRegister(s.context, &bad, 1, m));
    bad = good;
    bad.memShape.numDim = UINT32_MAX;
    FAILS(QNN_MEM_ERROR_INVALID_SHAPE, q.memRegister(s.context, &bad, 1, m));
    bad = good;
    bad.memType = QNN_MEM_TYPE_DX12;
    FAILS(QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, q.memRegister(s.context, &bad, 1, m));
    bad.memType = QNN_MEM_TYPE_CUSTOM;
    bad.customInfo = dims;
    FAILS_SAYING(QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, "BACKEND_ID", q.memRegister(s.context, &bad, 1, m));
    FAILS(QNN_MEM_ERROR_INVALID_ARGUMENT, q.memRegister(s.context, NULL, 1, m));
    FAILS(QNN_MEM_ERROR_INVALID_ARGUMENT, q.memRegister(s.context, &good, 0, m));
    hush(false);
    OK(q.memRegister(s.context, &good, 1, m));
    assert_int_equal(ftruncate(b.fd, 16), 0); /* the client cuts what is registered */
    Qnn_Tensor_t in = in_memory(s.t[0], m[0]), y = in_memory(s.t[4], m[0]);
    hush(true);
    FAILS(QNN_COMMON_ERROR_SYSTEM, q.graphExecute(s.graph, &in, 1, &y, 1, NULL, NULL));
    hush(false);
    sum_end(&s);
    close(b.fd);
    dlclose(lib);
}

/* ---- environments ----------------------------------------------------------------------------------------------------- */

static void test_environment(void **state)
{
    (void)state;
    struct sum s;
    float out[N];
    void *lib = open_saver();
    OK(record_to("environment", 0));
    sum_build(&s);
    Qnn_Tensor_t in[] = { s.t[0], s.t[1], s.t[2] }, y[] = { s.t[4] };
    QnnGraph_ExecuteEnvironment_t env = { .option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS,
                                          .tensorSet = { QNN_TENSOR_SET_VERSION_1, { { 3, in, 1, y } } } };
    QnnGraph_ExecuteEnvironment_t *envs[] = { &env };
    OK(q.graphPrepareExecutionEnvironment(s.graph, envs, 1));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(TV(in[i]).clientBuf.dataSize, sizeof out);
        number(TV(in[i]).clientBuf.data, i + 3);
    }
    assert_int_equal(TV(y[0]).clientBuf.dataSize, sizeof out);
    OK(q.graphExecute(s.graph, in, 3, y, 1, NULL, NULL));
    float a[N], b[N], c[N];
    number(a, 3), number(b, 4), number(c, 5);
    OK(q.graphReleaseExecutionEnvironment(s.graph, (const QnnGraph_ExecuteEnvironment_t **)envs, 1));
    OK(q.graphPrepareExecutionEnvironment(s.graph, envs, 1)); /* goes with the graph */
    sum_end(&s);
    dlclose(lib);
    if (!compile("environment"))
        skip();
    for (size_t k = 0; k < COUNT(replay_libraries); k++) {
        char name[64];
        assert_int_equal(replay("environment", replay_libraries[k]), 0);
        snprintf(name, sizeof name, "environment/execute_%u_0.raw", replayed_call("environment", "QnnGraph_execute", 0));
        assert_int_equal(read_file(name, out, sizeof out), sizeof out);
        for (int i = 0; i < N; i++)
            assert_true(out[i] == (a[i] + b[i]) * c[i]);
    }
}

/* ---- lists of contexts ------------------------------------------------------------------------------------------------ */

struct arrived {
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    unsigned graphs, contexts;
};

static void arrive(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                   QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    struct arrived *a = param;
    if (status != QNN_SUCCESS)
        return;
    if (type == QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT && strcmp(name, "sum") == 0) {
        a->graph = graph;
        a->graphs++;
    } else if (type == QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT) {
        a->context = context;
        a->contexts++;
    }
}

static void *binary_of(struct sum *s, uint64_t *size)
{
    sum_build(s);
    OK(q.contextGetBinarySize(s->context, size));
    void *bytes = malloc(*size);
    assert_non_null(bytes);
    OK(q.contextGetBinary(s->context, bytes, *size, size));
    sum_end(s);
    return bytes;
}

/* Two contexts from one binary, each used through the graph that came with it. */
static void use_list(const struct sum *made, const void *bytes, uint64_t size, float out[2][N])
{
    Qnn_BackendHandle_t backend;
    struct arrived a[2] = { { 0 } };
    QnnContext_Config_t priority = { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_LOW };
    const QnnContext_Config_t *config[] = { &priority, NULL };
    QnnContext_ParamsV2_t v2 = {
        .config = config, .binaryBuffer = bytes, .binaryBufferSize = size, .notifyFunc = arrive, .notifyParam = &a[1]
    };
    QnnContext_Params_t p[] = {
        { .version = QNN_CONTEXT_PARAMS_VERSION_1,
          .v1 = { .binaryBuffer = bytes, .binaryBufferSize = size, .notifyFunc = arrive, .notifyParam = &a[0] } },
        { .version = QNN_CONTEXT_PARAMS_VERSION_2, .v2 = &v2 }
    };
    OK(q.backendCreate(NULL, NULL, &backend));
    setenv("OPENQNN_LIST_WAIT", "1", 1);
    OK(q.contextCreateFromBinaryListAsync(backend, NULL, (const QnnContext_Params_t *[]){ &p[0], &p[1], NULL }, NULL, NULL));
    unsetenv("OPENQNN_LIST_WAIT");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(a[i].contexts, 1);
        assert_int_equal(a[i].graphs, 1);
        float x[3][N];
        for (int k = 0; k < 3; k++)
            number(x[k], 2 * k + i + 1);
        Qnn_Tensor_t in[] = { WITH(made->t[0], x[0]), WITH(made->t[1], x[1]), WITH(made->t[2], x[2]) };
        Qnn_Tensor_t y = tensor_data(made->t[4], out[i], sizeof out[i]);
        OK(q.graphExecute(a[i].graph, in, 3, &y, 1, NULL, NULL));
    }
    OK(q.contextFree(a[0].context, NULL));
    OK(q.contextFree(a[1].context, NULL));
    OK(q.backendFree(backend));
}

static void test_list(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(replay_libraries); k++) {
        float wanted[2][N], got[N];
        struct sum made;
        uint64_t size = 0;
        void *lib = open_table(replay_libraries[k]);
        void *bytes = binary_of(&made, &size);
        use_list(&made, bytes, size, wanted);
        dlclose(lib);
        assert_memory_not_equal(wanted[0], wanted[1], sizeof got);
        lib = open_saver();
        OK(record_to("list", 0));
        float nothing[2][N] = { { 0 } };
        use_list(&made, bytes, size, nothing);
        dlclose(lib);
        free(bytes);
        if (!compile("list"))
            skip();
        assert_int_equal(replay("list", replay_libraries[k]), 0);
        for (unsigned i = 0; i < 2; i++) {
            char name[64];
            snprintf(name, sizeof name, "list/execute_%u_0.raw", replayed_call("list", "QnnGraph_execute", i));
            assert_int_equal(read_file(name, got, sizeof got), sizeof got);
            assert_memory_equal(got, wanted[i], sizeof got);
        }
    }
}

/* A binary that comes through callbacks is in the recording as a whole. */
static Qnn_ErrorHandle_t provide(Qnn_ContextBinaryDataRequest_t req, Qnn_ContextBinaryRawDataResponse_t *ret, void *bytes)
{
    *ret = (Qnn_ContextBinaryRawDataResponse_t){ .memPtr = (char *)bytes + req.offset, .alignedSize = req.size };
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t take_back(Qnn_ContextBinaryRawDataMem_t mem, void *bytes)
{
    return mem.memPtr == bytes ? QNN_SUCCESS : QNN_COMMON_ERROR_GENERAL;
}

static void test_callback(void **state)
{
    (void)state;
    struct sum made;
    uint64_t size = 0;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    void *lib = open_table("libQnnCpu.so");
    void *bytes = binary_of(&made, &size);
    dlclose(lib);
    Qnn_ContextBinaryCallback_t cb = { .type = QNN_CONTEXT_CALLBACK_RAW_BUFFER,
                                       .rawBufferCallback = { .version = QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1,
                                                              .v1 = { provide, take_back, bytes } } };
    lib = open_saver();
    OK(record_to("callback", 0));
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreateFromBinaryWithCallback(b, NULL, NULL, &cb, NULL, size, &c, NULL, NULL));
    OK(q.graphRetrieve(c, "sum", &g));
    hush(true);
    cb.type = QNN_CONTEXT_CALLBACK_DMA_BUFFER;
    FAILS(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE,
          q.contextCreateFromBinaryWithCallback(b, NULL, NULL, &cb, NULL, size, &c, NULL, NULL));
    hush(false);
    OK(q.backendFree(b));
    dlclose(lib);
    free(bytes);
    if (!compile("callback"))
        skip();
    assert_int_equal(replay("callback", "libQnnCpu.so"), 0);
}

/* ---- sections --------------------------------------------------------------------------------------------------------- */

/* What counts is that every call is made again, and answered as it is directly. */
static const char *const section_calls[] = { "QnnContext_getBinarySectionSize", "QnnContext_getBinarySection",
                                             "QnnContext_applyBinarySection", "QnnContext_getBinarySectionUpdate",
                                             "QnnContext_getIncrementalBinary" };

static void use_sections(uint32_t codes[COUNT(section_calls)])
{
    struct sum s;
    uint8_t bytes[3000] = { 1, 2, 3 };
    uint64_t size = 0, offset = 0;
    const void *piece = NULL;
    float data[N] = { 5 };
    sum_build(&s);
    QnnContext_Buffer_t b = { .version = QNN_CONTEXT_BUFFER_VERSION_1,
                              .v1 = { .memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = { bytes, sizeof bytes } } },
                        update;
    Qnn_Tensor_t t = WITH(s.t[0], data);
    hush(true);
    codes[0] = CODE(q.contextGetBinarySectionSize(s.context, s.graph, QNN_CONTEXT_SECTION_UPDATABLE, &size));
    codes[1] = CODE(q.contextGetBinarySection(s.context, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &b, &size, NULL, NULL));
    codes[2] = CODE(q.contextApplyBinarySection(s.context, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &b, NULL, NULL));
    codes[3] =
        CODE(q.contextGetBinarySectionUpdate(&b, NULL, (const Qnn_Tensor_t *[]){ &t }, 1, 1, NULL, NULL, NULL, &update));
    codes[4] = CODE(q.contextGetIncrementalBinary(s.context, &piece, &offset, &size));
    hush(false);
    sum_end(&s);
}

static void test_sections(void **state)
{
    (void)state;
    uint32_t recorded[COUNT(section_calls)], direct[COUNT(section_calls)];
    void *lib = open_saver();
    OK(record_to("sections", 0));
    use_sections(recorded);
    dlclose(lib);
    for (size_t i = 0; i < COUNT(section_calls); i++) /* what only a backend knows is a dummy */
        assert_int_equal(recorded[i], i == 2 ? QNN_SUCCESS : QNN_SAVER_ERROR_DUMMY_RETVALUE);
    if (!compile("sections"))
        skip();
    for (size_t k = 0; k < COUNT(replay_libraries); k++) {
        lib = open_table(replay_libraries[k]);
        use_sections(direct);
        dlclose(lib);
        assert_int_equal(replay("sections", replay_libraries[k]), direct[2] != QNN_SUCCESS);
        for (size_t i = 0; i < COUNT(section_calls); i++) {
            uint64_t code = 0;
            assert_int_equal(replayed_results("sections", section_calls[i], &code, 1), 1);
            assert_int_equal(code, direct[i]);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), cmocka_unit_test(test_memory_refused), cmocka_unit_test(test_environment),
        cmocka_unit_test(test_list),   cmocka_unit_test(test_callback),       cmocka_unit_test(test_sections),
    };
    if (saver_kit_begin(argc, argv))
        return 1;
    return cmocka_run_group_tests(tests, NULL, saver_kit_end);
}
