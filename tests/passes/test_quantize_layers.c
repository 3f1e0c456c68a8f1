/* SPDX-License-Identifier: Apache-2.0 */
/* The algorithms that work on whole layers, against convolutions written here: equalized weights compute the same and have
 * equal ranges, corrected means are those of the results, rounding is never worse than to nearest on what it looked at, and
 * the same every time. */
#include "unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"

static uint32_t seed = 1;
static float uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)((seed >> 8) / 8388608.0 - 1);
}

static struct ir_graph *parse(const char *text)
{
    struct ir_graph *g = NULL;
    if (ir_parse(text, strlen(text), &g) != ST_OK)
        fail_msg("%s", status_text());
    return g;
}

static void fill(struct ir_graph *g, const char *name, float factor)
{
    struct ir_tensor *t = &g->tensors.at[ir_find_tensor(g, name)];
    for (uint64_t i = 0; i < desc_count(&t->desc); i++)
        ((float *)t->data)[i] = uniform() * factor;
}

static float *floats(struct ir_graph *g, const char *name)
{
    return (float *)g->tensors.at[ir_find_tensor(g, name)].data;
}

/* ---- equalization ------------------------------------------------------------------------------------------------- */

static const char chain[] =
    "graph \"net\" {\n"
    "  in %x : f32[1,4,4,2]\n"
    "  const %w1 : f32[1,1,2,3] = (0.001,10,1, 0.002,-20,-0.5)\n"
    "  const %b1 : f32[3] = (0.0005,4,0.25)\n"
    "  const %w2 : f32[1,1,1,3] = (5,0.25,-1)\n"
    "  const %b2 : f32[3] = (1,2,3)\n"
    "  const %w3 : f32[1,1,3,2] = (1,2, 300,-400, 0.5,0.25)\n"
    "  tmp %a : f32[1,4,4,3]\n  tmp %ar : f32[1,4,4,3]\n  tmp %d : f32[1,4,4,3]\n  tmp %dr : f32[1,4,4,3]\n"
    "  out %y : f32[1,4,4,2]\n"
    "  %a = Conv2d \"one\" (%x, %w1, %b1) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
    "  %ar = Relu6 \"clamp\" (%a)\n"
    "  %d = DepthWiseConv2d \"two\" (%ar, %w2, %b2) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
    "  %dr = Relu \"relu\" (%d)\n"
    "  %y = Conv2d \"three\" (%dr, %w3) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
    "}\n";

static double relu(double x)
{
    return x > 0 ? x : 0;
}

/* The chain for one pixel, its clamp taken for Relu. */
static void evaluate(struct ir_graph *g, const float x[2], double y[2])
{
    const float *w1 = floats(g, "w1"), *b1 = floats(g, "b1"), *w2 = floats(g, "w2"), *b2 = floats(g, "b2"),
                *w3 = floats(g, "w3");
    y[0] = y[1] = 0;
    for (unsigned c = 0; c < 3; c++) {
        double a = relu((double)x[0] * w1[c] + (double)x[1] * w1[3 + c] + b1[c]), d = relu(a * w2[c] + b2[c]);
        y[0] += d * w3[2 * c];
        y[1] += d * w3[2 * c + 1];
    }
}

static double largest(const float *w, unsigned n, unsigned step)
{
    double most = 0;
    for (unsigned i = 0; i < n; i++)
        most = fmax(most, fabs(w[i * step]));
    return most;
}

static void test_equalize(void **state)
{
    struct ir_graph *g = parse(chain), *same = parse(chain);
    struct quantize_equalized done;
    assert_int_equal(quantize_equalize(g, NULL, &done), ST_OK);
    assert_int_equal(done.pairs, 2);
    assert_int_equal(done.clamps, 1);
    assert_int_equal(g->nodes.at[1].op->id, OP_Relu);
    for (unsigned i = 0; i < 200; i++) {
        float x[2] = { uniform() * 3, uniform() * 3 };
        double got[2], want[2];
        evaluate(g, x, got);
        evaluate(same, x, want);
        for (unsigned k = 0; k < 2; k++)
            assert_true(fabs(got[k] - want[k]) <= 1e-4 * fabs(want[k]) + 1e-4);
    }
    for (unsigned c = 0; c < 3; c++) { /* all three layers have the same range in a channel */
        double r1 = largest(floats(g, "w1") + c, 2, 3), r2 = largest(floats(g, "w2") + c, 1, 1),
               r3 = largest(floats(g, "w3") + 2 * c, 2, 1);
        assert_true(fabs(r1 / r2 - 1) < 0.02 && fabs(r2 / r3 - 1) < 0.02);
    }
    ir_graph_free(g);
    g = parse(chain); /* what has an encoding of its own stays: here the depthwise weights, which both pairs need */
    bool frozen[16] = { 0 };
    frozen[ir_find_tensor(g, "w2")] = true;
    assert_int_equal(quantize_equalize(g, frozen, &done), ST_OK);
    assert_int_equal(done.pairs, 0);
    assert_int_equal(g->nodes.at[1].op->id, OP_Relu6);
    assert_memory_equal(floats(g, "w1"), floats(same, "w1"), 6 * sizeof(float));
    ir_graph_free(g);
    ir_graph_free(same);
    (void)state;
}

/* ---- means and rounding --------------------------------------------------------------------------------------------- */

enum { H = 7, W = 6, C = 4, OUTS = 6, KH = 3, KW = 2, GROUPS = 2, IMAGES = 12 };

static const char grouped[] =
    "graph \"net\" {\n"
    "  in %x : f32[1,7,6,4]\n"
    "  const %w : f32[3,2,2,6] = (0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
    "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0)\n"
    "  out %y : f32[1,4,4,6]\n"
    "  %y = Conv2d \"conv\" (%x, %w) { stride=u32[2](2,1), pad_amount=u32[2,2](1,1,0,0), group=u32(2), dilation=u32[2](1,2) "
    "}\n"
    "}\n";

