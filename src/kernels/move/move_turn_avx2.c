/* SPDX-License-Identifier: Apache-2.0 */
/* Data movement whose rows are columns of the input: the transpositions between layouts of images, and of matrices. 16 by 16
 * bytes, 8 by 8 words or 4 by 4 double words at a time are read along the input's rows, turned in registers and written
 * along the output's. */
#include <immintrin.h>

#include "kernels/families.h"
#include "kernels/move/move.h"

/* `rows` output rows of n elements, one after another; element i of row r is at src + r + i * stride. */
struct turn {
    void *dst;
    const void *src;
    uint64_t rows, n;
    int64_t stride;
};

/* Images of two to four channels: planes are put together, or taken apart. With the number written out, compilers do it by
 * shuffles. */
#define FEW_CHANNELS(T, UNIT, C)                                                                               \
    static void join_##C##_##UNIT(T *restrict dst, const T *restrict src, uint64_t pixels, int64_t plane)      \
    {                                                                                                          \
        for (uint64_t p = 0; p < pixels; p++)                                                                  \
            for (int c = 0; c < C; c++)                                                                        \
                dst[p * C + (uint64_t)c] = src[(int64_t)p + c * plane];                                        \
    }                                                                                                          \
    static void part_##C##_##UNIT(T *restrict dst, const T *restrict src, uint64_t pixels, int64_t plane)      \
    {                                                                                                          \
        for (uint64_t p = 0; p < pixels; p++)                                                                  \
            for (int c = 0; c < C; c++)                                                                        \
                dst[(int64_t)p + c * plane] = src[p * C + (uint64_t)c];                                        \
    }
#define FEW(T, UNIT)                                                                                           \
    FEW_CHANNELS(T, UNIT, 2)                                                                                   \
    FEW_CHANNELS(T, UNIT, 3)                                                                                   \
    FEW_CHANNELS(T, UNIT, 4)                                                                                   \
    typedef void few_##UNIT(T *restrict, const T *restrict, uint64_t, int64_t);                                \
    static bool turn_few_##UNIT(const struct turn *t)                                                          \
    {                                                                                                          \
        static few_##UNIT *const join[] = { join_2_##UNIT, join_3_##UNIT, join_4_##UNIT };                     \
        static few_##UNIT *const part[] = { part_2_##UNIT, part_3_##UNIT, part_4_##UNIT };                     \
        if (t->n >= 2 && t->n <= 4)                                                                            \
            join[t->n - 2](t->dst, t->src, t->rows, t->stride);                                                \
        else if (t->rows >= 2 && t->rows <= 4 && t->stride == (int64_t)t->rows)                                \
            part[t->rows - 2](t->dst, t->src, t->n, (int64_t)t->n);                                            \
        else                                                                                                   \
            return false;                                                                                      \
        return true;                                                                                           \
    }
FEW(uint8_t, epi8)
FEW(uint16_t, epi16)
FEW(uint32_t, epi32)
#undef FEW
#undef FEW_CHANNELS

