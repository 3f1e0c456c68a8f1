/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator of libQnnGpu.so against libQnnCpu.so: random shapes and parameters, float32 and float16 storage. The bound
 * is relative to the largest value of an output: sums are added up in another order, and functions are the device's. */
#include <string.h>

#include "gpu_kit.h"
#include "test_scale.h"

#define EXACT 2e-7f     /* one rounding */
#define FUNCTION 2e-6f  /* functions of the device: a few units in the last place */
#define SUMS 2e-5f      /* sums in another order */

#define D(...) (uint32_t)COUNT(((uint32_t[]){ __VA_ARGS__ })), (uint32_t[]){ __VA_ARGS__ }

static uint32_t rounds(uint32_t n)
{
    return test_scale(n);
}

static struct kit_tensor random_tensor(float lo, float hi, uint32_t rank, uint32_t most)
{
    uint32_t dims[KIT_RANK];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = kit_between(1, most);
    return kit_float(lo, hi, rank, dims);
}

/* ---- element by element ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    float lo, hi, bound;
} unaries[] = {
    { "ElementWiseAbs", -4, 4, EXACT },
    { "ElementWiseAsin", -1, 1, FUNCTION },
    { "ElementWiseAtan", -9, 9, FUNCTION },
    { "ElementWiseCeil", -9, 9, EXACT },
    { "ElementWiseCos", -9, 9, FUNCTION },
    { "ElementWiseExp", -9, 5, FUNCTION },
    { "ElementWiseFloor", -9, 9, EXACT },
    { "ElementWiseLog", 0.1f, 9, FUNCTION },
    { "ElementWiseNeg", -4, 4, EXACT },
    { "ElementWiseRound", -9, 9, EXACT },
    { "ElementWiseRsqrt", 0.1f, 9, FUNCTION },
    { "ElementWiseSign", -1, 1, EXACT },
    { "ElementWiseSin", -9, 9, FUNCTION },
    { "ElementWiseSoftplus", -9, 9, FUNCTION },
    { "ElementWiseSquareRoot", 0, 9, FUNCTION },
    { "Elu", -9, 4, FUNCTION },
    { "Gelu", -6, 6, FUNCTION },
    { "HardSwish", -6, 6, FUNCTION },
    { "Logit", 0.1f, 0.9f, SUMS },
    { "Relu", -4, 4, EXACT },
    { "Relu1", -4, 4, EXACT },
    { "Relu6", -9, 9, EXACT },
    { "Sigmoid", -9, 9, FUNCTION },
    { "Tanh", -6, 6, FUNCTION },
};

static void test_unary(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(unaries); i++) {
        struct kit_case c = { .type = unaries[i].type, .ni = 1, .no = 1 };
        c.in[0] = c.out[0] = random_tensor(unaries[i].lo, unaries[i].hi, kit_between(1, 4), 9);
        kit_compare(&c, unaries[i].bound);
    }
}

static void test_numbered(void **state)
{
    (void)state;
    for (int32_t op = 0; op < 16; op++) {
        struct kit_case c = { .type = "ElementWiseUnary", .ni = 1, .no = 1 };
        c.in[0] = c.out[0] = random_tensor(0.1f, 0.9f, 3, 9);
        kit_u32(&c, "operation", op);
        kit_compare(&c, FUNCTION * 10);
    }
    for (int32_t op = 0; op < 9; op++) {
        struct kit_case c = { .type = "ElementWiseNeuron", .ni = 1, .no = 1 };
        c.in[0] = c.out[0] = random_tensor(-5, 5, 3, 9);
        kit_u32(&c, "operation", op);
        if (op == 5) {
            kit_f32(&c, "min_value", -1);
            kit_f32(&c, "max_value", 2);
        }
        kit_compare(&c, FUNCTION);
    }
    struct kit_case c = { .type = "ReluMinMax", .ni = 1, .no = 1 };
    c.in[0] = c.out[0] = random_tensor(-5, 5, 3, 9);
    kit_f32(&c, "min_value", -2);
    kit_f32(&c, "max_value", 3);
    kit_compare(&c, EXACT);
}

/* An operand of `out` with some dimensions 1 and some left out in front. */
static struct kit_tensor broadcast_of(const struct kit_tensor *out, float lo, float hi)
{
    struct kit_tensor t = kit_float(lo, hi, out->rank, out->dims);
    uint32_t skip = kit_random(2) ? 0 : kit_random(out->rank);
    for (uint32_t i = 0; i < t.rank; i++)
        t.dims[i] = kit_random(3) ? t.dims[i] : 1;
    memmove(t.dims, t.dims + skip, (t.rank - skip) * sizeof t.dims[0]);
    t.rank -= skip;
    return t;
}

