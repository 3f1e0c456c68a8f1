/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the broadcast family: which operator, in which numbers, with which scales. */
#include <math.h>

#include "base/cpu.h"
#include "kernels/broadcast/broadcast.h"
#include "kernels/families.h"

enum { TABLE = 256 };

static bool plain(const struct codec *c)
{
    return !c->wide && !c->bits && !c->scales && fabsf(c->scale) <= 0x1p60f;
}

/* Both operands as they lie in memory, of the type of the result, and only sums. */
static bool accept_fixed(const void *args)
{
    const struct broadcast_args *a = args;
    enum dtype t = a->out.type;
    bool type = t == DT_UQ8 || t == DT_SQ8 || t == DT_UQ16 || t == DT_SQ16, sum = a->op == BIN_ADD || a->op == BIN_SUBTRACT;
    return type && sum && a->in[0].type == t && a->in[1].type == t && a->view[0].linear && a->view[1].linear &&
           plain(&a->in[0]) && plain(&a->in[1]) && plain(&a->out) && a->out.scale == 1.0f;
}

/* In broadcast_bytes_avx512.c sums stay within 31 bits, and numbers with their offset are exact in f32. */
static bool accept_bytes(const void *args)
{
    const struct broadcast_args *a = args;
    const float most = 0x1p20f;
    const int32_t far = 1 << 14;
    bool bytes = a->out.type == DT_UQ8 || a->out.type == DT_SQ8, near = true;
    const struct codec *all[] = { &a->in[0], &a->in[1], &a->out };
    for (int i = 0; i < 3; i++)
        near &= all[i]->offset >= -far && all[i]->offset <= far;
    return bytes && near && accept_fixed(args) && fabsf(a->in[0].scale) <= most / (float)far &&
           fabsf(a->in[1].scale) <= most / (float)far;
}

static bool by_table(const void *args)
{
    const struct broadcast_args *a = args;
    return a->table && cpu_permutes_bytes();
}

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant broadcast_variants[] = {
#include "kernels/broadcast/broadcast.def"
    {0},
};
static const struct kernel_variant select_variants[] = {
#include "kernels/broadcast/select.def"
    {0},
};
#undef KERNEL

/* The old separate names; ElementWiseBinary says it with a parameter. */
static const struct {
    uint16_t op;
    uint16_t bin;
} names[] = {
    {OP_ElementWiseAdd, BIN_ADD},
    {OP_ElementWiseAnd, BIN_AND},
    {OP_ElementWiseDivide, BIN_DIVIDE},
    {OP_ElementWiseEqual, BIN_EQUAL},
    {OP_ElementWiseFloorDiv, BIN_FLOOR_DIV},
    {OP_ElementWiseFmod, BIN_FMOD},
    {OP_ElementWiseGreater, BIN_GREATER},
    {OP_ElementWiseGreaterEqual, BIN_GREATER_EQUAL},
    {OP_ElementWiseLess, BIN_LESS},
    {OP_ElementWiseLessEqual, BIN_LESS_EQUAL},
    {OP_ElementWiseMaximum, BIN_MAXIMUM},
    {OP_ElementWiseMinimum, BIN_MINIMUM},
    {OP_ElementWiseMod, BIN_MOD},
    {OP_ElementWiseMultiply, BIN_MULTIPLY},
    {OP_ElementWiseNotEqual, BIN_NOT_EQUAL},
    {OP_ElementWiseOr, BIN_OR},
    {OP_ElementWisePower, BIN_POWER},
    {OP_ElementWiseSquaredDifference, BIN_SQUARED_DIFFERENCE},
    {OP_ElementWiseSubtract, BIN_SUBTRACT},
    {OP_ElementWiseXor, BIN_XOR},
    {OP_Prelu, BIN_PRELU},
    {OP_ElementWiseSelect, BIN_SELECT},
};

