/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic: element-wise operators, activations, reductions and changes of type. */
#include <math.h>

#include "convert/tflite/tfl_lower.h"

/* ---- one operand ---------------------------------------------------------------------------------------------------- */

TFL_LOWER(unary)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    return tfl_emit(cx, &(struct build_spec){.op = cx->row->arg, BUILD_IN(x)});
}

TFL_LOWER(square)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    return tfl_emit(cx, &(struct build_spec){.op = "ElementWiseMultiply", BUILD_IN(x, x)});
}

TFL_LOWER(clamp01)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    return tfl_emit(cx, &(struct build_spec){ .op = "ReluMinMax",
                                              BUILD_IN(x),
                                              .params = { BUILD_F32("min_value", 0), BUILD_F32("max_value", 1) } });
}

static enum status times(struct tfl_cx *cx, const char *part, uint32_t x, double by, uint32_t *ret)
{
    uint32_t c;
    TRY(tfl_scalar(cx, part, tfl_desc(cx, x), by, &c));
    return build_binary(&cx->b, "ElementWiseMultiply", tfl_name(cx, part), x, c, ret);
}

/* 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))); the exact function differs by up to 5e-4, which steps of 1e-3 do not show. */
TFL_LOWER(gelu)
{
    uint32_t x, t, u, half, one;
    TRY(tfl_in(cx, 0, &x));
    struct tensor_desc like = *tfl_desc(cx, x), out = *tfl_out_desc(cx, 0);
    bool fixed = dtype_is_fixed(like.type) && dtype_is_fixed(out.type);
    if (!tfl_flag(cx, OPTION_FIRST) || (fixed && quant_scale(&out.q, 0) >= 1e-3f))
        return tfl_emit(cx, &(struct build_spec){.op = "Gelu", BUILD_IN(x)});
    TRY(tfl_float(cx, "real", x, &x));
    like = *tfl_desc(cx, x);
    TRY(build_binary(&cx->b, "ElementWiseMultiply", tfl_name(cx, "square"), x, x, &t));
    TRY(build_binary(&cx->b, "ElementWiseMultiply", tfl_name(cx, "cube"), t, x, &t));
    TRY(times(cx, "cubic", t, 0.044715, &t));
    TRY(build_binary(&cx->b, "ElementWiseAdd", tfl_name(cx, "inner"), x, t, &t));
    TRY(times(cx, "scaled", t, sqrt(2 / 3.14159265358979323846), &t));
    TRY(build_unary(&cx->b, "Tanh", tfl_name(cx, "tanh"), t, &t));
    TRY(tfl_scalar(cx, "one", &like, 1, &one));
    TRY(build_binary(&cx->b, "ElementWiseAdd", tfl_name(cx, "gate"), t, one, &u));
    TRY(times(cx, "half", x, 0.5, &half));
    if (!fixed)
        return tfl_emit(cx, &(struct build_spec){ .op = "ElementWiseMultiply", BUILD_IN(half, u) });
    TRY(build_binary(&cx->b, "ElementWiseMultiply", tfl_name(cx, "product"), half, u, &t));
    return tfl_emit(cx, &(struct build_spec){ .op = "Quantize", BUILD_IN(t) });
}

TFL_LOWER(leaky_relu)
{
    uint32_t x, slope;
    TRY(tfl_in(cx, 0, &x));
    struct tensor_desc like = *tfl_desc(cx, x);
    TRY(tfl_scalar(cx, "slope", &like, (double)fb_float(cx->op->options, OPTION_FIRST, 0), &slope));
    return tfl_emit(cx, &(struct build_spec){.op = "Prelu", BUILD_IN(x, slope)});
}

TFL_LOWER(softmax)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    uint32_t rank = tfl_desc(cx, x)->rank;
    TFL_REFUSE_IF(rank == 0, "the input is a scalar; rank 1 or more is expected");
    return tfl_emit(cx, &(struct build_spec){ .op = "Softmax",
                                              BUILD_IN(x),
                                              .params = { BUILD_U32("axis", rank - 1),
                                                          BUILD_F32("beta", fb_float(cx->op->options, OPTION_FIRST, 0)) } });
}

TFL_LOWER(log_softmax)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    uint32_t rank = tfl_desc(cx, x)->rank;
    TFL_REFUSE_IF(rank == 0, "the input is a scalar; rank 1 or more is expected");
    return tfl_emit(cx, &(struct build_spec){.op = "LogSoftmax", BUILD_IN(x), .params = {BUILD_U32("axis", rank - 1)}});
}

TFL_LOWER(l2_norm)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    uint32_t rank = tfl_desc(cx, x)->rank;
    TFL_REFUSE_IF(rank == 0, "the input is a scalar; rank 1 or more is expected");
    struct build_spec spec = { .op = "L2Norm",
                               BUILD_IN(x),
                               .params = { BUILD_U32("axis", rank - 1), BUILD_F32("epsilon", 1e-6) } };
    return tfl_emit_act(cx, &spec, tfl_activation(cx, OPTION_FIRST));
}

