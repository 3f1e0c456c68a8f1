/* SPDX-License-Identifier: Apache-2.0 */
/* Shared buffers of libQnnHtp.so: every kind, many tensors in one buffer, one buffer in several contexts, and what is
 * refused; after every refusal the session still computes. */
#include "api_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpMem.h>

enum { PAGE = 4096, BYTES = AFFINE_N * sizeof(float) };

static struct net net;
static int fd;
static uint8_t *memory;
static uint32_t dims[1] = { AFFINE_N };

static int new_fd(size_t size)
{
    int f = memfd_create("buffer", MFD_CLOEXEC);
    assert_true(f >= 0);
    assert_int_equal(ftruncate(f, (off_t)size), 0);
    return f;
}

static int setup(void **state)
{
    if (env_setup(state))
        return 1;
    OK(net_affine(env.context, "net", 2, 1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    fd = new_fd(PAGE);
    memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED;
}

static int teardown(void **state)
{
    munmap(memory, PAGE);
    close(fd);
    return env_teardown(state);
}

static QnnMemHtp_Descriptor_t custom(QnnHtpMem_Type_t type, int f, uint64_t offset, uint64_t size)
{
    QnnMemHtp_Descriptor_t d = { .type = type, .size = size };
    d.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ f, offset };
    return d;
}

static Qnn_MemDescriptor_t of_custom(QnnMemHtp_Descriptor_t *d)
{
    return (Qnn_MemDescriptor_t){ .memShape = { TV(net.x).rank, TV(net.x).dimensions, NULL },
                                  .dataType = QNN_DATATYPE_FLOAT_32,
                                  .memType = QNN_MEM_TYPE_CUSTOM,
                                  .customInfo = d };
}

static Qnn_MemDescriptor_t of_fd(Qnn_MemType_t type, int f)
{
    Qnn_MemDescriptor_t d = { .memShape = { 1, dims, NULL }, .dataType = QNN_DATATYPE_FLOAT_32, .memType = type };
    if (type == QNN_MEM_TYPE_ION)
        d.ionInfo.fd = f;
    else
        d.dmaBufInfo.fd = f;
    return d;
}

static Qnn_Tensor_t in_mem(Qnn_Tensor_t t, Qnn_MemHandle_t h)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = h;
    return t;
}

static void fill(float *x)
{
    for (int i = 0; i < AFFINE_N; i++)
        x[i] = (float)i - 3;
}

static void check(const float *y)
{
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(y[i] == 2 * ((float)i - 3) + 1);
}

static void still_works(void)
{
    float x[AFFINE_N], y[AFFINE_N] = { 0 };
    fill(x);
    OK(net_run(&net, x, y, AFFINE_N, AFFINE_N));
    check(y);
}

static void run_in(Qnn_GraphHandle_t g, Qnn_MemHandle_t x, Qnn_MemHandle_t y)
{
    Qnn_Tensor_t in = in_mem(net.x, x), out = in_mem(net.y, y);
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
}

/* ---- kinds ------------------------------------------------------------------------------------------------------------ */

static void test_many_tensors_in_one_buffer(void **state)
{
    (void)state;
    QnnMemHtp_Descriptor_t a = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 64, PAGE),
                           b = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 1024, PAGE);
    Qnn_MemDescriptor_t d[2] = { of_custom(&a), of_custom(&b) };
    Qnn_MemHandle_t h[2];
    OK(q.memRegister(env.context, d, 2, h));
    for (int round = 0; round < 3; round++) {
        fill((float *)(memory + 64));
        memset(memory + 1024, 0xEE, BYTES);
        run_in(net.graph, h[0], h[1]);
        check((float *)(memory + 1024));
    }
    FAILS(QNN_MEM_ERROR_ALREADY_REGISTERED, q.memRegister(env.context, d, 1, (Qnn_MemHandle_t[1]){ 0 }));
    OK(q.memDeRegister(h, 2));
    OK(q.memRegister(env.context, d, 2, h)); /* again */
    run_in(net.graph, h[0], h[1]);
    OK(q.memDeRegister(h, 2));
}

static void test_one_buffer_per_tensor(void **state)
{
    (void)state;
    static const Qnn_MemType_t types[] = { QNN_MEM_TYPE_ION, QNN_MEM_TYPE_DMA_BUF };
    for (unsigned i = 0; i < COUNT(types); i++) {
        int out = new_fd(PAGE);
        float *y = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
        Qnn_MemDescriptor_t d[2] = { of_fd(types[i], fd), of_fd(types[i], out) };
        Qnn_MemHandle_t h[2];
        d[0].memShape = d[1].memShape = (Qnn_MemShape_t){ TV(net.x).rank, TV(net.x).dimensions, NULL };
        OK(q.memRegister(env.context, d, 2, h));
        close(out); /* the registration has its own */
        fill((float *)memory);
        run_in(net.graph, h[0], h[1]);
        check(y);
        OK(q.memDeRegister(h, 2));
        munmap(y, PAGE);
    }
}

