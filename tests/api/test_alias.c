/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of one execution in the same memory: the results are those of separate buffers, wherever the memory
 * comes from, or the execution is refused. What is expected is computed here. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpMem.h>

#include "api_test.h"

enum { SIDE = 1024, N = SIDE * SIDE, SHIFT = 4096, ROOM = N + 2 * SHIFT, BYTES = N * sizeof(float) };

static int fd;        /* the client's buffer, */
static float *room;   /* and where it is mapped */
static float *values; /* N floats that the graphs are given */
static struct net net;
static Qnn_Tensor_t second; /* output of nets with two */

static float *pages(int file, uint64_t floats)
{
    int how = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *p = mmap(NULL, floats * sizeof(float), PROT_READ | PROT_WRITE, how, file, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static int setup(void **state)
{
    int failed = env_setup(state);
    fd = memfd_create("tensors", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, ROOM * sizeof(float)), 0);
    room = pages(fd, ROOM);
    values = pages(-1, N);
    for (uint32_t i = 0; i < N; i++)
        values[i] = (float)(i % 8191) - 4000;
    return failed;
}

static int teardown(void **state)
{
    int failed = env_teardown(state);
    munmap(room, ROOM * sizeof(float));
    munmap(values, BYTES);
    close(fd);
    return failed;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

static void begin(void)
{
    net.x = TENSOR("x", APP_WRITE, FLOAT_32, SIDE, SIDE);
    net.y = TENSOR("y", APP_READ, FLOAT_32, SIDE, SIDE);
    second = TENSOR("z", APP_READ, FLOAT_32, SIDE, SIDE);
    OK(q.graphCreate(env.context, "net", NULL, &net.graph));
    OK(q.tensorCreateGraphTensor(net.graph, &net.x));
    OK(q.tensorCreateGraphTensor(net.graph, &net.y));
}

static void unary(const char *type, Qnn_Tensor_t from, Qnn_Tensor_t to)
{
    static const uint32_t two = 2, perm[] = { 1, 0 };
    static unsigned n;
    bool turn = strcmp(type, "Transpose") == 0;
    struct op o = { .name = keep_name("node%u", n++), .type = type, .ni = 1, .in = { from }, .no = 1, .out = { to } };
    o.np = turn;
    if (turn)
        o.p[0] = param_u32s(net.graph, "perm", 1, &two, perm);
    OK(op_add(net.graph, &o));
}

static Qnn_Tensor_t between(const char *name)
{
    Qnn_Tensor_t t = TENSOR(name, NATIVE, FLOAT_32, SIDE, SIDE);
    OK(q.tensorCreateGraphTensor(net.graph, &t));
    return t;
}

static void finalize(void)
{
    OK(q.graphFinalize(net.graph, NULL, NULL));
}

static void net_transpose(void)
{
    begin();
    unary("Transpose", net.x, net.y);
    finalize();
}

static float transposed(uint32_t i)
{
    return values[i % SIDE * SIDE + i / SIDE];
}

/* y = abs(-x), both of them element by element. */
static void net_elements(void)
{
    begin();
    Qnn_Tensor_t t = between("t");
    unary("ElementWiseNeg", net.x, t);
    unary("ElementWiseAbs", t, net.y);
    finalize();
}

static float absolute(uint32_t i)
{
    return values[i] < 0 ? -values[i] : values[i];
}

/* y = -x, z = x turned twice: the second output wants what the first one destroys. */
static void net_two(void)
{
    begin();
    OK(q.tensorCreateGraphTensor(net.graph, &second));
    Qnn_Tensor_t t = between("t");
    unary("ElementWiseNeg", net.x, net.y);
    unary("Transpose", net.x, t);
    unary("Transpose", t, second);
    finalize();
}

/* y = x + x turned. */
static void net_residual(void)
{
    begin();
    Qnn_Tensor_t t = between("t");
    unary("Transpose", net.x, t);
    struct op add = { .name = "add", .type = "ElementWiseAdd", .ni = 2, .in = { net.x, t }, .no = 1, .out = { net.y } };
    OK(op_add(net.graph, &add));
    finalize();
}

static float residual(uint32_t i)
{
    return values[i] + transposed(i);
}

/* ---- buffers ---------------------------------------------------------------------------------------------------------- */

static Qnn_Tensor_t raw(Qnn_Tensor_t t, float *at)
{
    return tensor_data(t, at, BYTES);
}

static Qnn_MemHandle_t register_at(uint64_t shift)
{
    uint32_t dims[] = { SIDE, SIDE };
    QnnMemHtp_Descriptor_t where = { .type = QNN_HTP_MEM_SHARED_BUFFER, .size = ROOM * sizeof(float) };
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    Qnn_MemHandle_t h = NULL;

    where.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ fd, shift * sizeof(float) };
    d.memShape = (Qnn_MemShape_t){ 2, dims, NULL };
    d.dataType = QNN_DATATYPE_FLOAT_32;
    d.memType = shift ? QNN_MEM_TYPE_CUSTOM : QNN_MEM_TYPE_ION;
    if (shift)
        d.customInfo = &where;
    else
        d.ionInfo.fd = fd;
    OK(q.memRegister(env.context, &d, 1, &h));
    return h;
}

static Qnn_Tensor_t with_handle(Qnn_Tensor_t t, Qnn_MemHandle_t h)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = h;
    return t;
}

/* Runs and compares: `x` and `y` are where the tensors are in this process. */
static void run(Qnn_Tensor_t in, float *x, Qnn_Tensor_t out, const float *y, float (*expected)(uint32_t i))
{
    memcpy(x, values, BYTES);
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    for (uint32_t i = 0; i < N; i++)
        if (y[i] != expected(i))
            fail_msg("element %u is %g, not %g", i, (double)y[i], (double)expected(i));
}

