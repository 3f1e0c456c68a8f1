/* SPDX-License-Identifier: Apache-2.0 */
/* More networks of the published list, none of which any number was fitted on: detectors, poses, depth, text, video,
 * painting. */
#include "cost_parts.h"

#define NET(name) void cost_##name(struct cost_graph *g)

/* ---- YOLO v5, medium, 640 x 640 --------------------------------------------------------------------------------------- */

static act c3(struct cost_graph *g, act x, uint32_t out, uint32_t n, bool shortcut)
{
    act a = part_silu(g, x, out / 2, 1, 1), b = part_silu(g, x, out / 2, 1, 1);
    for (uint32_t i = 0; i < n; i++) {
        act t = part_silu(g, part_silu(g, a, out / 2, 1, 1), out / 2, 3, 1);
        a = shortcut ? cost_binary(g, a, t, "ElementWiseAdd") : t;
    }
    return part_silu(g, part_join(g, a, b), out, 1, 1);
}

/* Three scales of three boxes with 85 numbers each, as boxes in pixels and scores of classes. */
static void detect(struct cost_graph *g, const act *scales)
{
    act p[3];
    for (int i = 0; i < 3; i++) {
        uint32_t n = scales[i].h * scales[i].w;
        act t = cost_swap(g, cost_view(g, cost_conv(g, scales[i], 255, 1, 1, 1), n, 3, 85));
        p[i] = cost_unary(g, cost_view(g, t, 1, 3 * n, 85), "Sigmoid");
    }
    act all = cost_rows(g, p, 3), place = cost_constant(g, 1, all.w, 2);
    act middle = cost_binary(g, cost_part(g, all, 0, 2), place, "ElementWiseAdd"), size = cost_part(g, all, 2, 2);
    size = cost_binary(g, cost_binary(g, size, size, "ElementWiseMultiply"), place, "ElementWiseMultiply");
    act corners[] = { cost_binary(g, middle, size, "ElementWiseSubtract"), cost_binary(g, middle, size, "ElementWiseAdd") };
    cost_output(g, cost_concat(g, corners, 2));
    cost_output(g, cost_binary(g, cost_part(g, all, 5, 80), cost_part(g, all, 4, 1), "ElementWiseMultiply"));
}

NET(yolov5m)
{
    act x = part_silu(g, part_silu(g, cost_input(g, 640, 640, 3), 48, 6, 2), 96, 3, 2);
    x = part_silu(g, c3(g, x, 96, 2, true), 192, 3, 2);
    act p3 = c3(g, x, 192, 4, true), p4 = c3(g, part_silu(g, p3, 384, 3, 2), 384, 6, true);
    act p5 = part_sppf(g, c3(g, part_silu(g, p4, 768, 3, 2), 768, 2, true));
    act h5 = part_silu(g, p5, 384, 1, 1);
    act t = c3(g, part_join(g, part_double(g, h5, "ResizeNearestNeighbor"), p4), 384, 2, false);
    act h4 = part_silu(g, t, 192, 1, 1);
    act o3 = c3(g, part_join(g, part_double(g, h4, "ResizeNearestNeighbor"), p3), 192, 2, false);
    act o4 = c3(g, part_join(g, part_silu(g, o3, 192, 3, 2), h4), 384, 2, false);
    act o5 = c3(g, part_join(g, part_silu(g, o4, 384, 3, 2), h5), 768, 2, false);
    detect(g, (const act[]){ o3, o4, o5 });
}

/* ---- YOLO v7, tiny, 640 x 640 ----------------------------------------------------------------------------------------- */

static act elan(struct cost_graph *g, act x, uint32_t inner, uint32_t out)
{
    act p[4];
    p[0] = part_leaky(g, x, inner, 1, 1);
    p[1] = part_leaky(g, x, inner, 1, 1);
    p[2] = part_leaky(g, p[1], inner, 3, 1);
    p[3] = part_leaky(g, p[2], inner, 3, 1);
    return part_leaky(g, cost_concat(g, p, 4), out, 1, 1);
}