static const struct {
    const char *type;
    float lo, hi, bound;
    bool truth;
} binaries[] = {
    { "ElementWiseAdd", -4, 4, EXACT, false },
    { "ElementWiseSubtract", -4, 4, EXACT, false },
    { "ElementWiseMultiply", -4, 4, EXACT, false },
    { "ElementWiseDivide", 0.5f, 4, FUNCTION, false },
    { "ElementWiseMaximum", -4, 4, EXACT, false },
    { "ElementWiseMinimum", -4, 4, EXACT, false },
    { "ElementWisePower", 0.5f, 3, FUNCTION, false },
    { "ElementWiseSquaredDifference", -4, 4, FUNCTION, false },
    { "ElementWiseFmod", 0.5f, 4, FUNCTION, false },
    { "Prelu", -4, 4, EXACT, false },
    { "ElementWiseEqual", 0, 2, 0, true },
    { "ElementWiseNotEqual", 0, 2, 0, true },
    { "ElementWiseLess", -1, 1, 0, true },
    { "ElementWiseLessEqual", -1, 1, 0, true },
    { "ElementWiseGreater", -1, 1, 0, true },
    { "ElementWiseGreaterEqual", -1, 1, 0, true },
};

static void test_binary(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(binaries); i++)
        for (uint32_t k = 0; k < rounds(3); k++) {
            struct kit_case c = { .type = binaries[i].type, .ni = 2, .no = 1 };
            c.out[0] = random_tensor(0, 0, kit_between(1, 5), 6);
            c.in[0] = kit_float(binaries[i].lo, binaries[i].hi, c.out[0].rank, c.out[0].dims);
            c.in[1] = strcmp(c.type, "Prelu") ? broadcast_of(&c.out[0], binaries[i].lo, binaries[i].hi)
                                              : kit_float(-1, 1, D(c.out[0].dims[c.out[0].rank - 1]));
            c.out[0].type = binaries[i].truth ? QNN_DATATYPE_BOOL_8 : c.out[0].type;
            kit_compare(&c, binaries[i].bound);
        }
}

static void test_select(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(4); k++) {
        struct kit_case c = { .type = "ElementWiseSelect", .ni = 3, .no = 1 };
        c.out[0] = random_tensor(0, 0, 4, 5);
        c.in[0] = broadcast_of(&c.out[0], 0, 1);
        c.in[0].type = QNN_DATATYPE_BOOL_8;
        c.in[1] = kit_float(-9, 9, c.out[0].rank, c.out[0].dims);
        c.in[2] = broadcast_of(&c.out[0], -9, 9);
        kit_compare(&c, 0);
    }
}

static void test_cast(void **state)
{
    static const Qnn_DataType_t types[] = { QNN_DATATYPE_FLOAT_32, QNN_DATATYPE_FLOAT_16, QNN_DATATYPE_INT_32,
                                            QNN_DATATYPE_UINT_32,  QNN_DATATYPE_UINT_8,   QNN_DATATYPE_BOOL_8 };
    (void)state;
    for (size_t a = 0; a < COUNT(types); a++)
        for (size_t b = 0; b < COUNT(types); b++) {
            struct kit_case c = { .type = "Cast", .ni = 1, .no = 1 };
            c.in[0] = c.out[0] = random_tensor(0, types[b] == QNN_DATATYPE_UINT_8 ? 255 : 100, 2, 20);
            c.in[0].type = types[a];
            c.out[0].type = types[b];
            kit_same(&c);
        }
}