/* A tensor in shared memory beside one that is not. */
static void test_mixed(void **state)
{
    (void)state;
    Qnn_MemDescriptor_t d = of_fd(QNN_MEM_TYPE_ION, fd);
    Qnn_MemHandle_t h;
    float y[AFFINE_N] = { 0 };
    OK(q.memRegister(env.context, &d, 1, &h));
    fill((float *)memory);
    Qnn_Tensor_t in = in_mem(net.x, h), out = WITH(net.y, y);
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    check(y);
    OK(q.memDeRegister(&h, 1));
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    still_works();
}

static void test_several_contexts(void **state)
{
    (void)state;
    enum { CONTEXTS = 4 };
    Qnn_ContextHandle_t c[CONTEXTS];
    Qnn_MemHandle_t h[CONTEXTS][2];
    struct net n[CONTEXTS];
    QnnMemHtp_Descriptor_t a = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 0, PAGE),
                           b = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 512, PAGE);
    Qnn_MemDescriptor_t d[2] = { of_custom(&a), of_custom(&b) };
    for (int i = 0; i < CONTEXTS; i++) {
        OK(q.contextCreate(env.backend, NULL, NULL, &c[i]));
        OK(net_affine(c[i], "net", 2, 1, &n[i]));
        OK(q.graphFinalize(n[i].graph, NULL, NULL));
        OK(q.memRegister(c[i], d, 2, h[i]));
    }
    for (int i = 0; i < CONTEXTS; i++) {
        fill((float *)memory);
        memset(memory + 512, 0, BYTES);
        Qnn_Tensor_t in = in_mem(n[i].x, h[i][0]), out = in_mem(n[i].y, h[i][1]);
        OK(q.graphExecute(n[i].graph, &in, 1, &out, 1, NULL, NULL));
        check((float *)(memory + 512));
        if (i)
            OK(q.contextFree(c[i - 1], NULL)); /* others go on with the buffer */
    }
    Qnn_Tensor_t in = in_mem(net.x, h[CONTEXTS - 1][0]), out = in_mem(net.y, h[CONTEXTS - 1][1]);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "another context", q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
}

/* Weights, spill-fill and VTCM backup: for the context as a whole. */
static void test_context_buffers(void **state)
{
    (void)state;
    static const QnnHtpMem_Type_t types[] = { QNN_HTP_MEM_WEIGHTS_BUFFER, QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER,
                                              QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER };
    static const QnnHtpContext_GetPropertyOption_t sizes[] = { QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE,
                                                               QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE,
                                                               QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE };
    for (unsigned i = 0; i < COUNT(types); i++) {
        QnnHtpContext_CustomProperty_t p = { .option = sizes[i] };
        QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p },
                              *list[] = { &property, NULL };
        OK(q.contextGetProperty(env.context, list));
        uint64_t size = p.weightsBufferSize + PAGE;
        int f = new_fd(size + PAGE);
        QnnMemHtp_Descriptor_t c = custom(types[i], f, PAGE, size);
        Qnn_MemDescriptor_t d = of_custom(&c);
        Qnn_MemHandle_t h;
        d.memShape = (Qnn_MemShape_t){ 0, NULL, NULL };
        OK(q.memRegister(env.context, &d, 1, &h));
        Qnn_Tensor_t in = in_mem(net.x, h), out = WITH(net.y, (float[AFFINE_N]){ 0 });
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "whole context",
                     q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
        still_works();
        OK(q.memDeRegister(&h, 1));
        close(f);
    }
}

/* Tensors declared with a memory handle: no staging is reserved; pointers still work, and copies are counted. */
static void test_qmem_graph(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t x = TENSOR("qx", APP_WRITE, FLOAT_32, AFFINE_N), y = TENSOR("qy", APP_READ, FLOAT_32, AFFINE_N);
    TV(x).memType = TV(y).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(x).memHandle = TV(y).memHandle = NULL;
    OK(q.graphCreate(env.context, "qmem", NULL, &g));
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    struct op relu = { "relu", "Relu", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { x }, { y } };
    OK(op_add(g, &relu));
    OK(q.graphFinalize(g, NULL, NULL));
    QnnMemHtp_Descriptor_t a = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 0, PAGE),
                           b = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 256, PAGE);
    Qnn_MemDescriptor_t d[2] = { of_custom(&a), of_custom(&b) };
    Qnn_MemHandle_t h[2];
    OK(q.memRegister(env.context, d, 2, h));
    fill((float *)memory);
    Qnn_Tensor_t in = in_mem(x, h[0]), out = in_mem(y, h[1]);
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    float plain_x[AFFINE_N], plain_y[AFFINE_N] = { 0 };
    fill(plain_x);
    TV(x).memType = TV(y).memType = QNN_TENSORMEMTYPE_RAW;
    in = WITH(x, plain_x), out = WITH(y, plain_y);
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    assert_memory_equal(plain_y, memory + 256, sizeof plain_y);
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(plain_y[i] == (plain_x[i] > 0 ? plain_x[i] : 0));
}

