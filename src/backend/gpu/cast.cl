/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between types: numbers towards zero, saturating, NaN to 0; integers to narrower ones by their low bits. Arithmetic of integers is that of long. */

long saturate(int type, float v)
{
    if (v != v)
        return 0;
    switch (type) {
    case SCALAR_I32: return convert_int_sat(v);
    case SCALAR_U32: return convert_uint_sat(v);
    case SCALAR_I64: return convert_long_sat(v);
    case SCALAR_I8: return convert_char_sat(v);
    case SCALAR_I16: return convert_short_sat(v);
    case SCALAR_U16: return convert_ushort_sat(v);
    default: return convert_uchar_sat(v);
    }
}

kernel void cast(struct gpu_cast a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    if (is_real(a.from)) {
        float v = read_real(a.from, x, i);
        if (is_real(a.to))
            write_real(a.to, y, i, v);
        else
            write_whole(a.to, y, i, a.to == SCALAR_B8 ? v != 0.0f : saturate(a.to, v));
        return;
    }
    long v = read_whole(a.from, x, i);
    if (is_real(a.to))
        write_real(a.to, y, i, (float)v);
    else
        write_whole(a.to, y, i, v);
}

/* Division that neither traps on 0 nor on the most negative number. */
long div_trunc(long x, long y)
{
    return y == 0 ? 0 : y == -1 ? (long)(0 - (ulong)x) : x / y;
}

long mod_trunc(long x, long y)
{
    return y == 0 || y == -1 ? 0 : x % y;
}

bool mod_turns(long x, long y)
{
    long r = mod_trunc(x, y);
    return r != 0 && (r < 0) != (y < 0);
}

long whole_of(int op, long x, long y)
{
    switch (op) {
    case BIN_ADD: return x + y;
    case BIN_AND: return x != 0 && y != 0;
    case BIN_DIVIDE: return div_trunc(x, y);
    case BIN_EQUAL: return x == y;
    case BIN_FLOOR_DIV: return div_trunc(x, y) - mod_turns(x, y);
    case BIN_FMOD: return mod_trunc(x, y);
    case BIN_GREATER: return x > y;
    case BIN_GREATER_EQUAL: return x >= y;
    case BIN_LESS: return x < y;
    case BIN_LESS_EQUAL: return x <= y;
    case BIN_MAXIMUM: return x > y ? x : y;
    case BIN_MINIMUM: return x < y ? x : y;
    case BIN_MOD: return mod_trunc(x, y) + (mod_turns(x, y) ? y : 0);
    case BIN_MULTIPLY: return x * y;
    case BIN_NOT_EQUAL: return x != y;
    case BIN_OR: return x != 0 || y != 0;
    case BIN_SQUARED_DIFFERENCE: return (x - y) * (x - y);
    case BIN_SUBTRACT: return x - y;
    default: return (x != 0) != (y != 0);
    }
}

kernel void whole(struct gpu_whole a, global const void *x, global const void *y, global void *z)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    long p = read_whole(a.x_type, x, view_at(i, a.rank, a.dims, a.a)), q = read_whole(a.y_type, y, view_at(i, a.rank, a.dims, a.b));
    write_whole(a.z_type, z, i, whole_of(a.op, p, q));
}

kernel void whole_unary(struct gpu_whole a, global const void *x, global void *z)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    long v = read_whole(a.x_type, x, i);
    v = a.op == UN_ABS ? (v < 0 ? -v : v) : a.op == UN_NEG ? -v : a.op == UN_SIGN ? (v > 0) - (v < 0) : a.op == UN_RELU ? (v < 0 ? 0 : v) : v == 0;
    write_whole(a.z_type, z, i, v);
}

kernel void dequantize(struct gpu_cast a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i < a.n)
        write_real(a.to, y, i, (float)(read_whole(a.from, x, i) + a.offset) * a.scale);
}
