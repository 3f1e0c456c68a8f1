/* SPDX-License-Identifier: Apache-2.0 */
/* The last of the list, estimated before any of their latencies was compared: cameras around a car, how far things are
 * away, windows that look elsewhere, words from sound in steps. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

static act times(struct cost_graph *g, act x, act by)
{
    return cost_binary(g, x, by, "ElementWiseMultiply");
}

static act less(struct cost_graph *g, act x, act by)
{
    return cost_binary(g, x, by, "ElementWiseSubtract");
}

static act number(struct cost_graph *g)
{
    return cost_constant(g, 1, 1, 1);
}

/* ---- BERT without its last two layers, 200 tokens --------------------------------------------------------------------- */

NET(bert)
{
    act x = cost_look_up(g, cost_constant(g, 1, 30522, 768), 200);
    x = part_norm(g, part_add(g, part_add(g, x, cost_constant(g, 1, 200, 768)), cost_constant(g, 1, 200, 768)));
    act mask = times(g, less(g, cost_input(g, 1, 1, 200), number(g)), number(g));
    for (int i = 0; i < 10; i++) {
        act q = part_heads(g, cost_dense(g, x, 768), 12), k = part_heads(g, cost_dense(g, x, 768), 12),
            v = part_heads(g, cost_dense(g, x, 768), 12);
        act s = part_add(g, times(g, cost_matmul(g, q, k, true), number(g)), mask);
        s = cost_swap(g, cost_matmul(g, cost_unary(g, s, "Softmax"), v, false));
        x = part_norm(g, part_add(g, x, cost_dense(g, cost_view(g, s, 1, 200, 768), 768)));
        x = part_norm(g, part_add(g, x, part_feed(g, x, 3072, "Gelu")));
    }
    cost_output(g, x);
}

/* ---- Depth Anything 3, small: places turn queries and keys ------------------------------------------------------------ */

/* Half of a head for lines, half for columns; each is a sum of itself and of its own halves in turn. */
static act turned(struct cost_graph *g, act x)
{
    act p[2];
    for (uint32_t i = 0; i < 2; i++) {
        act h = cost_part(g, x, i * x.c / 2, x.c / 2), a = cost_part(g, h, 0, h.c / 2),
            b = cost_part(g, h, h.c / 2, h.c / 2);
        act r = part_join(g, cost_unary(g, b, "ElementWiseNeg"), a);
        p[i] = part_add(g, times(g, h, cost_constant(g, 1, x.w, h.c)), times(g, r, cost_constant(g, 1, x.w, h.c)));
    }
    return part_join(g, p[0], p[1]);
}

static act depth_layer(struct cost_graph *g, act x, bool places)
{
    act n = part_norm(g, x), all = cost_dense(g, n, 3 * 384), p[3];
    for (uint32_t i = 0; i < 3; i++) {
        p[i] = part_heads(g, cost_part(g, all, i * 384, 384), 6);
        p[i] = places && i < 2 ? turned(g, part_norm(g, p[i])) : p[i];
    }
    act s = cost_matmul(g, cost_unary(g, cost_matmul(g, times(g, p[0], number(g)), p[1], true), "Softmax"), p[2], false);
    s = cost_dense(g, cost_view(g, cost_swap(g, s), 1, x.w, 384), 384);
    x = part_add(g, x, times(g, s, cost_constant(g, 1, 1, 384)));
    s = part_feed(g, part_norm(g, x), 1536, "Gelu");
    return part_add(g, x, times(g, s, cost_constant(g, 1, 1, 384)));
}

NET(depth_anything_v3)
{
    act taps[4], both[] = { cost_constant(g, 1, 1, 384),
                            cost_view(g, cost_conv(g, part_image(g, 518, 518), 384, 14, 14, 1), 1, 1369, 384) };
    act x = part_add(g, cost_rows(g, both, 2), cost_constant(g, 1, 1370, 384)), local = x;
    for (uint32_t i = 0, n = 0; i < 12; i++) {
        x = depth_layer(g, x, i >= 4);
        local = i % 2 ? local : x;
        if (i < 5 || i % 2 == 0)
            continue;
        act t = part_join(g, cost_tokens(g, local, 1, 1369), part_norm(g, cost_tokens(g, x, 1, 1369)));
        taps[n++] = cost_view(g, part_norm(g, t), 37, 37, 768);
    }
    part_depth(g, taps, 2);
}

