/* SPDX-License-Identifier: Apache-2.0 */
/* Which binder an operator has, and what binders share. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "backend/gpu/gpu_launch.h"

static gpu_bind_fn *const binders[OP_COUNT] = {
    [OP_ElementWiseAbs] = gpu_bind_unary,
    [OP_ElementWiseAsin] = gpu_bind_unary,
    [OP_ElementWiseAtan] = gpu_bind_unary,
    [OP_ElementWiseCeil] = gpu_bind_unary,
    [OP_ElementWiseCos] = gpu_bind_unary,
    [OP_ElementWiseExp] = gpu_bind_unary,
    [OP_ElementWiseFloor] = gpu_bind_unary,
    [OP_ElementWiseLog] = gpu_bind_unary,
    [OP_ElementWiseNeg] = gpu_bind_unary,
    [OP_ElementWiseNot] = gpu_bind_unary,
    [OP_ElementWiseRound] = gpu_bind_unary,
    [OP_ElementWiseRsqrt] = gpu_bind_unary,
    [OP_ElementWiseSign] = gpu_bind_unary,
    [OP_ElementWiseSin] = gpu_bind_unary,
    [OP_ElementWiseSoftplus] = gpu_bind_unary,
    [OP_ElementWiseSquareRoot] = gpu_bind_unary,
    [OP_ElementWiseUnary] = gpu_bind_unary,
    [OP_ElementWiseNeuron] = gpu_bind_unary,
    [OP_Elu] = gpu_bind_unary,
    [OP_Gelu] = gpu_bind_unary,
    [OP_HardSwish] = gpu_bind_unary,
    [OP_Logit] = gpu_bind_unary,
    [OP_Relu] = gpu_bind_unary,
    [OP_Relu1] = gpu_bind_unary,
    [OP_Relu6] = gpu_bind_unary,
    [OP_ReluMinMax] = gpu_bind_unary,
    [OP_Sigmoid] = gpu_bind_unary,
    [OP_Tanh] = gpu_bind_unary,
    [OP_ElementWiseAdd] = gpu_bind_binary,
    [OP_ElementWiseAnd] = gpu_bind_binary,
    [OP_ElementWiseBinary] = gpu_bind_binary,
    [OP_ElementWiseDivide] = gpu_bind_binary,
    [OP_ElementWiseEqual] = gpu_bind_binary,
    [OP_ElementWiseFloorDiv] = gpu_bind_binary,
    [OP_ElementWiseFmod] = gpu_bind_binary,
    [OP_ElementWiseGreater] = gpu_bind_binary,
    [OP_ElementWiseGreaterEqual] = gpu_bind_binary,
    [OP_ElementWiseLess] = gpu_bind_binary,
    [OP_ElementWiseLessEqual] = gpu_bind_binary,
    [OP_ElementWiseMaximum] = gpu_bind_binary,
    [OP_ElementWiseMinimum] = gpu_bind_binary,
    [OP_ElementWiseMod] = gpu_bind_binary,
    [OP_ElementWiseMultiply] = gpu_bind_binary,
    [OP_ElementWiseNotEqual] = gpu_bind_binary,
    [OP_ElementWiseOr] = gpu_bind_binary,
    [OP_ElementWisePower] = gpu_bind_binary,
    [OP_ElementWiseSquaredDifference] = gpu_bind_binary,
    [OP_ElementWiseSubtract] = gpu_bind_binary,
    [OP_ElementWiseXor] = gpu_bind_binary,
    [OP_Prelu] = gpu_bind_binary,
    [OP_ElementWiseSelect] = gpu_bind_select,
    [OP_Cast] = gpu_bind_cast,
    [OP_Dequantize] = gpu_bind_dequantize,
    [OP_Convert] = gpu_bind_convert,
    [OP_Conv1d] = gpu_bind_conv_any,
    [OP_Conv2d] = gpu_bind_conv_any,
    [OP_Conv3d] = gpu_bind_conv_any,
    [OP_DepthWiseConv1d] = gpu_bind_depthwise_any,
    [OP_DepthWiseConv2d] = gpu_bind_depthwise_any,
    [OP_TransposeConv1d] = gpu_bind_transposed_any,
    [OP_TransposeConv2d] = gpu_bind_transposed_any,
    [OP_TransposeConv3d] = gpu_bind_transposed_any,
    [OP_FullyConnected] = gpu_bind_connected,
    [OP_MatMul] = gpu_bind_matmul,
    [OP_Reshape] = gpu_bind_view,
    [OP_Squeeze] = gpu_bind_view,
    [OP_ExpandDims] = gpu_bind_view,
    [OP_Transpose] = gpu_bind_transpose,
    [OP_StridedSlice] = gpu_bind_slice,
    [OP_Tile] = gpu_bind_tile,
    [OP_Concat] = gpu_bind_concat,
    [OP_Split] = gpu_bind_split,
    [OP_Pack] = gpu_bind_pack,
    [OP_UnPack] = gpu_bind_unpack,
    [OP_DepthToSpace] = gpu_bind_depth_to_space,
    [OP_SpaceToDepth] = gpu_bind_space_to_depth,
    [OP_ChannelShuffle] = gpu_bind_shuffle,
    [OP_BatchToSpace] = gpu_bind_block,
    [OP_SpaceToBatch] = gpu_bind_block,
    [OP_Pad] = gpu_bind_pad,
    [OP_Gather] = gpu_bind_gather,
    [OP_PoolAvg2d] = gpu_bind_pool_any,
    [OP_PoolAvg3d] = gpu_bind_pool_any,
    [OP_PoolMax2d] = gpu_bind_pool_any,
    [OP_PoolMax3d] = gpu_bind_pool_any,
    [OP_L2Pool2d] = gpu_bind_pool_any,
    [OP_Resize] = gpu_bind_resize_any,
    [OP_ResizeBilinear] = gpu_bind_resize_any,
    [OP_ResizeNearestNeighbor] = gpu_bind_resize,
    [OP_Lrn] = gpu_bind_lrn,
    [OP_Softmax] = gpu_bind_softmax,
    [OP_LogSoftmax] = gpu_bind_softmax,
    [OP_Batchnorm] = gpu_bind_norm,
    [OP_GroupNorm] = gpu_bind_norm,
    [OP_InstanceNorm] = gpu_bind_norm,
    [OP_L2Norm] = gpu_bind_norm,
    [OP_LayerNorm] = gpu_bind_norm,
    [OP_RmsNorm] = gpu_bind_norm,
    [OP_Argmax] = gpu_bind_arg,
    [OP_Argmin] = gpu_bind_arg,
    [OP_TopK] = gpu_bind_top_k,
    [OP_ReduceMax] = gpu_bind_reduce,
    [OP_ReduceMean] = gpu_bind_reduce,
    [OP_ReduceMin] = gpu_bind_reduce,
    [OP_ReduceProd] = gpu_bind_reduce,
    [OP_ReduceSum] = gpu_bind_reduce,
    [OP_ReduceSumSquare] = gpu_bind_reduce,
    [OP_GridSample] = gpu_bind_sample,
    [OP_CropAndResize] = gpu_bind_sample,
    [OP_ImageProjectionTransform] = gpu_bind_sample,
    [OP_ArgbToRgb] = gpu_bind_argb,
    [OP_Nv12ToRgb] = gpu_bind_nv,
    [OP_Nv21ToRgb] = gpu_bind_nv,
    [OP_ExtractPatches] = gpu_bind_patches,
    [OP_Im2Col] = gpu_bind_im2col,
    [OP_Col2Im] = gpu_bind_col2im,
    [OP_Correlation1D] = gpu_bind_correlation,
    [OP_RoiAlign] = gpu_bind_roi,
    [OP_RoiPooling] = gpu_bind_roi,
    [OP_HeatMapMaxKeyPoint] = gpu_bind_heat_map,
    [OP_HadamardTransform] = gpu_bind_hadamard,
    [OP_RotaryEmbedding] = gpu_bind_rotary,
    [OP_Stft] = gpu_bind_stft,
    [OP_BatchPermutation] = gpu_bind_gather,
    [OP_GatherElements] = gpu_bind_elements,
    [OP_GatherNd] = gpu_bind_gather_nd,
    [OP_ScatterElements] = gpu_bind_scatter_elements,
    [OP_ScatterNd] = gpu_bind_scatter_nd,
    [OP_OneHot] = gpu_bind_one_hot,
    [OP_NonZero] = gpu_bind_find_places,
    [OP_GetSparseIndices] = gpu_bind_find_places,
    [OP_GetSparseValues] = gpu_bind_find_values,
    [OP_CreateSparse] = gpu_bind_create_sparse,
    [OP_SparseToDense] = gpu_bind_view,
    [OP_ConstantOfShape] = gpu_bind_constant,
    [OP_Shape] = gpu_bind_shape,
    [OP_RandomNormalLike] = gpu_bind_random,
    [OP_RandomUniformLike] = gpu_bind_random,
    [OP_IsInf] = gpu_bind_flags,
    [OP_IsNan] = gpu_bind_flags,
    [OP_ElementWiseMux] = gpu_bind_mux,
    [OP_CumulativeSum] = gpu_bind_running_sum,
    [OP_Moments] = gpu_bind_moments,
    [OP_MaskedSoftmax] = gpu_bind_masked_softmax,
    [OP_Lstm] = gpu_bind_recurrent,
    [OP_Gru] = gpu_bind_recurrent,
    [OP_GroupQueryAttention] = gpu_bind_attention,
    [OP_Buffer] = gpu_bind_buffer,
    [OP_NonMaxSuppression] = gpu_bind_non_max,
    [OP_MultiClassNms] = gpu_bind_classes_nms,
    [OP_CombinedNms] = gpu_bind_classes_nms,
    [OP_DetectionOutput] = gpu_bind_detection,
    [OP_BoxWithNmsLimit] = gpu_bind_box_limit,
    [OP_GenerateProposals] = gpu_bind_proposals,
    [OP_AxisAlignedBboxTransform] = gpu_bind_move_boxes,
    [OP_BboxTransform] = gpu_bind_move_boxes,
    [OP_DistributeFpnProposals] = gpu_bind_deal_rois,
    [OP_CollectRpnProposals] = gpu_bind_collect,
    [OP_ExtractGlimpse] = gpu_bind_glimpse,
};

enum status gpu_refuse(const struct op_call *c, const char *fmt, ...)
{
    char text[STATUS_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return status_fail(ST_NOT_SUPPORTED, "%s \"%s\" on the GPU backend: %s", c->op->name, c->node ? c->node : "", text);
}

enum status gpu_float_storage(const struct op_call *c, enum gpu_storage *ret)
{
    enum dtype t = c->out[0]->type;
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        const struct tensor_desc *d = i < c->n_in ? c->in[i] : c->out[i - c->n_in];
        if (d && (d->type != t || !(T_(t) & T_FLOAT)))
            return gpu_refuse(c, "operand %u is %s and output 0 %s; all must be f32 or all f16: put a Cast between", i,
                              dtype_name(d->type), dtype_name(t));
    }
    *ret = t == DT_F32 ? GPU_F32 : GPU_F16;
    return ST_OK;
}

enum status gpu_bits_storage(const struct op_call *c, const struct tensor_desc *d, enum gpu_storage *ret)
{
    static const enum gpu_storage by_bits[65] = { [8] = GPU_BITS8, [16] = GPU_BITS16, [32] = GPU_BITS32, [64] = GPU_BITS64 };
    unsigned bits = dtype_bits(d->type);
    if (bits > 64 || !by_bits[bits])
        return gpu_refuse(c, "elements of %s cannot be moved; those of 8, 16, 32 and 64 bits can", dtype_name(d->type));
    *ret = by_bits[bits];
    return ST_OK;
}

enum status gpu_type(const struct op_call *c, uint32_t operand, uint32_t allowed, int *ret)
{
    const struct tensor_desc *d = operand < c->n_in ? c->in[operand] : c->out[operand - c->n_in];
    bool input = operand < c->n_in;
    *ret = d ? gpu_scalar(d->type) : -1;
    if (d && *ret >= 0 && allowed >> d->type & 1)
        return ST_OK;
    char names[96] = "";
    for (int t = 0, n = 0; t < DT_COUNT; t++)
        if (allowed >> t & 1 && gpu_scalar((enum dtype)t) >= 0)
            n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", n ? ", " : "", dtype_name((enum dtype)t));
    return gpu_refuse(c, "%s %u is %s; supported: %s", input ? "input" : "output", input ? operand : operand - c->n_in,
                      d ? dtype_name(d->type) : "missing", names);
}

enum status gpu_add(const struct op_call *c, struct gpu_work *w, const struct gpu_launch *l)
{
    if (l->items == 0)
        return ST_OK;
    if (l->items > INT_MAX - GPU_LANES)
        return gpu_refuse(c, "it takes %llu work items; at most %d are supported", (unsigned long long)l->items,
                          INT_MAX - GPU_LANES);
    struct gpu_launch *slot = vec_push(&w->launches);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for node \"%s\"", c->node ? c->node : "");
    *slot = *l;
    return ST_OK;
}

/* ---- views ------------------------------------------------------------------------------------------------------------ */

