/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs for the API tests, with their results computed here. */
#include <math.h>
#include <string.h>

#include "api_test.h"

#define STEP(call)                          \
    do {                                    \
        Qnn_ErrorHandle_t step_ = (call);   \
        if (step_ != QNN_SUCCESS)           \
            return step_;                   \
    } while (0)

static Qnn_ErrorHandle_t binary_node(Qnn_GraphHandle_t g, const char *name, const char *type, const Qnn_Tensor_t t[3])
{
    struct op o = { .name = name, .type = type, .ni = 2, .in = { t[0], t[1] }, .no = 1, .out = { t[2] } };
    return op_add(g, &o);
}

Qnn_ErrorHandle_t net_affine(Qnn_ContextHandle_t c, const char *name, float mul, float add, struct net *ret)
{
    STEP(q.graphCreate(c, name, NULL, &ret->graph));
    Qnn_GraphHandle_t g = ret->graph;
    const float m[] = { mul }, a[] = { add };
    ret->x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, 1, AFFINE_N);
    ret->y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, 1, AFFINE_N);
    Qnn_Tensor_t mid = TENSOR(keep_name("%s_mid", name), NATIVE, FLOAT_32, 1, AFFINE_N);
    Qnn_Tensor_t mt = WITH(TENSOR(keep_name("%s_mul", name), STATIC, FLOAT_32, 1), m);
    Qnn_Tensor_t at = WITH(TENSOR(keep_name("%s_add", name), STATIC, FLOAT_32, 1), a);
    Qnn_Tensor_t *all[] = { &ret->x, &ret->y, &mid, &mt, &at };
    for (unsigned i = 0; i < COUNT(all); i++)
        STEP(q.tensorCreateGraphTensor(g, all[i]));
    STEP(binary_node(g, keep_name("%s_times", name), "ElementWiseMultiply", (Qnn_Tensor_t[]){ ret->x, mt, mid }));
    return binary_node(g, keep_name("%s_plus", name), "ElementWiseAdd", (Qnn_Tensor_t[]){ mid, at, ret->y });
}

const float conv_in[CONV_IN] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
/* HWIO: 3 x 3 positions, 1 input, 2 output channels */
const float conv_filter[18] = { 0.5f, 1, 0, -1, 0.25f, 0, 0, 0.5f, 1, -0.125f, -1, 0, 0, 0, 0.5f, -0.5f, 0.25f, 0.125f };
const float conv_bias[2] = { -3, 1.5f };

static Qnn_ErrorHandle_t conv_node(Qnn_GraphHandle_t g, const char *name, const Qnn_Tensor_t t[4])
{
    static const uint32_t ones[2] = { 1, 1 }, zeros[4];
    struct op o = { .name = name, .type = "Conv2d", .np = 2, .ni = 3, .in = { t[0], t[1], t[2] }, .no = 1, .out = { t[3] } };
    o.p[0] = param_u32s(g, "stride", 1, (uint32_t[]){ 2 }, ones);
    o.p[1] = param_u32s(g, "pad_amount", 2, (uint32_t[]){ 2, 2 }, zeros);
    return op_add(g, &o);
}

Qnn_ErrorHandle_t net_conv(Qnn_ContextHandle_t c, const char *name, struct net *ret)
{
    STEP(q.graphCreate(c, name, NULL, &ret->graph));
    Qnn_GraphHandle_t g = ret->graph;
    ret->x = TENSOR(keep_name("%s_image", name), APP_WRITE, FLOAT_32, 1, 4, 4, 1);
    ret->y = TENSOR(keep_name("%s_prob", name), APP_READ, FLOAT_32, 1, 2, 2, 2);
    Qnn_Tensor_t w = WITH(TENSOR(keep_name("%s_w", name), STATIC, FLOAT_32, 3, 3, 1, 2), conv_filter);
    Qnn_Tensor_t b = WITH(TENSOR(keep_name("%s_b", name), STATIC, FLOAT_32, 2), conv_bias);
    Qnn_Tensor_t sum = TENSOR(keep_name("%s_sum", name), NATIVE, FLOAT_32, 1, 2, 2, 2);
    Qnn_Tensor_t act = TENSOR(keep_name("%s_act", name), NATIVE, FLOAT_32, 1, 2, 2, 2);
    Qnn_Tensor_t *all[] = { &ret->x, &ret->y, &w, &b, &sum, &act };
    for (unsigned i = 0; i < COUNT(all); i++)
        STEP(q.tensorCreateGraphTensor(g, all[i]));
    STEP(conv_node(g, keep_name("%s_conv", name), (Qnn_Tensor_t[]){ ret->x, w, b, sum }));
    struct op relu = { .name = keep_name("%s_relu", name), .type = "Relu", .ni = 1, .in = { sum }, .no = 1, .out = { act } };
    STEP(op_add(g, &relu));
    struct op soft = {
        .name = keep_name("%s_softmax", name), .type = "Softmax", .ni = 1, .in = { act }, .no = 1, .out = { ret->y }
    };
    return op_add(g, &soft);
}

