/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the pools. */
#include "kernels/families.h"
#include "kernels/pool/pool.h"

/* Windows of two dimensions, each with a tap inside the image. */
static bool accept_max(const void *args)
{
    const struct pool_args *a = args;
    bool inside = a->in[0] == 1 && a->out[0] == 1 && a->size[0] == 1 && !a->before[0];
    for (int d = 1; d < 3; d++)
        inside &= a->out[d] && a->before[d] < a->size[d] &&
                  (uint64_t)(a->out[d] - 1) * a->stride[d] < (uint64_t)a->in[d] + a->before[d];
    const bool halves = a->kind == POOL_MAX && a->src.type == DT_F16 && a->dst.type == DT_F16 && !a->dst.limited;
    return (a->raw || halves) && inside;
}

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant pool_variants[] = {
#include "kernels/pool/pool.def"
    {0},
};
#undef KERNEL

static void geometry(const struct op_call *c, struct pool_args *a)
{
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    uint32_t spatial = x->rank - 2u, lead = 3 - spatial;
    a->batch = x->dims[0];
    a->channels = x->dims[x->rank - 1];
    a->blocks = (a->channels + SPAN - 1) / SPAN;
    for (uint32_t d = 0; d < 3; d++) {
        a->in[d] = a->out[d] = a->size[d] = a->stride[d] = 1;
        if (d < lead)
            continue;
        uint32_t k = d - lead;
        a->in[d] = x->dims[1 + k];
        a->out[d] = y->dims[1 + k];
        a->size[d] = (uint32_t)op_int(c, "filter_size", k);
        a->stride[d] = (uint32_t)op_int(c, "stride", k);
        a->before[d] = (uint32_t)op_int(c, "pad_amount", 2 * k);
        a->after[d] = (uint32_t)op_int(c, "pad_amount", 2 * k + 1);
    }
}

/* No window has more taps inside the image: no more than the image has elements, whatever the padding is. */
static uint64_t taps_inside(const struct pool_args *a)
{
    uint64_t taps = 1;

    for (int d = 0; d < 3; d++)
        taps *= a->size[d] < a->in[d] ? a->size[d] : a->in[d];
    return taps;
}

/* Sums and extremes are taken of q + offset; scales come in once, at the end. */
static void fixed_point(const struct op_call *c, struct pool_args *a, uint64_t taps)
{
    int64_t lo = a->src.lo + a->src.offset, hi = a->src.hi + a->src.offset, most = hi > -lo ? hi : -lo;
    a->s_in = (double)a->src.scale;
    a->s_out = (double)a->dst.scale;
    a->exact = (uint64_t)most <= (1u << 24) / (taps ? taps : 1);
    a->raw = a->kind == POOL_MAX && dtype_bits(a->src.type) <= 16 && dtype_bits(a->src.type) >= 8 && !a->src.bits &&
             codec_copies(&a->dst, c->in[0], c->out[0]);
    codec_rescale(&a->src, 1.0);
    codec_rescale(&a->dst, 1.0);
}

static enum status pool_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                             const struct kernel_variant **variants)
{
    struct pool_args *a = args;
    enum op_id id = c->op->id;
    *a = (struct pool_args){.exact = true, .s_in = 1.0, .s_out = 1.0};
    a->kind = id == OP_PoolAvg2d || id == OP_PoolAvg3d ? POOL_AVG : id == OP_L2Pool2d ? POOL_L2 : POOL_MAX;
    a->whole = !dtype_is_fixed(c->in[0]->type) && !dtype_is_float(c->in[0]->type);
    RETURN_IF(a->whole && (a->kind != POOL_MAX || c->out[0]->type != c->in[0]->type), ST_NOT_SUPPORTED,
              "%s \"%s\": no kernel for %s; floats and fixed point have one, integers a maximum of the same type",
              c->op->name, c->node ? c->node : "", dtype_name(c->in[0]->type));
    TRY(codec_init(&a->src, c->in[0], c));
    TRY(codec_init_out(&a->dst, c->out[0], c));
    RETURN_IF(a->src.scales || a->dst.scales, ST_NOT_SUPPORTED,
              "%s \"%s\": per-axis encodings have no kernel here; per-tensor ones have", c->op->name,
              c->node ? c->node : "");
    geometry(c, a);
    uint64_t taps = taps_inside(a);
    if (a->kind == POOL_AVG)
        a->count_pad = op_int(c, "count_pad_for_edges", 0);
    if (dtype_is_fixed(a->src.type) && dtype_is_fixed(a->dst.type) && a->kind != POOL_L2)
        fixed_point(c, a, taps);
    kernel_units(ret, (uint64_t)a->batch * a->out[0] * a->out[1] * a->out[2] * a->blocks,
                 taps * (a->channels < SPAN ? a->channels : SPAN));
    ret->run_units = (uint32_t)a->blocks;
    ret->run_elements = a->channels;
    a->parts = 1;
    struct op_lines lines;
    if (c->by_lines && op_by_lines(c) && desc_lines(c->out[0], &lines)) {
        a->parts = (uint32_t)(lines.elements / a->channels) * a->blocks;
        ret->extent = lines.n;
        ret->run_units = 1;
        ret->run_elements = lines.elements;
        ret->grain = 1;
        ret->by_lines = true;
    }
    *variants = pool_variants;
    return ST_OK;
}

const struct kernel_family family_pool = {
    .name = "pool",
    .args_size = sizeof(struct pool_args),
    .bind = pool_bind,
};
