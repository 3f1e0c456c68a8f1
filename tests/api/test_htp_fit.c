/* SPDX-License-Identifier: Apache-2.0 */
/* Binaries on other devices than the one they were made for: which run, which run but not at their best
 * (BINARY_COMPATIBILITY), and what is said. Contexts only prepare, so that devices of several architectures fit into one
 * process. */
#include "api_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/QnnProperty.h>

enum { SM8350 = 30, SM8550 = 43, SXR1230P = 45, SM8650 = 57, SM8475 = 42, QCM6490 = 93 };
enum { MAX = 0 /* VTCM, all there is */, TWO = 2, EIGHT = 8 };

#define RUNS QNN_SUCCESS
#define SUBOPTIMAL QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL
#define CANNOT QNN_CONTEXT_ERROR_CREATE_FROM_BINARY
#define OTHER QNN_CONTEXT_ERROR_BINARY_CONFIGURATION

static Qnn_BackendHandle_t backend;

static int setup(void **state)
{
    (void)state;
    unsetenv("OPENQNN_SOC");
    lib_open();
    OK(q.backendCreate(NULL, NULL, &backend));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(q.backendFree(backend));
    lib_close();
    return 0;
}

/* 0: no device handle. */
static Qnn_DeviceHandle_t device_of(uint32_t soc)
{
    Qnn_DeviceHandle_t d = NULL;
    QnnHtpDevice_CustomConfig_t custom;
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    memset(&custom, 0, sizeof custom);
    custom.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC;
    custom.socModel = soc;
    if (soc)
        OK(q.deviceCreate(NULL, (const QnnDevice_Config_t *[]){ &config, NULL }, &d));
    return d;
}

static void free_device(Qnn_DeviceHandle_t d)
{
    if (d)
        OK(q.deviceFree(d));
}

/* ---- a binary --------------------------------------------------------------------------------------------------------- */

struct file {
    void *bytes;
    uint64_t size;
};

static QnnHtpContext_CustomConfig_t prepare_only = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_PREPARE_ONLY,
                                                     .isPrepareOnly = true };
static QnnContext_Config_t offline = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &prepare_only };

static void add_graph(Qnn_ContextHandle_t c, const char *name, uint32_t vtcm_mb)
{
    QnnHtpGraph_CustomConfig_t custom = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE, .vtcmSizeInMB = vtcm_mb };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 8), 1, 0),
                 y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 8), 1, 0);
    OK(q.graphCreate(c, name, (const QnnGraph_Config_t *[]){ &config, NULL }, &g));
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    struct op o = { .name = "relu", .type = "Relu", .ni = 1, .no = 1, .in = { x }, .out = { y } };
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
}

static struct file make(uint32_t soc, uint32_t vtcm_mb)
{
    Qnn_ContextHandle_t c;
    struct file f;
    Qnn_DeviceHandle_t d = device_of(soc);
    OK(q.contextCreate(backend, d, (const QnnContext_Config_t *[]){ &offline, NULL }, &c));
    add_graph(c, "small", TWO);
    add_graph(c, "graph", vtcm_mb);
    OK(q.contextGetBinarySize(c, &f.size));
    f.bytes = malloc(f.size);
    OK(q.contextGetBinary(c, f.bytes, f.size, &f.size));
    OK(q.contextFree(c, NULL));
    free_device(d);
    return f;
}

