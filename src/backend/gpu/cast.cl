/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between types: numbers towards zero, saturating, NaN to 0; integers to narrower ones by their low bits. */

bool is_real(int type)
{
    return type == SCALAR_F32 || type == SCALAR_F16;
}

float read_real(int type, global const void *p, int i)
{
    return type == SCALAR_F32 ? ((global const float *)p)[i] : vload_half((size_t)i, (global const half *)p);
}

long read_whole(int type, global const void *p, int i)
{
    switch (type) {
    case SCALAR_I32: return ((global const int *)p)[i];
    case SCALAR_U32: return ((global const uint *)p)[i];
    case SCALAR_I64: return ((global const long *)p)[i];
    case SCALAR_I8: return ((global const char *)p)[i];
    default: return ((global const uchar *)p)[i];
    }
}

void write_real(int type, global void *p, int i, float v)
{
    if (type == SCALAR_F32)
        ((global float *)p)[i] = v;
    else
        vstore_half_rte(v, (size_t)i, (global half *)p);
}

void write_whole(int type, global void *p, int i, long v)
{
    switch (type) {
    case SCALAR_I32: ((global int *)p)[i] = (int)v; break;
    case SCALAR_U32: ((global uint *)p)[i] = (uint)v; break;
    case SCALAR_I64: ((global long *)p)[i] = v; break;
    case SCALAR_I8: ((global char *)p)[i] = (char)v; break;
    case SCALAR_B8: ((global uchar *)p)[i] = v != 0; break;
    default: ((global uchar *)p)[i] = (uchar)v; break;
    }
}

long saturate(int type, float v)
{
    if (v != v)
        return 0;
    switch (type) {
    case SCALAR_I32: return convert_int_sat(v);
    case SCALAR_U32: return convert_uint_sat(v);
    case SCALAR_I64: return convert_long_sat(v);
    case SCALAR_I8: return convert_char_sat(v);
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
