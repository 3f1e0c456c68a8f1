/* SPDX-License-Identifier: Apache-2.0 */
/* Registered memory: the backend computes in the client's own pages. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api_test.h"

enum { PAGE = 4096, BYTES = AFFINE_N * sizeof(float) };

struct shared {
    int fd;
    float *map; /* the test's own mapping */
};

static struct shared shared_make(void)
{
    struct shared s = { .fd = memfd_create("tensor", MFD_CLOEXEC) };
    assert_true(s.fd >= 0);
    assert_int_equal(ftruncate(s.fd, PAGE), 0);
    s.map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
    assert_ptr_not_equal(s.map, MAP_FAILED);
    return s;
}

static void shared_end(struct shared *s)
{
    munmap(s->map, PAGE);
    close(s->fd);
}

static uint32_t dims[] = { 1, AFFINE_N };

static Qnn_MemDescriptor_t describe(const struct shared *s, Qnn_MemType_t type)
{
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    d.memShape = (Qnn_MemShape_t){ 2, dims, NULL };
    d.dataType = QNN_DATATYPE_FLOAT_32;
    d.memType = type;
    if (type == QNN_MEM_TYPE_ION)
        d.ionInfo.fd = s->fd;
    else
        d.dmaBufInfo = (Qnn_MemDmaBufInfo_t){ s->fd, s->map };
    return d;
}

static Qnn_Tensor_t with_handle(Qnn_Tensor_t t, Qnn_MemHandle_t h)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = h;
    return t;
}

static struct shared a, b;
static struct net net;

static int setup(void **state)
{
    int failed = env_setup(state);
    a = shared_make();
    b = shared_make();
    OK(net_affine(env.context, "net", 2, 1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    return failed;
}

static int teardown(void **state)
{
    int failed = env_teardown(state);
    shared_end(&a);
    shared_end(&b);
    return failed;
}

static void check_run(Qnn_Tensor_t in, Qnn_Tensor_t out, const float *x, const float *y)
{
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(y[i] == x[i] * 2 + 1);
}

/* ---- what works ------------------------------------------------------------------------------------------------------- */

static void test_zero_copy(void **state)
{
    (void)state;
    static const Qnn_MemType_t types[] = { QNN_MEM_TYPE_ION, QNN_MEM_TYPE_DMA_BUF };
    for (unsigned t = 0; t < COUNT(types); t++) {
        Qnn_MemDescriptor_t d[] = { describe(&a, types[t]), describe(&b, types[t]) };
        Qnn_MemHandle_t h[2] = { NULL, NULL };
        OK(q.memRegister(env.context, d, 2, h));
        assert_non_null(h[0]);
        assert_non_null(h[1]);
        assert_ptr_not_equal(h[0], h[1]);
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < AFFINE_N; i++)
                a.map[i] = (float)(i + round * 100);
            memset(b.map, 0, BYTES);
            check_run(with_handle(net.x, h[0]), with_handle(net.y, h[1]), a.map, b.map);
        }
        float x[AFFINE_N] = { 5, 6, 7 }; /* registered and plain memory in one execution */
        check_run(WITH(net.x, x), with_handle(net.y, h[1]), x, b.map);
        OK(q.memDeRegister(h, 2));
        Qnn_Tensor_t in = with_handle(net.x, h[0]), out = with_handle(net.y, h[1]);
        FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    }
}

/* The mapping is the library's own: the client may close its descriptor and forget its mapping. */
static void test_survives_close(void **state)
{
    (void)state;
    Qnn_MemDescriptor_t d = describe(&a, QNN_MEM_TYPE_ION);
    Qnn_MemHandle_t h;
    OK(q.memRegister(env.context, &d, 1, &h));
    int copy = dup(a.fd);
    close(a.fd);
    float y[AFFINE_N];
    for (int i = 0; i < AFFINE_N; i++)
        a.map[i] = (float)-i;
    check_run(with_handle(net.x, h), WITH(net.y, y), a.map, y);
    a.fd = copy;
    OK(q.memDeRegister(&h, 1));
}

