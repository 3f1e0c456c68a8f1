/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels of conv.def suit an operator: the conditions that are named there, and the lists themselves. */
#include <string.h>

#include "kernels/conv/conv_flat.h"
#include "kernels/conv/conv_turned.h"

#define KERNELS(cls, list) list
#define V(name, isa, accept) kernel_fn name;
#include "kernels/conv/conv.def"
#undef V
#undef KERNELS

/* Sequences in chains: a unit is a position, not a line of them (conv_positions). */
static bool by_positions(const struct conv_args *a)
{
    return a->kind != CONV_MATRIX && a->unit_rows < a->x.out;
}

static bool conv_accept_float(const void *args)
{
    return !((const struct conv_args *)args)->mixed;
}

static bool conv_accept_narrow(const void *args)
{
    return ((const struct conv_args *)args)->narrow;
}

/* A tile is 16 rows by 64 k by 16 channels; where there is less, vectors are faster. */
static bool fills_tiles(const struct conv_args *a)
{
    return a->kpad >= 64 && a->rows >= 16 && a->cog >= 16;
}

static bool conv_accept_tiles(const void *args)
{
    const struct conv_args *a = args;
    return a->narrow && fills_tiles(a);
}

/* Rows as they lie, in tiles of whole rows (conv_flat_amx.c). */
static bool conv_accept_flat(const void *args)
{
    return conv_flat_suits(args);
}

/* Matrices that are packed while running (conv_slices_amx.c). */
static bool conv_accept_slices(const void *args)
{
    return conv_slices_suit(args);
}

/* Windows of whole steps (conv_bands_amx.c). */
static bool conv_accept_bands(const void *args)
{
    return conv_bands_suit(args, 1);
}

/* The same for 16 bits (conv_flat_q16_amx.c, conv_bands_q16_amx.c). */
static bool conv_accept_flat_words(const void *args)
{
    return conv_flat_words_suit(args);
}

static bool conv_accept_band_words(const void *args)
{
    return conv_bands_suit(args, 2);
}

/* Few input channels: the taps of a line are multiplied where they lie (conv_first_avx512.c). */
static bool conv_accept_first(const void *args)
{
    const struct conv_args *a = args;
    const uint64_t steps = (uint64_t)(a->x.kernel * a->ci + 3) / 4 * a->y.kernel * (a->w_offset ? 2 : 1);
    const bool byte = a->w_offset == 0 || (a->w_offset >= -128 && a->w_offset <= 127 &&
                                           steps <= CONV_FIRST_STEPS / 2); /* else gathering is faster */
    const bool few = a->kind == CONV_WINDOW && a->slices == 1 && a->ci <= 4 && a->co % 8 == 0,
               line = a->x.dilation == 1 && a->x.pad < a->x.kernel && a->x.out >= 12;
    return few && line && !by_positions(a) && steps >= 3 && steps <= CONV_FIRST_STEPS &&
           conv_first_line(a) * a->y.kernel <= CONV_FIRST_BYTES && byte && conv_stage_suits(a);
}

/* The same in tiles of 16 pixels (conv_first_amx.c); one product would not be worth them. */
static bool conv_accept_first_tiles(const void *args)
{
    const struct conv_args *a = args;
    if (!conv_accept_first(args) || a->w_offset || a->y.dilation > 1 || a->x.out < CONV_BLOCK)
        return false;
    return conv_first_staged(a) && conv_first_tiles(a).groups > 1;
}

/* Few channels per group: whole fours of them in, and some groups side by side, or whole blocks, out (conv_groups_avx512.c).
 * 3x3 has code of its own there; other kernels are worth it where a vector is full of groups. */
static bool conv_accept_groups(const void *args)
{
    const struct conv_args *a = args;
    const bool few = a->cig % 4 == 0 && a->cig * conv_groups_side(a) <= STAGE_CHANNELS && a->cog <= 2 * CONV_BLOCK &&
                     a->taps <= CONV_GROUPS_TAPS;
    const bool whole = a->cog % CONV_BLOCK == 0 || (a->cog < CONV_BLOCK && CONV_BLOCK % a->cog == 0),
               byte = a->w_offset >= -128 && a->w_offset <= 127;
    const bool offset = a->w_offset == 0 || (byte && a->slices > 1); /* twice the products: alone, gathering is faster */
    const bool three = a->x.kernel == 3 && a->y.kernel == 3 && a->x.stride <= 2,
               worth = three || (a->slices > 1 && a->cog <= (a->taps == 1 ? 8 : 4));
    return a->kind == CONV_WINDOW && few && whole && worth && offset && conv_stage_suits(a);
}

/* Depthwise: weights are stored in the type of the activations. */
static bool depthwise_accept_float(const void *args)
{
    const struct conv_args *a = args;
    return a->x_type == (a->wsize == 4 ? DT_F32 : DT_F16);
}

/* Sums of high and of low parts of x stay within 32 bits (depthwise_body.h). */
static bool depthwise_accept_wide(const void *args)
{
    const struct conv_args *a = args;
    return dtype_bits(a->x_type) == 16 && a->w_offset == 0 && a->taps < 256;
}

