/* SPDX-License-Identifier: Apache-2.0 */
/* Moving values (docs/numerics.md section 7): the bits when input and output mean the same numbers by them, fixed -> fixed
 * otherwise. mover_init is for bind; the rest is compiled into the per-instruction-set files of every family that moves
 * data. */
#ifndef KERNELS_MOVER_H
#define KERNELS_MOVER_H

#include <string.h>

#include "kernels/kernels.h"
#include "kernels/span.h"

struct mover {
    bool copy;
    uint8_t bytes; /* of an element; 0: packed values of 2 or 4 bits */
    _Alignas(8) uint8_t
        zero[8]; /* the constant to fill with, as stored in the output; real zero unless mover_constant says otherwise */
    struct codec in, out;
};

enum status mover_init(struct mover *m, const struct tensor_desc *in, const struct tensor_desc *out,
                       const struct op_call *c);
/* Fill with a real number, quantized with the input's encoding first. */
enum status mover_constant(struct mover *m, const struct tensor_desc *in, const struct tensor_desc *out,
                           const struct op_call *c, double real);
/* A real number as the output stores it, quantized with its own encoding. */
void mover_stored(const struct tensor_desc *out, const struct op_call *c, double real, uint8_t ret[8]);

/* Tiles may not share a byte: packed data is moved by one tile, whose range [0, 1) stands for all units. */
static inline void mover_serial(const struct mover *m, struct kernel_bound *ret)
{
    ret->extent = m->bytes ? ret->extent : 1;
}

static inline uint64_t mover_end(const struct mover *m, struct range tile, uint64_t units)
{
    return m->bytes && tile.end < units ? tile.end : units;
}

#endif
