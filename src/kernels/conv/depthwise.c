/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution: the walk over output lines (see depthwise.h). */
#include "kernels/conv/depthwise.h"

#include <string.h>

#include "kernels/conv/conv_stage.h"

/* Columns [x0, x1) of a line use the same taps. */
static uint32_t same_columns(const struct conv_args *a, uint32_t x0, struct dw_valid v)
{
    uint32_t x1 = x0 + 1;
    for (; x1 < a->x.out; x1++) {
        struct dw_valid next = dw_valid_taps(&a->x, x1);
        if (next.first != v.first || next.n != v.n)
            break;
    }
    return x1;
}

static int64_t first_at(const struct conv_axis *v, uint32_t o, struct dw_valid t)
{
    return (int64_t)o * v->stride - v->pad + (int64_t)t.first * v->dilation;
}

/* `line` counts all output lines of all planes and images. */
static void run_line(struct dw_run *r, const char *input, uint32_t line, dw_fn *fn)
{
    const struct conv_args *a = r->a;
    uint32_t oy = line % a->y.out, plane = line / a->y.out, oz = plane % a->z.out, xs = dtype_bits(a->x_type) / 8, x1;
    const char *image = input + (uint64_t)(plane / a->z.out) * a->z.in * a->y.in * a->x.in * a->ci * xs;
    struct dw_valid z = dw_valid_taps(&a->z, oz), y = dw_valid_taps(&a->y, oy);
    for (uint32_t x0 = 0; x0 < a->x.out; x0 = x1) {
        struct dw_valid x = dw_valid_taps(&a->x, x0);
        x1 = same_columns(a, x0, x);
        bool none = !x.n || !y.n || !z.n;
        int64_t pixel = (first_at(&a->z, oz, z) * a->y.in + first_at(&a->y, oy, y)) * a->x.in + first_at(&a->x, x0, x);
        r->x = none ? image : image + (uint64_t)pixel * a->ci * xs;
        r->tap = (z.first * a->y.kernel + y.first) * a->x.kernel + x.first;
        r->planes = none ? 0 : z.n;
        r->lines = none ? 0 : y.n;
        r->taps = none ? 0 : x.n;
        r->out_at = ((uint64_t)line * a->x.out + x0) * a->co;
        r->n = x1 - x0;
        fn(r);
    }
}

/* Weights that are not constant are brought into the constant form first, for the whole tile. */
static void make_constants(const struct conv_args *a, const struct kernel_call *call, struct dw_run *r)
{
    char *packed = call->work;
    struct conv_head *h = (struct conv_head *)(packed + ((uint64_t)a->taps * a->npad * a->wsize + 63) / 64 * 64);
    struct conv_record rec = { (float *)conv_m(h), (int64_t *)conv_b(a, h, a->npad), (int64_t *)conv_wsum(a, h, a->npad),
                               conv_m_stride(a->npad), a->npad, 0, false, NULL };
    memset(h, 0, conv_record_bytes(a, a->npad));
    conv_pack_depthwise(a, call->data[1], packed);
    conv_record_fill(a, packed, call->data[2], 0, 0, a->cog, &rec);
    r->w = packed;
    r->m = rec.m;
    r->b = rec.b;
    r->plain = rec.plain;
}

void depthwise_run(const struct kernel_call *call, struct range tile, dw_fn *fn)
{
    const struct conv_args *a = call->args;
    struct dw_run r = { .a = a,
                        .x_pixel = (uint64_t)a->x.stride * a->ci,
                        .x_plane = (uint64_t)a->z.dilation * a->y.in * a->x.in * a->ci,
                        .x_line = (uint64_t)a->y.dilation * a->x.in * a->ci,
                        .x_tap = (uint64_t)a->x.dilation * a->ci,
                        .out = call->data[a->n_in] };
    if (a->packed) {
        r.w = a->packed;
        r.m = conv_m(a->head);
        r.b = conv_b(a, a->head, a->npad);
        r.plain = a->head->plain;
    } else {
        make_constants(a, call, &r);
    }
    for (uint32_t line = tile.begin; line < tile.end; line++)
        run_line(&r, call->data[0], line, fn);
}

bool depthwise_accept_quads(const void *args)
{
    const struct conv_args *a = args;
    return a->multiplier == 1 && a->w_offset >= -128 && a->w_offset <= 127 && conv_stage_suits(a);
}

bool depthwise_accept_quads_32(const void *args)
{
    const struct conv_args *a = args;
    return a->co % CONV_BLOCK == 0 && a->w_offset == 0 && depthwise_accept_quads(a);
}

bool depthwise_accept_columns(const void *args)
{
    const struct conv_args *a = args;
    const bool three = a->y.kernel == 3 && a->x.kernel == 3 && a->y.dilation == 1 && a->x.dilation == 1;
    return three && a->y.stride == a->x.stride && a->x.stride <= 2 && a->w_offset == 0 && depthwise_accept_quads(a);
}

/* Offsets leave weights and x in 16 bits. */
bool depthwise_accept_pairs(const void *args)
{
    const struct conv_args *a = args;
    return a->multiplier == 1 && a->co % CONV_BLOCK == 0 && a->w_offset >= -256 && a->w_offset <= 256 && conv_stage_suits(a);
}

bool depthwise_accept_lines(const void *args)
{
    const struct conv_args *a = args;
    const bool flat = a->z.in == 1 && a->z.kernel == 1 && a->z.out == 1 && a->z.pad == 0;
    const bool own = a->multiplier == 1 && a->packed &&
                     (a->cls == CONV_Q16 ? dtype_bits(a->x_type) == 16 : a->x_type == (a->wsize == 4 ? DT_F32 : DT_F16));
    const bool size = (a->x.kernel == 3 || a->x.kernel == 5 || a->x.kernel == DEPTHWISE_TAPS) &&
                      a->y.kernel <= DEPTHWISE_TAPS && a->x.stride <= 2 && a->x.dilation == 1;
    const bool fixed =
        a->cls != CONV_Q16 || (a->packed && a->narrow && a->head->plain && a->w_offset >= -1024 && a->w_offset <= 1024);
    return flat && size && own && fixed;
}
