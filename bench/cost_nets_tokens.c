/* SPDX-License-Identifier: Apache-2.0 */
/* Networks with attention, estimated before any of their latencies was looked at: detectors, a robot's policy, steps of
 * decoders. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

/* ---- steps of decoders: one token, with what was kept of those before ------------------------------------------------- */

struct step {
    uint32_t layers, width, heads, inner, words;
    uint32_t before, encoded; /* tokens */
};

static act decoder_attend(struct cost_graph *g, act q, act k, act v, const struct step *d)
{
    act s = cost_unary(g, cost_matmul(g, cost_view(g, q, d->heads, 1, d->width / d->heads), k, true), "Softmax");
    return cost_dense(g, cost_view(g, cost_matmul(g, s, v, false), 1, 1, d->width), d->width);
}

/* What was kept, and this token: it goes out, too. */
static act kept(struct cost_graph *g, act x, const struct step *d)
{
    uint32_t each = d->width / d->heads;
    act both[] = { cost_input(g, d->heads, d->before, each), cost_view(g, cost_dense(g, x, d->width), d->heads, 1, each) };
    return cost_rows(g, both, 2);
}

static void decoder(struct cost_graph *g, const struct step *d)
{
    uint32_t each = d->width / d->heads;
    act x = cost_input(g, 1, 1, d->width);
    for (uint32_t i = 0; i < d->layers; i++) {
        act n = part_norm(g, x), k = kept(g, n, d), v = kept(g, n, d);
        x = part_add(g, x, decoder_attend(g, cost_dense(g, n, d->width), k, v, d));
        cost_output(g, k);
        cost_output(g, v);
        n = cost_dense(g, part_norm(g, x), d->width);
        k = cost_input(g, d->heads, d->encoded, each);
        v = cost_input(g, d->heads, d->encoded, each);
        x = part_add(g, x, decoder_attend(g, n, k, v, d));
        x = part_add(g, x, part_feed(g, part_norm(g, x), d->inner, "Gelu"));
    }
    cost_output(g, cost_dense(g, part_norm(g, x), d->words));
}

NET(whisper_tiny_decoder)
{
    decoder(g, &(struct step){ 4, 384, 6, 1536, 51865, 199, 1500 });
}
NET(whisper_small_decoder)
{
    decoder(g, &(struct step){ 12, 768, 12, 3072, 51865, 199, 1500 });
}
NET(whisper_large_decoder)
{
    decoder(g, &(struct step){ 4, 1280, 20, 5120, 51866, 199, 1500 });
}
NET(opus_decoder)
{
    decoder(g, &(struct step){ 6, 512, 8, 2048, 65001, 255, 256 });
}
NET(trocr_decoder)
{
    decoder(g, &(struct step){ 6, 256, 8, 1024, 64044, 19, 578 });
}

/* ---- DETR ------------------------------------------------------------------------------------------------------------- */

static act encode(struct cost_graph *g, act x, act place, uint32_t layers, uint32_t inner)
{
    for (uint32_t i = 0; i < layers; i++) {
        act p = part_add(g, x, place);
        act q = cost_dense(g, p, x.c), k = cost_dense(g, p, x.c), v = cost_dense(g, x, x.c);
        x = part_norm(g, part_add(g, x, cost_dense(g, part_scores(g, q, k, v, 8), x.c)));
        x = part_norm(g, part_add(g, x, part_feed(g, x, inner, "Relu")));
    }
    return x;
}

static act decode(struct cost_graph *g, act x, act place, act query, uint32_t layers, uint32_t inner)
{
    act y = cost_constant(g, 1, query.w, x.c);
    for (uint32_t i = 0; i < layers; i++) {
        act p = part_add(g, y, query), m = part_add(g, x, place);
        act q = cost_dense(g, p, x.c), k = cost_dense(g, p, x.c), v = cost_dense(g, y, x.c);
        y = part_norm(g, part_add(g, y, cost_dense(g, part_scores(g, q, k, v, 8), x.c)));
        q = cost_dense(g, part_add(g, y, query), x.c);
        k = cost_dense(g, m, x.c);
        v = cost_dense(g, x, x.c);
        y = part_norm(g, part_add(g, y, cost_dense(g, part_scores(g, q, k, v, 8), x.c)));
        y = part_norm(g, part_add(g, y, part_feed(g, y, inner, "Relu")));
    }
    return y;
}

static act perceptron(struct cost_graph *g, act x, uint32_t out)
{
    act t = cost_unary(g, cost_dense(g, x, x.c), "Relu");
    return cost_dense(g, cost_unary(g, cost_dense(g, t, x.c), "Relu"), out);
}

static void boxes(struct cost_graph *g, act y)
{
    cost_output(g, cost_dense(g, y, 92));
    cost_output(g, cost_unary(g, perceptron(g, y, 4), "Sigmoid"));
}

static act stem(struct cost_graph *g)
{
    return cost_pool(g, cost_conv(g, part_image(g, 640, 640), 64, 7, 2, 1), "PoolMax2d", 3, 2);
}

