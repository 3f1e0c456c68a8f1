/* SPDX-License-Identifier: Apache-2.0 */
/* Attention masks as conditions (Select, ReduceMin, Add, Softmax) on libQnnHtp.so: what is masked is exactly zero, a row
 * without kept entries is all zero, and the encoding of what the Select makes does not matter. */
#include "api_test.h"

#include <math.h>
#include <string.h>

enum { HEADS = 2, ROWS = 3, COLUMNS = 8, SCORES = HEADS * ROWS * COLUMNS, MASKS = ROWS * COLUMNS };

#define X_SCALE 0.001f
#define Y_SCALE (1.0f / 65536)

/* How a graph says which entries are kept: pattern A keeps zeros, B keeps the others, C is a condition in 8 bits. */
enum pattern { KEEP_ZEROS, KEEP_OTHERS, KEEP_BYTES };

static Qnn_BackendHandle_t backend;
static Qnn_ContextHandle_t context;

static int setup(void **state)
{
    (void)state;
    OK(q.backendCreate(NULL, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &context));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(q.contextFree(context, NULL));
    OK(q.backendFree(backend));
    return 0;
}

/* The flags that the Select takes, of the mask. */
static Qnn_Tensor_t add_condition(Qnn_GraphHandle_t graph, enum pattern pattern, Qnn_Tensor_t mask)
{
    static const uint16_t none = 0;

    if (pattern == KEEP_BYTES)
        return mask;

    Qnn_Tensor_t zero = WITH(tensor_quant(TENSOR("zero", STATIC, UFIXED_POINT_16, 1), 1.0f, 0), &none);
    Qnn_Tensor_t keep = TENSOR("keep", NATIVE, BOOL_8, 1, 1, ROWS, COLUMNS);
    OK(q.tensorCreateGraphTensor(graph, &zero));
    OK(q.tensorCreateGraphTensor(graph, &keep));
    struct op compare = { "compare", pattern == KEEP_ZEROS ? "ElementWiseEqual" : "ElementWiseNotEqual", NULL, 0, 2, 1,
                          { QNN_PARAM_INIT }, { mask, zero }, { keep } };
    OK(op_add(graph, &compare));
    return keep;
}

/* Runs the pattern; the Select's result has steps of `step`, so that a range of min - 20 may or may not fit. */
static void run_pattern(enum pattern pattern, float step, const uint16_t *x, const uint8_t *keep, uint16_t *y)
{
    static const uint16_t low = 0; /* -65.535 */
    static const uint32_t one = 1, last = 3;
    static unsigned serial;
    uint16_t mask[MASKS];
    uint8_t bytes[MASKS];
    Qnn_GraphHandle_t graph;

    OK(q.graphCreate(context, keep_name("mask_%u", serial++), NULL, &graph));
    Qnn_Tensor_t in_x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_16, 1, HEADS, ROWS, COLUMNS), X_SCALE, -32768);
    Qnn_Tensor_t in_mask = tensor_quant(TENSOR("mask", APP_WRITE, UFIXED_POINT_16, 1, 1, ROWS, COLUMNS), 1.0f, 0);
    if (pattern == KEEP_BYTES)
        in_mask = tensor_quant(TENSOR("mask", APP_WRITE, UFIXED_POINT_8, 1, 1, ROWS, COLUMNS), 1.0f, 0);
    Qnn_Tensor_t b = WITH(tensor_quant(TENSOR("b", STATIC, UFIXED_POINT_16, 1), X_SCALE, -65535), &low);
    Qnn_Tensor_t least = tensor_quant(TENSOR("least", NATIVE, UFIXED_POINT_16, 1, HEADS, ROWS, 1), X_SCALE, -32768);
    Qnn_Tensor_t floor = tensor_quant(TENSOR("floor", NATIVE, UFIXED_POINT_16, 1, HEADS, ROWS, 1), step, -60000);
    Qnn_Tensor_t chosen = tensor_quant(TENSOR("chosen", NATIVE, UFIXED_POINT_16, 1, HEADS, ROWS, COLUMNS), step, -60000);
    Qnn_Tensor_t out = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_16, 1, HEADS, ROWS, COLUMNS), Y_SCALE, 0);
    Qnn_Tensor_t *all[] = { &in_x, &in_mask, &b, &least, &floor, &chosen, &out };
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        OK(q.tensorCreateGraphTensor(graph, all[i]));

    Qnn_Tensor_t flags = add_condition(graph, pattern, in_mask);
    Qnn_Param_t over = param_u32s(graph, "axes", 1, &one, &last);
    Qnn_Param_t same_rank = param_bool("keep_dims", true);
    struct op minimum = { "minimum", "ReduceMin", NULL, 2, 1, 1, { over, same_rank }, { in_x }, { least } };
    struct op add = { "add", "ElementWiseAdd", NULL, 0, 2, 1, { QNN_PARAM_INIT }, { least, b }, { floor } };
    struct op where = { "where", "ElementWiseSelect",     NULL,      0, 3, 1, { QNN_PARAM_INIT },
                        { flags, in_x, floor }, { chosen } };
    struct op softmax = { "softmax", "Softmax", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { chosen }, { out } };
    OK(op_add(graph, &minimum));
    OK(op_add(graph, &add));
    OK(op_add(graph, &where));
    OK(op_add(graph, &softmax));
    OK(q.graphFinalize(graph, NULL, NULL));

    for (unsigned i = 0; i < MASKS; i++) {
        bytes[i] = keep[i] ? 1 : 0;
        mask[i] = (pattern == KEEP_ZEROS) != (keep[i] != 0) ? 700 : 0;
    }
    Qnn_Tensor_t in[2] = { tensor_data(in_x, x, SCORES * 2), tensor_data(in_mask, mask, MASKS * 2) };
    if (pattern == KEEP_BYTES)
        in[1] = tensor_data(in_mask, bytes, MASKS);
    Qnn_Tensor_t result = tensor_data(out, y, SCORES * 2);
    OK(q.graphExecute(graph, in, 2, &result, 1, NULL, NULL));
}

