/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of every program: storage types and views. STORAGE is the number of the variant (gpu_launch.h): 0 float, 1 half, then plain
 * bits of 1, 2, 4 and 8 bytes. Arithmetic is float whatever the storage, so that no device needs half arithmetic. Products and sums are joined only
 * where fma is written: a coordinate that falls between two pixels must fall to the same side everywhere. */
#pragma OPENCL FP_CONTRACT OFF

/* Sums that are to stay in registers must not be handed to functions that are called. */
#define INLINE static inline __attribute__((always_inline))

#if STORAGE == 0
typedef float T;
#define LOAD(p, i) ((p)[i])
#define STORE(p, i, v) ((p)[i] = (v))
#elif STORAGE == 1
typedef half T;
#define LOAD(p, i) vload_half((size_t)(i), (p))
#define STORE(p, i, v) vstore_half_rte((v), (size_t)(i), (p))
#elif STORAGE == 2
typedef uchar T;
#elif STORAGE == 3
typedef ushort T;
#elif STORAGE == 4
typedef uint T;
#else
typedef ulong T;
#endif

/* Where element i of a view is. The views of a kernel share dims. */
int view_at(int i, int rank, const int *dims, const int *strides)
{
    int at = 0;
    for (int d = rank - 1; d >= 0; d--) {
        int q = i / dims[d];
        at += (i - q * dims[d]) * strides[d];
        i = q;
    }
    return at;
}

float clamped(float v, float lo, float hi)
{
    v = v < lo ? lo : v;
    return v > hi ? hi : v;
}

/* A finished sum; `bias` and `more` are 0 where there is none. */
float ended(const struct gpu_end *e, float sum, float bias, float more)
{
    float v = clamped(sum + bias, e->lo, e->hi);
    return e->more ? clamped(v + more, e->more_lo, e->more_hi) : v;
}

/* ---- operands with types of their own: SCALAR_ numbers --------------------------------------------------------------------------- */

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
    case SCALAR_I16: return ((global const short *)p)[i];
    case SCALAR_U16: return ((global const ushort *)p)[i];
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
    case SCALAR_I16: ((global short *)p)[i] = (short)v; break;
    case SCALAR_U16: ((global ushort *)p)[i] = (ushort)v; break;
    case SCALAR_B8: ((global uchar *)p)[i] = v != 0; break;
    default: ((global uchar *)p)[i] = (uchar)v; break;
    }
}

/* Any type as a number, and a number as a float type. */
float number_at(int type, global const void *p, int i)
{
    return is_real(type) ? read_real(type, p, i) : (float)read_whole(type, p, i);
}
