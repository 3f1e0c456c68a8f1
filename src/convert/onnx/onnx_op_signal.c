/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms as products with a constant matrix, and the constants that go with them: windows, mel filters. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

/* One number of a constant input, or the default. */
static enum status one(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, const char *name, double *ret)
{
    struct onnx_value *v;
    double *list;
    uint32_t k;
    TRY(onnx_in_opt(cx, n, i, &v));
    if (!v)
        return ST_OK;
    TRY(onnx_numbers(cx, v, name, &list, &k));
    RETURN_IF(k != 1, ST_INVALID_OP, "\"%s\" has %u entries; one is expected", name, k);
    *ret = list[0];
    return ST_OK;
}

/* ---- DFT ---------------------------------------------------------------------------------------------------------- */

struct dft {
    uint32_t n, parts;      /* of the input: elements along the axis, and 1 (real) or 2 */
    uint32_t length;        /* of the transform */
    uint32_t out, out_parts;
    bool inverse, onesided;
};

/* What element (i, p) of the input adds to element (k, q) of the output. */
static double coefficient(const struct dft *d, uint32_t i, uint32_t p, uint32_t k, uint32_t q)
{
    if (i >= d->length)
        return 0;
    double angle = 2 * M_PI * (double)((uint64_t)i * k % d->length) / d->length * (d->inverse ? 1 : -1),
           scale = d->inverse ? 1.0 / d->length : 1;
    if (d->inverse && d->onesided && i != 0 && 2 * i != d->length)
        scale *= 2; /* the half that is not there is the mirror image */
    double re = cos(angle), im = sin(angle);
    return scale * (p == q ? re : q ? im : -im);
}

static enum status dft_matrix(struct onnx_cx *cx, const struct dft *d, uint32_t *ret)
{
    uint64_t rows = (uint64_t)d->out * d->out_parts, columns = (uint64_t)d->n * d->parts;
    REFUSE_WHEN(rows * columns > 1u << 26,
                "a transform of %u elements; its matrix would have %llu entries, at most %u are supported", d->length,
                (unsigned long long)(rows * columns), 1u << 26);
    TRY(onnx_charge(cx, "the matrix of a transform", rows * columns, sizeof(float)));
    float *m = arena_array(&cx->b.g->arena, float, rows * columns), *to = m;
    RETURN_IF(!m, ST_NO_MEMORY, "no memory for the matrix of a transform");
    for (uint32_t k = 0; k < d->out; k++)
        for (uint32_t q = 0; q < d->out_parts; q++)
            for (uint32_t i = 0; i < d->n; i++)
                for (uint32_t p = 0; p < d->parts; p++)
                    *to++ = (float)coefficient(d, i, p, k, q);
    struct tensor_desc desc = {.type = DT_F32, .rank = 2, .dims = {(uint32_t)rows, (uint32_t)columns}};
    return build_const(B, onnx_name(cx, "matrix"), &desc, m, true, ret);
}

static enum status dft_sizes(struct onnx_cx *cx, const struct onnx_node *n, const struct onnx_value *v, uint32_t axis,
                             struct dft *d)
{
    double length = 0;
    d->inverse = onnx_attr_int(cx, n, "inverse", 0);
    d->onesided = onnx_attr_int(cx, n, "onesided", 0);
    d->n = v->dims[axis];
    d->parts = v->dims[v->rank - 1];
    RETURN_IF(d->parts != 1 && d->parts != 2, ST_INVALID_OP,
              "the last dimension has %u elements; 1 (real) or 2 (complex) are expected", d->parts);
    length = d->inverse && d->onesided ? 2.0 * (d->n - 1) : d->n;
    TRY(one(cx, n, 1, "dft_length", &length));
    RETURN_IF(!(length >= 1 && length <= 1 << 20), ST_INVALID_OP, "\"dft_length\" is %g", length);
    d->length = (uint32_t)length;
    d->out = d->onesided && !d->inverse ? d->length / 2 + 1 : d->length;
    d->out_parts = d->onesided && d->inverse ? 1 : 2;
    return ST_OK;
}

static enum status convert_dft(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    struct dft d;
    uint32_t axis, x, m, y, dims[MAX_RANK], k = 0;
    uint8_t perm[MAX_RANK];
    double where = cx->model.opset < 20 ? (double)onnx_attr_int(cx, n, "axis", 1) : -2;
    TRY(onnx_in(cx, n, 0, &v));
    RETURN_IF(v->rank < 2, ST_INVALID_OP, "the input has rank %u; at least 2 is expected", v->rank);
    TRY(one(cx, n, 2, "axis", &where));
    TRY(onnx_axis(cx, (int64_t)where, v->rank, &axis));
    TRY(dft_sizes(cx, n, v, axis, &d));
    for (uint32_t i = 0; i + 1 < v->rank; i++)
        if (i != axis)
            perm[k++] = (uint8_t)i;
    perm[k] = (uint8_t)axis;
    perm[k + 1] = (uint8_t)(v->rank - 1);
    TRY(onnx_tensor(cx, v, perm, &x));
    uint32_t flat[2] = {(uint32_t)(onnx_count(v) / ((uint64_t)d.n * d.parts)), d.n * d.parts};
    TRY(build_reshape(B, onnx_name(cx, "rows"), x, 2, flat, &x));
    TRY(dft_matrix(cx, &d, &m));
    TRY(onnx_cast(cx, "matrix_type", m, build_desc(B, x)->type, &m));
    TRY(build_node(B, &(struct build_spec){.op = "FullyConnected", .name = cx->label, BUILD_IN(x, m)}, &y));
    for (uint32_t i = 0; i < k; i++)
        dims[i] = v->dims[perm[i]];
    dims[k] = d.out;
    dims[k + 1] = d.out_parts;
    TRY(build_reshape(B, onnx_name(cx, "spectrum"), y, v->rank, dims, &y));
    return onnx_out(cx, n, 0, y, perm);
}

