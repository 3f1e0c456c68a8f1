/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the unary family, and the tables that replace functions on 8- and 16-bit fixed point. */
#include <math.h>

#include "base/cpu.h"
#include "kernels/families.h"
#include "kernels/quick.h"
#include "kernels/unary/unary.h"

static bool by_byte_table(const void *args)
{
    const struct unary_args *a = args;
    return a->mode == UN_MODE_TABLE8 && a->out_bytes == 1 && cpu_permutes_bytes();
}

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant unary_variants[] = {
#include "kernels/unary/unary.def"
    {0},
};
#undef KERNEL

/* Below this many elements a 16-bit table costs more than it saves; the results are the same. */
enum { TABLE16_MIN = 16384, TABLE_HALVES_MIN = 1 << 18 };

/* The old separate names. Clamps carry their limits, the others their default parameters. */
static const struct {
    uint16_t op, un;
    double lo, hi;
} names[] = {
    {OP_ElementWiseAbs, UN_ABS, 0, 0},
    {OP_ElementWiseAsin, UN_ASIN, 0, 0},
    {OP_ElementWiseAtan, UN_ATAN, 0, 0},
    {OP_ElementWiseCeil, UN_CEIL, 0, 0},
    {OP_ElementWiseCos, UN_COS, 0, 0},
    {OP_ElementWiseExp, UN_EXP, 0, 0},
    {OP_ElementWiseFloor, UN_FLOOR, 0, 0},
    {OP_ElementWiseLog, UN_LOG, 0, 0},
    {OP_ElementWiseNeg, UN_NEG, 0, 0},
    {OP_ElementWiseNot, UN_NOT, 0, 0},
    {OP_ElementWiseRound, UN_ROUND, 0, 0},
    {OP_ElementWiseRsqrt, UN_RSQRT, 0, 0},
    {OP_ElementWiseSign, UN_SIGN, 0, 0},
    {OP_ElementWiseSin, UN_SIN, 0, 0},
    {OP_ElementWiseSoftplus, UN_SOFTPLUS, 0, 0},
    {OP_ElementWiseSquareRoot, UN_SQRT, 0, 0},
    {OP_Elu, UN_ELU, 0, 0},
    {OP_Gelu, UN_GELU, 0, 0},
    {OP_HardSwish, UN_HARD_SWISH, 0, 0},
    {OP_IsInf, UN_IS_INF, 1, 1},
    {OP_IsNan, UN_IS_NAN, 0, 0},
    {OP_Logit, UN_LOGIT, 0, 0},
    {OP_Relu, UN_RELU, 0, 0},
    {OP_Relu1, UN_CLAMP, -1, 1},
    {OP_Relu6, UN_CLAMP, 0, 6},
    {OP_ReluMinMax, UN_CLAMP, 0, 0},
    {OP_Sigmoid, UN_SIGMOID, 0, 0},
    {OP_Tanh, UN_TANH, 0, 0},
};

static double real_or(const struct op_call *c, const char *name, double otherwise)
{
    return op_param_index(c->op, name) >= 0 && op_has(c, name) ? op_real(c, name, 0) : otherwise;
}

static enum status describe(const struct op_call *c, struct unary_fn *f)
{
    enum op_id id = c->op->id;
    *f = (struct unary_fn){.op = UN_COUNT, .alpha = 1.0, .beta = 1.0, .threshold = -1.0, .lo = -INFINITY, .hi = INFINITY};
    if (id == OP_ElementWiseUnary)
        f->op = (enum unary_op)op_int(c, "operation", 0);
    else if (id == OP_ElementWiseNeuron)
        f->op = (enum unary_op)(UN_ELU + op_int(c, "operation", 0));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].op == id) {
            f->op = (enum unary_op)names[i].un;
            f->lo = names[i].lo;
            f->hi = names[i].hi;
        }
    RETURN_IF((unsigned)f->op >= UN_COUNT || (id == OP_ElementWiseUnary && f->op > UN_SQRT) ||
                  (id == OP_ElementWiseNeuron && f->op > UN_TANH),
              ST_NOT_SUPPORTED, "%s \"%s\": the operation is not known", c->op->name, c->node ? c->node : "");
    if (f->op == UN_HARD_SIGMOID) {
        f->alpha = 0.2f; /* the defaults are f32 numbers, like given values */
        f->beta = 0.5f;
    }
    f->alpha = real_or(c, "alpha", f->alpha);
    f->beta = real_or(c, "beta", f->beta);
    f->threshold = real_or(c, "threshold", f->threshold);
    f->lo = real_or(c, f->op == UN_IS_INF ? "detect_negative" : "min_value", f->lo);
    f->hi = real_or(c, f->op == UN_IS_INF ? "detect_positive" : "max_value", f->hi);
    return ST_OK;
}

static bool is_int(enum dtype t)
{
    enum dtype_kind k = dtype_kind(t);
    return k == DK_INT || k == DK_UINT || k == DK_BOOL;
}

static bool is_short_float(enum dtype t)
{
    return t == DT_F32 || t == DT_F16;
}

int unary_quick(enum unary_op op)
{
    static const uint8_t quick[UN_COUNT] = { [UN_EXP] = 1 + QUICK_EXP,
                                             [UN_SIGMOID] = 1 + QUICK_SIGMOID,
                                             [UN_TANH] = 1 + QUICK_TANH,
                                             [UN_GELU] = 1 + QUICK_GELU,
                                             [UN_HARD_SWISH] = 1 + QUICK_HARD_SWISH };
    return quick[op] - 1;
}

