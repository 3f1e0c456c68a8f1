/* SPDX-License-Identifier: Apache-2.0 */
/* Execution environments: memory that a graph is told before it runs, the client's or the library's, is used without a copy;
 * what is wrong with it is said then, and a release takes it back. */
#include "api_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/QnnProperty.h>

enum { COPIED = 30004 };

static struct net net;
static float x[AFFINE_N], want[AFFINE_N];

static int setup(void **state)
{
    int failed = env_setup(state);
    OK(net_affine(env.context, "net", 3, -2, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    for (int i = 0; i < AFFINE_N; i++) {
        x[i] = (float)(i * i) - 7;
        want[i] = 3 * x[i] - 2;
    }
    return failed;
}

static QnnGraph_ExecuteEnvironment_t environment(QnnGraph_ExecuteEnvironmentOption_t option, Qnn_Tensor_t *in,
                                                 Qnn_Tensor_t *out)
{
    return (QnnGraph_ExecuteEnvironment_t){ .option = option,
                                            .tensorSet = { QNN_TENSOR_SET_VERSION_1, { { 1, in, out ? 1u : 0u, out } } } };
}

#define BIND QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_BIND_MEM_HANDLES
#define POPULATE QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS

static Qnn_ErrorHandle_t prepare(QnnGraph_ExecuteEnvironment_t *e)
{
    return q.graphPrepareExecutionEnvironment(net.graph, &e, 1);
}

static Qnn_ErrorHandle_t release(const QnnGraph_ExecuteEnvironment_t *e)
{
    return q.graphReleaseExecutionEnvironment(net.graph, &e, 1);
}

/* Bytes that an execution copies to and from the session; -1: the library tells none. */
static int64_t copied_by(Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t *out, uint32_t n_out)
{
    Qnn_ProfileHandle_t p;
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    OK(q.graphExecute(net.graph, in, n_in, out, n_out, p, NULL));
    const struct event *e = profile_find(p, COPIED);
    int64_t bytes = e ? (int64_t)e->data.value : -1;
    OK(q.profileFree(p));
    return bytes;
}

static void test_populate(void **state)
{
    (void)state;
    Qnn_Tensor_t in = net.x, out = net.y, in2 = net.x, out2 = net.y;
    QnnGraph_ExecuteEnvironment_t e = environment(POPULATE, &in, &out), e2 = environment(POPULATE, &in2, &out2);
    QnnGraph_ExecuteEnvironment_t *both[] = { &e, &e2 };
    OK(q.graphPrepareExecutionEnvironment(net.graph, both, 2));
    Qnn_Tensor_t *ins[] = { &in, &in2 }, *outs[] = { &out, &out2 };
    for (int i = 0; i < 2; i++) {
        assert_non_null(TV(*ins[i]).clientBuf.data);
        assert_int_equal(TV(*ins[i]).clientBuf.dataSize, sizeof x);
        assert_int_equal(TV(*outs[i]).clientBuf.dataSize, sizeof want);
        memcpy(TV(*ins[i]).clientBuf.data, x, sizeof x);
        int64_t copied = copied_by(ins[i], 1, outs[i], 1);
        assert_int_equal(copied, lib_is_htp() ? 0 : -1);
        assert_memory_equal(TV(*outs[i]).clientBuf.data, want, sizeof want);
    }
    assert_ptr_not_equal(TV(in).clientBuf.data, TV(in2).clientBuf.data);

    /* Other buffers may still be given. */
    float y[AFFINE_N] = { 0 };
    OK(net_run(&net, x, y, AFFINE_N, AFFINE_N));
    assert_memory_equal(y, want, sizeof want);
    OK(release(&e));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "released already", release(&e));
    OK(q.graphExecute(net.graph, &in2, 1, &out2, 1, NULL, NULL));
    /* the other one goes with the graph */
}

static Qnn_MemHandle_t register_memory(uint64_t bytes, float **ret)
{
    uint32_t dims[] = { (uint32_t)(bytes / sizeof(float)) };
    int fd = memfd_create("environment", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    *ret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(*ret, MAP_FAILED);
    Qnn_MemDescriptor_t d = {
        .memShape = { 1, dims, NULL }, .dataType = QNN_DATATYPE_FLOAT_32, .memType = QNN_MEM_TYPE_ION, .ionInfo = { fd }
    };
    Qnn_MemHandle_t h;
    OK(q.memRegister(env.context, &d, 1, &h));
    close(fd);
    return h;
}

static Qnn_Tensor_t with_handle(Qnn_Tensor_t t, Qnn_MemHandle_t h)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = h;
    return t;
}

static void test_bind(void **state)
{
    (void)state;
    float *px, *py;
    Qnn_MemHandle_t hx = register_memory(sizeof x, &px), hy = register_memory(sizeof want, &py);
    Qnn_Tensor_t in = with_handle(net.x, hx), out = with_handle(net.y, hy), plain = WITH(net.x, x), none = net.y;
    QnnGraph_ExecuteEnvironment_t e = environment(BIND, &in, &out);
    OK(prepare(&e));
    memcpy(px, x, sizeof x);

    OK(q.graphExecute(net.graph, NULL, 0, NULL, 0, NULL, NULL)); /* all of it is bound */
    assert_memory_equal(py, want, sizeof want);
    memset(py, 0, sizeof want);
    assert_int_equal(copied_by(&plain, 1, &none, 1), lib_is_htp() ? (int64_t)sizeof x : -1); /* the output is */
    assert_memory_equal(py, want, sizeof want);
    memset(py, 0, sizeof want);
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    assert_memory_equal(py, want, sizeof want);

    OK(release(&e));
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(net.graph, NULL, 0, NULL, 0, NULL, NULL));
    OK(prepare(&e));
    OK(q.memDeRegister(&hx, 1));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "the memory handle",
                 q.graphExecute(net.graph, NULL, 0, NULL, 0, NULL, NULL));
    munmap(px, sizeof x);
    munmap(py, sizeof want);
}

