/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of every program: storage types and views. STORAGE is the number of the variant (gpu_launch.h): 0 float, 1 half, then plain
 * bits of 1, 2, 4 and 8 bytes. Arithmetic is float whatever the storage, so that no device needs half arithmetic. Products and sums are joined only
 * where fma is written: a coordinate that falls between two pixels must fall to the same side everywhere. */
#pragma OPENCL FP_CONTRACT OFF

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