/* f16 has as many numbers as fixed point of 16 bits, but its functions take less time than theirs. */
static bool table_of_halves(const struct op_call *c)
{
    struct unary_fn f;
    return c->in[0]->type == DT_F16 && c->out[0]->type == DT_F16 && desc_count(c->in[0]) >= TABLE_HALVES_MIN &&
           describe(c, &f) == ST_OK && !unary_has_f32(f.op);
}

/* Whether the node works by table: 8- or 16-bit fixed point in, a result of at most 32 bits out; or f16. */
static uint32_t table_entries(const struct op_call *c)
{
    const struct tensor_desc *in = c->in[0], *out = c->out[0];
    unsigned bits = dtype_bits(in->type);
    if (table_of_halves(c))
        return 65536;
    if (!dtype_is_fixed(in->type) || (in->q.kind == Q_AXIS && in->q.n > 1) || dtype_bits(out->type) < 8 ||
        dtype_bits(out->type) > 32)
        return 0;
    if (bits == 8)
        return 256;
    return bits == 16 && desc_count(in) >= TABLE16_MIN ? 65536 : 0;
}

static enum status fill_args(const struct op_call *c, struct unary_args *a)
{
    *a = (struct unary_args){.total = desc_count(c->out[0])};
    TRY(describe(c, &a->fn));
    TRY(codec_init(&a->in, c->in[0], c));
    TRY(codec_init_out(&a->out, c->out[0], c));
    RETURN_IF(a->in.scales || a->out.scales, ST_NOT_SUPPORTED,
              "%s \"%s\": per-axis encodings have no kernel here; per-tensor ones have", c->op->name,
              c->node ? c->node : "");
    if (is_int(a->in.type) && is_int(a->out.type) && unary_has_i64(a->fn.op))
        a->mode = UN_MODE_I64;
    else if (dtype_is_float(a->in.type) && a->in.type != DT_F64 && !dtype_is_fixed(a->out.type) && unary_has_f32(a->fn.op))
        a->mode = UN_MODE_F32;
    else if (is_short_float(a->in.type) && is_short_float(a->out.type) && unary_quick(a->fn.op) >= 0)
        a->mode = UN_MODE_QUICK;
    else
        a->mode = UN_MODE_F64;
    return ST_OK;
}

static enum status unary_aux(const struct op_call *c, struct kernel_aux *ret)
{
    uint32_t entries = table_entries(c);
    ret->n = entries ? 1 : 0;
    ret->bytes[0] = (uint64_t)entries * dtype_bits(c->out[0]->type) / 8;
    return ST_OK;
}

static enum status unary_aux_fill(const struct op_call *c, uint32_t which, void *dst)
{
    struct unary_args a;
    uint16_t bits16[SPAN];
    uint8_t bits8[SPAN];
    double x[SPAN];
    uint32_t entries = table_entries(c);
    (void)which;
    TRY(fill_args(c, &a));
    for (uint32_t at = 0; at < entries; at += SPAN) {
        uint32_t n = entries - at < SPAN ? entries - at : SPAN;
        for (uint32_t i = 0; i < n; i++) {
            bits8[i] = (uint8_t)(at + i);
            bits16[i] = (uint16_t)(at + i);
        }
        span_load_f64_ref(&a.in, entries == 256 ? (const void *)bits8 : (const void *)bits16, 0, n, x);
        unary_f64_ref(&a.fn, x, n);
        span_store_f64_ref(&a.out, dst, at, n, x);
    }
    return ST_OK;
}

static bool plain(const struct codec *c)
{
    return !c->wide && !c->bits && c->scale > 0.0f && isfinite(c->scale);
}

/* A clamp between equal encodings of 8 or 16 bits: scale times an integer, divided by the scale, is exact in f64, so what is
 * not clamped stays as it is, and what is becomes the stored form of the bound. */
static bool only_limits(const struct op_call *c, struct unary_args *a)
{
    double bound[2] = {-INFINITY, INFINITY};
    int32_t stored[2];
    struct codec wide = a->out;
    unsigned bits = dtype_bits(a->in.type);
    if ((a->fn.op != UN_RELU && a->fn.op != UN_CLAMP) || !(a->fn.lo <= a->fn.hi) || !dtype_is_fixed(a->in.type) ||
        a->in.type != a->out.type || (bits != 8 && bits != 16) || !plain(&a->in) || !plain(&a->out) ||
        !codec_same_bits(c->in[0], c->out[0]))
        return false;
    unary_f64_ref(&a->fn, bound, 2);
    wide.type = DT_SQ32;
    span_store_f64_ref(&wide, stored, 0, 2, bound);
    a->least = stored[0];
    a->most = stored[1];
    return true;
}

static enum status unary_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                              const struct kernel_variant **variants)
{
    struct unary_args *a = args;
    TRY(fill_args(c, a));
    if (only_limits(c, a)) {
        a->mode = UN_MODE_LIMIT;
    } else if (c->n_aux && c->aux && c->aux[0] && (dtype_is_fixed(a->in.type) || a->in.type == DT_F16)) {
        a->table = c->aux[0];
        a->out_bytes = (uint8_t)(dtype_bits(a->out.type) / 8);
        a->mode = dtype_bits(a->in.type) == 8 ? UN_MODE_TABLE8 : UN_MODE_TABLE16;
    }
    kernel_lines_or_spans(c, ret, &a->unit);
    *variants = unary_variants;
    return ST_OK;
}

const struct kernel_family family_unary = {
    .name = "unary",
    .args_size = sizeof(struct unary_args),
    .bind = unary_bind,
    .aux = unary_aux,
    .aux_fill = unary_aux_fill,
};
