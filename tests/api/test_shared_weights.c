/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of one context that have weights in common, as the two halves of a language model have: prompts of many rows, then
 * one row at a time, with constants of their own beside. A file has such weights once, and gives the
 * same numbers. */
#include "api_test.h"

#include <stdlib.h>

#include <QNN/HTP/QnnHtpContext.h>

enum { SIDE = 256, ROWS = 32, WEIGHTS = SIDE * SIDE };

static float weights[WEIGHTS], rows_add[ROWS * SIDE];

static const char *const names[3] = { "prompt", "step", "other" };
static struct net built[3];

static void fill(void)
{
    for (int i = 0; i < WEIGHTS; i++)
        weights[i] = (float)(i * 7 % 15 - 7);
    for (int i = 0; i < ROWS * SIDE; i++)
        rows_add[i] = (float)(i % 11);
}

/* y = x W + add, where add has as many rows as x; `seed` makes other weights. */
static void product(Qnn_ContextHandle_t c, const char *name, uint32_t rows, int seed, struct net *ret)
{
    static float w[WEIGHTS];
    for (int i = 0; i < WEIGHTS; i++)
        w[i] = weights[i] + (float)seed;
    OK(q.graphCreate(c, name, NULL, &ret->graph));
    ret->x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, rows, SIDE);
    ret->y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, rows, SIDE);
    Qnn_Tensor_t mid = TENSOR(keep_name("%s_mid", name), NATIVE, FLOAT_32, rows, SIDE),
                 wt = WITH(TENSOR(keep_name("%s_w", name), STATIC, FLOAT_32, SIDE, SIDE), w),
                 at = tensor_data(TENSOR(keep_name("%s_add", name), STATIC, FLOAT_32, rows, SIDE), rows_add,
                                  rows * SIDE * (uint32_t)sizeof(float));
    Qnn_Tensor_t *all[] = { &ret->x, &ret->y, &mid, &wt, &at };
    for (unsigned i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(ret->graph, all[i]));
    struct op times = { .name = "times", .type = "MatMul", .ni = 2, .in = { ret->x, wt }, .no = 1, .out = { mid } },
              plus = { .name = "plus", .type = "ElementWiseAdd", .ni = 2, .in = { mid, at }, .no = 1, .out = { ret->y } };
    OK(op_add(ret->graph, &times));
    OK(op_add(ret->graph, &plus));
    OK(q.graphFinalize(ret->graph, NULL, NULL));
}

static void gives(const struct net *n, uint32_t rows, int seed)
{
    static float x[ROWS * SIDE], y[ROWS * SIDE];
    for (uint32_t i = 0; i < rows * SIDE; i++)
        x[i] = (float)(i % 5) - 2;
    OK(net_run(n, x, y, rows * SIDE, rows * SIDE));
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 0; k < SIDE; k++) {
            float sum = rows_add[r * SIDE + k]; /* small integers: exact in any order */
            for (uint32_t i = 0; i < SIDE; i++)
                sum += x[r * SIDE + i] * (weights[i * SIDE + k] + (float)seed);
            assert_true(y[r * SIDE + k] == sum);
        }
}

struct saved {
    void *data;
    uint64_t size;
};

static struct saved save(Qnn_ContextHandle_t c)
{
    struct saved s;
    uint64_t written;
    OK(q.contextGetBinarySize(c, &s.size));
    s.data = malloc(s.size);
    assert_non_null(s.data);
    OK(q.contextGetBinary(c, s.data, s.size, &written));
    assert_int_equal(written, s.size);
    return s;
}

/* libQnnHtp.so wants to be asked; others share always. */
static Qnn_ContextHandle_t sharing_context(void)
{
    QnnHtpContext_CustomConfig_t custom = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED };
    custom.weightSharingEnabled = true;
    QnnContext_Config_t share = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnContext_Config_t *config[] = { &share, NULL };
    Qnn_ContextHandle_t c;
    OK(q.contextCreate(env.backend, NULL, lib_is_htp() ? config : NULL, &c));
    return c;
}

