/* SPDX-License-Identifier: Apache-2.0 */
/* From an operator's description to the args of the conv family: class of arithmetic, how the work is cut, which variants
 * there are. */
#include <math.h>
#include <string.h>

#include "kernels/conv/conv_flat.h"
#include "kernels/conv/conv_turned.h"
#include "kernels/kernel_util.h"

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

enum { MAX_VARIANTS = 10, CONV_MAX_OPERANDS = CONV_IN_BIAS + 2 };
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

static uint32_t round_up(uint32_t v, uint32_t to)
{
    return (v + to - 1) / to * to;
}

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

static const struct {
    uint8_t kg, wsize;
} class_layout[CONV_CLASSES] = {
    [CONV_Q8] = { 4, 1 }, [CONV_Q16] = { 4, 1 }, [CONV_Q16W16] = { 2, 2 }, [CONV_F32] = { 1, 4 }, [CONV_F16] = { 1, 2 },
};

static enum status choose_class(const struct op_call *c, struct conv_args *a)
{
    uint32_t x = T_(a->x_type), w = T_(a->w_type), out = T_(a->out_type);
    const char *text =
        "f32 or f16, with weights of any type; uq8 or sq8 with 8-, 4- or 2-bit weights; uq16 or sq16 with 16-, 8-, 4- "
        "or 2-bit weights; fixed-point outputs of 8 or 16 bits";
    int cls = -1;
    if (a->bytes) {
        a->cls = CONV_Q8;
        return ST_OK;
    }
    a->dequantized = (x & T_FLOAT) && (w & (T_Q | T_QLOW)) && x == out;
    a->mixed = (x & T_Q) && (w & T_FLOAT) && (out & T_Q);
    if (a->dequantized || a->mixed)
        cls = CONV_F32;
    else if ((x & T_FLOAT) && (w & T_FLOAT) && x == out)
        cls = a->x_type == DT_F16 && a->w_type == DT_F16 ? CONV_F16 : CONV_F32;
    else if (!(out & T_Q))
        cls = -1;
    else if ((x & T_Q8) && (w & (T_Q8 | T_QLOW)))
        cls = CONV_Q8;
    else if ((x & T_Q16) && (w & (T_Q8 | T_QLOW)))
        cls = CONV_Q16;
    else if ((x & T_Q16) && (w & T_Q16))
        cls = CONV_Q16W16;
    RETURN_IF(cls < 0, ST_NOT_SUPPORTED,
              "%s \"%s\": no kernel takes %s with weights %s and output %s; there are kernels for %s", c->op->name,
              c->node ? c->node : "", dtype_name(a->x_type), dtype_name(a->w_type), dtype_name(a->out_type), text);
    a->cls = (enum conv_class)cls;
    return ST_OK;
}

/* An accumulator of runs or of float weights has no unit of its own, so a bias must say what it is worth. */
static enum status check_bias(const struct op_call *c, const struct conv_args *a)
{
    bool own = !a->has_bias || dtype_is_float(a->b_type) || (a->bq.kind != Q_NONE && quant_scale(&a->bq, 0) != 0);
    RETURN_IF(
        (a->blocks || (a->mixed && !a->effective)) && !own, ST_NOT_SUPPORTED,
        "%s \"%s\": the bias is %s without a scale beside weights with block scales; give it a scale, or use an f32 bias",
        c->op->name, c->node ? c->node : "", dtype_name(a->b_type));
    return ST_OK;
}

/* Numbers as they are: scales of one, and a zero point that conv_run learns. */
static enum status describe_bytes(const struct op_call *c, struct conv_args *a)
{
    a->x_type = DT_UQ8;
    a->x_scale = a->out_scale = 1;
    a->whole.scales = c->n_in > CONV_IN_SCALE && c->in[CONV_IN_SCALE] && desc_count(c->in[CONV_IN_SCALE]) > 1;
    RETURN_IF(a->kind == CONV_DEPTHWISE, ST_NOT_SUPPORTED, "%s \"%s\": no kernel takes one input channel per group",
              c->op->name, c->node ? c->node : "");
    return ST_OK;
}

