/* SPDX-License-Identifier: Apache-2.0 */
/* VTCM as clients see it: a graph that is too large for its window spills, says how much, and spills to the client's buffer
 * when one is registered; operators that cannot fit are refused as a device does it; what only the compiler adds cannot be
 * added. */
#include "api_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/HTP/QnnHtpMem.h>
#include <QNN/HTP/QnnHtpSystemContext.h>
#include <QNN/System/QnnSystemContext.h>

#undef COUNT
#include "system_lib.h"

enum { SIDE = 160, N = SIDE * SIDE, KIB = 1024, PAGE = 4096, MANY = 4 << 20 };

static float x[N], y[N], want[N];

static void graph_of(uint32_t vtcm_bytes, const char *name, Qnn_GraphHandle_t *ret)
{
    QnnHtpGraph_CustomConfig_t size = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES,
                                        .vtcmSizeInBytes = vtcm_bytes };
    QnnGraph_Config_t custom = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &size };
    const QnnGraph_Config_t *list[] = { &custom, NULL };
    OK(q.graphCreate(env.context, name, list, ret));
}

/* Transposes are computed whole. */
static struct net turns(uint32_t vtcm_bytes)
{
    struct net n;
    graph_of(vtcm_bytes, "turns", &n.graph);
    net_turns(&n, SIDE);
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static void run_and_compare(const struct net *n)
{
    memset(y, 0, sizeof y);
    OK(net_run(n, x, y, N, N));
    assert_memory_equal(y, want, sizeof y);
}

static int setup(void **state)
{
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 1009) - 500;
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            want[i * SIDE + k] = 2 * x[k * SIDE + i];
    return env_setup(state);
}

static uint64_t spill_size(void)
{
    QnnHtpContext_CustomProperty_t p = { .option = QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE };
    QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p },
                          *list[] = { &property, NULL };
    OK(q.contextGetProperty(env.context, list));
    return p.spillfillBufferSize;
}

static const QnnHtpSystemContext_GraphBlobInfoV1_t *blob_of(const QnnSystemContext_BinaryInfo_t *info)
{
    const QnnHtpSystemContext_GraphBlobInfo_t *b = info->contextBinaryInfoV3.graphs[0].graphInfoV3.graphBlobInfo;
    return &b->contextBinaryGraphBlobInfoV1;
}

/* The size is in the description of the binary, too, and a window that is large enough needs none. */
static void test_size_is_told(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    void *lib = system_open();
    QNN_SYSTEM_INTERFACE_VER_TYPE sys = system_provider(lib)->QNN_SYSTEM_INTERFACE_VER_NAME;
    static const uint32_t sizes[] = { 256 * KIB, 8192 * KIB };
    for (int i = 0; i < 2; i++) {
        QnnSystemContext_Handle_t reader;
        const QnnSystemContext_BinaryInfo_t *info;
        uint64_t size, info_size;
        struct net n = turns(sizes[i]);
        run_and_compare(&n);
        OK(q.contextGetBinary(env.context, bytes, sizeof bytes, &size));
        OK(sys.systemContextCreate(&reader));
        OK(sys.systemContextGetBinaryInfo(reader, bytes, size, &info, &info_size));
        uint64_t told = blob_of(info)->spillFillBufferSize;
        assert_int_equal(told, spill_size());
        if (i == 0)
            assert_in_range(told, sizeof x, 3 * sizeof x); /* one tensor has to wait outside */
        else
            assert_int_equal(told, 0);
        assert_int_equal(blob_of(info)->vtcmSize, i == 0 ? 1 : 8);
        OK(sys.systemContextFree(reader));
        OK(q.contextFree(env.context, NULL));
        OK(q.contextCreate(env.backend, NULL, NULL, &env.context));
    }
    dlclose(lib);
}

