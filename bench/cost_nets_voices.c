/* SPDX-License-Identifier: Apache-2.0 */
/* Speech from text (MeloTTS), and text from images of it, estimated before any of their latencies was compared. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

static act times(struct cost_graph *g, act x, act by)
{
    return cost_binary(g, x, by, "ElementWiseMultiply");
}

/* ---- attention that knows how far two places are apart ---------------------------------------------------------------- */

/* Scores by distance, n x (2 n - 1), to scores of pairs: what every row begins with moves by one place. */
static act by_place(struct cost_graph *g, act s)
{
    uint32_t h = s.h, n = s.w;
    s = cost_view(g, part_join(g, s, cost_constant(g, h, n, 1)), h, 1, n * 2 * n);
    s = cost_view(g, part_join(g, s, cost_constant(g, h, 1, n - 1)), h, n + 1, 2 * n - 1);
    return cost_part(g, cost_tokens(g, s, 0, n), n - 1, n);
}

static act by_distance(struct cost_graph *g, act s)
{
    uint32_t h = s.h, n = s.w;
    s = cost_view(g, part_join(g, s, cost_constant(g, h, n, n - 1)), h, 1, n * (2 * n - 1));
    s = cost_view(g, part_join(g, cost_constant(g, h, 1, n), s), h, n, 2 * n);
    return cost_part(g, s, 1, 2 * n - 1);
}

static act relative_attend(struct cost_graph *g, act x, act mask, uint32_t heads)
{
    uint32_t n = x.w, each = x.c / heads;
    act near = cost_constant(g, heads, 2 * n - 1, each);
    act q = part_heads(g, cost_conv(g, x, x.c, 1, 1, 1), heads), k = part_heads(g, cost_conv(g, x, x.c, 1, 1, 1), heads),
        v = part_heads(g, cost_conv(g, x, x.c, 1, 1, 1), heads);
    q = times(g, q, cost_constant(g, 1, 1, 1));
    act s = part_add(g, cost_matmul(g, q, k, true), by_place(g, cost_matmul(g, q, near, true)));
    s = cost_unary(g, part_add(g, s, mask), "Softmax");
    act y = part_add(g, cost_matmul(g, s, v, false), cost_matmul(g, by_distance(g, s), near, false));
    return cost_conv(g, cost_view(g, cost_swap(g, y), 1, n, x.c), x.c, 1, 1, 1);
}

static act relative_layers(struct cost_graph *g, act x, act mask, uint32_t layers, uint32_t kernel)
{
    act pairs = cost_constant(g, 1, x.w, x.w);
    for (uint32_t i = 0; i < layers; i++) {
        x = part_norm(g, part_add(g, x, relative_attend(g, x, pairs, 2)));
        act t = cost_conv(g, times(g, x, mask), 768, kernel, 1, 1);
        t = times(g, cost_conv(g, times(g, t, mask), x.c, kernel, 1, 1), mask);
        x = part_norm(g, part_add(g, x, t));
    }
    return times(g, x, mask);
}

/* ---- how long which sound is: 512 places of 192 channels ------------------------------------------------------ */

