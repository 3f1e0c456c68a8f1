/* SPDX-License-Identifier: Apache-2.0 */
/* The quantizer: the worked example of the documented arithmetic, every calibration method against a search written here on
 * the raw data, constants, overrides, and whole graphs that must pass the checks of src/ops. */
#include "unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", got, tolerance, want);
}

/* ---- encodings ---------------------------------------------------------------------------------------------------- */

static void test_worked_example(void **state)
{
    static const float x[] = { -1.8f, -1.0f, 0, 0.5f };
    static const uint8_t want[] = { 0, 89, 200, 255 };
    static const double back[] = { -1.8039, -1.0011, 0, 0.4961 };
    struct quantize_rule r = { .bits = 8 };
    struct quantize_encoding e;
    uint8_t q[4];
    quantize_encode(&r, -1.8, 0.5, &e);
    assert_int_equal(e.type, DT_UQ8);
    assert_int_equal(e.offset, -200);
    assert_near(e.scale, 0.009020, 1e-6);
    assert_near(e.min, -1.803922, 1e-6);
    assert_near(e.max, 0.496078, 1e-6);
    struct tensor_desc d = {
        .type = e.type, .rank = 1, .dims = { 4 }, .q = { .kind = Q_TENSOR, .scale = e.scale, .offset = e.offset }
    };
    quantize_data(&d, x, q);
    for (unsigned i = 0; i < COUNT(want); i++) {
        assert_int_equal(q[i], want[i]);
        assert_near(((double)q[i] + e.offset) * e.scale, back[i], 1e-4);
    }
    (void)state;
}

static void test_ranges(void **state)
{
    static const struct {
        uint8_t bits, schema;
        double min, max, want_scale;
        enum dtype type;
        int32_t offset;
    } cases[] = {
        { 8, QUANTIZE_ASYMMETRIC, 2, 5.1, 5.1 / 255, DT_UQ8, 0 },               /* strictly positive: from 0 */
        { 8, QUANTIZE_ASYMMETRIC, -5.1, -2, 5.1 / 255, DT_UQ8, -255 },          /* strictly negative: to 0 */
        { 8, QUANTIZE_ASYMMETRIC, 0, 0, 0.0001 / 255, DT_UQ8, 0 },              /* the least range */
        { 8, QUANTIZE_ASYMMETRIC, -1e-6, 0, 0.0001 / 255, DT_UQ8, -255 },
        { 16, QUANTIZE_ASYMMETRIC, -1, 1, 2.0 / 65535, DT_UQ16, -32768 },
        { 8, QUANTIZE_SYMMETRIC, -1, 0.5, 1.0 / 127, DT_SQ8, 0 },
        { 4, QUANTIZE_SYMMETRIC, -0.1, 0.7, 0.7 / 7, DT_SQ4, 0 },
        { 16, QUANTIZE_SYMMETRIC, 0, 2, 2.0 / 32767, DT_SQ16, 0 },
        { 8, QUANTIZE_UNSIGNED_SYMMETRIC, 0, 2.55, 0.01, DT_UQ8, 0 },
        { 8, QUANTIZE_UNSIGNED_SYMMETRIC, -1.27, 1, 0.01, DT_SQ8, 0 },
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        struct quantize_rule r = { .bits = cases[i].bits, .schema = cases[i].schema };
        struct quantize_encoding e;
        quantize_encode(&r, cases[i].min, cases[i].max, &e);
        assert_int_equal(e.type, cases[i].type);
        assert_int_equal(e.offset, cases[i].offset);
        assert_near(e.scale / cases[i].want_scale, 1, 1e-6);
    }
    struct quantize_encoding e;
    struct quantize_rule steps = { .bits = 16, .schema = QUANTIZE_SYMMETRIC, .step_min = -0x8000, .step_max = 0x7f7f };
    quantize_encode(&steps, -1, 1, &e);
    assert_near(e.scale * 0x7f7f, 1, 1e-6);
    steps.bits = 8; /* meant for 16 bits */
    quantize_encode(&steps, -1, 1, &e);
    assert_near(e.scale * 127, 1, 1e-6);
    (void)state;
}

