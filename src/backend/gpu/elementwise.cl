/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one and two operands, element by element. Output storage is the input's, truth values are bytes. */
#define SQRT_HALF 0.70710678118654752440f

float softplus(float x, float beta, float threshold)
{
    float z = x * beta;
    if (threshold >= 0.0f && z > threshold)
        return x;
    return (fmax(z, 0.0f) + log1p(exp(-fabs(z)))) / beta;
}

float limited(float x, float lo, float hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}

float unary_of(struct gpu_unary *a, float x)
{
    switch (a->op) {
    case UN_ABS: return fabs(x);
    case UN_ASIN: return asin(x);
    case UN_ATAN: return atan(x);
    case UN_CEIL: return ceil(x);
    case UN_COS: return cos(x);
    case UN_EXP: return exp(x);
    case UN_FLOOR: return floor(x);
    case UN_LOG: return log(x);
    case UN_NEG: return -x;
    case UN_NOT: return x == 0.0f ? 1.0f : 0.0f;
    case UN_RECIPROCAL: return 1.0f / x;
    case UN_ROUND: return rint(x);
    case UN_RSQRT: return 1.0f / sqrt(x);
    case UN_SIGN: return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? 0.0f : x;
    case UN_SIN: return sin(x);
    case UN_SQRT: return sqrt(x);
    case UN_ELU: return x > 0.0f ? x : a->alpha * expm1(x);
    case UN_GELU: return x == -INFINITY ? -0.0f : 0.5f * x * erfc(-x * SQRT_HALF);
    case UN_HARD_SIGMOID: return limited(a->alpha * x + a->beta, 0.0f, 1.0f);
    case UN_HARD_SWISH: return x == -INFINITY ? -0.0f : x * (limited(x + 3.0f, 0.0f, 6.0f) / 6.0f);
    case UN_RELU: return x < 0.0f ? 0.0f : x;
    case UN_CLAMP: return limited(x, a->lo, a->hi);
    case UN_SIGMOID: return 1.0f / (1.0f + exp(-x));
    case UN_SOFTPLUS: return softplus(x, a->beta, a->threshold);
    case UN_TANH: return tanh(x);
    default: return log(x / (1.0f - x));
    }
}

kernel void unary(struct gpu_unary a, global const T *x, global T *y)
{
    int i = get_global_id(0);
    if (i < a.n)
        STORE(y, i, unary_of(&a, LOAD(x, i)));
}

float mod_floor(float x, float y)
{
    float r = fmod(x, y);
    return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

float binary_of(int op, float x, float y)
{
    switch (op) {
    case BIN_ADD: return x + y;
    case BIN_DIVIDE: return x / y;
    case BIN_FLOOR_DIV: return floor(x / y);
    case BIN_FMOD: return fmod(x, y);
    case BIN_MAXIMUM: return x > y ? x : y;
    case BIN_MINIMUM: return x < y ? x : y;
    case BIN_MOD: return mod_floor(x, y);
    case BIN_MULTIPLY: return x * y;
    case BIN_POWER: return pow(x, y);
    case BIN_SQUARED_DIFFERENCE: return (x - y) * (x - y);
    case BIN_SUBTRACT: return x - y;
    default: return x < 0.0f ? y * x : x;
    }
}

kernel void binary(struct gpu_broadcast a, global const T *x, global const T *y, global T *z)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int at = view_at(i, a.rank, a.dims, a.a), bt = view_at(i, a.rank, a.dims, a.b);
    STORE(z, i, binary_of(a.op, LOAD(x, at), LOAD(y, bt)));
}

/* A value as it is after it was stored. */
float stored(float v)
{
#if STORAGE == 1
    ushort bits;
    vstore_half_rte(v, 0, (half *)&bits);
    return vload_half(0, (const half *)&bits);
#else
    return v;
#endif
}

/* Operators that were fused: the value stays in a register between them, rounded as if it had been stored. */
kernel void chain(struct gpu_chain a, global const T *x, global const T *p, global const T *q, global const T *r, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    float v = LOAD(x, i);
    for (int k = 0; k < a.count; k++) {
        struct gpu_link *l = &a.links[k];
        if (l->binary) {
            global const T *other = l->operand == 0 ? x : l->operand == 1 ? p : l->operand == 2 ? q : r;
            float w = LOAD(other, i / l->div % l->mod);
            v = stored(l->swapped ? binary_of(l->f.op, w, v) : binary_of(l->f.op, v, w));
        } else
            v = stored(unary_of(&l->f, v));
    }
    STORE(y, i, v);
}

uchar truth_of(int op, float x, float y)
{
    switch (op) {
    case BIN_AND: return x != 0.0f && y != 0.0f;
    case BIN_EQUAL: return x == y;
    case BIN_GREATER: return x > y;
    case BIN_GREATER_EQUAL: return x >= y;
    case BIN_LESS: return x < y;
    case BIN_LESS_EQUAL: return x <= y;
    case BIN_NOT_EQUAL: return x != y;
    case BIN_OR: return x != 0.0f || y != 0.0f;
    default: return (x != 0.0f) != (y != 0.0f);
    }
}

kernel void truth(struct gpu_broadcast a, global const T *x, global const T *y, global uchar *z)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int at = view_at(i, a.rank, a.dims, a.a), bt = view_at(i, a.rank, a.dims, a.b);
    z[i] = truth_of(a.op, LOAD(x, at), LOAD(y, bt));
}