/* ---- GKT: six cameras of 224 x 480, one above the other, to a map of 200 x 200 ---------------------------------------- */

enum { CAMERAS = 6, CELLS = 625, NEAR = 7, MAP = 128, MAP_HEADS = 4 };

static act swished(struct cost_graph *g, act x, uint32_t out)
{
    return cost_silu(g, cost_conv(g, x, out, 1, 1, 1));
}

/* Channels are weighed for each camera. */
static act camera_block(struct cost_graph *g, act x, uint32_t out, uint32_t kernel, uint32_t stride, uint32_t expand)
{
    act t = expand > 1 ? swished(g, x, expand * x.c) : x;
    t = cost_silu(g, cost_depthwise(g, t, kernel, stride));
    act s = cost_pool_lines(g, cost_pool_lines(g, t, "PoolAvg2d", t.h / CAMERAS), "PoolAvg2d", 1);
    s = cost_reduce(g, cost_turn(g, s), "ReduceMean");
    s = cost_view(g, s, CAMERAS, 1, t.c);
    s = cost_unary(g, cost_conv(g, swished(g, s, x.c / 4), t.c, 1, 1, 1), "Sigmoid");
    act weighed = times(g, cost_view(g, t, CAMERAS, t.h / CAMERAS * t.w, t.c), s);
    t = cost_conv(g, cost_view(g, weighed, t.h, t.w, t.c), out, 1, 1, 1);
    return stride == 1 && x.c == out ? part_add(g, x, t) : t;
}

static act unit_length(struct cost_graph *g, act x)
{
    act n = cost_reduce(g, times(g, x, x), "ReduceSum");
    return cost_binary(g, x, part_add(g, cost_unary(g, n, "ElementWiseSquareRoot"), number(g)), "ElementWiseDivide");
}

/* What every cell of the map sees at seven places of each camera. */
static act look_around(struct cost_graph *g, act x, act f)
{
    uint32_t places = f.h / CAMERAS * f.w, rows = CAMERAS * CELLS;
    act ray = cost_matmul(g, cost_input(g, CAMERAS, 3, 3), cost_constant(g, 1, 3, places), false);
    const act up[] = { ray, cost_constant(g, CAMERAS, 1, places) };
    ray = cost_turn(g, cost_matmul(g, cost_input(g, CAMERAS, 4, 4), cost_rows(g, up, 2), false));
    f = cost_conv_wide(g, f, f.c, (const uint32_t[]){ 1, 7 }, 1);
    act both = part_join(g, f, cost_view(g, ray, f.h, f.w, 4));
    act seen = cost_look_up(g, cost_view(g, both, 1, both.h * both.w, both.c), rows * NEAR);
    seen = cost_view(g, seen, rows, NEAR, seen.c);
    act feature = cost_part(g, seen, 0, f.c);
    act camera = cost_conv(g, cost_input(g, 1, CAMERAS, 4), MAP, 1, 1, 1);
    act place = less(g, cost_dense(g, cost_part(g, seen, f.c, 4), MAP), cost_constant(g, 1, 1, MAP));
    place = cost_view(g, place, rows, NEAR, MAP);
    act rectified = cost_unary(g, cost_unary(g, feature, "Batchnorm"), "Relu");
    act key = part_add(g, unit_length(g, place), cost_view(g, cost_dense(g, rectified, MAP), rows, NEAR, MAP));
    act value = cost_view(g, cost_dense(g, rectified, MAP), rows, NEAR, MAP);
    act cells =
        cost_view(g, less(g, cost_constant(g, CAMERAS, CELLS, MAP), cost_view(g, camera, CAMERAS, 1, MAP)), 1, rows, MAP);
    act query = part_add(g, cost_view(g, unit_length(g, cells), CAMERAS, CELLS, MAP), x);
    query = cost_dense(g, part_norm(g, query), MAP);
    key = cost_dense(g, part_norm(g, key), MAP);
    value = cost_dense(g, part_norm(g, value), MAP);
    query = cost_view(g, cost_turn(g, cost_view(g, query, 1, rows, MAP)), MAP, rows, 1);
    key = cost_view(g, cost_turn(g, cost_view(g, key, 1, rows * NEAR, MAP)), MAP, rows, NEAR);
    act dot = times(g, cost_sum_lines(g, times(g, key, query), MAP / MAP_HEADS), number(g));
    dot = cost_swap(g, cost_view(g, dot, MAP_HEADS * CAMERAS, CELLS, NEAR));
    dot = cost_view(g, dot, MAP_HEADS, CELLS, CAMERAS * NEAR);
    act share = cost_turn(g, cost_unary(g, part_add(g, dot, cost_constant(g, 1, CELLS, CAMERAS * NEAR)), "Softmax"));
    value = cost_turn(g, cost_view(g, value, CAMERAS * NEAR, CELLS, MAP));
    value = cost_swap(g, cost_view(g, value, CAMERAS * NEAR, MAP, CELLS));
    share = cost_view(g, share, 1, MAP_HEADS * CAMERAS * NEAR, CELLS);
    act all = cost_view(g, value, MAP / MAP_HEADS, MAP_HEADS * CAMERAS * NEAR, CELLS);
    all = cost_sum_lines(g, cost_view(g, times(g, all, share), MAP * CAMERAS * NEAR, 1, CELLS), CAMERAS * NEAR);
    all = cost_dense(g, cost_turn(g, cost_view(g, all, 1, MAP, CELLS)), MAP);
    act z = part_norm(g, part_add(g, all, x));
    return part_norm(g, part_add(g, z, part_feed(g, z, 2 * MAP, "Gelu")));
}

