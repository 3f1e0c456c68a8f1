/* SPDX-License-Identifier: Apache-2.0 */
/* Networks on large images, estimated before any of their latencies was looked at: what is in an image, a sharper one, one
 * from a code, a video. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

static act bilinear(struct cost_graph *g, act x, act as)
{
    return cost_resize(g, x, "ResizeBilinear", as.h, as.w);
}

/* ---- XLSR, 128 x 128 to 512 x 512 ------------------------------------------------------------------------------------- */

NET(xlsr)
{
    act image = cost_input(g, 128, 128, 3), past = cost_conv(g, image, 16, 3, 1, 1), p[4];
    for (int i = 0; i < 4; i++)
        p[i] = cost_conv(g, image, 8, 3, 1, 1);
    act x = cost_conv(g, cost_concat(g, p, 4), 32, 1, 1, 1);
    for (int i = 0; i < 3; i++)
        x = cost_conv(g, cost_conv(g, x, 32, 3, 1, 4), 32, 1, 1, 1);
    x = cost_conv(g, cost_conv(g, part_join(g, past, x), 32, 1, 1, 1), 48, 3, 1, 1);
    cost_output(g, cost_unary(g, cost_blocks(g, x, "DepthToSpace", 4), "Relu"));
}

/* ---- BiSeNet with ResNet 18, 720 x 960 -------------------------------------------------------------------------------- */

/* Channels weighed by a product of what is in all of the image. */
static act weighed(struct cost_graph *g, act x)
{
    act s = cost_conv(g, cost_pool(g, x, "PoolAvg2d", 0, 1), x.c, 1, 1, 1);
    return cost_binary(g, x, cost_unary(g, s, "Sigmoid"), "ElementWiseMultiply");
}

NET(bisenet)
{
    act image = part_image(g, 720, 960), deep[4];
    act near = cost_conv(g, cost_conv(g, cost_conv(g, image, 64, 3, 2, 1), 128, 3, 2, 1), 256, 3, 2, 1);
    part_resnet18(g, image, deep);
    act all = cost_pool(g, deep[3], "PoolAvg2d", 0, 1), far = weighed(g, deep[2]);
    act top = cost_binary(g, weighed(g, deep[3]), all, "ElementWiseMultiply");
    act p[] = { near, bilinear(g, far, near), bilinear(g, top, near) };
    act x = cost_conv(g, cost_concat(g, p, 3), 12, 3, 1, 1), s = cost_pool(g, x, "PoolAvg2d", 0, 1);
    s = cost_unary(g, cost_conv(g, cost_conv(g, s, 12, 1, 1, 1), 12, 1, 1, 1), "Sigmoid");
    x = part_add(g, cost_binary(g, x, s, "ElementWiseMultiply"), x);
    cost_output(g, cost_conv(g, bilinear(g, x, image), 12, 1, 1, 1));
}

/* ---- DDRNet 23 slim, 1024 x 2048 -------------------------------------------------------------------------------------- */

static act wide_block(struct cost_graph *g, act x, uint32_t stride)
{
    act t = cost_conv(g, cost_conv(g, cost_conv(g, x, x.c, 1, 1, 1), x.c, 3, stride, 1), 2 * x.c, 1, 1, 1);
    return part_add(g, t, cost_conv(g, x, 2 * x.c, 1, stride, 1));
}

/* The same image at five scales. */
static act pyramid(struct cost_graph *g, act x)
{
    static const uint32_t sizes[4] = { 5, 9, 17, 0 };
    act p[5] = { cost_conv(g, x, 128, 1, 1, 1) };
    for (int i = 1; i < 5; i++) {
        act t = cost_conv(g, cost_pool(g, x, "PoolAvg2d", sizes[i - 1], 1u << i), 128, 1, 1, 1);
        p[i] = cost_conv(g, part_add(g, bilinear(g, t, x), p[i - 1]), 128, 3, 1, 1);
    }
    return part_add(g, cost_conv(g, cost_concat(g, p, 5), 128, 1, 1, 1), cost_conv(g, x, 128, 1, 1, 1));
}

NET(ddrnet23_slim)
{
    act x = cost_conv(g, cost_conv(g, part_image(g, 1024, 2048), 32, 3, 2, 1), 32, 3, 2, 1);
    x = part_basics(g, part_basics(g, x, 32, 1, 2), 64, 2, 2);
    act low = part_basics(g, x, 128, 2, 2), high = part_basics(g, x, 64, 1, 2);
    act to_low = cost_conv(g, high, 128, 3, 2, 1), to_high = cost_conv(g, low, 64, 1, 1, 1);
    low = part_basics(g, part_add(g, low, to_low), 256, 2, 2);
    high = part_basics(g, part_add(g, high, bilinear(g, to_high, high)), 64, 1, 2);
    to_low = cost_conv(g, cost_conv(g, high, 128, 3, 2, 1), 256, 3, 2, 1);
    to_high = cost_conv(g, low, 64, 1, 1, 1);
    act deep = wide_block(g, part_add(g, low, to_low), 2);
    high = wide_block(g, part_add(g, high, bilinear(g, to_high, high)), 1);
    x = part_add(g, bilinear(g, pyramid(g, deep), high), high);
    cost_output(g, cost_conv(g, cost_conv(g, x, 64, 3, 1, 1), 19, 1, 1, 1));
}

