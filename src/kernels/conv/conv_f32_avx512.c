/* SPDX-License-Identifier: Apache-2.0 */
/* f32 and f16 products, AVX-512: up to 6 rows by 64 channels in registers, 8 by 16. */
#include "kernels/conv/vec_avx512.h"

/* Half a vector: on processors that take 512 bits in two halves, half of the time. */
typedef __m256 vh;
#define vh_zero() _mm256_setzero_ps()
#define vh_set1(x) _mm256_set1_ps(x)
#define vh_load(p) _mm256_loadu_ps(p)
#define vh_load_half(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define vh_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define vh_lower(v) _mm512_castps512_ps256(v)
#define vh_widen(v) _mm512_zextps256_ps512(v)

#include "kernels/conv/conv_f32_body.h"

#define ALL_TILES(half, narrow, sfx) \
    TILES_TALL(half, narrow, sfx) TILES(2, half, narrow, sfx) TILES(3, half, narrow, sfx) TILES(4, half, narrow, sfx)
#define TABLE(sfx)                                                               \
    {                                                                            \
        TILE_ROW_TALL(sfx), TILE_ROW(2, sfx), TILE_ROW(3, sfx), TILE_ROW(4, sfx) \
    }
ALL_TILES(false, false, _f32)
ALL_TILES(false, true, _f32_narrow)
ALL_TILES(true, false, _f16)
ALL_TILES(true, true, _f16_narrow)
static tile_fn *const tiles_f32[4][CONV_TALL] = TABLE(_f32), *const narrow_f32[4][CONV_TALL] = TABLE(_f32_narrow);
static tile_fn *const tiles_f16[4][CONV_TALL] = TABLE(_f16), *const narrow_f16[4][CONV_TALL] = TABLE(_f16_narrow);

static void block_f32(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    block_run(tiles_f32, narrow_f32, a, p, c, out);
}

static void block_f16(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    if (c->wide)
        block_run(tiles_f32, narrow_f32, a, p, c, out);
    else
        block_run(tiles_f16, narrow_f16, a, p, c, out);
}

static const struct conv_engine f32_engine = { .elem = 4,
                                               .apart = true,
                                               .parts = true,
                                               .widen = widen,
                                               .rows = CONV_VECTOR_ROWS,
                                               .in_place = in_place,
                                               .load = load_row,
                                               .load_windows = load_windows,
                                               .pad = pad_row,
                                               .block = block_f32 };
static const struct conv_engine f16_engine = { .elem = 4,
                                               .apart = true,
                                               .parts = true,
                                               .widen = widen,
                                               .rows = CONV_VECTOR_ROWS,
                                               .in_place = in_place,
                                               .load = load_row,
                                               .load_windows = load_windows,
                                               .pad = pad_row,
                                               .block = block_f16 };

kernel_fn conv_f32_avx512, conv_f16_avx512;

void conv_f32_avx512(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &f32_engine);
}

void conv_f16_avx512(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &f16_engine);
}
