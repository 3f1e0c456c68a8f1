/* SPDX-License-Identifier: Apache-2.0 */
/* The model of the LPAI clients and the calls they share. */
#include "lpai_model.h"

static Qnn_Tensor_t make(Qnn_GraphHandle_t g, int version, const char *name, Qnn_TensorType_t type)
{
    return client_create(
        g, (struct tensor_spec){ version, name, type, QNN_DATATYPE_SFIXED_POINT_8, 2, { 1, LPAI_N }, NULL, 0, 0.25f, 0 });
}

void lpai_model_add(Qnn_GraphHandle_t g, int version, Qnn_BackendHandle_t backend)
{
    Qnn_Tensor_t x = make(g, version, "x", QNN_TENSOR_TYPE_APP_WRITE), mid = make(g, version, "mid", QNN_TENSOR_TYPE_NATIVE),
                 y = make(g, version, "y", QNN_TENSOR_TYPE_APP_READ);
    struct node_spec relu = { "relu", "Relu", 0, 1, 1, { { 0 } }, { x }, { mid } };
    struct node_spec sum = { "sum", "ElementWiseAdd", 0, 2, 1, { { 0 } }, { mid, x }, { y } };
    struct node_spec *nodes[] = { &relu, &sum };
    for (unsigned i = 0; i < COUNT(nodes); i++) {
        if (backend)
            MUST(qnn.backendValidateOpConfig(backend, client_config(nodes[i])));
        MUST(qnn.graphAddNode(g, client_config(nodes[i])));
    }
}

void lpai_model_check(const int8_t *x, const int8_t *y)
{
    for (int i = 0; i < LPAI_N; i++) {
        int want = x[i] + (x[i] > 0 ? x[i] : 0);
        CHECK(y[i] == (want > 127 ? 127 : want));
    }
}

Qnn_ErrorHandle_t lpai_backend_property(Qnn_BackendHandle_t b, uint32_t option, void *value)
{
    QnnLpaiBackend_CustomProperty_t custom = { option, value };
    QnnBackend_Property_t p = { .option = QNN_BACKEND_PROPERTY_OPTION_CUSTOM, .customProperty = &custom };
    QnnBackend_Property_t *list[] = { &p, NULL };
    return qnn.backendGetProperty(b, list);
}

Qnn_ErrorHandle_t lpai_graph_property(Qnn_GraphHandle_t g, uint32_t option, void *value)
{
    QnnLpaiGraph_CustomProperty_t custom = { option, value };
    QnnGraph_Property_t p = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM, .customProperty = &custom };
    QnnGraph_Property_t *list[] = { &p, NULL };
    return qnn.graphGetProperty(g, list);
}

Qnn_ErrorHandle_t lpai_graph_config(Qnn_GraphHandle_t g, uint32_t option, void *value)
{
    QnnLpaiGraph_CustomConfig_t custom = { option, value };
    QnnGraph_Config_t c = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &c, NULL };
    return qnn.graphSetConfig(g, list);
}

Qnn_BackendHandle_t lpai_backend(QnnLpaiBackend_Target_t target, QnnLpaiBackend_HwVersion_t version)
{
    const char *wanted = getenv("LPAI_TEST_TARGET"); /* arm: the same sequences in a session */
    if (wanted && strcmp(wanted, "arm") == 0 && target == QNN_LPAI_BACKEND_TARGET_X86)
        target = QNN_LPAI_BACKEND_TARGET_ARM;
    QnnLpaiBackend_CustomConfigHwInfo_t hw = { target, version };
    QnnLpaiBackend_CustomConfig_t custom = { QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO, &hw };
    QnnBackend_Config_t config = { .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnBackend_Config_t *list[] = { &config, NULL };
    Qnn_BackendHandle_t b;
    MUST(qnn.backendCreate(NULL, list, &b));
    return b;
}

void *lpai_pool(Qnn_GraphHandle_t g, uint32_t size_option, uint32_t mem_option)
{
    uint32_t size = UINT32_MAX;
    MUST(lpai_graph_property(g, size_option, &size));
    CHECK(size < 4096);
    QnnLpaiGraph_Mem_t mem = { QNN_LPAI_MEM_TYPE_DDR, size, size ? aligned_alloc(256, (size + 255) / 256 * 256) : NULL };
    MUST(lpai_graph_config(g, mem_option, &mem));
    return mem.addr;
}
