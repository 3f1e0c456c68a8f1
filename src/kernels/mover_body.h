/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of mover.h. Included by per-instruction-set files. */
#ifndef KERNELS_MOVER_BODY_H
#define KERNELS_MOVER_BODY_H

#include "kernels/mover.h"

#define MOVE_STRIDED(T)                                            \
    for (uint64_t i = 0; i < n; i++)                               \
        ((T *)dst)[to + (int64_t)i] = ((const T *)src)[from + (int64_t)i * stride];

static inline void move_bits(const struct mover *m, void *dst, int64_t to, const void *src, int64_t from, int64_t stride,
                             uint64_t n)
{
    if (stride == 1 && m->bytes) {
        memmove((char *)dst + to * m->bytes, (const char *)src + from * m->bytes, n * m->bytes);
        return;
    }
    switch (m->bytes) {
    case 1:
        MOVE_STRIDED(uint8_t)
        break;
    case 2:
        MOVE_STRIDED(uint16_t)
        break;
    case 4:
        MOVE_STRIDED(uint32_t)
        break;
    case 8:
        MOVE_STRIDED(uint64_t)
        break;
    default:
        for (uint64_t i = 0; i < n; i++) {
            int64_t q;
            K(span_load_i64)(m->in.type, src, from + (int64_t)i * stride, 1, 1, &q);
            K(span_store_i64)(m->out.type, dst, to + (int64_t)i, 1, 1, &q);
        }
    }
}

/* n elements that are `stride` apart in src to consecutive places in dst */
static inline void move_run(const struct mover *m, void *dst, int64_t to, const void *src, int64_t from, int64_t stride,
                            uint64_t n)
{
    float buf[SPAN];
    if (m->copy) {
        move_bits(m, dst, to, src, from, stride, n);
        return;
    }
    for (uint64_t at = 0; at < n; at += SPAN) {
        uint32_t k = n - at < SPAN ? (uint32_t)(n - at) : SPAN;
        K(span_load)(&m->in, src, from + (int64_t)at * stride, stride, k, buf);
        K(span_store)(&m->out, dst, to + (int64_t)at, 1, k, buf);
    }
}

static inline void move_fill_with(const struct mover *m, void *dst, int64_t to, uint64_t n, const uint8_t value[8])
{
    struct mover same = {.copy = true, .bytes = m->bytes, .in = m->out, .out = m->out};
    move_bits(&same, dst, to, value, 0, 0, n);
}

static inline void move_fill(const struct mover *m, void *dst, int64_t to, uint64_t n)
{
    move_fill_with(m, dst, to, n, m->zero);
}

#endif
