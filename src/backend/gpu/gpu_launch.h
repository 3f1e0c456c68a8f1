/* SPDX-License-Identifier: Apache-2.0 */
/* From operators to kernels. Binding looks at shapes, types and parameters alone: it needs no device, and what it refuses is
 * what the backend does not support. An operator becomes one or more launches, run in their order. */
#ifndef BACKEND_GPU_GPU_LAUNCH_H
#define BACKEND_GPU_GPU_LAUNCH_H

#include "backend/gpu/gpu_args.h"
#include "backend/gpu/gpu_typed.h"
#include "base/status.h"
#include "base/vec.h"
#include "ops/ops.h"

#define GPU_SOURCE_LIST(X)                 \
    X(GPU_ELEMENTWISE, "elementwise.cl")   \
    X(GPU_BITS, "bits.cl")                 \
    X(GPU_CAST, "cast.cl")                 \
    X(GPU_PRODUCT, "product.cl")           \
    X(GPU_WINDOW, "window.cl")             \
    X(GPU_ROWS, "rows.cl")                 \
    X(GPU_BLOCKS_4, "blocks_4.cl")         \
    X(GPU_BLOCKS_8, "blocks_8.cl")         \
    X(GPU_BLOCKS_16, "blocks_16.cl")       \
    X(GPU_TILES_128, "tiles_128.cl")       \
    X(GPU_TILES_64, "tiles_64.cl")         \
    X(GPU_TILES_32, "tiles_32.cl")         \
    X(GPU_TILES_16, "tiles_16.cl")         \
    X(GPU_SAMPLE, "sample.cl")             \
    X(GPU_IMAGE, "image.cl")               \
    X(GPU_ROI, "roi.cl")                   \
    X(GPU_SIGNAL, "signal.cl")             \
    X(GPU_VOLUME, "volume.cl")             \
    X(GPU_INDEX, "index.cl")               \
    X(GPU_FILL, "fill.cl")                 \
    X(GPU_RUNS, "runs.cl")                 \
    X(GPU_RESIZE, "resize.cl")             \
    X(GPU_RECURRENT, "recurrent.cl")       \
    X(GPU_ATTENTION, "attention.cl")       \
    X(GPU_BUFFER, "buffer.cl")             \
    X(GPU_SUPPRESS, "suppress.cl")         \
    X(GPU_BOXES, "boxes.cl")

enum gpu_source {
#define GPU_SOURCE_ENUM(id, name) id,
    GPU_SOURCE_LIST(GPU_SOURCE_ENUM)
#undef GPU_SOURCE_ENUM
        GPU_SOURCE_COUNT
};

/* The numbers are STORAGE of common.cl. */
enum gpu_storage { GPU_F32, GPU_F16, GPU_BITS8, GPU_BITS16, GPU_BITS32, GPU_BITS64, GPU_STORAGE_COUNT };