static bool all_zero(const uint8_t *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

/* What is spilled is seen in the client's memory; afterwards the graph has memory of its own again. */
static void test_buffer_of_the_client(void **state)
{
    (void)state;
    struct net n = turns(256 * KIB);
    uint64_t size = spill_size();
    int fd = memfd_create("spill", MFD_CLOEXEC);
    assert_true(fd >= 0 && size > 0);
    assert_int_equal(ftruncate(fd, (off_t)(size + PAGE)), 0);
    uint8_t *at = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    QnnMemHtp_Descriptor_t custom = { .type = QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER, .size = size };
    custom.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ fd, PAGE };
    Qnn_MemDescriptor_t d = { .dataType = QNN_DATATYPE_UINT_8, .memType = QNN_MEM_TYPE_CUSTOM, .customInfo = &custom };
    Qnn_MemHandle_t h;
    for (int again = 0; again < 2; again++) {
        memset(at, 0, size + PAGE);
        OK(q.memRegister(env.context, &d, 1, &h));
        run_and_compare(&n);
        assert_true(all_zero(at, PAGE));
        assert_false(all_zero(at + PAGE, size));
        OK(q.memDeRegister(&h, 1));
        memset(at, 0, size + PAGE);
        run_and_compare(&n);
        assert_true(all_zero(at, size + PAGE));
    }
    custom.size = size - 1;
    FAILS_SAYING(QNN_MEM_ERROR_INVALID_ARGUMENT, "spill-fill", q.memRegister(env.context, &d, 1, &h));
    run_and_compare(&n);
    munmap(at, size + PAGE);
    close(fd);
}

/* A graph that comes after the buffer uses it, too; a registered buffer may outlive graphs. */
static void test_buffer_comes_first(void **state)
{
    (void)state;
    int fd = memfd_create("spill", MFD_CLOEXEC);
    uint64_t size = 4 * sizeof x;
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    QnnMemHtp_Descriptor_t custom = { .type = QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER, .size = size };
    custom.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ fd, 0 };
    Qnn_MemDescriptor_t d = { .dataType = QNN_DATATYPE_UINT_8, .memType = QNN_MEM_TYPE_CUSTOM, .customInfo = &custom };
    Qnn_MemHandle_t h;
    OK(q.memRegister(env.context, &d, 1, &h));
    struct net n = turns(256 * KIB);
    run_and_compare(&n);
    assert_false(all_zero(at, size));
    munmap(at, size);
    close(fd); /* the context is freed with the buffer registered */
}

/* TopK has to see the whole axis. */
static void test_operator_without_room(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t a = TENSOR("a", APP_WRITE, FLOAT_32, 1, MANY), v = TENSOR("v", APP_READ, FLOAT_32, 1, 4),
                 i = TENSOR("i", APP_READ, UINT_32, 1, 4);
    graph_of(256 * KIB, "top", &g);
    OK(q.tensorCreateGraphTensor(g, &a));
    OK(q.tensorCreateGraphTensor(g, &v));
    OK(q.tensorCreateGraphTensor(g, &i));
    struct op top = {
        .name = "top", .type = "TopK", .ni = 1, .in = { a }, .no = 2, .out = { v, i }, .np = 1, .p = { param_u32("k", 4) }
    };
    OK(op_add(g, &top));
    FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, "A single op, \"q::TopK\" (Op ID: 0), requires 0x",
                 q.graphFinalize(g, NULL, NULL));
    FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, "bytes of TCM, which is greater than the TCM size of 0x40000!",
                 q.graphFinalize(g, NULL, NULL));
}

static void test_transfers_are_not_for_clients(void **state)
{
    (void)state;
    struct op copy = { .name = "copy",
                       .type = "DramToTcm",
                       .ni = 1,
                       .in = { TENSOR("a", APP_WRITE, FLOAT_32, 4) },
                       .no = 1,
                       .out = { TENSOR("b", APP_READ, FLOAT_32, 4) } };
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "there is no operator \"DramToTcm\"",
                 op_validate(env.backend, &copy));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, env_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_size_is_told),          TEST(test_buffer_of_the_client),          TEST(test_buffer_comes_first),
        TEST(test_operator_without_room), TEST(test_transfers_are_not_for_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
