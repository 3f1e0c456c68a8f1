/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of functions of one, two and three operands, and of conversions. */
#include <math.h>

#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

/* The separate names; clamps carry their limits. */
static const struct {
    uint16_t op, un;
    float lo, hi;
} unary_names[] = {
    { OP_ElementWiseAbs, UN_ABS, 0, 0 },
    { OP_ElementWiseAsin, UN_ASIN, 0, 0 },
    { OP_ElementWiseAtan, UN_ATAN, 0, 0 },
    { OP_ElementWiseCeil, UN_CEIL, 0, 0 },
    { OP_ElementWiseCos, UN_COS, 0, 0 },
    { OP_ElementWiseExp, UN_EXP, 0, 0 },
    { OP_ElementWiseFloor, UN_FLOOR, 0, 0 },
    { OP_ElementWiseLog, UN_LOG, 0, 0 },
    { OP_ElementWiseNeg, UN_NEG, 0, 0 },
    { OP_ElementWiseNot, UN_NOT, 0, 0 },
    { OP_ElementWiseRound, UN_ROUND, 0, 0 },
    { OP_ElementWiseRsqrt, UN_RSQRT, 0, 0 },
    { OP_ElementWiseSign, UN_SIGN, 0, 0 },
    { OP_ElementWiseSin, UN_SIN, 0, 0 },
    { OP_ElementWiseSoftplus, UN_SOFTPLUS, 0, 0 },
    { OP_ElementWiseSquareRoot, UN_SQRT, 0, 0 },
    { OP_Elu, UN_ELU, 0, 0 },
    { OP_Gelu, UN_GELU, 0, 0 },
    { OP_HardSwish, UN_HARD_SWISH, 0, 0 },
    { OP_Logit, UN_LOGIT, 0, 0 },
    { OP_Relu, UN_RELU, 0, 0 },
    { OP_Relu1, UN_CLAMP, -1, 1 },
    { OP_Relu6, UN_CLAMP, 0, 6 },
    { OP_ReluMinMax, UN_CLAMP, 0, 0 },
    { OP_Sigmoid, UN_SIGMOID, 0, 0 },
    { OP_Tanh, UN_TANH, 0, 0 },
};

static float real_or(const struct op_call *c, const char *name, float otherwise)
{
    return op_param_index(c->op, name) >= 0 && op_has(c, name) ? (float)op_real(c, name, 0) : otherwise;
}

static void describe(const struct op_call *c, struct gpu_unary *a)
{
    *a = (struct gpu_unary){
        .n = (int)desc_count(c->out[0]), .alpha = 1, .beta = 1, .threshold = -1, .lo = -INFINITY, .hi = INFINITY
    };
    if (c->op->id == OP_ElementWiseUnary || c->op->id == OP_ElementWiseNeuron)
        a->op = (int)op_int(c, "operation", 0) + (c->op->id == OP_ElementWiseNeuron ? UN_ELU : 0);
    for (size_t i = 0; i < sizeof unary_names / sizeof unary_names[0]; i++)
        if (unary_names[i].op == c->op->id) {
            a->op = unary_names[i].un;
            a->lo = unary_names[i].lo;
            a->hi = unary_names[i].hi;
        }
    if (a->op == UN_HARD_SIGMOID) {
        a->alpha = 0.2f;
        a->beta = 0.5f;
    }
    a->alpha = real_or(c, "alpha", a->alpha);
    a->beta = real_or(c, "beta", a->beta);
    a->threshold = real_or(c, "threshold", a->threshold);
    a->lo = real_or(c, "min_value", a->lo);
    a->hi = real_or(c, "max_value", a->hi);
}

int gpu_unary_op(const struct op_call *c)
{
    struct gpu_unary a;
    describe(c, &a);
    return a.op;
}

