/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnLpai.so: results are those of libQnnCpu.so, computed in memory that the client brings and nowhere else. */
#include "lpai_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SCRATCH QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM
#define PERSISTENT QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM

static _Alignas(64) uint8_t x[KIT_IN * 2], y[KIT_OUT * 2 + 64];

static Qnn_ErrorHandle_t backend_property(Qnn_BackendHandle_t b, uint32_t option, void *value)
{
    QnnLpaiBackend_CustomProperty_t custom = { option, value };
    QnnBackend_Property_t p = { .option = QNN_BACKEND_PROPERTY_OPTION_CUSTOM, .customProperty = &custom };
    QnnBackend_Property_t *list[] = { &p, NULL };
    return q.backendGetProperty(b, list);
}

static void test_identity(void **state)
{
    (void)state;
    assert_int_equal(provider->backendId, QNN_BACKEND_ID_LPAI);
    assert_string_equal(provider->providerName, QNN_LPAI_INTERFACE_PROVIDER_NAME);
    assert_int_equal(provider->apiVersion.backendApiVersion.major, QNN_LPAI_API_VERSION_MAJOR);
    assert_true(provider->apiVersion.backendApiVersion.minor >= 34); /* LiteRT 2.3 wants it */
    assert_int_equal(q.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_DESERIALIZED_GRAPH),
                     QNN_PROPERTY_SUPPORTED);
    Qnn_DeviceHandle_t device;
    assert_int_equal(CODE(q.deviceCreate(NULL, NULL, &device)), QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE);
    Qnn_BackendHandle_t b;
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &b));
    QnnLpaiBackend_BufferAlignmentReq_t a = QNN_LPAI_BACKEND_ALIGNMENT_REQ_INIT;
    OK(backend_property(b, QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ, &a));
    assert_in_range(a.startAddrAlignment, 1, 256);
    assert_int_equal(a.startAddrAlignment & (a.startAddrAlignment - 1), 0);
    assert_in_range(a.sizeAlignment, 1, 256);
    uint32_t need = 7, cores = 0;
    OK(backend_property(b, QNN_LPAI_BACKEND_GET_PROP_REQUIRE_PERSISTENT_BINARY, &need));
    assert_int_equal(need, 0);
    OK(backend_property(b, QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_NUM, &cores));
    assert_in_range(cores, 1, 32);
    QnnLpaiBackend_eNPUCoreInfo_t info = { .coreIndex = cores - 1 };
    OK(backend_property(b, QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_INFO, &info));
    assert_int_equal(info.version, QNN_LPAI_BACKEND_HW_VERSION_DEFAULT);
    assert_true(info.macCnt > 0);
    info.coreIndex = cores;
    FAILS_SAYING(QNN_BACKEND_ERROR_INVALID_ARGUMENT, "core",
                 backend_property(b, QNN_LPAI_BACKEND_GET_PROP_ENPU_CORE_INFO, &info));
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, backend_property(b, 12345, &info));
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, backend_property(b, QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ, NULL));
    OK(q.backendFree(b));
}

/* Every byte around the pools is out of bounds; the pools are exactly as large as asked for. */
static void run_guarded(int bits, bool high)
{
    uint8_t want[KIT_OUT * 2];
    struct kit_binary b = kit_binary(bits, 0);
    struct kit_loaded l;
    kit_load(&b, bits, &l);
    assert_true(l.scratch > 0 && l.scratch % 64 == 0);
    assert_int_equal(l.persistent, 0); /* nothing in this network has a state */
    struct guarded s = guarded_new(l.scratch, high), in = guarded_new((l.net.x_bytes + 63) / 64 * 64, high),
                   out = guarded_new((l.net.y_bytes + 63) / 64 * 64, high);
    OK(kit_pool(l.net.graph, SCRATCH, s.data, l.scratch));
    OK(kit_pool(l.net.graph, PERSISTENT, NULL, 0));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    for (uint32_t seed = 1; seed < 20; seed++) {
        kit_expected(bits, seed, want);
        kit_fill(in.data, l.net.x_bytes, seed);
        memset(out.data, 0xEE, l.net.y_bytes);
        OK(kit_run(&l.net, in.data, out.data));
        assert_memory_equal(out.data, want, l.net.y_bytes);
    }
    kit_unload(&l);
    guarded_free(&s);
    guarded_free(&in);
    guarded_free(&out);
    free(b.data);
}

