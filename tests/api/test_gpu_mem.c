/* SPDX-License-Identifier: Apache-2.0 */
/* The client's OpenCL buffers in libQnnGpu.so, in detail: which are refused and why, and that none of them is copied or left
 * behind. */
#include <QNN/GPU/QnnGpuMem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_cl.h"
#include "gpu_shim_kit.h"

static struct client_cl cl;

static int setup(void **state)
{
    (void)state;
    shim->reset();
    return client_cl_open(&cl) || q.backendCreate(NULL, NULL, &env.backend) != QNN_SUCCESS ||
           q.contextCreate(env.backend, NULL, NULL, &env.context) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    int failed = q.backendFree(env.backend) != QNN_SUCCESS;
    client_cl_close(&cl);
    return failed;
}

static Qnn_MemDescriptor_t descriptor(QnnGpu_MemInfoCustom_t *info, cl_mem buffer, uint32_t *n)
{
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    info->memType = QNN_GPU_MEM_OPENCL;
    info->buffer = buffer;
    d.memShape = (Qnn_MemShape_t){ 1, n, NULL };
    d.dataType = QNN_DATATYPE_FLOAT_32;
    d.memType = QNN_MEM_TYPE_CUSTOM;
    d.customInfo = info;
    return d;
}

static Qnn_MemHandle_t take(Qnn_ContextHandle_t c, cl_mem buffer, uint32_t n)
{
    QnnGpu_MemInfoCustom_t info = QNN_GPU_MEMINFO_CUSTOM_INIT;
    Qnn_MemDescriptor_t d = descriptor(&info, buffer, &n);
    Qnn_MemHandle_t h = NULL;
    OK(q.memRegister(c, &d, 1, &h));
    return h;
}

static Qnn_Tensor_t with(Qnn_Tensor_t t, Qnn_MemHandle_t h)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = h;
    return t;
}

static void make_net(Qnn_ContextHandle_t c, struct net *n)
{
    OK(net_affine(c, "net", 2.0f, 0.5f, n));
    OK(q.graphFinalize(n->graph, NULL, NULL));
}

static Qnn_ErrorHandle_t run(const struct net *n, Qnn_MemHandle_t x, Qnn_MemHandle_t y)
{
    Qnn_Tensor_t in = with(n->x, x), out = with(n->y, y);
    return q.graphExecute(n->graph, &in, 1, &out, 1, NULL, NULL);
}

static void fill(cl_mem m, float first)
{
    float *p = client_cl_map(&cl, m, CL_MAP_WRITE, AFFINE_N * sizeof(float));
    for (int i = 0; i < AFFINE_N; i++)
        p[i] = first + (float)i;
    client_cl_unmap(&cl, m, p);
}

static void expect(cl_mem m, float first)
{
    float *p = client_cl_map(&cl, m, CL_MAP_READ, AFFINE_N * sizeof(float));
    for (int i = 0; i < AFFINE_N; i++)
        assert_true(p[i] == (first + (float)i) * 2.0f + 0.5f);
    client_cl_unmap(&cl, m, p);
}

static cl_mem buffer(cl_mem_flags flags)
{
    return client_cl_buffer(&cl, flags, AFFINE_N * sizeof(float));
}

static void release(cl_mem m)
{
    CL_CALL(&cl, clReleaseMemObject)(m);
}

