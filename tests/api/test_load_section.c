/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of binaries that are applied: with and without their checksum (SKIP_VALIDATION_ON_BINARY_SECTION), and with a
 * signal. */
#include "api_test.h"

#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>

enum { N = 1024 };

static Qnn_BackendHandle_t backend;
static Qnn_Tensor_t x, y;
static void *base, *section;
static uint64_t base_bytes, section_bytes;

/* y = x + a, where a is updateable: first all 1, in the section all 2. */
static int setup(void **state)
{
    (void)state;
    static float a[N];
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    lib_open();
    OK(q.backendCreate(NULL, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(q.graphCreate(c, "sum", NULL, &g));
    for (unsigned i = 0; i < N; i++)
        a[i] = 1;
    x = TENSOR("x", APP_WRITE, FLOAT_32, N);
    y = TENSOR("y", APP_READ, FLOAT_32, N);
    Qnn_Tensor_t t = WITH(TENSOR("a", UPDATEABLE_STATIC, FLOAT_32, N), a);
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &t));
    OK(q.tensorCreateGraphTensor(g, &y));
    struct op o = { .name = "add", .type = "ElementWiseAdd", .ni = 2, .no = 1, .in = { x, t }, .out = { y } };
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    OK(q.contextGetBinarySize(c, &base_bytes));
    base = malloc(base_bytes);
    OK(q.contextGetBinary(c, base, base_bytes, &base_bytes));

    for (unsigned i = 0; i < N; i++)
        a[i] = 2;
    t = WITH(t, a);
    OK(q.tensorUpdateGraphTensors(g, (const Qnn_Tensor_t *[]){ &t }, 1));
    OK(q.graphFinalize(g, NULL, NULL));
    OK(q.contextGetBinarySectionSize(c, g, QNN_CONTEXT_SECTION_UPDATABLE, &section_bytes));
    section = malloc(section_bytes);
    QnnContext_Buffer_t b = { .version = QNN_CONTEXT_BUFFER_VERSION_1,
                              .v1 = { .memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = { section, section_bytes } } };
    OK(q.contextGetBinarySection(c, g, QNN_CONTEXT_SECTION_UPDATABLE, &b, &section_bytes, NULL, NULL));
    OK(q.contextFree(c, NULL));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(base);
    free(section);
    OK(q.backendFree(backend));
    lib_close();
    return 0;
}

static Qnn_ContextHandle_t load(bool skip, Qnn_GraphHandle_t *g)
{
    QnnHtpContext_CustomConfig_t custom = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_SKIP_VALIDATION_ON_BINARY_SECTION,
                                            .skipValidationOnBinarySection = skip };
    QnnContext_Config_t config = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnContext_Config_t *list[] = { &config, NULL };
    Qnn_ContextHandle_t c;
    OK(q.contextCreateFromBinary(backend, NULL, list, base, base_bytes, &c, NULL));
    OK(q.graphRetrieve(c, "sum", g));
    return c;
}

static Qnn_ErrorHandle_t apply(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g, void *data, uint64_t size,
                               Qnn_SignalHandle_t signal)
{
    QnnContext_Buffer_t b = { .version = QNN_CONTEXT_BUFFER_VERSION_1,
                              .v1 = { .memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = { data, size } } };
    return q.contextApplyBinarySection(c, g, QNN_CONTEXT_SECTION_UPDATABLE, &b, NULL, signal);
}

/* How many results are x plus `add`. */
static unsigned sums(Qnn_GraphHandle_t g, float add)
{
    float in[N], out[N];
    unsigned n = 0;
    struct net net = { .graph = g, .x = x, .y = y };
    for (unsigned i = 0; i < N; i++)
        in[i] = (float)(i % 100);
    OK(net_run(&net, in, out, N, N));
    for (unsigned i = 0; i < N; i++)
        n += out[i] == in[i] + add;
    return n;
}

/* A bit of the new values: refused by the checksum, and taken without it. Bits of tables are refused either way. */
static void test_skipped(void **state)
{
    (void)state;
    uint8_t *copy = malloc(section_bytes);
    for (unsigned skip = 0; skip < 2; skip++) {
        unsigned taken = 0, wrong = 0;
        Qnn_GraphHandle_t g;
        Qnn_ContextHandle_t c = load(skip, &g);
        assert_int_equal(sums(g, 1), N);
        OK(apply(c, g, section, section_bytes, NULL));
        assert_int_equal(sums(g, 2), N);

        hush(true);
        for (uint64_t at = 0; at < section_bytes; at += 61) {
            memcpy(copy, section, section_bytes);
            copy[at] ^= 0x10;
            if (apply(c, g, copy, section_bytes, NULL) != QNN_SUCCESS)
                continue;
            taken++;
            wrong += sums(g, 2) == N - 1;
        }
        for (uint64_t size = 1; size < section_bytes; size += 97)
            assert_int_not_equal(apply(c, g, section, size, NULL), QNN_SUCCESS);
        hush(false);
        print_message("skip %u: %u damaged sections were taken, %u of them change one value\n", skip, taken, wrong);
        assert_true(skip ? wrong > N * sizeof(float) / 61 / 2 : taken == 0);
        OK(apply(c, g, section, section_bytes, NULL));
        assert_int_equal(sums(g, 2), N);
        OK(q.contextFree(c, NULL));
    }
    free(copy);
}

/* A call whose time is over leaves the graph as it was, and can be made again. */
static void test_signal(void **state)
{
    (void)state;
    QnnSignal_Config_t time = { .option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = 1 };
    Qnn_SignalHandle_t late;
    Qnn_GraphHandle_t g;
    Qnn_ContextHandle_t c = load(false, &g);
    OK(q.signalCreate(backend, (const QnnSignal_Config_t *[]){ &time, NULL }, &late));
    FAILS(QNN_CONTEXT_ERROR_TIMED_OUT, apply(c, g, section, section_bytes, late));
    assert_int_equal(sums(g, 1), N);
    OK(apply(c, g, section, section_bytes, NULL));
    assert_int_equal(sums(g, 2), N);
    FAILS(QNN_CONTEXT_ERROR_TIMED_OUT, apply(c, g, section, section_bytes, late));
    assert_int_equal(sums(g, 2), N);
    OK(q.signalFree(late));
    OK(q.contextFree(c, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_signal, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
