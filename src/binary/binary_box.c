/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes: what of its operands an operator needs in fast memory to compute a part of its first result.
 *
 *     result  +--------+      a box is some lines, columns and channels of one image, and for
 *             |####    |      products how many terms of the sums are added at a time; where there is no height, lines are
 *             |####    |      rows and there is one column
 *             |####    |
 *             +--------+
 *
 *     windows        the lines and columns that the window reaches from the box; of a pool, where that is too much, some
 *                    lines of the window at a time, or a part of one, and what was found in them so far
 *     products       rows of the first operand, and of the second the channels of the box: weights come part by part
 *     element-wise   the same part, of whatever is not broadcast
 *     an axis        all channels of the box's rows
 *     everything     operators that look at all of an operand at once
 *     all others     go over their operands in pieces as large as the box
 *
 * Everything is padded as in tile layout: channels to 32, lines and columns of images to 8 by 8 (columns of more than 8 bits
 * to 4). */
#include "binary/binary.h"

enum { DEPTH = 32, SIDE = 8, PIECE = SIDE * SIDE * DEPTH };

enum reach { PIECES, SAME, WINDOW, SPREAD, PLAIN, AXIS, ALL };

/* depth, columns: of a product, where in the second operand the terms of a sum and the results are, counted from its end;
 * sides: dimensions of the window. */
struct binary_box_rule {
    uint16_t op;
    uint8_t reach, depth, columns, sides;
};

static const struct binary_box_rule rules[] = {
    { OP_Conv1d, WINDOW, 2, 1, 1 },
    { OP_Conv2d, WINDOW, 2, 1, 2 },
    { OP_Conv3d, WINDOW, 2, 1, 3 },
    { OP_TransposeConv1d, SPREAD, 2, 1, 1 },
    { OP_TransposeConv2d, SPREAD, 2, 1, 2 },
    { OP_DepthWiseConv1d, WINDOW, 0, 1, 1 },
    { OP_DepthWiseConv2d, WINDOW, 0, 1, 2 },
    { OP_PoolAvg2d, WINDOW, 0, 0, 2 },
    { OP_PoolMax2d, WINDOW, 0, 0, 2 },
    { OP_L2Pool2d, WINDOW, 0, 0, 2 },
    { OP_FullyConnected, PLAIN, 1, 2, 0 },
    { OP_MatMul, PLAIN, 2, 1, 0 },
    { OP_TopK, AXIS, 0, 0, 0 },
    { OP_Softmax, AXIS, 0, 0, 0 },
    { OP_LogSoftmax, AXIS, 0, 0, 0 },
    { OP_MaskedSoftmax, AXIS, 0, 0, 0 },
    { OP_NonMaxSuppression, ALL, 0, 0, 0 },
    { OP_MultiClassNms, ALL, 0, 0, 0 },
    { OP_DetectionOutput, ALL, 0, 0, 0 },
    { OP_CombinedNms, ALL, 0, 0, 0 },
};
static const struct binary_box_rule same_rule = { .reach = SAME }, pieces_rule = { .reach = PIECES };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t pad(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static uint64_t parts(uint64_t n, uint64_t of)
{
    return (n + of - 1) / of;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

/* A tensor as images, or as rows. */
struct view {
    uint64_t planes, lines, columns, channels;
    bool image;
};

static struct view view_of(const struct tensor_desc *d, bool rows)
{
    uint32_t r = d->rank;
    struct view v = { 1, 1, 1, r ? d->dims[r - 1] : 1, !rows && r >= 4 && d->dims[r - 3] > 1 };
    uint32_t leading = v.image ? r - 3 : r ? r - 1 : 0;
    for (uint32_t i = 0; i < leading; i++)
        *(v.image ? &v.planes : &v.lines) *= d->dims[i];
    if (v.image) {
        v.lines = d->dims[r - 3];
        v.columns = d->dims[r - 2];
    }
    return v;
}

/* Of a part of a tensor: in tile layout, or as it is where numbers are wider here than on a device. */
static uint64_t bytes_of(const struct tensor_desc *d, const struct view *part)
{
    uint32_t bits = binary_tile_bits(d->type);
    uint64_t columns = part->image ? pad(part->columns, bits > 8 ? SIDE / 2 : SIDE) : part->columns,
             lines = part->image ? pad(part->lines, SIDE) : part->lines;
    uint64_t tiles = (part->planes * lines * columns * pad(part->channels, DEPTH) * bits + 7) / 8;
    uint64_t plain = (part->planes * part->lines * part->columns * part->channels * dtype_bits(d->type) + 7) / 8;
    return least(most(tiles, plain), binary_vtcm_bytes(d));
}

static struct view part_of(struct view whole, uint64_t lines, uint64_t columns, uint64_t channels)
{
    return (struct view){ whole.planes, least(lines, whole.lines), least(columns, whole.columns),
                          least(channels, whole.channels), whole.image };
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

static const struct binary_box_rule *rule_of(const struct op_def *op)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].op == op->id)
            return &rules[i];
    return op->flags & OP_ELEMENTWISE ? &same_rule : &pieces_rule;
}