/* Every way in which a client can say that input and output share memory, and again after buffers of their own. */
static void run_all_ways(float (*expected)(uint32_t i))
{
    float *apart = pages(-1, N);
    for (int round = 0; round < 2; round++) {
        run(raw(net.x, room), room, raw(net.y, room), room, expected);
        run(raw(net.x, room), room, raw(net.y, room + SHIFT), room + SHIFT, expected);
        run(raw(net.x, room + SHIFT), room + SHIFT, raw(net.y, room), room, expected);
        run(raw(net.x, room), room, raw(net.y, apart), apart, expected);
        assert_memory_equal(room, values, BYTES); /* an input is only read */
    }

    Qnn_MemHandle_t first = register_at(0);
    run(with_handle(net.x, first), room, with_handle(net.y, first), room, expected);
    run(with_handle(net.x, first), room, raw(net.y, apart), apart, expected);
    if (lib_is_htp()) { /* the CPU backend has no offsets */
        Qnn_MemHandle_t other = register_at(SHIFT);
        for (int round = 0; round < 2; round++) {
            run(with_handle(net.x, first), room, with_handle(net.y, other), room + SHIFT, expected);
            run(with_handle(net.x, other), room + SHIFT, with_handle(net.y, first), room, expected);
            run(with_handle(net.x, other), room + SHIFT, with_handle(net.y, other), room + SHIFT, expected);
        }
    }
    munmap(apart, BYTES);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static void test_transpose(void **state)
{
    (void)state;
    net_transpose();
    run_all_ways(transposed);
}

static void test_elements(void **state)
{
    (void)state;
    net_elements();
    run_all_ways(absolute);
}

static void test_residual(void **state)
{
    (void)state;
    net_residual();
    run_all_ways(residual);
}

static void check_two(Qnn_Tensor_t in, Qnn_Tensor_t *out, const float *y, const float *z)
{
    memcpy(room, values, BYTES);
    OK(q.graphExecute(net.graph, &in, 1, out, 2, NULL, NULL));
    for (uint32_t i = 0; i < N; i++)
        if (y[i] != -values[i] || z[i] != values[i])
            fail_msg("element %u is %g and %g, not %g and %g", i, (double)y[i], (double)z[i], (double)-values[i],
                     (double)values[i]);
}

static void test_two_outputs(void **state)
{
    (void)state;
    net_two();
    float *apart = pages(-1, N);
    Qnn_MemHandle_t h = register_at(0);

    check_two(raw(net.x, room), (Qnn_Tensor_t[]){ raw(net.y, room), raw(second, apart) }, room, apart);
    check_two(raw(net.x, room), (Qnn_Tensor_t[]){ raw(net.y, apart), raw(second, room) }, apart, room);
    check_two(with_handle(net.x, h), (Qnn_Tensor_t[]){ with_handle(net.y, h), raw(second, apart) }, room, apart);
    munmap(apart, BYTES);
}

/* No order of the operators could make two results fit into one buffer. */
static void test_outputs_overlap(void **state)
{
    (void)state;
    net_two();
    Qnn_MemHandle_t h = register_at(0);
    Qnn_Tensor_t in = raw(net.x, values);
    Qnn_Tensor_t same[] = { with_handle(net.y, h), with_handle(second, h) };
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "overlap", q.graphExecute(net.graph, &in, 1, same, 2, NULL, NULL));

    Qnn_Tensor_t plain[] = { raw(net.y, room), raw(second, room + SHIFT) };
    if (!lib_is_htp()) /* plain pointers are copied there, one after the other */
        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "overlap", q.graphExecute(net.graph, &in, 1, plain, 2, NULL, NULL));

    float *apart = pages(-1, N);
    check_two(raw(net.x, room), (Qnn_Tensor_t[]){ raw(net.y, apart), with_handle(second, h) }, apart, room);
    munmap(apart, BYTES);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static unsigned done, failed;

static void on_done(void *param, Qnn_NotifyStatus_t status)
{
    (void)param;
    pthread_mutex_lock(&lock);
    done++;
    failed += status.error != QNN_SUCCESS;
    pthread_cond_signal(&change);
    pthread_mutex_unlock(&lock);
}

/* What is copied is the input as the executions before left it, not as it was when the client asked. */
static void test_queue(void **state)
{
    (void)state;
    enum { TURNS = 7 };
    net_transpose();
    memcpy(room, values, BYTES);
    Qnn_Tensor_t in = raw(net.x, room), out = raw(net.y, room);

    done = failed = 0;
    for (int i = 0; i < TURNS; i++)
        OK(q.graphExecuteAsync(net.graph, &in, 1, &out, 1, NULL, NULL, on_done, NULL));
    pthread_mutex_lock(&lock);
    while (done < TURNS)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);

    assert_int_equal(failed, 0);
    for (uint32_t i = 0; i < N; i++)
        assert_true(room[i] == transposed(i)); /* an odd number of turns */
}

/* A buffer is as long as the client says, also when it says nothing. */
static void test_no_size(void **state)
{
    (void)state;
    net_transpose();
    Qnn_Tensor_t in = tensor_data(net.x, values, 0), out = raw(net.y, room);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "dataSize", q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    in = raw(net.x, values);
    out = tensor_data(net.y, room, 0);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "dataSize", q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_transpose),       CASE(test_elements), CASE(test_residual), CASE(test_two_outputs),
        CASE(test_outputs_overlap), CASE(test_queue),    CASE(test_no_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
