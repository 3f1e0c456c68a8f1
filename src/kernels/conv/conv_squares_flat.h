/* SPDX-License-Identifier: Apache-2.0 */
/* Squares of rows that follow each other in the output (conv_flat_amx.c, conv_flat_q16_amx.c). Include conv_squares.h
 * first. */
#ifndef KERNELS_CONV_CONV_SQUARES_FLAT_H
#define KERNELS_CONV_CONV_SQUARES_FLAT_H

/* Rows come to the workspace. */
static inline void squares_brought(struct squares *f, const struct kernel_call *call)
{
    const struct conv_args *a = f->a;
    const uint64_t step = conv_brought_step(a, PLANES);
    squares_steps(f, step, PLANES == 2 ? conv_plane_bytes(a) : TILE * step);
    f->given = call->data[0];
    f->brought = (uint8_t *)call->work + a->seg_bytes;
    f->brought_rows = conv_brought_rows(a, PLANES) / ROWS * ROWS;
}

/* `few` computes what is less than a piece. */
static inline void run_flat(struct squares *f, const struct kernel_call *call, struct range tile, kernel_fn *few)
{
    const struct conv_args *a = f->a;
    choose_form(f);
    for (uint32_t at = tile.begin; at < tile.end;) {
        const struct conv_part p = conv_part(a, at, tile.end);
        const uint64_t row = (uint64_t)p.row0 * a->unit_rows, end = (uint64_t)p.row1 * a->unit_rows,
                       last = end < a->rows ? end : a->rows;
        if (last - row >= PIECE) {
            run_columns(f, &p, row, last);
        } else {
            let_go(f);
            few(call, (struct range){ at, at + p.units });
            f->shape = 0;
        }
        at += p.units;
    }
    squares_end(f);
}

#endif