/* One result of that convolution with weights taken from `w`. */
static double product(const float *x, const double *w, int row, int column, int o)
{
    double sum = 0;
    for (int i = 0; i < KH; i++)
        for (int j = 0; j < KW; j++)
            for (int c = 0; c < C / GROUPS; c++) {
                int y = row * 2 + i - 1, z = column + 2 * j, channel = o / (OUTS / GROUPS) * (C / GROUPS) + c;
                if (y >= 0 && y < H && z < W)
                    sum += (double)x[(y * W + z) * C + channel] * w[((i * KW + j) * (C / GROUPS) + c) * OUTS + o];
            }
    return sum;
}

/* Mean and mean square per output of (w + difference) - w over all images. */
static void measure(float images[IMAGES][H * W * C], const double *difference, double mean[OUTS], double square[OUTS])
{
    for (int o = 0; o < OUTS; o++) {
        mean[o] = square[o] = 0;
        for (int n = 0; n < IMAGES; n++)
            for (int r = 0; r < 4; r++)
                for (int c = 0; c < 4; c++) {
                    double e = product(images[n], difference, r, c, o);
                    mean[o] += e / (IMAGES * 16);
                    square[o] += e * e / (IMAGES * 16);
                }
    }
}

struct quantized_layer {
    struct ir_graph *g;
    struct quantize_layers layers;
    float images[IMAGES][H * W * C];
    struct tensor_desc d;
    float scales[OUTS];
    int8_t data[KH * KW * C / GROUPS * OUTS];
};

static void setup_layer(struct quantized_layer *l)
{
    memset(l, 0, sizeof(*l));
    seed = 3;
    l->g = parse(grouped);
    fill(l->g, "w", 1);
    assert_int_equal(quantize_layers_find(l->g, &l->layers), ST_OK);
    assert_int_equal(l->layers.list.n, 1);
    assert_int_equal(quantize_layers_prepare(&l->layers, IMAGES, true), ST_OK);
    for (unsigned n = 0; n < IMAGES; n++) {
        for (unsigned i = 0; i < H * W * C; i++) /* neighbours are alike, and channel 1 has a mean */
            l->images[n][i] = uniform() + (i >= 2 * C ? l->images[n][i - 2 * C] * 0.7f : 0) + (i % C == 1 ? 1 : 0);
        quantize_layer_observe(&l->layers.list.at[0], l->images[n]);
    }
    l->d = l->g->tensors.at[ir_find_tensor(l->g, "w")].desc;
    l->d.type = DT_SQ8;
    for (unsigned o = 0; o < OUTS; o++)
        l->scales[o] = 0.1f + 0.03f * (float)o;
    l->d.q = (struct quant){ .kind = Q_AXIS, .definition = 1, .axis = 3, .n = OUTS, .scales = l->scales };
    quantize_data(&l->d, floats(l->g, "w"), l->data);
}

static void differences(struct quantized_layer *l, double *ret)
{
    for (unsigned i = 0; i < sizeof(l->data); i++)
        ret[i] = (double)l->data[i] * l->scales[i % OUTS] - floats(l->g, "w")[i];
}

static void finish_layer(struct quantized_layer *l)
{
    quantize_layers_finish(&l->layers);
    ir_graph_free(l->g);
}

static void test_shift(void **state)
{
    static struct quantized_layer l;
    double difference[sizeof(l.data)], mean[OUTS], square[OUTS];
    float *shift;
    setup_layer(&l);
    differences(&l, difference);
    measure(l.images, difference, mean, square);
    assert_int_equal(quantize_shift(&l.layers.list.at[0], &l.d, floats(l.g, "w"), l.data, &l.layers.arena, &shift), ST_OK);
    for (unsigned o = 0; o < OUTS; o++)
        assert_true(fabs(shift[o] - mean[o]) < 1e-5 && fabs(mean[o]) > 1e-4);
    finish_layer(&l);
    (void)state;
}

static void test_round(void **state)
{
    static struct quantized_layer l;
    double difference[sizeof(l.data)], mean[OUTS], before[OUTS], after[OUTS], all = 0, was = 0;
    int8_t nearest[sizeof(l.data)], first[sizeof(l.data)];
    uint64_t moved;
    for (unsigned again = 0; again < 2; again++) {
        setup_layer(&l);
        differences(&l, difference);
        measure(l.images, difference, mean, before);
        memcpy(nearest, l.data, sizeof(nearest));
        assert_int_equal(quantize_round(&l.layers.list.at[0], &l.d, floats(l.g, "w"), l.data, &moved), ST_OK);
        if (again)
            assert_memory_equal(l.data, first, sizeof(first));
        memcpy(first, l.data, sizeof(first));
        finish_layer(&l);
    }
    setup_layer(&l);
    memcpy(l.data, first, sizeof(first));
    differences(&l, difference);
    measure(l.images, difference, mean, after);
    uint64_t changed = 0;
    for (unsigned i = 0; i < sizeof(l.data); i++) {
        changed += first[i] != nearest[i];
        assert_true(fabs(difference[i]) <= l.scales[i % OUTS] * 1.0001); /* one of the two steps around the weight */
    }
    assert_int_equal(changed, moved);
    assert_true(moved > 0);
    for (unsigned o = 0; o < OUTS; o++) {
        all += after[o];
        was += before[o];
        assert_true(after[o] <= before[o] * 1.05);
    }
    assert_true(all < was * 0.8);
    finish_layer(&l);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_equalize), cmocka_unit_test(test_shift),
                                        cmocka_unit_test(test_round) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