static enum status describe_quant(const struct op_call *c, struct conv_args *a)
{
    const bool bytes = c->op->id == OP_BytesConv2d || c->op->id == OP_BytesMatMul;
    const struct tensor_desc *b = c->n_in > 2 && !bytes ? c->in[2] : NULL, *out = c->out[0];
    a->bytes = bytes;
    a->x_type = c->in[0]->type;
    a->w_type = c->in[1]->type;
    a->out_type = out->type;
    a->has_bias = b != NULL;
    a->b_type = b ? b->type : DT_NONE;
    a->f_lo = c->post.lo;
    a->f_hi = c->post.hi;
    if (b)
        a->bq = b->q;
    TRY(choose_class(c, a));
    if (dtype_is_fixed(a->w_type))
        TRY(conv_weight_describe(c, a));
    a->kg =
        a->blocks && a->cls == CONV_Q16 ? 2 : class_layout[a->cls].kg; /* runs are whole pairs more often than whole fours */
    a->wsize = class_layout[a->cls].wsize;
    if (a->bytes)
        return describe_bytes(c, a);
    if (!dtype_is_fixed(a->x_type))
        return ST_OK;
    TRY(check_bias(c, a));
    a->x_scale = quant_scale(&c->in[0]->q, 0);
    a->x_offset = quant_offset(&c->in[0]->q, 0);
    a->out_scale = quant_scale(&out->q, 0);
    a->out_offset = quant_offset(&out->q, 0);
    struct ku_range r = ku_post_range(out->type, &out->q, &c->post);
    a->q_lo = r.lo;
    a->q_hi = r.hi;
    return ST_OK;
}

/* The largest magnitude that types allow, when the weights themselves are not known. */
static void choose_width(struct conv_args *a)
{
    if (a->cls == CONV_F32 || a->cls == CONV_F16)
        return;
    struct ku_range x = { dtype_min(a->x_type) + a->x_offset, dtype_max(a->x_type) + a->x_offset };
    int64_t x_max = -x.lo > x.hi ? -x.lo : x.hi, w_max = a->w_max + (a->w_offset < 0 ? -(int64_t)a->w_offset : a->w_offset);
    a->bound = a->head ? a->head->bound : x_max * w_max * (a->blocks ? a->run : a->taps * a->cig);
    a->narrow = a->bound <= INT32_MAX;
}

