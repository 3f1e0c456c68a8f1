/* SPDX-License-Identifier: Apache-2.0 */
/* Networks in the shape of published ones. */
#include <stddef.h>

#include "net.h"

static uint32_t image(struct net *n, uint32_t h, uint32_t w, uint32_t c)
{
    return net_input(n, 4, (uint32_t[]){ n->batch, h, w, c }, true);
}

static void classify(struct net *n, uint32_t x, uint32_t classes)
{
    net_same(n, net_dense(n, net_global_pool(n, x), classes, LINEAR), LAYER_SOFTMAX);
}

/* ---- classifiers of images -------------------------------------------------------------------------------------------- */

/* Expand, filter each channel, project; around it the shortcut when the shape allows. */
static uint32_t inverted_residual(struct net *n, uint32_t x, uint32_t expand, uint32_t out, uint32_t stride)
{
    uint32_t t = x, in = n->layers[x].dims[3];
    if (expand > 1)
        t = net_conv(n, t, (struct conv){ .out = in * expand, .kernel = 1, .stride = 1, .act = RELU6 });
    t = net_conv(n, t, (struct conv){ .out = in * expand, .kernel = 3, .stride = stride, .depthwise = true, .act = RELU6 });
    t = net_conv(n, t, (struct conv){ .out = out, .kernel = 1, .stride = 1 });
    return stride == 1 && in == out ? net_add(n, x, t, LINEAR) : t;
}

/* Width 1.0, 224 x 224. */
static void mobilenet_v2(struct net *n)
{
    static const struct {
        uint32_t expand, out, repeat, stride;
    } stages[] = { { 1, 16, 1, 1 }, { 6, 24, 2, 2 },  { 6, 32, 3, 2 }, { 6, 64, 4, 2 },
                   { 6, 96, 3, 1 }, { 6, 160, 3, 2 }, { 6, 320, 1, 1 } };
    uint32_t x = net_conv(n, image(n, 224, 224, 3), (struct conv){ .out = 32, .kernel = 3, .stride = 2, .act = RELU6 });
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        for (uint32_t k = 0; k < stages[i].repeat; k++)
            x = inverted_residual(n, x, stages[i].expand, stages[i].out, k ? 1 : stages[i].stride);
    classify(n, net_conv(n, x, (struct conv){ .out = 1280, .kernel = 1, .stride = 1, .act = RELU6 }), 1000);
}

static uint32_t bottleneck(struct net *n, uint32_t x, uint32_t inner, uint32_t stride)
{
    uint32_t t = net_conv(n, x, (struct conv){ .out = inner, .kernel = 1, .stride = 1, .act = RELU });
    t = net_conv(n, t, (struct conv){ .out = inner, .kernel = 3, .stride = stride, .act = RELU });
    t = net_conv(n, t, (struct conv){ .out = 4 * inner, .kernel = 1, .stride = 1 });
    if (stride > 1 || n->layers[x].dims[3] != 4 * inner)
        x = net_conv(n, x, (struct conv){ .out = 4 * inner, .kernel = 1, .stride = stride });
    return net_add(n, t, x, RELU);
}

/* The stride is in the 3 x 3 filter; 224 x 224. */
static void resnet50(struct net *n)
{
    static const uint32_t blocks[] = { 3, 4, 6, 3 };
    uint32_t x = net_conv(n, image(n, 224, 224, 3), (struct conv){ .out = 64, .kernel = 7, .stride = 2, .act = RELU });
    x = net_pool(n, x, LAYER_POOL_MAX, 3, 2, 1);
    for (uint32_t stage = 0; stage < 4; stage++)
        for (uint32_t k = 0; k < blocks[stage]; k++)
            x = bottleneck(n, x, 64u << stage, k == 0 && stage > 0 ? 2 : 1);
    classify(n, x, 1000);
}

/* ---- branches --------------------------------------------------------------------------------------------------------- */