static act bottleneck(struct cost_graph *g, act x)
{
    act t = cost_conv(g, cost_conv(g, cost_conv(g, x, x.c / 4, 1, 1, 1), x.c / 4, 3, 1, 1), x.c, 1, 1, 1);
    return cost_unary(g, part_add(g, x, t), "Relu");
}

NET(gkt)
{
    static const uint32_t ups[3] = { 128, 128, 64 };
    act f[2], t = cost_silu(g, cost_conv(g, part_image(g, CAMERAS * 224, 480), 48, 3, 2, 1));
    t = camera_block(g, camera_block(g, t, 24, 3, 1, 1), 24, 3, 1, 1);
    f[0] = t = camera_block(g, t, 32, 3, 2, 6);
    for (int i = 0; i < 3; i++)
        t = camera_block(g, t, 32, 3, 1, 6);
    for (int i = 0; i < 4; i++)
        t = camera_block(g, t, 56, 5, i ? 1 : 2, 6);
    f[1] = camera_block(g, t, 112, 3, 2, 6);
    act x = cost_constant(g, 1, CELLS, MAP), first;
    for (int i = 0; i < 2; i++) {
        x = cost_view(g, look_around(g, x, f[i]), 25, 25, MAP);
        x = cost_view(g, bottleneck(g, bottleneck(g, x)), 1, CELLS, MAP);
    }
    first = x = cost_view(g, x, 25, 25, MAP);
    for (int i = 0; i < 3; i++) {
        x = cost_conv(g, part_double(g, x, "ResizeBilinear"), ups[i] / 2, 3, 1, 1);
        act past = cost_resize(g, cost_conv(g, first, ups[i], 1, 1, 1), "ResizeNearestNeighbor", x.h, x.w);
        x = cost_unary(g, part_add(g, cost_conv(g, x, ups[i], 1, 1, 1), past), "Relu");
    }
    x = cost_conv(g, cost_conv(g, x, 64, 3, 1, 1), 2, 1, 1, 1);
    cost_output(g, cost_part(g, x, 0, 1));
}

/* ---- InternImage, tiny, 224 x 224 ------------------------------------------------------------------------------------- */

/* Nine pixels for every place and group of 16 channels, from where the network says. */
static act elsewhere(struct cost_graph *g, act x)
{
    uint32_t groups = x.c / 16, n = x.h * x.w;
    act p = cost_lengthened(g, cost_dense(g, x, x.c), 1, 1);
    p = cost_view(g, cost_lengthened(g, cost_view(g, p, 1, x.h, p.w * x.c), 1, 1), 1, (x.h + 2) * p.w, x.c);
    p = cost_turn(g, cost_view(g, cost_turn(g, p), groups, 16, p.w));
    act d = cost_unary(g, part_norm(g, cost_depthwise(g, x, 3, 1)), "Gelu");
    act to = cost_view(g, cost_dense(g, d, groups * 18), x.h, x.w, groups * 18);
    to = part_add(g, times(g, to, number(g)), cost_constant(g, x.h, x.w, groups * 18));
    to = less(g, times(g, to, number(g)), number(g));
    to = cost_view(g, cost_swap(g, cost_view(g, to, n, groups, 18)), groups * n, 9, 2);
    act mask = cost_unary(g, cost_view(g, cost_dense(g, d, groups * 9), n, groups, 9), "Softmax");
    mask = cost_view(g, cost_swap(g, mask), groups * n, 9, 1);
    act s = cost_sample(g, cost_view(g, p, groups * (x.h + 2), x.w + 2, 16), to, groups);
    s = cost_sum_lines(g, cost_view(g, times(g, s, mask), groups * n * 9, 1, 16), 9);
    s = cost_turn(g, cost_view(g, s, groups, n, 16));
    s = cost_turn(g, cost_view(g, s, 1, x.c, n));
    return cost_view(g, cost_dense(g, s, x.c), x.h, x.w, x.c);
}