static cl_uint references(cl_mem m)
{
    cl_uint n = 0;
    CL_CALL(&cl, clGetMemObjectInfo)(m, CL_MEM_REFERENCE_COUNT, sizeof n, &n, NULL);
    return n;
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

/* Both spellings of the initializer are the same. */
static void test_initializers(void **state)
{
    (void)state;
    QnnGpu_MemInfoCustom_t a = QNN_GPU_MEMINFO_CUSTOM_INIT, b = QNN_GPU_MEM_INFO_CUSTOM_INIT;
    assert_int_equal(a.memType, b.memType);
    assert_int_equal(a.memType, 0x7FFFFFF);
    assert_ptr_equal(a.buffer, b.buffer);
    uint32_t n = AFFINE_N;
    Qnn_MemDescriptor_t d = descriptor(&a, NULL, &n);
    Qnn_MemHandle_t h;
    a.memType = QNN_GPU_MEM_UNDEFINED; /* as the initializer leaves it */
    hush(true);
    FAILS_SAYING(QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, "0x7ffffff", q.memRegister(env.context, &d, 1, &h));
    hush(false);
}

/* Nothing is transferred, in any number of runs, with buffers that take turns; and recordings of the queue follow them. */
static void test_no_transfers(void **state)
{
    (void)state;
    struct net n;
    cl_mem x[2] = { buffer(CL_MEM_READ_WRITE), buffer(CL_MEM_READ_ONLY) },
           y[2] = { buffer(CL_MEM_READ_WRITE), buffer(CL_MEM_WRITE_ONLY) };
    Qnn_MemHandle_t hx[2], hy[2];
    make_net(env.context, &n);
    for (int i = 0; i < 2; i++) {
        hx[i] = take(env.context, x[i], AFFINE_N);
        hy[i] = take(env.context, y[i], AFFINE_N);
        fill(x[i], 10.0f * (float)i);
    }
    shim->reset();
    for (int i = 0; i < 12; i++) {
        int at = i / 3 % 2;
        OK(run(&n, hx[at], hy[at]));
        expect(y[at], 10.0f * (float)at);
        fill(x[at], 10.0f * (float)at);
    }
    assert_int_equal(shim->count("clEnqueueWriteBuffer"), 0);
    assert_int_equal(shim->count("clEnqueueReadBuffer"), 0);
    assert_int_equal(shim->count("clEnqueueCopyBuffer"), 0);
    assert_int_equal(shim->count("clCreateBuffer"), 0);
    for (int i = 0; i < 2; i++) {
        OK(q.memDeRegister(&hx[i], 1));
        OK(q.memDeRegister(&hy[i], 1));
    }
    /* Nobody holds them but the client, once the graphs are gone. */
    OK(q.contextFree(env.context, NULL));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(references(x[i]), 1);
        assert_int_equal(references(y[i]), 1);
        release(x[i]);
        release(y[i]);
    }
}

static void test_other_context(void **state)
{
    (void)state;
    Qnn_ContextHandle_t other;
    struct net n;
    cl_mem x = buffer(CL_MEM_READ_WRITE), y = buffer(CL_MEM_READ_WRITE);
    OK(q.contextCreate(env.backend, NULL, NULL, &other));
    make_net(env.context, &n);
    Qnn_MemHandle_t hx = take(env.context, x, AFFINE_N), hy = take(other, y, AFFINE_N);
    hush(true);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "another context", run(&n, hx, hy));
    hush(false);
    /* The same buffer may be registered with both. */
    Qnn_MemHandle_t mine = take(env.context, y, AFFINE_N);
    fill(x, 1);
    OK(run(&n, hx, mine));
    expect(y, 1);
    OK(q.contextFree(other, NULL)); /* with its registrations */
    OK(run(&n, hx, mine));
    release(x);
    release(y);
}

static void test_one_buffer_twice(void **state)
{
    (void)state;
    struct net n;
    cl_mem x = buffer(CL_MEM_READ_WRITE);
    make_net(env.context, &n);
    Qnn_MemHandle_t h = take(env.context, x, AFFINE_N);
    hush(true);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "same OpenCL buffer", run(&n, h, h));
    hush(false);
    release(x);
}

static void test_wrong_flags(void **state)
{
    (void)state;
    struct net n;
    cl_mem r = buffer(CL_MEM_READ_ONLY), w = buffer(CL_MEM_WRITE_ONLY);
    make_net(env.context, &n);
    Qnn_MemHandle_t hr = take(env.context, r, AFFINE_N), hw = take(env.context, w, AFFINE_N);
    hush(true);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "write-only", run(&n, hw, hr));
    hush(false);
    fill(r, 3);
    OK(run(&n, hr, hw));
    expect(w, 3);
    release(r);
    release(w);
}

/* A registration for fewer elements than the tensor has, in a buffer that would be large enough. */
static void test_small_registration(void **state)
{
    (void)state;
    struct net n;
    cl_mem x = buffer(CL_MEM_READ_WRITE), y = buffer(CL_MEM_READ_WRITE);
    make_net(env.context, &n);
    Qnn_MemHandle_t hx = take(env.context, x, AFFINE_N - 1), hy = take(env.context, y, AFFINE_N);
    hush(true);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "needs 32 bytes", run(&n, hx, hy));
    hush(false);
    release(x);
    release(y);
}