void gpu_view_add(struct gpu_view *v, uint32_t size, int64_t a, int64_t b, int64_t c)
{
    if (size == 1)
        return;
    v->at[v->n].size = size;
    v->at[v->n].strides[0] = a;
    v->at[v->n].strides[1] = b;
    v->at[v->n].strides[2] = c;
    v->n++;
}

/* Dimension i + 1 goes on where one step of dimension i would, in every operand. */
static bool joins(const struct gpu_view *v, uint32_t i)
{
    for (int s = 0; s < 3; s++)
        if (v->at[i].strides[s] != v->at[i + 1].strides[s] * (int64_t)v->at[i + 1].size)
            return false;
    return true;
}

static void join_neighbours(struct gpu_view *v)
{
    for (uint32_t i = v->n; i-- > 1;) {
        if (!joins(v, i - 1))
            continue;
        v->at[i].size *= v->at[i - 1].size;
        for (uint32_t k = i - 1; k + 1 < v->n; k++)
            v->at[k] = v->at[k + 1];
        v->n--;
    }
}

enum status gpu_view_end(const struct op_call *c, struct gpu_view *v, int *rank, int *dims, int *const strides[4])
{
    join_neighbours(v);
    if (v->n > GPU_RANK)
        return gpu_refuse(c, "%u dimensions that cannot be joined; at most %d are supported", v->n, GPU_RANK);
    *rank = (int)v->n;
    for (uint32_t i = 0; i < v->n; i++) {
        dims[i] = (int)v->at[i].size;
        for (int s = 0; s < 4 && strides[s]; s++)
            strides[s][i] = (int)v->at[i].strides[s];
    }
    return ST_OK;
}