/* ---- DeepLab v3+ with Xception 65, 480 x 520 -------------------------------------------------------------------------- */

static act separable(struct cost_graph *g, act x, uint32_t out, uint32_t stride, uint32_t dilation)
{
    act t = dilation > 1 ? cost_dilated_depthwise(g, x, 3, dilation) : cost_depthwise(g, x, 3, stride);
    return cost_conv(g, t, out, 1, 1, 1);
}

static act xception(struct cost_graph *g, act x, const uint32_t outs[3], uint32_t stride)
{
    act t = separable(g, separable(g, separable(g, x, outs[0], 1, 1), outs[1], 1, 1), outs[2], stride, 1);
    return part_add(g, t, x.c == outs[2] ? x : cost_conv(g, x, outs[2], 1, stride, 1));
}

static act at_rates(struct cost_graph *g, act x)
{
    act p[5] = { cost_conv(g, x, 256, 1, 1, 1) };
    for (uint32_t i = 1; i < 4; i++)
        p[i] = separable(g, x, 256, 1, 6 * i);
    p[4] = bilinear(g, cost_conv(g, cost_pool(g, x, "PoolAvg2d", 0, 1), 256, 1, 1, 1), x);
    return cost_conv(g, cost_concat(g, p, 5), 256, 1, 1, 1);
}

NET(deeplab_xception)
{
    static const uint32_t middle[3] = { 728, 728, 728 }, last[3] = { 728, 1024, 1024 };
    act image = part_image(g, 480, 520);
    act x = cost_conv(g, cost_conv(g, image, 32, 3, 2, 1), 64, 3, 1, 1);
    act near = xception(g, x, (const uint32_t[]){ 128, 128, 128 }, 2);
    x = xception(g, xception(g, near, (const uint32_t[]){ 256, 256, 256 }, 2), middle, 2);
    for (int i = 0; i < 16; i++)
        x = xception(g, x, middle, 1);
    x = separable(g, separable(g, separable(g, xception(g, x, last, 1), 1536, 1, 2), 1536, 1, 2), 2048, 1, 2);
    x = part_join(g, bilinear(g, at_rates(g, x), near), cost_conv(g, near, 48, 1, 1, 1));
    x = separable(g, separable(g, x, 256, 1, 1), 256, 1, 1);
    cost_output(g, bilinear(g, cost_conv(g, x, 21, 1, 1, 1), image));
}

/* ---- FFNet, slim, 1024 x 2048 ----------------------------------------------------------------------------------------- */

/* The first stage has 128 x 256 places; the way up has widths of its own. */
static void ffnet(struct cost_graph *g, const uint32_t blocks[4])
{
    static const uint32_t widths[4] = { 64, 128, 192, 320 }, inner[4] = { 64, 128, 128, 256 }, outs[4] = { 96, 96, 64, 32 };
    act s[4], x = cost_conv(g, cost_conv(g, part_image(g, 1024, 2048), 32, 3, 2, 1), 64, 3, 2, 1);
    for (int i = 0; i < 4; i++)
        x = s[i] = part_basics(g, x, widths[i], 2, blocks[i]);
    for (int i = 3; i >= 0; i--) {
        act t = cost_conv(g, s[i], inner[i], 1, 1, 1);
        x = i == 3 ? t : part_add(g, part_double(g, cost_conv(g, x, inner[i], 1, 1, 1), "ResizeNearestNeighbor"), t);
        s[i] = cost_conv(g, x, outs[i], 3, 1, 1);
    }
    for (int i = 1; i < 4; i++)
        s[i] = cost_resize(g, s[i], "ResizeNearestNeighbor", s[0].h, s[0].w);
    cost_output(g, cost_conv(g, cost_conv(g, cost_concat(g, s, 4), 256, 3, 1, 1), 19, 3, 1, 1));
}

NET(ffnet54s)
{
    ffnet(g, (const uint32_t[]){ 5, 8, 8, 5 });
}
NET(ffnet78s)
{
    ffnet(g, (const uint32_t[]){ 6, 12, 12, 8 });
}

/* ---- PSPNet with ResNet 101, 473 x 473 -------------------------------------------------------------------------------- */

act cost_residual_dilated(struct cost_graph *g, act x, const uint32_t blocks[4], uint32_t dilated)
{
    for (uint32_t s = 0; s < 4; s++)
        for (uint32_t k = 0; k < blocks[s]; k++) {
            uint32_t apart = s < dilated ? 1 : 2u << (s - dilated), stride = !k && s && s < dilated ? 2 : 1, out = 256u << s;
            act t = cost_conv(g, x, 64u << s, 1, 1, 1);
            t = apart > 1 ? cost_dilated(g, t, t.c, 3, apart) : cost_conv(g, t, t.c, 3, stride, 1);
            t = cost_conv(g, t, out, 1, 1, 1);
            x = cost_unary(g, part_add(g, t, k ? x : cost_conv(g, x, out, 1, stride, 1)), "Relu");
        }
    return x;
}