static void test_data(void **state)
{
    /* Ties to even, limits, NaN, per channel, and two values in a byte. */
    static const float x[] = { 0.5f, 1.5f, 2.5f, -0.5f, 1000, -1000, NAN, 3 };
    static const int8_t want[] = { 0, 2, 2, 0, 127, -128, 0, 3 };
    int8_t q[8];
    struct tensor_desc d = { .type = DT_SQ8, .rank = 1, .dims = { 8 }, .q = { .kind = Q_TENSOR, .scale = 1 } };
    quantize_data(&d, x, q);
    assert_memory_equal(q, want, sizeof(q));
    static const float scales[] = { 1, 0.5f }, y[] = { 3, 3, -2, -2 };
    static const int8_t per[] = { 3, 6, -2, -4 };
    struct tensor_desc c = {
        .type = DT_SQ8, .rank = 2, .dims = { 2, 2 }, .q = { .kind = Q_AXIS, .axis = 1, .n = 2, .scales = scales }
    };
    assert_true(isinf(quantize_data(&c, y, q)));
    assert_memory_equal(q, per, 4);
    uint8_t packed[2] = { 0xff, 0xff };
    struct tensor_desc p = { .type = DT_SQ4, .rank = 1, .dims = { 3 }, .q = { .kind = Q_TENSOR, .scale = 1 } };
    quantize_data(&p, (const float[]){ -3, 7, 100 }, packed);
    assert_int_equal(packed[0], 0x7d);
    assert_int_equal(packed[1] & 15, 7);
    (void)state;
}

/* ---- statistics and methods --------------------------------------------------------------------------------------- */

enum { SAMPLES = 20000 };

static uint32_t seed;
static double uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) / 16777216.0;
}

/* A bell with a few far outliers; a quarter are zeros. */
static float *samples(void)
{
    float *x = malloc(SAMPLES * sizeof(*x));
    seed = 7;
    for (unsigned i = 0; i < SAMPLES; i++) {
        double s = 0;
        for (unsigned k = 0; k < 12; k++)
            s += uniform();
        x[i] = i % 4 == 0 ? 0 : (float)((s - 6) * (i % 1000 == 1 ? 8 : 1));
    }
    return x;
}

static void test_histogram(void **state)
{
    float *x = samples();
    struct quantize_range *whole = malloc(sizeof(*whole)), *parts = malloc(sizeof(*parts));
    double min = INFINITY, max = -INFINITY, sum = 0, square = 0;
    uint64_t zeros = 0, total = 0;
    quantize_range_init(whole);
    quantize_range_init(parts);
    quantize_range_add(whole, x, SAMPLES);
    for (unsigned i = 0; i < SAMPLES; i += 100) /* many small parts: the histogram has to grow */
        quantize_range_add(parts, x + i, 100);
    quantize_range_add(parts, (const float[]){ NAN, INFINITY }, 2);
    for (unsigned i = 0; i < SAMPLES; i++) {
        min = fmin(min, x[i]);
        max = fmax(max, x[i]);
        sum += x[i];
        square += (double)x[i] * x[i];
        zeros += x[i] == 0;
    }
    for (unsigned k = 0; k < 2; k++) {
        const struct quantize_range *r = k ? parts : whole;
        assert_true(r->min == min && r->max == max && r->count == SAMPLES && r->zeros == zeros && r->odd == 2 * k);
        assert_near(r->sum, sum, 1e-6);
        assert_near(r->sum_sq, square, 1e-6);
        assert_true(r->lo <= min && r->hi >= max);
        total = 0;
        double width = (r->hi - r->lo) / QUANTIZE_BINS;
        for (unsigned b = 0; b < QUANTIZE_BINS; b++)
            total += r->bins[b];
        assert_int_equal(total + zeros, SAMPLES);
        for (unsigned b = 0; b < QUANTIZE_BINS;
             b += 97) { /* counts of some bins, one bin of slack for rounding at the borders */
            uint64_t few = 0, many = 0;
            for (unsigned i = 0; i < SAMPLES; i++) {
                double at = (x[i] - r->lo) / width;
                few += x[i] != 0 && at > b + 1e-6 && at < b + 1 - 1e-6;
                many += x[i] != 0 && at > b - 1e-6 && at < b + 1 + 1e-6;
            }
            assert_in_range(r->bins[b], few, many);
        }
    }
    free(whole);
    free(parts);
    free(x);
    (void)state;
}

