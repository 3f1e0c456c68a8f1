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

enum {
    STFT_PRIMES = 32,   /* of a length, at most */
    STFT_LANES = 8,     /* frames that are transformed side by side */
    STFT_FEW = 1 << 13, /* samples of longer ones fill a cache by themselves */
};

struct stft_args {
    uint32_t batch, samples, frames, step, length, bins;
    bool windowed;
    uint32_t n_in, lanes;
    uint32_t n_primes, primes[STFT_PRIMES]; /* of the length, from the largest down */
    const double *turns;                    /* cos and sin of 2 pi i / length for all i; NULL: they are made while running */
    struct codec src, window, dst;
};

void stft_turns(double *turns, uint32_t length);

kernel_fn hadamard_ref, hadamard_avx2, hadamard_avx512;
kernel_fn rotary_ref, rotary_avx2, rotary_avx512;
kernel_fn stft_ref, stft_avx2, stft_avx512;

#endif
