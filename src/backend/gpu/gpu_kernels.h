/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that kernels and binders share: operations, kinds and types. Compiled by both compilers, like gpu_args.h. */
#ifndef BACKEND_GPU_GPU_KERNELS_H
#define BACKEND_GPU_GPU_KERNELS_H

/* ElementWiseUnary's operations in their order, ElementWiseNeuron's in theirs, then the rest. */
enum gpu_unary_op {
    UN_ABS,
    UN_ASIN,
    UN_ATAN,
    UN_CEIL,
    UN_COS,
    UN_EXP,
    UN_FLOOR,
    UN_LOG,
    UN_NEG,
    UN_NOT,
    UN_RECIPROCAL,
    UN_ROUND,
    UN_RSQRT,
    UN_SIGN,
    UN_SIN,
    UN_SQRT,
    UN_ELU,
    UN_GELU,
    UN_HARD_SIGMOID,
    UN_HARD_SWISH,
    UN_RELU,
    UN_CLAMP,
    UN_SIGMOID,
    UN_SOFTPLUS,
    UN_TANH,
    UN_LOGIT,
    UN_COUNT
};

/* ElementWiseBinary's operations in their order, then Prelu. */
enum gpu_binary_op {
    BIN_ADD,
    BIN_AND,
    BIN_DIVIDE,
    BIN_EQUAL,
    BIN_FLOOR_DIV,
    BIN_FMOD,
    BIN_GREATER,
    BIN_GREATER_EQUAL,
    BIN_LESS,
    BIN_LESS_EQUAL,
    BIN_MAXIMUM,
    BIN_MINIMUM,
    BIN_MOD,
    BIN_MULTIPLY,
    BIN_NOT_EQUAL,
    BIN_OR,
    BIN_POWER,
    BIN_SQUARED_DIFFERENCE,
    BIN_SUBTRACT,
    BIN_XOR,
    BIN_PRELU,
    BIN_COUNT
};

enum gpu_pad_scheme { PAD_CONSTANT, PAD_SYMMETRIC, PAD_REFLECT, PAD_EDGE };

enum gpu_scalar {
    SCALAR_F32,
    SCALAR_F16,
    SCALAR_I32,
    SCALAR_U32,
    SCALAR_U8,
    SCALAR_B8,
    SCALAR_I64,
    SCALAR_I8,
    SCALAR_I16,
    SCALAR_U16,
    SCALAR_COUNT
};

enum gpu_pool_kind { POOL_MAX, POOL_AVG, POOL_L2 };

enum gpu_coord { COORD_HALF_PIXEL, COORD_PYTORCH_HALF_PIXEL, COORD_ALIGN_CORNERS, COORD_ASYMMETRIC, COORD_CENTER };

enum gpu_round { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL };

enum gpu_row_kind {
    ROW_SOFTMAX, ROW_LOG_SOFTMAX,
    ROW_AFFINE, ROW_CENTER, ROW_VARIANCE, ROW_RMS, ROW_RMS_SUM, ROW_L2,
    ROW_SUM, ROW_MEAN, ROW_SUM_SQUARE, ROW_MAX, ROW_MIN, ROW_PROD,
    ROW_ARGMAX, ROW_ARGMIN
};

enum gpu_nms_kind { NMS_HARD, NMS_LINEAR, NMS_GAUSSIAN };

enum gpu_flag_kind { FLAG_NAN, FLAG_INF, FLAG_NOT };

enum gpu_sampling { SAMPLE_GRID, SAMPLE_CROP, SAMPLE_PROJECTION };

enum gpu_grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

enum gpu_noise { NOISE_UNIFORM, NOISE_GAUSSIAN, NOISE_ZEROES };

/* Operands of the layers with a memory, by their places. */
enum gpu_lstm_in {
    LSTM_X,
    LSTM_WXF,
    LSTM_WXC,
    LSTM_WXO,
    LSTM_WHF,
    LSTM_WHC,
    LSTM_WHO,
    LSTM_BF,
    LSTM_BC,
    LSTM_BO,
    LSTM_H,
    LSTM_C,
    LSTM_NI,
    LSTM_NF,
    LSTM_NC,
    LSTM_NO,
    LSTM_WXI,
    LSTM_WHI,
    LSTM_WCI,
    LSTM_WCF,
    LSTM_WCO,
    LSTM_BI,
    LSTM_WP,
    LSTM_BP,
    LSTM_RESET
};
enum gpu_gru_in {
    GRU_X,
    GRU_WXZ,
    GRU_WXR,
    GRU_WXN,
    GRU_WHZ,
    GRU_WHR,
    GRU_WHN,
    GRU_BXZ,
    GRU_BXR,
    GRU_BXN,
    GRU_BHZ,
    GRU_BHR,
    GRU_BHN,
    GRU_H,
    GRU_RESET
};
enum gpu_attention_in {
    GQA_QUERY,
    GQA_SEQLENS,
    GQA_TOTAL,
    GQA_KEY,
    GQA_VALUE,
    GQA_PAST_KEY,
    GQA_PAST_VALUE,
    GQA_COS,
    GQA_SIN,
    GQA_POSITIONS,
    GQA_INPUTS
};
enum gpu_attention_out { GQA_OUT, GQA_PRESENT_KEY, GQA_PRESENT_VALUE, GQA_OUTPUTS };

#endif
