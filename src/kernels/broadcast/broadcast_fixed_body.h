/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and differences of fixed-point tensors of one type and shape, in registers from load to store; include vec_<isa>.h
 * first. broadcast_accept_fixed says when this is what the family computes (docs/numerics.md section 4): values and
 * multipliers are small enough that nothing is infinite. */
#include "kernels/broadcast/broadcast.h"

/* n elements from p + at, as numbers. The type is a constant where this is used. */
static inline __attribute__((always_inline)) vi fixed_at(enum dtype t, const void *p, uint64_t at, uint32_t n)
{
    switch (t) {
    case DT_UQ8: return vi_from_u8((const uint8_t *)p + at, n);
    case DT_SQ8: return vi_from_s8((const int8_t *)p + at, n);
    case DT_UQ16: return vi_from_u16((const uint16_t *)p + at, n);
    default: return vi_from_s16((const int16_t *)p + at, n);
    }
}

struct fixed_sum {
    const void *x, *y;
    char *out;
    vi x_offset, y_offset, out_offset;
    vf x_scale, y_scale, lo, hi;
};

static inline __attribute__((always_inline)) void sum_at(const struct fixed_sum *s, enum dtype t, uint64_t at, uint32_t n)
{
    const uint32_t bytes = t == DT_UQ8 || t == DT_SQ8 ? 1 : 2;
    vf x = vf_mul(vf_from_int(vi_add(fixed_at(t, s->x, at, n), s->x_offset)), s->x_scale);
    vf y = vf_mul(vf_from_int(vi_add(fixed_at(t, s->y, at, n), s->y_offset)), s->y_scale);
    vi q = vi_round(vf_min(vf_max(vf_add(x, y), s->lo), s->hi));
    vi_store_n(s->out + at * bytes, vi_sub(q, s->out_offset), n, bytes);
}

static inline __attribute__((always_inline)) void sum_run(const struct fixed_sum *all, enum dtype t, uint64_t at,
                                                          uint64_t end)
{
    const struct fixed_sum s = *all; /* a copy that stores cannot change */
    for (; at + VEC_LANES <= end; at += VEC_LANES)
        sum_at(&s, t, at, VEC_LANES);
    if (at < end)
        sum_at(&s, t, at, (uint32_t)(end - at));
}

void K(broadcast_fixed)(const struct kernel_call *call, struct range tile)
{
    const struct broadcast_args *a = call->args;
    uint64_t at = tile.begin * a->unit, end = tile.end * a->unit < a->total ? tile.end * a->unit : a->total;
    const struct fixed_sum s = {
        .x = call->data[0], .y = call->data[1], .out = call->data[a->n_in],
        .x_offset = vi_set1(a->in[0].offset), .y_offset = vi_set1(a->in[1].offset), .out_offset = vi_set1(a->out.offset),
        .x_scale = vf_set1(a->in[0].scale), .y_scale = vf_set1(a->op == BIN_ADD ? a->in[1].scale : -a->in[1].scale),
        .lo = vf_set1(a->out.flo), .hi = vf_set1(a->out.fhi),
    };
    switch (a->out.type) {
    case DT_UQ8: sum_run(&s, DT_UQ8, at, end); return;
    case DT_SQ8: sum_run(&s, DT_SQ8, at, end); return;
    case DT_UQ16: sum_run(&s, DT_UQ16, at, end); return;
    default: sum_run(&s, DT_SQ16, at, end); return;
    }
}
