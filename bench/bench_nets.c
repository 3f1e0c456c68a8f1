/* SPDX-License-Identifier: Apache-2.0 */
/* Networks in the shape of published ones; the weights are generated. */
#include <stddef.h>

#include "bench_client.h"

/* Expand, filter each channel, project; around it the shortcut when the shape allows. */
static struct act inverted_residual(struct builder *b, struct act x, uint32_t expand, uint32_t out, uint32_t stride)
{
    struct act t = x;
    if (expand > 1)
        t = build_conv(b, t, (struct conv){ .out = x.c * expand, .kernel = 1, .stride = 1, .act = RELU6 });
    t = build_conv(b, t, (struct conv){ .out = t.c, .kernel = 3, .stride = stride, .depthwise = true, .act = RELU6 });
    t = build_conv(b, t, (struct conv){ .out = out, .kernel = 1, .stride = 1 });
    return stride == 1 && x.c == out ? build_add(b, x, t, LINEAR) : t;
}

/* MobileNetV2, width 1.0, 224 x 224. */
void net_mobilenet_v2(struct builder *b)
{
    static const struct {
        uint32_t expand, out, repeat, stride;
    } stages[] = { { 1, 16, 1, 1 }, { 6, 24, 2, 2 }, { 6, 32, 3, 2 }, { 6, 64, 4, 2 }, { 6, 96, 3, 1 }, { 6, 160, 3, 2 }, { 6, 320, 1, 1 } };
    struct act x = build_input(b, 224, 224, 3);
    x = build_conv(b, x, (struct conv){ .out = 32, .kernel = 3, .stride = 2, .act = RELU6 });
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        for (uint32_t k = 0; k < stages[i].repeat; k++)
            x = inverted_residual(b, x, stages[i].expand, stages[i].out, k ? 1 : stages[i].stride);
    x = build_conv(b, x, (struct conv){ .out = 1280, .kernel = 1, .stride = 1, .act = RELU6 });
    x = build_pool(b, x, "PoolAvg2d", x.h, 1, 0);
    build_output(b, build_dense(b, x, 1000, LINEAR), "Softmax");
}

static struct act bottleneck(struct builder *b, struct act x, uint32_t inner, uint32_t stride)
{
    struct act t = build_conv(b, x, (struct conv){ .out = inner, .kernel = 1, .stride = 1, .act = RELU });
    t = build_conv(b, t, (struct conv){ .out = inner, .kernel = 3, .stride = stride, .act = RELU });
    t = build_conv(b, t, (struct conv){ .out = 4 * inner, .kernel = 1, .stride = 1 });
    if (stride > 1 || x.c != 4 * inner)
        x = build_conv(b, x, (struct conv){ .out = 4 * inner, .kernel = 1, .stride = stride });
    return build_add(b, t, x, RELU);
}

/* ResNet50 with the stride in the 3 x 3 filter, 224 x 224. */
void net_resnet50(struct builder *b)
{
    static const uint32_t blocks[] = { 3, 4, 6, 3 };
    struct act x = build_input(b, 224, 224, 3);
    x = build_conv(b, x, (struct conv){ .out = 64, .kernel = 7, .stride = 2, .act = RELU });
    x = build_pool(b, x, "PoolMax2d", 3, 2, 1);
    for (uint32_t stage = 0; stage < 4; stage++)
        for (uint32_t k = 0; k < blocks[stage]; k++)
            x = bottleneck(b, x, 64u << stage, k == 0 && stage > 0 ? 2 : 1);
    x = build_pool(b, x, "PoolAvg2d", x.h, 1, 0);
    build_output(b, build_dense(b, x, 1000, LINEAR), "Softmax");
}

/* The same layers with few and with many weights, for load times. */
static void net_dense(struct builder *b, uint32_t width)
{
    struct act x = build_input(b, 1, 1, 16);
    for (int i = 0; i < 20; i++)
        x = build_dense(b, x, width, RELU);
    build_output(b, build_dense(b, x, 16, LINEAR), "Softmax");
}

void net_narrow(struct builder *b)
{
    net_dense(b, 90);
}

void net_wide(struct builder *b)
{
    net_dense(b, 900);
}

/* One operator on one element: what is left is the way there and back. */
void net_one_op(struct builder *b)
{
    build_output(b, build_input(b, 1, 1, 1), "Relu");
}
