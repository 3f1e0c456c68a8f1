/* SPDX-License-Identifier: Apache-2.0 */
/* A recording with an op package: its registration and its nodes are calls like others.
 *
 *     test_saver_package PACKAGE COMPILER INCLUDE_FOLDER      without the last two nothing is compiled */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "saver_kit.h"

enum { N = 8 };
static const char *path;
static const float x8[N] = { 1, -2, 3, -4, 5, -6, 7, -8 }, table[4] = { 10, 20, 30, 40 };

static void record(void)
{
    Qnn_BackendHandle_t b = NULL;
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.backendRegisterOpPackage(b, path, "package_one", "CPU"));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.graphCreate(c, "g", NULL, &g));
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 2, 4), y = TENSOR("y", APP_READ, FLOAT_32, 2, 4),
                 z = TENSOR("z", APP_READ, FLOAT_32, 2, 4), t = WITH(TENSOR("t", STATIC, FLOAT_32, 4), table);
    Qnn_Tensor_t *all[] = { &x, &y, &z, &t };
    for (size_t i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(g, all[i]));
    struct op o = { .name = "mix", .type = "Mix", .package = "tests.one", .np = 3, .ni = 1, .no = 2, .in = { x } };
    o.out[0] = y;
    o.out[1] = z;
    o.p[0] = param_f32("gain", 3);
    o.p[1] = param_text("mode", "minus");
    o.p[2] = (Qnn_Param_t){ .paramType = QNN_PARAMTYPE_TENSOR, .name = "table", .tensorParam = t };
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    float got[2][N];
    Qnn_Tensor_t in = WITH(x, x8), out[2] = { WITH(y, got[0]), WITH(z, got[1]) };
    OK(q.graphExecute(g, &in, 1, out, 2, NULL, NULL));
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(b));
}

static void test_replay(void **state)
{
    (void)state;
    void *lib = open_saver();
    OK(record_to("package", 0));
    record();
    dlclose(lib);
    if (!compile("package"))
        return;
    assert_int_equal(replay("package", "libQnnCpu.so"), 0);
    for (unsigned k = 0; k < 2; k++) {
        char name[64];
        float got[N + 1];
        snprintf(name, sizeof name, "package/execute_%u_%u.raw", replayed_call("package", "QnnGraph_execute", 0), k);
        assert_int_equal(read_file(name, got, sizeof got), N * sizeof(float));
        for (int i = 0; i < N; i++)
            assert_true(got[i] == (k ? x8[i] : 3 * x8[i]) - table[i % 4]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_replay) };
    path = argc > 1 ? argv[1] : "";
    int failed = saver_kit_begin(argc - 1, argv + 1);
    return failed ? failed : cmocka_run_group_tests(tests, NULL, saver_kit_end);
}
