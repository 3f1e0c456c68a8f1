/* SPDX-License-Identifier: Apache-2.0 */
/* Small networks that look at faces and hands, estimated before any of their latencies was compared. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

/* ---- MediaPipe -------------------------------------------------------------------------------------------------------- */

static act activated(struct cost_graph *g, act x, bool prelu)
{
    return prelu ? part_prelu(g, x) : cost_unary(g, x, "Relu");
}

static act blaze(struct cost_graph *g, act x, uint32_t out, uint32_t stride, bool prelu)
{
    act t = cost_conv(g, cost_depthwise(g, x, 3, stride), out, 1, 1, 1);
    x = stride > 1 ? cost_pool(g, x, "PoolMax2d", 2, 2) : x;
    x = out > x.c ? part_join(g, x, cost_constant(g, x.h, x.w, out - x.c)) : x;
    return activated(g, part_add(g, t, x), prelu);
}

static act blazes(struct cost_graph *g, act x, uint32_t out, uint32_t stride, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x = blaze(g, x, out, i ? 1 : stride, false);
    return x;
}

/* 468 points of a face in 192 x 192 pixels, and whether it is one. */
NET(face_landmarks)
{
    static const uint32_t widths[5] = { 32, 64, 128, 128, 128 };
    act x = part_prelu(g, cost_conv(g, cost_input(g, 192, 192, 3), 16, 3, 2, 1));
    for (int s = 0; s < 4; s++)
        x = blaze(g, blaze(g, blaze(g, x, x.c, 1, true), x.c, 1, true), widths[s], 2, true);
    x = blaze(g, blaze(g, x, 128, 1, true), 128, 1, true);
    act a = blaze(g, blaze(g, blaze(g, x, 128, 2, true), 128, 1, true), 128, 1, true), b = blaze(g, x, 128, 2, true);
    a = blaze(g, part_prelu(g, cost_conv(g, a, 32, 1, 1, 1)), 32, 1, true);
    b = blaze(g, part_prelu(g, cost_conv(g, b, 32, 1, 1, 1)), 32, 1, true);
    cost_output(g, cost_conv(g, a, 1404, 3, 3, 1));
    cost_output(g, cost_unary(g, cost_conv(g, b, 1, 3, 3, 1), "Sigmoid"));
}

/* Where hands are, in 256 x 256 pixels, at three scales. */
NET(palms)
{
    act x = blazes(g, cost_conv(g, cost_input(g, 256, 256, 3), 32, 3, 2, 1), 32, 1, 7);
    x = blazes(g, blazes(g, x, 64, 2, 8), 128, 2, 8);
    act y = blazes(g, x, 256, 2, 8), z = blazes(g, y, 256, 2, 8);
    y = blaze(g, part_add(g, y, cost_up_conv(g, z, 256)), 256, 1, false);
    x = blaze(g, part_add(g, x, cost_up_conv(g, y, 128)), 128, 1, false);
    act scores[3], boxes[3], at[3] = { x, y, z };
    for (int i = 0; i < 3; i++) {
        uint32_t each = i == 2 ? 6 : 2, n = at[i].h * at[i].w * each;
        scores[i] = cost_view(g, cost_conv(g, at[i], each, 1, 1, 1), 1, n, 1);
        boxes[i] = cost_view(g, cost_conv(g, at[i], 18 * each, 1, 1, 1), 1, n, 18);
    }
    cost_output(g, cost_rows(g, scores, 3));
    cost_output(g, cost_rows(g, boxes, 3));
}

/* What a hand says, from its 21 points and from their mirror image: eight layers each, one behind the other. */
static act gesture(struct cost_graph *g)
{
    act s = cost_dense(g, cost_input(g, 1, 1, 64), 128);
    for (int i = 0; i < 7; i++)
        s = part_add(g, s, cost_dense(g, cost_silu(g, cost_unary(g, s, "Batchnorm")), 128));
    return s;
}

NET(gestures)
{
    act a = gesture(g), x = part_add(g, a, gesture(g));
    x = cost_dense(g, cost_silu(g, cost_unary(g, x, "Batchnorm")), 128);
    x = cost_unary(g, cost_unary(g, x, "Batchnorm"), "Relu");
    cost_output(g, cost_unary(g, cost_dense(g, x, 8), "Softmax"));
}

/* ---- faces in 480 x 640 grey pixels ----------------------------------------------------------------------------------- */

static act squeezed(struct cost_graph *g, act x)
{
    act s = cost_conv(g, cost_pool(g, x, "PoolAvg2d", 0, 1), x.c / 4, 1, 1, 1);
    return cost_binary(g, x, cost_unary(g, cost_conv(g, s, x.c, 1, 1, 1), "Sigmoid"), "ElementWiseMultiply");
}

