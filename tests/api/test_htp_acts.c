/* SPDX-License-Identifier: Apache-2.0 */
/* Options of HTP graphs that change what is prepared: numbers, units, the estimate. */
#include "api_test.h"

#include <math.h>
#include <string.h>

#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/HTP/QnnHtpProfile.h>

enum { SM8750 = 69, SM8735 = 85 };
enum { CYCLES = QNN_HTP_PROFILE_EVENTTYPE_GRAPH_FINALIZE_PERF_ESTIMATE_SIM_EXEC_CYCLES };

static struct place {
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
} at;

static void place_on(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t custom = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnDevice_Config_t *list[] = { &config, NULL };

    OK(q.backendCreate(NULL, NULL, &at.backend));
    OK(q.deviceCreate(NULL, list, &at.device));
    OK(q.contextCreate(at.backend, at.device, NULL, &at.context));
}

static void leave(void)
{
    OK(q.contextFree(at.context, NULL));
    OK(q.deviceFree(at.device));
    OK(q.backendFree(at.backend));
}

#define FLAG(id, on) \
    ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_##id, .foldReluActivationIntoConvOff = on })
#define OPTIMIZE(id, value)                                                            \
    ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION, \
                                   .optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_##id, value } })
#define VTCM_MB(n) ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB, .vtcmSizeInMB = n })

static Qnn_GraphHandle_t graph_with(const QnnHtpGraph_CustomConfig_t *custom, unsigned n)
{
    static unsigned serial;
    QnnGraph_Config_t configs[4];
    const QnnGraph_Config_t *list[5] = { NULL };
    Qnn_GraphHandle_t graph;

    for (unsigned i = 0; i < n; i++) {
        configs[i] =
            (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = (void *)(uintptr_t)&custom[i] };
        list[i] = &configs[i];
    }
    OK(q.graphCreate(at.context, keep_name("graph_%u", serial++), list, &graph));
    return graph;
}

static void change(Qnn_GraphHandle_t graph, QnnHtpGraph_CustomConfig_t custom)
{
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &config, NULL };

    OK(q.graphSetConfig(graph, list));
}

/* The value of an event of a type, all values of it added up. */
static uint64_t sum_of(Qnn_ProfileHandle_t profile, uint32_t type)
{
    uint64_t sum = 0;
    uint32_t n;
    const struct event *e = profile_events(profile, &n);

    for (uint32_t i = 0; i < n; i++)
        sum += e[i].data.type == type ? e[i].data.value : 0;
    return sum;
}

static uint64_t finalize_cycles(Qnn_GraphHandle_t graph)
{
    Qnn_ProfileHandle_t profile;

    OK(q.profileCreate(at.backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    OK(q.graphFinalize(graph, profile, NULL));
    uint64_t cycles = sum_of(profile, CYCLES);
    OK(q.profileFree(profile));
    return cycles;
}

/* ---- a Relu behind a product ------------------------------------------------------------------------------------------ */

enum { TERMS = 4 };
#define RELU_STEP 4.0f

/* y = Relu(x * w); the product has so many steps to one, up to 255 of them, the Relu steps of 4 up to 1020. */
static void run_layer(const QnnHtpGraph_CustomConfig_t *custom, float step, const uint8_t *x, uint8_t *y)
{
    static const uint8_t filter[TERMS * TERMS] = { 1, 2, 3, 4, 0, 1, 0, 2, 1, 0, 0, 1, 0, 0, 0, 1 };
    struct net n = { .graph = graph_with(custom, custom ? 1 : 0),
                     .x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, TERMS), 1.0f, 0),
                     .y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, TERMS), RELU_STEP, 0) };
    Qnn_Tensor_t w = WITH(tensor_quant(TENSOR("w", STATIC, UFIXED_POINT_8, TERMS, TERMS), 1.0f, 0), filter);
    Qnn_Tensor_t t = tensor_quant(TENSOR("t", NATIVE, UFIXED_POINT_8, 1, TERMS), step, 0);

    OK(q.tensorCreateGraphTensor(n.graph, &n.x));
    OK(q.tensorCreateGraphTensor(n.graph, &n.y));
    OK(q.tensorCreateGraphTensor(n.graph, &w));
    OK(q.tensorCreateGraphTensor(n.graph, &t));
    struct op product = { "product", "FullyConnected", NULL, 0, 2, 1, { QNN_PARAM_INIT }, { n.x, w }, { t } };
    struct op relu = { "relu", "Relu", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { t }, { n.y } };
    OK(op_add(n.graph, &product));
    OK(op_add(n.graph, &relu));
    OK(q.graphFinalize(n.graph, NULL, NULL));

    Qnn_Tensor_t in = tensor_data(n.x, x, TERMS);
    Qnn_Tensor_t out = tensor_data(n.y, y, TERMS);
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, NULL, NULL));
}

