/* SPDX-License-Identifier: Apache-2.0 */
/* Options of HTP graphs that store constants in fewer bytes: WEIGHTS_PACKING, ENABLE_DLBC_WEIGHTS,
 * ENABLE_SPARSE_WEIGHTS_COMPRESSION. The file shrinks, the estimate moves fewer bytes, and results keep their bits. */
#include "api_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/System/QnnSystemContext.h>

enum { SIDE = 256, WEIGHTS = SIDE * SIDE, PAGE = 4096 };
enum { SA8255 = 52, SM8550 = 43 };
enum { WEIGHT_BYTES = 30006 /* event: moved by DMA */ };

static Qnn_BackendHandle_t backend;
static Qnn_DeviceHandle_t device;

static void open_device(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t custom = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnDevice_Config_t *list[] = { &config, NULL };

    OK(q.backendCreate(NULL, NULL, &backend));
    OK(q.deviceCreate(NULL, list, &device));
}

static void close_device(void)
{
    OK(q.deviceFree(device));
    OK(q.backendFree(backend));
}

/* ---- a layer, its file, and what that computes ------------------------------------------------------------------------ */

static uint8_t weights[WEIGHTS];

struct result {
    uint64_t file_bytes, moved;
    uint8_t y[SIDE];
};

static struct net layer(Qnn_ContextHandle_t context, QnnHtpGraph_CustomConfig_t *custom)
{
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = custom };
    const QnnGraph_Config_t *list[] = { custom ? &config : NULL, NULL };
    struct net n = { .x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, SIDE), 0.5f, -128),
                     .y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, SIDE), 16.0f, -128) };
    Qnn_Tensor_t w = WITH(tensor_quant(TENSOR("w", STATIC, UFIXED_POINT_8, SIDE, SIDE), 1.0f, -128), weights);

    OK(q.graphCreate(context, "layer", list, &n.graph));
    OK(q.tensorCreateGraphTensor(n.graph, &n.x));
    OK(q.tensorCreateGraphTensor(n.graph, &n.y));
    OK(q.tensorCreateGraphTensor(n.graph, &w));
    struct op product = { "product", "FullyConnected", NULL, 0, 2, 1, { QNN_PARAM_INIT }, { n.x, w }, { n.y } };
    OK(op_add(n.graph, &product));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static void run(const struct net *n, struct result *ret)
{
    uint8_t x[SIDE];
    uint32_t count;
    Qnn_ProfileHandle_t profile;

    for (unsigned i = 0; i < SIDE; i++)
        x[i] = (uint8_t)(i * 37 + 11);
    Qnn_Tensor_t in = WITH(n->x, x);
    Qnn_Tensor_t out = WITH(n->y, ret->y);
    OK(q.profileCreate(backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    OK(q.graphExecute(n->graph, &in, 1, &out, 1, profile, NULL));
    const struct event *e = profile_events(profile, &count);
    ret->moved = 0;
    for (uint32_t i = 0; i < count; i++)
        ret->moved += e[i].data.type == WEIGHT_BYTES ? e[i].data.value : 0;
    OK(q.profileFree(profile));
}

/* Runs what was prepared, and what was saved of it; both compute the same. */
static struct result save_and_run(QnnHtpGraph_CustomConfig_t *custom)
{
    struct result prepared, loaded;
    Qnn_ContextHandle_t context;
    uint64_t written;

    OK(q.contextCreate(backend, device, NULL, &context));
    struct net n = layer(context, custom);
    run(&n, &prepared);
    OK(q.contextGetBinarySize(context, &prepared.file_bytes));
    void *file = malloc(prepared.file_bytes + 1);
    assert_non_null(file);
    OK(q.contextGetBinary(context, file, prepared.file_bytes, &written));
    assert_int_equal(written, prepared.file_bytes);
    OK(q.contextFree(context, NULL));

    OK(q.contextValidateBinary(backend, device, NULL, file, written));
    OK(q.contextCreateFromBinary(backend, device, NULL, file, written, &context, NULL));
    OK(q.graphRetrieve(context, "layer", &n.graph));
    run(&n, &loaded);
    OK(q.contextFree(context, NULL));
    assert_memory_equal(prepared.y, loaded.y, SIDE);
    assert_int_equal(prepared.moved, loaded.moved);

    char *damaged = memcpy(malloc(written), file, written);
    damaged[written - 1] ^= 0x55; /* of the last constant */
    assert_int_not_equal(q.contextCreateFromBinary(backend, device, NULL, damaged, written, &context, NULL), QNN_SUCCESS);
    free(damaged);
    free(file);
    return prepared;
}

#define FLAG(id) ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_##id, .weightsPacking = true })
#define OPTIMIZE(id, value)                                                            \
    ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION, \
                                   .optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_##id, value } })

static uint32_t draw(void)
{
    static uint32_t state = 12345;

    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

/* Weights from -8 to 7, then one of them 8: two per byte, then one per byte. */
static void test_weights_packing(void **state)
{
    (void)state;
    QnnHtpGraph_CustomConfig_t on = FLAG(WEIGHTS_PACKING);

    open_device(SM8550);
    for (unsigned i = 0; i < WEIGHTS; i++)
        weights[i] = (uint8_t)(128 - 8 + draw() % 16);
    struct result plain = save_and_run(NULL);
    struct result packed = save_and_run(&on);

    assert_memory_equal(plain.y, packed.y, SIDE);
    assert_in_range(plain.file_bytes - packed.file_bytes, WEIGHTS / 2 - 1024,
                    WEIGHTS / 2 + PAGE); /* plain ones lie on a page */
    assert_in_range(packed.moved, plain.moved / 2, plain.moved * 6 / 10);

    weights[WEIGHTS / 3] = 128 + 8;
    plain = save_and_run(NULL);
    struct result wide = save_and_run(&on);
    assert_int_equal(wide.file_bytes, plain.file_bytes);
    assert_int_equal(wide.moved, plain.moved);
    close_device();
}

/* A normal distribution, as weights of networks have it, of which most values are small. */
static void fill_normal(double deviation)
{
    enum { TERMS = 12, STEPS = 4096 };

    for (unsigned i = 0; i < WEIGHTS; i++) {
        double sum = -TERMS / 2.0;
        for (unsigned k = 0; k < TERMS; k++)
            sum += (draw() % STEPS + 0.5) / STEPS;
        weights[i] = (uint8_t)(128 + lrint(fmax(-127, fmin(127, sum * deviation))));
    }
}

static double entropy(void)
{
    uint32_t counts[256] = { 0 };
    double bits = 0;

    for (unsigned i = 0; i < WEIGHTS; i++)
        counts[weights[i]]++;
    for (unsigned v = 0; v < 256; v++)
        bits -= counts[v] ? counts[v] * log2(counts[v] / (double)WEIGHTS) : 0;
    return bits / 8;
}

/* What no code could do better bounds the file from below; what cannot be compressed stays as it is. */
static void test_dlbc_weights(void **state)
{
    (void)state;
    QnnHtpGraph_CustomConfig_t on = OPTIMIZE(ENABLE_DLBC_WEIGHTS, 1);

    open_device(SM8550);
    fill_normal(12);
    struct result plain = save_and_run(NULL);
    struct result packed = save_and_run(&on);
    uint64_t saved = plain.file_bytes - packed.file_bytes;

    assert_memory_equal(plain.y, packed.y, SIDE);
    assert_true(saved > WEIGHTS / 5 && saved < plain.file_bytes - (uint64_t)entropy());
    double stored = 1 - saved / (double)WEIGHTS;
    assert_in_range(packed.moved, (uint64_t)(plain.moved * (stored - 0.1)), (uint64_t)(plain.moved * (stored + 0.1)));

    for (unsigned i = 0; i < WEIGHTS; i++)
        weights[i] = (uint8_t)draw();
    plain = save_and_run(NULL);
    packed = save_and_run(&on);
    assert_memory_equal(plain.y, packed.y, SIDE);
    assert_in_range(packed.file_bytes, plain.file_bytes - 8192, plain.file_bytes); /* sums and scales get smaller */
    close_device();
}

/* Nine of ten weights are zero. Other SoCs do not have it. */
static void test_sparse_weights(void **state)
{
    (void)state;
    QnnHtpGraph_CustomConfig_t on = OPTIMIZE(ENABLE_SPARSE_WEIGHTS_COMPRESSION, 1);

    open_device(SA8255);
    for (unsigned i = 0; i < WEIGHTS; i++)
        weights[i] = draw() % 10 ? 128 : (uint8_t)draw();
    struct result plain = save_and_run(NULL);
    struct result packed = save_and_run(&on);
    assert_memory_equal(plain.y, packed.y, SIDE);
    assert_in_range(plain.file_bytes - packed.file_bytes, WEIGHTS * 7 / 10, WEIGHTS * 9 / 10);
    assert_in_range(packed.moved, plain.moved / 5, plain.moved * 3 / 10);
    close_device();
}

int main(void)
{
    lib_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_packing),
        cmocka_unit_test(test_dlbc_weights),
        cmocka_unit_test(test_sparse_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