/* The error on the raw data of clipping to [lo, hi] and rounding. */
static double raw_error(const float *x, const struct quantize_encoding *e, double clip_weight)
{
    double sum = 0, steps = dtype_max(e->type) - dtype_min(e->type), least = dtype_min(e->type);
    for (unsigned i = 0; i < SAMPLES; i++) {
        double q = rint(x[i] / e->scale) - e->offset, cut = fmin(fmax(q, least), least + steps),
               back = (cut + e->offset) * e->scale;
        sum += (back - x[i]) * (back - x[i]) * (cut != q ? clip_weight : 1);
    }
    return sum;
}

static void test_error_methods(void **state)
{
    float *x = samples();
    struct quantize_range *s = malloc(sizeof(*s));
    quantize_range_init(s);
    quantize_range_add(s, x, SAMPLES);
    for (unsigned k = 0; k < 6; k++) {
        struct quantize_rule r = { .bits = 8, .schema = (uint8_t)(k % 3), .method = k < 3 ? QUANTIZE_MSE : QUANTIZE_SQNR },
                             full = r;
        struct quantize_encoding e, all;
        double lo, hi, weight = k < 3 ? 1 : 3, best = INFINITY;
        quantize_search(s, &r, &lo, &hi);
        quantize_encode(&r, lo, hi, &e);
        quantize_encode(&full, s->min, s->max, &all);
        for (unsigned i = 1; i <= 40; i++) /* the oracle: ranges that shrink on both sides */
            for (unsigned j = r.schema ? i : 1; j <= (r.schema ? i : 40); j++) {
                struct quantize_encoding t;
                quantize_encode(&full, s->min * i / 40, s->max * j / 40, &t);
                best = fmin(best, raw_error(x, &t, weight));
            }
        double got = raw_error(x, &e, weight);
        assert_true(got <= best * 1.1);
        assert_true(got < raw_error(x, &all, weight)); /* outliers pay */
        double square = 0;
        for (unsigned i = 0; i < SAMPLES; i++)
            square += (double)x[i] * x[i];
        assert_near(quantize_sqnr(s, &e), 10 * log10(square / raw_error(x, &e, 1)), 0.7);
    }
    free(s);
    free(x);
    (void)state;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static void test_percentile(void **state)
{
    float *x = samples();
    struct quantize_range *s = malloc(sizeof(*s));
    quantize_range_init(s);
    quantize_range_add(s, x, SAMPLES);
    qsort(x, SAMPLES, sizeof(*x), ascending);
    double width = (s->hi - s->lo) / QUANTIZE_BINS;
    static const double percentiles[] = { 99.99, 99.9, 99, 90 };
    for (unsigned i = 0; i < COUNT(percentiles); i++) {
        struct quantize_rule r = { .bits = 8, .method = QUANTIZE_PERCENTILE, .percentile = percentiles[i] };
        double lo, hi;
        unsigned cut = (unsigned)floor((100 - percentiles[i]) / 100 * SAMPLES + 1e-6);
        quantize_search(s, &r, &lo, &hi);
        assert_true(lo <= x[cut] + width && hi >= x[SAMPLES - 1 - cut] - width);
        assert_true(lo >= x[cut > 4 ? cut - 4 : 0] - 2 * width); /* no wider than a bin allows, where values are dense */
        unsigned below = 0, above = 0;
        for (unsigned k = 0; k < SAMPLES; k++) {
            below += x[k] < lo;
            above += x[k] > hi;
        }
        assert_true(below <= cut && above <= cut);
    }
    free(s);
    free(x);
    (void)state;
}

/* Kullback-Leibler divergence on the raw data, in cells of the histogram's width. */
static void test_entropy(void **state)
{
    float *x = samples();
    struct quantize_range *s = malloc(sizeof(*s));
    struct quantize_rule r = { .bits = 8, .method = QUANTIZE_ENTROPY };
    double lo, hi;
    quantize_range_init(s);
    quantize_range_add(s, x, SAMPLES);
    quantize_search(s, &r, &lo, &hi);
    unsigned outside = 0;
    for (unsigned i = 0; i < SAMPLES; i++)
        outside += x[i] < lo || x[i] > hi;
    assert_true(lo > s->min && hi < s->max);  /* the outliers are given up … */
    assert_true(outside < SAMPLES / 100);      /* … and not much more */
    assert_true(hi - lo > 4);
    /* A flat distribution has nothing to give up. */
    for (unsigned i = 0; i < SAMPLES; i++)
        x[i] = (float)(uniform() * 2 - 1);
    quantize_range_init(s);
    quantize_range_add(s, x, SAMPLES);
    quantize_search(s, &r, &lo, &hi);
    assert_true(lo < -0.9 && hi > 0.9);
    r.bits = 16;
    quantize_search(s, &r, &lo, &hi);
    assert_true(lo == s->min && hi == s->max);
    free(s);
    free(x);
    (void)state;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

static const char net[] =
    "graph \"net\" {\n"
    "  in %x : f32[1,4,4,2]\n"
    "  in %n : i32[1]\n"
    "  const %w : f32[1,1,2,3] = (0.5,-1,2,0.25,1,-0.125)\n"
    "  const %b : f32[3] = (0.1,-0.2,0.3)\n"
    "  const %k : f32[1] = (2)\n"
    "  tmp %c : f32[1,4,4,3]\n"
    "  tmp %r : f32[1,4,4,3]\n"
    "  tmp %p : f32[1,2,2,3]\n"
    "  tmp %f : f32[1,12]\n"
    "  tmp %m : f32[1,12]\n"
    "  out %nan : b8[1,12]\n"
    "  out %y : f32[1,12]\n"
    "  %c = Conv2d \"conv\" (%x, %w, %b) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
    "  %r = Relu \"relu\" (%c)\n"
    "  %p = PoolMax2d \"pool\" (%r) { filter_size=u32[2](2,2), stride=u32[2](2,2), pad_amount=u32[2,2](0,0,0,0) }\n"
    "  %f = Reshape \"flat\" (%p)\n"
    "  %m = ElementWiseMultiply \"twice\" (%f, %k)\n"
    "  %nan = IsNan \"nan\" (%m)\n"
    "  %y = Softmax \"soft\" (%m)\n"
    "}\n";

static struct ir_graph *parse_net(void)
{
    struct ir_graph *g = NULL;
    if (ir_parse(net, sizeof(net) - 1, &g) != ST_OK)
        fail_msg("%s", status_text());
    return g;
}

/* Ranges as a run would leave them. */
static struct quantize_range *stats_of(const struct ir_graph *g)
{
    struct quantize_range *s = calloc(g->tensors.n, sizeof(*s));
    for (size_t i = 0; i < g->tensors.n; i++) {
        quantize_range_init(&s[i]);
        double top = 1 + (double)i;
        float v[] = { 0, (float)top, strchr("rpfmy", g->tensors.at[i].name[0]) ? 0.5f : (float)-top };
        if (quantize_is_activation(&g->tensors.at[i]))
            quantize_range_add(&s[i], v, 3);
    }
    return s;
}

static const struct ir_tensor *tensor(struct ir_graph *g, const char *name)
{
    uint32_t t = ir_find_tensor(g, name);
    if (t == IR_NONE)
        fail_msg("no tensor %s", name);
    return &g->tensors.at[t];
}

static struct ir_graph *quantized(struct ir_graph *g, const struct quantize_opts *o)
{
    struct quantize_report report;
    struct ir_graph *q = NULL;
    quantize_report_init(&report);
    if (quantize_graph(g, o, &report, &q) != ST_OK)
        fail_msg("%s", status_text());
    assert_int_equal(ir_verify(q, "test"), ST_OK);
    quantize_report_finish(&report);
    return q;
}

static const struct ir_node *node(const struct ir_graph *g, const char *name)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!strcmp(g->nodes.at[i].name, name))
            return &g->nodes.at[i];
    fail_msg("no node %s", name);
    return NULL;
}

