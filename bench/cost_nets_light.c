/* SPDX-License-Identifier: Apache-2.0 */
/* Light networks for cameras, and one large detector, estimated before any of their latencies was compared. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

static act times(struct cost_graph *g, act x, act by)
{
    return cost_binary(g, x, by, "ElementWiseMultiply");
}

static act hard_swish(struct cost_graph *g, act x)
{
    return cost_unary(g, x, "ElementWiseNeuron");
}

/* ---- MediaPipe's selfies, 256 x 256 ----------------------------------------------------------------------------------- */

/* Channels of x weighed by what is in all of `from`. */
static act weighed(struct cost_graph *g, act x, act from, uint32_t inner)
{
    act s = cost_pool(g, from, "PoolAvg2d", 0, 1);
    s = inner ? cost_conv(g, s, inner, 1, 1, 1) : s;
    return times(g, x, cost_unary(g, cost_conv(g, s, x.c, 1, 1, 1), "Sigmoid"));
}

static act selfie_block(struct cost_graph *g, act x, uint32_t inner, uint32_t squeeze, uint32_t stride)
{
    act t = hard_swish(g, cost_depthwise(g, hard_swish(g, cost_conv(g, x, inner, 1, 1, 1)), 5, stride));
    t = cost_conv(g, weighed(g, t, t, squeeze), 32, 1, 1, 1);
    return stride > 1 ? t : part_add(g, t, x);
}

/* Twice as large, with what the way down had at that size. */
static act selfie_up(struct cost_graph *g, act x, act with)
{
    act t = cost_conv(g, part_double(g, x, "ResizeBilinear"), with.c, 1, 1, 1);
    t = part_add(g, t, weighed(g, with, part_add(g, with, t), with.c));
    t = cost_conv(g, t, with.c, 1, 1, 1);
    return part_add(g, t, cost_depthwise(g, t, 3, 1));
}

NET(selfie)
{
    act d2 = hard_swish(g, cost_conv(g, cost_input(g, 256, 256, 3), 16, 3, 2, 1));
    act x = cost_depthwise(g, cost_conv(g, d2, 16, 1, 1, 1), 3, 2);
    act d4 = cost_conv(g, weighed(g, x, x, 8), 16, 1, 1, 1);
    x = cost_conv(g, cost_depthwise(g, cost_conv(g, d4, 72, 1, 1, 1), 3, 2), 24, 1, 1, 1);
    act d8 = part_add(g, x, cost_conv(g, cost_depthwise(g, cost_conv(g, x, 88, 1, 1, 1), 3, 1), 24, 1, 1, 1));
    x = selfie_block(g, selfie_block(g, selfie_block(g, d8, 96, 24, 2), 128, 32, 1), 128, 32, 1);
    x = selfie_block(g, selfie_block(g, x, 96, 24, 1), 96, 24, 1);
    x = weighed(g, cost_conv(g, x, 128, 1, 1, 1), x, 0);
    x = selfie_up(g, selfie_up(g, selfie_up(g, x, d8), d4), d2);
    cost_output(g, cost_unary(g, cost_up_conv(g, x, 1), "Sigmoid"));
}

/* ---- SINet, 224 x 224 ------------------------------------------------------------------------------------------------- */

/* A filter at a scale of its own. */
static act at_scale(struct cost_graph *g, act x, uint32_t kernel, uint32_t smaller)
{
    act t = smaller > 1 ? cost_pool(g, x, "PoolAvg2d", smaller, smaller) : x;
    t = cost_conv(g, part_prelu(g, cost_depthwise(g, t, kernel, 1)), x.c, 1, 1, 1);
    return smaller > 1 ? cost_unary(g, cost_resize(g, t, "ResizeBilinear", x.h, x.w), "Batchnorm") : t;
}

static act norm_prelu(struct cost_graph *g, act x)
{
    return part_prelu(g, cost_unary(g, x, "Batchnorm"));
}

static act two_scales(struct cost_graph *g, act x, uint32_t out, const uint32_t s[4])
{
    act t = cost_unary(g, cost_conv(g, x, out / 2, 1, 1, 2), "ChannelShuffle");
    t = part_join(g, at_scale(g, t, s[0], s[1]), at_scale(g, t, s[2], s[3]));
    return norm_prelu(g, x.c == out ? part_add(g, x, t) : t);
}

