/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of 2 and 4 bits, packed and in 8-bit containers, as LiteRT and ONNX Runtime give them; packed tensors as graph
 * inputs; all of it also after a trip through a context binary. Scales are powers of two, so that every result is exact. */
#include <stdlib.h>
#include <string.h>

#include "api/api_test.h"

enum { ROWS = 3, DEPTH = 10, WIDTH = 5 };

/* How the weights travel. */
struct form {
    const char *name;
    uint32_t bits;
    bool packed, per_axis, wide; /* wide: 16-bit activations */
};

static const struct form forms[] = {
    { "a8w2_container_axis", 2, false, true, false }, { "a8w2_container", 2, false, false, false },
    { "a8w4_container_axis", 4, false, true, false }, { "a16w2_container_axis", 2, false, true, true },
    { "a16w4_container", 4, false, false, true },     { "a8w2_packed_axis", 2, true, true, false },
    { "a8w4_packed", 4, true, false, false },         { "a16w2_packed", 2, true, false, true },
    { "a16w4_packed_axis", 4, true, true, true },
};

static int weight(const struct form *f, uint32_t row, uint32_t k)
{
    int half = 1 << (f->bits - 1);
    return (int)((row * 7 + k * 3 + row * k) % (2 * (uint32_t)half)) - half;
}

/* Containers keep zeros above the true bits: readers may not trust them. */
static uint32_t store_weights(const struct form *f, uint8_t *to)
{
    uint32_t mask = (1u << f->bits) - 1;
    memset(to, 0, WIDTH * DEPTH);
    for (uint32_t i = 0; i < WIDTH * DEPTH; i++) {
        uint32_t v = (uint32_t)weight(f, i / DEPTH, i % DEPTH) & mask, at = f->packed ? i * f->bits / 8 : i;
        to[at] |= (uint8_t)(f->packed ? v << (i * f->bits % 8) : v);
    }
    return f->packed ? (WIDTH * DEPTH * f->bits + 7) / 8 : WIDTH * DEPTH;
}

static float scale_of(const struct form *f, uint32_t row)
{
    return f->per_axis ? 1.0f / (float)(2 << row) : 0.5f;
}

static void encode(const struct form *f, Qnn_Tensor_t *w, float *scales, Qnn_ScaleOffset_t *pairs)
{
    Qnn_QuantizeParams_t *p = &TV(*w).quantizeParams;
    p->encodingDefinition = QNN_DEFINITION_DEFINED;
    for (uint32_t i = 0; i < WIDTH; i++) {
        scales[i] = scale_of(f, i);
        pairs[i] = (Qnn_ScaleOffset_t){ scales[i], 0 };
    }
    if (f->packed && f->per_axis) {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
        p->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){ 0, WIDTH, pairs };
    } else if (f->packed) {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        p->scaleOffsetEncoding = pairs[0];
    } else if (f->per_axis) {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
        p->bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){ f->bits, 0, WIDTH, scales, NULL };
    } else {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET;
        p->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){ f->bits, scales[0], 0 };
    }
}

struct layer {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
};

static void create(Qnn_GraphHandle_t g, Qnn_Tensor_t *t)
{
    OK(q.tensorCreateGraphTensor(g, t));
}

/* y = x W^T, x with scale 1 and zero point 3, y with scale 1/64 in 16 bits: everything is exact. */
static void build(Qnn_ContextHandle_t c, const struct form *f, struct layer *ret)
{
    static uint8_t bytes[WIDTH * DEPTH];
    static float scales[WIDTH];
    static Qnn_ScaleOffset_t pairs[WIDTH];
    uint32_t size = store_weights(f, bytes);
    Qnn_DataType_t wt = !f->packed     ? QNN_DATATYPE_SFIXED_POINT_8
                        : f->bits == 2 ? QNN_DATATYPE_SFIXED_POINT_2
                                       : QNN_DATATYPE_SFIXED_POINT_4;
    Qnn_DataType_t xt = f->wide ? QNN_DATATYPE_UFIXED_POINT_16 : QNN_DATATYPE_UFIXED_POINT_8;
    OK(q.graphCreate(c, f->name, NULL, &ret->graph));
    ret->x = tensor_quant(tensor_make(QNN_TENSOR_VERSION_2, keep_name("%s_x", f->name), QNN_TENSOR_TYPE_APP_WRITE, xt, 2,
                                      (uint32_t[]){ ROWS, DEPTH }),
                          1, -3);
    ret->y = tensor_quant(TENSOR2(keep_name("%s_y", f->name), APP_READ, SFIXED_POINT_16, ROWS, WIDTH), 1.0f / 64, 0);
    Qnn_Tensor_t w = tensor_make(QNN_TENSOR_VERSION_2, keep_name("%s_w", f->name), QNN_TENSOR_TYPE_STATIC, wt, 2,
                                 (uint32_t[]){ WIDTH, DEPTH });
    w = tensor_data(w, bytes, size);
    encode(f, &w, scales, pairs);
    create(ret->graph, &ret->x);
    create(ret->graph, &w);
    create(ret->graph, &ret->y);
    struct op o = { .name = keep_name("%s_fc", f->name),
                    .type = "FullyConnected",
                    .ni = 2,
                    .in = { ret->x, w },
                    .no = 1,
                    .out = { ret->y } };
    OK(op_validate(env.backend, &o));
    OK(op_add(ret->graph, &o));
    OK(q.graphFinalize(ret->graph, NULL, NULL));
}