TFL_LOWER(lrn)
{
    uint32_t x;
    struct fb_table o = cx->op->options;
    TRY(tfl_in(cx, 0, &x));
    return tfl_emit(cx, &(struct build_spec){ .op = "Lrn",
                                              BUILD_IN(x),
                                              .params = { BUILD_I32("radius", tfl_option(cx, LRN_RADIUS, 0)),
                                                          BUILD_F32("bias", fb_float(o, LRN_BIAS, 0)),
                                                          BUILD_F32("alpha", fb_float(o, LRN_ALPHA, 0)),
                                                          BUILD_F32("beta", fb_float(o, LRN_BETA, 0)) } });
}

/* ---- two and more operands ------------------------------------------------------------------------------------------ */

/* ADD, SUB, MUL and DIV may have an activation behind them; the other operators have no such field. */
TFL_LOWER(binary)
{
    uint32_t x, y;
    enum tfl_activation act = cx->row->fused ? tfl_activation(cx, OPTION_FIRST) : ACT_NONE;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_in(cx, 1, &y));
    if (dtype_is_float(tfl_desc(cx, x)->type) != dtype_is_float(tfl_desc(cx, y)->type)) {
        TRY(tfl_float(cx, "a", x, &x)); /* a constant kept in 8 bits beside float */
        TRY(tfl_float(cx, "b", y, &y));
    }
    struct build_spec spec = {.op = cx->row->arg, BUILD_IN(x, y)};
    return tfl_emit_act(cx, &spec, act);
}

TFL_LOWER(add_n)
{
    uint32_t sum, x, n = cx->op->in.n;
    TRY(tfl_in(cx, 0, &sum));
    TFL_REFUSE_IF(n < 2, "%u inputs; 2 or more are expected", n);
    TFL_REFUSE_IF(dtype_is_fixed(tfl_desc(cx, sum)->type), "the inputs are fixed point; float or integers are expected");
    for (uint32_t k = 1; k + 1 < n; k++) {
        TRY(tfl_in(cx, k, &x));
        TRY(build_binary(&cx->b, "ElementWiseAdd", tfl_name(cx, "sum"), sum, x, &sum));
    }
    TRY(tfl_in(cx, n - 1, &x));
    return tfl_emit(cx, &(struct build_spec){.op = "ElementWiseAdd", BUILD_IN(sum, x)});
}

/* The first form has a condition per row: a list as long as the first dimension. */
TFL_LOWER(select)
{
    uint32_t c, x, y, dims[MAX_RANK];
    TRY(tfl_in(cx, 0, &c));
    TRY(tfl_in(cx, 1, &x));
    TRY(tfl_in(cx, 2, &y));
    uint32_t rank = tfl_desc(cx, x)->rank;
    if (cx->row->arg && tfl_desc(cx, c)->rank == 1 && rank > 1) {
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = i ? 1 : tfl_desc(cx, c)->dims[0];
        TRY(build_reshape(&cx->b, tfl_name(cx, "rows"), c, rank, dims, &c));
    }
    return tfl_emit(cx, &(struct build_spec){.op = "ElementWiseSelect", BUILD_IN(c, x, y)});
}

/* ---- along axes ----------------------------------------------------------------------------------------------------- */

TFL_LOWER(reduce)
{
    uint32_t x, n, count = 0, axes[MAX_RANK];
    int64_t given[MAX_RANK];
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_ints(cx, 1, given, MAX_RANK, &n));
    uint32_t rank = tfl_desc(cx, x)->rank, seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis;
        TRY(tfl_axis(cx, given[i], rank, &axis));
        if (!(seen >> axis & 1))
            axes[count++] = axis;
        seen |= 1u << axis;
    }
    if (count == 0) /* over nothing: the input itself */
        return tfl_emit(cx, &(struct build_spec){.op = "Reshape", BUILD_IN(x)});
    return tfl_emit(cx, &(struct build_spec){ .op = cx->row->arg,
                                              BUILD_IN(x),
                                              .params = { BUILD_U32S("axes", count, axes),
                                                          BUILD_B8("keep_dims", tfl_flag(cx, OPTION_FIRST)) } });
}

TFL_LOWER(arg)
{
    uint32_t x, axis;
    int64_t given;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_int(cx, 1, &given));
    TRY(tfl_axis(cx, given, tfl_desc(cx, x)->rank, &axis));
    return tfl_emit(cx, &(struct build_spec){ .op = cx->row->arg,
                                              BUILD_IN(x),
                                              .params = { BUILD_U32("axis", axis), BUILD_B8("keep_dims", false) } });
}

TFL_LOWER(cumsum)
{
    uint32_t x, axis;
    int64_t given;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_int(cx, 1, &given));
    TRY(tfl_axis(cx, given, tfl_desc(cx, x)->rank, &axis));
    return tfl_emit(
        cx, &(struct build_spec){ .op = "CumulativeSum",
                                  BUILD_IN(x),
                                  .params = { BUILD_U32("axis", axis), BUILD_B8("exclusive", tfl_flag(cx, CUMSUM_EXCLUSIVE)),
                                              BUILD_B8("reverse", tfl_flag(cx, CUMSUM_REVERSE)) } });
}