NET(internimage)
{
    static const uint32_t depths[4] = { 4, 4, 18, 4 };
    act x = cost_unary(g, part_norm(g, cost_conv(g, part_image(g, 224, 224), 32, 3, 2, 1)), "Gelu");
    x = part_norm(g, cost_conv(g, x, 64, 3, 2, 1));
    for (uint32_t s = 0; s < 4; s++) {
        x = s ? part_norm(g, cost_conv(g, x, 2 * x.c, 3, 2, 1)) : x;
        for (uint32_t i = 0; i < depths[s]; i++) {
            act scale = cost_constant(g, 1, 1, x.c);
            x = part_add(g, x, times(g, elsewhere(g, part_norm(g, x)), scale));
            act t = part_feed(g, part_norm(g, x), 4 * x.c, "Gelu");
            x = part_add(g, x, times(g, cost_view(g, t, x.h, x.w, x.c), scale));
        }
        x = part_norm(g, x);
    }
    x = cost_unary(g, part_norm(g, cost_conv(g, x, 768, 1, 1, 1)), "Gelu");
    cost_output(g, cost_dense(g, cost_pool(g, x, "PoolAvg2d", 0, 1), 1000));
}

/* ---- Zipformer, 32 steps of sound and four times as many from before -------------------------------------------------- */

enum { WIDTH = 384, SCORES = 192, VALUES = 96, SPEECH_HEADS = 8, KERNEL = 31 };

static act double_swish(struct cost_graph *g, act x)
{
    return times(g, x, cost_unary(g, less(g, x, number(g)), "Sigmoid"));
}

static act speech_feed(struct cost_graph *g, act x, uint32_t inner)
{
    return part_add(g, x, cost_dense(g, double_swish(g, cost_dense(g, x, inner)), WIDTH));
}

/* What was kept goes before what is new, and the last part of both is kept. */
static act kept(struct cost_graph *g, act x, uint32_t before)
{
    act old = cost_input(g, 1, before, x.c);
    act y = part_add(g, cost_lengthened(g, x, before, 0), cost_lengthened(g, old, 0, x.w));
    act last = cost_tokens(g, y, x.w, before);
    cost_output(g, last);
    return y;
}

static act speech_conv(struct cost_graph *g, act x)
{
    act t = cost_conv(g, cost_view(g, x, 1, x.w, WIDTH), 2 * WIDTH, 1, 1, 1);
    t = times(g, cost_part(g, t, 0, WIDTH), cost_unary(g, cost_part(g, t, WIDTH, WIDTH), "Sigmoid"));
    act old = cost_turn(g, cost_input(g, 1, WIDTH, KERNEL - 1));
    act y = part_add(g, cost_lengthened(g, t, KERNEL - 1, 0), cost_lengthened(g, old, 0, x.w));
    cost_output(g, cost_turn(g, cost_tokens(g, y, x.w, KERNEL - 1)));
    y = double_swish(g, cost_tokens(g, cost_depthwise(g, y, KERNEL, 1), KERNEL - 1, x.w));
    return part_add(g, x, cost_view(g, cost_conv(g, y, WIDTH, 1, 1, 1), 1, x.w, WIDTH));
}

static act spoken(struct cost_graph *g, act x, act shares, act values)
{
    act v = part_heads(g, values, SPEECH_HEADS);
    act s = cost_swap(g, cost_matmul(g, shares, v, false));
    return part_add(g, x, cost_dense(g, cost_view(g, s, 1, x.w, VALUES), WIDTH));
}