/* kernel 5: two of 3 x 3, and channels weighed. */
static act bottle(struct cost_graph *g, act x, uint32_t kernel, uint32_t inner, uint32_t out, uint32_t stride)
{
    act t = cost_conv(g, cost_conv(g, x, inner, 1, 1, 1), out, 3, kernel == 3 ? stride : 1, 1);
    t = kernel == 5 ? squeezed(g, cost_conv(g, t, out, 3, stride, 1)) : t;
    if (stride > 1)
        return t;
    return part_add(g, t, x.c == out ? x : cost_conv(g, x, out, 1, 1, 1));
}

NET(face_det_lite)
{
    act one = cost_constant(g, 1, 1, 1), image = cost_input(g, 480, 640, 1);
    image = cost_binary(g, cost_binary(g, image, one, "ElementWiseSubtract"), one, "ElementWiseDivide");
    act x = bottle(g, cost_conv(g, image, 16, 3, 2, 1), 3, 16, 16, 2);
    act s8 = bottle(g, bottle(g, x, 3, 64, 32, 2), 3, 96, 32, 1);
    x = bottle(g, bottle(g, bottle(g, s8, 5, 96, 32, 2), 5, 224, 32, 1), 5, 224, 32, 1);
    act s16 = bottle(g, bottle(g, x, 5, 128, 64, 1), 5, 160, 64, 1);
    x = cost_conv(g, bottle(g, s16, 5, 256, 96, 2), 32, 1, 1, 1);
    x = cost_conv(g, part_double(g, x, "ResizeNearestNeighbor"), 32, 3, 1, 1);
    x = part_add(g, x, cost_conv(g, s16, 32, 1, 1, 1));
    x = cost_conv(g, part_double(g, x, "ResizeNearestNeighbor"), 32, 3, 1, 1);
    x = part_add(g, x, cost_conv(g, s8, 32, 1, 1, 1));
    act c = cost_conv(g, x, 8, 3, 1, 1);
    act near[] = { cost_conv(g, c, 8, 3, 1, 1), cost_conv(g, cost_conv(g, c, 8, 3, 1, 1), 8, 3, 1, 1) };
    act all[] = { cost_conv(g, x, 16, 3, 1, 1), cost_concat(g, near, 2) };
    x = cost_concat(g, all, 2);
    cost_output(g, cost_conv(g, x, 1, 1, 1, 1));
    cost_output(g, cost_conv(g, x, 4, 1, 1, 1));
    cost_output(g, cost_conv(g, x, 10, 1, 1, 1));
}

/* ---- what a face of 128 x 128 pixels wears ---------------------------------------------------------------------------- */

/* A convolution in groups and one of single places. */
static act grouped(struct cost_graph *g, act x, uint32_t inner, uint32_t out, uint32_t stride, uint32_t groups)
{
    return cost_conv(g, cost_conv(g, x, inner, 3, stride, groups), out, 1, 1, 1);
}

static act attribute_stage(struct cost_graph *g, act x, uint32_t blocks)
{
    uint32_t c = x.c, groups = c / 32;
    act a = part_prelu(g, grouped(g, x, 2 * c, 2 * c, 2, groups)), b = part_prelu(g, grouped(g, x, 4 * c, 2 * c, 2, groups));
    x = part_prelu(g, part_add(g, a, grouped(g, b, 4 * c, 2 * c, 1, groups)));
    for (uint32_t i = 1; i < blocks; i++) {
        act t = part_prelu(g, grouped(g, x, 2 * x.c, x.c, 1, x.c / 32));
        x = part_prelu(g, part_add(g, grouped(g, t, 2 * x.c, x.c, 1, x.c / 32), x));
    }
    return x;
}

NET(face_attributes)
{
    act one = cost_constant(g, 1, 1, 1), image = cost_input(g, 128, 128, 3), out[5];
    image = cost_binary(g, cost_binary(g, image, one, "ElementWiseSubtract"), one, "ElementWiseDivide");
    act x = part_prelu(g, cost_conv(g, image, 64, 3, 1, 1));
    act a = grouped(g, part_prelu(g, grouped(g, x, 64, 64, 2, 2)), 64, 64, 1, 2);
    x = part_prelu(g, part_add(g, a, grouped(g, x, 64, 64, 2, 2)));
    act near = attribute_stage(g, attribute_stage(g, x, 2), 6), far = attribute_stage(g, near, 3);
    for (int i = 0; i < 5; i++) {
        act t = part_join(g, part_prelu(g, grouped(g, near, 128, 128, 2, 8)), far);
        t = part_prelu(g, grouped(g, t, 320, 128, 2, 20));
        out[i] = cost_dense(g, cost_pool(g, t, "PoolAvg2d", 0, 1), 2);
    }
    cost_output(g, cost_unary(g, cost_rows(g, out, 5), "Softmax"));
}