static enum binary_op which(const struct op_call *c)
{
    if (c->op->id == OP_ElementWiseBinary)
        return (enum binary_op)op_int(c, "operation", 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].op == c->op->id)
            return (enum binary_op)names[i].bin;
    return BIN_COUNT;
}

static bool is_int(enum dtype t)
{
    enum dtype_kind k = dtype_kind(t);
    return k == DK_INT || k == DK_UINT || k == DK_BOOL;
}

/* q + offset of every value the tensor can hold is exact in f32 */
static bool small(const struct codec *c)
{
    return c->lo + c->offset >= -(1 << 24) && c->hi + c->offset <= 1 << 24 && !c->scales;
}

/* Section 4: Add, Subtract and Multiply of fixed-point tensors fold the scales into one or two multipliers. */
static void fold_scales(struct broadcast_args *a)
{
    double sa = (double)a->in[0].scale, sb = (double)a->in[1].scale, s = (double)a->out.scale;
    bool fixed = dtype_is_fixed(a->in[0].type) && dtype_is_fixed(a->in[1].type) && dtype_is_fixed(a->out.type);
    if (!fixed || a->in[0].scales || a->in[1].scales || a->out.scales)
        return;
    if (a->op == BIN_ADD || a->op == BIN_SUBTRACT) {
        codec_rescale(&a->in[0], sa / s);
        codec_rescale(&a->in[1], sb / s);
        codec_rescale(&a->out, 1.0);
    } else if (a->op == BIN_MULTIPLY) {
        a->op = BIN_SCALED_MULTIPLY;
        a->mode = small(&a->in[0]) && small(&a->in[1]) ? BIN_MODE_F32 : BIN_MODE_WIDE;
        a->m = (float)(sa * sb / s);
        codec_rescale(&a->in[0], 1.0);
        codec_rescale(&a->in[1], 1.0);
        codec_rescale(&a->out, 1.0);
    }
}

static void choose_mode(struct broadcast_args *a)
{
    enum dtype x = a->in[0].type, y = a->in[1].type;
    bool compares = a->op >= BIN_COUNT
                        ? false
                        : a->op == BIN_EQUAL || a->op == BIN_NOT_EQUAL || (a->op >= BIN_GREATER && a->op <= BIN_LESS_EQUAL);
    bool logic = a->op == BIN_AND || a->op == BIN_OR || a->op == BIN_XOR;
    a->mode = BIN_MODE_F32;
    if (is_int(x) && is_int(y) && (is_int(a->out.type) || compares || logic))
        a->mode = x == DT_U64 || y == DT_U64 ? BIN_MODE_U64 : BIN_MODE_I64;
    else
        fold_scales(a);
}

/* Select moves values: bits where the encodings agree, else fixed -> fixed of each side. */
static void bind_select(const struct op_call *c, struct broadcast_args *a)
{
    static const enum dtype storage[] = {[8] = DT_U8, [16] = DT_U16, [32] = DT_U32, [64] = DT_U64};
    double s = (double)a->out.scale;
    a->raw = codec_copies(&a->out, c->in[1], c->out[0]) && codec_copies(&a->out, c->in[2], c->out[0]);
    if (a->raw) {
        unsigned bits = dtype_bits(a->out.type);
        a->out.type = bits >= 8 ? storage[bits] : a->out.type;
        return;
    }
    if (!dtype_is_fixed(c->in[1]->type) || !dtype_is_fixed(c->in[2]->type) || !dtype_is_fixed(a->out.type))
        return;
    codec_rescale(&a->in[1], (double)a->in[1].scale / s);
    codec_rescale(&a->in[2], (double)a->in[2].scale / s);
    codec_rescale(&a->out, 1.0);
}

/* Bytes of one operand beside one constant number (scales and shifts, slopes of LeakyRelu): the result is a table of 256
 * bytes. -1: no such operator, else the operand. */