static void test_whole(void **state)
{
    static const char *const types[] = { "ElementWiseAdd",     "ElementWiseSubtract", "ElementWiseMultiply",
                                         "ElementWiseMaximum", "ElementWiseMinimum",  "ElementWiseDivide",
                                         "ElementWiseMod",     "ElementWiseFmod",     "ElementWiseFloorDiv",
                                         "ElementWiseLess",    "ElementWiseEqual",    "ElementWiseGreaterEqual" };
    (void)state;
    for (size_t k = 0; k < COUNT(types); k++) {
        struct kit_case c = { .type = types[k], .ni = 2, .no = 1 };
        c.out[0] = random_tensor(0, 0, 3, 6);
        c.in[0] = kit_float(-20, 20, c.out[0].rank, c.out[0].dims);
        c.in[1] = broadcast_of(&c.out[0], -5, 5);
        c.in[0].type = c.in[1].type = c.out[0].type = QNN_DATATYPE_INT_32;
        c.out[0].type = k >= 9 ? QNN_DATATYPE_BOOL_8 : QNN_DATATYPE_INT_32;
        kit_same(&c);
    }
    static const char *const logic[] = { "ElementWiseAnd", "ElementWiseOr", "ElementWiseXor" }, *const one[] = {
        "ElementWiseNeg", "ElementWiseAbs", "ElementWiseSign"
    };
    for (size_t k = 0; k < 3; k++) {
        struct kit_case c = { .type = logic[k], .ni = 2, .no = 1 }, u = { .type = one[k], .ni = 1, .no = 1 };
        c.in[0] = c.in[1] = c.out[0] = random_tensor(0, 1, 3, 6);
        c.in[0].type = c.in[1].type = c.out[0].type = QNN_DATATYPE_BOOL_8;
        kit_same(&c);
        u.in[0] = u.out[0] = random_tensor(-9, 9, 3, 6);
        u.in[0].type = u.out[0].type = QNN_DATATYPE_INT_32;
        kit_same(&u);
    }
    struct kit_case n = { .type = "ElementWiseNot", .ni = 1, .no = 1 };
    n.in[0] = n.out[0] = random_tensor(0, 1, 3, 6);
    n.in[0].type = n.out[0].type = QNN_DATATYPE_BOOL_8;
    kit_same(&n);
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

struct window {
    uint32_t in[2], kernel[2], stride[2], dilation[2], pad[4], out[2];
};

static struct window random_window(bool dilated)
{
    struct window w;
    for (int d = 0; d < 2; d++) {
        w.kernel[d] = kit_between(1, 4);
        w.stride[d] = kit_between(1, 3);
        w.dilation[d] = dilated ? kit_between(1, 2) : 1;
        uint32_t span = (w.kernel[d] - 1) * w.dilation[d] + 1;
        w.in[d] = span + kit_random(12);
        w.pad[2 * d] = kit_random(w.kernel[d]);
        w.pad[2 * d + 1] = kit_random(w.kernel[d]);
        w.out[d] = (w.in[d] + w.pad[2 * d] + w.pad[2 * d + 1] - span) / w.stride[d] + 1;
    }
    return w;
}

static void window_params(struct kit_case *c, const struct window *w)
{
    kit_list(c, "stride", 'u', 1, 2, 1, (const int32_t *)w->stride);
    kit_list(c, "pad_amount", 'u', 2, 2, 2, (const int32_t *)w->pad);
}

static void filter_and_bias(struct kit_case *c, const uint32_t *filter, uint32_t out)
{
    c->in[1] = kit_float(-1, 1, 4, filter);
    c->in[1].is_static = kit_random(4) != 0;
    c->ni = 2 + kit_random(2);
    c->in[2] = kit_float(-1, 1, D(out));
    c->in[2].is_static = true;
}

static void test_conv(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(10); k++) {
        struct kit_case c = { .type = "Conv2d", .no = 1 };
        struct window w = random_window(true);
        uint32_t batch = kit_between(1, 2), group = kit_random(2) ? 1 : kit_between(1, 3), ci = kit_between(1, 9),
                 co = kit_between(1, 40 / group);
        c.in[0] = kit_float(-1, 1, D(batch, w.in[0], w.in[1], ci * group));
        c.out[0] = kit_float(0, 0, D(batch, w.out[0], w.out[1], co * group));
        filter_and_bias(&c, (uint32_t[]){ w.kernel[0], w.kernel[1], ci, co * group }, co * group);
        window_params(&c, &w);
        kit_list(&c, "dilation", 'u', 1, 2, 1, (const int32_t *)w.dilation);
        kit_u32(&c, "group", (int32_t)group);
        kit_compare(&c, SUMS);
    }
}