void conv_expected(float out[CONV_OUT])
{
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 2; x++) {
            double act[2], total = 0;
            for (int o = 0; o < 2; o++) {
                double sum = (double)conv_bias[o];
                for (int ky = 0; ky < 3; ky++)
                    for (int kx = 0; kx < 3; kx++)
                        sum += (double)conv_in[(y + ky) * 4 + x + kx] * (double)conv_filter[(ky * 3 + kx) * 2 + o];
                act[o] = sum > 0 ? sum : 0;
            }
            double top = act[0] > act[1] ? act[0] : act[1];
            for (int o = 0; o < 2; o++)
                total += exp(act[o] - top);
            for (int o = 0; o < 2; o++)
                out[(y * 2 + x) * 2 + o] = (float)(exp(act[o] - top) / total);
        }
}

Qnn_ErrorHandle_t net_chain(Qnn_ContextHandle_t c, const char *name, uint32_t depth, uint32_t n, struct net *ret)
{
    static const float one[] = { 1 };
    STEP(q.graphCreate(c, name, NULL, &ret->graph));
    ret->x = TENSOR(keep_name("%s_x", name), APP_WRITE, FLOAT_32, n);
    ret->y = TENSOR(keep_name("%s_y", name), APP_READ, FLOAT_32, n);
    Qnn_Tensor_t step = WITH(TENSOR(keep_name("%s_one", name), STATIC, FLOAT_32, 1), one);
    STEP(q.tensorCreateGraphTensor(ret->graph, &ret->x));
    STEP(q.tensorCreateGraphTensor(ret->graph, &ret->y));
    STEP(q.tensorCreateGraphTensor(ret->graph, &step));
    Qnn_Tensor_t from = ret->x;
    for (uint32_t i = 0; i < depth; i++) {
        Qnn_Tensor_t to = ret->y;
        if (i + 1 < depth) {
            to = TENSOR(keep_name("%s_t%u", name, i), NATIVE, FLOAT_32, n);
            STEP(q.tensorCreateGraphTensor(ret->graph, &to));
        }
        STEP(binary_node(ret->graph, keep_name("%s_n%u", name, i), "ElementWiseAdd", (Qnn_Tensor_t[]){ from, step, to }));
        from = to;
    }
    return QNN_SUCCESS;
}

void net_turns(struct net *n, uint32_t side)
{
    static const uint32_t two = 2, perm[] = { 1, 0 };
    Qnn_Tensor_t t[5], from;
    n->x = TENSOR("x", APP_WRITE, FLOAT_32, side, side);
    n->y = TENSOR("y", APP_READ, FLOAT_32, side, side);
    OK(q.tensorCreateGraphTensor(n->graph, &n->x));
    OK(q.tensorCreateGraphTensor(n->graph, &n->y));
    from = n->x;
    for (int i = 0; i < 5; i++, from = t[i - 1]) {
        t[i] = TENSOR(keep_name("t%d", i), NATIVE, FLOAT_32, side, side);
        OK(q.tensorCreateGraphTensor(n->graph, &t[i]));
        struct op turn = { .name = keep_name("turn%d", i),
                           .type = "Transpose",
                           .ni = 1,
                           .in = { from },
                           .no = 1,
                           .out = { t[i] },
                           .np = 1,
                           .p = { param_u32s(n->graph, "perm", 1, &two, perm) } };
        OK(op_add(n->graph, &turn));
    }
    struct op add = { .name = "add", .type = "ElementWiseAdd", .ni = 2, .in = { t[0], t[4] }, .no = 1, .out = { n->y } };
    OK(op_add(n->graph, &add));
}

Qnn_ErrorHandle_t net_run(const struct net *n, const float *x, float *y, uint32_t n_x, uint32_t n_y)
{
    Qnn_Tensor_t in = tensor_data(n->x, x, n_x * (uint32_t)sizeof *x), out = tensor_data(n->y, y, n_y * (uint32_t)sizeof *y);
    return q.graphExecute(n->graph, &in, 1, &out, 1, NULL, NULL);
}