static int table_operand(const struct op_call *c)
{
    bool bytes_out = dtype_bits(c->out[0]->type) == 8;
    for (int k = 0; k < 2 && bytes_out && which(c) != BIN_SELECT && c->n_in >= 2; k++) {
        const struct tensor_desc *x = c->in[k], *one = c->in[1 - k];
        bool bytes = x->type == DT_UQ8 || x->type == DT_SQ8, per_axis = x->q.kind == Q_AXIS && x->q.n > 1;
        if (bytes && !per_axis && desc_count(one) == 1 && desc_count(x) == desc_count(c->out[0]) && c->in_data &&
            c->in_data[1 - k])
            return k;
    }
    return -1;
}

static enum status broadcast_aux(const struct op_call *c, struct kernel_aux *ret)
{
    ret->n = table_operand(c) >= 0;
    ret->bytes[0] = TABLE;
    return ST_OK;
}

static enum status broadcast_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                                  const struct kernel_variant **variants);

/* The reference computes all bytes. */
static enum status broadcast_aux_fill(const struct op_call *c, uint32_t number, void *dst)
{
    const int k = table_operand(c);
    struct tensor_desc x = *c->in[k], one = *c->in[1 - k], out = *c->out[0];
    const struct tensor_desc *in[2], *outs[1] = {&out};
    const void *known[2] = {NULL, NULL};
    void *data[3];
    uint8_t bytes[TABLE];
    struct op_call all = *c;
    struct broadcast_args args;
    struct kernel_bound bound;
    const struct kernel_variant *variants;
    (void)number;
    for (uint32_t i = 0; i < TABLE; i++)
        bytes[i] = (uint8_t)i;
    x.rank = one.rank = out.rank = 1;
    x.dims[0] = out.dims[0] = TABLE;
    one.dims[0] = 1;
    in[k] = &x;
    in[1 - k] = &one;
    data[k] = bytes;
    data[1 - k] = (void *)(uintptr_t)c->in_data[1 - k];
    data[2] = dst;
    all.n_in = 2;
    all.in = in;
    all.out = outs;
    all.in_data = known;
    all.n_aux = 0;
    all.by_lines = false;
    TRY(broadcast_bind(&all, &args, &bound, &variants));
    broadcast_ref(&(struct kernel_call){.args = &args, .data = data}, (struct range){0, bound.extent});
    return ST_OK;
}

static enum status broadcast_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                                  const struct kernel_variant **variants)
{
    struct broadcast_args *a = args;
    *a = (struct broadcast_args){.op = which(c), .n_in = c->n_in, .total = desc_count(c->out[0])};
    uint32_t operands = a->op == BIN_SELECT ? 3 : 2;
    RETURN_IF(a->op >= BIN_COUNT || (c->op->id == OP_ElementWiseBinary && a->op >= BIN_OPERATIONS), ST_NOT_SUPPORTED,
              "%s \"%s\": operation %u is not known; 0 to %u are", c->op->name, c->node ? c->node : "", (unsigned)a->op,
              BIN_OPERATIONS - 1u);
    for (uint32_t k = 0; k < operands; k++) {
        TRY(codec_init(&a->in[k], c->in[k], c));
        view_broadcast(&a->view[k], c->in[k], c->out[0]);
    }
    TRY(codec_init_out(&a->out, c->out[0], c));
    if (a->op == BIN_SELECT)
        bind_select(c, a);
    else
        choose_mode(a);
    if (c->n_aux && c->aux && c->aux[0] && table_operand(c) >= 0) {
        a->table = c->aux[0];
        a->varies = (uint32_t)table_operand(c);
    }
    kernel_lines_or_spans(c, ret, &a->unit);
    *variants = a->op == BIN_SELECT ? select_variants : broadcast_variants;
    return ST_OK;
}

const struct kernel_family family_broadcast = {
    .name = "broadcast",
    .args_size = sizeof(struct broadcast_args),
    .bind = broadcast_bind,
    .aux = broadcast_aux,
    .aux_fill = broadcast_aux_fill,
};
