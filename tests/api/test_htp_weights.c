/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers for weights: constants of all graphs of a context lie in the client's memory and are read from there, also in
 * contexts from a file whose graphs wait for QnnContext_finalize; two contexts cannot use the same bytes. */
#include "api_test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpMem.h>

enum { PAGE = 4096, GRAPHS = 2, BINARY = 1 << 16 };

static struct net nets[GRAPHS];
static int fd;
static uint8_t *memory;
static uint64_t need;

static uint64_t weights_size(Qnn_ContextHandle_t c)
{
    QnnHtpContext_CustomProperty_t p = { .option = QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE };
    QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &p },
                          *list[] = { &property, NULL };
    OK(q.contextGetProperty(c, list));
    return p.weightsBufferSize;
}

static uint64_t mapped(void)
{
    return 2 * PAGE + need;
}

static int setup(void **state)
{
    if (env_setup(state))
        return 1;
    for (int i = 0; i < GRAPHS; i++) {
        OK(net_conv(env.context, i ? "second" : "first", &nets[i]));
        OK(q.graphFinalize(nets[i].graph, NULL, NULL));
    }
    need = weights_size(env.context);
    assert_in_range(need, GRAPHS * (sizeof conv_filter + sizeof conv_bias), BINARY);
    fd = memfd_create("weights", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)mapped()) != 0)
        return 1;
    memory = mmap(NULL, mapped(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memset(memory, 0xA5, mapped());
    return memory == MAP_FAILED;
}

static int teardown(void **state)
{
    munmap(memory, mapped());
    close(fd);
    return env_teardown(state);
}

static Qnn_ErrorHandle_t register_weights(Qnn_ContextHandle_t c, uint64_t offset, uint64_t bytes, Qnn_MemHandle_t *ret)
{
    QnnMemHtp_Descriptor_t custom = { .type = QNN_HTP_MEM_WEIGHTS_BUFFER, .size = bytes };
    custom.weightsBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ fd, offset };
    Qnn_MemDescriptor_t d = { .dataType = QNN_DATATYPE_UINT_8, .memType = QNN_MEM_TYPE_CUSTOM, .customInfo = &custom };
    return q.memRegister(c, &d, 1, ret);
}

static void gives(const struct net *n, const float *want)
{
    float y[CONV_OUT] = { 0 };
    OK(net_run(n, conv_in, y, CONV_IN, CONV_OUT));
    floats_are(y, want, CONV_OUT, 1e-5f);
}

static void all_right(const struct net *n)
{
    float want[CONV_OUT];
    conv_expected(want);
    for (int i = 0; i < GRAPHS; i++)
        gives(&n[i], want);
}

/* Without weights both channels are the same. */
static void all_read_memory(const struct net *n)
{
    static const float half[CONV_OUT] = { .5f, .5f, .5f, .5f, .5f, .5f, .5f, .5f };
    memset(memory + PAGE, 0, need);
    for (int i = 0; i < GRAPHS; i++)
        gives(&n[i], half);
}

static uint64_t changed(uint64_t from, uint64_t bytes)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < bytes; i++)
        n += memory[from + i] != 0xA5;
    return n;
}

static void test_read_from_there(void **state)
{
    (void)state;
    Qnn_MemHandle_t h;
    all_right(nets);
    FAILS_SAYING(QNN_MEM_ERROR_INVALID_ARGUMENT, "a weights buffer of", register_weights(env.context, PAGE, need - 1, &h));
    for (int again = 0; again < 2; again++) {
        OK(register_weights(env.context, PAGE, need, &h));
        all_right(nets);
        assert_true(changed(PAGE, need) >= need / 2);
        all_read_memory(nets);
        OK(q.memDeRegister(&h, 1));
        all_right(nets);
    }
    assert_int_equal(changed(0, PAGE), 0);
    assert_int_equal(changed(PAGE + need, PAGE), 0);
}

/* A graph that comes later is not in a buffer that has no room for it. */
static void test_later_graph(void **state)
{
    (void)state;
    Qnn_MemHandle_t h;
    struct net later;
    float want[CONV_OUT];
    conv_expected(want);
    OK(register_weights(env.context, PAGE, need, &h));
    OK(net_conv(env.context, "later", &later));
    OK(q.graphFinalize(later.graph, NULL, NULL));
    assert_true(weights_size(env.context) > need);
    gives(&later, want);
    all_read_memory(nets);
    gives(&later, want);
    OK(q.memDeRegister(&h, 1));
    gives(&later, want);
}

/* As on a device: the size is asked for and the buffer registered before the graphs are there. */
static void test_deferred(void **state)
{
    (void)state;
    static char file[BINARY];
    uint64_t size;
    Qnn_ContextHandle_t c;
    Qnn_MemHandle_t h;
    struct net loaded[GRAPHS] = { nets[0], nets[1] };
    QnnContext_Config_t defer = { .option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT, .isGraphInitDeferred = true };
    const QnnContext_Config_t *list[] = { &defer, NULL };
    QnnHtpContext_CustomConfig_t sharing = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                             .weightSharingEnabled = true };
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &sharing };
    const QnnContext_Config_t *share[] = { &custom, NULL };
    OK(q.contextSetConfig(env.context, share));
    OK(q.contextGetBinary(env.context, file, sizeof file, &size));
    OK(q.contextCreateFromBinary(env.backend, NULL, list, file, size, &c, NULL));
    uint64_t once = need / GRAPHS; /* the weights of both are the same, and in the file once */
    assert_int_equal(weights_size(c), once);
    OK(register_weights(c, PAGE, once, &h));
    assert_int_equal(changed(0, mapped()), 0);
    OK(q.contextFinalize(c, NULL));
    assert_int_equal(weights_size(c), once);
    for (int i = 0; i < GRAPHS; i++)
        OK(q.graphRetrieve(c, i ? "second" : "first", &loaded[i].graph));
    all_right(loaded);
    assert_in_range(changed(PAGE, need), once / 2, once);
    all_read_memory(loaded);
    all_right(nets); /* the others have their own */
    OK(q.contextFree(c, NULL));
}

static void test_two_contexts(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    Qnn_MemHandle_t h, other;
    struct net n;
    float want[CONV_OUT];
    conv_expected(want);
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    OK(net_conv(c, "other", &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    OK(register_weights(env.context, PAGE, need, &h));
    FAILS_SAYING(QNN_MEM_ERROR_INVALID_ARGUMENT, "of the same memory", register_weights(c, PAGE, need, &other));
    gives(&n, want);
    all_right(nets);
    OK(q.memDeRegister(&h, 1));
    OK(register_weights(c, PAGE, need, &other));
    gives(&n, want);
    all_right(nets);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = { TEST(test_read_from_there), TEST(test_later_graph), TEST(test_deferred),
                                        TEST(test_two_contexts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