void gpu_broadcast_strides(const struct tensor_desc *t, const struct tensor_desc *out, int64_t strides[MAX_RANK])
{
    int64_t step = 1;
    for (uint32_t i = out->rank; i-- > 0;) {
        int32_t j = (int32_t)i + t->rank - out->rank;
        uint32_t size = j < 0 ? 1 : t->dims[j];
        strides[i] = size == 1 ? 0 : step;
        step *= size;
    }
}

/* ---- entries ---------------------------------------------------------------------------------------------------------- */

bool gpu_has_op(enum op_id op)
{
    return op < OP_COUNT && binders[op];
}

/* Indices inside kernels are int. */
static enum status check_sizes(const struct op_call *c)
{
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        const struct tensor_desc *d = i < c->n_in ? c->in[i] : c->out[i - c->n_in];
        if (d && desc_count(d) > INT_MAX - GPU_LANES)
            return gpu_refuse(c, "operand %u has %llu elements; at most %d are supported", i,
                              (unsigned long long)desc_count(d), INT_MAX - GPU_LANES);
    }
    return ST_OK;
}

enum status gpu_bind(const struct op_call *c, struct gpu_work *w)
{
    if (!gpu_has_op(c->op->id))
        return gpu_refuse(c, "there is no kernel for this operator");
    TRY(op_backend_takes(OP_BACKEND_GPU, c));
    TRY(check_sizes(c));
    return binders[c->op->id](c, w);
}
