/* SPDX-License-Identifier: Apache-2.0 */
/* How the work of a product is cut: units for threads, rows of a panel, workspace. Then a kernel for it can be chosen
 * (conv_variants.c). */
#include "kernels/conv/conv.h"

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

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
    ret->run_units = 1;
    ret->run_elements = (uint64_t)a->unit_rows * a->co;
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

/* Units and chunks are counted in 32 bits, with room to add a few. */
static enum status check_units(const struct op_call *c, const struct conv_args *a)
{
    const uint64_t chunks = a->slices * (uint64_t)ceil_div(a->cog, CONV_CHUNK);
    /* What is packed while running has 128 rows and more to a unit: see cut_work. */
    const uint64_t units = a->packed ? chunks : chunks * (a->rows / 128 + UINT64_C(1));

    RETURN_IF(chunks > INT32_MAX || units > INT32_MAX, ST_NOT_SUPPORTED,
              "%s \"%s\": %u rows by %u channels of %u products; at most %d blocks of %d channels of a row are supported; "
              "cut it into smaller ones",
              c->op->name, c->node ? c->node : "", a->rows, a->cog, a->slices, INT32_MAX, CONV_CHUNK);
    return ST_OK;
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
    const bool in_order = a->kind == CONV_WINDOW || (a->kind == CONV_MATRIX && a->slices == 1);
    if (in_order && (a->by_rows || a->col_units == 1)) {
        ret->run_units = a->col_units;
        ret->run_elements = (uint64_t)a->unit_rows * a->co;
    }
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
    TRY(check_units(c, a));
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
    *list = conv_variants(a);
    return ST_OK;
}

const struct kernel_family family_conv = {
    .name = "conv",
    .args_size = sizeof(struct conv_args),
    .bind = conv_bind,
    .aux = conv_aux,
    .aux_fill = conv_aux_fill,
};