static void pyramid_scenes(struct cost_graph *g)
{
    static const uint32_t cells[4] = { 60, 30, 20, 10 }, blocks[4] = { 3, 4, 23, 3 };
    act image = cost_input(g, 473, 473, 3), p[5];
    act x = cost_conv(g, cost_conv(g, cost_conv(g, image, 64, 3, 2, 1), 64, 3, 1, 1), 128, 3, 1, 1);
    p[0] = x = cost_residual_dilated(g, cost_pool(g, x, "PoolMax2d", 3, 2), blocks, 2);
    for (int i = 0; i < 4; i++)
        p[i + 1] = bilinear(g, cost_conv(g, cost_pool(g, x, "PoolAvg2d", cells[i], cells[i]), 512, 1, 1, 1), x);
    x = cost_conv(g, cost_conv(g, cost_concat(g, p, 5), 512, 3, 1, 1), 150, 1, 1, 1);
    cost_output(g, bilinear(g, x, image));
}

/* The export script looks at the image and at its mirror image. */
NET(pspnet)
{
    pyramid_scenes(g);
    pyramid_scenes(g);
}

/* ---- the decoder of Stable Diffusion: 64 x 64 codes to 512 x 512 pixels ------------------------------------------------
 */

static act norm_block(struct cost_graph *g, act x, uint32_t out)
{
    act t = cost_conv(g, part_norm_silu(g, cost_conv(g, part_norm_silu(g, x), out, 3, 1, 1)), out, 3, 1, 1);
    return part_add(g, t, x.c == out ? x : cost_conv(g, x, out, 1, 1, 1));
}

NET(vae_decoder)
{
    static const uint32_t widths[4] = { 512, 512, 256, 128 };
    act x = cost_conv(g, cost_conv(g, cost_input(g, 64, 64, 4), 4, 1, 1, 1), 512, 3, 1, 1);
    x = norm_block(g, x, 512);
    act t = cost_view(g, cost_unary(g, x, "GroupNorm"), 1, 4096, 512);
    x = norm_block(g, part_add(g, x, cost_view(g, part_attend(g, t, t, 1), 64, 64, 512)), 512);
    for (int s = 0; s < 4; s++) {
        for (int k = 0; k < 3; k++)
            x = norm_block(g, x, widths[s]);
        x = s < 3 ? cost_conv(g, part_double(g, x, "ResizeNearestNeighbor"), x.c, 3, 1, 1) : x;
    }
    cost_output(g, cost_conv(g, part_norm_silu(g, x), 3, 3, 1, 1));
}

/* ---- ResNet 18 with mixed convolutions, 16 frames of 112 x 112 ---------------------------------------------------------
 */

NET(mc3_18)
{
    static const uint32_t cube[3] = { 3, 3, 3 }, flat[3] = { 1, 3, 3 }, one[3] = { 1, 1, 1 };
    act x = cost_conv3d(g, cost_video(g, 16, 112, 112, 3), 64, (const uint32_t[]){ 3, 7, 7 }, 2);
    for (uint32_t s = 0; s < 4; s++)
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t stride = s && !k ? 2 : 1, out = 64u << s;
            act t = cost_conv3d(g, cost_conv3d(g, x, out, s ? flat : cube, stride), out, s ? flat : cube, 1);
            x = stride > 1 ? cost_conv3d(g, x, out, one, stride) : x;
            x = cost_unary(g, part_add(g, t, x), "Relu");
        }
    cost_output(g, cost_dense(g, cost_pool(g, cost_view(g, x, 16 * 7, 7, 512), "PoolAvg2d", 0, 1), 400));
}

/* ---- where faces are, 256 x 256 --------------------------------------------------------------------------------------- */

static act blaze(struct cost_graph *g, act x, uint32_t out, uint32_t stride)
{
    act t = cost_conv(g, cost_depthwise(g, x, 3, stride), out, 1, 1, 1);
    x = stride > 1 ? cost_pool(g, x, "PoolMax2d", 2, 2) : x;
    x = out > x.c ? part_join(g, x, cost_constant(g, x.h, x.w, out - x.c)) : x;
    return cost_unary(g, part_add(g, t, x), "Relu");
}

NET(blaze_face)
{
    static const uint32_t widths[4] = { 24, 24, 48, 96 };
    act x = cost_conv(g, cost_input(g, 256, 256, 3), 24, 5, 2, 1);
    for (int s = 0; s < 4; s++)
        for (int k = 0; k < (s ? 8 : 7); k++)
            x = blaze(g, x, widths[s], s && !k ? 2 : 1);
    act small = cost_conv(g, cost_depthwise(g, x, 3, 2), 96, 1, 1, 1);
    cost_output(g, cost_conv(g, x, 2, 1, 1, 1));
    cost_output(g, cost_conv(g, x, 32, 1, 1, 1));
    cost_output(g, cost_conv(g, small, 6, 1, 1, 1));
    cost_output(g, cost_conv(g, small, 96, 1, 1, 1));
}