enum status gpu_bind_unary(const struct op_call *c, struct gpu_work *w)
{
    if (gpu_unary_op(c) == UN_NOT && c->in[0]->type != c->out[0]->type)
        return gpu_bind_flags(c, w);
    if (gpu_is_whole(c->in[0]->type))
        return gpu_bind_whole_unary(c, w);
    struct gpu_launch l = { .kernel = K_UNARY,
                            GPU_ARGS(unary),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    TRY(gpu_float_storage(c, &l.storage));
    describe(c, &l.args.unary);
    return gpu_add(c, w, &l);
}

/* ---- two operands ----------------------------------------------------------------------------------------------------- */

static const struct {
    uint16_t op, bin;
} binary_names[] = {
    { OP_ElementWiseAdd, BIN_ADD },
    { OP_ElementWiseAnd, BIN_AND },
    { OP_ElementWiseDivide, BIN_DIVIDE },
    { OP_ElementWiseEqual, BIN_EQUAL },
    { OP_ElementWiseFloorDiv, BIN_FLOOR_DIV },
    { OP_ElementWiseFmod, BIN_FMOD },
    { OP_ElementWiseGreater, BIN_GREATER },
    { OP_ElementWiseGreaterEqual, BIN_GREATER_EQUAL },
    { OP_ElementWiseLess, BIN_LESS },
    { OP_ElementWiseLessEqual, BIN_LESS_EQUAL },
    { OP_ElementWiseMaximum, BIN_MAXIMUM },
    { OP_ElementWiseMinimum, BIN_MINIMUM },
    { OP_ElementWiseMod, BIN_MOD },
    { OP_ElementWiseMultiply, BIN_MULTIPLY },
    { OP_ElementWiseNotEqual, BIN_NOT_EQUAL },
    { OP_ElementWiseOr, BIN_OR },
    { OP_ElementWisePower, BIN_POWER },
    { OP_ElementWiseSquaredDifference, BIN_SQUARED_DIFFERENCE },
    { OP_ElementWiseSubtract, BIN_SUBTRACT },
    { OP_ElementWiseXor, BIN_XOR },
    { OP_Prelu, BIN_PRELU },
};

int gpu_binary_op(const struct op_call *c)
{
    if (c->op->id == OP_ElementWiseBinary)
        return (int)op_int(c, "operation", 0);
    for (size_t i = 0; i < sizeof binary_names / sizeof binary_names[0]; i++)
        if (binary_names[i].op == c->op->id)
            return binary_names[i].bin;
    return BIN_COUNT;
}

static bool gives_truth(int op)
{
    const uint32_t mask = 1u << BIN_AND | 1u << BIN_EQUAL | 1u << BIN_GREATER | 1u << BIN_GREATER_EQUAL | 1u << BIN_LESS |
                          1u << BIN_LESS_EQUAL | 1u << BIN_NOT_EQUAL | 1u << BIN_OR | 1u << BIN_XOR;
    return mask >> op & 1;
}

static enum status broadcast(const struct op_call *c, struct gpu_broadcast *a)
{
    int64_t strides[3][MAX_RANK] = { { 0 } };
    struct gpu_view v = { 0 };
    for (uint32_t i = 0; i < c->n_in && i < 3; i++)
        gpu_broadcast_strides(c->in[i], c->out[0], strides[i]);
    for (uint32_t d = 0; d < c->out[0]->rank; d++)
        gpu_view_add(&v, c->out[0]->dims[d], strides[0][d], strides[1][d], strides[2][d]);
    a->n = (int)desc_count(c->out[0]);
    return gpu_view_end(c, &v, &a->rank, a->dims, (int *const[4]){ a->a, a->b, a->c });
}

/* Truth values are bytes, so operands and result have types of their own. */
static enum status truth_storage(const struct op_call *c, enum gpu_storage *ret)
{
    enum dtype t = c->in[0]->type, out = c->out[0]->type;
    if (c->in[1]->type != t || !(T_(t) & T_FLOAT))
        return gpu_refuse(c, "the operands are %s and %s; both must be f32 or both f16", dtype_name(t),
                          dtype_name(c->in[1]->type));
    if (out != DT_B8 && out != DT_U8)
        return gpu_refuse(c, "the output is %s; b8 and u8 are supported", dtype_name(out));
    *ret = t == DT_F32 ? GPU_F32 : GPU_F16;
    return ST_OK;
}

enum status gpu_bind_binary(const struct op_call *c, struct gpu_work *w)
{
    if (gpu_is_whole(c->in[0]->type) && gpu_is_whole(c->in[1]->type))
        return gpu_bind_whole(c, w);
    int op = gpu_binary_op(c);
    struct gpu_launch l = { .kernel = gives_truth(op) ? K_TRUTH : K_BINARY,
                            GPU_ARGS(broadcast),
                            .n_operands = 3,
                            .operand = { 0, 1, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    l.args.broadcast.op = op;
    TRY(gives_truth(op) ? truth_storage(c, &l.storage) : gpu_float_storage(c, &l.storage));
    TRY(broadcast(c, &l.args.broadcast));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_select(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_CHOOSE,
                            GPU_ARGS(broadcast),
                            .n_operands = 4,
                            .operand = { 0, 1, 2, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    enum dtype t = c->out[0]->type;
    if (c->in[0]->type != DT_B8 && c->in[0]->type != DT_U8)
        return gpu_refuse(c, "the condition is %s; b8 and u8 are supported", dtype_name(c->in[0]->type));
    if (c->in[1]->type != t || c->in[2]->type != t)
        return gpu_refuse(c, "the choices are %s and %s, the output %s; all must be the same", dtype_name(c->in[1]->type),
                          dtype_name(c->in[2]->type), dtype_name(t));
    TRY(gpu_bits_storage(c, c->out[0], &l.storage));
    TRY(broadcast(c, &l.args.broadcast));
    return gpu_add(c, w, &l);
}

/* ---- conversions ------------------------------------------------------------------------------------------------------ */

int gpu_scalar(enum dtype t)
{
    static const uint8_t scalars[DT_COUNT] = {
        [DT_F32] = SCALAR_F32 + 1, [DT_F16] = SCALAR_F16 + 1, [DT_I32] = SCALAR_I32 + 1, [DT_U32] = SCALAR_U32 + 1,
        [DT_U8] = SCALAR_U8 + 1,   [DT_B8] = SCALAR_B8 + 1,   [DT_I64] = SCALAR_I64 + 1, [DT_I8] = SCALAR_I8 + 1,
        [DT_I16] = SCALAR_I16 + 1, [DT_U16] = SCALAR_U16 + 1
    };
    return scalars[t] - 1;
}

enum status gpu_bind_cast(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_CAST,
                            .storage = GPU_F32,
                            GPU_ARGS(cast),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    l.args.cast =
        (struct gpu_cast){ .n = (int)l.items, .from = gpu_scalar(c->in[0]->type), .to = gpu_scalar(c->out[0]->type) };
    if (l.args.cast.from < 0 || l.args.cast.to < 0)
        return gpu_refuse(c, "%s to %s; f32, f16, i64, i32, u32, i16, u16, i8, u8 and b8 are supported",
                          dtype_name(c->in[0]->type), dtype_name(c->out[0]->type));
    return gpu_add(c, w, &l);
}

/* Between numbers Convert is Cast; fixed point is refused before. */
enum status gpu_bind_convert(const struct op_call *c, struct gpu_work *w)
{
    if (dtype_is_fixed(c->in[0]->type))
        return gpu_bind_dequantize(c, w);
    if (!dtype_is_float(c->out[0]->type))
        return gpu_refuse(c, "%s to %s; results in f32 and f16 are supported", dtype_name(c->in[0]->type),
                          dtype_name(c->out[0]->type));
    return gpu_bind_cast(c, w);
}

static int stored_as(enum dtype t)
{
    return t == DT_UQ8 ? SCALAR_U8 : t == DT_SQ8 ? SCALAR_I8 : t == DT_UQ16 ? SCALAR_U16 : t == DT_SQ16 ? SCALAR_I16 : -1;
}

enum status gpu_bind_dequantize(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_DEQUANTIZE,
                            .storage = GPU_F32,
                            GPU_ARGS(cast),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const struct tensor_desc *x = c->in[0];
    if (stored_as(x->type) < 0 || x->q.kind != Q_TENSOR || x->q.bits)
        return gpu_refuse(c,
                          "%s in this encoding; 8- and 16-bit fixed point with one scale and offset per tensor is supported",
                          dtype_name(x->type));
    l.args.cast =
        (struct gpu_cast){ (int)l.items, stored_as(x->type), gpu_scalar(c->out[0]->type), x->q.offset, x->q.scale };
    return gpu_add(c, w, &l);
}