static act squeezed(struct cost_graph *g, act x, uint32_t out, uint32_t inner)
{
    x = cost_depthwise(g, x, 3, 2);
    act s = cost_pool(g, x, "PoolAvg2d", 0, 1);
    s = inner ? part_prelu(g, cost_dense(g, s, inner)) : s;
    return part_prelu(g, cost_conv(g, times(g, x, part_prelu(g, cost_dense(g, s, x.c))), out, 1, 1, 1));
}

NET(sinet)
{
    static const uint32_t scales[10][4] = { { 3, 1, 5, 1 }, { 3, 1, 3, 1 }, { 3, 1, 5, 1 }, { 3, 1, 3, 1 }, { 5, 1, 3, 2 },
                                            { 5, 2, 3, 4 }, { 3, 1, 3, 1 }, { 5, 1, 5, 1 }, { 3, 2, 3, 4 }, { 3, 1, 5, 2 } };
    act x = part_prelu(g, cost_conv(g, part_image(g, 224, 224), 12, 3, 2, 1)), first = squeezed(g, x, 16, 0);
    act near = two_scales(g, two_scales(g, first, 48, scales[0]), 48, scales[1]);
    act half = squeezed(g, norm_prelu(g, part_join(g, first, near)), 48, 32);
    x = half;
    for (int i = 2; i < 10; i++)
        x = two_scales(g, x, 96, scales[i]);
    x = cost_conv(g, norm_prelu(g, part_join(g, half, x)), 2, 1, 1, 1);
    x = cost_unary(g, part_double(g, x, "ResizeBilinear"), "Batchnorm");
    act sure = cost_unary(g, x, "Softmax");
    act gate = cost_binary(g, cost_part(g, sure, 0, 1), cost_part(g, sure, 1, 1), "ElementWiseMaximum");
    gate = cost_binary(g, gate, cost_constant(g, 1, 1, 1), "ElementWiseSubtract");
    act t = part_add(g, times(g, part_prelu(g, cost_conv(g, near, 2, 1, 1, 1)), gate), x);
    t = cost_unary(g, part_double(g, t, "ResizeBilinear"), "Batchnorm");
    cost_output(g, cost_conv(g, part_double(g, t, "ResizeBilinear"), 2, 3, 1, 1));
}

/* ---- boxes ------------------------------------------------------------------------------------------------------------ */

/* Scales of three boxes with 5 numbers each and `classes` more: boxes in pixels and the best score. */
static void boxes(struct cost_graph *g, const act *scales, uint32_t n_scales, uint32_t classes)
{
    act p[4];
    for (uint32_t i = 0; i < n_scales; i++) {
        uint32_t n = 3 * scales[i].h * scales[i].w;
        act one = cost_constant(g, 1, 1, 1), place = cost_constant(g, 1, n, 2);
        act t = cost_unary(g, cost_view(g, scales[i], 1, n, 5 + classes), "Sigmoid"), size = cost_part(g, t, 2, 2);
        act xy = part_add(g, times(g, cost_part(g, t, 0, 2), one), place);
        act all[] = { times(g, xy, one), times(g, times(g, size, size), place), cost_part(g, t, 4, 1 + classes) };
        p[i] = cost_concat(g, all, 3);
    }
    act all = n_scales > 1 ? cost_rows(g, p, n_scales) : p[0];
    act xy = cost_part(g, all, 0, 2), half = times(g, cost_part(g, all, 2, 2), cost_constant(g, 1, 1, 1));
    cost_output(g, part_join(g, cost_binary(g, xy, half, "ElementWiseSubtract"), part_add(g, xy, half)));
    cost_output(g, times(g, cost_part(g, all, 5, classes), cost_part(g, all, 4, 1)));
}

/* ---- who wears a helmet and a vest, 320 x 192 ------------------------------------------------------------------------- */

static act double_blaze(struct cost_graph *g, act x, uint32_t out)
{
    uint32_t inner = (x.c > out ? x.c : out) / 2;
    act t = cost_conv(g, cost_depthwise(g, x, 5, 1), inner, 1, 1, 1);
    t = cost_conv(g, cost_depthwise(g, t, 5, 1), out, 1, 1, 1);
    return cost_unary(g, part_add(g, t, x.c == out ? x : cost_conv(g, x, out, 1, 1, 1)), "Relu");
}