/* Windows that may be taken in pieces: nothing but sums, or the largest element so far, is kept between them. */
static bool is_pool(const struct op_def *op)
{
    return op->id == OP_PoolAvg2d || op->id == OP_PoolMax2d || op->id == OP_L2Pool2d;
}

static const struct tensor_desc *filter_of(const struct op_call *c, const struct binary_box_rule *r)
{
    const struct tensor_desc *w = r->columns && c->n_in > 1 ? c->in[1] : NULL;
    return w && w->rank >= 2 && w->rank >= r->sides + 2u ? w : NULL;
}

/* Window and stride, the innermost dimension first. */
static void windows_of(const struct op_call *c, const struct binary_box_rule *r, struct binary_box_op *ret)
{
    const struct tensor_desc *w = filter_of(c, r);
    for (uint32_t i = 0; i < r->sides && i < BINARY_BOX_SIDES; i++) {
        uint32_t at = r->sides - 1u - i;
        uint64_t taps = w ? w->dims[w->rank - 3u - i] : (uint64_t)op_int(c, "filter_size", at), apart = 1;
        if (w && op_param_index(c->op, "dilation") >= 0)
            apart = (uint64_t)op_int(c, "dilation", at);
        ret->window[i] = (taps ? taps - 1 : 0) * apart + 1;
        ret->stride[i] = most((uint64_t)op_int(c, "stride", at), 1);
        ret->taps = multiply(ret->taps, most(taps, 1));
    }
}

static bool in_pieces(const struct binary_box_op *o, const struct binary_box *b)
{
    return o->terms && b->depth > 1;
}

/* Lines and columns of the window that are looked at together. */
static void piece_of(const struct binary_box_op *o, const struct binary_box *b, uint64_t ret[2])
{
    uint64_t width = o->window[0];

    ret[0] = o->window[0];
    ret[1] = o->window[1];
    if (!in_pieces(o, b))
        return;

    ret[0] = least(width, b->depth);
    ret[1] = most(b->depth / width, 1);
}

static uint32_t nonzero(uint64_t n)
{
    return (uint32_t)least(most(n, 1), UINT32_MAX);
}

/* Terms of a sum. */
static uint32_t depth_of(const struct op_call *c, const struct binary_box_rule *r, const struct tensor_desc *w)
{
    bool turned = c->op->id == OP_MatMul && op_int(c, "transpose_in1", 0);
    return w->dims[w->rank - (turned ? r->columns : r->depth)];
}

bool binary_box_fits(const struct binary_box_op *o, const struct binary_box *b)
{
    const struct binary_box *w = &o->whole;
    bool deep = b->depth <= w->depth || b->depth < o->terms;
    return b->lines && b->columns && b->channels && b->depth && b->lines <= w->lines && b->columns <= w->columns &&
           b->channels <= w->channels && deep && (o->rule->reach != AXIS || b->channels == w->channels);
}

/* From the first to the last element that `n` windows next to each other reach. Pieces of windows may lie far apart: then
 * only the tiles of each of them. */
static uint64_t reach_of(const struct binary_box_op *o, const struct binary_box *b, int side, uint64_t n)
{
    uint64_t piece[2];
    piece_of(o, b, piece);

    uint64_t all = (n - 1) * o->stride[side] + piece[side];
    return in_pieces(o, b) ? least(all, n * pad(piece[side], SIDE)) : all;
}

/* What a pool keeps between pieces of its windows: sums of fixed point are exact, those of floats are float32. The largest
 * element so far is where the result will be. */
static uint64_t sums_bytes(const struct binary_box_op *o, const struct binary_box *b)
{
    uint64_t columns = o->image ? pad(b->columns, SIDE) : b->columns, lines = o->image ? pad(b->lines, SIDE) : b->lines;
    bool exact = dtype_is_fixed(o->call->in[0]->type);

    if (!in_pieces(o, b) || o->call->op->id == OP_PoolMax2d)
        return 0;
    return lines * columns * pad(b->channels, DEPTH) * (exact ? sizeof(int64_t) : sizeof(float));
}