static double stored(double x, double step)
{
    double steps = rint(x / step); /* ties to even */

    return fmin(fmax(steps, 0), 255);
}

/* Folded, a sum is rounded once, to steps of the Relu; apart, first to those of the product, and cut to its range.
 * With steps of 1 the sum of 300 differs, with steps of 3 those of 74 and 19: 74 are 18.5 steps of 4, but 25 steps of 3,
 * which are 18.75 of 4. */
static void test_relu_encoding(void **state)
{
    (void)state;
    static const uint8_t x[TERMS] = { 55, 71, 9, 19 };
    const QnnHtpGraph_CustomConfig_t off = FLAG(FOLD_RELU_ACTIVATION_INTO_CONV_OFF, true);
    const uint32_t sums[TERMS] = { 55 + 2 * 71 + 3 * 9 + 4 * 19, 71 + 2 * 19, 55 + 19, 19 };
    const unsigned other[] = { 1, 2 };
    uint8_t apart[TERMS];
    uint8_t folded[TERMS];

    place_on(SM8750);
    for (unsigned k = 0; k < 2; k++) {
        double step = k ? 3 : 1;
        unsigned differ = 0;

        run_layer(&off, (float)step, x, apart);
        run_layer(NULL, (float)step, x, folded);
        for (unsigned i = 0; i < TERMS; i++) {
            assert_int_equal(apart[i], stored(stored(sums[i], step) * step, RELU_STEP));
            assert_int_equal(folded[i], stored(sums[i], RELU_STEP));
            differ += apart[i] != folded[i];
        }
        assert_int_equal(differ, other[k]);
    }
    leave();
}

/* ---- convolutions ----------------------------------------------------------------------------------------------------- */

enum { SIDE = 32, CHANNELS = 256, MOST_DEPTH = 256 };

/* y = activation(convolution(x)), 3 x 3, of `depth` input channels. */
static struct net convolution(const QnnHtpGraph_CustomConfig_t *custom, uint32_t depth, const char *activation)
{
    static uint8_t filter[3 * 3 * MOST_DEPTH * CHANNELS];
    static const float slope[CHANNELS];
    static const uint32_t two[] = { 2 };
    static const uint32_t edges[] = { 2, 2 };
    static const uint32_t ones[] = { 1, 1, 1, 1 };
    Qnn_GraphHandle_t graph = graph_with(custom, custom ? 1 : 0);
    struct net n = { .graph = graph,
                     .x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, SIDE, SIDE, depth), 1.0f, 0),
                     .y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 10.0f, 0) };
    Qnn_Tensor_t w = tensor_quant(TENSOR("w", STATIC, UFIXED_POINT_8, 3, 3, depth, CHANNELS), 1.0f, -7);
    Qnn_Tensor_t t = tensor_quant(TENSOR("t", NATIVE, UFIXED_POINT_8, 1, SIDE, SIDE, CHANNELS), 9.0f, 0);
    Qnn_Tensor_t a = WITH(TENSOR("a", STATIC, FLOAT_32, CHANNELS), slope);

    w = tensor_data(w, filter, 9 * depth * CHANNELS);
    OK(q.tensorCreateGraphTensor(graph, &n.x));
    OK(q.tensorCreateGraphTensor(graph, &n.y));
    OK(q.tensorCreateGraphTensor(graph, &w));
    OK(q.tensorCreateGraphTensor(graph, &t));
    struct op conv = { "conv",
                       "Conv2d",
                       NULL,
                       2,
                       2,
                       1,
                       { param_u32s(graph, "stride", 1, two, ones), param_u32s(graph, "pad_amount", 2, edges, ones) },
                       { n.x, w },
                       { t } };
    OK(op_add(graph, &conv));
    struct op last = { "last", activation, NULL, 0, 1, 1, { QNN_PARAM_INIT }, { t }, { n.y } };
    if (strcmp(activation, "Prelu") == 0) {
        a = tensor_quant(a, 1.0f, 0);
        TV(a).dataType = QNN_DATATYPE_UFIXED_POINT_8;
        TV(a).clientBuf.dataSize = CHANNELS;
        OK(q.tensorCreateGraphTensor(graph, &a));
        last.in[last.ni++] = a;
    }
    OK(op_add(graph, &last));
    return n;
}