static void run(const struct form *f, const struct layer *l, Qnn_GraphHandle_t g)
{
    uint16_t x[ROWS * DEPTH];
    uint8_t narrow[ROWS * DEPTH];
    int16_t y[ROWS * WIDTH] = { 0 };
    for (uint32_t i = 0; i < ROWS * DEPTH; i++)
        x[i] = narrow[i] = (uint8_t)(i * 5 % 17);
    Qnn_Tensor_t in = f->wide ? WITH(l->x, x) : WITH(l->x, narrow), out = WITH(l->y, y);
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < WIDTH; c++) {
            int sum = 0;
            for (uint32_t k = 0; k < DEPTH; k++)
                sum += ((int)x[r * DEPTH + k] - 3) * weight(f, c, k);
            int want = (int)((float)sum * scale_of(f, c) * 64);
            if (y[r * WIDTH + c] != want)
                fail_msg("%s [%u, %u]: %d instead of %d", f->name, r, c, y[r * WIDTH + c], want);
        }
}

static Qnn_ContextHandle_t through_binary(Qnn_ContextHandle_t c)
{
    Qnn_ContextBinarySize_t size, written;
    Qnn_ContextHandle_t again;
    OK(q.contextGetBinarySize(c, &size));
    void *bytes = malloc(size);
    assert_non_null(bytes);
    OK(q.contextGetBinary(c, bytes, size, &written));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, written, &again, NULL));
    free(bytes);
    return again;
}

static void test_weights(void **state)
{
    (void)state;
    struct layer layers[COUNT(forms)];
    for (size_t i = 0; i < COUNT(forms); i++) {
        build(env.context, &forms[i], &layers[i]);
        run(&forms[i], &layers[i], layers[i].graph);
    }
    Qnn_ContextHandle_t again = through_binary(env.context);
    for (size_t i = 0; i < COUNT(forms); i++) {
        Qnn_GraphHandle_t g;
        OK(q.graphRetrieve(again, forms[i].name, &g));
        run(&forms[i], &layers[i], g);
    }
    OK(q.contextFree(again, NULL));
}

/* 2- and 4-bit integers as graph inputs and outputs: Transpose of packed values, Cast to bytes. */
static void test_packed_io(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "packed", NULL, &g));
    Qnn_Tensor_t x = TENSOR2("x", APP_WRITE, INT_2, 2, 5), t = TENSOR2("t", APP_READ, INT_2, 5, 2),
                 y = TENSOR2("y", APP_READ, INT_8, 5, 2);
    create(g, &x);
    create(g, &t);
    create(g, &y);
    struct op turn = { .name = "turn", .type = "Transpose", .np = 1, .ni = 1, .in = { x }, .no = 1, .out = { t } };
    turn.p[0] = param_u32s(g, "perm", 1, (uint32_t[]){ 2 }, (uint32_t[]){ 1, 0 });
    struct op cast = { .name = "cast", .type = "Cast", .ni = 1, .in = { t }, .no = 1, .out = { y } };
    OK(op_add(g, &turn));
    OK(op_add(g, &cast));
    OK(q.graphFinalize(g, NULL, NULL));
    static const int8_t values[10] = { 0, 1, -2, -1, 1, -1, -2, 0, 1, 0 };
    uint8_t in[3] = { 0 }, out[3];
    int8_t bytes[10];
    for (uint32_t i = 0; i < 10; i++)
        in[i / 4] |= (uint8_t)((values[i] & 3) << (i % 4 * 2));
    memset(out, 0, sizeof(out));
    x = WITH(x, in);
    t = WITH(t, out);
    y = WITH(y, bytes);
    Qnn_Tensor_t outs[] = { t, y };
    OK(q.graphExecute(g, &x, 1, outs, 2, NULL, NULL));
    for (uint32_t i = 0; i < 10; i++) {
        int want = values[i % 2 * 5 + i / 2];
        assert_int_equal(bytes[i], want);
        assert_int_equal(out[i / 4] >> (i % 4 * 2) & 3, want & 3);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_weights, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_packed_io, env_setup, env_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