/* Widths of one module: 1 x 1; 1 x 1 and 3 x 3; 1 x 1 and 5 x 5; behind the pool. */
static uint32_t branches(struct net *n, uint32_t x, const uint32_t w[6])
{
    uint32_t parts[] = {
        net_conv(n, x, (struct conv){ .out = w[0], .kernel = 1, .stride = 1, .act = RELU }),
        net_conv(n, net_conv(n, x, (struct conv){ .out = w[1], .kernel = 1, .stride = 1, .act = RELU }),
                 (struct conv){ .out = w[2], .kernel = 3, .stride = 1, .act = RELU }),
        net_conv(n, net_conv(n, x, (struct conv){ .out = w[3], .kernel = 1, .stride = 1, .act = RELU }),
                 (struct conv){ .out = w[4], .kernel = 5, .stride = 1, .act = RELU }),
        net_conv(n, net_pool(n, x, LAYER_POOL_MAX, 3, 1, 1),
                 (struct conv){ .out = w[5], .kernel = 1, .stride = 1, .act = RELU }),
    };
    return net_concat(n, 4, parts);
}

/* GoogLeNet from its first module on, on 28 x 28 pixels. */
static void inception(struct net *n)
{
    static const uint32_t modules[][6] = {
        { 64, 96, 128, 16, 32, 32 },     { 128, 128, 192, 32, 96, 64 },   { 192, 96, 208, 16, 48, 64 },
        { 160, 112, 224, 24, 64, 64 },   { 128, 128, 256, 24, 64, 64 },   { 112, 144, 288, 32, 64, 64 },
        { 256, 160, 320, 32, 128, 128 }, { 256, 160, 320, 32, 128, 128 }, { 384, 192, 384, 48, 128, 128 },
    };
    uint32_t x = image(n, 28, 28, 192);
    for (uint32_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        x = branches(n, x, modules[i]);
        x = i == 1 || i == 6 ? net_pool(n, x, LAYER_POOL_MAX, 2, 2, 0) : x;
    }
    classify(n, x, 1000);
}

/* ---- tiny networks ---------------------------------------------------------------------------------------------------- */

/* 32 x 32 pixels, 10 classes. */
static void resnet8(struct net *n)
{
    uint32_t x = net_conv(n, image(n, 32, 32, 3), (struct conv){ .out = 16, .kernel = 3, .stride = 1, .act = RELU });
    for (uint32_t stage = 0; stage < 3; stage++) {
        uint32_t out = 16u << stage, stride = stage ? 2 : 1;
        uint32_t t = net_conv(n, x, (struct conv){ .out = out, .kernel = 3, .stride = stride, .act = RELU });
        t = net_conv(n, t, (struct conv){ .out = out, .kernel = 3, .stride = 1 });
        x = stage ? net_conv(n, x, (struct conv){ .out = out, .kernel = 1, .stride = stride }) : x;
        x = net_add(n, t, x, RELU);
    }
    classify(n, x, 10);
}

/* Words in 49 frames of 10 coefficients. */
static void ds_cnn(struct net *n)
{
    uint32_t x =
        net_conv(n, image(n, 49, 10, 1), (struct conv){ .out = 64, .kernel = 10, .wide = 4, .stride = 2, .act = RELU });
    for (int i = 0; i < 4; i++) {
        x = net_conv(n, x, (struct conv){ .out = 64, .kernel = 3, .stride = 1, .depthwise = true, .act = RELU });
        x = net_conv(n, x, (struct conv){ .out = 64, .kernel = 1, .stride = 1, .act = RELU });
    }
    classify(n, x, 12);
}

/* ---- sequences -------------------------------------------------------------------------------------------------------- */

/* Two layers over 64 frames of 128 numbers. */
static void lstm(struct net *n)
{
    uint32_t x = net_input(n, 3, (uint32_t[]){ n->batch, 64, 128 }, false);
    x = net_lstm(n, net_lstm(n, x, 256, false), 256, false);
    x = net_reshape(n, x, 2, (uint32_t[]){ n->batch * 64, 256 });
    net_same(n, net_dense(n, x, 64, LINEAR), LAYER_SOFTMAX);
}

