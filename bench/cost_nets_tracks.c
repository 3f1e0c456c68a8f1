/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in videos, in images and around a car, estimated before any of their latencies was compared. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

static act times(struct cost_graph *g, act x, act by)
{
    return cost_binary(g, x, by, "ElementWiseMultiply");
}

/* Images go in and out with channels in front, unless an export script says otherwise. */
static void planes_out(struct cost_graph *g, act x)
{
    cost_output(g, cost_turn(g, cost_view(g, x, 1, x.h * x.w, x.c)));
}

static act planes_in(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c)
{
    return cost_view(g, cost_turn(g, cost_input(g, 1, c, h * w)), h, w, c);
}

/* ---- Track Anything (XMem), 320 x 576 --------------------------------------------------------------------------------- */

static act key_encoder(struct cost_graph *g, act stages[3])
{
    static const uint32_t blocks[3] = { 3, 4, 6 };
    act x = cost_pool(g, cost_conv(g, part_image(g, 320, 576), 64, 7, 2, 1), "PoolMax2d", 3, 2);
    for (uint32_t s = 0; s < 3; s++) {
        for (uint32_t k = 0; k < blocks[s]; k++) {
            uint32_t stride = !k && s ? 2 : 1, out = 256u << s;
            act t = cost_conv(g, cost_conv(g, cost_conv(g, x, out / 4, 1, 1, 1), out / 4, 3, stride, 1), out, 1, 1, 1);
            x = cost_unary(g, part_add(g, t, k ? x : cost_conv(g, x, out, 1, stride, 1)), "Relu");
        }
        stages[s] = x;
    }
    return x;
}

static void keys_out(struct cost_graph *g, act x)
{
    planes_out(g, cost_conv(g, x, 64, 3, 1, 1));
    planes_out(g, cost_unary(g, cost_conv(g, x, 64, 3, 1, 1), "Sigmoid"));
}

NET(track_key)
{
    act s[3], x = key_encoder(g, s), d = cost_conv(g, x, 1, 3, 1, 1);
    keys_out(g, x);
    cost_output(g, part_add(g, times(g, d, d), cost_constant(g, 1, 1, 1)));
    planes_out(g, x);
}

NET(track_key_kept)
{
    act s[3];
    keys_out(g, key_encoder(g, s));
    for (int i = 0; i < 3; i++)
        planes_out(g, s[i]);
}

/* A Relu stands in front of both windows. */
static act group_block(struct cost_graph *g, act x, uint32_t out)
{
    act t = cost_conv(g, cost_unary(g, cost_conv(g, cost_unary(g, x, "Relu"), out, 3, 1, 1), "Relu"), out, 3, 1, 1);
    return part_add(g, t, x.c == out ? x : cost_conv(g, x, out, 3, 1, 1));
}

static act squeezed(struct cost_graph *g, act x, const char *pool)
{
    return cost_dense(g, cost_unary(g, cost_dense(g, cost_pool(g, x, pool, 0, 1), x.c / 16), "Relu"), x.c);
}

/* What is where, and in which channel. */
static act gated(struct cost_graph *g, act x)
{
    act s = part_add(g, squeezed(g, x, "PoolAvg2d"), squeezed(g, x, "PoolMax2d"));
    x = times(g, x, cost_unary(g, s, "Sigmoid"));
    act both = part_join(g, cost_reduce(g, x, "ReduceMax"), cost_reduce(g, x, "ReduceMean"));
    return times(g, x, cost_unary(g, cost_conv(g, both, 1, 7, 1, 1), "Sigmoid"));
}

static act fused(struct cost_graph *g, act x, act with)
{
    act t = group_block(g, part_join(g, x, with), 512);
    return group_block(g, part_add(g, t, gated(g, t)), 512);
}

static act remembered(struct cost_graph *g, act x, act state)
{
    act v = cost_conv(g, part_join(g, x, state), 192, 3, 1, 1);
    act forget = cost_unary(g, cost_part(g, v, 0, 64), "Sigmoid"),
        update = cost_unary(g, cost_part(g, v, 64, 64), "Sigmoid"), fresh = cost_unary(g, cost_part(g, v, 128, 64), "Tanh");
    act left = cost_binary(g, cost_constant(g, x.h, x.w, 64), update, "ElementWiseSubtract");
    return part_add(g, times(g, times(g, forget, state), left), times(g, update, fresh));
}

/* Both sides of a mask as numbers that a softmax makes sure of; planes of 320 x 576. */
static act both_sides(struct cost_graph *g, act mask)
{
    act one = cost_constant(g, 320, 576, 1);
    act p = part_join(g, cost_binary(g, one, mask, "ElementWiseSubtract"), mask), all = cost_constant(g, 320, 576, 2);
    p = cost_unary(g, p, "Relu");
    p = cost_binary(g, p, cost_binary(g, all, p, "ElementWiseSubtract"), "ElementWiseDivide");
    return cost_unary(g, cost_unary(g, p, "ElementWiseLog"), "Softmax");
}