static uint64_t cycles_of(const QnnHtpGraph_CustomConfig_t *custom, uint32_t depth, const char *activation)
{
    return finalize_cycles(convolution(custom, depth, activation).graph);
}

/* An operator of its own is launched, and walks over all of the result. */
static void test_activation_fusion(void **state)
{
    (void)state;
    const QnnHtpGraph_CustomConfig_t fold_off = FLAG(FOLD_RELU_ACTIVATION_INTO_CONV_OFF, true);
    const QnnHtpGraph_CustomConfig_t fusion_off = FLAG(ADVANCED_ACTIVATION_FUSION, false);

    place_on(SM8750);
    assert_true(cycles_of(&fold_off, MOST_DEPTH, "Relu") > cycles_of(NULL, MOST_DEPTH, "Relu"));
    assert_int_equal(cycles_of(&fusion_off, MOST_DEPTH, "Relu"), cycles_of(NULL, MOST_DEPTH, "Relu"));
    assert_true(cycles_of(&fusion_off, MOST_DEPTH, "Prelu") > cycles_of(NULL, MOST_DEPTH, "Prelu"));
    assert_int_equal(cycles_of(&fold_off, MOST_DEPTH, "Prelu"), cycles_of(NULL, MOST_DEPTH, "Prelu"));
    leave();
}

/* Units that work for the operators, of a profile of level linting: 1 the matrix unit, 2 vectors, 4 DMA. */
static uint64_t units_of(struct net *n)
{
    static uint8_t x[SIDE * SIDE * MOST_DEPTH];
    static uint8_t y[SIDE * SIDE * CHANNELS];
    Qnn_ProfileHandle_t profile;
    uint64_t units = 0;
    uint32_t count;
    Qnn_Tensor_t in = tensor_data(n->x, x, SIDE * SIDE * TV(n->x).dimensions[3]);
    Qnn_Tensor_t out = WITH(n->y, y);

    OK(q.profileCreate(at.backend, QNN_HTP_PROFILE_LEVEL_LINTING, &profile));
    OK(q.graphExecute(n->graph, &in, 1, &out, 1, profile, NULL));
    const struct event *e = profile_events(profile, &count);
    for (uint32_t i = 0; i < count; i++)
        units |= e[i].data.type == QNN_HTP_PROFILE_EVENTTYPE_NODE_RESOURCEMASK ? e[i].data.value : 0;
    OK(q.profileFree(profile));
    return units;
}

/* Convolutions of few input channels leave the matrix unit, others do not. */
static void test_short_depth(void **state)
{
    (void)state;
    enum { MATRIX = 1, SHORT = 8 };
    const QnnHtpGraph_CustomConfig_t off = FLAG(SHORT_DEPTH_CONV_ON_HMX_OFF, true);

    place_on(SM8750);
    struct net on_matrix = convolution(NULL, SHORT, "Relu");
    struct net on_vectors = convolution(&off, SHORT, "Relu");
    struct net deep = convolution(&off, MOST_DEPTH, "Relu");
    uint64_t fast = finalize_cycles(on_matrix.graph);
    uint64_t slow = finalize_cycles(on_vectors.graph);

    assert_true(slow > fast);
    assert_int_equal(finalize_cycles(deep.graph), cycles_of(NULL, MOST_DEPTH, "Relu"));
    assert_int_equal(units_of(&on_matrix) & MATRIX, MATRIX);
    assert_int_equal(units_of(&on_vectors) & MATRIX, 0);
    assert_int_equal(units_of(&deep) & MATRIX, MATRIX);
    leave();
}

/* ---- levels ----------------------------------------------------------------------------------------------------------- */

enum { PIXELS = 56, NARROW = 32, WIDER = 192 };

struct block {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, t, u, y;
};

static Qnn_Tensor_t image(const char *name, Qnn_TensorType_t type, uint32_t channels)
{
    Qnn_Tensor_t t = tensor_quant(TENSOR(name, NATIVE, UFIXED_POINT_8, 1, PIXELS, PIXELS, channels), 8.0f, -128);

    TV(t).type = type;
    return t;
}

