/* SPDX-License-Identifier: Apache-2.0 */
/* Attention in windows of large images, and what answers from their codes; estimated before any of their latencies was
 * compared. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

static act linear(struct cost_graph *g, act x, uint32_t out, bool convs)
{
    return convs ? cost_conv(g, x, out, 1, 1, 1) : cost_dense(g, x, out);
}

/* ---- windows ---------------------------------------------------------------------------------------------------------- */

/* So many more lines and columns that windows fit. */
static act padded(struct cost_graph *g, act x, uint32_t window)
{
    uint32_t h = (x.h + window - 1) / window * window, w = (x.w + window - 1) / window * window;
    if (w > x.w)
        x = cost_rows(g, (const act[]){ x, cost_constant(g, x.h, w - x.w, x.c) }, 2);
    if (h > x.h) {
        const act lines[] = { cost_view(g, x, 1, x.h, x.w * x.c), cost_constant(g, 1, h - x.h, x.w * x.c) };
        x = cost_view(g, cost_rows(g, lines, 2), h, w, x.c);
    }
    return x;
}

/* One line of tokens per window, and back: one transpose each. Which of two dimensions is which makes no difference to what
 * it moves. */
static act cut(struct cost_graph *g, act x, uint32_t window)
{
    uint32_t n = x.h * x.w / window / window;
    return cost_view(g, cost_swap(g, cost_view(g, x, window, n, window * x.c)), n, window * window, x.c);
}

static act uncut(struct cost_graph *g, act x, uint32_t window, uint32_t h, uint32_t w)
{
    uint32_t n = x.h * x.w / window / window;
    return cost_view(g, cost_swap(g, cost_view(g, x, n, window, window * x.c)), h, w, x.c);
}

/* x: lines of tokens; every head of a line by itself. */
static act heads_of(struct cost_graph *g, act x, uint32_t heads)
{
    return cost_swap(g, cost_view(g, x, x.w, x.h * heads, x.c / heads));
}

static act attend(struct cost_graph *g, act q, act k, act v, uint32_t heads, bool bias)
{
    uint32_t lines = q.h, tokens = q.w, width = q.c;
    act s = cost_matmul(g, heads_of(g, q, heads), heads_of(g, k, heads), true);
    s = cost_binary(g, s, cost_constant(g, 1, 1, 1), "ElementWiseMultiply");
    s = bias ? part_add(g, s, cost_constant(g, 1, s.w, s.c)) : s;
    s = cost_matmul(g, cost_unary(g, s, "Softmax"), heads_of(g, v, heads), false);
    return cost_view(g, cost_swap(g, s), lines, tokens, width);
}

static act feed(struct cost_graph *g, act x, bool convs)
{
    return linear(g, cost_unary(g, linear(g, part_norm(g, x), 4 * x.c, convs), "Gelu"), x.c, convs);
}

/* ---- MobileSAM: TinyViT at 1024 x 1024 -------------------------------------------------------------------------------- */

static act gelu(struct cost_graph *g, act x)
{
    return cost_unary(g, x, "Gelu");
}

static act merged(struct cost_graph *g, act x, uint32_t out, uint32_t stride)
{
    act t = gelu(g, cost_depthwise(g, gelu(g, cost_conv(g, x, out, 1, 1, 1)), 3, stride));
    return cost_conv(g, t, out, 1, 1, 1);
}

static act tiny_block(struct cost_graph *g, act x, uint32_t heads, uint32_t window)
{
    uint32_t h = x.h, w = x.w, c = x.c;
    act p = padded(g, x, window), t = part_norm(g, cut(g, p, window));
    act q = cost_dense(g, t, c), k = cost_dense(g, t, c), v = cost_dense(g, t, c);
    t = uncut(g, cost_dense(g, attend(g, q, k, v, heads, true), c), window, p.h, p.w);
    t = p.w > w ? cost_tokens(g, t, 0, w) : t;
    if (p.h > h)
        t = cost_view(g, cost_tokens(g, cost_view(g, t, 1, p.h, w * c), 0, h), h, w, c);
    x = cost_depthwise(g, part_add(g, x, t), 3, 1);
    return part_add(g, x, cost_view(g, feed(g, cost_view(g, x, 1, h * w, c), false), h, w, c));
}

