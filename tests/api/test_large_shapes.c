/* SPDX-License-Identifier: Apache-2.0 */
/* Products of more rows, matrices and channels than 32 bits count: validation answers, and a refusal says why. Nothing here
 * allocates a tensor. */
#include <string.h>

#include "api_test.h"

static const uint32_t edges[] = { 1, 2, 65535, 65536, 65537, 1u << 30, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff };

/* Either it is taken or it is refused with a sentence; true: taken. */
static bool answered(struct op *o)
{
    const Qnn_ErrorHandle_t e = op_validate(env.backend, o);

    if (CODE(e) == QNN_SUCCESS)
        return true;

    const char *text = explain(e);
    assert_non_null(text);
    assert_true(strlen(text) > 10);
    return false;
}

static bool matmul(uint32_t batch, uint32_t more, uint32_t rows, uint32_t columns, bool turned)
{
    const uint32_t r = turned ? 5 : rows;
    const uint32_t k = turned ? rows : 5;
    struct op o = { .name = "m", .type = QNN_OP_MAT_MUL, .np = 1, .ni = 2, .no = 1 };

    o.p[0] = param_bool(QNN_OP_MAT_MUL_PARAM_TRANSPOSE_IN0, turned);
    o.in[0] = TENSOR("x", NATIVE, FLOAT_32, batch, more, r, k);
    o.in[1] = TENSOR("w", NATIVE, FLOAT_32, 5, columns);
    o.out[0] = TENSOR("y", NATIVE, FLOAT_32, batch, more, rows, columns);
    return answered(&o);
}

static bool fully_connected(uint32_t batch, uint32_t rows)
{
    struct op o = { .name = "f", .type = QNN_OP_FULLY_CONNECTED, .np = 1, .ni = 2, .no = 1 };

    o.p[0] = param_bool(QNN_OP_FULLY_CONNECTED_PARAM_KEEP_DIMS, true);
    o.in[0] = TENSOR("x", NATIVE, FLOAT_32, batch, rows, 16);
    o.in[1] = TENSOR("w", NATIVE, FLOAT_32, 6, 16);
    o.out[0] = TENSOR("y", NATIVE, FLOAT_32, batch, rows, 6);
    return answered(&o);
}

static void test_matmul(void **state)
{
    (void)state;
    assert_true(matmul(2, 3, 4, 6, false));
    assert_true(matmul(2, 3, 4, 6, true));

    /* 2^33, 2^32 and 2^32 + 1 rows: 0, 0 and 1 in 32 bits. */
    assert_false(matmul(2, 1u << 30, 4, 6, false));
    assert_false(matmul(65536, 65536, 1, 6, false));
    assert_false(matmul(641, 6700417, 1, 6, false));

    /* Few enough matrices, few enough columns, and too many blocks of columns of all of them. */
    assert_false(matmul(1u << 10, 1u << 10, 2, 1u << 18, true));
}

static void test_fully_connected(void **state)
{
    (void)state;
    assert_true(fully_connected(2, 3));
    assert_false(fully_connected(2, 0x80000000));
    assert_false(fully_connected(641, 6700417));
}

static void test_edges(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNT(edges); i++)
        for (unsigned k = 0; k < COUNT(edges); k++) {
            const bool beyond = (uint64_t)edges[i] * edges[k] > INT32_MAX;

            if (fully_connected(edges[i], edges[k]))
                assert_false(beyond);
            if (matmul(1, edges[i], edges[k], 6, false))
                assert_false(beyond);
            (void)matmul(edges[i], 1, 3, edges[k], true);
            (void)matmul(edges[i], 1, edges[k], 6, true);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matmul, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_fully_connected, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_edges, env_setup, env_teardown),
    };

    lib_open();
    hush(true);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hush(false);
    lib_close();
    return failed;
}