static void test_guard_pages(void **state)
{
    (void)state;
    run_guarded(8, true);
    run_guarded(8, false);
    run_guarded(16, true);
    run_guarded(16, false);
}

/* The same with writable neighbours: they keep their bytes. */
static void test_poisoned_neighbours(void **state)
{
    (void)state;
    enum { AROUND = 4096 };
    uint8_t want[KIT_OUT * 2];
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l;
    kit_load(&b, 8, &l);
    uint8_t *all = aligned_alloc(64, l.scratch + 2 * AROUND);
    assert_non_null(all);
    memset(all, 0x5C, l.scratch + 2 * AROUND);
    OK(kit_pool(l.net.graph, SCRATCH, all + AROUND, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    kit_expected(8, 3, want);
    kit_fill(x, l.net.x_bytes, 3);
    memset(y, 0x5C, sizeof y);
    OK(kit_run(&l.net, x, y));
    assert_memory_equal(y, want, l.net.y_bytes);
    for (uint32_t i = 0; i < AROUND; i++)
        assert_true(all[i] == 0x5C && all[AROUND + l.scratch + i] == 0x5C);
    for (size_t i = l.net.y_bytes; i < sizeof y; i++)
        assert_int_equal(y[i], 0x5C);
    kit_unload(&l);
    free(all);
    free(b.data);
}

static void test_scratch_swapped(void **state)
{
    (void)state;
    uint8_t want[KIT_OUT * 2];
    struct kit_binary b = kit_binary(16, 0);
    struct kit_loaded l;
    kit_load(&b, 16, &l);
    struct guarded s = guarded_new(l.scratch, true);
    OK(kit_pool(l.net.graph, SCRATCH, s.data, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    for (uint32_t seed = 0; seed < 10; seed++) {
        struct guarded other = guarded_new(l.scratch + 64 * seed, seed & 1);
        OK(kit_pool(l.net.graph, SCRATCH, other.data, l.scratch + 64 * seed));
        guarded_free(&s); /* the old one may go at once */
        s = other;
        kit_expected(16, seed, want);
        kit_fill(x, l.net.x_bytes, seed);
        OK(kit_run(&l.net, x, y));
        assert_memory_equal(y, want, l.net.y_bytes);
    }
    kit_unload(&l);
    guarded_free(&s);
    free(b.data);
}

/* A graph that is compiled here gets its pools after the first finalize and is finalized again. */
static void test_compiled_here(void **state)
{
    (void)state;
    uint8_t want[KIT_OUT * 2];
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t c;
    struct kit_net n;
    uint32_t size;
    QnnLpaiGraph_CustomConfigPrepare_t prepare = { 1, (char *)"core0" };
    QnnLpaiGraph_CustomConfig_t custom = { QNN_LPAI_GRAPH_SET_CFG_PREPARE, &prepare };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &config, NULL };
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(kit_build(c, "net", 8, list, &n));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, "compiled",
                 kit_property(n.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, &size));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, "size is not known", kit_pool(n.graph, SCRATCH, x, 64));
    FAILS(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, kit_run(&n, x, y));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, "finalize again", kit_run(&n, x, y));
    size = kit_size(n.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    struct guarded s = guarded_new(size, true);
    OK(kit_pool(n.graph, SCRATCH, s.data, size));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    FAILS(QNN_GRAPH_ERROR_GRAPH_FINALIZED, q.graphFinalize(n.graph, NULL, NULL));
    kit_expected(8, 9, want);
    kit_fill(x, n.x_bytes, 9);
    OK(kit_run(&n, x, y));
    assert_memory_equal(y, want, n.y_bytes);
    struct kit_binary b = kit_save(c); /* the memory given here is no part of it */
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(backend));
    free(b.data);
    guarded_free(&s);
}