/* N rows of N elements: each step interleaves the upper half with the lower one, and log2(N) such steps turn them. */
#define TURN_BLOCK(T, N, STEPS, UNIT)                                                                                  \
    static inline void block_##UNIT(T *dst, const T *src, uint64_t to, int64_t from)                                   \
    {                                                                                                                  \
        __m128i x[N], y[N];                                                                                            \
        _Pragma("GCC unroll 16") for (int i = 0; i < N; i++) x[i] = _mm_loadu_si128((const __m128i *)(src + i * from)); \
        _Pragma("GCC unroll 4") for (int s = 0; s < STEPS; s++)                                                        \
        {                                                                                                              \
            _Pragma("GCC unroll 8") for (int i = 0; i < N / 2; i++)                                                    \
            {                                                                                                          \
                y[2 * i] = _mm_unpacklo_##UNIT(x[i], x[i + N / 2]);                                                    \
                y[2 * i + 1] = _mm_unpackhi_##UNIT(x[i], x[i + N / 2]);                                                \
            }                                                                                                          \
            _Pragma("GCC unroll 16") for (int i = 0; i < N; i++) x[i] = y[i];                                          \
        }                                                                                                              \
        _Pragma("GCC unroll 16") for (int i = 0; i < N; i++) _mm_storeu_si128((__m128i *)(dst + (uint64_t)i * to), x[i]); \
    }                                                                                                                  \
    static void turn_##UNIT(const struct turn *t)                                                                      \
    {                                                                                                                  \
        T *dst = t->dst;                                                                                               \
        const T *src = t->src;                                                                                         \
        const uint64_t rows = t->rows / N * N, n = t->n / N * N;                                                       \
        if (turn_few_##UNIT(t))                                                                                        \
            return;                                                                                                    \
        for (uint64_t r = 0; r < rows; r += N)                                                                         \
            for (uint64_t i = 0; i < n; i += N)                                                                        \
                block_##UNIT(dst + r * t->n + i, src + r + (int64_t)i * t->stride, t->n, t->stride);                   \
        for (uint64_t r = 0; r < t->rows; r++)                                                                         \
            for (uint64_t i = r < rows ? n : 0; i < t->n; i++)                                                         \
                dst[r * t->n + i] = src[(int64_t)r + (int64_t)i * t->stride];                                          \
    }
TURN_BLOCK(uint8_t, 16, 4, epi8)
TURN_BLOCK(uint16_t, 8, 3, epi16)
TURN_BLOCK(uint32_t, 4, 2, epi32)
#undef TURN_BLOCK

/* Whole rows [row, end) of the output, plane by plane. */
static void turn_rows(const struct kernel_call *call, const struct move_args *a, uint64_t row, uint64_t end)
{
    const uint32_t d = a->view.rank - 1, bytes = a->mover.bytes;
    const uint64_t n = a->view.dims[d], of = a->view.dims[d - 1];
    for (uint64_t k; row < end; row += k) {
        struct view_walk w;
        k = of - row % of < end - row ? of - row % of : end - row;
        view_seek(&w, &a->view, row * n);
        struct turn t = { (char *)call->data[a->n_in] + row * n * bytes,
                          (const char *)call->data[0] + (a->first + w.at) * bytes, k, n, a->view.strides[d] };
        (bytes == 1 ? turn_epi8 : bytes == 2 ? turn_epi16 : turn_epi32)(&t);
    }
}

#define MOVE_PART(T)                          \
    for (uint64_t i = 0; i < end - at; i++)   \
        ((T *)dst)[i] = ((const T *)src)[(int64_t)i * stride];

/* A range begins and ends where work is cut: a part of one row. */
static void move_part(const struct kernel_call *call, const struct move_args *a, uint64_t at, uint64_t end)
{
    const uint32_t bytes = a->mover.bytes;
    const int64_t stride = a->view.strides[a->view.rank - 1];
    struct view_walk w;
    view_seek(&w, &a->view, at);
    void *dst = (char *)call->data[a->n_in] + at * bytes;
    const void *src = (const char *)call->data[0] + (a->first + w.at) * bytes;
    if (bytes == 1)
        MOVE_PART(uint8_t)
    else if (bytes == 2)
        MOVE_PART(uint16_t)
    else
        MOVE_PART(uint32_t)
}
#undef MOVE_PART

void move_turn_avx2(const struct kernel_call *call, struct range tile)
{
    const struct move_args *a = call->args;
    const uint64_t n = a->view.dims[a->view.rank - 1], at = (uint64_t)tile.begin * a->unit;
    uint64_t end = (uint64_t)tile.end * a->unit;
    end = end < a->total ? end : a->total;
    if (at >= end)
        return;
    const uint64_t first = (at + n - 1) / n, last = end / n;
    if (first > last) {
        move_part(call, a, at, end);
        return;
    }
    if (at < first * n)
        move_part(call, a, at, first * n);
    turn_rows(call, a, first, last);
    if (last * n < end)
        move_part(call, a, last * n, end);
}
