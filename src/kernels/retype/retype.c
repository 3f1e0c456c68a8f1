/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Quantize, Dequantize, Convert and Cast. */
#include "kernels/retype/retype.h"
#include "kernels/families.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant retype_variants[] = {
#include "kernels/retype/retype.def"
    {0},
};
#undef KERNEL

/* The plain integer type of the same storage, and the other way round. */
static const struct {
    enum dtype plain, fixed;
} twins[] = {
    {DT_I8, DT_SQ8}, {DT_I16, DT_SQ16}, {DT_I32, DT_SQ32}, {DT_U8, DT_UQ8}, {DT_U16, DT_UQ16}, {DT_U32, DT_UQ32},
    {DT_I4, DT_SQ4}, {DT_U4, DT_UQ4},   {DT_I2, DT_SQ2},   {DT_U2, DT_UQ2},
};

static enum dtype plain_of(enum dtype t)
{
    for (size_t i = 0; i < sizeof(twins) / sizeof(twins[0]); i++)
        if (twins[i].fixed == t)
            return twins[i].plain;
    return t;
}

static enum dtype fixed_of(enum dtype t)
{
    for (size_t i = 0; i < sizeof(twins) / sizeof(twins[0]); i++)
        if (twins[i].plain == t)
            return twins[i].fixed;
    return t;
}

static bool whole(enum dtype t)
{
    return !dtype_is_float(t);
}

/* What counts as one encoding for the whole tensor: no encoding at all and an axis of one channel too. */
static void per_tensor(struct tensor_desc *d)
{
    bool fixed = dtype_is_fixed(d->type);
    if (!fixed)
        d->q = (struct quant){.kind = Q_TENSOR, .scale = 1.0f};
    else if (d->q.kind == Q_NONE || (d->q.kind == Q_AXIS && d->q.n <= 1))
        d->q = (struct quant){.kind = Q_TENSOR, .bits = d->q.bits, .mapping = d->q.mapping, .scale = quant_scale(&d->q, 0),
                              .offset = quant_offset(&d->q, 0)};
    d->type = fixed_of(d->type);
}

/* Codecs do the simple side, and the limits of the output. */
static enum status bind_slow(const struct op_call *c, struct retype_args *a, const struct tensor_desc *in,
                             const struct tensor_desc *out)
{
    struct tensor_desc plain_in = *in, plain_out = *out;
    encoding_init(&a->from, in);
    encoding_init(&a->to, out);
    if (!encoding_is_simple(&in->q))
        plain_in.q = (struct quant){.kind = Q_TENSOR, .bits = in->q.bits, .scale = 1.0f};
    if (!encoding_is_simple(&out->q))
        plain_out.q = (struct quant){.kind = Q_TENSOR, .bits = out->q.bits, .scale = 1.0f};
    TRY(codec_init(&a->in, &plain_in, c));
    TRY(codec_init_out(&a->out, &plain_out, c));
    a->mode = RETYPE_SLOW;
    return ST_OK;
}

/* The others: real numbers. Plain integers of up to 32 bits are fixed point with scale 1 and offset 0. */
static enum status bind_real(const struct op_call *c, struct retype_args *a)
{
    struct tensor_desc in = *c->in[0], out = *c->out[0];
    per_tensor(&in);
    per_tensor(&out);
    if (!encoding_is_simple(&in.q) || !encoding_is_simple(&out.q))
        return bind_slow(c, a, &in, &out);
    TRY(codec_init(&a->in, &in, c));
    TRY(codec_init_out(&a->out, &out, c));
    bool both = dtype_is_fixed(in.type) && dtype_is_fixed(out.type);
    if (both && (a->in.scales || a->out.scales))
        a->mode = RETYPE_AXIS;
    else if (in.type == DT_F64 && dtype_is_float(out.type)) /* encodings are f32 arithmetic */
        a->mode = RETYPE_F64;
    else
        a->mode = codec_pair(&a->in, &a->out, &in, &out) ? RETYPE_COPY : RETYPE_F32;
    return ST_OK;
}

/* Whether Cast sees a real number in what is stored. */
static bool counts_real(const struct tensor_desc *d)
{
    return dtype_is_fixed(d->type) && d->q.kind != Q_NONE && encoding_is_simple(&d->q);
}

/* Cast: fixed point without an encoding counts as the plain integer of its storage, and beside that integer any is what is
 * stored. */
static enum status bind_cast(const struct op_call *c, struct retype_args *a)
{
    struct tensor_desc in = *c->in[0], out = *c->out[0];
    bool from = counts_real(&in), to = counts_real(&out);
    if (from && to)
        return bind_real(c, a);
    bool stored = plain_of(in.type) == plain_of(out.type);
    if (stored || !from) {
        in.q = (struct quant){ 0 };
        in.type = plain_of(in.type);
    }
    if (stored || !to) {
        out.q = (struct quant){ 0 };
        out.type = plain_of(out.type);
    }
    TRY(codec_init(&a->in, &in, c));
    TRY(codec_init(&a->out, &out, c));
    if (in.type == out.type)
        a->mode = RETYPE_COPY;
    else if ((in.type == DT_F64 || out.type == DT_F64) && !from && !to)
        a->mode = RETYPE_F64;
    else
        a->mode = from || to || !whole(in.type) || !whole(out.type) ? RETYPE_F32 : RETYPE_I64;
    return ST_OK;
}

static enum status retype_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    struct retype_args *a = args;
    *a = (struct retype_args){.total = desc_count(c->out[0])};
    TRY(c->op->id == OP_Cast ? bind_cast(c, a) : bind_real(c, a));
    kernel_lines_or_spans(c, ret, &a->unit);
    *variants = retype_variants;
    return ST_OK;
}

const struct kernel_family family_retype = {
    .name = "retype",
    .args_size = sizeof(struct retype_args),
    .bind = retype_bind,
};
