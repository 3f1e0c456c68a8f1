/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels picked from images and put elsewhere: docs/numerics.md section 11.
 *
 *   sample   values between pixels: GridSample, CropAndResize, ImageProjectionTransform
 *   colour   ArgbToRgb, Nv12ToRgb, Nv21ToRgb
 *   patch    windows: ExtractPatches, Im2Col, Col2Im, ExtractGlimpse, Correlation1D                                  */
#ifndef KERNELS_IMAGE_IMAGE_H
#define KERNELS_IMAGE_IMAGE_H

#include "kernels/kernels.h"
#include "kernels/mover.h"

/* Images [batch, (depth,) height, width, channels]; without a depth `first` is 1 and in[0], out[0] are 1. */
struct sampler {
    uint32_t first, channels, batch;
    uint32_t in[3], out[3];
    bool nearest;
    bool half_away;          /* nearest: ties away from zero, else to even */
    bool edge;               /* a neighbour outside is the edge pixel, else zero */
    struct codec src, dst;   /* linear */
    struct mover mover;      /* nearest */
};

enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION }; /* GridSample's padding_mode */

struct grid_sample_args {
    struct sampler s;
    bool align_corners;
    enum grid_padding padding;
    struct codec grid;
};

struct crop_args {
    struct sampler s;
    uint32_t boxes;
    enum dtype index_type;
    struct codec box;
    _Alignas(8) uint8_t outside[8]; /* extrapolation_value as stored */
};

struct projection_args {
    struct sampler s;
    bool own; /* eight coefficients per image */
    struct codec transform;
};

struct argb_args {
    uint64_t pixels;
    uint32_t pick[3]; /* input channel of each output channel */
    struct mover mover;
};

struct nv_args {
    uint32_t batch, height, width;
    uint32_t u, v;       /* places in a pair of chroma samples */
    uint32_t red, blue;  /* output channels */
    bool bytes_out;
    struct codec src, dst;
};

/* Windows of size taps, dilated, over an image [batch, in[0], in[1], channels]; there are out[0] * out[1] of them. */
struct patch_args {
    uint32_t batch, channels;
    uint32_t in[2], out[2], size[2], stride[2], dilation[2];
    int64_t before[2];
    struct mover mover;      /* ExtractPatches, Im2Col */
    struct codec src, dst;   /* Col2Im */
};

enum glimpse_noise { GLIMPSE_UNIFORM, GLIMPSE_GAUSSIAN, GLIMPSE_ZEROES }; /* ExtractGlimpse's noise */

struct glimpse_args {
    uint32_t batch, channels;
    uint32_t in[2], size[2];
    bool centered, normalized;
    enum glimpse_noise noise;
    struct codec offset, src, dst;
    struct mover mover;
};

struct correlation_args {
    uint32_t batch, height, width, depth, displacement;
    int64_t first; /* shift of in[1] for output channel 0 */
    struct codec a, b, dst;
};

#define IMAGE_KERNEL(name) kernel_fn name##_ref, name##_avx2, name##_avx512;
#include "kernels/image/image.def"
#undef IMAGE_KERNEL

#endif
