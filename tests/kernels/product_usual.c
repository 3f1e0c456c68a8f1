/* SPDX-License-Identifier: Apache-2.0 */
/* Random descriptions of the layers that networks have: kernels are written for these, and product_random seldom meets all
 * that they ask for together. Multipliers are those of ordinary contents, so that the fast ends of sums are taken. */
#include <math.h>
#include <string.h>

#include "product_case.h"

static uint32_t pick(struct rand *r, const uint32_t *list, uint32_t n)
{
    return list[rand_range(r, 0, n - 1)];
}
#define PICK(r, ...) pick(r, (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void usual_types(struct product_spec *s, struct rand *r)
{
    static const enum dtype x[] = { DT_UQ8, DT_SQ8, DT_UQ8, DT_SQ8, DT_UQ16, DT_SQ16, DT_F32, DT_F16 };
    s->x = s->w = s->out = s->b = x[rand_range(r, 0, 7)];
    s->constant = true;
    s->tame = rand_next(r) & 1;
    s->post_lo = -INFINITY;
    s->post_hi = INFINITY;
    if (!dtype_is_fixed(s->x))
        return;
    const bool words = dtype_bits(s->x) == 16 && rand_range(r, 0, 2) == 0;
    s->w = rand_range(r, 0, 3) ? (words ? DT_SQ16 : DT_SQ8) : words ? DT_UQ16 : DT_UQ8;
    s->b = DT_SQ32;
    s->x_zero = (int32_t)(dtype_min(s->x) + rand_range(r, 0, (uint32_t)(dtype_max(s->x) - dtype_min(s->x))));
    s->out_zero = (int32_t)(dtype_min(s->out) + rand_range(r, 0, (uint32_t)(dtype_max(s->out) - dtype_min(s->out))));
    s->w_zero = s->w == DT_UQ8    ? (int32_t)rand_range(r, 90, 160)
                : s->w == DT_UQ16 ? (int32_t)rand_range(r, 32700, 32800)
                                  : 0;
    s->per_axis = dtype_is_signed(s->w) && rand_next(r) & 1;
    if (rand_next(r) & 1) {
        s->post_lo = 0;
        s->post_hi = rand_next(r) & 1 ? 6 : INFINITY;
    }
}

static void square(struct product_spec *s, uint32_t kernel, uint32_t stride, uint32_t dilation)
{
    s->kh = s->kw = kernel;
    for (int i = 0; i < 2; i++) {
        s->stride[i] = stride;
        s->dilation[i] = dilation;
        s->pad[2 * i] = s->pad[2 * i + 1] = dilation * (kernel - 1) / 2;
    }
}

/* Wide lines are few. */
static void depthwise(struct product_spec *s, struct rand *r)
{
    s->op = OP_DepthWiseConv2d;
    s->group = 1;
    s->wd = PICK(r, 1, 3, 4, 7, 8, 9, 14, 15, 28, 31, 56, 112, 140, 300);
    s->h = s->wd > 40 ? rand_range(r, 1, 4) : rand_range(r, 1, 15);
    s->ci = s->co = PICK(r, 1, 16, 24, 32, 32, 40, 64, 72, 80, 96, 144);
    square(s, PICK(r, 3, 3, 3, 5, 5, 7), PICK(r, 1, 1, 2, 2, 3), PICK(r, 1, 1, 1, 2, 3));
}

/* Few channels, in groups or alone. */
static void grouped(struct product_spec *s, struct rand *r)
{
    s->op = OP_Conv2d;
    s->group = PICK(r, 1, 1, 2, 3, 4, 8, 32);
    s->wd = rand_range(r, 1, 16);
    s->h = rand_range(r, 1, 9);
    s->ci = s->group * PICK(r, 2, 4, 4, 8, 8, 16, 5, 20, 32);
    s->co = rand_next(r) & 1 ? s->ci : s->group * PICK(r, 1, 2, 4, 6, 8, 16, 24, 32);
    square(s, PICK(r, 1, 3, 3, 3, 5), PICK(r, 1, 1, 2), PICK(r, 1, 1, 2));
}

/* The first layer of a network for images or sounds. */
static void first(struct product_spec *s, struct rand *r)
{
    s->op = OP_Conv2d;
    s->group = 1;
    s->wd = PICK(r, 5, 8, 15, 16, 33, 64, 101, 130);
    s->h = rand_range(r, 3, 12);
    s->ci = PICK(r, 1, 1, 3, 3, 3, 4);
    s->co = PICK(r, 8, 16, 24, 32, 40, 64, 80);
    square(s, PICK(r, 2, 3, 3, 4, 5, 7, 8), PICK(r, 1, 2, 2, 3, 4), 1);
}

/* Windows of one pixel: most of the work of many networks. After a Relu zero is the smallest value. */
static void points(struct product_spec *s, struct rand *r)
{
    s->op = OP_Conv2d;
    s->group = 1;
    s->wd = rand_range(r, 1, 40);
    s->h = rand_range(r, 1, 5);
    s->ci = PICK(r, 16, 20, 24, 32, 48, 64, 64, 68, 72, 96, 128, 144, 160, 200, 256, 384, 576);
    s->co = PICK(r, 16, 17, 24, 32, 32, 40, 48, 64, 72, 96, 144, 200);
    square(s, 1, PICK(r, 1, 1, 1, 2), 1);
    if (s->out == DT_UQ8 && rand_next(r) & 1)
        s->out_zero = 0;
}

