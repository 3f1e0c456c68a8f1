/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms along an axis: HadamardTransform, RotaryEmbedding, Stft. docs/numerics.md section 14. */
#ifndef KERNELS_SIGNAL_SIGNAL_H
#define KERNELS_SIGNAL_SIGNAL_H

#include "kernels/kernels.h"
#include "kernels/span.h"

struct hadamard_args {
    uint64_t rows;
    uint32_t n;
    float scale;
    struct codec src, dst;
};

/* Units are heads of `size` values; unit i is at position (i / inner) % sequence of image i / (heads * sequence). */
struct rotary_args {
    uint64_t units;
    uint32_t batch, sequence, heads, size, rotated; /* rotated: values per head that turn, an even number */
    bool heads_first; /* [batch, heads, sequence, size], else [batch, sequence, heads, size] */
    bool interleaved, positions;
    uint32_t n_in, table; /* rows of the tables when positions are given */
    enum dtype position_type;
    struct codec src, dst, cos, sin;
};

struct stft_args {
    uint32_t batch, samples, frames, step, length, bins;
    bool windowed;
    uint32_t n_in;
    struct codec src, window, dst;
};

kernel_fn hadamard_ref, hadamard_avx2, hadamard_avx512;
kernel_fn rotary_ref, rotary_avx2, rotary_avx512;
kernel_fn stft_ref, stft_avx2, stft_avx512;

#endif
