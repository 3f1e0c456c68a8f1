/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of docs/numerics.md section 14: number i of a stream is a function of the seed and i alone, so every tile
 * can start anywhere. */
#ifndef KERNELS_RANDOM_H
#define KERNELS_RANDOM_H

#include <math.h>
#include <stdint.h>

/* A bijection of 64 bits in which every input bit moves every output bit. */
static inline uint64_t random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t random_bits(uint32_t seed, uint64_t i)
{
    return random_mix(random_mix(seed + 0x9e3779b97f4a7c15u) + (i + 1) * 0x9e3779b97f4a7c15u);
}

/* [0, 1), a multiple of 2^-24 */
static inline float random_uniform(uint32_t seed, uint64_t i)
{
    return (float)(random_bits(seed, i) >> 40) * 0x1p-24f;
}

/* Mean 0, variance 1 (Box-Muller); uses numbers 2 i and 2 i + 1 of the stream. */
static inline double random_normal(uint32_t seed, uint64_t i)
{
    double u = (double)((random_bits(seed, 2 * i) >> 11) + 1) * 0x1p-53,
           v = (double)(random_bits(seed, 2 * i + 1) >> 11) * 0x1p-53;
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586477 * v);
}

#endif
