/* SPDX-License-Identifier: Apache-2.0 */
/* What the first layers of AVX-512 and AMX share: input lines on a stage, weights out of a packed block, and the end of
 * their sums. Include vec_avx512.h first. */
#ifndef KERNELS_CONV_CONV_FIRST_H
#define KERNELS_CONV_CONV_FIRST_H

#include <string.h>

#include "kernels/conv/conv_bytes_avx512.h"
#include "kernels/conv/conv_stage.h"

enum { MAX_NR = CONV_CHUNK / CONV_BLOCK, BLOCK_BYTES = 64 };

/* What belongs to the channels of a chunk. */
struct first_chunk {
    uint32_t c0, nr; /* the first one, blocks of them */
    bool half;       /* the last block has eight */
    struct bytes_end end;
    vf m[MAX_NR];
    int32_t base[CONV_CHUNK] __attribute__((aligned(64)));
};

/* `left`: what the kernel leaves out of the elements of x. */
static void first_chunk(struct first_chunk *c, const struct conv_args *a, uint32_t c0, int64_t left)
{
    const uint32_t n = a->co - c0 < CONV_CHUNK ? a->co - c0 : CONV_CHUNK;
    const int64_t offsets = (int64_t)a->w_offset * a->x.kernel * a->ci * a->y.kernel;
    c->c0 = c0;
    c->nr = (n + CONV_BLOCK - 1) / CONV_BLOCK;
    c->half = n % CONV_BLOCK != 0;
    c->end = bytes_end(a);
    for (uint32_t i = 0; i < n; i++)
        c->base[i] = (int32_t)(uint32_t)((uint64_t)conv_b(a, a->head, a->npad)[c0 + i] +
                                         (uint64_t)left * (uint64_t)(conv_wsum(a, a->head, a->npad)[c0 + i] + offsets));
    for (uint32_t v = 0; v < c->nr; v++)
        c->m[v] = vf_load(conv_m(a->head) + c0 + v * CONV_BLOCK);
}

static const uint8_t *first_block(const struct conv_args *a, const struct first_chunk *c, uint32_t v)
{
    return (const uint8_t *)a->packed + (c->c0 / CONV_BLOCK + v) * conv_block_bytes(a);
}

static inline __attribute__((always_inline)) void first_store_block(const struct first_chunk *c, const int nr, int at,
                                                                    uint8_t *to, __m128i v)
{
    if (c->half && at % nr == nr - 1)
        _mm_storel_epi64((__m128i *)to, v);
    else
        _mm_storeu_si128((__m128i *)to, v);
}

/* Sums i … i + 3, counted from block to block and then from pixel to pixel, become bytes together. Pixels lie out_step bytes
 * apart. */
static inline __attribute__((always_inline)) void first_end_four(const struct first_chunk *c, const int nr, const int i,
                                                                 const vi acc[4], uint8_t *out, uint64_t out_step)
{
    vi v[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++)
        v[j] = vi_round(vf_mul(vf_from_int(acc[j]), c->m[(i + j) % nr]));
    const vi q = bytes_in_order(&c->end, v);
    if (nr == 4 && !c->half) {
        _mm512_storeu_si512(out + (uint64_t)(i / 4) * out_step, q);
        return;
    }
    if (nr == 2 && !c->half) {
        _mm256_storeu_si256((__m256i *)(out + (uint64_t)(i / 2) * out_step), _mm512_castsi512_si256(q));
        _mm256_storeu_si256((__m256i *)(out + (uint64_t)(i / 2 + 1) * out_step), _mm512_extracti64x4_epi64(q, 1));
        return;
    }
#define STORE(j)                                                                                                 \
    first_store_block(c, nr, i + (j), out + (uint64_t)((i + (j)) / nr) * out_step + (i + (j)) % nr * CONV_BLOCK, \
                      _mm512_extracti32x4_epi32(q, j))
    STORE(0);
    STORE(1);
    STORE(2);
    STORE(3);
#undef STORE
}

/* `all` bytes: input line y with its padding, or real zero all along; every byte changed by `flip`. */
static void first_line(const struct conv_args *a, const uint8_t *image, int64_t y, uint8_t flip, uint8_t *to, uint64_t all)
{
    const uint64_t before = (uint64_t)a->x.pad * a->ci, bytes = (uint64_t)a->x.in * a->ci,
                   n = bytes < all - before ? bytes : all - before;
    const uint8_t zero = (uint8_t)(flip - (uint32_t)a->x_offset);
    if (y < 0 || y >= a->y.in) {
        memset(to, zero, all);
        return;
    }
    memset(to, zero, before);
    if (flip)
        for (uint64_t i = 0; i < n; i++)
            to[before + i] = image[(uint64_t)y * bytes + i] ^ flip;
    else
        memcpy(to + before, image + (uint64_t)y * bytes, n);
    memset(to + before + n, zero, all - before - n);
}

#endif