static void add_layer(Qnn_GraphHandle_t graph, const char *type, Qnn_Tensor_t x, Qnn_Tensor_t y, uint32_t window)
{
    static uint8_t filter[NARROW * WIDER];
    static const uint32_t two[] = { 2 };
    static const uint32_t edges[] = { 2, 2 };
    static const uint32_t ones[] = { 1, 1 };
    const uint32_t pads[] = { window / 2, window / 2, window / 2, window / 2 };
    const uint32_t in = window == 1 ? TV(x).dimensions[3] : 1;
    const uint32_t out = TV(y).dimensions[3];
    Qnn_Tensor_t w =
        tensor_quant(TENSOR(keep_name("%s_w", TV(y).name), STATIC, UFIXED_POINT_8, window, window, in, out), 1.0f, -7);

    for (unsigned i = 0; i < sizeof filter; i++)
        filter[i] = (uint8_t)(i * 7 % 15);
    w = tensor_data(w, filter, window * window * in * out);
    OK(q.tensorCreateGraphTensor(graph, &w));
    struct op layer = { keep_name("%s_layer", TV(y).name),
                        type,
                        NULL,
                        2,
                        2,
                        1,
                        { param_u32s(graph, "stride", 1, two, ones), param_u32s(graph, "pad_amount", 2, edges, pads) },
                        { x, w },
                        { y } };
    OK(op_add(graph, &layer));
}

/* As in MobileNetV2: more channels, a window for each, fewer channels. */
static struct block block_at(float level)
{
    const QnnHtpGraph_CustomConfig_t custom = OPTIMIZE(FINALIZE_OPTIMIZATION_FLAG, level);
    struct block b = { .graph = graph_with(&custom, 1),
                       .x = image("x", QNN_TENSOR_TYPE_APP_WRITE, NARROW),
                       .t = image("t", QNN_TENSOR_TYPE_NATIVE, WIDER),
                       .u = image("u", QNN_TENSOR_TYPE_NATIVE, WIDER),
                       .y = image("y", QNN_TENSOR_TYPE_APP_READ, NARROW) };
    Qnn_Tensor_t *all[] = { &b.x, &b.t, &b.u, &b.y };

    for (unsigned i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(b.graph, all[i]));
    add_layer(b.graph, "Conv2d", b.x, b.t, 1);
    add_layer(b.graph, "DepthWiseConv2d", b.t, b.u, 3);
    add_layer(b.graph, "Conv2d", b.u, b.y, 1);
    return b;
}

/* Level 3 tries plans that the others do not, and computes the same. */
static void test_levels_differ(void **state)
{
    (void)state;
    static uint8_t x[PIXELS * PIXELS * NARROW];
    static uint8_t y[4][PIXELS * PIXELS * NARROW];
    uint64_t cycles[4];

    place_on(SM8750);
    for (unsigned i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(i * 31 % 251);
    for (unsigned level = 1; level <= 3; level++) {
        struct block b = block_at((float)level);

        cycles[level] = finalize_cycles(b.graph);
        Qnn_Tensor_t in = WITH(b.x, x);
        Qnn_Tensor_t out = WITH(b.y, y[level]);
        OK(q.graphExecute(b.graph, &in, 1, &out, 1, NULL, NULL));
    }
    assert_true(cycles[2] <= cycles[1]);
    assert_true(cycles[3] < cycles[2]);
    assert_memory_equal(y[1], y[3], sizeof x);
    assert_memory_equal(y[2], y[3], sizeof x);
    leave();
}

/* ---- clocks ----------------------------------------------------------------------------------------------------------- */

#define CLOCKS(hmx, core) \
    ((QnnHtpGraph_CustomConfig_t){ .option = QNN_HTP_GRAPH_CONFIG_OPTION_HMX_BOUNDING, .hmxBoundingInfo = { hmx, core } })

static uint64_t cycles_at(float hmx, float core)
{
    const QnnHtpGraph_CustomConfig_t clocks = CLOCKS(hmx, core);

    return cycles_of(&clocks, MOST_DEPTH, "Relu");
}

/* A matrix unit with half of the core's clock takes longer, one with its clock as long as without the option. */
static void test_bounding(void **state)
{
    (void)state;
    static const float bad[][2] = { { 1e9f, 0 }, { 0, 1e9f }, { -1e9f, -1e9f }, { 1e9f, 1e8f }, { INFINITY, 1e9f } };

    place_on(SM8750);
    uint64_t usual = cycles_of(NULL, MOST_DEPTH, "Relu");
    assert_int_equal(cycles_at(0, 0), usual);
    assert_int_equal(cycles_at(1.2e9f, 1.2e9f), usual);
    assert_true(cycles_at(6e8f, 1.2e9f) > usual);
    for (unsigned i = 0; i < COUNT(bad); i++) {
        QnnHtpGraph_CustomConfig_t clocks = CLOCKS(bad[i][0], bad[i][1]);
        QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &clocks };
        const QnnGraph_Config_t *list[] = { &config, NULL };
        Qnn_GraphHandle_t graph;

        FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "at most 8 times",
                     q.graphCreate(at.context, keep_name("bad_%u", i), list, &graph));
    }
    leave();
}