enum status conv_describe(const struct op_call *c, struct conv_args *a)
{
    *a = (struct conv_args){ .n_in = c->n_in, .n_m = 1 };
    TRY(conv_shape(c, a));
    TRY(describe_quant(c, a));
    a->tap_stride = a->kind == CONV_TRANSPOSED ? round_up(a->cig, a->kg) : a->cig;
    a->kpad = round_up(a->taps * a->tap_stride, a->kg);
    a->npad = round_up(a->cog, CONV_BLOCK);
    a->n_sums = a->blocks ? a->n_runs : a->kind == CONV_TRANSPOSED ? a->taps : 1;
    if (c->n_aux == 2) {
        a->packed = c->aux[0];
        a->head = c->aux[1];
    }
    choose_width(a);
    a->lifted = conv_lifts(a);
    return ST_OK;
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

static uint64_t align64(uint64_t v)
{
    return (v + 63) / 64 * 64;
}

/* Rows of a line of the result: pixels, rows of matrices, or one position of a sequence. 0: it is not computed by lines. */
static uint32_t line_rows(const struct op_call *c, const struct conv_args *a)
{
    struct op_lines lines;
    if (!c->by_lines || !op_by_lines(c) || !desc_lines(c->out[0], &lines))
        return 0;
    const uint64_t rows = lines.elements / a->co;
    /* What is packed while running is packed again for every few lines, which only many rows of a product are worth. */
    if (a->kind == CONV_MATRIX)
        return a->rows % rows == 0 && (a->packed || c->op->id == OP_MatMul) ? (uint32_t)rows : 0;
    if (!a->packed)
        return 0;
    if (rows == a->x.out)
        return (uint32_t)rows;
    const uint64_t reach = (uint64_t)(a->x.kernel - 1) * a->x.dilation + 1;
    /* Windows that reach nothing but padding have no positions of x. */
    return a->x.pad < reach && (uint64_t)(a->x.out - 1) * a->x.stride < (uint64_t)a->x.in + a->x.pad ? 1 : 0;
}

static void cut_depthwise(struct conv_args *a, uint32_t line_rows, struct kernel_bound *ret)
{
    a->unit_rows = line_rows ? line_rows : a->x.out;
    a->row_units = a->rows / a->unit_rows;
    a->col_units = 1;
    a->pack_bytes = a->packed ? 0 : align64((uint64_t)a->taps * a->npad * a->wsize) + conv_record_bytes(a, a->npad);
    ret->extent = a->row_units;
    ret->work_bytes = a->pack_bytes;
    ret->macs = (uint64_t)a->rows * a->cog * a->taps;
}

/* What makes f32 of f16 (conv_parts.c): a part of the weights, sums between parts, and some lines or rows of x. More
 * never where there is less to do: binding again with smaller dimensions must not need more. */
static uint64_t wide_bytes(const struct conv_args *a)
{
    const uint64_t least = (a->kpad < CONV_PART ? a->kpad : CONV_PART) * (uint64_t)CONV_CHUNK * 4,
                   weights = a->wsize == 2 ? least : 0, sums = (uint64_t)a->rows * CONV_CHUNK * 4,
                   kept = a->kpad <= CONV_PART ? 0 : sums < CONV_WIDE_SUMS ? sums : CONV_WIDE_SUMS;
    const uint64_t matrix = (uint64_t)a->rows * a->cig * 4, image = (uint64_t)a->y.in * a->x.in * a->ci * 4,
                   x = a->kind == CONV_MATRIX ? matrix : image;
    if (a->x_type != DT_F16 || (a->cls != CONV_F16 && a->cls != CONV_F32))
        return 0;
    return weights + kept + align64(x < CONV_WIDE_X ? x : CONV_WIDE_X);
}

/* As many rows as fit; what vector engines compute at a time is the least that makes sense. */
static void fit_panel(struct conv_args *a, uint64_t work_budget, struct kernel_bound *ret)
{
    uint64_t other = a->seg_bytes + a->pack_bytes, least = a->rows < CONV_MR ? a->rows : CONV_MR;
    uint64_t most = a->rows < CONV_VECTOR_ROWS ? a->rows : CONV_VECTOR_ROWS,
             rows = work_budget > other ? (work_budget - other) / a->panel_stride : 0;
    rows = rows >= most ? most : rows / CONV_MR * CONV_MR;
    a->panel_rows = (uint32_t)(rows > least ? rows : least);
    const uint64_t panel = a->panel_rows * a->panel_stride, room = work_budget > other ? work_budget - other : 0,
                   wide = wide_bytes(a) < room ? wide_bytes(a) : room / 64 * 64;
    a->panel_bytes = panel > wide ? panel : wide;
    ret->work_bytes = other + a->panel_bytes;
}

/* Groups of few channels are gathered together, if there is room for the rows of a vector engine: else every tap of every
 * group would be copied by itself. */
static void choose_rows(struct conv_args *a, uint64_t work_budget)
{
    const uint64_t together = align64((uint64_t)a->taps * a->ci * 4),
                   least = (a->rows < CONV_MR ? a->rows : CONV_MR) * together + a->seg_bytes;
    const bool few =
        a->slices > 1 && a->taps > 1 && a->taps <= CONV_TOGETHER_TAPS && a->cig <= 2 * CONV_BLOCK && a->cig % a->kg == 0;
    a->together = a->kind == CONV_WINDOW && few && a->packed && a->cls != CONV_Q16W16 && !a->blocks && !a->w_offset &&
                  (!work_budget || least <= work_budget);
    a->panel_stride = a->together ? together : align64((uint64_t)a->kpad * 4);
    if (a->panel_stride % 4096 == 0)
        a->panel_stride += 64;
}

enum { LEAST_ROWS = 48 };

/* Whether threads get rows with all channels each. Then a thread finds the rows that it wrote itself in its own cache, but
 * all of them load all weights; so weights should be no more than what comes and goes. A part wants enough rows for a walk
 * over the weights, and parts are to be equal. */
static bool suits_rows(const struct op_call *c, const struct conv_args *a)
{
    const uint64_t equal = ceil_div(a->row_units, c->parts ? c->parts : 1) * (uint64_t)c->parts;
    return c->parts > 1 && a->packed && a->slices == 1 && a->col_units > 1 && a->rows / c->parts >= LEAST_ROWS &&
           equal * 7 <= a->row_units * UINT64_C(8) &&
           conv_slice_bytes(a) <= 2 * (desc_bytes(c->in[0]) + desc_bytes(c->out[0]));
}

/* Few rows are cut along channels too, so that a thread pool has something to share; packing while running wants many rows
 * per unit. */
static void cut_work(const struct op_call *c, struct conv_args *a, uint32_t line_rows, struct kernel_bound *ret)
{
    const uint32_t enough = 64, rows_per_pack = 128;
    a->slice_chunks = ceil_div(a->cog, CONV_CHUNK);
    a->chunks = a->slices * a->slice_chunks;
    a->unit_rows = line_rows ? line_rows : a->kind == CONV_MATRIX ? 1 : a->x.out;
    if (!a->packed && !line_rows)
        a->unit_rows *= ceil_div(rows_per_pack, a->unit_rows);
    a->row_units = ceil_div(a->rows, a->unit_rows);
    a->col_units = a->packed ? ceil_div(enough, a->row_units) : a->chunks;
    if (a->col_units > a->chunks)
        a->col_units = a->chunks;
    if (line_rows || (a->row_units >= enough / 2 && a->packed && a->kind != CONV_MATRIX))
        a->col_units = line_rows && a->kind == CONV_MATRIX ? a->slices : 1; /* lines of one matrix, then of the next one */

    const uint64_t panel_bytes = 768 * 1024;
    a->seg_bytes = align64((uint64_t)a->taps * sizeof(struct conv_seg));
    choose_rows(a, c->work_budget);
    uint64_t rows = panel_bytes / a->panel_stride / CONV_MR * CONV_MR;
    a->panel_rows = rows < CONV_MR ? CONV_MR : rows > CONV_VECTOR_ROWS ? CONV_VECTOR_ROWS : (uint32_t)rows;
    if (a->panel_rows > a->rows)
        a->panel_rows = a->rows;
    a->pack_bytes =
        a->packed ? 0 : align64(conv_block_bytes(a) * (CONV_CHUNK / CONV_BLOCK)) + conv_record_bytes(a, CONV_CHUNK);
    ret->extent = a->row_units * a->col_units;
    a->by_rows = suits_rows(c, a);
    ret->whole = a->by_rows ? a->col_units : a->col_units % (c->parts ? c->parts : 1) == 0 ? a->row_units : 0;
    /* Not panel_rows * panel_stride, which may grow when k shrinks: binding again with smaller dimensions must not need
     * more. */
    uint64_t least = CONV_MR * a->panel_stride, most = CONV_VECTOR_ROWS * a->panel_stride,
             budget = least > panel_bytes ? least : panel_bytes;
    uint64_t panel = most < budget ? most : budget;
    if (panel > a->rows * a->panel_stride)
        panel = a->rows * a->panel_stride;
    a->panel_bytes = panel > wide_bytes(a) ? panel : wide_bytes(a);
    ret->work_bytes = a->seg_bytes + a->panel_bytes + a->pack_bytes;
    if (c->work_budget)
        fit_panel(a, c->work_budget, ret);
    /* Every input pixel of TransposeConv meets every tap once; an output pixel meets only the taps of its phase. */
    uint64_t positions = a->kind == CONV_TRANSPOSED ? (uint64_t)a->batch * a->z.in * a->y.in * a->x.in : a->rows;
    ret->macs = positions * a->slices * a->cog * a->cig * a->taps;
}

static enum status conv_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                             const struct kernel_variant **list)
{
    struct conv_args *a = args;
    TRY(conv_describe(c, a));
    bool depthwise = a->kind == CONV_DEPTHWISE;
    uint32_t rows = line_rows(c, a);
    ret->by_lines = rows > 0;
    if (depthwise)
        cut_depthwise(a, rows, ret);
    else
        cut_work(c, a, rows, ret);
    /* A few µs of work. Depthwise sums and those of few rows wait for memory. */
    const uint64_t rate = depthwise ? 20 : a->rows < CONV_BLOCK ? 50 : 200, worth = 3000 * rate;
    uint64_t per_unit = ret->macs / ret->extent + 1;
    ret->grain = per_unit >= worth ? 1 : (uint32_t)(worth / per_unit);
    if (ret->grain > ret->extent)
        ret->grain = ret->extent;
    const uint32_t row = depthwise ? CONV_CLASSES : a->blocks ? 2 * CONV_CLASSES : a->bytes ? 3 * CONV_CLASSES : 0;
    *list = (by_positions(a) ? position_variants : variants)[a->cls + row];
    return ST_OK;
}

const struct kernel_family family_conv = {
    .name = "conv",
    .args_size = sizeof(struct conv_args),
    .bind = conv_bind,
    .aux = conv_aux,
    .aux_fill = conv_aux_fill,
};