NET(mobile_sam)
{
    static const uint32_t widths[4] = { 64, 128, 160, 320 }, depths[4] = { 2, 2, 6, 2 }, heads[4] = { 2, 4, 5, 10 },
                          windows[4] = { 7, 7, 14, 7 };
    act x = cost_conv(g, gelu(g, cost_conv(g, part_image(g, 1024, 1024), 32, 3, 2, 1)), 64, 3, 2, 1);
    for (int i = 0; i < 2; i++) {
        act t = gelu(g, cost_depthwise(g, gelu(g, cost_conv(g, x, 256, 1, 1, 1)), 3, 1));
        x = gelu(g, part_add(g, cost_conv(g, t, 64, 1, 1, 1), x));
    }
    for (int s = 1; s < 4; s++) {
        x = merged(g, x, widths[s], s < 3 ? 2 : 1);
        for (uint32_t i = 0; i < depths[s]; i++)
            x = tiny_block(g, x, heads[s], windows[s]);
    }
    x = part_norm(g, cost_conv(g, x, 256, 1, 1, 1));
    cost_output(g, part_norm(g, cost_conv(g, x, 256, 3, 1, 1)));
}

/* ---- SAM 2: Hiera, tiny, at 1024 x 1024 ------------------------------------------------------------------------------- */

/* window 0: all of the image. */
static act hiera_block(struct cost_graph *g, act x, uint32_t out, uint32_t heads, uint32_t window)
{
    act n = part_norm(g, x), p = window ? padded(g, n, window) : n;
    bool pooled = out > x.c;
    uint32_t h = pooled ? x.h / 2 : x.h, w = pooled ? x.w / 2 : x.w, side = pooled ? window / 2 : window;
    act t = window ? cut(g, p, window) : cost_view(g, p, 1, x.h * x.w, x.c);
    act q = linear(g, t, out, true), k = linear(g, t, out, true), v = linear(g, t, out, true);
    if (pooled) {
        q = cost_pool(g, cost_view(g, q, q.h * window, window, out), "PoolMax2d", 2, 2);
        q = cost_view(g, q, t.h, side * side, out);
    }
    t = linear(g, attend(g, q, k, v, heads, false), out, true);
    uint32_t ph = pooled ? p.h / 2 : p.h, pw = pooled ? p.w / 2 : p.w;
    t = window ? uncut(g, t, side, ph, pw) : cost_view(g, t, h, w, out);
    t = pw > w ? cost_tokens(g, t, 0, w) : t;
    if (ph > h)
        t = cost_view(g, cost_tokens(g, cost_view(g, t, 1, ph, w * out), 0, h), h, w, out);
    act past = pooled ? cost_pool(g, cost_conv(g, n, out, 1, 1, 1), "PoolMax2d", 2, 2) : x;
    x = part_add(g, past, t);
    return part_add(g, x, feed(g, x, true));
}

NET(sam2_encoder)
{
    static const struct {
        uint32_t out, heads, window;
    } blocks[12] = { { 96, 1, 8 },   { 192, 2, 8 }, { 192, 2, 4 },  { 384, 4, 4 }, { 384, 4, 14 }, { 384, 4, 0 },
                     { 384, 4, 14 }, { 384, 4, 0 }, { 384, 4, 14 }, { 384, 4, 0 }, { 768, 8, 14 }, { 768, 8, 7 } };
    act x = cost_conv(g, part_image(g, 1024, 1024), 96, 7, 4, 1), stages[4];
    x = part_add(g, x, cost_constant(g, x.h, x.w, 96));
    for (int i = 0, s = 0; i < 12; i++) {
        x = hiera_block(g, x, blocks[i].out, blocks[i].heads, blocks[i].window);
        if (i == 0 || i == 2 || i == 9 || i == 11)
            stages[s++] = x;
    }
    act top = cost_conv(g, stages[3], 256, 1, 1, 1);
    act deep = part_add(g, cost_conv(g, stages[2], 256, 1, 1, 1), part_double(g, top, "ResizeNearestNeighbor"));
    cost_output(g, part_add(g, deep, cost_constant(g, 1, 1, 256)));
    cost_output(g, cost_conv(g, cost_conv(g, stages[1], 256, 1, 1, 1), 64, 1, 1, 1));
    cost_output(g, cost_conv(g, cost_conv(g, stages[0], 256, 1, 1, 1), 32, 1, 1, 1));
}

