/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that were estimated after the rules had been changed for all others, before any of their latencies was compared:
 * a large one that was found by search, a small detector, hands, and what cleans an image of noise. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

/* ---- NASNet-A large, 224 x 224 ---------------------------------------------------------------------------------------- */

/* A Relu, a filter per channel and one over channels, twice. */
static act separable(struct cost_graph *g, act x, uint32_t out, uint32_t kernel, uint32_t stride)
{
    x = cost_conv(g, cost_depthwise(g, cost_unary(g, x, "Relu"), kernel, stride), out, 1, 1, 1);
    return cost_conv(g, cost_depthwise(g, x, kernel, 1), out, 1, 1, 1);
}

/* To c channels at the size of `as`; every second place of two shifted images where it is larger. */
static act fitted(struct cost_graph *g, act x, act as, uint32_t c)
{
    x = cost_unary(g, x, "Relu");
    if (x.h == as.h)
        return cost_conv(g, x, c, 1, 1, 1);
    return part_join(g, cost_conv(g, cost_pool(g, x, "PoolAvg2d", 1, 2), c / 2, 1, 1, 1),
                     cost_conv(g, cost_pool(g, x, "PoolAvg2d", 1, 2), c - c / 2, 1, 1, 1));
}

static act normal_cell(struct cost_graph *g, act x, act before, uint32_t c)
{
    act p = fitted(g, before, x, c), h = fitted(g, x, x, c);
    act parts[6] = { p,
                     part_add(g, separable(g, h, c, 5, 1), separable(g, p, c, 3, 1)),
                     part_add(g, separable(g, p, c, 5, 1), separable(g, p, c, 3, 1)),
                     part_add(g, cost_pool(g, h, "PoolAvg2d", 3, 1), p),
                     part_add(g, cost_pool(g, p, "PoolAvg2d", 3, 1), cost_pool(g, p, "PoolAvg2d", 3, 1)),
                     part_add(g, separable(g, h, c, 3, 1), h) };
    return cost_concat(g, parts, 6);
}

static act reduction_cell(struct cost_graph *g, act x, act before, uint32_t c)
{
    act p = fitted(g, before, x, c), h = fitted(g, x, x, c), most = cost_pool(g, h, "PoolMax2d", 3, 2);
    act first = part_add(g, separable(g, h, c, 5, 2), separable(g, p, c, 7, 2));
    act parts[4] = { part_add(g, most, separable(g, p, c, 7, 2)),
                     part_add(g, cost_pool(g, h, "PoolAvg2d", 3, 2), separable(g, p, c, 5, 2)) };
    parts[2] = part_add(g, cost_pool(g, first, "PoolAvg2d", 3, 1), parts[0]);
    parts[3] = part_add(g, separable(g, first, c, 3, 1), most);
    return cost_concat(g, parts, 4);
}

NET(nasnet)
{
    act before = cost_conv(g, part_image(g, 224, 224), 96, 3, 2, 1), x = reduction_cell(g, before, before, 42), next;
    next = reduction_cell(g, x, before, 84);
    before = x;
    x = next;
    for (uint32_t stage = 0; stage < 3; stage++) {
        if (stage) {
            next = reduction_cell(g, x, before, 168u << stage);
            before = x;
            x = next;
        }
        for (int i = 0; i < 6; i++) {
            next = normal_cell(g, x, before, 168u << stage);
            before = x;
            x = next;
        }
    }
    cost_output(g, cost_dense(g, cost_pool(g, cost_unary(g, x, "Relu"), "PoolAvg2d", 0, 1), 1000));
}

/* ---- YOLO v3, tiny, 224 x 640 ----------------------------------------------------------------------------------------- */

NET(yolov3_tiny)
{
    act x = cost_input(g, 224, 640, 3), near = x, sides[2], scores[2];
    for (uint32_t i = 0; i < 6; i++) {
        x = part_silu(g, x, 16u << i, 3, 1);
        near = i == 4 ? x : near;
        x = cost_pool(g, x, "PoolMax2d", 2, i < 5 ? 2 : 1);
    }
    act h = part_silu(g, part_silu(g, x, 1024, 3, 1), 256, 1, 1);
    act up = part_double(g, part_silu(g, h, 128, 1, 1), "ResizeNearestNeighbor");
    act at[2] = { part_silu(g, part_join(g, up, near), 256, 3, 1), part_silu(g, h, 512, 3, 1) };
    for (int i = 0; i < 2; i++) {
        uint32_t n = at[i].h * at[i].w;
        act b = cost_conv(g, part_silu(g, part_silu(g, at[i], 64, 3, 1), 64, 3, 1), 64, 1, 1, 1);
        act s = cost_conv(g, part_silu(g, part_silu(g, at[i], 256, 3, 1), 256, 3, 1), 80, 1, 1, 1);
        sides[i] = cost_view(g, b, 1, n, 64);
        scores[i] = cost_view(g, s, 1, n, 80);
    }
    part_boxes(g, sides, scores, 2);
}

/* ---- 21 points of a hand, 224 x 224 ----------------------------------------------------------------------------------- */