/* memHandle NULL at creation: the client says that it will use registered memory. */
static void test_hint_at_creation(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "hinted", NULL, &g));
    Qnn_Tensor_t x = with_handle(TENSOR("hx", APP_WRITE, FLOAT_32, 1, AFFINE_N), NULL),
                 y = with_handle(TENSOR("hy", APP_READ, FLOAT_32, 1, AFFINE_N), NULL);
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    struct op o = { .name = "relu", .type = "Relu", .ni = 1, .in = { x }, .no = 1, .out = { y } };
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    Qnn_MemDescriptor_t d[] = { describe(&a, QNN_MEM_TYPE_ION), describe(&b, QNN_MEM_TYPE_ION) };
    Qnn_MemHandle_t h[2];
    OK(q.memRegister(env.context, d, 2, h));
    a.map[0] = -4, a.map[1] = 4;
    Qnn_Tensor_t in = with_handle(x, h[0]), out = with_handle(y, h[1]);
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    assert_true(b.map[0] == 0 && b.map[1] == 4);
}

/* ---- what is refused -------------------------------------------------------------------------------------------------- */

static void test_all_or_nothing(void **state)
{
    (void)state;
    Qnn_MemDescriptor_t d[] = { describe(&a, QNN_MEM_TYPE_ION), describe(&b, QNN_MEM_TYPE_ION),
                                describe(&b, QNN_MEM_TYPE_ION) };
    d[2].ionInfo.fd = -1;
    Qnn_MemHandle_t h[3] = { &a, &b, &net };
    FAILS(QNN_MEM_ERROR_INVALID_ARGUMENT, q.memRegister(env.context, d, 3, h));
    for (int i = 0; i < 3; i++)
        assert_null(h[i]);
    OK(q.memRegister(env.context, d, 2, h)); /* nothing of the failed call is left registered */
    OK(q.memDeRegister(h, 2));
}

static void test_twice(void **state)
{
    (void)state;
    Qnn_MemDescriptor_t d = describe(&a, QNN_MEM_TYPE_ION);
    Qnn_MemHandle_t h, again;
    OK(q.memRegister(env.context, &d, 1, &h));
    FAILS(QNN_MEM_ERROR_ALREADY_REGISTERED, q.memRegister(env.context, &d, 1, &again));
    Qnn_MemDescriptor_t twins[] = { describe(&b, QNN_MEM_TYPE_ION), describe(&b, QNN_MEM_TYPE_ION) };
    Qnn_MemHandle_t pair[2];
    FAILS(QNN_MEM_ERROR_ALREADY_REGISTERED, q.memRegister(env.context, twins, 2, pair));
    OK(q.memDeRegister(&h, 1));
    OK(q.memRegister(env.context, &d, 1, &h));
    Qnn_MemDescriptor_t copy = d; /* another number for the same memory */
    copy.ionInfo.fd = dup(a.fd);
    FAILS(QNN_MEM_ERROR_ALREADY_REGISTERED, q.memRegister(env.context, &copy, 1, &again));
    close(copy.ionInfo.fd);
    Qnn_ContextHandle_t other; /* another context may have it as well */
    OK(q.contextCreate(env.backend, NULL, NULL, &other));
    OK(q.memRegister(other, &d, 1, &again));
    OK(q.contextFree(other, NULL)); /* ends its registrations */
    FAILS(QNN_MEM_ERROR_INVALID_HANDLE, q.memDeRegister(&again, 1));
    OK(q.memDeRegister(&h, 1));
}

/* The number of a descriptor that was closed may come back for other memory. */
static void test_number_comes_back(void **state)
{
    (void)state;
    Qnn_MemDescriptor_t d = describe(&a, QNN_MEM_TYPE_ION);
    Qnn_MemHandle_t h[2];
    d.ionInfo.fd = dup(a.fd);
    OK(q.memRegister(env.context, &d, 1, &h[0]));
    assert_int_equal(dup2(b.fd, d.ionInfo.fd), d.ionInfo.fd);
    OK(q.memRegister(env.context, &d, 1, &h[1]));
    a.map[0] = 3, b.map[0] = 0;
    check_run(with_handle(net.x, h[0]), with_handle(net.y, h[1]), a.map, b.map);
    OK(q.memDeRegister(h, 2));
    close(d.ionInfo.fd);
}