static void test_graph(void **state)
{
    struct ir_graph *g = parse_net();
    struct quantize_range *s = stats_of(g);
    struct quantize_opts o = {
        .act = { .bits = 8 }, .param = { .bits = 8 }, .bias_bits = 32, .per_channel = true, .stats = s
    };
    struct ir_graph *q = quantized(g, &o);
    assert_int_equal(tensor(q, "x")->desc.type, DT_UQ8);
    assert_int_equal(tensor(q, "n")->desc.type, DT_I32);
    assert_int_equal(tensor(q, "nan")->desc.type, DT_B8);
    /* Per-channel weights, a bias in their scale. */
    const struct tensor_desc *w = &tensor(q, "w")->desc, *b = &tensor(q, "b")->desc, *x = &tensor(q, "x")->desc;
    assert_int_equal(w->type, DT_SQ8);
    assert_int_equal(w->q.kind, Q_AXIS);
    assert_int_equal(w->q.axis, 3);
    assert_near(w->q.scales[2], 2.0 / 127, 1e-8);
    assert_int_equal(b->type, DT_SQ32);
    assert_near(b->q.scales[2] / (x->q.scale * w->q.scales[2]), 1, 1e-6);
    int32_t bias;
    memcpy(&bias, (const char *)tensor(q, "b")->data + 8, 4);
    assert_int_equal(bias, (int32_t)rint(0.3f / b->q.scales[2]));
    /* The clamp's encoding before it, and behind it through everything that only moves values. */
    const struct quant *r = &tensor(q, "r")->desc.q;
    assert_int_equal(r->offset, 0);
    static const char *const same[] = { "c", "p", "f" };
    for (unsigned i = 0; i < COUNT(same); i++)
        assert_true(quant_same(&tensor(q, same[i])->desc.q, r));
    assert_false(quant_same(&tensor(q, "m")->desc.q, r));
    /* Softmax is known, IsNan stays float. */
    assert_near(tensor(q, "y")->desc.q.scale, 1.0 / 255, 1e-8);
    assert_int_equal(q->tensors.at[node(q, "nan")->in[0]].desc.type, DT_F32);
    assert_int_equal(node(q, "m_float_dequantize")->op->id, OP_Dequantize);
    assert_int_equal(q->nodes.n, g->nodes.n + 1);
    ir_graph_free(q);
    free(s);
    ir_graph_free(g);
    (void)state;
}

