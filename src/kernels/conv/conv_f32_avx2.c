/* SPDX-License-Identifier: Apache-2.0 */
/* f32 and f16 products, AVX2: up to 6 rows by 16 channels in registers, 8 by 8. */
#include "kernels/conv/vec_avx2.h"

/* Half a vector takes as long as a whole one: none are used. */
typedef vf vh;
#define vh_zero() vf_zero()
#define vh_set1(x) vf_set1(x)
#define vh_load(p) vf_load(p)
#define vh_load_half(p) vf_load_half(p)
#define vh_fma(a, b, c) vf_fma(a, b, c)
#define vh_lower(v) (v)
#define vh_widen(v) (v)

#include "kernels/conv/conv_f32_body.h"

TILES_TALL(false, false, _f32)
TILES(2, false, false, _f32)
TILES_TALL(true, false, _f16)
TILES(2, true, false, _f16)
static tile_fn *const tiles_f32[2][CONV_TALL] = { TILE_ROW_TALL(_f32), TILE_ROW(2, _f32) };
static tile_fn *const tiles_f16[2][CONV_TALL] = { TILE_ROW_TALL(_f16), TILE_ROW(2, _f16) };

static void block_f32(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    block_run(tiles_f32, NULL, a, p, c, out);
}

static void block_f16(const struct conv_args *a, struct conv_panel *p, const struct conv_chunk *c, void *out)
{
    block_run(c->wide ? tiles_f32 : tiles_f16, NULL, a, p, c, out);
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

kernel_fn conv_f32_avx2, conv_f16_avx2;

void conv_f32_avx2(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &f32_engine);
}

void conv_f16_avx2(const struct kernel_call *call, struct range tile)
{
    conv_run(call, tile, &f16_engine);
}
