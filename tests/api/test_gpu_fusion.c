/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs of convolutions and element-wise operators: what libQnnGpu.so joins must not change what libQnnCpu.so
 * computes. Some tensors inside are read several times and some are outputs, so that not everything can be joined and memory
 * is reused in many ways. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gpu_kit.h"
#include "test_scale.h"

enum { NODES = 24, GRAPHS = 24, SIZE = 5, CHANNELS = 8, ELEMENTS = SIZE * SIZE * CHANNELS, OUTPUTS = 3 };
#define BOUND 1e-4f

static const char *const unaries[] = { "Relu", "Relu6", "Sigmoid", "Tanh", "ElementWiseAbs", "ElementWiseNeg" };
static const char *const binaries[] = { "ElementWiseAdd", "ElementWiseAdd", "ElementWiseMultiply", "ElementWiseSubtract",
                                        "ElementWiseMaximum" };

/* One node: what it does and which tensors it reads; the numbers are those of the nodes before it, 0 is the
 * graph's input. */
struct plan {
    int kind; /* 0: convolution, 1: function, 2: two tensors, 3: a tensor and one value per channel, 4: and one value */
    uint32_t op, a, b;
    bool out;
};

static struct plan plans[NODES + 1];
static float weights[NODES + 1][CHANNELS * CHANNELS], x[ELEMENTS], results[2][OUTPUTS][ELEMENTS];

static void draw_graph(void)
{
    for (uint32_t k = 1; k <= NODES; k++) {
        uint32_t near = k > 3 ? k - 3 : 0; /* mostly what was just made */
        plans[k] = (struct plan){ .kind = (int)kit_random(5),
                                  .op = kit_random(30),
                                  .a = kit_between(near, k - 1),
                                  .b = kit_between(kit_random(3) ? near : 0, k - 1),
                                  .out = k > NODES - OUTPUTS };
        for (uint32_t i = 0; i < CHANNELS * CHANNELS; i++)
            weights[k][i] = ((float)kit_random(200) - 100.0f) / 300.0f;
    }
    for (uint32_t i = 0; i < ELEMENTS; i++)
        x[i] = ((float)kit_random(200) - 100.0f) / 50.0f;
}

static Qnn_Tensor_t constant(Qnn_GraphHandle_t g, uint32_t k, uint32_t rank, const uint32_t *dims)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    Qnn_Tensor_t t =
        tensor_make(QNN_TENSOR_VERSION_1, keep_name("w%u", k), QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, rank, dims);
    t = tensor_data(t, weights[k], n * sizeof(float));
    OK(q.tensorCreateGraphTensor(g, &t));
    return t;
}

static void add_node(Qnn_GraphHandle_t g, uint32_t k, const Qnn_Tensor_t *tensors)
{
    static const uint32_t filter[] = { 1, 1, CHANNELS, CHANNELS }, channels[] = { CHANNELS }, one[] = { 1 }, two[] = { 2 },
                          pads[] = { 2, 2 }, zeros[4], ones[] = { 1, 1 };
    const struct plan *p = &plans[k];
    struct op o = { .name = keep_name("node%u", k), .ni = 1, .no = 1, .in = { tensors[p->a] }, .out = { tensors[k] } };
    if (p->kind == 0) {
        o.type = "Conv2d";
        o.in[o.ni++] = constant(g, k, 4, filter);
        o.p[o.np++] = param_u32s(g, "stride", 1, two, ones);
        o.p[o.np++] = param_u32s(g, "pad_amount", 2, pads, zeros);
    } else if (p->kind == 1) {
        o.type = unaries[p->op % COUNT(unaries)];
    } else {
        o.type = binaries[p->op % COUNT(binaries)];
        o.in[o.ni++] = p->kind == 2 ? tensors[p->b] : constant(g, k, 1, p->kind == 3 ? channels : one);
    }
    OK(op_add(g, &o));
}

static void run_graph(enum kit_lib which, uint32_t number)
{
    static const uint32_t dims[] = { 1, SIZE, SIZE, CHANNELS };
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t tensors[NODES + 1], outputs[OUTPUTS];
    kit_use(which);
    OK(q.backendCreate(NULL, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &context));
    OK(q.graphCreate(context, keep_name("graph%u", number), NULL, &g));
    for (uint32_t k = 0, n = 0; k <= NODES; k++) {
        Qnn_TensorType_t kind = k == 0         ? QNN_TENSOR_TYPE_APP_WRITE
                                : plans[k].out ? QNN_TENSOR_TYPE_APP_READ
                                               : QNN_TENSOR_TYPE_NATIVE;
        tensors[k] = tensor_make(QNN_TENSOR_VERSION_1, keep_name("t%u", k), kind, QNN_DATATYPE_FLOAT_32, 4, dims);
        OK(q.tensorCreateGraphTensor(g, &tensors[k]));
        if (k && plans[k].out) {
            outputs[n] = tensor_data(tensors[k], results[which][n], sizeof results[which][n]);
            n++;
        }
    }
    for (uint32_t k = 1; k <= NODES; k++)
        add_node(g, k, tensors);
    OK(q.graphFinalize(g, NULL, NULL));
    Qnn_Tensor_t in = tensor_data(tensors[0], x, sizeof x);
    OK(q.graphExecute(g, &in, 1, outputs, OUTPUTS, NULL, NULL));
    OK(q.contextFree(context, NULL));
    OK(q.backendFree(backend));
}

static void test_random_graphs(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < test_scale(GRAPHS); k++) {
        draw_graph();
        run_graph(KIT_CPU, k);
        run_graph(KIT_GPU, k);
        for (uint32_t o = 0; o < OUTPUTS; o++)
            for (uint32_t i = 0; i < ELEMENTS; i++) {
                float want = results[KIT_CPU][o][i], got = results[KIT_GPU][o][i];
                if (!(fabsf(got - want) <= BOUND * fmaxf(1.0f, fabsf(want))))
                    fail_msg("graph %u, output %u, element %u: %g, on the CPU %g", k, o, i, (double)got, (double)want);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_graphs) };
    kit_need_device();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