/* Windows over whole steps of channels. */
static void windows(struct product_spec *s, struct rand *r)
{
    points(s, r);
    s->ci = PICK(r, 64, 64, 128);
    s->wd = rand_range(r, 4, 30);
    if (rand_next(r) & 1)
        square(s, 3, 1, PICK(r, 1, 1, 1, 2));
    else
        square(s, PICK(r, 2, 3, 3, 5), PICK(r, 2, 2, 2, 3), 1);
}

/* The products of attention: both matrices are known only while running. */
static void heads(struct product_spec *s, struct rand *r)
{
    s->op = OP_MatMul;
    s->constant = s->per_axis = false;
    s->b = DT_NONE;
    s->batch = rand_range(r, 1, 3);
    s->w_batch = rand_next(r) & 1 ? s->batch : 1;
    s->h = PICK(r, 16, 17, 31, 32, 33, 49, 64, 100, 130);
    s->ci = PICK(r, 16, 20, 32, 48, 64, 64, 68, 80, 128, 144, 197, 512);
    s->co = PICK(r, 16, 17, 32, 49, 64, 65, 80, 128, 130);
    s->transpose_w = rand_next(r) & 1;
}

/* Rows of a language model. */
static void tokens(struct product_spec *s, struct rand *r)
{
    s->op = OP_FullyConnected;
    s->h = PICK(r, 1, 2, 15, 16, 17, 32, 40, 64, 70);
    s->ci = PICK(r, 64, 64, 128, 192, 256, 320, 512, 1024);
    s->co = PICK(r, 16, 24, 32, 48, 64, 72, 96, 130);
}

/* Weights of 4 or 8 bits whose scales belong to blocks of input channels. */
static void in_blocks(struct product_spec *s, struct rand *r)
{
    static const enum quant_kind kinds[] = { Q_EXPANSION, Q_BLOCK, Q_BLOCK, Q_FLOAT_BLOCK };
    s->w = rand_range(r, 0, 3) ? DT_SQ4 : DT_SQ8;
    s->w_kind = kinds[rand_range(r, 0, 3)];
    s->block = s->ci % 64 ? 16 : PICK(r, 16, 32, 32, 64, 64);
    s->w_zero = 0;
    s->per_axis = false;
    s->b = rand_next(r) & 1 ? DT_F32 : DT_NONE;
}

/* Floats with more weights than caches keep: long sums in several parts, and more than one chunk of channels. */
static void heavy(struct product_spec *s, struct rand *r)
{
    points(s, r);
    s->x = s->w = s->out = s->b = rand_next(r) & 1 ? DT_F32 : DT_F16;
    if (rand_range(r, 0, 3) == 0)
        s->w = DT_SQ8;
    s->per_axis = false;
    s->x_zero = s->w_zero = s->out_zero = 0;
    s->wd = rand_range(r, 2, 9);
    s->co = PICK(r, 16, 24, 64, 72, 100, 130, 150);
    if (rand_next(r) & 1) {
        s->ci = PICK(r, 128, 129, 144, 200, 256);
        square(s, 3, PICK(r, 1, 1, 2), PICK(r, 1, 1, 2));
    } else {
        s->ci = PICK(r, 1000, 1152, 1153, 1500, 2400, 3000);
    }
    if (rand_range(r, 0, 7) == 0) { /* one long line */
        s->wd = rand_range(r, 500, 530);
        s->h = 1;
        s->co = 16;
    }
}

/* Along one axis: steps or taps so far apart, with so much padding, that positions leave 32 bits. Clients may ask for it,
 * and nothing else of the layer is large. */
static void go_far(struct product_spec *s, struct rand *r)
{
    const uint32_t axis = rand_next(r) & 1, far = 1u << 31;
    if (rand_next(r) & 1) {
        s->stride[axis] = far;
        s->pad[2 * axis] = rand_range(r, 0, 1);
        s->pad[2 * axis + 1] = UINT32_MAX - rand_range(r, 0, 9);
    } else {
        *(axis ? &s->kw : &s->kh) = 3;
        s->dilation[axis] = far;
        s->pad[2 * axis] = s->pad[2 * axis + 1] = far;
    }
}

struct product_spec product_usual(struct rand *r)
{
    static void (*const kinds[])(struct product_spec *, struct rand *) = { depthwise, depthwise, grouped, first,
                                                                           first,     points,    points,  windows,
                                                                           heads,     tokens,    tokens };
    struct product_spec s = { .batch = 1 + (rand_range(r, 0, 4) == 0) };
    usual_types(&s, r);
    if (rand_range(r, 0, 15) == 0)
        heavy(&s, r);
    else
        kinds[rand_range(r, 0, 10)](&s, r);
    const bool suits_blocks = s.op == OP_FullyConnected || (s.op == OP_Conv2d && s.group == 1 && s.ci % 16 == 0);
    if (dtype_is_fixed(s.x) && suits_blocks && rand_range(r, 0, 2) == 0)
        in_blocks(&s, r);
    if (rand_range(r, 0, 3) == 0)
        for (int i = 0; i < 4; i++)
            s.pad[i] = s.op == OP_DepthWiseConv2d ? rand_range(r, 0, 1) : 0;
    if (s.op != OP_MatMul && rand_range(r, 0, 15) == 0)
        go_far(&s, r);
    return s;
}