static void test_float_ends(void **state)
{
    struct ir_graph *g = parse_net();
    struct quantize_range *s = stats_of(g);
    struct quantize_opts o = {
        .act = { .bits = 16 }, .param = { .bits = 8 }, .bias_bits = 8, .stats = s, .preserve_io = true
    };
    struct ir_graph *q = quantized(g, &o);
    assert_int_equal(tensor(q, "x")->desc.type, DT_F32);
    assert_int_equal(tensor(q, "x")->role, IR_INPUT);
    assert_int_equal(tensor(q, "y")->desc.type, DT_F32);
    assert_int_equal(tensor(q, "y")->role, IR_OUTPUT);
    assert_int_equal(tensor(q, "r")->desc.type, DT_UQ16);
    assert_int_equal(tensor(q, "b")->desc.type, DT_SQ32); /* 16-bit sums have no 8-bit bias */
    assert_int_equal(node(q, "x_fixed_quantize")->op->id, OP_Quantize);
    assert_int_equal(node(q, "y_dequantize")->op->id, OP_Dequantize);
    ir_graph_free(q);
    free(s);
    ir_graph_free(g);
    (void)state;
}

static enum status no_softmax(void *arg, const struct op_call *c)
{
    (*(unsigned *)arg)++;
    return c->op->id == OP_Softmax ? status_fail(ST_NOT_SUPPORTED, "not today") : ST_OK;
}

static void test_refused_by_engine(void **state)
{
    struct ir_graph *g = parse_net(), *q = NULL;
    struct quantize_range *s = stats_of(g);
    struct quantize_report report;
    unsigned asked = 0;
    struct quantize_opts o = {
        .act = { .bits = 8 }, .param = { .bits = 8 }, .bias_bits = 8, .stats = s, .supported = no_softmax, .arg = &asked
    };
    quantize_report_init(&report);
    assert_int_equal(quantize_graph(g, &o, &report, &q), ST_OK);
    assert_true(asked >= 5);
    assert_int_equal(report.float_nodes.n, 2);
    assert_non_null(strstr(report.float_nodes.at[1], "not today"));
    assert_int_equal(tensor(q, "y")->desc.type, DT_F32);
    assert_int_equal(tensor(q, "b")->desc.type, DT_UQ8);
    assert_int_equal(tensor(q, "w")->desc.type, DT_UQ8); /* asymmetric, one scale */
    quantize_report_finish(&report);
    ir_graph_free(q);
    free(s);
    ir_graph_free(g);
    (void)state;
}