NET(yolov7_tiny)
{
    act x = part_leaky(g, part_leaky(g, cost_input(g, 640, 640, 3), 32, 3, 2), 64, 3, 2);
    x = cost_pool(g, elan(g, x, 32, 64), "PoolMax2d", 2, 2);
    act p3 = elan(g, x, 64, 128), p4 = elan(g, cost_pool(g, p3, "PoolMax2d", 2, 2), 128, 256),
        p5 = elan(g, cost_pool(g, p4, "PoolMax2d", 2, 2), 256, 512);
    act other = part_leaky(g, p5, 256, 1, 1), s = part_leaky(g, p5, 256, 1, 1);
    act pools[4] = { cost_pool(g, s, "PoolMax2d", 5, 1), cost_pool(g, s, "PoolMax2d", 9, 1),
                     cost_pool(g, s, "PoolMax2d", 13, 1), s };
    act h5 = part_leaky(g, part_join(g, part_leaky(g, cost_concat(g, pools, 4), 256, 1, 1), other), 256, 1, 1);
    act h4 = elan(
        g, part_join(g, part_leaky(g, p4, 128, 1, 1), part_double(g, part_leaky(g, h5, 128, 1, 1), "ResizeNearestNeighbor")),
        64, 128);
    act o3 = elan(
        g, part_join(g, part_leaky(g, p3, 64, 1, 1), part_double(g, part_leaky(g, h4, 64, 1, 1), "ResizeNearestNeighbor")),
        32, 64);
    act o4 = elan(g, part_join(g, part_leaky(g, o3, 128, 3, 2), h4), 64, 128);
    act o5 = elan(g, part_join(g, part_leaky(g, o4, 256, 3, 2), h5), 128, 256);
    detect(g, (const act[]){ part_leaky(g, o3, 128, 3, 1), part_leaky(g, o4, 256, 3, 1), part_leaky(g, o5, 512, 3, 1) });
}

/* ---- HRNet W32 for poses, 256 x 192 ----------------------------------------------------------------------------------- */

NET(hrnet_w32)
{
    act x[4];
    part_hrnet(g, part_image(g, 256, 192), 32, "ResizeNearestNeighbor", x);
    cost_output(g, cost_conv(g, x[0], 17, 1, 1, 1));
}

/* ---- transformers ----------------------------------------------------------------------------------------------------- */

/* Tubes of 2 frames and 16 x 16 pixels. */
NET(video_mae)
{
    act x = cost_dense(g, cost_input(g, 1, 1568, 1536), 768);
    for (int i = 0; i < 12; i++)
        x = part_vit(g, x, 12);
    cost_output(g, cost_dense(g, cost_pool(g, x, "PoolAvg2d", 0, 1), 400));
}

/* The small vision transformer at 518 x 518, and a head that joins four of its layers. */
NET(depth_anything)
{
    act taps[4], both[] = { cost_constant(g, 1, 1, 384),
                            cost_view(g, cost_conv(g, part_image(g, 518, 518), 384, 14, 14, 1), 1, 1369, 384) };
    act x = cost_rows(g, both, 2);
    for (uint32_t i = 0; i < 12; i++) {
        x = part_vit(g, x, 6);
        if (i % 3 == 2)
            taps[i / 3] = cost_view(g, cost_tokens(g, x, 1, 1369), 37, 37, 384);
    }
    part_depth(g, taps, 1);
}

/* ---- DETR, 640 x 640 -------------------------------------------------------------------------------------------------- */

static void detr(struct cost_graph *g, const uint32_t blocks[4])
{
    act f = cost_conv(g, cost_residual(g, part_image(g, 640, 640), blocks, 64, 1), 256, 1, 1, 1);
    act x = cost_view(g, f, 1, f.h * f.w, 256), y = cost_constant(g, 1, 100, 256),
        place = cost_constant(g, 1, f.h * f.w, 256), query = cost_constant(g, 1, 100, 256);
    for (int i = 0; i < 6; i++) {
        act p = part_add(g, x, place);
        x = part_norm(g, part_add(g, x, part_attend(g, p, p, 8)));
        x = part_norm(g, part_add(g, x, part_feed(g, x, 2048, "Relu")));
    }
    for (int i = 0; i < 6; i++) {
        act p = part_add(g, y, query);
        y = part_norm(g, part_add(g, y, part_attend(g, p, p, 8)));
        y = part_norm(g, part_add(g, y, part_attend(g, part_add(g, y, query), part_add(g, x, place), 8)));
        y = part_norm(g, part_add(g, y, part_feed(g, y, 2048, "Relu")));
    }
    cost_output(g, cost_dense(g, y, 92));
    act box = cost_unary(g, cost_dense(g, cost_unary(g, cost_dense(g, y, 256), "Relu"), 256), "Relu");
    cost_output(g, cost_unary(g, cost_dense(g, box, 4), "Sigmoid"));
}

NET(detr50) { detr(g, (const uint32_t[]){ 3, 4, 6, 3 }); }
NET(detr101) { detr(g, (const uint32_t[]){ 3, 4, 23, 3 }); }

/* ---- EfficientFormer L1 ----------------------------------------------------------------------------------------------- */

