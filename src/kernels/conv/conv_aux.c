/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of the conv family, made once at prepare: packed weights (conv_pack.c) and channel records (conv_record.c). For
 * weights that are not constant the driver makes them chunk by chunk with the same functions. */
#include <string.h>

#include "base/mem.h"
#include "kernels/conv/conv.h"

enum status conv_aux(const struct op_call *c, struct kernel_aux *ret)
{
    struct conv_args a;
    TRY(conv_describe(c, &a));
    bool known = c->in_data && c->in_data[1] && (!a.has_bias || c->in_data[2]);
    if (!known)
        return ST_OK;
    ret->n = 2;
    ret->bytes[0] = a.kind == CONV_DEPTHWISE ? (uint64_t)a.taps * a.npad * a.wsize
                                             : a.w_slices * conv_slice_bytes(&a);
    ret->bytes[1] = conv_record_bytes(&a, (uint64_t)a.w_slices * a.npad);
    ret->replaces = a.has_bias ? 6 : 2;
    return ST_OK;
}

static void fill_weights(const struct conv_args *a, const void *w, void *dst)
{
    if (a->kind == CONV_DEPTHWISE) {
        conv_pack_depthwise(a, w, dst);
        return;
    }
    uint64_t bytes = conv_slice_bytes(a);
    for (uint32_t s = 0; s < a->w_slices; s++)
        conv_pack(a, w, s, 0, a->cog, (char *)dst + s * bytes);
}

/* Works block by block from the plain weights, since the packed ones may not be at hand. */
static enum status fill_records(const struct conv_args *a, const struct op_call *c, void *dst)
{
    uint64_t n = (uint64_t)a->w_slices * a->npad, bytes = a->kind == CONV_DEPTHWISE ? (uint64_t)a->taps * a->npad * a->wsize
                                                                                     : conv_block_bytes(a);
    CLEANUP(mem_freep) void *packed = mem_alloc(bytes);
    RETURN_IF(!packed, ST_NO_MEMORY, "%s: %llu bytes to sum weights", c->op->name, (unsigned long long)bytes);
    struct conv_head *h = dst;
    memset(dst, 0, conv_record_bytes(a, n));
    h->plain = 1;
    uint32_t step = a->kind == CONV_DEPTHWISE ? a->npad : CONV_BLOCK;
    for (uint32_t s = 0; s < a->w_slices; s++)
        for (uint32_t c0 = 0; c0 < a->cog; c0 += step) {
            uint32_t some = a->cog - c0 < step ? a->cog - c0 : step;
            uint64_t at = (uint64_t)s * a->npad + c0;
            if (a->kind == CONV_DEPTHWISE)
                conv_pack_depthwise(a, c->in_data[1], packed);
            else
                conv_pack(a, c->in_data[1], s, c0, some, packed);
            struct conv_record r = { .m = (float *)conv_m(h) + at,
                                     .b = (int64_t *)conv_b(a, h, n) + at,
                                     .wsum = (int64_t *)conv_wsum(a, h, n) + at,
                                     .m_stride = conv_m_stride(n),
                                     .sum_stride = n };
            conv_record_fill(a, packed, a->has_bias ? c->in_data[2] : NULL, s, c0, some, &r);
            h->bound = r.bound > h->bound ? r.bound : h->bound;
            h->plain = h->plain && r.plain;
        }
    return ST_OK;
}

enum status conv_aux_fill(const struct op_call *c, uint32_t which, void *dst)
{
    struct conv_args a;
    TRY(conv_describe(c, &a));
    if (which == 1)
        return fill_records(&a, c, dst);
    fill_weights(&a, c->in_data[1], dst);
    return ST_OK;
}
