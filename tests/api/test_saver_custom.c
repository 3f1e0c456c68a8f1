/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnSaver.so: settings that only one backend has. Those of LPAI, memory for scratch among them, are repeated on
 * libQnnLpai.so, which must compute what it computes directly; those of the GPU are compared as text, since a device is
 * seldom there.
 *
 *     test_saver_custom COMPILER INCLUDE_FOLDER */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/GPU/QnnGpuBackend.h>
#include <QNN/GPU/QnnGpuContext.h>
#include <QNN/GPU/QnnGpuGraph.h>
#include <QNN/LPAI/QnnLpaiBackend.h>
#include <QNN/LPAI/QnnLpaiGraph.h>

#include "saver_kit.h"

enum { N = 64, ROOM = 1 << 16 };

/* ---- LPAI ------------------------------------------------------------------------------------------------------------- */

static void set_graph(Qnn_GraphHandle_t g, uint32_t option, void *config)
{
    QnnLpaiGraph_CustomConfig_t custom = { option, config };
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    OK(q.graphSetConfig(g, (const QnnGraph_Config_t *[]){ &c, NULL }));
}

static void play_lpai(uint8_t out[N])
{
    QnnLpaiBackend_CustomConfigHwInfo_t hardware = { QNN_LPAI_BACKEND_TARGET_X86, QNN_LPAI_BACKEND_HW_VERSION_V6 };
    QnnLpaiBackend_CustomConfig_t custom = { QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO, &hardware };
    QnnBackend_Config_t config = { .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    QnnLpaiGraph_PerfCfg_t speed = { 5, 20, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_NON_REAL_TIME };
    QnnLpaiGraph_CoreAffinity_t core = { QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 0 };
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(q.backendCreate(NULL, (const QnnBackend_Config_t *[]){ &config, NULL }, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.graphCreate(c, "g", NULL, &g));
    Qnn_Tensor_t x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, N), 0.5f, -100);
    Qnn_Tensor_t t = tensor_quant(TENSOR("t", NATIVE, UFIXED_POINT_8, 1, N), 0.25f, -90);
    Qnn_Tensor_t y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, N), 1 / 256.0f, 0);
    Qnn_Tensor_t *all[] = { &x, &t, &y };
    for (size_t i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(g, all[i]));
    OK(op_add(g, &(struct op){ .name = "r", .type = QNN_OP_RELU, .ni = 1, .in = { x }, .no = 1, .out = { t } }));
    OK(op_add(g, &(struct op){ .name = "s", .type = QNN_OP_SOFTMAX, .ni = 1, .in = { t }, .no = 1, .out = { y } }));
    OK(q.graphFinalize(g, NULL, NULL));
    void *scratch = aligned_alloc(64, ROOM), *persistent = aligned_alloc(64, ROOM);
    QnnLpaiGraph_Mem_t one = { QNN_LPAI_MEM_TYPE_DDR, ROOM, scratch }, two = { QNN_LPAI_MEM_TYPE_DDR, ROOM, persistent };
    set_graph(g, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, &one);
    set_graph(g, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, &two);
    set_graph(g, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &speed);
    set_graph(g, QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, &core);
    OK(q.graphFinalize(g, NULL, NULL)); /* once more, with its memory */
    _Alignas(64) uint8_t in[N], result[N];
    for (int i = 0; i < N; i++)
        in[i] = (uint8_t)(i * 37 + 11);
    Qnn_Tensor_t a = tensor_data(x, in, N), z = tensor_data(y, result, N);
    OK(q.graphExecute(g, &a, 1, &z, 1, NULL, NULL));
    memcpy(out, result, N);
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(b));
    free(scratch);
    free(persistent);
}

static void test_lpai(void **state)
{
    (void)state;
    uint8_t wanted[N], got[N + 1];
    void *lib = open_saver();
    OK(record_to("lpai", QNN_BACKEND_ID_LPAI));
    play_lpai(wanted);
    dlclose(lib);
    char *text = text_of("lpai/saver_output.c");
    assert_non_null(strstr(text, "{ .fps = 5, .ftrtRatio = 20, .clientType = 2 }"));
    assert_non_null(strstr(text, ".size = 65536, .addr = buffer(65536u)"));
    assert_null(strstr(text, "left out"));
    free(text);
    lib = open_table("libQnnLpai.so");
    play_lpai(wanted);
    dlclose(lib);
    if (!compile("lpai"))
        skip();
    assert_int_equal(replay("lpai", "libQnnLpai.so"), 0);
    char name[64];
    snprintf(name, sizeof name, "lpai/execute_%u_0.raw", replayed_call("lpai", "QnnGraph_execute", 0));
    assert_int_equal(read_file(name, got, sizeof got), N);
    assert_memory_equal(got, wanted, N);
}

/* ---- GPU -------------------------------------------------------------------------------------------------------------- */

static void test_gpu(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    QnnGpuBackend_CustomConfig_t tuning = { .option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR,
                                            .performanceCacheDir = "kept/here" };
    QnnGpuContext_CustomConfig_t hint = { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT,
                                          .perfHint = QNN_GPU_CONTEXT_PERF_HINT_LOW };
    QnnGpuGraph_CustomConfig_t old = { .precision = QNN_GPU_PRECISION_HYBRID, .disableQueueRecording = 1 };
    QnnGpuGraph_CustomConfigV2_t new = { .handshake = QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG,
                                         .option = QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_NODE_OPTIMIZATIONS,
                                         .disableNodeOptimizations = 1 };
    QnnBackend_Config_t bc = { .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &tuning };
    QnnContext_Config_t cc = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &hint };
    QnnGraph_Config_t gc[] = { { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &old },
                               { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &new } };
    void *lib = open_saver();
    OK(record_to("gpu", QNN_BACKEND_ID_GPU));
    OK(q.backendCreate(NULL, (const QnnBackend_Config_t *[]){ &bc, NULL }, &b));
    OK(q.contextCreate(b, NULL, (const QnnContext_Config_t *[]){ &cc, NULL }, &c));
    OK(q.graphCreate(c, "g", (const QnnGraph_Config_t *[]){ &gc[0], &gc[1], NULL }, &g));
    OK(q.backendFree(b));
    dlclose(lib);
    char *text = text_of("gpu/saver_output.c");
    assert_non_null(strstr(
        text, "QnnGpuBackend_CustomConfig_t a1[] = { \n        { .option = 1, .performanceCacheDir = \"kept/here\" } };"));
    assert_non_null(strstr(text, "{ .perfHint = 2 }"));
    assert_non_null(
        strstr(text, "QnnGpuGraph_CustomConfig_t a1[] = { \n        { .precision = 2, .disableQueueRecording = 1 } };"));
    assert_non_null(strstr(text, ".option = 2, .disableNodeOptimizations = 1 } };"));
    free(text);
    compile("gpu");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lpai), cmocka_unit_test(test_gpu) };
    if (saver_kit_begin(argc, argv))
        return 1;
    return cmocka_run_group_tests(tests, NULL, saver_kit_end);
}