static void test_depthwise(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(6); k++) {
        struct kit_case c = { .type = "DepthWiseConv2d", .no = 1 };
        struct window w = random_window(true);
        uint32_t batch = kit_between(1, 2), ci = kit_between(1, 9), times = kit_between(1, 2);
        c.in[0] = kit_float(-1, 1, D(batch, w.in[0], w.in[1], ci));
        c.out[0] = kit_float(0, 0, D(batch, w.out[0], w.out[1], ci * times));
        filter_and_bias(&c, (uint32_t[]){ w.kernel[0], w.kernel[1], 1, ci * times }, ci * times);
        window_params(&c, &w);
        kit_list(&c, "dilation", 'u', 1, 2, 1, (const int32_t *)w.dilation);
        kit_compare(&c, SUMS);
    }
}

static void test_transposed(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(6); k++) {
        struct kit_case c = { .type = "TransposeConv2d", .no = 1 };
        struct window w;
        uint32_t ci = kit_between(1, 6), co = kit_between(1, 6), group = kit_between(1, 2);
        for (int d = 0; d < 2; d++) {
            w.kernel[d] = kit_between(2, 4);
            w.stride[d] = kit_between(1, 3);
            w.in[d] = kit_between(2, 7);
            w.pad[2 * d] = kit_random(2);
            w.pad[2 * d + 1] = kit_random(2);
            w.out[d] = (w.in[d] - 1) * w.stride[d] + w.kernel[d] - w.pad[2 * d] - w.pad[2 * d + 1];
        }
        c.in[0] = kit_float(-1, 1, D(1, w.in[0], w.in[1], ci * group));
        c.out[0] = kit_float(0, 0, D(1, w.out[0], w.out[1], co * group));
        filter_and_bias(&c, (uint32_t[]){ w.kernel[0], w.kernel[1], ci * group, co }, co * group);
        window_params(&c, &w);
        kit_u32(&c, "group", (int32_t)group);
        kit_compare(&c, SUMS);
    }
}

static void test_connected(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(5); k++) {
        struct kit_case c = { .type = "FullyConnected", .no = 1, .ni = 2 + kit_random(2) };
        uint32_t rows = kit_between(1, 40), depth = kit_between(1, 50), cols = kit_between(1, 70);
        c.in[0] = kit_float(-1, 1, D(rows, depth));
        c.in[1] = kit_float(-1, 1, D(cols, depth));
        c.in[1].is_static = c.in[2].is_static = true;
        c.in[2] = kit_float(-1, 1, D(cols));
        c.in[2].is_static = true;
        c.out[0] = kit_float(0, 0, D(rows, cols));
        kit_compare(&c, SUMS);
    }
}

static void test_matmul(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(8); k++) {
        struct kit_case c = { .type = "MatMul", .no = 1, .ni = 2 };
        uint32_t rows = kit_between(1, 40), depth = kit_between(1, 40), cols = kit_between(1, 40), a = kit_between(1, 3),
                 b = kit_between(1, 3);
        bool t0 = kit_random(2), t1 = kit_random(2), wide = kit_random(2);
        c.in[0] = kit_float(-1, 1, D(a, b, t0 ? depth : rows, t0 ? rows : depth));
        c.in[1] = kit_float(-1, 1, D(wide ? 1 : a, b, t1 ? cols : depth, t1 ? depth : cols));
        c.out[0] = kit_float(0, 0, D(a, b, rows, cols));
        kit_bool(&c, "transpose_in0", t0);
        kit_bool(&c, "transpose_in1", t1);
        kit_compare(&c, SUMS);
    }
}

/* Weights of 16 bits beside activations of 32: one product per result, so that there is one right number. */
static void test_other_floats(void **state)
{
    struct kit_case c = { .type = "MatMul", .ni = 2, .no = 1 };
    c.in[0] = kit_float(-2, 2, 2, (uint32_t[]){ 5, 1 });
    c.in[1] = kit_float(-2, 2, 2, (uint32_t[]){ 1, 7 });
    c.in[1].type = QNN_DATATYPE_FLOAT_16;
    c.in[1].is_static = true;
    c.out[0] = kit_float(0, 0, 2, (uint32_t[]){ 5, 7 });
    kit_same(&c);
    (void)state;
}

/* ---- windows ---------------------------------------------------------------------------------------------------------- */

