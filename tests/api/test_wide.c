/* SPDX-License-Identifier: Apache-2.0 */
/* Concat, Pack, Split and UnPack of more tensors than one operator has room for: values, requantization, the same from a
 * context binary, and refusals that leave the graph as it was. Outputs that are NULL tensors. */
#include <stdio.h>
#include <stdlib.h>

#include "api_test.h"

enum { MOST = 4096, EACH = 3 };

static Qnn_Tensor_t tensors[MOST + 1];
static uint8_t bytes[MOST][EACH], whole[MOST * EACH];
static char names[MOST + 1][24]; /* more than the kit keeps */
static uint32_t piece_dims[] = { 1, EACH }, whole_dims[] = { 0, EACH };

struct wide_case {
    const char *op;
    bool joins, packs;
    uint32_t n;
};

static const struct wide_case cases[] = {
    { "Concat", true, false, 65 },  { "Concat", true, false, 1000 }, { "Concat", true, false, 4096 },
    { "Pack", true, true, 129 },    { "Pack", true, true, 4033 },    { "Split", false, false, 65 },
    { "Split", false, false, 700 }, { "UnPack", false, true, 66 },   { "UnPack", false, true, 4096 },
};

static void create(Qnn_GraphHandle_t g, uint32_t i, bool input, bool flat)
{
    snprintf(names[i], sizeof names[i], "t%u", i);
    Qnn_Tensor_t *t = &tensors[i];
    *t = tensor_make(QNN_TENSOR_VERSION_2, names[i], input ? QNN_TENSOR_TYPE_APP_WRITE : QNN_TENSOR_TYPE_APP_READ,
                     QNN_DATATYPE_UFIXED_POINT_8, 0, NULL);
    TV(*t).rank = flat ? 1 : 2;
    TV(*t).dimensions = i == MOST ? whole_dims : piece_dims + flat;
    *t = i == MOST ? tensor_quant(*t, 0.5f, -10) : tensor_quant(*t, i % 2 ? 0.5f : 1.0f, 0);
    OK(q.tensorCreateGraphTensor(g, t));
}

static Qnn_OpConfig_t config(const struct wide_case *w, Qnn_Param_t *params, uint32_t n)
{
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1 = (Qnn_OpConfigV1_t){ .name = "wide",
                               .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                               .typeName = w->op,
                               .numOfParams = w->joins || w->packs ? 1 : 2,
                               .params = params,
                               .numOfInputs = w->joins ? n : 1,
                               .inputTensors = w->joins ? tensors : tensors + MOST,
                               .numOfOutputs = w->joins ? 1 : n,
                               .outputTensors = w->joins ? tensors + MOST : tensors };
    return c;
}

/* Tensors of the case and its parameters; the axis is the first dimension. */
static void prepare(Qnn_GraphHandle_t g, const struct wide_case *w, Qnn_Param_t *params)
{
    static uint32_t ends[MOST];
    whole_dims[0] = w->n;
    for (uint32_t i = 0; i < w->n; i++) {
        ends[i] = i + 1;
        create(g, i, w->joins, w->packs);
    }
    create(g, MOST, !w->joins, false);
    params[0] = param_u32("axis", 0);
    if (!w->joins && !w->packs)
        params[1] = param_u32s(g, "split_index", 1, (uint32_t[]){ w->n - 1 }, ends);
}

/* Pieces have scale 1 and 1/2, the whole 1/2 and zero point 10: all values are exact, some are clamped. */
static int stored_whole(uint32_t i, uint32_t k)
{
    return (int)((i * 7 + k * 5) % 256);
}

static int stored_piece(uint32_t i, uint32_t k)
{
    int real2 = stored_whole(i, k) - 10, v = i % 2 ? real2 : real2 >= 0 ? (real2 + 1) / 2 : 0;
    if (i % 2 == 0 && real2 > 0 && real2 % 2) /* half way: to even */
        v -= v % 2;
    return v < 0 ? 0 : v;
}

static void run(const struct wide_case *w, Qnn_GraphHandle_t g)
{
    static Qnn_Tensor_t bound[MOST];
    for (uint32_t i = 0; i < w->n; i++) {
        for (uint32_t k = 0; k < EACH; k++) {
            bytes[i][k] = (uint8_t)(w->joins ? stored_whole(i, k) : 0);
            whole[i * EACH + k] = (uint8_t)(w->joins ? 0 : stored_whole(i, k));
        }
        bound[i] = tensor_data(tensors[i], bytes[i], EACH);
    }
    Qnn_Tensor_t one = tensor_data(tensors[MOST], whole, w->n * EACH);
    OK(w->joins ? q.graphExecute(g, bound, w->n, &one, 1, NULL, NULL) : q.graphExecute(g, &one, 1, bound, w->n, NULL, NULL));
    for (uint32_t i = 0; i < w->n; i++)
        for (uint32_t k = 0; k < EACH; k++) {
            int joined = stored_whole(i, k) * (i % 2 ? 1 : 2) + 10;
            int want = w->joins ? (joined > 255 ? 255 : joined) : stored_piece(i, k),
                got = w->joins ? whole[i * EACH + k] : bytes[i][k];
            if (got != want)
                fail_msg("%s of %u: [%u, %u] is %d, not %d", w->op, w->n, i, k, got, want);
        }
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        Qnn_ContextHandle_t c, again;
        Qnn_GraphHandle_t g;
        Qnn_Param_t params[2];
        Qnn_ContextBinarySize_t size, written;
        OK(q.contextCreate(env.backend, NULL, NULL, &c));
        OK(q.graphCreate(c, "g", NULL, &g));
        prepare(g, &cases[i], params);
        OK(q.backendValidateOpConfig(env.backend, config(&cases[i], params, cases[i].n)));
        OK(q.graphAddNode(g, config(&cases[i], params, cases[i].n)));
        OK(q.graphFinalize(g, NULL, NULL));
        run(&cases[i], g);
        OK(q.contextGetBinarySize(c, &size));
        void *binary = malloc(size);
        OK(q.contextGetBinary(c, binary, size, &written));
        OK(q.contextFree(c, NULL));
        OK(q.contextCreateFromBinary(env.backend, NULL, NULL, binary, written, &again, NULL));
        OK(q.graphRetrieve(again, "g", &g));
        run(&cases[i], g);
        OK(q.contextFree(again, NULL));
        free(binary);
    }
}

