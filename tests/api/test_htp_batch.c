/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on libQnnHtp.so: slices go to the session together and run side by side there, with the bits of single
 * executions, from plain and from registered memory; the estimate counts weights once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api_test.h"

enum { MOST = 9, THREADS = 2, BESIDE = 30017, COPIED = 30004, MOVED_WEIGHTS = 30006, MOVED_INPUTS = 30007, CYCLES = 3003 };

static struct net net;

static int setup(void **state)
{
    if (env_setup(state))
        return 1;
    OK(net_conv(env.context, "slices", &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    return 0;
}

static void fill(float *x, uint32_t n)
{
    for (uint32_t i = 0; i < n * CONV_IN; i++)
        x[i] = (float)((i * 7 + i / CONV_IN) % 23) / 8 - 1;
}

/* What single executions compute. */
static void singles(float *x, float *want, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        Qnn_Tensor_t in = tensor_data(net.x, x + k * CONV_IN, CONV_IN * sizeof(float)),
                     out = tensor_data(net.y, want + k * CONV_OUT, CONV_OUT * sizeof(float));
        OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    }
}

static uint64_t value_of(Qnn_ProfileHandle_t p, uint32_t type)
{
    const struct event *e = profile_find(p, type);
    if (!e)
        fail_msg("the profile has no event %u", type);
    return e->data.value;
}

static Qnn_ProfileHandle_t run_batch(Qnn_Tensor_t in, Qnn_Tensor_t out, uint32_t n, QnnProfile_Level_t level)
{
    uint32_t x_dims[] = { n, 4, 4, 1 }, y_dims[] = { n, 2, 2, 2 };
    Qnn_ProfileHandle_t p;
    in = tensor_shaped(in, 4, x_dims);
    out = tensor_shaped(out, 4, y_dims);
    OK(q.profileCreate(env.backend, level, &p));
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, p, NULL));
    return p;
}

static void test_plain_memory(void **state)
{
    (void)state;
    static float x[MOST * CONV_IN], y[MOST * CONV_OUT + 1], want[MOST * CONV_OUT];
    fill(x, MOST);
    singles(x, want, MOST);
    for (uint32_t n = 1; n <= MOST; n++) {
        uint32_t x_bytes = n * CONV_IN * sizeof(float), y_bytes = n * CONV_OUT * sizeof(float);
        memset(y, 0x5A, sizeof y);
        float after = y[n * CONV_OUT];
        Qnn_ProfileHandle_t p =
            run_batch(tensor_data(net.x, x, x_bytes), tensor_data(net.y, y, y_bytes), n, QNN_PROFILE_LEVEL_BASIC);
        assert_memory_equal(y, want, y_bytes);
        assert_memory_equal(&y[n * CONV_OUT], &after, sizeof after);
        if (n > 1)
            assert_int_equal(value_of(p, BESIDE), n / THREADS * THREADS);
        else
            assert_null(profile_find(p, BESIDE));
        OK(q.profileFree(p));
    }
}

/* A profile of operators is made slice by slice, with the same results. */
static void test_detailed(void **state)
{
    (void)state;
    static float x[MOST * CONV_IN], y[MOST * CONV_OUT], want[MOST * CONV_OUT];
    fill(x, MOST);
    singles(x, want, MOST);
    Qnn_ProfileHandle_t p = run_batch(WITH(net.x, x), WITH(net.y, y), MOST, QNN_PROFILE_LEVEL_DETAILED);
    assert_memory_equal(y, want, sizeof y);
    assert_int_equal(value_of(p, BESIDE), 0);
    assert_int_equal(value_of(p, COPIED), sizeof x + sizeof y);
    OK(q.profileFree(p));
}

/* Weights come into fast memory once for all slices, inputs with each. */
static void test_estimate(void **state)
{
    (void)state;
    static float x[MOST * CONV_IN], y[MOST * CONV_OUT];
    fill(x, MOST);
    uint64_t weights[2], inputs[2], cycles[2];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t n = i ? MOST : 1;
        Qnn_ProfileHandle_t p =
            run_batch(tensor_data(net.x, x, n * CONV_IN * sizeof(float)),
                      tensor_data(net.y, y, n * CONV_OUT * sizeof(float)), n, QNN_PROFILE_LEVEL_DETAILED);
        weights[i] = value_of(p, MOVED_WEIGHTS);
        inputs[i] = value_of(p, MOVED_INPUTS);
        cycles[i] = value_of(p, CYCLES);
        OK(q.profileFree(p));
    }
    assert_true(weights[0] > 0 && inputs[0] > 0);
    assert_int_equal(weights[1], weights[0]);
    assert_int_equal(inputs[1], MOST * inputs[0]);
    assert_true(cycles[1] > cycles[0] && cycles[1] <= MOST * cycles[0]);
}

static Qnn_MemHandle_t registered(int fd, Qnn_Tensor_t t, uint32_t n)
{
    uint32_t dims[4] = { n, TV(t).dimensions[1], TV(t).dimensions[2], TV(t).dimensions[3] };
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    d.memShape = (Qnn_MemShape_t){ 4, dims, NULL };
    d.dataType = QNN_DATATYPE_FLOAT_32;
    d.memType = QNN_MEM_TYPE_ION;
    d.ionInfo.fd = fd;
    Qnn_MemHandle_t ret;
    OK(q.memRegister(env.context, &d, 1, &ret));
    return ret;
}

static float *shared(size_t bytes, int *ret_fd)
{
    *ret_fd = memfd_create("batch", 0);
    assert_int_equal(ftruncate(*ret_fd, (off_t)bytes), 0);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

static Qnn_Tensor_t with_memory(Qnn_Tensor_t t, Qnn_MemHandle_t m)
{
    TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(t).memHandle = m;
    return t;
}

static void test_registered_memory(void **state)
{
    (void)state;
    enum { BYTES = 4096 };
    int fd[2];
    float *x = shared(BYTES, &fd[0]), *y = shared(BYTES, &fd[1]), want[MOST * CONV_OUT];
    fill(x, MOST);
    singles(x, want, MOST);
    Qnn_MemHandle_t m[] = { registered(fd[0], net.x, MOST), registered(fd[1], net.y, MOST) };
    for (uint32_t n = 2; n <= MOST; n++) {
        memset(y, 0, BYTES);
        Qnn_ProfileHandle_t p = run_batch(with_memory(net.x, m[0]), with_memory(net.y, m[1]), n, QNN_PROFILE_LEVEL_BASIC);
        assert_memory_equal(y, want, n * CONV_OUT * sizeof(float));
        assert_true(y[n * CONV_OUT] == 0);
        assert_int_equal(value_of(p, BESIDE), n / THREADS * THREADS);
        OK(q.profileFree(p));
    }
    OK(q.memDeRegister(m, 2));
    munmap(x, BYTES);
    munmap(y, BYTES);
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
    setenv("OPENQNN_THREADS", "2", 1);
    setenv("OPENQNN_LANES", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_memory),
        cmocka_unit_test(test_detailed),
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_registered_memory),
    };
    return cmocka_run_group_tests(tests, setup, env_teardown);
}