/* Kernels that are told the types of their operands. */
#define GPU_TYPED_KERNEL_LIST(X)             \
    X(K_SAMPLE, "sample", GPU_SAMPLE)        \
    X(K_NV, "nv", GPU_IMAGE)                 \
    X(K_PATCHES, "patches", GPU_IMAGE)       \
    X(K_IM2COL, "im2col", GPU_IMAGE)         \
    X(K_COL2IM, "col2im", GPU_IMAGE)         \
    X(K_CORRELATION, "correlation", GPU_IMAGE) \
    X(K_ROI, "roi", GPU_ROI)                 \
    X(K_HEAT_MAP, "heat_map", GPU_ROI)       \
    X(K_HADAMARD, "hadamard", GPU_SIGNAL)    \
    X(K_ROTARY, "rotary", GPU_SIGNAL)        \
    X(K_STFT, "stft", GPU_SIGNAL)            \
    X(K_VOLUME, "volume", GPU_VOLUME)        \
    X(K_VOLUME_TRANSPOSED, "volume_transposed", GPU_VOLUME) \
    X(K_VOLUME_POOL, "volume_pool", GPU_VOLUME) \
    X(K_GATHER_ND, "gather_nd", GPU_INDEX)   \
    X(K_ELEMENTS, "elements", GPU_INDEX)     \
    X(K_ONE_HOT, "one_hot", GPU_INDEX)       \
    X(K_SCATTER_ELEMENTS, "scatter_elements", GPU_INDEX) \
    X(K_SCATTER_ND, "scatter_nd", GPU_INDEX) \
    X(K_FIND_PLACES, "find_places", GPU_INDEX) \
    X(K_FIND_VALUES, "find_values", GPU_INDEX) \
    X(K_FILL, "fill", GPU_FILL)              \
    X(K_RANDOM, "random", GPU_FILL)          \
    X(K_FLAGS, "flags", GPU_FILL)            \
    X(K_MUX, "mux", GPU_FILL)                \
    X(K_RUNNING_SUM, "running_sum", GPU_RUNS) \
    X(K_MOMENTS, "moments", GPU_RUNS)        \
    X(K_MASKED_SOFTMAX, "masked_softmax", GPU_RUNS) \
    X(K_WHOLE_REDUCE, "whole_reduce", GPU_RUNS) \
    X(K_WHOLE_TOP_K, "whole_top_k", GPU_RUNS) \
    X(K_RESIZE_CUBIC, "resize_cubic", GPU_RESIZE) \
    X(K_RESIZE_SMOOTH, "resize_smooth", GPU_RESIZE) \
    X(K_RECURRENT_BEGIN, "recurrent_begin", GPU_RECURRENT) \
    X(K_LSTM_SUMS, "lstm_sums", GPU_RECURRENT) \
    X(K_LSTM_CELL, "lstm_cell", GPU_RECURRENT) \
    X(K_LSTM_HIDDEN, "lstm_hidden", GPU_RECURRENT) \
    X(K_LSTM_END, "lstm_end", GPU_RECURRENT) \
    X(K_GRU_GATES, "gru_gates", GPU_RECURRENT) \
    X(K_GRU_END, "gru_end", GPU_RECURRENT)   \
    X(K_ATTENTION_GATHER, "attention_gather", GPU_ATTENTION) \
    X(K_ATTENTION, "attention", GPU_ATTENTION) \
    X(K_BUFFER_OUTPUT, "buffer_output", GPU_BUFFER) \
    X(K_BUFFER_KEEP, "buffer_keep", GPU_BUFFER) \
    X(K_BUFFER_COUNT, "buffer_count", GPU_BUFFER) \
    X(K_NON_MAX_SUPPRESSION, "non_max_suppression", GPU_SUPPRESS) \
    X(K_CLASSES_NMS, "classes_nms", GPU_SUPPRESS) \
    X(K_CHOSEN_FEATURES, "chosen_features", GPU_SUPPRESS) \
    X(K_DETECTION, "detection", GPU_SUPPRESS) \
    X(K_BOX_LIMIT, "box_limit", GPU_SUPPRESS) \
    X(K_PROPOSALS, "proposals", GPU_SUPPRESS) \
    X(K_MOVE_BOXES, "move_boxes", GPU_BOXES) \
    X(K_MOVE_ROTATED, "move_rotated", GPU_BOXES) \
    X(K_COUNT_BOXES, "count_boxes", GPU_BOXES) \
    X(K_DEAL_ROIS, "deal_rois", GPU_BOXES)   \
    X(K_COLLECT_SCORES, "collect_scores", GPU_BOXES) \
    X(K_CLEAR_ROIS, "clear_rois", GPU_BOXES) \
    X(K_COLLECT_ROIS, "collect_rois", GPU_BOXES) \
    X(K_GLIMPSE_NOISE, "glimpse_noise", GPU_FILL) \
    X(K_GLIMPSE, "glimpse", GPU_FILL)