static void both_refuse(Qnn_GraphHandle_t g, Qnn_OpConfig_t c, const char *text)
{
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, text, q.backendValidateOpConfig(env.backend, c));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, text, q.graphAddNode(g, c));
}

static void test_refused(void **state)
{
    (void)state;
    Qnn_GraphHandle_t g;
    Qnn_Param_t params[2], axis;
    OK(q.graphCreate(env.context, "g", NULL, &g));
    hush(true);
    const struct wide_case *w = &cases[5];
    prepare(g, w, params);
    axis = params[0];
    params[0] = param_u32("axis", 2);
    both_refuse(g, config(w, params, w->n), "\"axis\" is 2; 0 … 1");
    params[0] = param_u32("axis", 1);
    both_refuse(g, config(w, params, w->n), "\"split_index\" element 2 is 3; 3 … 2 are allowed");
    params[0] = axis;
    Qnn_OpConfig_t c = config(w, params, w->n);
    c.v1.numOfParams = 1;
    both_refuse(g, c, "\"split_index\" has 0 elements");
    c = config(w, params, w->n);
    c.v1.numOfInputs = 0;
    both_refuse(g, c, "one joined tensor");
    Qnn_Tensor_t good = tensors[40]; /* in the second of two parts */
    tensors[40] = tensor_quant(TENSOR2("longer", NATIVE, UFIXED_POINT_8, 2, EACH), 1, 0);
    OK(q.tensorCreateGraphTensor(g, &tensors[40]));
    both_refuse(g, config(w, params, w->n), "node 3 of the 3 that it is built as: Split \"wide\": output 8 (");
    tensors[40] = tensors[3];
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "output \"t3\" is given twice", q.graphAddNode(g, config(w, params, w->n)));
    tensors[40] = good;
    OK(q.graphAddNode(g, config(w, params, w->n))); /* none of them left anything behind */
    c = config(&cases[2], params, MOST + 1);
    both_refuse(g, c, "at most 4096");
    OK(q.graphFinalize(g, NULL, NULL));
    run(w, g);
    hush(false);
}

/* Optional outputs may be NULL tensors at the end, as absent inputs are: of three boxes the second overlaps the first. */
static void test_null_outputs(void **state)
{
    (void)state;
    static const float corners[12] = { 0, 0, 2, 2, 0, 0, 2, 1.9f, 5, 5, 6, 6 }, values[3] = { 0.9f, 0.8f, 0.7f };
    int32_t chosen[6] = { -1, -1, -1, -1, -1, -1 };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "g", NULL, &g));
    Qnn_Tensor_t boxes = TENSOR("boxes", APP_WRITE, FLOAT_32, 1, 3, 4),
                 scores = TENSOR("scores", APP_WRITE, FLOAT_32, 1, 1, 3), at = TENSOR("at", APP_READ, INT_32, 2, 3);
    OK(q.tensorCreateGraphTensor(g, &boxes));
    OK(q.tensorCreateGraphTensor(g, &scores));
    OK(q.tensorCreateGraphTensor(g, &at));
    struct op o = { .name = "nms",
                    .type = "NonMaxSuppression",
                    .np = 2,
                    .p = { param_f32("iou_threshold", 0.5f), param_u32("max_boxes_selected", 2) },
                    .ni = 2,
                    .in = { boxes, scores },
                    .no = 2,
                    .out = { tensor_absent(), at } };
    hush(true);
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "out[0] is a NULL tensor", op_validate(env.backend, &o));
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, op_add(g, &o));
    hush(false);
    o.out[0] = at;
    o.out[1] = tensor_absent();
    OK(op_validate(env.backend, &o));
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    Qnn_Tensor_t in[] = { WITH(boxes, corners), WITH(scores, values) }, out = WITH(at, chosen);
    OK(q.graphExecute(g, in, 2, &out, 1, NULL, NULL));
    for (int i = 0; i < 6; i++)
        assert_int_equal(chosen[i], i == 5 ? 2 : 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_refused, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_null_outputs, env_setup, env_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
