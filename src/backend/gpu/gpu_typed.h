/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels are told whose operands have types of their own (SCALAR_ numbers), one struct per kernel. Compiled by both
 * compilers, like gpu_args.h. */
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
    int n, batch, x_type, offset_type, y_type, channels, in[2], size[2], centered, normalized, noise;
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

/* Windows in up to three dimensions: convolutions, transposed ones, pools. */
struct gpu_volume {
    int n, x_type, w_type, b_type, y_type, bias;
    int in[3], out[3], in_c, out_c, k[3], stride[3], dilation[3], pad[3], after[3];
    int group_in, group_out, pool, count_pad;
    float lo, hi;
};

/* Tuples of `depth` indices name slices; `part` elements belong to one set of tuples. plain: indices do not count from the
 * end. */
struct gpu_tuples {
    int n, index_type, type, update_type, reduction, plain;
    int tuples, depth, slice, part, dims[GPU_RANK], strides[GPU_RANK];
};

/* An index per element, along one axis; or, scattering, a line of them per work item. */
struct gpu_elements {
    int n, index_type, type, update_type, reduction;
    int rank, dims[GPU_RANK], out[GPU_RANK], in[GPU_RANK];
    int size, step, count, in_step;
};

struct gpu_one_hot {
    int n, index_type, depth, inner, on[2], off[2];
};

/* The first `depth` dimensions are places of `row` values. */
struct gpu_places {
    int x_type, y_type, places, rows, row, depth, dims[GPU_RANK];
};

struct gpu_fill {
    int n, count, low[GPU_RANK], high[GPU_RANK]; /* the bits of one value for all elements, or one each */
};

struct gpu_random {
    int n, normal, seeded, seed_type, y_type;
    float a, b;
};

struct gpu_flags {
    int n, kind, x_type, y_type, positive, negative;
};

struct gpu_mux {
    int n, which, inputs, selector_type;
    int rank, dims[GPU_RANK], a[GPU_RANK], b[GPU_RANK];
};

struct gpu_scan {
    int n, x_type, y_type, count, step, exclusive, reverse;
    int rank, dims[GPU_RANK], strides[GPU_RANK];
};

struct gpu_masked {
    int count, x_type, mask_type, y_type, compressed, condition, rows, batch_runs;
    int rank, dims[GPU_RANK], strides[GPU_RANK];
};

struct gpu_smooth {
    int n, x_type, y_type, coord, exclude_outside;
    int channels, first, in[3], out[3];
    float cubic;
};

/* Lstm and Gru; rows of x and of sequences are b * x_batch + t * x_time. Bit sets: given inputs, wanted outputs, outputs
 * with a row per time step. */
struct gpu_recurrent {
    int batch, time, step, in, units, out, x_batch, x_time, reverse, linear_before_reset, stateful, stride;
    int first_h, first_c, reset; /* places of the initial states and of the reset flag */
    int given, wanted, sequence, in_type[25], out_type[8];
    float cell_clip, out_clip;
};

struct gpu_attention {
    int batch, sequence, heads, kv_heads, size, past, present, turned, table, packed;
    int given, wanted, in_type[10], out_type[3];
    float scale;
};

struct gpu_buffer {
    int n, outer, inner, frame, size, room, stride, padding, right, has_reset, reset_type;
};

struct gpu_nms {
    int kind, drop, most, stride; /* most: boxes to keep; stride: floats from box to box */
    float iou, sigma, least, eta; /* least: soft scores must stay above */
};

/* One struct for all that suppress boxes: what an operator does not have is 0. */
struct gpu_suppress {
    int batch, boxes, classes, width, room, limit, before,
        splits; /* room: rows of the outputs; limit: how many of them may be used */
    int unit, held, candidates;                                    /* floats of a unit's room; boxes and candidates in it */
    int own_boxes, own_anchors, center, clip, fast, background, background_in, background_out;
    int given, box_type, score_type, anchor_type, size_type, out_type[7];
    float score, factors[4];
    struct gpu_nms nms;
};

struct gpu_boxes {
    int n, rois, classes, batch, has_images, scaled, bounded;
    int roi_type, delta_type, image_type, size_type, y_type, count_type;
    float weights[4], threshold, low, high;
};

struct gpu_deal {
    int rois, levels, min_level, max_level, canonical_level, room[4], roi_type, restore_type, y_type[4];
    float scale;
};

struct gpu_collect {
    int n, first, all, top, roi_type, score_type, y_type;
};

#endif