NET(gear_guard)
{
    act x = cost_conv(g, cost_conv(g, cost_input(g, 320, 192, 3), 32, 6, 2, 1), 64, 3, 2, 1);
    act p3 = double_blaze(g, cost_conv(g, double_blaze(g, x, 64), 128, 3, 2, 1), 128);
    act p4 = cost_conv(g, p3, 256, 3, 2, 1);
    for (int i = 0; i < 3; i++)
        p4 = double_blaze(g, p4, 256);
    x = cost_conv(g, double_blaze(g, cost_conv(g, p4, 512, 3, 2, 1), 512), 512, 3, 1, 1);
    act h5 = cost_conv(g, x, 256, 1, 1, 1);
    x = double_blaze(g, part_join(g, part_double(g, h5, "ResizeNearestNeighbor"), p4), 256);
    act h4 = cost_conv(g, x, 128, 1, 1, 1);
    act o3 = double_blaze(g, part_join(g, part_double(g, h4, "ResizeNearestNeighbor"), p3), 128);
    act o4 = double_blaze(g, part_join(g, cost_conv(g, o3, 128, 3, 2, 1), h4), 256);
    act o5 = double_blaze(g, part_join(g, cost_conv(g, o4, 256, 3, 2, 1), h5), 512);
    const act s[] = { cost_conv(g, o3, 21, 1, 1, 1), cost_conv(g, o4, 21, 1, 1, 1), cost_conv(g, o5, 21, 1, 1, 1) };
    boxes(g, s, 3, 2);
}

/* ---- YOLO R, P6, 640 x 640 -------------------------------------------------------------------------------------------- */

static act yolor_stage(struct cost_graph *g, act x, uint32_t out, uint32_t blocks)
{
    x = part_silu(g, x, out, 3, 2);
    act past = part_silu(g, x, out / 2, 1, 1), t = part_silu(g, x, out / 2, 1, 1);
    for (uint32_t i = 0; i < blocks; i++)
        t = part_add(g, t, part_silu(g, part_silu(g, t, out / 2, 1, 1), out / 2, 3, 1));
    return part_silu(g, part_join(g, t, past), out, 1, 1);
}

/* Joined, then three pairs of convolutions beside one. */
static act yolor_plain(struct cost_graph *g, act a, act b, uint32_t c)
{
    act x = part_silu(g, part_join(g, a, b), c, 1, 1), past = part_silu(g, x, c, 1, 1), t = x;
    for (int i = 0; i < 3; i++)
        t = part_silu(g, part_silu(g, t, c, 1, 1), c, 3, 1);
    return part_silu(g, part_join(g, t, past), c, 1, 1);
}

static act yolor_down(struct cost_graph *g, act x, act with, uint32_t c)
{
    act t = part_double(g, part_silu(g, x, c, 1, 1), "ResizeNearestNeighbor");
    return yolor_plain(g, part_silu(g, with, c, 1, 1), t, c);
}

NET(yolor)
{
    static const uint32_t widths[4] = { 128, 192, 256, 320 };
    act x = part_silu(g, cost_blocks(g, cost_input(g, 640, 640, 3), "SpaceToDepth", 2), 64, 3, 1);
    x = yolor_stage(g, x, 128, 3);
    act p3 = yolor_stage(g, x, 256, 7), p4 = yolor_stage(g, p3, 384, 7), p5 = yolor_stage(g, p4, 512, 3);
    x = yolor_stage(g, p5, 640, 3);
    act past = part_silu(g, x, 320, 1, 1);
    x = part_silu(g, part_silu(g, part_silu(g, x, 320, 1, 1), 320, 3, 1), 320, 1, 1);
    act pools[4] = { cost_pool(g, x, "PoolMax2d", 13, 1), cost_pool(g, x, "PoolMax2d", 9, 1),
                     cost_pool(g, x, "PoolMax2d", 5, 1), x };
    x = part_silu(g, part_silu(g, cost_concat(g, pools, 4), 320, 1, 1), 320, 3, 1);
    act h6 = part_silu(g, part_join(g, x, past), 320, 1, 1), h5 = yolor_down(g, h6, p5, 256),
        h4 = yolor_down(g, h5, p4, 192);
    act s[4] = { yolor_down(g, h4, p3, 128) };
    s[1] = yolor_plain(g, part_silu(g, s[0], 192, 3, 2), h4, 192);
    s[2] = yolor_plain(g, part_silu(g, s[1], 256, 3, 2), h5, 256);
    s[3] = yolor_plain(g, part_silu(g, s[2], 320, 3, 2), h6, 320);
    for (int i = 0; i < 4; i++) {
        act t = part_silu(g, s[i], i == 3 ? 640 : 2 * widths[i], 3, 1);
        t = cost_conv(g, part_add(g, t, cost_constant(g, 1, 1, t.c)), 255, 1, 1, 1);
        s[i] = times(g, t, cost_constant(g, 1, 1, 255));
    }
    boxes(g, s, 4, 80);
}