/* The first operand of a window. A result without height has rows, which lie along the width. */
static uint64_t window_bytes(const struct binary_box_op *o, const struct binary_box *b)
{
    const struct tensor_desc *x = o->call->in[0], *y = o->call->out[0];
    struct view v = view_of(x, false);
    uint64_t width = y->rank >= 2 ? y->dims[y->rank - 2] : 1, along = o->image ? b->columns : least(b->lines, width),
             planes = o->image ? 1 : parts(b->lines, most(width, 1)) + 1;
    uint64_t lines = o->image ? b->lines : 1, channels = b->channels, from[2] = { along, lines };
    for (int i = 0; i < 2; i++)
        from[i] = o->rule->reach == SPREAD ? (from[i] + o->window[i] - 1) / o->stride[i] + 1 : reach_of(o, b, i, from[i]);
    if (o->rule->depth) { /* of every group that the channels belong to, some */
        uint64_t groups = most(v.channels / most(o->whole.depth, 1), 1), each = most(o->whole.channels / groups, 1);
        channels = least(groups, groups == 1 ? 1 : parts(channels, each) + 1) * b->depth;
    } else if (o->rule->columns) {
        channels = parts(channels, most(o->whole.channels / most(v.channels, 1), 1)) + 1;
    }
    struct view part = part_of(v, v.image ? from[1] : from[0] * least(planes, v.lines), v.image ? from[0] : 1, channels);
    part.planes = least(v.planes, o->rule->sides > 2 ? o->window[2] : planes);
    return bytes_of(x, &part) + sums_bytes(o, b);
}

/* The smallest piece is some columns of a line; of small windows all of them take less than a piece with its sums. */
static void take_pieces(struct binary_box_op *o)
{
    struct binary_box few = o->least;

    o->terms = nonzero(o->taps);
    few.depth = SIDE;
    if (window_bytes(o, &few) < window_bytes(o, &o->least))
        o->least = few;
}

void binary_box_op(const struct op_call *c, struct binary_box_op *ret)
{
    const struct binary_box_rule *r = rule_of(c->op);
    const struct tensor_desc *y = c->n_out ? c->out[0] : NULL, *w = filter_of(c, r);
    *ret = (struct binary_box_op){ .call = c,
                                   .rule = r,
                                   .whole = { 1, 1, 1, 1 },
                                   .least = { 1, 1, 1, 1 },
                                   .planes = 1,
                                   .taps = 1,
                                   .window = { 1, 1, 1 },
                                   .stride = { 1, 1, 1 } };
    if (!y || (r->columns && !w))
        ret->rule = r = &pieces_rule;
    if (!y)
        return;
    windows_of(c, r, ret);
    struct view v = view_of(y, r->reach == AXIS);
    bool wide = binary_tile_bits(y->type) > 8;
    ret->image = v.image;
    ret->planes = v.planes;
    ret->whole = (struct binary_box){ nonzero(v.lines), nonzero(v.columns), nonzero(v.channels),
                                      r->depth ? nonzero(depth_of(c, r, w)) : 1 };
    ret->step = (struct binary_box){ v.image ? SIDE : 1, v.image && wide ? SIDE / 2 : SIDE, DEPTH, DEPTH };
    ret->least = r->reach == ALL ? ret->whole
                                 : (struct binary_box){ (uint32_t)least(ret->step.lines, ret->whole.lines),
                                                        (uint32_t)least(ret->step.columns, ret->whole.columns),
                                                        (uint32_t)least(DEPTH, ret->whole.channels),
                                                        (uint32_t)least(DEPTH, ret->whole.depth) };
    if (r->reach == AXIS)
        ret->least.channels = ret->whole.channels;
    if (is_pool(c->op) && c->n_in && c->in[0] && ret->taps > SIDE)
        take_pieces(ret);
}

static uint64_t filter_bytes(const struct binary_box_op *o, const struct binary_box *b, uint64_t times)
{
    const struct tensor_desc *w = o->call->in[1];
    uint64_t depth = o->rule->depth ? pad(b->depth, DEPTH) : 1;
    return (o->taps * times * depth * pad(b->channels, DEPTH) * binary_tile_bits(w->type) + 7) / 8;
}

/* The second operand of MatMul may be another one for every image. */
static uint64_t matrices(const struct binary_box_op *o, const struct binary_box *b)
{
    const struct tensor_desc *w = o->call->in[1], *y = o->call->out[0];
    uint64_t one = (uint64_t)o->whole.depth * o->whole.channels, all = one ? most(desc_count(w) / one, 1) : 1,
             rows = y->rank >= 2 ? most(y->dims[y->rank - 2], 1) : 1;
    return least(all, o->image ? b->lines : parts(b->lines, rows) + 1);
}

/* Rows of the first operand of a product without a window. */
static uint64_t rows_bytes(const struct binary_box_op *o, const struct binary_box *b)
{
    const struct tensor_desc *x = o->call->in[0];
    struct view part = { 1, (uint64_t)b->lines * b->columns, 1, b->depth, false };
    return bytes_of(x, &part);
}