/* Softmax over the kept entries, in doubles. */
static double expected(const uint16_t *x, const uint8_t *keep, unsigned at)
{
    const unsigned row = at / COLUMNS;
    const uint8_t *kept = &keep[row % ROWS * COLUMNS];
    double sum = 0;

    for (unsigned i = 0; i < COLUMNS; i++)
        sum += kept[i] ? exp(X_SCALE * ((double)x[row * COLUMNS + i] - x[at])) : 0;
    return kept[at % COLUMNS] ? 1 / sum : 0;
}

static void scores(uint16_t *x, uint8_t *keep)
{
    for (unsigned i = 0; i < SCORES; i++)
        x[i] = (uint16_t)(32768 + (int)(i * 7919 % 4001) - 2000);
    for (unsigned i = 0; i < MASKS; i++)
        keep[i] = i / COLUMNS == 1 ? 0 : i % 3 != 0; /* the second row is masked altogether */
}

static void test_masked_is_zero(void **state)
{
    uint16_t x[SCORES], y[SCORES];
    uint8_t keep[MASKS];

    (void)state;
    scores(x, keep);
    for (enum pattern pattern = KEEP_ZEROS; pattern <= KEEP_BYTES; pattern++) {
        memset(y, 0xa5, sizeof(y));
        run_pattern(pattern, 0.0015f, x, keep, y);
        for (unsigned i = 0; i < SCORES; i++) {
            double want = expected(x, keep, i);
            if (!keep[i % MASKS])
                assert_int_equal(y[i], 0);
            assert_true(fabs(y[i] * (double)Y_SCALE - want) <= 1.01 * (double)Y_SCALE);
        }
    }
}

/* With steps of 0.00003 the Select's tensor ends 1.8 below zero: min - 65 does not fit. */
static void test_encoding_between_does_not_matter(void **state)
{
    uint16_t x[SCORES], wide[SCORES], narrow[SCORES];
    uint8_t keep[MASKS];

    (void)state;
    scores(x, keep);
    run_pattern(KEEP_OTHERS, 0.0015f, x, keep, wide);
    run_pattern(KEEP_OTHERS, 0.00003f, x, keep, narrow);
    assert_memory_equal(wide, narrow, sizeof(wide));
}

int main(void)
{
    lib_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_masked_is_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(test_encoding_between_does_not_matter, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
