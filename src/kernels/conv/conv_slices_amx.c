/* SPDX-License-Identifier: Apache-2.0 */
/* 8-bit products of matrices that are both known only while running (attention), AMX: 64 channels at a time are packed, then
 * multiplied in squares (conv_squares.h). All channels have one multiplier and no bias, so nothing else is made for them. */
#include "kernels/conv/vec_avx512.h"

#include "kernels/conv/conv_flat.h"
enum { ROWS_APART = false };
#include "kernels/conv/conv_squares_bytes.h"

#include "kernels/conv/conv_squares.h"

kernel_fn conv_q8_slices_amx, conv_q8_amx;

/* Chunk `at` of all slices comes to the workspace, with what belongs to its channels. */
static void bring_chunk(struct squares *f, const struct kernel_call *call, uint32_t at)
{
    const struct conv_args *a = f->a;
    const uint32_t slice = at / a->slice_chunks, c0 = at % a->slice_chunks * CONV_CHUNK,
                   n = a->cog - c0 < CONV_CHUNK ? a->cog - c0 : CONV_CHUNK;
    char *to = (char *)call->work + a->seg_bytes + a->panel_rows * a->panel_stride;
    conv_pack(a, call->data[1], (uint32_t)conv_matrix_of(a, a->w_batch, slice), c0, n, to);
    for (uint32_t c = 0; c < n; c += CONV_BLOCK) {
        int64_t sum[CONV_BLOCK];
        vec_sum_fours((const int8_t *)to + c / CONV_BLOCK * f->block, a->kpad / 4, sum);
        for (uint32_t i = 0; i < CONV_BLOCK; i++)
            end_base(f, c + i, a->x_offset * sum[i]);
    }
    f->weights = (const uint8_t *)to;
    f->channels = n;
    f->x = (const uint8_t *)call->data[0] + conv_matrix_of(a, a->x_batch, slice) * a->rows * a->cig;
    f->out = (uint8_t *)call->data[a->n_in] + (uint64_t)slice * a->rows * a->co + c0;
}

void conv_q8_slices_amx(const struct kernel_call *call, struct range tile)
{
    const struct conv_args *a = call->args;
    float m[CONV_CHUNK];
    struct squares f;
    squares_init(&f, call, conv_flat_step(a));
    squares_steps(&f, a->x_row, TILE * a->x_row);
    f.m = m;
    for (uint32_t c = 0; c < CONV_CHUNK; c++)
        m[c] = conv_one_m(a);
    choose_form(&f);
    for (uint32_t at = tile.begin; at < tile.end;) {
        const struct conv_part p = conv_part(a, at, tile.end);
        const uint64_t row = (uint64_t)p.row0 * a->unit_rows, end = (uint64_t)p.row1 * a->unit_rows,
                       last = end < a->rows ? end : a->rows;
        if (last - row < PIECE) {
            let_go(&f);
            conv_q8_amx(call, (struct range){ at, at + p.units });
            f.shape = 0;
        }
        for (uint32_t i = p.chunk0; i < p.chunk1 && last - row >= PIECE; i++) {
            bring_chunk(&f, call, i);
            run_walk(&f, &(struct walk){ .row0 = row, .row1 = last, .c1 = f.channels });
        }
        at += p.units;
    }
    squares_end(&f);
}
