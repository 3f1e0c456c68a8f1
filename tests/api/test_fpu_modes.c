/* SPDX-License-Identifier: Apache-2.0 */
/* Results do not depend on the floating-point mode of the caller, neither by what is computed when a graph is finalized nor
 * by what is computed when it is executed; and calls leave that mode alone. */
#include "api_test.h"

#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

enum { DEFAULT = 0x1f80, FLUSH = 0x8040, UP = 0x4000, DOWN = 0x2000, TO_ZERO = 0x6000, MASKS = 0x1f80, FLAGS = 0x3f };

static const unsigned modes[] = {
    DEFAULT, DEFAULT | FLUSH, DEFAULT | UP, DEFAULT | DOWN, DEFAULT | TO_ZERO, DEFAULT | FLUSH | UP, /* hostile */
    DEFAULT & ~MASKS, /* every exception is a signal */
};

enum { SIDE = 64, VALUES = SIDE * SIDE };

static float input[VALUES], factor[VALUES], divisor[VALUES]; /* made in the default mode */

static Qnn_Tensor_t constant(const char *name, float *data)
{
    static const uint32_t dims[] = { SIDE, SIDE };
    Qnn_Tensor_t t = tensor_make(QNN_TENSOR_VERSION_1, name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 2, dims);
    t.v1.clientBuf = (Qnn_ClientBuffer_t){ data, VALUES * sizeof *data };
    return t;
}

/* The context binary of a graph. */
struct file {
    uint8_t *bytes;
    uint64_t n;
};

static struct file binary_of(void)
{
    struct file f = { 0 };
    uint64_t size = 0;

    OK(q.contextGetBinarySize(env.context, &size));
    f.bytes = malloc(size);
    assert_non_null(f.bytes);
    OK(q.contextGetBinary(env.context, f.bytes, size, &f.n));
    return f;
}

/* y = (x * (c * w)) w / d; c * w is computed by graphFinalize. */
static struct file compute(float result[VALUES])
{
    static const uint32_t dims[] = { SIDE, SIDE };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "net", NULL, &g));
    Qnn_Tensor_t x = tensor_make(QNN_TENSOR_VERSION_1, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, dims);
    Qnn_Tensor_t k = tensor_make(QNN_TENSOR_VERSION_1, "k", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, dims);
    Qnn_Tensor_t m = tensor_make(QNN_TENSOR_VERSION_1, "m", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, dims);
    Qnn_Tensor_t p = tensor_make(QNN_TENSOR_VERSION_1, "p", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, dims);
    Qnn_Tensor_t y = tensor_make(QNN_TENSOR_VERSION_1, "y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, dims);
    Qnn_Tensor_t c = constant("c", factor);
    Qnn_Tensor_t w = constant("w", factor);
    Qnn_Tensor_t d = constant("d", divisor);
    Qnn_Tensor_t *all[] = { &x, &k, &m, &p, &y, &c, &w, &d };
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        OK(q.tensorCreateGraphTensor(g, all[i]));

    struct {
        const char *name, *type;
        Qnn_Tensor_t in[2], out;
    } nodes[] = {
        { "fold", "ElementWiseMultiply", { c, w }, k },
        { "mul", "ElementWiseMultiply", { x, k }, m },
        { "mat", "MatMul", { m, w }, p },
        { "div", "ElementWiseDivide", { p, d }, y },
    };
    for (unsigned i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
        op.v1.name = nodes[i].name;
        op.v1.packageName = "qti.aisw";
        op.v1.typeName = nodes[i].type;
        op.v1.numOfInputs = 2;
        op.v1.inputTensors = nodes[i].in;
        op.v1.numOfOutputs = 1;
        op.v1.outputTensors = &nodes[i].out;
        OK(q.backendValidateOpConfig(env.backend, op));
        OK(q.graphAddNode(g, op));
    }
    OK(q.graphFinalize(g, NULL, NULL));

    x.v1.clientBuf = (Qnn_ClientBuffer_t){ input, sizeof input };
    y.v1.clientBuf = (Qnn_ClientBuffer_t){ result, VALUES * sizeof *result };
    OK(q.graphExecute(g, &x, 1, &y, 1, NULL, NULL));
    const struct file f = binary_of();
    OK(q.contextFree(env.context, NULL));
    OK(q.contextCreate(env.backend, NULL, NULL, &env.context));
    return f;
}

/* Words that differ between files made in one mode: ids that run, and checksums over them. */
enum { WORD = 8, SAMPLES = 4, FEW = 16 };

static unsigned find_ids(uint8_t *ids, const struct file *a, const struct file *b)
{
    unsigned n = 0;

    assert_int_equal(a->n, b->n);
    for (uint64_t i = 0; i < a->n; i++)
        ids[i / WORD] |= a->bytes[i] != b->bytes[i];
    for (uint64_t i = 0; i <= a->n / WORD; i++)
        n += ids[i];
    return n;
}

static void same_but_ids(const uint8_t *ids, const struct file *a, const struct file *b)
{
    assert_int_equal(a->n, b->n);
    for (uint64_t i = 0; i < a->n; i++)
        if (!ids[i / WORD] && a->bytes[i] != b->bytes[i])
            fail_msg("byte %llu of the context binary is %02x, not %02x", (unsigned long long)i, b->bytes[i], a->bytes[i]);
}

static void same_bits_in_every_mode(void **state)
{
    (void)state;
    static float want[VALUES], got[VALUES];
    for (int i = 0; i < VALUES; i++) {
        factor[i] = 1.0f / (float)(3 + i);
        divisor[i] = (float)(7 + i % 11);
        input[i] = i % 7 ? (float)i / 3.0f : 1e-39f * (float)(i + 1); /* some are denormal */
    }
    const struct file first = compute(want);
    uint8_t *ids = calloc(first.n / WORD + 1, 1);
    assert_non_null(ids);
    assert_true(want[0] != 0);
    for (int i = 0; i < SAMPLES; i++) {
        const struct file other = compute(got);
        assert_true(find_ids(ids, &first, &other) <= FEW);
        free(other.bytes);
    }

    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        _mm_setcsr(modes[i]);
        const struct file made = compute(got);
        unsigned after = _mm_getcsr();
        _mm_setcsr(DEFAULT);
        same_but_ids(ids, &first, &made);
        free(made.bytes);

        assert_int_equal(after & ~FLAGS, modes[i] & ~FLAGS);
        assert_memory_equal(got, want, sizeof want);
    }
    free(first.bytes);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(same_bits_in_every_mode, env_setup, env_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