/* One layer in both directions over 64 frames of 128 numbers. */
static void lstm_both(struct net *n)
{
    uint32_t x = net_input(n, 3, (uint32_t[]){ n->batch, 64, 128 }, false);
    x = net_concat(n, 2, (uint32_t[]){ net_lstm(n, x, 256, false), net_lstm(n, x, 256, true) });
    x = net_reshape(n, x, 2, (uint32_t[]){ n->batch * 64, 512 });
    net_same(n, net_dense(n, x, 64, LINEAR), LAYER_SOFTMAX);
}

struct former {
    uint32_t tokens, width, heads, inner;
};

/* [tokens, width] to [batch, heads, tokens, width / heads]. */
static uint32_t heads_of(struct net *n, uint32_t x, const struct former *f)
{
    x = net_reshape(n, x, 4, (uint32_t[]){ n->batch, f->tokens, f->heads, f->width / f->heads });
    return net_transpose(n, x, (uint32_t[]){ 0, 2, 1, 3 });
}

static uint32_t attention(struct net *n, uint32_t x, const struct former *f)
{
    uint32_t q = heads_of(n, net_dense(n, x, f->width, LINEAR), f), k = heads_of(n, net_dense(n, x, f->width, LINEAR), f);
    uint32_t v = heads_of(n, net_dense(n, x, f->width, LINEAR), f);
    uint32_t s = net_matmul(n, net_same(n, net_matmul(n, q, k, true), LAYER_SOFTMAX), v, false);
    s = net_transpose(n, s, (uint32_t[]){ 0, 2, 1, 3 });
    return net_dense(n, net_reshape(n, s, 2, (uint32_t[]){ n->batch * f->tokens, f->width }), f->width, LINEAR);
}

/* One block of an encoder: attention, then two dense layers, norms before both. */
static void transformer(struct net *n, const struct former *f)
{
    uint32_t x = net_input(n, 2, (uint32_t[]){ n->batch * f->tokens, f->width }, false);
    x = net_add(n, x, attention(n, net_same(n, x, LAYER_NORM), f), LINEAR);
    uint32_t t = net_dense(n, net_same(n, x, LAYER_NORM), f->inner, LINEAR);
    t = net_dense(n, net_same(n, t, LAYER_GELU), f->width, LINEAR);
    net_same(n, net_add(n, x, t, LINEAR), LAYER_NORM);
}

static void transformer_128(struct net *n)
{
    transformer(n, &(struct former){ 128, 768, 12, 3072 });
}

static void transformer_512(struct net *n)
{
    transformer(n, &(struct former){ 512, 768, 12, 3072 });
}

/* ---- not networks ----------------------------------------------------------------------------------------------------- */

/* The same layers with few and with many weights, for load times. */
static void dense_stack(struct net *n, uint32_t width)
{
    uint32_t x = image(n, 1, 1, 16);
    for (int i = 0; i < 20; i++)
        x = net_dense(n, x, width, RELU);
    net_same(n, net_dense(n, x, 16, LINEAR), LAYER_SOFTMAX);
}

void net_narrow(struct net *n)
{
    dense_stack(n, 90);
}

void net_wide(struct net *n)
{
    dense_stack(n, 900);
}

/* One operator on one element: what is left is the way there and back. */
void net_one_op(struct net *n)
{
    net_same(n, image(n, 1, 1, 1), LAYER_RELU);
}

const struct net_entry net_list[] = {
    { "mobilenet_v2", mobilenet_v2 },
    { "resnet50", resnet50 },
    { "inception", inception },
    { "resnet8", resnet8 },
    { "ds_cnn", ds_cnn },
    { "lstm", lstm },
    { "lstm_both", lstm_both },
    { "transformer_128", transformer_128 },
    { "transformer_512", transformer_512 },
    { NULL, NULL },
};
