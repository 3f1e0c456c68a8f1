/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels are told, one struct per kernel. This text is compiled twice: by the C compiler, and by the device's as the
 * beginning of every OpenCL program; so it holds nothing but int, float and arrays of them. Strides count elements. */
#ifndef BACKEND_GPU_GPU_ARGS_H
#define BACKEND_GPU_GPU_ARGS_H

enum {
    GPU_LANES = 64, /* work items of a group; trees of the kernels are made for it */
    GPU_PIXELS = 4, /* pixels beside each other that a work item of a depthwise convolution computes */
    GPU_PANEL = 32, /* columns of a product that lie together in packed weights */
    GPU_LINKS = 6,  /* functions of a chain */
    GPU_RANK = 10,  /* dimensions of a view, neighbours joined */
};

struct gpu_unary {
    int n, op;
    float alpha, beta, threshold, lo, hi;
};

/* Element i of the output is at the index of `dims` that i stands for; each operand has its own strides, 0 where it is
 * broadcast. */
struct gpu_broadcast {
    int n, op, rank;
    int dims[GPU_RANK], a[GPU_RANK], b[GPU_RANK], c[GPU_RANK];
};

/* Functions one after the other. Those of two operands take the value so far and element i / div % mod of another operand,
 * in the other order where `swapped`. */
struct gpu_link {
    struct gpu_unary f;
    int binary, operand, swapped, div, mod;
};

struct gpu_chain {
    int n, count;
    struct gpu_link links[GPU_LINKS];
};

struct gpu_copy {
    int n, rank, from, to; /* from, to: the first element of input and output */
    int dims[GPU_RANK], in[GPU_RANK], out[GPU_RANK];
};

struct gpu_pad {
    int n, rank, scheme, bytes;
    int dims[GPU_RANK], before[GPU_RANK], in_dims[GPU_RANK], in[GPU_RANK];
    int value[2]; /* the constant's bits */
};

struct gpu_gather {
    int n, tuples, size, slice; /* out[outer][tuples][slice] = in[outer][index][slice]; `size` indices are there */
    int index_type;
};

struct gpu_cast {
    int n, from, to;
    int offset; /* of fixed-point numbers, with their scale */
    float scale;
};

/* Integers of any two types; results are cut to the output's. */
struct gpu_whole {
    int n, op, x_type, y_type, z_type, rank;
    int dims[GPU_RANK], a[GPU_RANK], b[GPU_RANK];
};

/* Pixels of images [batch, height, width, channels] between space and batch. */
struct gpu_block {
    int n, to_batch, block_h, block_w, before_h, before_w, channels;
    int in[3], out[3]; /* batch, height, width */
};

struct gpu_lrn {
    int n, radius, spatial, height, width, channels;
    float alpha, beta, bias;
};

/* What happens to a sum: bias, limits, and then, where `more` is set, another tensor of the output's shape and
 * its limits. */
struct gpu_end {
    int bias, more;
    float lo, hi, more_lo, more_hi;
};

/* Rows are output positions, columns output channels; a group of channels after the other. */
struct gpu_conv {
    int groups, rows, cols, depth; /* depth: taps times input channels of a group */
    int in_h, in_w, in_c, out_h, out_w, out_c;
    int k_h, k_w, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
    int group_in;
    struct gpu_end end;
};

/* One output element per work item: depthwise and transposed convolutions, and those whose filter is computed. */
struct gpu_taps {
    int n;
    int in_h, in_w, in_c, out_h, out_w, out_c;
    int k_h, k_w, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
    int group_in, group_out;
    struct gpu_end end;
};

struct gpu_matmul {
    int slices, rows, cols, depth;
    int a_row, a_k, b_k, b_col;
    int rank, dims[GPU_RANK], a[GPU_RANK], b[GPU_RANK]; /* the slices */
    struct gpu_end end;
};

struct gpu_pool {
    int n, kind, in_h, in_w, channels, out_h, out_w;
    int k_h, k_w, stride_h, stride_w, pad_h, pad_w, after_h, after_w, count_pad;
};

struct gpu_resize {
    int n, linear, coord, round;
    int channels, in[3], out[3], first; /* dimensions first to 2 are resized */
};

/* Runs of `run` elements, one per group of work items; `outer` says where each begins. */
struct gpu_rows {
    int n, kind, count, in_type, out_type, k, smallest;
    int outer_rank, outer_dims[GPU_RANK], outer[GPU_RANK], outer_affine[GPU_RANK];
    int run_rank, run_dims[GPU_RANK], run[GPU_RANK], run_affine[GPU_RANK];
    int gamma, beta_given;
    float eps, beta;
};

#endif