static void test_pool(void **state)
{
    static const char *const types[] = { "PoolMax2d", "PoolAvg2d", "L2Pool2d" };
    (void)state;
    for (uint32_t k = 0; k < rounds(12); k++) {
        struct kit_case c = { .type = types[k % 3], .ni = 1, .no = 1 };
        struct window w = random_window(false);
        uint32_t batch = kit_between(1, 2), channels = kit_between(1, 9);
        c.in[0] = kit_float(-1, 1, D(batch, w.in[0], w.in[1], channels));
        c.out[0] = kit_float(0, 0, D(batch, w.out[0], w.out[1], channels));
        kit_list(&c, "filter_size", 'u', 1, 2, 1, (const int32_t *)w.kernel);
        window_params(&c, &w);
        if (k % 3 == 1)
            kit_bool(&c, "count_pad_for_edges", kit_random(2));
        kit_compare(&c, k % 3 ? FUNCTION : EXACT);
    }
}

static void test_resize(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(16); k++) {
        static const char *const types[] = { "ResizeBilinear", "ResizeNearestNeighbor", "Resize", "Resize" };
        struct kit_case c = { .type = types[k % 4], .ni = 1, .no = 1 };
        uint32_t channels = kit_between(1, 5), batch = kit_between(1, 2);
        c.in[0] = kit_float(-1, 1, D(batch, kit_between(1, 9), kit_between(1, 9), channels));
        c.out[0] = kit_float(0, 0, D(batch, kit_between(1, 15), kit_between(1, 15), channels));
        if (k % 4 < 2) {
            uint32_t how = kit_random(3);
            kit_bool(&c, "align_corners", how == 1);
            kit_bool(&c, "half_pixel_centers", how == 2);
        } else {
            kit_u32(&c, "transformation_mode", (int32_t)kit_random(4));
            kit_u32(&c, "interpolation_mode", k % 4 - 2);
            kit_u32(&c, "nearest_mode", (int32_t)kit_random(4));
        }
        kit_compare(&c, k % 4 == 0 || k % 4 == 3 ? SUMS : EXACT);
    }
}

/* ---- rows ------------------------------------------------------------------------------------------------------------- */

static void test_softmax(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(8); k++) {
        struct kit_case c = { .type = k % 2 ? "LogSoftmax" : "Softmax", .ni = 1, .no = 1 };
        c.in[0] = c.out[0] = random_tensor(-8, 8, kit_between(1, 4), k % 3 ? 7 : 80);
        if (c.in[0].rank > 3)
            c.in[0].dims[0] = c.out[0].dims[0] = 1;
        kit_u32(&c, "axis", (int32_t)kit_random(c.in[0].rank));
        kit_f32(&c, "beta", 0.5f + (float)kit_random(4) / 4);
        kit_compare(&c, SUMS);
    }
}

static void test_layer_norm(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(8); k++) {
        struct kit_case c = { .type = k % 2 ? "RmsNorm" : "LayerNorm", .ni = 3, .no = 1 };
        c.in[0] = c.out[0] = random_tensor(-3, 5, 3, 30);
        uint32_t last = c.in[0].dims[2], n = kit_between(1, 2);
        c.in[1] = n == 1 ? kit_float(-1, 1, D(last)) : kit_float(-1, 1, D(c.in[0].dims[1], last));
        c.in[2] = c.in[1];
        kit_list(&c, "axes", 'u', 1, n, 1, n == 1 ? (int32_t[]){ 2 } : (int32_t[]){ 1, 2 });
        kit_f32(&c, "epsilon", 1e-3f);
        kit_compare(&c, SUMS);
    }
}

static void test_channel_norm(void **state)
{
    static const char *const types[] = { "Batchnorm", "InstanceNorm", "L2Norm" };
    (void)state;
    for (uint32_t k = 0; k < rounds(9); k++) {
        struct kit_case c = { .type = types[k % 3], .ni = k % 3 == 2 ? 1 : 3, .no = 1 };
        c.in[0] = c.out[0] = random_tensor(-3, 5, 4, 9);
        c.in[1] = c.in[2] = kit_float(-1, 1, D(c.in[0].dims[3]));
        if (k % 3 == 1)
            kit_f32(&c, "epsilon", 1e-3f);
        if (k % 3 == 2)
            kit_u32(&c, "axis", (int32_t)kit_random(4));
        kit_compare(&c, SUMS);
    }
}