static act speech_layer(struct cost_graph *g, act x, uint32_t inner)
{
    act first = x;
    uint32_t n = x.w, before = 4 * n;
    x = speech_feed(g, x, inner);
    act sum = part_add(g, cost_running_sum(g, x), times(g, cost_input(g, 1, 1, WIDTH), number(g)));
    sum = times(g, cost_view(g, sum, 1, n, WIDTH), cost_constant(g, 1, n, 1));
    cost_output(g, cost_tokens(g, sum, n - 1, 1));
    x = part_add(g, x, cost_dense(g, sum, WIDTH));
    act all = cost_dense(g, x, 2 * SCORES + VALUES + 4 * SPEECH_HEADS);
    act q = part_heads(g, cost_part(g, all, 0, SCORES), SPEECH_HEADS),
        k = kept(g, cost_part(g, all, SCORES, SCORES), before);
    act v = kept(g, cost_part(g, all, 2 * SCORES, VALUES), before);
    act p = part_heads(g, cost_part(g, all, 2 * SCORES + VALUES, 4 * SPEECH_HEADS), SPEECH_HEADS);
    p = cost_pick(g, cost_matmul(g, p, cost_constant(g, SPEECH_HEADS, 4, 2 * n - 1 + before), false), n + before);
    act s = part_add(g, cost_matmul(g, q, cost_turn(g, part_heads(g, k, SPEECH_HEADS)), false), p);
    s = cost_unary(g, s, "Softmax");
    x = speech_conv(g, spoken(g, x, s, v));
    x = speech_feed(g, x, inner);
    v = kept(g, cost_view(g, cost_dense(g, x, VALUES), 1, n, VALUES), before);
    x = speech_feed(g, speech_conv(g, spoken(g, x, s, v)), inner);
    x = cost_view(g, x, 1, n, WIDTH);
    act power = part_add(g, cost_reduce(g, times(g, x, x), "ReduceMean"), number(g));
    x = times(g, x, cost_unary(g, power, "ElementWiseRsqrt"));
    return part_add(g, first, times(g, less(g, x, first), number(g)));
}

/* Fewer steps, each a mean of n by scores; and back. */
static act fewer(struct cost_graph *g, act x, uint32_t n)
{
    act p = cost_view(g, x, x.w / n, n, WIDTH);
    act s = cost_matmul(g, p, cost_constant(g, 1, WIDTH, 1), false);
    s = cost_unary(g, cost_turn(g, s), "Softmax");
    return cost_view(g, cost_matmul(g, s, p, false), 1, x.w / n, WIDTH);
}

static act more(struct cost_graph *g, act x, uint32_t n)
{
    uint32_t steps = x.w;
    const act same[] = { x, x, x, x, x, x, x, x };
    act p = cost_concat(g, same, n);
    return cost_view(g, part_add(g, p, cost_constant(g, 1, 1, n * WIDTH)), 1, steps * n, WIDTH);
}

static act mixed(struct cost_graph *g, act a, act b)
{
    return part_add(g, times(g, a, number(g)), times(g, b, number(g)));
}

NET(zipformer_encoder)
{
    static const uint32_t layers[5] = { 2, 4, 3, 2, 4 }, apart[5] = { 1, 2, 4, 8, 2 },
                          inner[5] = { 1024, 1024, 1536, 1536, 1024 };
    act t = double_swish(g, cost_conv(g, cost_view(g, cost_input(g, 1, 71, 80), 71, 80, 1), 8, 3, 1, 1));
    t = double_swish(g, cost_conv(g, t, 32, 3, 2, 1));
    t = double_swish(g, cost_conv(g, cost_tokens(g, t, 0, 20), 128, 3, 1, 1));
    t = cost_turn(g, cost_tokens(g, t, 0, 19));
    act x = cost_dense(g, cost_tokens(g, cost_view(g, t, 1, 36, 19 * 128), 0, 32), WIDTH);
    x = cost_view(g, x, 1, 32, WIDTH);
    for (int s = 0; s < 5; s++) {
        act past = x;
        x = s ? fewer(g, x, apart[s]) : x;
        for (uint32_t i = 0; i < layers[s]; i++)
            x = speech_layer(g, x, inner[s]);
        x = s ? mixed(g, past, more(g, x, apart[s])) : x;
    }
    cost_output(g, cost_dense(g, fewer(g, x, 2), 512));
}

/* The last two words. */
NET(zipformer_decoder)
{
    act x = cost_look_up(g, cost_constant(g, 1, 6254, 512), 2);
    x = cost_conv(g, cost_view(g, x, 1, 2, 512), 512, 2, 2, 128);
    cost_output(g, cost_dense(g, cost_unary(g, x, "Relu"), 512));
}