/* A part of a buffer is a buffer; an image is none. */
static void test_parts_and_images(void **state)
{
    (void)state;
    struct net n;
    cl_int code;
    cl_mem whole = client_cl_buffer(&cl, CL_MEM_READ_WRITE, 8192), y = buffer(CL_MEM_READ_WRITE);
    cl_buffer_region part = { 4096, AFFINE_N * sizeof(float) };
    cl_mem x = CL_CALL(&cl, clCreateSubBuffer)(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &part, &code);
    assert_int_equal(code, CL_SUCCESS);
    make_net(env.context, &n);
    Qnn_MemHandle_t hx = take(env.context, x, AFFINE_N), hy = take(env.context, y, AFFINE_N), h;
    fill(x, 5);
    OK(run(&n, hx, hy));
    expect(y, 5);
    cl_image_format format = { CL_R, CL_FLOAT };
    cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 16 };
    cl_mem image = CL_CALL(&cl, clCreateImage)(cl.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    if (code == CL_SUCCESS) {
        QnnGpu_MemInfoCustom_t info = QNN_GPU_MEM_INFO_CUSTOM_INIT;
        uint32_t count = AFFINE_N;
        Qnn_MemDescriptor_t d = descriptor(&info, image, &count);
        hush(true);
        FAILS_SAYING(QNN_MEM_ERROR_INVALID_ARGUMENT, "is an image", q.memRegister(env.context, &d, 1, &h));
        hush(false);
        release(image);
    }
    release(x);
    release(whole);
    release(y);
}

/* The client released the buffers while they are registered: they stay until they are deregistered, and handles are gone
 * then. */
static void test_released(void **state)
{
    (void)state;
    struct net n;
    cl_mem x = buffer(CL_MEM_READ_WRITE), y = buffer(CL_MEM_READ_WRITE);
    make_net(env.context, &n);
    Qnn_MemHandle_t hx = take(env.context, x, AFFINE_N), hy = take(env.context, y, AFFINE_N);
    fill(x, 7);
    release(x);
    OK(run(&n, hx, hy));
    expect(y, 7);
    OK(q.memDeRegister(&hx, 1));
    hush(true);
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, run(&n, hx, hy));
    FAILS(QNN_MEM_ERROR_INVALID_HANDLE, q.memDeRegister(&hx, 1));
    hush(false);
    release(y);
}

static void count_end(void *arg, Qnn_NotifyStatus_t status)
{
    __atomic_fetch_add((int *)arg, status.error == QNN_SUCCESS ? 1 : 1000, __ATOMIC_SEQ_CST);
}

/* Deregistering waits for the executions that use the memory. */
static void test_deregister_in_use(void **state)
{
    (void)state;
    enum { RUNS = 8, DEPTH = 40, WIDE = 1 << 16 };
    struct net n;
    int ended = 0;
    cl_mem x = client_cl_buffer(&cl, CL_MEM_READ_WRITE, WIDE * sizeof(float)),
           y = client_cl_buffer(&cl, CL_MEM_READ_WRITE, WIDE * sizeof(float));
    OK(net_chain(env.context, "chain", DEPTH, WIDE, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    Qnn_MemHandle_t h[2] = { take(env.context, x, WIDE), take(env.context, y, WIDE) };
    Qnn_Tensor_t in = with(n.x, h[0]), out = with(n.y, h[1]);
    for (int i = 0; i < RUNS; i++)
        OK(q.graphExecuteAsync(n.graph, &in, 1, &out, 1, NULL, NULL, count_end, &ended));
    OK(q.memDeRegister(h, 2));
    release(x);
    release(y);
    OK(q.contextFree(env.context, NULL));
    assert_int_equal(ended % 1000 + ended / 1000, RUNS); /* each one ended, well or with the handle gone */
}

/* Several in one call: all or none. */
static void test_all_or_none(void **state)
{
    (void)state;
    cl_mem x = buffer(CL_MEM_READ_WRITE), small = buffer(CL_MEM_READ_WRITE);
    QnnGpu_MemInfoCustom_t info[2] = { QNN_GPU_MEM_INFO_CUSTOM_INIT, QNN_GPU_MEM_INFO_CUSTOM_INIT };
    uint32_t n[2] = { AFFINE_N, AFFINE_N + 1 };
    Qnn_MemDescriptor_t d[2] = { descriptor(&info[0], x, &n[0]), descriptor(&info[1], small, &n[1]) };
    Qnn_MemHandle_t h[2];
    hush(true);
    FAILS(QNN_MEM_ERROR_INVALID_ARGUMENT, q.memRegister(env.context, d, 2, h));
    hush(false);
    assert_null(h[0]);
    assert_null(h[1]);
    assert_int_equal(references(x), 1);
    release(x);
    release(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_initializers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_transfers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_context, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_buffer_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_flags, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_registration, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts_and_images, setup, teardown),
        cmocka_unit_test_setup_teardown(test_released, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deregister_in_use, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_or_none, setup, teardown),
    };
    shim_open();
    return cmocka_run_group_tests(tests, NULL, shim_nothing_left);
}