static void runs(const struct saved *s)
{
    Qnn_ContextHandle_t c;
    struct net n[3];
    OK(q.contextValidateBinary(env.backend, NULL, NULL, s->data, s->size));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, s->data, s->size, &c, NULL));
    for (int i = 0; i < 3; i++) {
        n[i] = built[i];
        OK(q.graphRetrieve(c, names[i], &n[i].graph));
    }
    gives(&n[0], ROWS, 0);
    gives(&n[1], 1, 0);
    gives(&n[2], 1, 1);
    OK(q.contextFree(c, NULL));
}

static void test_prompts_and_steps(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c = sharing_context();
    product(c, names[0], ROWS, 0, &built[0]);
    struct saved one = save(c);
    product(c, names[1], 1, 0, &built[1]);
    struct saved two = save(c);
    assert_in_range(one.size, sizeof weights, 2 * sizeof weights);
    assert_in_range(two.size, one.size, one.size + sizeof weights / 8);
    product(c, names[2], 1, 1, &built[2]); /* nothing of it is there */
    struct saved three = save(c);
    assert_in_range(three.size, two.size + sizeof weights, two.size + sizeof weights * 9 / 8);
    OK(q.contextFree(c, NULL));
    runs(&three);
    free(one.data);
    free(two.data);
    free(three.data);
}

/* What two graphs have in common is less than an eighth of each: they stay apart. */
static void test_little_in_common(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c = sharing_context();
    product(c, names[0], ROWS / 2, 0, &built[0]);
    struct saved one = save(c);
    product(c, names[2], ROWS / 2, 1, &built[2]);
    struct saved two = save(c);
    assert_in_range(two.size, one.size + sizeof weights + sizeof rows_add / 2, one.size + 2 * sizeof weights);
    OK(q.contextFree(c, NULL));
    free(one.data);
    free(two.data);
}

/* ExecuTorch makes two files, one without the option, and expects that one to be larger. */
static void test_not_asked(void **state)
{
    (void)state;
    if (!lib_is_htp())
        return;
    product(env.context, names[0], ROWS, 0, &built[0]);
    struct saved one = save(env.context);
    product(env.context, names[1], 1, 0, &built[1]);
    product(env.context, names[2], 1, 1, &built[2]);
    struct saved three = save(env.context);
    assert_in_range(three.size, one.size + 2 * sizeof weights, one.size + sizeof weights * 9 / 4);
    runs(&three);
    free(one.data);
    free(three.data);
}

/* Without the option graphs keep constants of their own, also when they are all equal. */
static void test_off_means_off(void **state)
{
    (void)state;
    if (!lib_is_htp())
        return;
    struct saved sizes[2][2];

    for (int shared = 0; shared < 2; shared++) {
        Qnn_ContextHandle_t c;

        if (shared)
            c = sharing_context();
        else
            OK(q.contextCreate(env.backend, NULL, NULL, &c));
        product(c, names[0], ROWS, 0, &built[0]);
        sizes[shared][0] = save(c);
        product(c, names[1], ROWS, 0, &built[1]);
        sizes[shared][1] = save(c);
        OK(q.contextFree(c, NULL));
        free(sizes[shared][0].data);
        free(sizes[shared][1].data);
    }
    assert_true(sizes[0][1].size >= sizes[0][0].size + sizeof weights);
    assert_true(sizes[1][1].size <= sizes[1][0].size + sizeof weights / 8);
}

static int setup(void **state)
{
    fill();
    return env_setup(state);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompts_and_steps),
        cmocka_unit_test(test_little_in_common),
        cmocka_unit_test(test_not_asked),
        cmocka_unit_test(test_off_means_off),
    };
    return cmocka_run_group_tests_name("shared weights", tests, setup, env_teardown);
}