NET(detr50_dc5)
{
    act f = cost_conv(g, cost_residual_dilated(g, stem(g), (const uint32_t[]){ 3, 4, 6, 3 }, 3), 256, 1, 1, 1);
    act place = cost_constant(g, 1, f.h * f.w, 256);
    act x = encode(g, cost_view(g, f, 1, f.h * f.w, 256), place, 6, 2048);
    boxes(g, decode(g, x, place, cost_constant(g, 1, 100, 256), 6, 2048));
}

/* Queries have a place of their own in every head. */
static act with_places(struct cost_graph *g, act x, act place)
{
    act p[] = { cost_view(g, x, x.w, 8, 32), cost_view(g, place, x.w, 8, 32) };
    return cost_view(g, cost_concat(g, p, 2), 1, x.w, 512);
}

static act conditional(struct cost_graph *g, act y, act x, act place, act query)
{
    act q = part_add(g, cost_dense(g, y, 256), cost_dense(g, query, 256)),
        k = part_add(g, cost_dense(g, y, 256), cost_dense(g, query, 256));
    act s = part_scores(g, q, k, cost_dense(g, y, 256), 8);
    y = part_norm(g, part_add(g, y, cost_dense(g, s, 256)));
    act sine = cost_binary(g, cost_constant(g, 1, y.w, 256), perceptron(g, y, 256), "ElementWiseMultiply");
    q = with_places(g, cost_dense(g, y, 256), cost_dense(g, sine, 256));
    k = with_places(g, cost_dense(g, x, 256), cost_dense(g, place, 256));
    s = part_scores(g, q, k, cost_dense(g, x, 256), 8);
    y = part_norm(g, part_add(g, y, cost_dense(g, s, 256)));
    return part_norm(g, part_add(g, y, part_feed(g, y, 2048, "Relu")));
}

NET(conditional_detr)
{
    act f = cost_conv(g, cost_residual_dilated(g, stem(g), (const uint32_t[]){ 3, 4, 6, 3 }, 4), 256, 1, 1, 1);
    act place = cost_constant(g, 1, f.h * f.w, 256), query = cost_constant(g, 1, 300, 256), y = query;
    act x = encode(g, cost_view(g, f, 1, f.h * f.w, 256), place, 6, 2048);
    for (int i = 0; i < 6; i++)
        y = conditional(g, y, x, place, query);
    boxes(g, y);
}

/* A robot's next 100 steps from a camera of 480 x 640: ResNet 18, 4 layers of an encoder, and the first of a decoder's 7,
 * which is the one whose result is used. */
NET(act_policy)
{
    act deep[4], tokens[2] = { cost_input(g, 1, 2, 512) };
    part_resnet18(g, part_image(g, 480, 640), deep);
    act f = cost_conv(g, deep[3], 512, 1, 1, 1), place = cost_constant(g, 1, f.h * f.w + 2, 512);
    tokens[1] = cost_view(g, f, 1, f.h * f.w, 512);
    act x = encode(g, cost_rows(g, tokens, 2), place, 4, 3200);
    cost_output(g, cost_dense(g, decode(g, x, place, cost_constant(g, 1, 100, 512), 1, 3200), 14));
}

/* ---- EfficientViT B2, 224 x 224 --------------------------------------------------------------------------------------- */

static act swish(struct cost_graph *g, act x)
{
    return cost_unary(g, x, "ElementWiseNeuron");
}

static act inverted(struct cost_graph *g, act x, uint32_t out, uint32_t stride)
{
    act t = swish(g, cost_conv(g, x, 4 * x.c, 1, 1, 1));
    t = cost_conv(g, swish(g, cost_depthwise(g, t, 3, stride)), out, 1, 1, 1);
    return stride == 1 && x.c == out ? part_add(g, x, t) : t;
}

/* Attention without scores of pairs: keys times values first. Heads of 32, at two scales. */
static act linear_attend(struct cost_graph *g, act x)
{
    uint32_t n = x.h * x.w, heads = 2 * x.c / 32;
    act t = cost_conv(g, x, 3 * x.c, 1, 1, 1);
    t = part_join(g, t, cost_conv(g, cost_depthwise(g, t, 5, 1), t.c, 1, 1, t.c / 32));
    t = cost_view(g, cost_turn(g, cost_view(g, t, 1, n, t.c)), heads, 96, n);
    act q = cost_unary(g, cost_tokens(g, t, 0, 32), "Relu"), k = cost_unary(g, cost_tokens(g, t, 32, 32), "Relu");
    act v[] = { cost_tokens(g, t, 64, 32), cost_constant(g, heads, 1, n) };
    act y = cost_matmul(g, cost_matmul(g, cost_rows(g, v, 2), k, true), q, false);
    y = cost_binary(g, cost_tokens(g, y, 0, 32), cost_tokens(g, y, 32, 1), "ElementWiseDivide");
    y = cost_view(g, cost_turn(g, cost_view(g, y, 1, 2 * x.c, n)), x.h, x.w, 2 * x.c);
    return part_add(g, x, cost_conv(g, y, x.c, 1, 1, 1));
}