NET(track_value)
{
    act image = part_image(g, 320, 576), sure = both_sides(g, cost_input(g, 320, 576, 1)), f16 = planes_in(g, 20, 36, 1024);
    act state = planes_in(g, 20, 36, 64), p[] = { image, cost_part(g, sure, 1, 1), cost_constant(g, 320, 576, 1) };
    act x = cost_pool(g, cost_conv(g, cost_concat(g, p, 3), 64, 7, 2, 1), "PoolMax2d", 3, 2);
    x = part_basics(g, part_basics(g, part_basics(g, x, 64, 1, 2), 128, 2, 2), 256, 2, 2);
    x = fused(g, f16, x);
    planes_out(g, remembered(g, x, state));
    planes_out(g, x);
    planes_out(g, sure);
}

static act track_up(struct cost_graph *g, act x, act near, uint32_t out)
{
    return group_block(g, part_add(g, cost_conv(g, near, x.c, 3, 1, 1), part_double(g, x, "ResizeBilinear")), out);
}

NET(track_segment)
{
    act f16 = planes_in(g, 20, 36, 1024), f8 = planes_in(g, 40, 72, 512), f4 = planes_in(g, 80, 144, 256);
    act read = planes_in(g, 20, 36, 512), state = planes_in(g, 20, 36, 64);
    act g16 = fused(g, f16, part_join(g, read, state)), g8 = track_up(g, g16, f8, 256), g4 = track_up(g, g8, f4, 256);
    act logits = cost_conv(g, cost_unary(g, g4, "Relu"), 1, 3, 1, 1), near = part_join(g, g4, logits);
    act sum = part_add(g, cost_conv(g, g16, 256, 1, 1, 1),
                       cost_conv(g, cost_resize(g, g8, "ResizeBilinear", 20, 36), 256, 1, 1, 1));
    sum = part_add(g, sum, cost_conv(g, cost_resize(g, near, "ResizeBilinear", 20, 36), 256, 1, 1, 1));
    planes_out(g, remembered(g, sum, state));
    planes_out(g, both_sides(g, cost_unary(g, cost_resize(g, logits, "ResizeBilinear", 320, 576), "Sigmoid")));
}

/* ---- RTMDet, medium, 640 x 640 ---------------------------------------------------------------------------------------- */

static act next_layer(struct cost_graph *g, act x, uint32_t out, uint32_t blocks, bool past, bool weighed)
{
    act t = part_silu(g, x, out / 2, 1, 1), other = part_silu(g, x, out / 2, 1, 1);
    for (uint32_t i = 0; i < blocks; i++) {
        act u = part_silu(g, t, out / 2, 3, 1);
        u = part_silu(g, cost_silu(g, cost_depthwise(g, u, 5, 1)), out / 2, 1, 1);
        t = past ? part_add(g, t, u) : u;
    }
    t = part_join(g, t, other);
    if (weighed)
        t = times(g, t, cost_unary(g, cost_conv(g, cost_pool(g, t, "PoolAvg2d", 0, 1), out, 1, 1, 1), "Sigmoid"));
    return part_silu(g, t, out, 1, 1);
}

static act four_pools(struct cost_graph *g, act x)
{
    act p[4] = { part_silu(g, x, x.c / 2, 1, 1) };
    for (uint32_t i = 1; i < 4; i++)
        p[i] = cost_pool(g, p[0], "PoolMax2d", 1 + 4 * i, 1);
    return part_silu(g, cost_concat(g, p, 4), x.c, 1, 1);
}

NET(rtmdet)
{
    static const uint32_t widths[4] = { 96, 192, 384, 768 }, blocks[4] = { 2, 4, 4, 2 };
    act s[4], rows[3],
        x = part_silu(g, part_silu(g, part_silu(g, cost_input(g, 640, 640, 3), 24, 3, 2), 24, 3, 1), 48, 3, 1);
    for (int i = 0; i < 4; i++) {
        x = part_silu(g, x, widths[i], 3, 2);
        x = s[i] = next_layer(g, i == 3 ? four_pools(g, x) : x, widths[i], blocks[i], i < 3, true);
    }
    act h5 = part_silu(g, s[3], 384, 1, 1);
    x = next_layer(g, part_join(g, part_double(g, h5, "ResizeNearestNeighbor"), s[2]), 384, 2, false, false);
    act h4 = part_silu(g, x, 192, 1, 1), o[3];
    o[0] = next_layer(g, part_join(g, part_double(g, h4, "ResizeNearestNeighbor"), s[1]), 192, 2, false, false);
    o[1] = next_layer(g, part_join(g, part_silu(g, o[0], 192, 3, 2), h4), 384, 2, false, false);
    o[2] = next_layer(g, part_join(g, part_silu(g, o[1], 384, 3, 2), h5), 768, 2, false, false);
    for (int i = 0; i < 3; i++) {
        act f = part_silu(g, o[i], 192, 3, 1), c = part_silu(g, part_silu(g, f, 192, 3, 1), 192, 3, 1);
        act r = part_silu(g, part_silu(g, f, 192, 3, 1), 192, 3, 1), place = cost_constant(g, f.h, f.w, 2);
        act scores = cost_unary(g, cost_conv(g, c, 80, 1, 1, 1), "Sigmoid");
        act box = times(g, cost_unary(g, cost_conv(g, r, 4, 1, 1, 1), "ElementWiseExp"), cost_constant(g, 1, 1, 1));
        act all[] = { cost_binary(g, place, cost_part(g, box, 0, 2), "ElementWiseSubtract"),
                      part_add(g, place, cost_part(g, box, 2, 2)), cost_reduce(g, scores, "ReduceMax"),
                      cost_reduce(g, scores, "ReduceMax") };
        rows[i] = cost_view(g, cost_concat(g, all, 4), 1, f.h * f.w, 6);
    }
    x = cost_rows(g, rows, 3);
    cost_output(g, cost_part(g, x, 0, 4));
    cost_output(g, cost_part(g, x, 5, 1));
    cost_output(g, cost_part(g, x, 4, 1));
}