/* ---- constants ---------------------------------------------------------------------------------------------------- */

static enum status out_numbers(struct onnx_cx *cx, const struct onnx_node *n, uint32_t rank, const uint32_t *dims,
                               const double *v)
{
    enum dtype type = onnx_dtype((int32_t)onnx_attr_int(cx, n, "output_datatype", 1));
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    REFUSE_WHEN(type == DT_NONE || dtype_bits(type) < 8,
                "\"output_datatype\" is a type that no tensor of the graph can have");
    char *out = arena_alloc(&cx->b.g->arena, dtype_bytes(type, count));
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for a constant");
    for (uint64_t i = 0; i < count; i++)
        number_put(type, out, i, v[i]);
    return onnx_out_const(cx, n, 0, type, rank, dims, out);
}

/* a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n) */
static enum status convert_window(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const struct {
        const char *op;
        double a[3];
    } kinds[] = { { "HannWindow", { 0.5, 0.5, 0 } },
                  { "HammingWindow", { 25.0 / 46, 21.0 / 46, 0 } },
                  { "BlackmanWindow", { 0.42, 0.5, 0.08 } } };
    double size = 0;
    unsigned k = 0;
    while (k < 2 && strcmp(kinds[k].op, n->op) != 0)
        k++;
    TRY(one(cx, n, 0, "size", &size));
    REFUSE_WHEN(!(size >= 1 && size <= 1 << 24), "\"size\" is %g; 1 … %d are supported", size, 1 << 24);
    uint32_t dims[1] = {(uint32_t)size};
    double *w = arena_array(&cx->arena, double, dims[0]), period = onnx_attr_int(cx, n, "periodic", 1) ? size : size - 1;
    RETURN_IF(!w, ST_NO_MEMORY, "no memory for a window");
    for (uint32_t i = 0; i < dims[0]; i++) {
        double angle = period > 0 ? 2 * M_PI * i / period : 0;
        w[i] = kinds[k].a[0] - kinds[k].a[1] * cos(angle) + kinds[k].a[2] * cos(2 * angle);
    }
    return out_numbers(cx, n, 1, dims, w);
}

static double mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* Triangles whose corners are equally far apart on the mel scale. */
static void mel_filter(double *w, uint32_t bins, uint32_t columns, uint32_t i, const int64_t *corner)
{
    int64_t low = corner[i], center = corner[i + 1], high = corner[i + 2];
    for (int64_t j = low; j <= center; j++)
        if (j >= 0 && j < bins)
            w[(uint64_t)j * columns + i] = center == low ? 1 : (double)(j - low) / (double)(center - low);
    for (int64_t j = center; j < high; j++)
        if (j >= 0 && j < bins)
            w[(uint64_t)j * columns + i] = (double)(high - j) / (double)(high - center);
}

static enum status convert_mel(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const char *const names[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"};
    double p[5] = {0};
    for (uint32_t i = 0; i < 5; i++)
        TRY(one(cx, n, i, names[i], &p[i]));
    REFUSE_WHEN(!(p[0] >= 1 && p[0] <= 1 << 14 && p[1] >= 1 && p[1] <= 1 << 20 && p[2] > 0),
                "%g filters of %g bins at a rate of %g", p[0], p[1], p[2]);
    uint32_t dims[2] = {(uint32_t)p[1] / 2 + 1, (uint32_t)p[0]};
    REFUSE_WHEN((uint64_t)dims[0] * dims[1] > 1u << 26, "a matrix of %u x %u entries", dims[0], dims[1]);
    int64_t *corner = arena_array(&cx->arena, int64_t, dims[1] + 2u);
    double *w = arena_array(&cx->arena, double, (uint64_t)dims[0] * dims[1]), low = mel(p[3]),
           step = (mel(p[4]) - low) / (dims[1] + 2.0);
    RETURN_IF(!corner || !w, ST_NO_MEMORY, "no memory for mel filters");
    for (uint32_t i = 0; i < dims[1] + 2; i++)
        corner[i] = (int64_t)floor((p[1] + 1) * (700 * (pow(10, (i * step + low) / 2595) - 1)) / p[2]);
    for (uint32_t i = 0; i < dims[1]; i++)
        mel_filter(w, dims[0], dims[1], i, corner);
    return out_numbers(cx, n, 2, dims, w);
}

const struct onnx_row onnx_rows_signal[] = {
    {"DFT", 0, convert_dft, NULL},
    {"HannWindow", ONNX_RETYPES, convert_window, NULL},
    {"HammingWindow", ONNX_RETYPES, convert_window, NULL},
    {"BlackmanWindow", ONNX_RETYPES, convert_window, NULL},
    {"MelWeightMatrix", ONNX_RETYPES, convert_mel, NULL},
    {0},
};