static void test_reduce(void **state)
{
    static const char *const types[] = {
        "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare"
    };
    (void)state;
    for (uint32_t k = 0; k < rounds(18); k++) {
        struct kit_case c = { .type = types[k % 6], .ni = 1, .no = 1 };
        uint32_t n = 0, mask = kit_between(1, 15);
        int32_t axes[4];
        c.in[0] = c.out[0] = random_tensor(0.7f, 1.3f, 4, k % 6 == 4 ? 3 : 8);
        for (uint32_t d = 0; d < 4; d++)
            if (mask >> d & 1) {
                axes[n++] = (int32_t)d;
                c.out[0].dims[d] = 1;
            }
        kit_list(&c, "axes", 'u', 1, n, 1, axes);
        kit_bool(&c, "keep_dims", true);
        kit_compare(&c, SUMS);
    }
}

static void test_arg(void **state)
{
    static const Qnn_DataType_t types[] = { QNN_DATATYPE_INT_32, QNN_DATATYPE_UINT_32 };
    (void)state;
    for (uint32_t k = 0; k < rounds(6); k++) {
        struct kit_case c = { .type = k % 2 ? "Argmax" : "Argmin", .ni = 1, .no = 1 };
        uint32_t axis = kit_random(3);
        c.in[0] = c.out[0] = random_tensor(-2, 2, 3, k % 3 ? 6 : 90);
        c.out[0].dims[axis] = 1;
        c.out[0].type = types[k / 2 % 2];
        kit_u32(&c, "axis", (int32_t)axis);
        kit_bool(&c, "keep_dims", true);
        kit_compare(&c, 0);
    }
}

static void test_top_k(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(6); k++) {
        struct kit_case c = { .type = "TopK", .ni = 1, .no = 2 };
        c.in[0] = c.out[0] = random_tensor(-2, 2, 2, k % 2 ? 9 : 150);
        uint32_t n = kit_between(1, c.in[0].dims[1] < 12 ? c.in[0].dims[1] : 12);
        c.out[0].dims[1] = n;
        c.out[1] = c.out[0];
        c.out[1].type = QNN_DATATYPE_UINT_32;
        kit_u32(&c, "k", (int32_t)n);
        kit_bool(&c, "largest", k % 3 != 0);
        kit_compare(&c, 0);
    }
}

static void test_dequantize(void **state)
{
    static const Qnn_DataType_t from[] = { QNN_DATATYPE_UFIXED_POINT_8, QNN_DATATYPE_SFIXED_POINT_8 };
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct kit_case c = { .type = "Dequantize", .ni = 1, .no = 1 };
        c.in[0] = c.out[0] = random_tensor(-128, 127, 3, 6);
        c.in[0].type = from[k];
        c.in[0].scale = 0.25f;
        c.in[0].offset = -3;
        kit_compare(&c, EXACT);
    }
}

static void test_group_norm_and_lrn(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(4); k++) {
        struct kit_case c = { .type = "GroupNorm", .ni = 3, .no = 1 }, l = { .type = "Lrn", .ni = 1, .no = 1 };
        c.in[0] = c.out[0] = kit_float(-3, 5, D(2, kit_between(1, 6), kit_between(1, 6), 12));
        c.in[1] = c.in[2] = kit_float(-1, 1, D(12));
        kit_f32(&c, "epsilon", 1e-3f);
        kit_u32(&c, "group", (int32_t)kit_between(1, 4));
        kit_compare(&c, SUMS);
        l.in[0] = l.out[0] = kit_float(-3, 3, D(1, kit_between(1, 6), kit_between(1, 6), kit_between(1, 9)));
        l.p[l.np++] = (struct kit_param){ .name = "radius", .kind = 'i', .v = { (int32_t)kit_between(1, 3) } };
        kit_u32(&l, "region", (int32_t)(k % 2));
        kit_f32(&l, "alpha", 0.5f);
        kit_f32(&l, "beta", 0.75f);
        kit_compare(&l, SUMS);
    }
}

/* ---- movement --------------------------------------------------------------------------------------------------------- */