/* ---- HRNet W48 with object contexts, 1024 x 2048 ---------------------------------------------------------------------- */

NET(hrnet_w48_ocr)
{
    act x[4];
    part_hrnet(g, part_image(g, 1024, 2048), 48, "ResizeBilinear", x);
    for (int i = 1; i < 4; i++)
        x[i] = cost_resize(g, x[i], "ResizeBilinear", x[0].h, x[0].w);
    act all = cost_concat(g, x, 4), guess = cost_conv(g, cost_conv(g, all, 720, 1, 1, 1), 19, 1, 1, 1);
    act f = cost_conv(g, all, 512, 3, 1, 1);
    uint32_t h = f.h, w = f.w, n = h * w;
    act where = cost_unary(g, cost_turn(g, cost_view(g, guess, 1, n, 19)), "Softmax");
    act objects = cost_matmul(g, where, cost_view(g, f, 1, n, 512), false);
    act q = cost_view(g, cost_conv(g, cost_conv(g, f, 256, 1, 1, 1), 256, 1, 1, 1), 1, n, 256);
    act k = cost_conv(g, cost_conv(g, objects, 256, 1, 1, 1), 256, 1, 1, 1), v = cost_conv(g, objects, 256, 1, 1, 1);
    act s = times(g, cost_matmul(g, q, k, true), cost_constant(g, 1, 1, 1));
    act context = cost_view(g, cost_matmul(g, cost_unary(g, s, "Softmax"), v, false), h, w, 256);
    act both = part_join(g, cost_conv(g, context, 512, 1, 1, 1), f);
    cost_output(g, cost_conv(g, cost_conv(g, both, 512, 1, 1, 1), 19, 1, 1, 1));
}

/* ---- CenterPoint with pillars: 5268 of them in 512 x 512 places ----------------------------------------------- */

enum { PILLARS = 5268, POINTS = 20, SIDE = 512, TASKS = 6 };

NET(centerpoint)
{
    static const uint32_t widths[3] = { 64, 128, 256 }, layers[3] = { 3, 5, 5 },
                          outs[TASKS][6] = { { 2, 1, 3, 2, 2, 1 }, { 2, 1, 3, 2, 2, 2 }, { 2, 1, 3, 2, 2, 2 },
                                             { 2, 1, 3, 2, 2, 1 }, { 2, 1, 3, 2, 2, 2 }, { 2, 1, 3, 2, 2, 2 } };
    act points = cost_input(g, PILLARS, POINTS, 5), center = cost_input(g, PILLARS, 1, 5);
    act p = part_join(g, points, cost_binary(g, points, center, "ElementWiseSubtract"));
    p = cost_dense(g, times(g, p, cost_constant(g, 1, 1, 10)), 64);
    p = cost_turn(g, cost_view(g, p, PILLARS, POINTS, 64)); /* the largest of a pillar's points */
    p = cost_view(g, cost_reduce(g, p, "ReduceMax"), 1, PILLARS, 64);
    const act places[] = { p, cost_constant(g, 1, SIDE * SIDE - PILLARS, 64) };
    act x = cost_view(g, cost_rows(g, places, 2), SIDE, SIDE, 64), up[3];
    for (int s = 0; s < 3; s++) {
        x = cost_conv(g, x, widths[s], 3, 2, 1);
        for (uint32_t i = 0; i < layers[s]; i++)
            x = cost_conv(g, x, widths[s], 3, 1, 1);
        up[s] = s == 0 ? cost_conv(g, x, 128, 2, 2, 1) : s == 1 ? cost_conv(g, x, 128, 1, 1, 1) : cost_up_conv(g, x, 128);
    }
    x = cost_conv(g, cost_concat(g, up, 3), 64, 3, 1, 1);
    for (int t = 0; t < TASKS; t++)
        for (int i = 0; i < 6; i++) {
            act y = cost_conv(g, cost_conv(g, x, 64, 3, 1, 1), outs[t][i], 3, 1, 1);
            cost_output(g, cost_unary(g, y, i == 5 ? "Sigmoid" : i == 2 ? "ElementWiseExp" : "Relu"));
        }
}