static unsigned warnings;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)timestamp;
    char text[512];
    vsnprintf(text, sizeof text, fmt, args);
    warnings += level == QNN_LOG_LEVEL_WARN && strstr(text, "net_x") && strstr(text, "registered as");
}

/* Memory that was described as another tensor works, with a warning for each registration. */
static void test_other_shape(void **state)
{
    (void)state;
    static uint32_t flat[] = { AFFINE_N }, turned[] = { AFFINE_N, 1 }, bytes[] = { 1, BYTES }, twice[] = { 2, AFFINE_N / 2 };
    static const struct {
        uint32_t rank;
        uint32_t *dims;
        Qnn_DataType_t type;
        unsigned warns;
    } cases[] = { { 2, dims, QNN_DATATYPE_FLOAT_32, 0 },   { 1, flat, QNN_DATATYPE_FLOAT_32, 1 },
                  { 2, turned, QNN_DATATYPE_FLOAT_32, 1 }, { 2, twice, QNN_DATATYPE_FLOAT_32, 1 },
                  { 2, dims, QNN_DATATYPE_INT_32, 1 },     { 2, bytes, QNN_DATATYPE_UINT_8, 1 } };
    Qnn_LogHandle_t log;
    OK(q.logCreate(listen, QNN_LOG_LEVEL_WARN, &log));
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    struct net own;
    OK(q.backendCreate(log, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &context));
    OK(net_affine(context, "net", 2, 1, &own));
    OK(q.graphFinalize(own.graph, NULL, NULL));

    for (unsigned i = 0; i < COUNT(cases); i++) {
        Qnn_MemDescriptor_t d = describe(&a, QNN_MEM_TYPE_ION);
        d.memShape = (Qnn_MemShape_t){ cases[i].rank, cases[i].dims, NULL };
        d.dataType = cases[i].type;
        Qnn_MemHandle_t h;
        float y[AFFINE_N];
        warnings = 0;
        OK(q.memRegister(context, &d, 1, &h));
        Qnn_Tensor_t in = with_handle(own.x, h), out = WITH(own.y, y);
        for (int round = 0; round < 2; round++)
            OK(q.graphExecute(own.graph, &in, 1, &out, 1, NULL, NULL));
        if (warnings != cases[i].warns)
            fail_msg("case %u: %u warnings", i, warnings);
        assert_true(y[1] == a.map[1] * 2 + 1);
        OK(q.memDeRegister(&h, 1));
    }
    OK(q.contextFree(context, NULL));
    OK(q.backendFree(backend));
    OK(q.logFree(log));
}

/* Compressed and tiled layouts would be read as if they were linear. */
static void test_shape_config(void **state)
{
    (void)state;
    static const char *const refused[] = { SHAPE_CONFIG_DATA_FORMAT_UBWC_NV12, "nonsense" };
    Qnn_MemDescriptor_t d = describe(&a, QNN_MEM_TYPE_ION);
    Qnn_MemHandle_t h;
    for (unsigned i = 0; i < COUNT(refused); i++) {
        d.memShape.shapeConfig = refused[i];
        FAILS_SAYING(QNN_MEM_ERROR_INVALID_SHAPE, refused[i], q.memRegister(env.context, &d, 1, &h));
        assert_null(h);
    }
    d.memShape.shapeConfig = "";
    OK(q.memRegister(env.context, &d, 1, &h));
    OK(q.memDeRegister(&h, 1));
}