/* By default inputs and outputs have room in scratch, found by name; the client may also mix both ways. */
static void test_io_in_scratch(void **state)
{
    (void)state;
    uint8_t want[KIT_OUT * 2];
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l;
    kit_load(&b, 8, &l);
    struct guarded s = guarded_new(l.scratch, true);
    OpenQnnLpaiGraph_IoRoom_t in = { "net_x", 0, 0 }, out = { "net_y", 0, 0 }, none = { "net_a", 0, 0 };
    OK(kit_property(l.net.graph, OPENQNN_LPAI_GRAPH_GET_PROP_IO_ROOM, &in));
    OK(kit_property(l.net.graph, OPENQNN_LPAI_GRAPH_GET_PROP_IO_ROOM, &out));
    FAILS(QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST, kit_property(l.net.graph, OPENQNN_LPAI_GRAPH_GET_PROP_IO_ROOM, &none));
    assert_int_equal(in.size, l.net.x_bytes);
    assert_true(in.offset % 64 == 0 && in.offset + in.size <= l.scratch && out.offset % 64 == 0 &&
                out.offset + out.size <= l.scratch);
    OK(kit_pool(l.net.graph, SCRATCH, s.data, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    for (uint32_t seed = 30; seed < 40; seed++) {
        bool own_x = seed & 1, own_y = seed & 2, listed = seed & 4;
        uint8_t *at = own_x ? x : s.data + in.offset, *result = own_y ? y : s.data + out.offset;
        kit_expected(8, seed, want);
        kit_fill(at, l.net.x_bytes, seed);
        if (listed || own_x || own_y)
            OK(kit_run(&l.net, own_x ? x : NULL, own_y ? y : NULL));
        else
            OK(q.graphExecute(l.net.graph, NULL, 0, NULL, 0, NULL, NULL));
        assert_memory_equal(result, want, l.net.y_bytes);
    }
    /* Naming the room as the buffer is the same. */
    kit_fill(s.data + in.offset, l.net.x_bytes, 50);
    kit_expected(8, 50, want);
    OK(kit_run(&l.net, s.data + in.offset, s.data + out.offset));
    assert_memory_equal(s.data + out.offset, want, l.net.y_bytes);
    kit_unload(&l);
    guarded_free(&s);
    free(b.data);
}

static void test_exclude_io(void **state)
{
    (void)state;
    uint8_t want[KIT_OUT * 2];
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t c;
    struct kit_net with, without;
    uint32_t yes = 1;
    QnnLpaiGraph_CustomConfig_t custom = { OPENQNN_LPAI_GRAPH_SET_CFG_EXCLUDE_IO, &yes };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &config, NULL };
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(kit_build(c, "with", 8, NULL, &with));
    OK(kit_build(c, "without", 8, list, &without));
    OK(q.graphFinalize(with.graph, NULL, NULL));
    OK(q.graphFinalize(without.graph, NULL, NULL));
    uint32_t a = kit_size(with.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE),
             e = kit_size(without.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    assert_true(e < a);
    assert_true(a <= e + KIT_IN + 64); /* 256 bytes of input and 10 of output, rounded, at most */
    struct guarded s = guarded_new(e, true);
    OK(kit_pool(without.graph, SCRATCH, s.data, e));
    OK(q.graphFinalize(without.graph, NULL, NULL));
    kit_expected(8, 5, want);
    kit_fill(x, without.x_bytes, 5);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "no buffer", kit_run(&without, NULL, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "no buffer", kit_run(&without, x, NULL));
    OK(kit_run(&without, x, y));
    assert_memory_equal(y, want, without.y_bytes);
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(backend));
    guarded_free(&s);
}

/* Two graphs of one context take turns in one scratch; one result does not disturb the other. */
static void test_shared_scratch(void **state)
{
    (void)state;
    uint8_t want8[KIT_OUT], want16[KIT_OUT * 2];
    struct kit_binary b8 = kit_binary(8, 0), b16 = kit_binary(16, 0);
    struct kit_loaded a, b;
    kit_load(&b8, 8, &a);
    kit_load(&b16, 16, &b);
    uint32_t size = a.scratch > b.scratch ? a.scratch : b.scratch;
    struct guarded s = guarded_new(size, true);
    OK(kit_pool(a.net.graph, SCRATCH, s.data, size));
    OK(kit_pool(b.net.graph, SCRATCH, s.data, size));
    OK(q.graphFinalize(a.net.graph, NULL, NULL));
    OK(q.graphFinalize(b.net.graph, NULL, NULL));
    kit_expected(8, 1, want8);
    kit_expected(16, 2, want16);
    for (int i = 0; i < 5; i++) {
        kit_fill(x, a.net.x_bytes, 1);
        OK(kit_run(&a.net, x, y));
        assert_memory_equal(y, want8, a.net.y_bytes);
        kit_fill(x, b.net.x_bytes, 2);
        OK(kit_run(&b.net, x, y));
        assert_memory_equal(y, want16, b.net.y_bytes);
    }
    kit_unload(&a);
    kit_unload(&b);
    guarded_free(&s);
    free(b8.data);
    free(b16.data);
}

/* The binary in the client's own buffer, with every hardware version; a version that was asked for is insisted on. */
static void test_hardware_versions(void **state)
{
    (void)state;
    static const uint32_t versions[] = { QNN_LPAI_BACKEND_HW_VERSION_V4, QNN_LPAI_BACKEND_HW_VERSION_V5,
                                         QNN_LPAI_BACKEND_HW_VERSION_V5_1, QNN_LPAI_BACKEND_HW_VERSION_V6,
                                         QNN_LPAI_BACKEND_HW_VERSION_V7 };
    static const char *const names[] = { "v4", "v5", "v5.1", "v6", "v7" };
    for (unsigned i = 0; i < COUNT(versions); i++) {
        struct kit_binary b = kit_binary(8, versions[i]);
        for (unsigned k = 0; k < COUNT(versions); k++) {
            Qnn_BackendHandle_t backend;
            Qnn_ContextHandle_t c = NULL;
            OK(kit_backend(versions[k], (QnnLpaiBackend_Target_t)(k % 2), &backend));
            if (i == k) {
                OK(q.contextValidateBinary(backend, NULL, NULL, b.data, b.size));
                OK(q.contextCreateFromBinary(backend, NULL, NULL, b.data, b.size, &c, NULL));
                OK(q.contextFree(c, NULL));
            } else {
                FAILS_SAYING(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, names[i],
                             q.contextCreateFromBinary(backend, NULL, NULL, b.data, b.size, &c, NULL));
                explanation_has(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, names[k], __FILE__, __LINE__);
                FAILS(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, q.contextValidateBinary(backend, NULL, NULL, b.data, b.size));
            }
            OK(q.backendFree(backend));
        }
        free(b.data);
    }
}

static void test_persistent_binary(void **state)
{
    (void)state;
    struct kit_binary b = kit_binary(8, QNN_LPAI_BACKEND_HW_VERSION_V6);
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    uint32_t required = 0;
    OK(kit_backend(QNN_LPAI_BACKEND_HW_VERSION_V6, QNN_LPAI_BACKEND_TARGET_ADSP, &backend));
    OK(backend_property(backend, QNN_LPAI_BACKEND_GET_PROP_REQUIRE_PERSISTENT_BINARY, &required));
    assert_int_equal(required, 1);
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "PERSISTENT_BINARY",
                 q.contextCreateFromBinary(backend, NULL, NULL, b.data, b.size, &c, NULL));
    QnnContext_Config_t keep = { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 };
    const QnnContext_Config_t *list[] = { &keep, NULL };
    OK(q.contextCreateFromBinary(backend, NULL, list, b.data, b.size, &c, NULL));
    OK(q.graphRetrieve(c, "net", &g));
    uint32_t size = kit_size(g, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    if (size <= b.size) /* the model is used in place, so scratch must not be inside it */
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "context binary", kit_pool(g, SCRATCH, b.data, size));
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(backend));
    free(b.data);
}