/* Only what is named is fixed point; the rest stays float. Both signs of an offset mean the same. */
static void test_fallback(void **state)
{
    struct ir_graph *g = parse_net();
    bool used[4] = { false };
    struct quantize_entry x = { .scale = 0.02, .offset = -103, .has_scale = true },
                          c = { .scale = 0.05, .offset = 100, .has_scale = true },
                          w[3] = { { .min = -1.28, .max = 1.27, .has_range = true, .symmetric = true },
                                   { .min = -1.27, .max = 1.27, .has_range = true, .symmetric = true },
                                   { .scale = 0.02, .offset = -128, .has_scale = true, .symmetric = true } };
    struct quantize_override list[] = { { .name = "x", .bits = 8, .n = 1, .entries = &x, .used = &used[0] },
                                        { .name = "c", .bits = 8, .n = 1, .entries = &c, .used = &used[1] },
                                        { .name = "w", .bits = 8, .n = 3, .entries = w, .used = &used[2] },
                                        { .name = "other", .bits = 8, .n = 1, .entries = &c, .used = &used[3] } };
    struct quantize_opts o = {
        .act = { .bits = 8 }, .param = { .bits = 8 }, .bias_bits = 32, .overrides = list, .n_overrides = 4
    };
    struct ir_graph *q = quantized(g, &o);
    assert_true(used[0] && used[1] && used[2] && !used[3]);
    assert_int_equal(tensor(q, "x")->desc.type, DT_UQ8);
    assert_int_equal(tensor(q, "x")->desc.q.offset, -103);
    assert_int_equal(tensor(q, "c")->desc.q.offset, -100);
    const struct quant *wq = &tensor(q, "w")->desc.q;
    assert_near(wq->scales[0], 0.01, 1e-8);
    assert_near(wq->scales[1], 0.01, 1e-8);
    assert_near(wq->scales[2], 0.02, 1e-8);
    assert_int_equal(tensor(q, "r")->desc.type, DT_F32);
    assert_int_equal(tensor(q, "y")->desc.type, DT_F32);
    ir_graph_free(q);
    list[2].n = 2; /* three channels */
    struct quantize_report report;
    quantize_report_init(&report);
    assert_int_equal(quantize_graph(g, &o, &report, &q), ST_INVALID_ARG);
    assert_non_null(strstr(status_text(), "3 (output channels)"));
    quantize_report_finish(&report);
    ir_graph_free(g);
    (void)state;
}

/* A bias that 32 bits of the products' scale do not hold makes the weights' steps larger. */
static void test_large_bias(void **state)
{
    static const char text[] = "graph \"g\" {\n  in %x : f32[1,2]\n  const %w : f32[1,2] = (0.00001,0.00001)\n  const %b : "
                               "f32[1] = (1000)\n  out %y : f32[1,1]\n"
                               "  %y = FullyConnected \"fc\" (%x, %w, %b)\n}\n";
    struct ir_graph *g = NULL;
    assert_int_equal(ir_parse(text, sizeof(text) - 1, &g), ST_OK);
    struct quantize_range *s = stats_of(g);
    struct quantize_opts o = {
        .act = { .bits = 16 }, .param = { .bits = 16 }, .bias_bits = 32, .per_row = true, .stats = s
    };
    struct ir_graph *q = quantized(g, &o);
    int32_t bias;
    memcpy(&bias, tensor(q, "b")->data, 4);
    const struct quant *bq = &tensor(q, "b")->desc.q;
    assert_near(bias * (double)quant_scale(bq, 0) / 1000, 1, 1e-4);
    ir_graph_free(q);
    free(s);
    ir_graph_free(g);
    (void)state;
}