/* The part of an operand that lies where the box does. */
static uint64_t same_bytes(const struct binary_box_op *o, const struct tensor_desc *x, const struct binary_box *b)
{
    struct view v = view_of(x, o->rule->reach == AXIS), part = part_of(v, b->lines, b->columns, b->channels);
    if (o->image && !v.image) /* fewer dimensions, or no height: at most a row per position */
        part.lines = least((uint64_t)b->lines * b->columns, v.lines);
    part.planes = 1;
    return bytes_of(x, &part);
}

static bool one_view(const struct tensor_desc *a, const struct tensor_desc *b)
{
    struct view x = view_of(a, false), y = view_of(b, false);
    return x.planes == y.planes && x.lines == y.lines && x.columns == y.columns && x.channels == y.channels &&
           x.image == y.image;
}

static uint64_t input_bytes(const struct binary_box_op *o, const struct binary_box *b, uint32_t i)
{
    const struct tensor_desc *x = o->call->in[i];
    switch ((enum reach)o->rule->reach) {
    case ALL:
        return binary_vtcm_bytes(x);
    case WINDOW:
    case SPREAD:
        return i == 0 ? window_bytes(o, b) : i == 1 ? filter_bytes(o, b, 1) : same_bytes(o, x, b);
    case PLAIN:
        return i == 0   ? rows_bytes(o, b)
               : i == 1 ? filter_bytes(o, b, o->call->op->id == OP_MatMul ? matrices(o, b) : 1)
                        : same_bytes(o, x, b);
    case AXIS: {
        struct binary_box row = *b;
        row.channels = UINT32_MAX;
        return same_bytes(o, x, &row);
    }
    case SAME:
        return same_bytes(o, x, b);
    case PIECES:
        break;
    }
    return least(binary_vtcm_bytes(x), most(same_bytes(o, o->call->out[0], b), PIECE));
}

uint64_t binary_box_operand(const struct binary_box_op *o, const struct binary_box *b, uint32_t i)
{
    const struct op_call *c = o->call;
    if (i < c->n_in)
        return c->in[i] && c->n_out && c->out[0] ? input_bytes(o, b, i) : 0;
    const struct tensor_desc *y = c->out[i - c->n_in];
    if (!y)
        return 0;
    if (o->rule->reach == ALL)
        return binary_vtcm_bytes(y);
    if (one_view(y, c->out[0]))
        return same_bytes(o, y, b);
    return least(binary_vtcm_bytes(y), most(same_bytes(o, c->out[0], b), PIECE));
}

/* Pieces that sums are made in, or windows are taken in. */
static uint32_t pieces_of(const struct binary_box_op *o, const struct binary_box *b)
{
    uint64_t piece[2];

    if (!in_pieces(o, b))
        return (uint32_t)parts(o->whole.depth, b->depth);

    piece_of(o, b, piece);
    return nonzero(multiply(parts(o->window[0], piece[0]), parts(o->window[1], piece[1])));
}

uint64_t binary_box_count(const struct binary_box_op *o, const struct binary_box *b, struct binary_box *ret)
{
    const struct binary_box *w = &o->whole;
    *ret = (struct binary_box){ (uint32_t)parts(w->lines, b->lines), (uint32_t)parts(w->columns, b->columns),
                                (uint32_t)parts(w->channels, b->channels), pieces_of(o, b) };
    return o->planes * ret->lines * ret->columns * ret->channels;
}

/* Lines, or columns, of the first operand that come for `n` results in a row, `each` of them in a box. */
static uint64_t reread(const struct binary_box_op *o, const struct binary_box *b, int side, uint64_t n, uint64_t each)
{
    uint64_t piece[2];
    piece_of(o, b, piece);

    uint64_t pieces = parts(o->window[side], piece[side]), apart = least(o->stride[side], piece[side]);
    return multiply(parts(n, each), multiply(multiply(pieces, each - 1), apart) + o->window[side]);
}

uint64_t binary_box_again(const struct binary_box_op *o, const struct binary_box *b, uint64_t bytes)
{
    if (!in_pieces(o, b))
        return bytes;

    const struct tensor_desc *x = o->call->in[0], *y = o->call->out[0];
    uint64_t width = most(y->rank >= 2 ? y->dims[y->rank - 2] : 1, 1);
    uint64_t along = o->image ? b->columns : least(b->lines, width);
    uint64_t height = o->image ? o->whole.lines : 1;
    uint64_t lines = o->image ? b->lines : 1;

    uint64_t come = multiply(reread(o, b, 0, width, along), reread(o, b, 1, height, lines)),
             are = multiply(x->dims[x->rank - 2], x->dims[x->rank - 3]);
    unsigned __int128 all = (unsigned __int128)bytes * come / most(are, 1);
    return all < UINT64_MAX ? most(bytes, (uint64_t)all) : UINT64_MAX;
}
