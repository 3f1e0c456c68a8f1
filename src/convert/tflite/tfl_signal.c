/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of real signals. QNN has no complex numbers: a complex tensor is a float tensor with a last dimension
 * of 2, and a transform is a product with the matrix of cosines and sines. */
#include <math.h>
#include <string.h>

#include "convert/tflite/tfl_lower.h"

enum { MAX_LENGTH = 4096 };

/* [n, 2 * bins]: what sample i adds to the real and the imaginary part of every bin; samples behind the length do
 * not count. */
static enum status transform(struct tfl_cx *cx, uint32_t n, uint32_t length, uint32_t *ret)
{
    uint32_t bins = length / 2 + 1;
    float *m = arena_array(&cx->m.arena, float, (size_t)n * bins * 2);
    RETURN_IF(!m, ST_NO_MEMORY, "no memory for a transform of %u samples", length);
    for (uint32_t i = 0; i < n && i < length; i++)
        for (uint32_t k = 0; k < bins; k++) {
            double angle = 2 * M_PI * (double)((uint64_t)i * k % length) / length;
            m[((size_t)i * bins + k) * 2] = (float)cos(angle);
            m[((size_t)i * bins + k) * 2 + 1] = (float)-sin(angle);
        }
    return build_const_f32(&cx->b, tfl_name(cx, "transform"), 2, (const uint32_t[]){n, 2 * bins}, m, ret);
}

/* Along the last dimension; the one before it has one line, as programs write a transform of one dimension. */
TFL_LOWER(rfft2d)
{
    uint32_t x, m, y, n;
    int64_t length[2];
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_ints(cx, 1, length, 2, &n));
    struct tensor_desc d = *tfl_desc(cx, x);
    TFL_REFUSE_IF(n != 2 || d.rank < 2 || d.rank >= MAX_RANK || d.type != build_type(&cx->b, DT_F32),
                  "%u lengths for a %s of rank %u; two for floats of rank 2 … %d are expected", n, dtype_name(d.type),
                  d.rank, MAX_RANK - 1);
    uint32_t samples = d.dims[d.rank - 1];
    TFL_REFUSE_IF(length[0] != 1 || d.dims[d.rank - 2] != 1, "a transform over %lld lines; one line is supported",
                  (long long)length[0]);
    TFL_REFUSE_IF(length[1] < 1 || length[1] > MAX_LENGTH || samples > 2 * MAX_LENGTH,
                  "a transform of %lld of %u samples; at most %d are supported", (long long)length[1], samples, MAX_LENGTH);
    TRY(transform(cx, samples, (uint32_t)length[1], &m));
    TRY(build_reshape(&cx->b, tfl_name(cx, "lines"), x, 2,
                      (const uint32_t[]){ (uint32_t)(desc_count(&d) / samples), samples }, &x));
    TRY(tfl_part(cx, "product", &(struct build_spec){.op = "MatMul", BUILD_IN(x, m)}, NULL, &y));
    d.dims[d.rank - 1] = (uint32_t)length[1] / 2 + 1;
    d.dims[d.rank] = 2;
    TRY(build_reshape(&cx->b, tfl_name(cx, "pairs"), y, d.rank + 1u, d.dims, &y));
    return tfl_bind(cx, 0, y);
}

enum status tfl_complex_part(struct tfl_cx *cx, const char *part, uint32_t x, uint32_t which, uint32_t *ret)
{
    const struct tensor_desc *d = tfl_desc(cx, x);
    uint32_t rank = d->rank;
    int32_t rows[MAX_RANK][3];
    for (uint32_t i = 0; i < rank; i++) {
        rows[i][0] = i + 1 == rank ? (int32_t)which : 0;
        rows[i][1] = (int32_t)(i + 1 == rank ? which + 1 : d->dims[i]);
        rows[i][2] = 1;
    }
    return tfl_part(
        cx, part,
        &(struct build_spec){ .op = "StridedSlice",
                              BUILD_IN(x),
                              .params = { BUILD_RANGES("ranges", rank, rows), BUILD_U32("shrink_axes", 1u << (rank - 1)) } },
        NULL, ret);
}

TFL_LOWER(complex_part)
{
    uint32_t x, y;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_complex_part(cx, "part", x, cx->row->name[0] == 'I', &y));
    return tfl_bind(cx, 0, y);
}

TFL_LOWER(complex_abs)
{
    uint32_t x, part[2], square[2], sum;
    TRY(tfl_in(cx, 0, &x));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(tfl_complex_part(cx, i ? "imaginary" : "real", x, i, &part[i]));
        TRY(build_binary(&cx->b, "ElementWiseMultiply", tfl_name(cx, "square"), part[i], part[i], &square[i]));
    }
    TRY(build_binary(&cx->b, "ElementWiseAdd", tfl_name(cx, "sum"), square[0], square[1], &sum));
    return tfl_emit(cx, &(struct build_spec){.op = "ElementWiseSquareRoot", BUILD_IN(sum)});
}