/* Scores behind a mask keep their steps, whatever stands for "never" in it. */
static void test_mask(void **state)
{
    static const char text[] = "graph \"g\" {\n  in %s : f32[1,4]\n  in %may : b8[1,4]\n  const %zero : f32[1] = (0)\n  "
                               "const %never : f32[1] = (-1e38)\n"
                               "  tmp %m : f32[1,4]\n  tmp %t : f32[1,4]\n  out %y : f32[1,4]\n  %m = ElementWiseSelect "
                               "\"mask\" (%may, %zero, %never)\n"
                               "  %t = ElementWiseAdd \"add\" (%s, %m)\n  %y = Softmax \"soft\" (%t)\n}\n";
    struct ir_graph *g = NULL;
    if (ir_parse(text, sizeof(text) - 1, &g) != ST_OK)
        fail_msg("%s", status_text());
    struct quantize_range *s = calloc(g->tensors.n, sizeof(*s));
    for (uint32_t i = 0; i < g->tensors.n; i++)
        quantize_range_init(&s[i]);
    quantize_range_add(&s[ir_find_tensor(g, "s")], (const float[]){ -2, 3 }, 2);
    quantize_range_add(&s[ir_find_tensor(g, "m")], (const float[]){ 0, -1e38f }, 2);
    quantize_range_add(&s[ir_find_tensor(g, "t")], (const float[]){ 3, -1e38f }, 2);
    quantize_range_add(&s[ir_find_tensor(g, "y")], (const float[]){ 0, 1 }, 2);
    struct quantize_opts o = { .act = { .bits = 8 }, .param = { .bits = 8 }, .bias_bits = 8, .stats = s };
    struct ir_graph *q = quantized(g, &o);
    assert_near(tensor(q, "t")->desc.q.scale, 25.0 / 255, 1e-3); /* [-2 - 20, 3] */
    assert_near(tensor(q, "m")->desc.q.scale, 25.0 / 255, 1e-3); /* [-(3 + 2) - 20, 0] */
    assert_int_equal(((const uint8_t *)tensor(q, "never")->data)[0], 0);
    assert_near((((const uint8_t *)tensor(q, "zero")->data)[0] + tensor(q, "zero")->desc.q.offset) *
                    tensor(q, "zero")->desc.q.scale,
                0, 0);
    ir_graph_free(q);
    free(s);
    ir_graph_free(g);
    (void)state;
}

/* A constant that one node reads in fixed point and a later one as float has two forms, with a name each. */
static void test_two_forms(void **state)
{
    static const char text[] = "graph \"g\" {\n  in %x : f32[4]\n  in %z : f32[4]\n  const %k : f32[1] = (0.5)\n  tmp %a : "
                               "f32[4]\n  out %y : f32[4]\n  out %w : f32[4]\n"
                               "  %a = ElementWiseAdd \"first\" (%x, %k)\n  %y = Relu \"then\" (%a)\n  %w = ElementWiseAdd "
                               "\"second\" (%z, %k)\n}\n";
    struct ir_graph *g = NULL;
    if (ir_parse(text, sizeof(text) - 1, &g) != ST_OK)
        fail_msg("%s", status_text());
    struct quantize_range *s = calloc(g->tensors.n, sizeof(*s));
    for (uint32_t i = 0; i < g->tensors.n; i++)
        quantize_range_init(&s[i]);
    static const char *const known[] = { "x", "a", "y" }; /* nothing is known of z */
    for (unsigned i = 0; i < COUNT(known); i++)
        quantize_range_add(&s[ir_find_tensor(g, known[i])], (const float[]){ -1, 2 }, 2);
    struct quantize_opts o = { .act = { .bits = 8 }, .param = { .bits = 8 }, .bias_bits = 8, .stats = s };
    struct ir_graph *q = quantized(g, &o);
    for (uint32_t i = 0; i < q->tensors.n; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(q->tensors.at[i].name, q->tensors.at[k].name);
    ir_graph_free(q);
    free(s);
    ir_graph_free(g);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example), cmocka_unit_test(test_ranges),          cmocka_unit_test(test_data),
        cmocka_unit_test(test_histogram),      cmocka_unit_test(test_error_methods),   cmocka_unit_test(test_percentile),
        cmocka_unit_test(test_entropy),        cmocka_unit_test(test_graph),           cmocka_unit_test(test_float_ends),
        cmocka_unit_test(test_refused_by_engine), cmocka_unit_test(test_fallback),     cmocka_unit_test(test_large_bias),
        cmocka_unit_test(test_mask),           cmocka_unit_test(test_two_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