/* A batch multiple, when it was asked for. */
static void test_batch_multiple(void **state)
{
    (void)state;
    enum { BATCH = 3 };
    static _Alignas(64) uint8_t xs[BATCH * KIT_IN], ys[BATCH * KIT_OUT];
    uint8_t want[KIT_OUT];
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l;
    kit_load(&b, 8, &l);
    struct guarded s = guarded_new(l.scratch, true);
    OK(kit_pool(l.net.graph, SCRATCH, s.data, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    for (uint32_t k = 0; k < BATCH; k++)
        kit_fill(xs + k * KIT_IN, KIT_IN, 60 + k);
    Qnn_Tensor_t in = tensor_data(tensor_shaped(l.net.x, 4, (uint32_t[]){ BATCH, 8, 8, 4 }), xs, sizeof xs),
                 out = tensor_data(tensor_shaped(l.net.y, 2, (uint32_t[]){ BATCH, KIT_OUT }), ys, sizeof ys);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "BATCH_MULTIPLE", q.graphExecute(l.net.graph, &in, 1, &out, 1, NULL, NULL));
    OK(kit_config(l.net.graph, QNN_LPAI_GRAPH_SET_CFG_BATCH_MULTIPLE_SUPPORT, NULL));
    OK(q.graphExecute(l.net.graph, &in, 1, &out, 1, NULL, NULL));
    for (uint32_t k = 0; k < BATCH; k++) {
        kit_expected(8, 60 + k, want);
        assert_memory_equal(ys + k * KIT_OUT, want, KIT_OUT);
    }
    kit_unload(&l);
    guarded_free(&s);
    free(b.data);
}

static Qnn_ErrorHandle_t register_part(Qnn_ContextHandle_t c, int fd, uint32_t offset, Qnn_Tensor_t *t)
{
    QnnLpaiMem_MemInfoCustom_t part = { fd, offset };
    Qnn_MemDescriptor_t d = { .memShape = { TV(*t).rank, TV(*t).dimensions, NULL },
                              .dataType = TV(*t).dataType,
                              .memType = QNN_MEM_TYPE_CUSTOM };
    d.customInfo = &part;
    TV(*t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    return q.memRegister(c, &d, 1, &TV(*t).memHandle);
}

/* Input and output are two parts of one shared buffer, used where they are. */
static void test_shared_buffer(void **state)
{
    (void)state;
    enum { BYTES = 8192, X_AT = 64, Y_AT = 4096 + 128 };
    uint8_t want[KIT_OUT];
    struct kit_binary b = kit_binary(8, 0);
    struct kit_loaded l;
    kit_load(&b, 8, &l);
    struct guarded s = guarded_new(l.scratch, true);
    OK(kit_pool(l.net.graph, SCRATCH, s.data, l.scratch));
    OK(q.graphFinalize(l.net.graph, NULL, NULL));
    int fd = memfd_create("shared", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, BYTES), 0);
    uint8_t *mine = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    Qnn_Tensor_t in = l.net.x, out = l.net.y, wrong = l.net.x;
    OK(register_part(l.context, fd, X_AT, &in));
    OK(register_part(l.context, fd, Y_AT, &out));
    FAILS(QNN_MEM_ERROR_ALREADY_REGISTERED, register_part(l.context, fd, X_AT, &wrong));
    FAILS_SAYING(QNN_MEM_ERROR_INVALID_ARGUMENT, "multiple of 64", register_part(l.context, fd, 8, &wrong));
    FAILS(QNN_MEM_ERROR_MAPPING, register_part(l.context, fd, BYTES - 64, &wrong));
    FAILS(QNN_MEM_ERROR_INVALID_ARGUMENT, register_part(l.context, -1, 0, &wrong));
    for (uint32_t seed = 80; seed < 85; seed++) {
        kit_expected(8, seed, want);
        kit_fill(mine + X_AT, KIT_IN, seed);
        OK(q.graphExecute(l.net.graph, &in, 1, &out, 1, NULL, NULL));
        assert_memory_equal(mine + Y_AT, want, KIT_OUT);
    }
    OK(q.memDeRegister(&TV(in).memHandle, 1));
    OK(q.memDeRegister(&TV(out).memHandle, 1));
    munmap(mine, BYTES);
    close(fd);
    kit_unload(&l);
    guarded_free(&s);
    free(b.data);
}

static int setup(void **state)
{
    (void)state;
    kit_use(KIT_LPAI);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_guard_pages),
        cmocka_unit_test(test_poisoned_neighbours),
        cmocka_unit_test(test_scratch_swapped),
        cmocka_unit_test(test_compiled_here),
        cmocka_unit_test(test_io_in_scratch),
        cmocka_unit_test(test_exclude_io),
        cmocka_unit_test(test_shared_scratch),
        cmocka_unit_test(test_hardware_versions),
        cmocka_unit_test(test_persistent_binary),
        cmocka_unit_test(test_batch_multiple),
        cmocka_unit_test(test_shared_buffer),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