/* ---- masks from codes and points -------------------------------------------------------------------------------------- */

enum { MASK_HEADS = 8, MASKS = 4 };

/* Every head by itself; inner: channels of all heads. */
static act mask_attend(struct cost_graph *g, act q, act k, act v, uint32_t inner)
{
    act heads[MASK_HEADS];
    uint32_t each = inner / MASK_HEADS;
    for (int i = 0; i < MASK_HEADS; i++) {
        act a = cost_conv(g, q, each, 1, 1, 1), b = cost_conv(g, k, each, 1, 1, 1), c = cost_conv(g, v, each, 1, 1, 1);
        act s = cost_binary(g, cost_matmul(g, a, b, true), cost_constant(g, 1, 1, 1), "ElementWiseMultiply");
        heads[i] = cost_matmul(g, cost_unary(g, s, "Softmax"), c, false);
    }
    return cost_dense(g, cost_concat(g, heads, MASK_HEADS), q.c);
}

static act mask_perceptron(struct cost_graph *g, act x, uint32_t out)
{
    x = cost_conv(g, cost_conv(g, x, 256, 1, 1, 1), 256, 1, 1, 1);
    return cost_conv(g, x, out, 1, 1, 1);
}

/* Tokens look at the image, and the image at them, twice; masks are products of tokens and the image, enlarged. */
static void masks(struct cost_graph *g, uint32_t n_tokens, bool features)
{
    act image = cost_input(g, 64, 64, 256), place = cost_constant(g, 1, 4096, 256), point = cost_input(g, 1, 3, 256);
    act start[] = { cost_constant(g, 1, n_tokens - 3, 256), point }, first = cost_rows(g, start, 2), y = first;
    act x = cost_view(g, part_add(g, image, cost_constant(g, 1, 1, 256)), 1, 4096, 256);
    for (int i = 0; i < 2; i++) {
        act q = i ? part_add(g, y, first) : y, t = mask_attend(g, q, q, y, 256);
        y = part_norm(g, i ? part_add(g, y, t) : t);
        act k = part_add(g, x, place);
        y = part_norm(g, part_add(g, y, mask_attend(g, part_add(g, y, first), k, x, 128)));
        t = cost_conv(g, cost_unary(g, cost_conv(g, y, 2048, 1, 1, 1), "Relu"), 256, 1, 1, 1);
        y = part_norm(g, part_add(g, y, t));
        x = part_norm(g, part_add(g, x, mask_attend(g, k, part_add(g, y, first), y, 128)));
    }
    y = part_norm(g, part_add(g, y, mask_attend(g, part_add(g, y, first), part_add(g, x, place), x, 128)));
    act u = cost_up_conv(g, cost_view(g, x, 64, 64, 256), 64), tokens[MASKS];
    u = gelu(g, features ? part_add(g, u, cost_input(g, 128, 128, 64)) : part_norm(g, u));
    u = cost_up_conv(g, u, 32);
    u = gelu(g, features ? part_add(g, u, cost_input(g, 256, 256, 32)) : u);
    for (uint32_t i = 0; i < MASKS; i++)
        tokens[i] = mask_perceptron(g, cost_tokens(g, y, n_tokens - 3 - MASKS + i, 1), 32);
    cost_output(g, cost_matmul(g, cost_rows(g, tokens, MASKS), cost_view(g, u, 1, 65536, 32), true));
    cost_output(g, mask_perceptron(g, cost_tokens(g, y, 0, 1), MASKS));
}

NET(sam2_decoder)
{
    masks(g, 9, true);
}
NET(mobile_sam_decoder)
{
    masks(g, 8, false);
}

/* ---- words from codes of speech --------------------------------------------------------------------------------------- */

NET(zipformer_joiner)
{
    act x = part_add(g, cost_input(g, 1, 1, 512), cost_input(g, 1, 1, 512));
    cost_output(g, cost_dense(g, cost_unary(g, x, "Tanh"), 6254));
}