/* ---- recurrent layers ------------------------------------------------------------------------------------------------- */

enum { STEPS = 16, FEATURES = 64, MOST_STATE = 320, LSTM_INPUTS = 22 };

static Qnn_Tensor_t sequence(Qnn_GraphHandle_t graph, const char *name, Qnn_TensorType_t type, uint32_t rank,
                             const uint32_t *dims)
{
    Qnn_Tensor_t t = tensor_make(QNN_TENSOR_VERSION_2, keep_name("%s", name), type, QNN_DATATYPE_UFIXED_POINT_8, rank, dims);

    t = tensor_quant(t, 4.0f / 255, -128);
    OK(q.tensorCreateGraphTensor(graph, &t));
    return t;
}

static Qnn_Tensor_t lstm_weight(Qnn_GraphHandle_t graph, uint32_t input, uint32_t state)
{
    static const int8_t zeros[MOST_STATE * MOST_STATE];
    bool bias = (input >= 7 && input <= 9) || input == 21;
    bool of_x = input < 4 || input == 16;
    const uint32_t dims[] = { state, of_x ? FEATURES : state };
    Qnn_Tensor_t w = tensor_make(QNN_TENSOR_VERSION_1, keep_name("w%u", input), QNN_TENSOR_TYPE_STATIC,
                                 QNN_DATATYPE_SFIXED_POINT_8, bias ? 1 : 2, dims);

    w = tensor_data(tensor_quant(w, 1.0f / 200, 0), zeros, bias ? state : state * dims[1]);
    OK(q.tensorCreateGraphTensor(graph, &w));
    return w;
}

static uint64_t lstm_cycles(bool monolithic, uint32_t state)
{
    const QnnHtpGraph_CustomConfig_t custom = FLAG(MONOLITHIC_LSTM, monolithic);
    Qnn_GraphHandle_t graph = graph_with(&custom, 1);
    Qnn_Tensor_t x = sequence(graph, "x", QNN_TENSOR_TYPE_APP_WRITE, 3, (uint32_t[]){ 1, STEPS, FEATURES });
    Qnn_Tensor_t y = sequence(graph, "y", QNN_TENSOR_TYPE_APP_READ, 3, (uint32_t[]){ 1, STEPS, state });
    Qnn_Tensor_t c = sequence(graph, "c", QNN_TENSOR_TYPE_NATIVE, 2, (uint32_t[]){ 1, state });
    Qnn_Tensor_t h = sequence(graph, "h", QNN_TENSOR_TYPE_NATIVE, 2, (uint32_t[]){ 1, state });
    struct op lstm = { "lstm", "Lstm", NULL, 1, LSTM_INPUTS, 3, { param_bool("time_major", false) }, { x }, { y, c, h } };

    for (uint32_t i = 1; i < LSTM_INPUTS; i++) {
        bool there = i < 10 || i == 16 || i == 17 || i == 21;
        lstm.in[i] = there ? lstm_weight(graph, i, state) : tensor_absent();
    }
    OK(op_add(graph, &lstm));
    return finalize_cycles(graph);
}

/* Small states gain, large ones do not. */
static void test_lstm(void **state)
{
    (void)state;
    place_on(SM8750);
    assert_true(lstm_cycles(true, 128) < lstm_cycles(false, 128));
    assert_int_equal(lstm_cycles(true, MOST_STATE), lstm_cycles(false, MOST_STATE));
    leave();
}

/* ---- the system level cache ------------------------------------------------------------------------------------------- */

enum { WIDE = 1024, CACHED = 30016 };