#define GPU_KERNEL_LIST(X)                   \
    X(K_UNARY, "unary", GPU_ELEMENTWISE)     \
    X(K_BINARY, "binary", GPU_ELEMENTWISE)   \
    X(K_TRUTH, "truth", GPU_ELEMENTWISE)     \
    X(K_COPY, "copy", GPU_BITS)              \
    X(K_CHOOSE, "choose", GPU_BITS)          \
    X(K_PAD, "pad", GPU_BITS)                \
    X(K_GATHER, "gather", GPU_BITS)          \
    X(K_BLOCK, "block", GPU_BITS)            \
    X(K_CAST, "cast", GPU_CAST)              \
    X(K_DEQUANTIZE, "dequantize", GPU_CAST)  \
    X(K_WHOLE, "whole", GPU_CAST)            \
    X(K_WHOLE_UNARY, "whole_unary", GPU_CAST) \
    X(K_CONV, "conv", GPU_PRODUCT)           \
    X(K_DEPTHWISE, "depthwise", GPU_PRODUCT) \
    X(K_TRANSPOSED, "transposed", GPU_PRODUCT) \
    X(K_POOL, "pool", GPU_WINDOW)            \
    X(K_RESIZE, "resize", GPU_WINDOW)        \
    X(K_LRN, "lrn", GPU_WINDOW)              \
    X(K_SOFTMAX, "softmax", GPU_ROWS)        \
    X(K_NORM, "norm", GPU_ROWS)              \
    X(K_REDUCE, "reduce", GPU_ROWS)          \
    X(K_ARG_EXTREME, "arg_extreme", GPU_ROWS) \
    X(K_TOP_K, "top_k", GPU_ROWS)            \
    X(K_CHAIN, "chain", GPU_ELEMENTWISE)     \
    X(K_BLOCKS_4, "blocks", GPU_BLOCKS_4)    \
    X(K_BLOCKS_8, "blocks", GPU_BLOCKS_8)    \
    X(K_BLOCKS_16, "blocks", GPU_BLOCKS_16)  \
    X(K_BLOCKS_ANY_4, "blocks_any", GPU_BLOCKS_4) \
    X(K_BLOCKS_ANY_8, "blocks_any", GPU_BLOCKS_8) \
    X(K_BLOCKS_ANY_16, "blocks_any", GPU_BLOCKS_16) \
    X(K_CHANNELS_4, "channels", GPU_BLOCKS_4) \
    X(K_CHANNELS_8, "channels", GPU_BLOCKS_8) \
    X(K_CHANNELS_16, "channels", GPU_BLOCKS_16) \
    X(K_TILES_128, "tiles", GPU_TILES_128)   \
    X(K_TILES_64, "tiles", GPU_TILES_64)     \
    X(K_TILES_32, "tiles", GPU_TILES_32)     \
    X(K_TILES_16, "tiles", GPU_TILES_16)     \
    X(K_TILES_ANY_128, "tiles_any", GPU_TILES_128) \
    X(K_TILES_ANY_64, "tiles_any", GPU_TILES_64) \
    X(K_TILES_ANY_32, "tiles_any", GPU_TILES_32) \
    X(K_TILES_ANY_16, "tiles_any", GPU_TILES_16) \
    GPU_TYPED_KERNEL_LIST(X)

enum gpu_kernel {
#define GPU_KERNEL_ENUM(id, name, source) id,
    GPU_KERNEL_LIST(GPU_KERNEL_ENUM)
#undef GPU_KERNEL_ENUM
        GPU_KERNEL_COUNT,
    /* Products, until a device says which kernel it wants (gpu_fit.h). */
    K_PRODUCT = GPU_KERNEL_COUNT, /* args.conv, packed weights */
    K_PRODUCT_ANY                 /* args.matmul */
};

/* Texts of the programs, made from the files of this folder by the build. */
extern const char gpu_text_args[], gpu_text_kernels[], gpu_text_common[];
extern const char *const gpu_texts[GPU_SOURCE_COUNT];

enum { GPU_OPERANDS = 12 };