static void test_refused(void **state)
{
    (void)state;
    float *small, *other_memory;
    Qnn_MemHandle_t h = register_memory(sizeof x / 2, &small), there = register_memory(sizeof x, &other_memory);
    Qnn_Tensor_t in = with_handle(net.x, h), raw = net.x, stranger = net.x, out = with_handle(net.y, there);
    TV(stranger).id = 4711;
    QnnGraph_ExecuteEnvironment_t e = environment(BIND, &in, NULL);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "the handle has 16", prepare(&e));
    e = environment(BIND, &raw, NULL);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "MEMHANDLE", prepare(&e));
    e = environment(POPULATE, &stranger, NULL);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "4711", prepare(&e));
    e = environment(POPULATE, &in, NULL);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "RAW", prepare(&e));

    /* All or nothing: the first of two is not prepared where the second is refused. */
    Qnn_Tensor_t good = with_handle(net.x, there);
    QnnGraph_ExecuteEnvironment_t first = environment(BIND, &good, &out), second = environment(BIND, &in, NULL);
    QnnGraph_ExecuteEnvironment_t *list[] = { &first, &second };
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, q.graphPrepareExecutionEnvironment(net.graph, list, 2));
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, release(&first));

    /* Unknown ones are set back; where there is nothing else, the call says so. */
    QnnGraph_ExecuteEnvironment_t unknown = environment((QnnGraph_ExecuteEnvironmentOption_t)7, &good, NULL);
    FAILS(QNN_COMMON_ERROR_NOT_SUPPORTED, prepare(&unknown));
    list[1] = &unknown;
    OK(q.graphPrepareExecutionEnvironment(net.graph, list, 2));
    assert_int_equal(unknown.option, QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_UNDEFINED);
    assert_int_equal(unknown.tensorSet.v1.numInputs, 0);

    struct net open;
    OK(net_affine(env.context, "open", 1, 1, &open));
    QnnGraph_ExecuteEnvironment_t *one[] = { &first };
    FAILS(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, q.graphPrepareExecutionEnvironment(open.graph, one, 1));
    munmap(small, sizeof x / 2);
    munmap(other_memory, sizeof x);
}

static void test_keys(void **state)
{
    (void)state;
    static const uint32_t keys[] = { QNN_PROPERTY_GRAPH_SUPPORT_ENV_OPTION_BIND_MEM_HANDLES,
                                     QNN_PROPERTY_GRAPH_SUPPORT_ENV_OPTION_POPULATE_CLIENT_BUFS };
    for (unsigned i = 0; i < COUNT(keys); i++)
        assert_int_equal(q.propertyHasCapability(keys[i]), QNN_PROPERTY_SUPPORTED);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, env_teardown)
    const struct CMUnitTest tests[] = { TEST(test_populate), TEST(test_bind), TEST(test_refused), TEST(test_keys) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
