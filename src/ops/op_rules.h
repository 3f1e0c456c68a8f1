/* SPDX-License-Identifier: Apache-2.0 */
/* What the shape and type rules share. Private to ops/. */
#ifndef OPS_OP_RULES_H
#define OPS_OP_RULES_H

#include "ops/ops.h"

/* ST_INVALID_OP with `Conv2d "conv1": ` in front of the explanation. */
enum status op_refuse(const struct op_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The constant lets the compiler see that this never returns ST_OK. */
#define REFUSE_IF(cond, c, ...)                                     \
    do {                                                            \
        if (__builtin_expect(!!(cond), 0))                          \
            return ((void)op_refuse((c), __VA_ARGS__), ST_INVALID_OP); \
    } while (0)

enum status rule_params(const struct op_call *c); /* every parameter against its row */

/* ---- ports ------------------------------------------------------------------------------------------------------- */

const struct tensor_desc *rule_in(const struct op_call *c, uint32_t i); /* NULL: absent */
const char *rule_in_name(const struct op_call *c, uint32_t i);

enum status rule_rank(const struct op_call *c, uint32_t i, uint32_t rank, const char *layout);
enum status rule_rank_min(const struct op_call *c, uint32_t i, uint32_t rank);
/* in[i], when present, holds exactly `count` values (the last dimension of something, for a vector per channel). */
enum status rule_vector(const struct op_call *c, uint32_t i, uint64_t count, const char *of);
/* in[i] has exactly these dimensions; 0 stands for any size. */
enum status rule_dims(const struct op_call *c, uint32_t i, uint32_t rank, const uint32_t *dims, const char *layout);
/* in[i] and in[j] have the same shape. */
enum status rule_same_dims(const struct op_call *c, uint32_t i, uint32_t j);

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* Element `at` of an axis parameter as 0 … rank - 1; INT_32 parameters may count from the end. */
enum status rule_axis_at(const struct op_call *c, const char *name, uint32_t at, uint32_t rank, uint32_t *ret);
enum status rule_axis(const struct op_call *c, const char *name, uint32_t rank, uint32_t *ret);
/* All axes of a list as a bit mask; doubled ones are refused. */
enum status rule_axes(const struct op_call *c, const char *name, uint32_t rank, uint32_t *ret_mask);
enum status rule_positive(const struct op_call *c, const char *name); /* all elements are at least 1 */

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

void rule_shape_of(struct tensor_desc *want, const struct tensor_desc *like); /* rank, dims, dynamic bits */
enum status rule_set_rank(const struct op_call *c, struct tensor_desc *want, uint64_t rank);
enum status rule_set_dim(const struct op_call *c, struct tensor_desc *want, uint32_t at, uint64_t size);
enum status rule_set(const struct op_call *c, struct tensor_desc *want, uint32_t rank, const uint64_t *dims);
/* The client's shape for `count` elements laid out like `in`: true when its dimensions multiply to that, after giving the
 * dynamic ones the sizes that make it so. */
bool rule_fill(struct tensor_desc *want, const struct tensor_desc *in, uint64_t count);
/* numpy broadcast of all present inputs first … last. */
enum status rule_broadcast(const struct op_call *c, struct tensor_desc *want, uint32_t first, uint32_t last);

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Output i moves values of `type`: the same data type (encodings may differ). */
void rule_type(struct tensor_desc *want, const struct tensor_desc *like);
/* Output computed from `in`: the same type, or any 8- or 16-bit fixed-point type when `in` is fixed point. */
void rule_type_computed(struct tensor_desc *want, const struct tensor_desc *in);
/* Keep the client's type (the port's mask has judged it), `fallback` when it gave none. */
void rule_type_free(struct tensor_desc *want, enum dtype fallback);
/* in[first … last] are of the kind of in[0]: same float or integer type, or fixed point of any width. */
enum status rule_same_kind(const struct op_call *c, uint32_t first, uint32_t last);
enum status rule_same_type(const struct op_call *c, uint32_t i, uint32_t j);
/* Factors and terms of norms: the float type of in[0]; beside fixed point, fixed point of any width, i32 or f32. */
enum status rule_affine_types(const struct op_call *c, uint32_t first, uint32_t last);
bool rule_is_fixed_activation(enum dtype t); /* 8 or 16 bits */
enum status rule_encoded(const struct op_call *c, const struct tensor_desc *d, const char *which); /* has an encoding */

/* The operand types of Conv, FullyConnected and MatMul: in[1] weights with output channels along `axis`, in[2] an optional
 * bias. `weights` says that in[1] is not an activation: 16-bit ones are signed and symmetric. */
enum status rule_product_types(const struct op_call *c, struct tensor_desc *want, uint32_t axis);

/* Operators that move values take encodings with one scale per channel, when the output has the same along the axis that the
 * channels went to (rule_moved.c). */
bool rule_moves_channels(enum op_id op);
bool rule_looks_up(const struct op_call *c); /* Gather of rows in blocks: they come out as floats */
enum status rule_moved_channels(const struct op_call *c);

/* ---- the rules, by file ------------------------------------------------------------------------------------------ */

#define RULE(name) enum status rule_##name(const struct op_call *c, struct tensor_desc *want)

/* rule_elementwise.c */
RULE(unary);
RULE(unary_generic); /* ElementWiseUnary: NOT has its own types */
RULE(logic_not);
RULE(neuron);
RULE(arithmetic);
RULE(min_max);
RULE(power);
RULE(compare);
RULE(logic);
RULE(binary_generic); /* ElementWiseBinary */
RULE(select);
RULE(mux);
RULE(prelu);
RULE(is_special); /* IsNan, IsInf */
RULE(random_like);
RULE(softmax);
RULE(masked_softmax);
RULE(like_input); /* same shape, same type */
RULE(transfer);
RULE(package_op);

/* rule_conv.c */
RULE(conv1d);
RULE(conv2d);
RULE(conv3d);
RULE(depthwise1d);
RULE(depthwise2d);
RULE(transpose_conv1d);
RULE(transpose_conv2d);
RULE(transpose_conv3d);

/* rule_matmul.c */
RULE(fully_connected);
RULE(matmul);
RULE(group_query_attention);

/* rule_bytes.c */
RULE(bytes_conv2d);
RULE(bytes_matmul);
RULE(bytes_quantize);

/* rule_pool.c */
RULE(pool2d);
RULE(pool3d);

/* rule_shape.c, rule_slice.c, rule_gather.c, rule_blocks.c */
RULE(concat);
RULE(split);
RULE(reshape);
RULE(squeeze);
RULE(expand_dims);
RULE(transpose);
RULE(pad);
RULE(strided_slice);
RULE(tile);
RULE(pack);
RULE(unpack);
RULE(shape);
RULE(constant_of_shape);
RULE(one_hot);
RULE(gather);
RULE(gather_elements);
RULE(gather_nd);
RULE(scatter_elements);
RULE(scatter_nd);
RULE(batch_permutation);
RULE(non_zero);
RULE(depth_to_space);
RULE(space_to_depth);
RULE(batch_to_space);
RULE(space_to_batch);
RULE(channel_shuffle);

/* rule_convert.c */
RULE(cast);
RULE(convert);
RULE(quantize);
RULE(dequantize);

/* rule_reduce.c */
RULE(reduce);
RULE(arg_extreme);
RULE(top_k);
RULE(cumulative_sum);
RULE(moments);

/* rule_norm.c */
RULE(batchnorm);
RULE(layer_norm);
RULE(rms_norm);
RULE(instance_norm);
RULE(group_norm);
RULE(l2_norm);
RULE(lrn);
RULE(hadamard);
RULE(rotary_embedding);

/* rule_recurrent.c */
RULE(lstm);
RULE(gru);
RULE(buffer);
RULE(stft);

/* rule_image.c */
RULE(resize_2d);
RULE(resize);
RULE(crop_and_resize);
RULE(roi);
RULE(grid_sample);
RULE(image_projection);
RULE(argb_to_rgb);
RULE(nv_to_rgb);
RULE(extract_glimpse);
RULE(extract_patches);
RULE(im2col);
RULE(col2im);
RULE(correlation_1d);

/* rule_detect.c */
RULE(axis_aligned_bbox_transform);
RULE(bbox_transform);
RULE(box_with_nms_limit);
RULE(collect_rpn_proposals);
RULE(combined_nms);
RULE(detection_output);
RULE(distribute_fpn_proposals);
RULE(generate_proposals);
RULE(heat_map_max_key_point);
RULE(multi_class_nms);
RULE(non_max_suppression);

/* rule_control.c */
RULE(if);

/* rule_sparse.c */
RULE(create_sparse);
RULE(get_sparse_indices);
RULE(get_sparse_values);

#endif
