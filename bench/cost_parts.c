/* SPDX-License-Identifier: Apache-2.0 */
#include "cost_parts.h"

act part_image(struct cost_graph *g, uint32_t h, uint32_t w)
{
    act mean = cost_constant(g, 1, 1, 3), deviation = cost_constant(g, 1, 1, 3);
    act x = cost_binary(g, cost_input(g, h, w, 3), mean, "ElementWiseSubtract");
    return cost_binary(g, x, deviation, "ElementWiseDivide");
}

act part_silu(struct cost_graph *g, act x, uint32_t out, uint32_t kernel, uint32_t stride)
{
    return cost_silu(g, cost_conv(g, x, out, kernel, stride, 1));
}

act part_leaky(struct cost_graph *g, act x, uint32_t out, uint32_t kernel, uint32_t stride)
{
    return cost_unary(g, cost_conv(g, x, out, kernel, stride, 1), "ElementWiseNeuron");
}

act part_join(struct cost_graph *g, act a, act b)
{
    act both[] = { a, b };
    return cost_concat(g, both, 2);
}

act part_double(struct cost_graph *g, act x, const char *op)
{
    return cost_resize(g, x, op, 2 * x.h, 2 * x.w);
}

act part_basic(struct cost_graph *g, act x, uint32_t out, uint32_t stride)
{
    act t = cost_conv(g, cost_conv(g, x, out, 3, stride, 1), out, 3, 1, 1);
    x = stride > 1 || x.c != out ? cost_conv(g, x, out, 1, stride, 1) : x;
    return cost_unary(g, cost_binary(g, t, x, "ElementWiseAdd"), "Relu");
}

act part_basics(struct cost_graph *g, act x, uint32_t out, uint32_t stride, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x = part_basic(g, x, out, i ? 1 : stride);
    return x;
}

void part_resnet18(struct cost_graph *g, act image, act stages[4])
{
    act x = cost_pool(g, cost_conv(g, image, 64, 7, 2, 1), "PoolMax2d", 3, 2);
    for (uint32_t i = 0; i < 4; i++)
        x = stages[i] = part_basics(g, x, 64u << i, i ? 2 : 1, 2);
}

/* Every branch gets the sum of all, brought to its size. */
static void exchange(struct cost_graph *g, act *x, uint32_t n, const char *op)
{
    act y[4];
    for (uint32_t to = 0; to < n; to++) {
        y[to] = x[to];
        for (uint32_t from = 0; from < n; from++) {
            act t = x[from];
            if (from == to)
                continue;
            if (from > to)
                t = cost_resize(g, cost_conv(g, t, x[to].c, 1, 1, 1), op, x[to].h, x[to].w);
            for (uint32_t k = from; k < to; k++)
                t = cost_conv(g, t, k + 1 == to ? x[to].c : t.c, 3, 2, 1);
            y[to] = cost_binary(g, y[to], t, "ElementWiseAdd");
        }
        y[to] = cost_unary(g, y[to], "Relu");
    }
    for (uint32_t i = 0; i < n; i++)
        x[i] = y[i];
}

void part_hrnet(struct cost_graph *g, act image, uint32_t width, const char *op, act x[4])
{
    static const uint32_t modules[] = { 0, 0, 1, 4, 3 };
    act s = cost_conv(g, cost_conv(g, image, 64, 3, 2, 1), 64, 3, 2, 1);
    for (int i = 0; i < 4; i++) {
        act t = cost_conv(g, cost_conv(g, cost_conv(g, s, 64, 1, 1, 1), 64, 3, 1, 1), 256, 1, 1, 1);
        s = cost_unary(g, cost_binary(g, t, i ? s : cost_conv(g, s, 256, 1, 1, 1), "ElementWiseAdd"), "Relu");
    }
    x[0] = cost_conv(g, s, width, 3, 1, 1);
    x[1] = cost_conv(g, s, 2 * width, 3, 2, 1);
    for (uint32_t stage = 2; stage <= 4; stage++) {
        if (stage > 2)
            x[stage - 1] = cost_conv(g, x[stage - 2], width << (stage - 1), 3, 2, 1);
        for (uint32_t m = 0; m < modules[stage]; m++) {
            for (uint32_t b = 0; b < stage; b++)
                for (int k = 0; k < 4; k++)
                    x[b] = part_basic(g, x[b], x[b].c, 1);
            exchange(g, x, stage, op);
        }
    }
}

act part_heads(struct cost_graph *g, act x, uint32_t heads)
{
    return cost_swap(g, cost_view(g, x, x.h * x.w, heads, x.c / heads));
}