struct gpu_launch {
    enum gpu_kernel kernel;
    enum gpu_storage storage;
    uint64_t items;               /* of work; rounded up to whole groups */
    uint32_t lanes;               /* work items of a group; 0: GPU_LANES */
    bool view;                    /* nothing to do where input and output are the same memory */
    uint8_t n_operands;
    uint8_t operand[GPU_OPERANDS]; /* inputs from 0, then outputs from c->n_in on, then constants that gpu_pack.c made */
    uint32_t node;                /* of the graph; known, like the tensors, when it is loaded */
    uint32_t tensors[GPU_OPERANDS]; /* the same as tensors of the graph; known when it is loaded */
    /* Memory besides the tensors: one more argument behind the operands. Launches of a node that follow each other see what
     * the one before left there. */
    uint64_t room;                /* bytes; 0: none */
    bool kept;                    /* it is the node's own, stays from execution to execution, and begins as zeros */
    uint32_t args_bytes;
    union {
        struct gpu_unary unary;
        struct gpu_broadcast broadcast;
        struct gpu_chain chain;
        struct gpu_copy copy;
        struct gpu_pad pad;
        struct gpu_gather gather;
        struct gpu_cast cast;
        struct gpu_whole whole;
        struct gpu_block block;
        struct gpu_lrn lrn;
        struct gpu_conv conv;
        struct gpu_taps taps;
        struct gpu_matmul matmul;
        struct gpu_pool pool;
        struct gpu_resize resize;
        struct gpu_rows rows;
        struct gpu_sample sample;
        struct gpu_nv nv;
        struct gpu_windows windows;
        struct gpu_correlation correlation;
        struct gpu_roi roi;
        struct gpu_heat_map heat_map;
        struct gpu_hadamard hadamard;
        struct gpu_rotary rotary;
        struct gpu_stft stft;
        struct gpu_volume volume;
        struct gpu_tuples tuples;
        struct gpu_elements elements;
        struct gpu_one_hot one_hot;
        struct gpu_places places;
        struct gpu_fill fill;
        struct gpu_random random;
        struct gpu_flags flags;
        struct gpu_mux mux;
        struct gpu_scan scan;
        struct gpu_masked masked;
        struct gpu_smooth smooth;
        struct gpu_recurrent recurrent;
        struct gpu_attention attention;
        struct gpu_buffer buffer;
        struct gpu_suppress suppress;
        struct gpu_boxes boxes;
        struct gpu_deal deal;
        struct gpu_collect collect;
        struct gpu_glimpse glimpse;
    } args;
};

struct gpu_work {
    VEC(struct gpu_launch) launches;
};

bool gpu_has_op(enum op_id op);
/* Adds the launches of one operator; `c` passed op_check. ST_NOT_SUPPORTED explains itself. */
enum status gpu_bind(const struct op_call *c, struct gpu_work *w);

/* Constants made at prepare: weights of products in panels (gpu_pack.c). */
struct kernel_aux;
enum status gpu_aux(const struct op_call *c, struct kernel_aux *ret);
enum status gpu_aux_fill(const struct op_call *c, uint32_t which, void *dst);
uint64_t gpu_packed_bytes(const struct op_call *c); /* of such weights, constant or not; 0: the operator has none */

/* ---- for binders ------------------------------------------------------------------------------------------------------ */

typedef enum status gpu_bind_fn(const struct op_call *c, struct gpu_work *w);
gpu_bind_fn gpu_bind_unary, gpu_bind_binary, gpu_bind_select, gpu_bind_cast, gpu_bind_dequantize,
    gpu_bind_convert;                             /* gpu_bind_math.c */
gpu_bind_fn gpu_bind_whole, gpu_bind_whole_unary; /* gpu_bind_whole.c */
/* The number that kernels have for a type, -1: none. */
int gpu_scalar(enum dtype t);
bool gpu_is_whole(enum dtype t);
int gpu_unary_op(const struct op_call *c);  /* enum gpu_unary_op */
int gpu_binary_op(const struct op_call *c); /* enum gpu_binary_op */
gpu_bind_fn gpu_bind_conv, gpu_bind_depthwise, gpu_bind_transposed, gpu_bind_connected,
    gpu_bind_matmul; /* gpu_bind_product.c */
gpu_bind_fn gpu_bind_view, gpu_bind_transpose, gpu_bind_slice, gpu_bind_tile, gpu_bind_concat,
    gpu_bind_split; /* gpu_bind_move.c */
gpu_bind_fn gpu_bind_pack, gpu_bind_unpack, gpu_bind_depth_to_space, gpu_bind_space_to_depth, gpu_bind_shuffle,
    gpu_bind_argb;
gpu_bind_fn gpu_bind_pad, gpu_bind_gather, gpu_bind_block;                                  /* gpu_bind_pick.c */
gpu_bind_fn gpu_bind_pool, gpu_bind_resize, gpu_bind_lrn;                                   /* gpu_bind_window.c */
gpu_bind_fn gpu_bind_softmax, gpu_bind_norm, gpu_bind_reduce, gpu_bind_arg, gpu_bind_top_k; /* gpu_bind_rows.c */
gpu_bind_fn gpu_bind_sample, gpu_bind_nv, gpu_bind_patches, gpu_bind_im2col, gpu_bind_col2im, gpu_bind_correlation,
    gpu_bind_glimpse;                                                                              /* gpu_bind_image.c */