NET(voice_encoder)
{
    act bert = cost_input(g, 1, 1024, 512), other = cost_input(g, 1, 768, 512), mask = cost_constant(g, 1, 512, 1);
    act x = cost_input(g, 1, 512, 192);
    x = part_add(g, x, cost_conv(g, cost_turn(g, bert), 192, 1, 1, 1));
    x = part_add(g, x, cost_conv(g, cost_turn(g, other), 192, 1, 1, 1));
    x = relative_layers(g, times(g, times(g, x, cost_constant(g, 1, 1, 1)), mask), mask, 6, 3);
    act stats = times(g, cost_conv(g, x, 384, 1, 1, 1), mask);
    cost_output(g, cost_turn(g, cost_part(g, stats, 0, 192)));
    cost_output(g, cost_turn(g, cost_part(g, stats, 192, 192)));
    act d = part_add(g, cost_conv(g, x, 192, 1, 1, 1), cost_constant(g, 1, 1, 192));
    for (uint32_t i = 0, apart = 1; i < 3; i++, apart *= 3) {
        act t = cost_unary(g, part_norm(g, cost_dilated_depthwise(g, times(g, d, mask), 3, apart)), "Gelu");
        d = part_add(g, d, cost_unary(g, part_norm(g, cost_conv(g, t, 192, 1, 1, 1)), "Gelu"));
    }
    d = times(g, cost_conv(g, d, 192, 1, 1, 1), mask);
    act p = part_add(g, x, cost_constant(g, 1, 1, 192));
    for (int i = 0; i < 2; i++)
        p = part_norm(g, cost_unary(g, cost_conv(g, times(g, p, mask), 256, 3, 1, 1), "Relu"));
    p = times(g, cost_conv(g, times(g, p, mask), 1, 1, 1, 1), mask);
    cost_output(g, times(g, cost_unary(g, part_add(g, p, cost_part(g, d, 0, 1)), "ElementWiseExp"), mask));
}

/* ---- from places of text to 1536 places of sound --------------------------------------------------------------- */

NET(voice_flow)
{
    act mean = cost_input(g, 1, 192, 512), spread = cost_input(g, 1, 192, 512), to = cost_input(g, 1, 1536, 512);
    act mask = cost_view(g, cost_input(g, 1, 1, 1536), 1, 1536, 1);
    mean = cost_turn(g, cost_matmul(g, mean, to, true));
    spread = cost_turn(g, cost_matmul(g, spread, to, true));
    act z = part_add(g, mean, times(g, cost_unary(g, spread, "ElementWiseExp"), cost_constant(g, 1, 1536, 192)));
    for (int i = 0; i < 4; i++) {
        act first = cost_part(g, z, 0, 96), second = cost_part(g, z, 96, 96);
        act h = times(g, cost_conv(g, first, 192, 1, 1, 1), mask);
        h = part_add(g, relative_layers(g, h, mask, 3, 5), h);
        h = times(g, cost_conv(g, h, 96, 1, 1, 1), mask);
        z = part_join(g, times(g, cost_binary(g, second, h, "ElementWiseSubtract"), mask), first);
    }
    cost_output(g, cost_turn(g, z));
}

/* ---- sound: 64 places to 32768 samples ------------------------------------------------------------------------- */

static act leaky(struct cost_graph *g, act x)
{
    return part_prelu(g, x);
}

static act wave_block(struct cost_graph *g, act x, uint32_t kernel)
{
    for (uint32_t apart = 1; apart <= 5; apart += 2)
        x = part_add(g, x, cost_conv(g, leaky(g, cost_dilated(g, leaky(g, x), x.c, kernel, apart)), x.c, kernel, 1, 1));
    return x;
}

NET(voice_samples)
{
    static const uint32_t rates[5] = { 8, 8, 2, 2, 2 }, kernels[5] = { 16, 16, 8, 2, 2 };
    act x = cost_conv(g, cost_turn(g, cost_input(g, 1, 192, 64)), 512, 7, 1, 1);
    x = part_add(g, x, cost_conv(g, cost_input(g, 1, 1, 256), 512, 1, 1, 1));
    for (int i = 0; i < 5; i++) {
        x = cost_up_sequence(g, leaky(g, x), x.c / 2, kernels[i], rates[i]);
        act sum = part_add(g, part_add(g, wave_block(g, x, 3), wave_block(g, x, 7)), wave_block(g, x, 11));
        x = times(g, sum, cost_constant(g, 1, 1, 1));
    }
    cost_output(g, cost_unary(g, cost_conv(g, leaky(g, x), 1, 7, 1, 1), "Tanh"));
}

/* ---- how words are spoken: T5 with 12 layers and 4, 256 channels, 6 heads of 64 --------------------------------- */

enum { LETTERS = 50, SPELL = 256, SPELL_HEADS = 6, SPELL_EACH = 64, SPELL_INNER = 1024 };