NET(efficientvit_b2)
{
    static const uint32_t widths[4] = { 48, 96, 192, 384 }, depths[4] = { 3, 4, 4, 6 };
    act x = swish(g, cost_conv(g, part_image(g, 224, 224), 24, 3, 2, 1));
    x = part_add(g, x, cost_conv(g, swish(g, cost_depthwise(g, x, 3, 1)), 24, 1, 1, 1));
    for (int s = 0; s < 4; s++) {
        x = inverted(g, x, widths[s], 2);
        for (uint32_t k = s < 2 ? 1 : 0; k < depths[s]; k++)
            x = inverted(g, s < 2 ? x : linear_attend(g, x), widths[s], 1);
    }
    x = cost_pool(g, swish(g, cost_conv(g, x, 2304, 1, 1, 1)), "PoolAvg2d", 0, 1);
    cost_output(g, cost_dense(g, swish(g, part_norm(g, cost_dense(g, x, 2560))), 1000));
}

/* ---- YOLO v11, nano, 640 x 640 ---------------------------------------------------------------------------------------- */

static act bottleneck(struct cost_graph *g, act x, uint32_t inner)
{
    return part_add(g, x, part_silu(g, part_silu(g, x, inner, 3, 1), x.c, 3, 1));
}

static act c3k(struct cost_graph *g, act x)
{
    act a = part_silu(g, x, x.c / 2, 1, 1), b = part_silu(g, x, x.c / 2, 1, 1);
    a = bottleneck(g, bottleneck(g, a, a.c), a.c);
    return part_silu(g, part_join(g, a, b), x.c, 1, 1);
}

static act c3k2(struct cost_graph *g, act x, uint32_t out, uint32_t inner, bool deep)
{
    act t = part_silu(g, x, 2 * inner, 1, 1), p[3] = { cost_part(g, t, 0, inner), cost_part(g, t, inner, inner) };
    p[2] = deep ? c3k(g, p[1]) : bottleneck(g, p[1], inner / 2);
    return part_silu(g, cost_concat(g, p, 3), out, 1, 1);
}

/* Attention on half of the channels. */
static act c2psa(struct cost_graph *g, act x)
{
    uint32_t n = x.h * x.w;
    act t = part_silu(g, x, 256, 1, 1), a = cost_part(g, t, 0, 128), b = cost_part(g, t, 128, 128);
    act all = cost_swap(g, cost_view(g, cost_conv(g, b, 256, 1, 1, 1), n, 2, 128));
    act v = cost_part(g, all, 64, 64);
    act s = cost_unary(g, cost_matmul(g, cost_part(g, all, 0, 32), cost_part(g, all, 32, 32), true), "Softmax");
    act y = cost_view(g, cost_swap(g, cost_matmul(g, s, v, false)), x.h, x.w, 128);
    y = part_add(g, y, cost_depthwise(g, cost_view(g, cost_swap(g, v), x.h, x.w, 128), 3, 1));
    b = part_add(g, b, cost_conv(g, y, 128, 1, 1, 1));
    b = part_add(g, b, cost_conv(g, part_silu(g, b, 256, 1, 1), 128, 1, 1, 1));
    return part_silu(g, part_join(g, a, b), 256, 1, 1);
}

static act light(struct cost_graph *g, act x)
{
    return part_silu(g, cost_silu(g, cost_depthwise(g, x, 3, 1)), 80, 1, 1);
}

static void detect(struct cost_graph *g, const act *scales)
{
    act sides[3], scores[3];
    for (int i = 0; i < 3; i++) {
        act x = scales[i];
        uint32_t n = x.h * x.w;
        act b = cost_conv(g, part_silu(g, part_silu(g, x, 64, 3, 1), 64, 3, 1), 64, 1, 1, 1);
        sides[i] = cost_view(g, b, 1, n, 64);
        scores[i] = cost_view(g, cost_conv(g, light(g, light(g, x)), 80, 1, 1, 1), 1, n, 80);
    }
    part_boxes(g, sides, scores, 3);
}

NET(yolov11n)
{
    act x = part_silu(g, part_silu(g, cost_input(g, 640, 640, 3), 16, 3, 2), 32, 3, 2);
    x = part_silu(g, c3k2(g, x, 64, 16, false), 64, 3, 2);
    act p3 = c3k2(g, x, 128, 32, false), p4 = c3k2(g, part_silu(g, p3, 128, 3, 2), 128, 64, true);
    act p5 = c2psa(g, part_sppf(g, c3k2(g, part_silu(g, p4, 256, 3, 2), 256, 128, true)));
    act h4 = c3k2(g, part_join(g, part_double(g, p5, "ResizeNearestNeighbor"), p4), 128, 64, false);
    act o3 = c3k2(g, part_join(g, part_double(g, h4, "ResizeNearestNeighbor"), p3), 64, 32, false);
    act o4 = c3k2(g, part_join(g, part_silu(g, o3, 64, 3, 2), h4), 128, 64, false);
    act o5 = c3k2(g, part_join(g, part_silu(g, o4, 128, 3, 2), p5), 256, 128, true);
    detect(g, (const act[]){ o3, o4, o5 });
}