static void test_shapes(void **state)
{
    (void)state;
    struct kit_case r = {
        .type = "Reshape", .ni = 1, .no = 1, .in = { kit_float(-9, 9, D(3, 4, 5)) }, .out = { kit_float(0, 0, D(12, 5)) }
    };
    kit_compare(&r, 0);
    struct kit_case e = {
        .type = "ExpandDims", .ni = 1, .no = 1, .in = { kit_float(-9, 9, D(3, 4)) }, .out = { kit_float(0, 0, D(3, 1, 4)) }
    };
    kit_u32(&e, "axis", 1);
    kit_compare(&e, 0);
    struct kit_case s = {
        .type = "Squeeze", .ni = 1, .no = 1, .in = { kit_float(-9, 9, D(3, 1, 4)) }, .out = { kit_float(0, 0, D(3, 4)) }
    };
    kit_compare(&s, 0);
    struct kit_case d = { .type = "DepthToSpace",
                          .ni = 1,
                          .no = 1,
                          .in = { kit_float(-9, 9, D(2, 3, 4, 12)) },
                          .out = { kit_float(0, 0, D(2, 6, 8, 3)) } };
    kit_list(&d, "block_size", 'u', 1, 2, 1, (int32_t[]){ 2, 2 });
    kit_u32(&d, "mode", (int32_t)kit_random(2));
    kit_compare(&d, 0);
    struct kit_case p = { .type = "SpaceToDepth",
                          .ni = 1,
                          .no = 1,
                          .in = { kit_float(-9, 9, D(2, 6, 8, 3)) },
                          .out = { kit_float(0, 0, D(2, 3, 4, 12)) } };
    kit_list(&p, "block_size", 'u', 1, 2, 1, (int32_t[]){ 2, 2 });
    kit_compare(&p, 0);
    struct kit_case h = { .type = "ChannelShuffle",
                          .ni = 1,
                          .no = 1,
                          .in = { kit_float(-9, 9, D(1, 3, 4, 12)) },
                          .out = { kit_float(0, 0, D(1, 3, 4, 12)) } };
    kit_u32(&h, "num_groups", 3);
    kit_compare(&h, 0);
}

static void test_blocks(void **state)
{
    (void)state;
    struct kit_case s = { .type = "SpaceToBatch",
                          .ni = 1,
                          .no = 1,
                          .in = { kit_float(-9, 9, D(2, 5, 6, 3)) },
                          .out = { kit_float(0, 0, D(12, 3, 3, 3)) } };
    kit_list(&s, "block_size", 'u', 1, 2, 1, (int32_t[]){ 2, 3 });
    kit_list(&s, "pad_amount", 'u', 2, 2, 2, (int32_t[]){ 1, 0, 2, 1 });
    kit_compare(&s, 0);
    struct kit_case b = { .type = "BatchToSpace",
                          .ni = 1,
                          .no = 1,
                          .in = { kit_float(-9, 9, D(12, 3, 3, 3)) },
                          .out = { kit_float(0, 0, D(2, 5, 6, 3)) } };
    kit_list(&b, "block_size", 'u', 1, 2, 1, (int32_t[]){ 2, 3 });
    kit_list(&b, "crops", 'u', 2, 2, 2, (int32_t[]){ 1, 0, 2, 1 });
    kit_compare(&b, 0);
}

static void test_transpose(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(5); k++) {
        struct kit_case c = { .type = "Transpose", .ni = 1, .no = 1 };
        uint32_t rank = kit_between(2, 5);
        int32_t perm[5] = { 0, 1, 2, 3, 4 };
        c.in[0] = c.out[0] = random_tensor(-9, 9, rank, 6);
        for (uint32_t i = rank; i-- > 1;) {
            uint32_t j = kit_random(i + 1);
            int32_t t = perm[i];
            perm[i] = perm[j];
            perm[j] = t;
        }
        for (uint32_t i = 0; i < rank; i++)
            c.out[0].dims[i] = c.in[0].dims[perm[i]];
        kit_list(&c, "perm", 'u', 1, rank, 1, perm);
        kit_compare(&c, 0);
    }
}

static void test_slice_and_tile(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(5); k++) {
        struct kit_case c = { .type = "StridedSlice", .ni = 1, .no = 1 }, t = { .type = "Tile", .ni = 1, .no = 1 };
        int32_t ranges[9], multiples[3];
        c.in[0] = c.out[0] = t.in[0] = t.out[0] = random_tensor(-9, 9, 3, 8);
        for (uint32_t d = 0; d < 3; d++) {
            uint32_t n = c.in[0].dims[d], begin = kit_random(n), end = kit_between(begin + 1, n), step = kit_between(1, 3);
            memcpy(&ranges[3 * d], (int32_t[]){ (int32_t)begin, (int32_t)end, (int32_t)step }, 3 * sizeof(int32_t));
            c.out[0].dims[d] = (end - begin + step - 1) / step;
            multiples[d] = (int32_t)kit_between(1, 3);
            t.out[0].dims[d] = n * (uint32_t)multiples[d];
        }
        kit_list(&c, "ranges", 'i', 2, 3, 3, ranges);
        kit_compare(&c, 0);
        kit_list(&t, "multiples", 'u', 1, 3, 1, multiples);
        kit_compare(&t, 0);
    }
}

