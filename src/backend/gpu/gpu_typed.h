/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels are told whose operands have types of their own (SCALAR_ numbers), one struct per kernel. Compiled by both compilers, like gpu_args.h. */
#ifndef BACKEND_GPU_GPU_TYPED_H
#define BACKEND_GPU_GPU_TYPED_H

/* Values at places between pixels; images are [batch, depth, height, width, channels], dimensions before `first` being 1. */
struct gpu_sample {
    int n, kind, x_type, place_type, index_type, y_type;
    int batch, channels, first, in[3], out[3];
    int nearest, half_away, edge; /* edge: neighbours outside are the last inside, otherwise zero */
    int padding, align_corners;   /* GridSample */
    int own;                      /* ImageProjectionTransform: a transform per image */
    float outside;                /* CropAndResize */
};

struct gpu_nv {
    int n, x_type, y_type, height, width, u, v, red, blue;
};

/* Windows of images: ExtractPatches, Im2Col, Col2Im. */
struct gpu_windows {
    int n, x_type, y_type, channels;
    int in[2], out[2], size[2], stride[2], dilation[2], before[2];
};

struct gpu_glimpse {
    int n, x_type, offset_type, y_type, channels, in[2], size[2], centered, normalized, noise;
};

struct gpu_correlation {
    int n, a_type, b_type, y_type, width, depth, shifts, first;
};

struct gpu_roi {
    int n, align, x_type, roi_type, index_type, y_type;
    int batch, channels, in[2], out[2], samples[2], aligned, allow_invalid;
    float ratio[2];
};

struct gpu_heat_map {
    int n, map_type, box_type, score_type, point_type, height, width, points;
};

struct gpu_hadamard {
    int n, x_type, y_type, size;
    float scale;
};

struct gpu_rotary {
    int n, x_type, cos_type, sin_type, position_type, y_type;
    int size, rotated, heads, sequence, heads_first, interleaved, positions, table;
};

struct gpu_stft {
    int n, x_type, window_type, y_type, windowed, samples, frames, step, bins, length;
};

#endif