NET(hand_landmarks)
{
    static const struct {
        uint32_t inner, kernel, out, stride;
    } blocks[] = { { 64, 3, 24, 2 },   { 144, 3, 24, 1 },   { 144, 5, 40, 2 },   { 240, 5, 40, 1 },  { 240, 3, 80, 2 },
                   { 480, 3, 80, 1 },  { 480, 3, 80, 1 },   { 480, 5, 112, 1 },  { 672, 5, 112, 1 }, { 672, 5, 112, 1 },
                   { 672, 5, 192, 2 }, { 1152, 5, 192, 1 }, { 1152, 5, 192, 1 }, { 1152, 5, 192, 1 } };
    act x = cost_conv(g, cost_input(g, 224, 224, 3), 24, 3, 2, 1);
    x = cost_conv(g, cost_depthwise(g, x, 3, 1), 16, 1, 1, 1);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        act t = cost_depthwise(g, cost_conv(g, x, blocks[i].inner, 1, 1, 1), blocks[i].kernel, blocks[i].stride);
        t = cost_conv(g, t, blocks[i].out, 1, 1, 1);
        x = x.c == t.c && x.h == t.h ? part_add(g, x, t) : t;
    }
    x = cost_pool(g, cost_depthwise(g, cost_conv(g, x, 1152, 1, 1, 1), 3, 1), "PoolAvg2d", 0, 1);
    cost_output(g, cost_dense(g, x, 63));
    cost_output(g, cost_dense(g, x, 63));
    cost_output(g, cost_unary(g, cost_dense(g, x, 1), "Sigmoid"));
    cost_output(g, cost_unary(g, cost_dense(g, x, 1), "Sigmoid"));
}

/* ---- Stable Diffusion 1.5: one step on 64 x 64 codes ------------------------------------------------------------------ */

enum { HEADS = 8, WORDS = 77 };

/* Every head by itself, its products as convolutions. */
static act attend(struct cost_graph *g, act from, act to)
{
    act heads[HEADS];
    uint32_t each = from.c / HEADS;
    for (int i = 0; i < HEADS; i++) {
        act q = cost_conv(g, from, each, 1, 1, 1), k = cost_conv(g, to, each, 1, 1, 1), v = cost_conv(g, to, each, 1, 1, 1);
        heads[i] = cost_matmul(g, cost_unary(g, cost_matmul(g, q, k, true), "Softmax"), v, false);
    }
    return cost_conv(g, cost_concat(g, heads, HEADS), from.c, 1, 1, 1);
}

static act transformer(struct cost_graph *g, act x, act words)
{
    uint32_t h = x.h, w = x.w;
    act t = cost_view(g, cost_conv(g, cost_unary(g, x, "GroupNorm"), x.c, 1, 1, 1), 1, h * w, x.c), n = part_norm(g, t);
    t = part_add(g, t, attend(g, n, n));
    t = part_add(g, t, attend(g, part_norm(g, t), words));
    n = part_norm(g, t);
    act wide = cost_conv(g, n, 4 * t.c, 1, 1, 1), gate = cost_unary(g, cost_conv(g, n, 4 * t.c, 1, 1, 1), "Gelu");
    t = part_add(g, t, cost_conv(g, cost_binary(g, wide, gate, "ElementWiseMultiply"), t.c, 1, 1, 1));
    return part_add(g, x, cost_conv(g, cost_view(g, t, h, w, x.c), x.c, 1, 1, 1));
}

static act block(struct cost_graph *g, act x, uint32_t out, act time)
{
    act t = cost_conv(g, part_norm_silu(g, x), out, 3, 1, 1);
    t = part_add(g, t, cost_dense(g, cost_silu(g, time), out));
    t = cost_conv(g, part_norm_silu(g, t), out, 3, 1, 1);
    return part_add(g, t, x.c == out ? x : cost_conv(g, x, out, 1, 1, 1));
}

NET(diffusion_step)
{
    static const uint32_t widths[4] = { 320, 640, 1280, 1280 };
    act time = cost_dense(g, cost_silu(g, cost_dense(g, cost_input(g, 1, 1, 320), 1280)), 1280), kept[12];
    act words = cost_input(g, 1, WORDS, 768), x = cost_conv(g, cost_input(g, 64, 64, 4), 320, 3, 1, 1);
    uint32_t n = 0;
    kept[n++] = x;
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 2; i++) {
            x = block(g, x, widths[s], time);
            kept[n++] = x = s < 3 ? transformer(g, x, words) : x;
        }
        if (s < 3)
            kept[n++] = x = cost_conv(g, x, x.c, 3, 2, 1);
    }
    x = block(g, transformer(g, block(g, x, 1280, time), words), 1280, time);
    for (int s = 3; s >= 0; s--) {
        for (int i = 0; i < 3; i++) {
            x = block(g, part_join(g, x, kept[--n]), widths[s], time);
            x = s < 3 ? transformer(g, x, words) : x;
        }
        x = s ? cost_conv(g, part_double(g, x, "ResizeNearestNeighbor"), x.c, 3, 1, 1) : x;
    }
    cost_output(g, cost_conv(g, part_norm_silu(g, x), 4, 3, 1, 1));
}