static uint64_t cached_bytes(struct net *n)
{
    static float x[WIDE * WIDE];
    static float y[WIDE * WIDE];
    Qnn_ProfileHandle_t profile;
    Qnn_Tensor_t in = WITH(n->x, x);
    Qnn_Tensor_t out = WITH(n->y, y);

    OK(q.profileCreate(at.backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    OK(q.graphExecute(n->graph, &in, 1, &out, 1, profile, NULL));
    uint64_t bytes = sum_of(profile, CACHED);
    OK(q.profileFree(profile));
    return bytes;
}

static struct net turns_with(bool cache, uint32_t vtcm_mb)
{
    const QnnHtpGraph_CustomConfig_t custom[] = { OPTIMIZE(ENABLE_SLC_ALLOCATOR, cache), VTCM_MB(vtcm_mb) };
    struct net n = { .graph = graph_with(custom, 2) };

    net_turns(&n, WIDE);
    return n;
}

/* Matrices of 2 MB in a window of 4: some are spilled. */
static void test_cache(void **state)
{
    (void)state;
    place_on(SM8750);
    struct net without = turns_with(false, 4);
    struct net with = turns_with(true, 4);
    uint64_t slow = finalize_cycles(without.graph);
    uint64_t fast = finalize_cycles(with.graph);

    assert_true(fast < slow);
    assert_int_equal(cached_bytes(&without), 0);
    uint64_t bytes = cached_bytes(&with);
    assert_true(bytes > 0);
    change(with.graph, OPTIMIZE(ENABLE_SLC_ALLOCATOR, 0));
    assert_int_equal(cached_bytes(&with), 0);
    change(with.graph, OPTIMIZE(ENABLE_SLC_ALLOCATOR, 1));
    assert_int_equal(cached_bytes(&with), bytes);
    leave();

    place_on(SM8735); /* has none */
    with = turns_with(true, 4);
    without = turns_with(false, 4);
    assert_int_equal(finalize_cycles(with.graph), finalize_cycles(without.graph));
    leave();
}

/* ---- compressed tensors ----------------------------------------------------------------------------------------------- */

enum { FILL = 30009, SPILL, COMPRESSED_IO = 30034 };

struct moved {
    uint64_t cycles, fill, spill, io;
    float y[WIDE * WIDE];
};

static void move(bool dlbc, struct moved *ret)
{
    static float x[WIDE * WIDE];
    const QnnHtpGraph_CustomConfig_t custom[] = { OPTIMIZE(ENABLE_DLBC, dlbc), VTCM_MB(4) };
    struct net n = { .graph = graph_with(custom, 2) };
    Qnn_ProfileHandle_t profile;

    x[7] = 1;
    net_turns(&n, WIDE);
    ret->cycles = finalize_cycles(n.graph);
    Qnn_Tensor_t in = WITH(n.x, x);
    Qnn_Tensor_t out = WITH(n.y, ret->y);
    OK(q.profileCreate(at.backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    OK(q.graphExecute(n.graph, &in, 1, &out, 1, profile, NULL));
    ret->fill = sum_of(profile, FILL);
    ret->spill = sum_of(profile, SPILL);
    ret->io = sum_of(profile, COMPRESSED_IO);
    OK(q.profileFree(profile));
}

/* Floats that are spilled and come back move as 81 of 100 bytes; inputs that are nearly all zero get small. */
static void test_dlbc(void **state)
{
    (void)state;
    static struct moved plain, compressed;

    place_on(SM8750);
    move(false, &plain);
    move(true, &compressed);
    assert_true(plain.spill > 0 && plain.fill > 0);
    assert_in_range(compressed.spill, plain.spill * 81 / 100 - 64, plain.spill * 81 / 100);
    assert_in_range(compressed.fill, plain.fill * 81 / 100 - 64, plain.fill * 81 / 100);
    assert_true(compressed.cycles < plain.cycles);
    assert_memory_equal(plain.y, compressed.y, sizeof plain.y);
    assert_int_equal(plain.io, 0);
    assert_in_range(compressed.io, 1, sizeof plain.y);
    leave();
}

int main(void)
{
    lib_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relu_encoding), cmocka_unit_test(test_activation_fusion),
        cmocka_unit_test(test_short_depth),   cmocka_unit_test(test_levels_differ),
        cmocka_unit_test(test_lstm),          cmocka_unit_test(test_bounding),
        cmocka_unit_test(test_cache),         cmocka_unit_test(test_dlbc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