static void test_bad_descriptors(void **state)
{
    (void)state;
    Qnn_MemHandle_t h;
    uint32_t zero[] = { 0, 4 }, large[] = { 4096, 4096 };
    struct {
        uint32_t code;
        Qnn_MemDescriptor_t d;
    } bad[10];
    for (unsigned i = 0; i < COUNT(bad); i++)
        bad[i].d = describe(&a, QNN_MEM_TYPE_ION);
    int closed = dup(a.fd);
    close(closed);
    bad[0].code = QNN_MEM_ERROR_INVALID_ARGUMENT, bad[0].d.ionInfo.fd = -1;
    bad[1].code = QNN_MEM_ERROR_MAPPING, bad[1].d.ionInfo.fd = closed;
    bad[2].code = QNN_MEM_ERROR_INVALID_SHAPE, bad[2].d.memShape.dimSize = zero;
    bad[3].code = QNN_MEM_ERROR_INVALID_SHAPE, bad[3].d.memShape.numDim = 0;
    bad[4].code = QNN_MEM_ERROR_INVALID_SHAPE, bad[4].d.memShape.dimSize = NULL;
    bad[5].code = lib_is_htp() ? QNN_MEM_ERROR_INVALID_ARGUMENT : QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE,
    bad[5].d.memType = QNN_MEM_TYPE_CUSTOM;
    bad[5].d.customInfo = NULL;
    bad[6].code = QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, bad[6].d.memType = QNN_MEM_TYPE_UNDEFINED;
    bad[7].code = QNN_MEM_ERROR_MAPPING, bad[7].d.memShape.dimSize = large; /* more than the file has: no SIGBUS later */
    bad[8].code = QNN_MEM_ERROR_INVALID_SHAPE, bad[8].d.memShape.numDim = 9; /* nothing behind the list is read */
    bad[9].code = QNN_MEM_ERROR_INVALID_SHAPE, bad[9].d.memShape.numDim = UINT32_MAX;
    for (unsigned i = 0; i < COUNT(bad); i++) {
        h = &h;
        FAILS(bad[i].code, q.memRegister(env.context, &bad[i].d, 1, &h));
        assert_null(h);
    }
}

static void test_too_small_for_tensor(void **state)
{
    (void)state;
    uint32_t few[] = { 1, BYTES - 1 }; /* one byte less than the tensor has */
    Qnn_MemDescriptor_t d = describe(&a, QNN_MEM_TYPE_ION);
    d.memShape.dimSize = few;
    d.dataType = QNN_DATATYPE_UINT_8;
    Qnn_MemHandle_t h;
    float y[AFFINE_N];
    OK(q.memRegister(env.context, &d, 1, &h));
    Qnn_Tensor_t in = with_handle(net.x, h), out = WITH(net.y, y);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "net_x", q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    OK(q.memDeRegister(&h, 1));
}

static void test_deregister_past_bad_handles(void **state)
{
    (void)state;
    Qnn_MemDescriptor_t d[] = { describe(&a, QNN_MEM_TYPE_ION), describe(&b, QNN_MEM_TYPE_ION) };
    Qnn_MemHandle_t h[2];
    OK(q.memRegister(env.context, d, 2, h));
    Qnn_MemHandle_t mixed[] = { NULL, h[0], (Qnn_MemHandle_t)(uintptr_t)0x77, h[1], h[0] };
    FAILS(QNN_MEM_ERROR_INVALID_HANDLE, q.memDeRegister(mixed, 5));
    OK(q.memRegister(env.context, d, 2, h)); /* so both are really gone */
    FAILS(QNN_MEM_ERROR_INVALID_ARGUMENT, q.memDeRegister(NULL, 1));
    FAILS(QNN_MEM_ERROR_INVALID_ARGUMENT, q.memDeRegister(h, 0));
}

/* A handle of one context is no memory of another. */
static void test_foreign_context(void **state)
{
    (void)state;
    Qnn_ContextHandle_t other;
    Qnn_MemDescriptor_t d = describe(&a, QNN_MEM_TYPE_ION);
    Qnn_MemHandle_t h;
    float y[AFFINE_N];
    OK(q.contextCreate(env.backend, NULL, NULL, &other));
    OK(q.memRegister(other, &d, 1, &h));
    Qnn_Tensor_t in = with_handle(net.x, h), out = WITH(net.y, y);
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_zero_copy),
        CASE(test_survives_close),
        CASE(test_hint_at_creation),
        CASE(test_all_or_nothing),
        CASE(test_twice),
        CASE(test_number_comes_back),
        CASE(test_other_shape),
        CASE(test_shape_config),
        CASE(test_bad_descriptors),
        CASE(test_too_small_for_tensor),
        CASE(test_deregister_past_bad_handles),
        CASE(test_foreign_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