/* Loading it and validating it are one answer. */
static uint32_t load(const struct file *f, uint32_t soc, bool strict, const char *only)
{
    const char *const names[] = { only, NULL };
    QnnContext_Config_t compatibility = { .option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
                                          .binaryCompatibilityType = strict ? QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT
                                                                            : QNN_CONTEXT_BINARY_COMPATIBILITY_PERMISSIVE },
                        enable = { .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = names };
    const QnnContext_Config_t *config[] = { &offline, &compatibility, only ? &enable : NULL, NULL };
    Qnn_DeviceHandle_t d = device_of(soc);
    Qnn_ContextHandle_t c;
    Qnn_ErrorHandle_t valid = q.contextValidateBinary(backend, d, config, f->bytes, f->size);
    Qnn_ErrorHandle_t e = q.contextCreateFromBinary(backend, d, config, f->bytes, f->size, &c, NULL);
    assert_int_equal(CODE(valid), CODE(e));
    if (e == QNN_SUCCESS)
        OK(q.contextFree(c, NULL));
    free_device(d);
    return CODE(e);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static void test_table(void **state)
{
    (void)state;
    static const struct {
        uint32_t made_for, vtcm_mb, device, permissive, strict;
    } cases[] = {
        { SM8550, MAX, SM8550, RUNS, RUNS },
        { SM8550, EIGHT, SM8550, RUNS, RUNS },
        { SM8550, TWO, SM8550, RUNS, RUNS },         /* a choice of the client */
        { QCM6490, MAX, SM8550, RUNS, SUBOPTIMAL },  /* less VTCM, older */
        { SXR1230P, MAX, SM8550, RUNS, SUBOPTIMAL }, /* of one architecture */
        { SXR1230P, TWO, SM8550, RUNS, SUBOPTIMAL }, /* another SoC */
        { SM8550, EIGHT, SXR1230P, CANNOT, CANNOT }, /* more VTCM than there is */
        { SM8550, MAX, SXR1230P, CANNOT, CANNOT },
        { SM8550, TWO, SXR1230P, RUNS, SUBOPTIMAL },
        { SM8350, MAX, QCM6490, CANNOT, CANNOT }, /* 4 MB and 2 */
        { SM8550, TWO, QCM6490, OTHER, OTHER },   /* newer */
        { SM8550, MAX, 0, RUNS, RUNS },           /* the device is what the binary was made for */
        { 0, EIGHT, SM8550, RUNS, RUNS },         /* made for no SoC in particular */
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        struct file f = make(cases[i].made_for, cases[i].vtcm_mb);
        uint32_t permissive = load(&f, cases[i].device, false, NULL), strict = load(&f, cases[i].device, true, NULL);
        if (permissive != cases[i].permissive || strict != cases[i].strict)
            fail_msg("case %u: %u and strict %u", i, permissive, strict);
        free(f.bytes);
    }
}

static void says(uint32_t code, const char *const *words)
{
    const char *text = NULL;
    OK(q.errorGetVerboseMessage(code, &text));
    for (; *words; words++)
        if (!strstr(text, *words))
            fail_msg("\"%s\" does not say \"%s\"", text, *words);
    q.errorFreeVerboseMessage(text);
}

static void test_sentences(void **state)
{
    (void)state;
    struct file f = make(SM8550, EIGHT), small = make(QCM6490, MAX);
    assert_int_equal(load(&f, SXR1230P, false, NULL), CANNOT);
    says(CANNOT, (const char *const[]){ "SM8550 (v73, VTCM 8 MB)", "\"graph\"", "8388608", "SXR1230P (v73, VTCM 2 MB)",
                                        "vtcm_mb 2", NULL });
    assert_int_equal(load(&f, QCM6490, false, NULL), OTHER);
    says(OTHER, (const char *const[]){ "SM8550", "v73", "QCM6490", "v68", "prepare the model", NULL });
    assert_int_equal(load(&small, SM8550, true, NULL), SUBOPTIMAL);
    says(SUBOPTIMAL, (const char *const[]){ "2 MB", "QCM6490", "SM8550 (v73, VTCM 8 MB)", "PERMISSIVE", NULL });
    free(f.bytes);
    free(small.bytes);
}

/* Graphs that are not enabled need no VTCM. */
static void test_enabled(void **state)
{
    (void)state;
    struct file f = make(SM8550, EIGHT);
    assert_int_equal(load(&f, SXR1230P, false, "small"), RUNS);
    assert_int_equal(load(&f, SXR1230P, false, "graph"), CANNOT);
    free(f.bytes);
}

/* Who sets OPENQNN_SOC has named a device; one that is made by the client counts more. */
static void test_variable(void **state)
{
    (void)state;
    struct file f = make(SM8550, EIGHT), small = make(QCM6490, MAX);
    setenv("OPENQNN_SOC", "QCM6490", 1);
    assert_int_equal(load(&f, 0, false, NULL), OTHER);
    assert_int_equal(load(&f, SM8550, true, NULL), RUNS);
    assert_int_equal(load(&small, 0, true, NULL), RUNS);
    setenv("OPENQNN_SOC", "SXR1230P", 1);
    assert_int_equal(load(&f, 0, false, NULL), CANNOT);
    assert_int_equal(load(&small, 0, true, NULL), SUBOPTIMAL);
    setenv("OPENQNN_SOC", "nonsense", 1);
    assert_int_equal(load(&f, 0, true, NULL), RUNS);
    unsetenv("OPENQNN_SOC");
    free(f.bytes);
    free(small.bytes);
}

static void test_values(void **state)
{
    (void)state;
    struct file f = make(SM8550, MAX);
    QnnContext_Config_t odd = { .option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
                                .binaryCompatibilityType = (QnnContext_BinaryCompatibilityType_t)7 };
    const QnnContext_Config_t *config[] = { &odd, NULL };
    Qnn_ContextHandle_t c;
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "7",
                 q.contextCreateFromBinary(backend, NULL, config, f.bytes, f.size, &c, NULL));
    OK(q.propertyHasCapability(QNN_PROPERTY_CONTEXT_SUPPORT_CONFIG_BINARY_COMPATIBILITY_TYPE));
    free(f.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sentences, setup, teardown),
        cmocka_unit_test_setup_teardown(test_enabled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_variable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