/* Few k that need no windows: the end of their sums is most of the work, and it is shorter than that of vectors. */
static bool fills_ends(const struct conv_args *a)
{
    return a->taps == 1 && a->kpad >= 16 && a->rows >= 16 && a->cog >= 2 * CONV_BLOCK;
}

/* Sums of single bytes of x stay within 32 bits (conv_q16_amx.c). */
static bool conv_accept_bytes(const void *args)
{
    const struct conv_args *a = args;
    return dtype_bits(a->x_type) == 16 && a->kpad < 65536 && (fills_tiles(a) || fills_ends(a));
}

/* So do those of bytes of both (conv_q16w16_amx.c). */
static bool conv_accept_words(const void *args)
{
    const struct conv_args *a = args;
    return dtype_bits(a->x_type) == 16 && a->kpad < 32768 && fills_tiles(a) && conv_split_fits(a);
}

/* First layers in tiles (conv_first_q16_amx.c): sums fit 32 bits with all that belongs to them, and steps of the
 * output do. */
static bool conv_accept_first_q16(const void *args)
{
    const struct conv_args *a = args;
    const bool few = a->kind == CONV_WINDOW && a->ci <= 4 && a->co % (2 * CONV_BLOCK) == 0;
    const bool line = a->x.dilation == 1 && a->y.dilation == 1 && a->x.pad < a->x.kernel && a->x.out >= CONV_BLOCK;
    return few && line && conv_words_suit(a) && !conv_words_long(a) && !by_positions(a) && conv_stage_shape(a) &&
           conv_first_staged(a);
}

/* A run is whole groups of k, and its sum fits 32 bits. */
static bool conv_accept_runs(const void *args)
{
    const struct conv_args *a = args;
    return a->narrow && a->run % a->kg == 0;
}

/* The same in tiles (conv_blocks_amx.c), where k is one row of runs of whole steps, without offsets that are floats. */
static bool conv_accept_run_tiles(const void *args)
{
    const struct conv_args *a = args;
    return a->narrow && a->kind != CONV_TRANSPOSED && a->n_m == a->n_runs + 1 && fills_tiles(a) && conv_run_step(a) &&
           conv_runs_places(a) > 0;
}

enum { MAX_VARIANTS = 11, CONV_MAX_OPERANDS = CONV_IN_BIAS + 2 };
static const struct kernel_variant variants[4 * CONV_CLASSES][MAX_VARIANTS] = {
#define KERNELS(cls, list) [cls] = { list },
#define V(name, isa, accept) { #name, isa, name, accept },
#include "kernels/conv/conv.def"
#undef V
#undef KERNELS
};

/* Positions [tile.begin, tile.end) of sequences: each run of them is a convolution of its own, from the positions that its
 * windows reach to as many results, so that every kernel can do it. */
static void conv_positions(const struct kernel_call *call, struct range tile, kernel_fn *run)
{
    const struct conv_args *a = call->args;
    const uint32_t xs = dtype_bits(a->x_type) / 8, ys = dtype_bits(a->out_type) / 8;
    void *data[CONV_MAX_OPERANDS];
    struct conv_args part = *a;
    struct kernel_call one = *call;
    memcpy(data, call->data, (a->n_in + 1) * sizeof(data[0]));
    one.args = &part;
    one.data = data;
    part.batch = part.row_units = 1;
    for (uint32_t at = tile.begin; at < tile.end; at += part.x.out) {
        const uint32_t o = at % a->x.out, left = a->x.out - o;
        const uint64_t image = at / a->x.out;
        part.x.out = part.rows = part.unit_rows = tile.end - at < left ? tile.end - at : left;
        const int64_t first = (int64_t)o * a->x.stride - a->x.pad, lo = first > 0 ? first : 0,
                      last = first + (int64_t)(part.x.out - 1) * a->x.stride + (int64_t)(a->x.kernel - 1) * a->x.dilation,
                      hi = last < a->x.in ? last + 1 : a->x.in;
        part.x.in = (uint32_t)(hi - lo);
        part.x.pad = (uint32_t)(lo - first);
        data[0] = (char *)call->data[0] + (image * a->x.in + (uint64_t)lo) * a->ci * xs;
        data[a->n_in] = (char *)call->data[a->n_in] + (uint64_t)at * a->co * ys;
        run(&one, (struct range){ 0, 1 });
    }
}

#define KERNELS(cls, list) list
#define V(name, isa, accept)                                                        \
    static void name##_positions(const struct kernel_call *call, struct range tile) \
    {                                                                               \
        conv_positions(call, tile, name);                                           \
    }
#include "kernels/conv/conv.def"
#undef V
#undef KERNELS

static const struct kernel_variant position_variants[4 * CONV_CLASSES][MAX_VARIANTS] = {
#define KERNELS(cls, list) [cls] = { list },
#define V(name, isa, accept) { #name, isa, name##_positions, accept },
#include "kernels/conv/conv.def"
#undef V
#undef KERNELS
};

const struct kernel_variant *conv_variants(const struct conv_args *a)
{
    const uint32_t form = a->kind == CONV_DEPTHWISE ? 1 : a->blocks ? 2 : a->bytes ? 3 : 0; /* in the order of conv.def */
    return (by_positions(a) ? position_variants : variants)[a->cls + form * CONV_CLASSES];
}