/* Bytes that were copied, from a detailed profile. */
static uint64_t copied(const Qnn_Tensor_t *in, Qnn_Tensor_t *out)
{
    Qnn_ProfileHandle_t p;
    uint32_t n;
    uint64_t bytes = UINT64_MAX;
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    OK(q.graphExecute(net.graph, in, 1, out, 1, p, NULL));
    const struct event *e = profile_events(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (strstr(e[i].data.identifier, "Bytes copied"))
            bytes = e[i].data.value;
    OK(q.profileFree(p));
    return bytes;
}

static void test_nothing_is_copied(void **state)
{
    (void)state;
    QnnMemHtp_Descriptor_t a = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 0, PAGE),
                           b = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 256, PAGE);
    Qnn_MemDescriptor_t d[2] = { of_custom(&a), of_custom(&b) };
    Qnn_MemHandle_t h[2];
    float x[AFFINE_N] = { 0 }, y[AFFINE_N];
    OK(q.memRegister(env.context, d, 2, h));
    Qnn_Tensor_t in = in_mem(net.x, h[0]), out = in_mem(net.y, h[1]), raw_in = WITH(net.x, x), raw_out = WITH(net.y, y);
    assert_int_equal(copied(&in, &out), 0);
    assert_int_equal(copied(&raw_in, &raw_out), 2 * BYTES);
    assert_int_equal(copied(&in, &raw_out), BYTES);
}

/* ---- refused ---------------------------------------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    (void)state;
    int pipes[2], dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                  read_only = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), closed = dup(fd);
    assert_int_equal(pipe(pipes), 0);
    close(closed);
    const struct {
        QnnMemHtp_Descriptor_t d;
        uint32_t code;
        const char *says;
    } cases[] = {
        { custom(QNN_HTP_MEM_QURT, fd, 0, PAGE), QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, "QURT" },
        { custom((QnnHtpMem_Type_t)9, fd, 0, PAGE), QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, "type 9" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, -1, 0, PAGE), QNN_MEM_ERROR_INVALID_ARGUMENT, "-1" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 0, 0), QNN_MEM_ERROR_INVALID_ARGUMENT, "size is 0" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, fd, PAGE - 4, PAGE), QNN_MEM_ERROR_INVALID_ARGUMENT, "offset" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, fd, UINT64_MAX - 8, PAGE), QNN_MEM_ERROR_INVALID_ARGUMENT, "offset" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 0, 100 * PAGE), QNN_MEM_ERROR_MAPPING, "4096 bytes" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, closed, 0, PAGE), QNN_MEM_ERROR_MAPPING, "cannot be mapped" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, pipes[0], 0, PAGE), QNN_MEM_ERROR_MAPPING, "cannot be mapped" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, dir, 0, PAGE), QNN_MEM_ERROR_MAPPING, "" },
        { custom(QNN_HTP_MEM_SHARED_BUFFER, read_only, 0, PAGE), QNN_MEM_ERROR_MAPPING, "" },
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        QnnMemHtp_Descriptor_t c = cases[i].d, good = custom(QNN_HTP_MEM_SHARED_BUFFER, fd, 2048, PAGE);
        Qnn_MemDescriptor_t d[2] = { of_custom(&good), of_custom(&c) };
        Qnn_MemHandle_t h[2] = { &h, &h };
        FAILS_SAYING(cases[i].code, cases[i].says, q.memRegister(env.context, d, 2, h));
        assert_null(h[0]); /* all or nothing */
        assert_null(h[1]);
        still_works();
        OK(q.memRegister(env.context, d, 1, h));
        OK(q.memDeRegister(h, 1));
    }
    close(pipes[0]), close(pipes[1]), close(dir), close(read_only);
}

static void test_too_small(void **state)
{
    (void)state;
    uint32_t few[1] = { AFFINE_N - 1 };
    Qnn_MemDescriptor_t d = of_fd(QNN_MEM_TYPE_ION, fd);
    Qnn_MemHandle_t h;
    float y[AFFINE_N];
    d.memShape.dimSize = few;
    OK(q.memRegister(env.context, &d, 1, &h));
    Qnn_Tensor_t in = in_mem(net.x, h), out = WITH(net.y, y);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "32 bytes", q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    still_works();
}

/* The client takes the file's pages away under a registration. */
static void test_shrunk_buffer(void **state)
{
    (void)state;
    Qnn_MemDescriptor_t d = of_fd(QNN_MEM_TYPE_ION, new_fd(PAGE));
    Qnn_MemHandle_t h;
    float y[AFFINE_N];
    OK(q.memRegister(env.context, &d, 1, &h));
    assert_int_equal(ftruncate(d.ionInfo.fd, 0), 0);
    close(d.ionInfo.fd);
    Qnn_Tensor_t in = in_mem(net.x, h), out = WITH(net.y, y);
    assert_int_not_equal(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL), QNN_SUCCESS);
    OK(q.memDeRegister(&h, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_many_tensors_in_one_buffer),
        TEST(test_one_buffer_per_tensor),
        TEST(test_mixed),
        TEST(test_several_contexts),
        TEST(test_context_buffers),
        TEST(test_qmem_graph),
        TEST(test_nothing_is_copied),
        TEST(test_refused),
        TEST(test_too_small),
        TEST(test_shrunk_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