TFL_LOWER(top_k)
{
    uint32_t x;
    int64_t k;
    TRY(tfl_in(cx, 0, &x));
    TRY(tfl_int(cx, 1, &k));
    TFL_REFUSE_IF(k < 1 || k > INT32_MAX, "k is %lld; at least 1 is expected", (long long)k);
    return tfl_emit(cx, &(struct build_spec){.op = "TopK", BUILD_IN(x), .n_out = 2, .params = {BUILD_U32("k", k)}});
}

/* ---- types ---------------------------------------------------------------------------------------------------------- */

/* The stored numbers: an encoding on the way does not count, as it would in a Cast, so plain integers stand between. */
TFL_LOWER(cast)
{
    uint32_t x, real;
    TRY(tfl_in(cx, 0, &x));
    if (tfl_source(cx, 0)->complex) { /* the imaginary part is dropped */
        TFL_REFUSE_IF(tfl_out_desc(cx, 0)->type != DT_F32 || tfl_complex_out(cx),
                      "complex numbers become another type than float32");
        TRY(tfl_complex_part(cx, "real", x, 0, &real));
        return tfl_bind(cx, 0, real);
    }
    TFL_REFUSE_IF(tfl_complex_out(cx), "real numbers become complex ones");
    enum dtype from = tfl_desc(cx, x)->type, to = tfl_out_desc(cx, 0)->type;
    if (dtype_is_fixed(from) || dtype_is_fixed(to))
        TRY(build_cast(&cx->b, tfl_name(cx, "cast"), x, dtype_is_fixed(to) ? build_plain(to) : build_plain(from), &x));
    return tfl_emit(cx, &(struct build_spec){.op = "Cast", BUILD_IN(x)});
}

TFL_LOWER(quantize)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    return tfl_emit(
        cx, &(struct build_spec){ .op = dtype_is_float(tfl_desc(cx, x)->type) ? "Quantize" : "Convert", BUILD_IN(x) });
}

/* One constant is often a parameter (what a padding holds), so it stays a constant. */
TFL_LOWER(dequantize)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    enum dtype type = tfl_desc(cx, x)->type;
    if (build_data(&cx->b, x) && desc_count(tfl_desc(cx, x)) == 1 && tfl_out_desc(cx, 0)->type == DT_F32) {
        struct tensor_desc d = *tfl_desc(cx, x);
        double value;
        float *f = arena_new(&cx->b.g->arena, float);
        RETURN_IF(!f, ST_NO_MEMORY, "no memory for a constant");
        TRY(tfl_real(cx, 0, &value));
        *f = (float)value;
        TRY(build_const_f32(&cx->b, tfl_name(cx, "value"), d.rank, d.dims, f, &x));
        return tfl_bind(cx, 0, x);
    }
    if (type == build_type(&cx->b, tfl_out_desc(cx, 0)->type)) /* f16 weights of a graph in f16 */
        return tfl_bind(cx, 0, x);
    return tfl_emit(cx, &(struct build_spec){.op = dtype_is_fixed(type) ? "Dequantize" : "Cast", BUILD_IN(x)});
}

/* Rounds to an encoding of [min, max] moved so that zero lies on a step. */
TFL_LOWER(fake_quant)
{
    uint32_t x, q;
    double lo = (double)fb_float(cx->op->options, FAKE_QUANT_MIN, 0),
           hi = (double)fb_float(cx->op->options, FAKE_QUANT_MAX, 0);
    int64_t bits = tfl_option(cx, FAKE_QUANT_BITS, 0), first = tfl_flag(cx, FAKE_QUANT_NARROW) ? 1 : 0;
    TRY(tfl_in(cx, 0, &x));
    TFL_REFUSE_IF(bits < 2 || bits > 16 || !(lo <= 0) || !(hi >= 0) || !(hi > lo),
                  "range [%g, %g] in %lld bits; a range around 0 in 2 … 16 bits is "
                  "expected",
                  lo, hi, (long long)bits);
    int64_t last = (INT64_C(1) << bits) - 1;
    struct tensor_desc d = { .type = bits > 8 ? DT_UQ16 : DT_UQ8,
                             .q = {
                                 .kind = Q_TENSOR, .definition = 1, .scale = (float)((hi - lo) / (double)(last - first)) } };
    double zero = (double)first - lo / (double)d.q.scale;
    d.q.offset = -(int32_t)lrint(zero < (double)first ? (double)first : zero > (double)last ? (double)last : zero);
    float least = (float)(first + d.q.offset) * d.q.scale, most = (float)(last + d.q.offset) * d.q.scale;
    TRY(tfl_part(cx, "range",
                 &(struct build_spec){ .op = "ReluMinMax",
                                       BUILD_IN(x),
                                       .params = { BUILD_F32("min_value", least), BUILD_F32("max_value", most) } },
                 NULL, &x));
    TRY(tfl_part(cx, "steps", &(struct build_spec){.op = "Quantize", BUILD_IN(x)}, &d, &q));
    return tfl_emit(cx, &(struct build_spec){.op = "Dequantize", BUILD_IN(q)});
}