gpu_bind_fn gpu_bind_roi, gpu_bind_heat_map;                                                       /* gpu_bind_roi.c */
gpu_bind_fn gpu_bind_hadamard, gpu_bind_rotary, gpu_bind_stft;                                     /* gpu_bind_signal.c */
gpu_bind_fn gpu_bind_conv_any, gpu_bind_depthwise_any, gpu_bind_transposed_any, gpu_bind_pool_any; /* gpu_bind_volume.c */
gpu_bind_fn gpu_bind_gather_nd, gpu_bind_scatter_nd, gpu_bind_elements, gpu_bind_scatter_elements,
    gpu_bind_one_hot; /* gpu_bind_index.c */
gpu_bind_fn gpu_bind_find_places, gpu_bind_find_values, gpu_bind_create_sparse;
gpu_bind_fn gpu_bind_zeros, gpu_bind_constant, gpu_bind_shape, gpu_bind_random, gpu_bind_flags,
    gpu_bind_mux;                                                                                  /* gpu_bind_fill.c */
gpu_bind_fn gpu_bind_running_sum, gpu_bind_moments, gpu_bind_masked_softmax, gpu_bind_whole_top_k; /* gpu_bind_runs.c */
/* kind: enum gpu_row_kind. */
enum status gpu_bind_whole_reduce(const struct op_call *c, struct gpu_work *w, int kind, const char *axes);
gpu_bind_fn gpu_bind_recurrent, gpu_bind_attention, gpu_bind_buffer; /* gpu_bind_recurrent.c */
gpu_bind_fn gpu_bind_non_max, gpu_bind_classes_nms, gpu_bind_detection, gpu_bind_box_limit,
    gpu_bind_proposals; /* gpu_bind_detect.c */
gpu_bind_fn gpu_bind_move_boxes, gpu_bind_deal_rois, gpu_bind_collect;
gpu_bind_fn gpu_bind_resize_any; /* gpu_bind_resize.c */
/* The launch of a kernel that works on runs: args.rows gets where they lie. */
enum status gpu_add_rows(const struct op_call *c, struct gpu_work *w, const struct op_runs *r, struct gpu_launch *l);
/* The bits that a number has in a type. */
enum status gpu_constant_bits(const struct op_call *c, enum dtype t, double v, int ret[2]);

/* ST_NOT_SUPPORTED with the operator's and the node's name in front. */
enum status gpu_refuse(const struct op_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The storage of a call whose tensors are all float32 or all float16. */
enum status gpu_float_storage(const struct op_call *c, enum gpu_storage *ret);
/* The storage of elements that are only moved. */
enum status gpu_bits_storage(const struct op_call *c, const struct tensor_desc *d, enum gpu_storage *ret);
/* The number that kernels have for the type of an operand (inputs, then outputs), which must be one of `allowed`. */
enum status gpu_type(const struct op_call *c, uint32_t operand, uint32_t allowed, int *ret);
/* A copy of `l` at the end of the list. */
enum status gpu_add(const struct op_call *c, struct gpu_work *w, const struct gpu_launch *l);
#define GPU_ARGS(field) .args_bytes = sizeof(((struct gpu_launch *)0)->args.field)

/* A view while it is being made: dimensions outermost first, up to four strides each. */
struct gpu_view {
    uint32_t n;
    struct {
        uint32_t size;
        int64_t strides[4];
    } at[2 * MAX_RANK + 2];
};
void gpu_view_add(struct gpu_view *v, uint32_t size, int64_t a, int64_t b, int64_t c);
/* Drops dimensions of 1, joins neighbours, writes what is left: rank, dims and as many stride arrays as are given. */
enum status gpu_view_end(const struct op_call *c, struct gpu_view *v, int *rank, int *dims, int *const strides[4]);
/* Strides of `t` along the dimensions of `out`, 0 where it is broadcast. */
void gpu_broadcast_strides(const struct tensor_desc *t, const struct tensor_desc *out, int64_t strides[MAX_RANK]);

#endif