static act spell_feed(struct cost_graph *g, act x)
{
    act n = part_norm(g, x);
    act t = times(g, cost_unary(g, cost_dense(g, n, SPELL_INNER), "Gelu"), cost_dense(g, n, SPELL_INNER));
    return part_add(g, x, cost_dense(g, t, SPELL));
}

static act spell_attend(struct cost_graph *g, act x, act q, act k, act v)
{
    act s = part_add(g, cost_matmul(g, q, k, true), cost_constant(g, SPELL_HEADS, q.w, k.w));
    s = cost_swap(g, cost_matmul(g, cost_unary(g, s, "Softmax"), v, false));
    return part_add(g, x, cost_dense(g, cost_view(g, s, 1, x.w, SPELL_HEADS * SPELL_EACH), SPELL));
}

static act spell_heads(struct cost_graph *g, act x)
{
    return part_heads(g, cost_dense(g, x, SPELL_HEADS * SPELL_EACH), SPELL_HEADS);
}

NET(spelling_encoder)
{
    act x = cost_input(g, 1, LETTERS, SPELL);
    for (int i = 0; i < 12; i++) {
        act n = part_norm(g, x), q = spell_heads(g, n), k = spell_heads(g, n), v = spell_heads(g, n);
        x = spell_feed(g, spell_attend(g, x, q, k, v));
    }
    x = part_norm(g, x);
    for (int i = 0; i < 8; i++)
        cost_output(g, spell_heads(g, x));
}

NET(spelling_decoder)
{
    act x = cost_input(g, 1, 1, SPELL);
    for (int i = 0; i < 4; i++) {
        act n = part_norm(g, x), q = spell_heads(g, n), k = spell_heads(g, n), v = spell_heads(g, n);
        const act ks[] = { cost_input(g, SPELL_HEADS, LETTERS - 1, SPELL_EACH), k },
                  vs[] = { cost_input(g, SPELL_HEADS, LETTERS - 1, SPELL_EACH), v };
        x = spell_attend(g, x, q, cost_rows(g, ks, 2), cost_rows(g, vs, 2));
        cost_output(g, k);
        cost_output(g, v);
        q = spell_heads(g, part_norm(g, x));
        k = cost_input(g, SPELL_HEADS, LETTERS, SPELL_EACH);
        x = spell_feed(g, spell_attend(g, x, q, k, cost_input(g, SPELL_HEADS, LETTERS, SPELL_EACH)));
    }
    cost_output(g, cost_dense(g, part_norm(g, x), 384));
}

/* ---- EasyOCR: a line of text, 64 x 800 ------------------------------------------------------------------------- */

static act both_ways(struct cost_graph *g, act x)
{
    return cost_dense(g, part_join(g, cost_lstm(g, x, 256), cost_lstm(g, x, 256)), 256);
}

NET(text_recognizer)
{
    act one = cost_constant(g, 1, 1, 1), x = cost_binary(g, cost_input(g, 64, 800, 1), one, "ElementWiseSubtract");
    x = cost_conv(g, cost_binary(g, x, one, "ElementWiseDivide"), 32, 3, 1, 1);
    x = cost_pool(g, x, "PoolMax2d", 2, 2);
    x = cost_pool(g, cost_conv(g, x, 64, 3, 1, 1), "PoolMax2d", 2, 2);
    x = cost_conv(g, cost_conv(g, x, 128, 3, 1, 1), 128, 3, 1, 1);
    x = cost_pool_lines(g, x, "PoolMax2d", 2);
    x = cost_conv(g, cost_conv(g, x, 256, 3, 1, 1), 256, 3, 1, 1);
    x = cost_conv(g, cost_pool_lines(g, x, "PoolMax2d", 2), 256, 2, 1, 1);
    x = cost_pool_lines(g, x, "PoolAvg2d", x.h);
    cost_output(g, cost_dense(g, both_ways(g, both_ways(g, x)), 97));
}