static void test_concat_and_split(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(4); k++) {
        struct kit_case c = { .type = "Concat", .ni = 3, .no = 1 }, s = { .type = "Split", .ni = 1, .no = 3 };
        uint32_t axis = kit_random(3), total = 0;
        int32_t at[3] = { 0 };
        c.out[0] = random_tensor(-9, 9, 3, 6);
        for (uint32_t i = 0; i < 3; i++) {
            c.in[i] = c.out[0];
            at[i] = (int32_t)total;
            total += c.in[i].dims[axis] = kit_between(1, 5);
            s.out[i] = c.in[i];
        }
        c.out[0].dims[axis] = total;
        s.in[0] = c.out[0];
        kit_u32(&c, "axis", (int32_t)axis);
        kit_compare(&c, 0);
        kit_u32(&s, "axis", (int32_t)axis);
        kit_list(&s, "split_index", 'u', 1, 2, 1, at + 1);
        kit_compare(&s, 0);
    }
}

static void test_pack(void **state)
{
    (void)state;
    for (uint32_t axis = 0; axis < 3; axis++) {
        struct kit_case c = { .type = "Pack", .ni = 2, .no = 1 }, u = { .type = "UnPack", .ni = 1, .no = 2 };
        c.in[0] = c.in[1] = u.out[0] = u.out[1] = kit_float(-9, 9, D(3, 4));
        uint32_t dims[3] = { 3, 4, 0 };
        memmove(dims + axis + 1, dims + axis, (2 - axis) * sizeof dims[0]);
        dims[axis] = 2;
        c.out[0] = u.in[0] = kit_float(-9, 9, 3, dims);
        kit_u32(&c, "axis", (int32_t)axis);
        kit_u32(&u, "axis", (int32_t)axis);
        kit_compare(&c, 0);
        kit_compare(&u, 0);
    }
}

static void test_pad(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(8); k++) {
        struct kit_case c = { .type = "Pad", .ni = 1, .no = 1 };
        int32_t amounts[8];
        c.in[0] = random_tensor(-9, 9, 4, 5);
        for (uint32_t d = 0; d < 4; d++)
            c.in[0].dims[d] += 2;
        c.out[0] = c.in[0];
        for (uint32_t i = 0; i < 8; i++) {
            amounts[i] = (int32_t)kit_random(3);
            c.out[0].dims[i / 2] += (uint32_t)amounts[i];
        }
        kit_u32(&c, "scheme", (int32_t)(k % 4));
        kit_list(&c, "pad_amount", 'u', 2, 4, 2, amounts);
        if (k % 4 == 0)
            kit_f32(&c, "pad_constant_value", 1.5f);
        kit_compare(&c, 0);
    }
}

static void test_gather(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < rounds(4); k++) {
        struct kit_case c = { .type = "Gather", .ni = 2, .no = 1 };
        uint32_t axis = kit_random(3), a = kit_between(1, 4), b = kit_between(1, 4), n = 0, dims[4];
        c.in[0] = random_tensor(-9, 9, 3, 7);
        c.in[1] = kit_float(-(float)c.in[0].dims[axis], (float)c.in[0].dims[axis], D(a, b));
        c.in[1].type = QNN_DATATYPE_INT_32;
        for (uint32_t d = 0; d < 3; d++) {
            if (d == axis) {
                dims[n++] = a;
                dims[n++] = b;
            } else {
                dims[n++] = c.in[0].dims[d];
            }
        }
        c.out[0] = kit_float(0, 0, 4, dims);
        c.p[c.np++] = (struct kit_param){ .name = "axis", .kind = 'i', .v = { (int32_t)axis } };
        kit_compare(&c, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_numbered),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_cast),
        cmocka_unit_test(test_conv),
        cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_connected),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_other_floats),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_channel_norm),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_slice_and_tile),
        cmocka_unit_test(test_concat_and_split),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_arg),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_dequantize),
        cmocka_unit_test(test_group_norm_and_lrn),
        cmocka_unit_test(test_blocks),
    };
    kit_need_device();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