NET(efficientformer)
{
    static const uint32_t widths[4] = { 48, 96, 224, 448 }, layers[4] = { 3, 2, 6, 4 };
    act x = cost_conv(g, cost_conv(g, part_image(g, 224, 224), 24, 3, 2, 1), 48, 3, 2, 1);
    for (uint32_t s = 0; s < 4; s++) {
        x = s ? cost_conv(g, x, widths[s], 3, 2, 1) : x;
        for (uint32_t k = 0; k < layers[s]; k++) {
            if (s == 3 && k + 1 == layers[s]) {
                x = part_vit(g, cost_view(g, x, 1, 49, 448), 8);
                continue;
            }
            x = part_add(g, x, cost_pool(g, x, "PoolAvg2d", 3, 1));
            x = part_add(g, x, cost_conv(g, cost_unary(g, cost_conv(g, x, 4 * x.c, 1, 1, 1), "Gelu"), x.c, 1, 1, 1));
        }
    }
    cost_output(g, cost_dense(g, cost_pool(g, part_norm(g, x), "PoolAvg2d", 0, 1), 1000));
}

/* ---- painting: AOT-GAN, 512 x 512 ------------------------------------------------------------------------------------- */

NET(aotgan)
{
    static const uint32_t apart[4] = { 1, 2, 4, 8 };
    act image = cost_input(g, 512, 512, 3), mask = cost_input(g, 512, 512, 1);
    act x = cost_conv(g, cost_conv(g, cost_conv(g, part_join(g, image, mask), 64, 7, 1, 1), 128, 4, 2, 1), 256, 4, 2, 1);
    for (int i = 0; i < 8; i++) {
        act p[4];
        for (int k = 0; k < 4; k++)
            p[k] = cost_dilated(g, x, 64, 3, apart[k]);
        act y = cost_conv(g, cost_concat(g, p, 4), 256, 3, 1, 1),
            gate = cost_unary(g, part_norm(g, cost_conv(g, x, 256, 3, 1, 1)), "Sigmoid");
        x = part_add(g, cost_binary(g, x, gate, "ElementWiseMultiply"), cost_binary(g, y, gate, "ElementWiseMultiply"));
    }
    x = cost_conv(g, part_double(g, x, "ResizeBilinear"), 128, 3, 1, 1);
    x = cost_conv(g, part_double(g, x, "ResizeBilinear"), 64, 3, 1, 1);
    cost_output(g, cost_unary(g, cost_conv(g, x, 3, 3, 1, 1), "Tanh"));
}

/* ---- VGG: boxes in space, and where text is --------------------------------------------------------------------------- */

static act stack(struct cost_graph *g, act x, uint32_t out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x = cost_conv(g, x, out, 3, 1, 1);
    return x;
}

NET(vgg_boxes)
{
    static const uint32_t counts[5] = { 2, 2, 4, 4, 4 }, widths[5] = { 64, 128, 256, 512, 512 },
                          inner[3] = { 256, 256, 512 }, outs[3] = { 4, 2, 3 };
    act x = cost_input(g, 224, 224, 3);
    for (int s = 0; s < 5; s++)
        x = cost_pool(g, stack(g, x, widths[s], counts[s]), "PoolMax2d", 2, 2);
    x = cost_view(g, x, 1, 1, 7 * 7 * 512);
    for (int i = 0; i < 3; i++)
        cost_output(g, cost_dense(g, cost_dense(g, cost_dense(g, x, inner[i]), inner[i]), outs[i]));
}

/* A step of the way up: what comes from below, and the layer of that size. */
static act up(struct cost_graph *g, act x, act with, uint32_t middle, uint32_t out)
{
    x = cost_resize(g, x, "ResizeBilinear", with.h, with.w);
    return cost_conv(g, cost_conv(g, part_join(g, x, with), middle, 1, 1, 1), out, 3, 1, 1);
}

NET(craft)
{
    act s1 = stack(g, cost_input(g, 608, 800, 3), 64, 2), s2 = stack(g, cost_pool(g, s1, "PoolMax2d", 2, 2), 128, 2);
    act s3 = stack(g, cost_pool(g, s2, "PoolMax2d", 2, 2), 256, 3),
        s4 = stack(g, cost_pool(g, s3, "PoolMax2d", 2, 2), 512, 3);
    act s5 = stack(g, cost_pool(g, s4, "PoolMax2d", 2, 2), 512, 2);
    act top = cost_conv(g, cost_dilated(g, cost_pool(g, s5, "PoolMax2d", 3, 1), 1024, 3, 6), 1024, 1, 1, 1);
    act x = cost_conv(g, cost_conv(g, part_join(g, top, s5), 512, 1, 1, 1), 256, 3, 1, 1);
    x = up(g, up(g, up(g, x, s4, 256, 128), s3, 128, 64), s2, 64, 32);
    x = cost_conv(g, stack(g, x, 32, 2), 16, 3, 1, 1);
    cost_output(g, cost_conv(g, cost_conv(g, x, 16, 1, 1, 1), 2, 1, 1, 1));
}