act part_scores(struct cost_graph *g, act q, act k, act v, uint32_t heads)
{
    uint32_t tokens = q.h * q.w, width = v.c;
    q = part_heads(g, q, heads);
    k = part_heads(g, k, heads);
    v = part_heads(g, v, heads);
    act s = cost_matmul(g, cost_unary(g, cost_matmul(g, q, k, true), "Softmax"), v, false);
    return cost_view(g, cost_swap(g, s), 1, tokens, width);
}

act part_attend(struct cost_graph *g, act from, act to, uint32_t heads)
{
    act q = cost_dense(g, from, from.c), k = cost_dense(g, to, from.c), v = cost_dense(g, to, from.c);
    return cost_dense(g, part_scores(g, q, k, v, heads), from.c);
}

act part_feed(struct cost_graph *g, act x, uint32_t inner, const char *op)
{
    return cost_dense(g, cost_unary(g, cost_dense(g, x, inner), op), x.c);
}

act part_add(struct cost_graph *g, act a, act b)
{
    return cost_binary(g, a, b, "ElementWiseAdd");
}

act part_vit(struct cost_graph *g, act x, uint32_t heads)
{
    act n = cost_unary(g, x, "LayerNorm");
    x = part_add(g, x, part_attend(g, n, n, heads));
    return part_add(g, x, part_feed(g, cost_unary(g, x, "LayerNorm"), 4 * x.c, "Gelu"));
}

act part_norm(struct cost_graph *g, act x)
{
    return cost_unary(g, x, "LayerNorm");
}

void part_boxes(struct cost_graph *g, const act *sides, const act *scores, uint32_t n)
{
    act all = cost_rows(g, sides, n), place = cost_constant(g, 1, all.w, 2);
    act d = cost_conv(g, cost_unary(g, cost_view(g, all, all.w, 4, 16), "Softmax"), 1, 1, 1, 1);
    d = cost_view(g, d, 1, all.w, 4);
    act from = cost_binary(g, place, cost_part(g, d, 0, 2), "ElementWiseSubtract"),
        to = part_add(g, place, cost_part(g, d, 2, 2));
    cost_output(g, cost_binary(g, part_join(g, from, to), cost_constant(g, 1, all.w, 1), "ElementWiseMultiply"));
    cost_output(g, cost_unary(g, cost_rows(g, scores, n), "Sigmoid"));
}

act part_norm_silu(struct cost_graph *g, act x)
{
    return cost_silu(g, cost_unary(g, x, "GroupNorm"));
}

act part_prelu(struct cost_graph *g, act x)
{
    return cost_binary(g, x, cost_constant(g, 1, 1, x.c), "Prelu");
}

act part_sppf(struct cost_graph *g, act x)
{
    act p[4] = { part_silu(g, x, x.c / 2, 1, 1) };
    for (int i = 1; i < 4; i++)
        p[i] = cost_pool(g, p[i - 1], "PoolMax2d", 5, 1);
    return part_silu(g, cost_concat(g, p, 4), x.c, 1, 1);
}

/* A residual unit of the depth head. */
static act refine(struct cost_graph *g, act x)
{
    return part_add(g, x, cost_conv(g, cost_conv(g, x, x.c, 3, 1, 1), x.c, 3, 1, 1));
}

void part_depth(struct cost_graph *g, const act layers[4], uint32_t outs)
{
    static const uint32_t widths[4] = { 48, 96, 192, 384 };
    act taps[4];
    for (uint32_t i = 0; i < 4; i++) {
        act t = cost_conv(g, layers[i], widths[i], 1, 1, 1);
        t = i == 0   ? cost_up_conv(g, cost_up_conv(g, t, widths[0]), widths[0])
            : i == 1 ? cost_up_conv(g, t, widths[1])
            : i == 3 ? cost_conv(g, t, widths[3], 3, 2, 1)
                     : t;
        taps[i] = cost_conv(g, t, 64, 3, 1, 1);
    }
    act d = refine(g, taps[3]);
    for (int i = 2; i >= 0; i--)
        d = refine(g, part_add(g, refine(g, taps[i]),
                               cost_conv(g, cost_resize(g, d, "ResizeBilinear", taps[i].h, taps[i].w), 64, 1, 1, 1)));
    d = cost_conv(g, part_double(g, d, "ResizeBilinear"), 32, 3, 1, 1);
    d = cost_conv(g, cost_resize(g, d, "ResizeBilinear", 518, 518), 32, 3, 1, 1);
    cost_output(g, cost_conv(g, d, outs, 1, 1, 1));
}
