/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of the advisor has a network where it speaks, and the same network with the advice followed: there the rule is
 * silent, and what the rule is good for has come true. For speed that is the estimate of the compiled network, which the
 * advisor never saw; the saving that it promised has to be near. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/advise.h"
#include "backend/htp/htp_cost.h"
#include "base/str.h"
#include "prepare/prepare.h"

enum { SM8550 = 43, V73 = 73, MB = 1 << 20 };

/* ---- networks as text ------------------------------------------------------------------------------------------------- */

struct net {
    struct str text;
    uint32_t vtcm_mb;
};

static void begin(struct net *n)
{
    *n = (struct net){ .vtcm_mb = 8 };
    str_init(&n->text);
    str_add(&n->text, "graph \"g\" {\n");
}

/* "tmp %a : uq8[1,64,64,32]" */
static void tensor(struct net *n, const char *role, const char *name, const char *type, const char *dims)
{
    bool real = type[0] == 'f';
    str_addf(&n->text, " %s %%%s : %s[%s]%s\n", role, name, type, dims, real ? "" : " scale=0.5 offset=0");
}

/* Bytes that are all the same, or the same two in turn. */
static void constant(struct net *n, const char *name, const char *type, const char *dims, uint32_t bytes, const char *pair)
{
    bool real = type[0] == 'f';
    const char *offset = type[0] == 'u' ? "-128" : "0";
    str_addf(&n->text, " const %%%s : %s[%s]", name, type, dims);
    if (!real)
        str_addf(&n->text, " scale=0.25 offset=%s", offset);
    str_add(&n->text, " = x\"");
    for (uint32_t i = 0; i < bytes; i++)
        str_addf(&n->text, "%.2s", pair + i % 2 * 2);
    str_add(&n->text, "\"\n");
}

/* A convolution of `in` to `out` channels on a square of so many pixels; weights of that type. */
struct conv {
    const char *name, *x, *type, *weights;
    uint32_t side, kernel, in, out;
};

static void conv(struct net *n, const char *role, struct conv c)
{
    char dims[64], wname[64], wdims[64];
    uint32_t bits = dtype_bits(dtype_from_name(c.weights)), pad = c.kernel / 2;

    snprintf(dims, sizeof dims, "1,%u,%u,%u", c.side, c.side, c.out);
    snprintf(wname, sizeof wname, "w%s", c.name);
    snprintf(wdims, sizeof wdims, "%u,%u,%u,%u", c.kernel, c.kernel, c.in, c.out);
    constant(n, wname, c.weights, wdims, c.kernel * c.kernel * c.in * c.out * bits / 8, "0101");
    tensor(n, role, c.name, c.type, dims);
    str_addf(&n->text, " %%%s = Conv2d \"%s\" (%%%s, %%%s) { stride=u32[2](1,1), pad_amount=u32[2,2](%u,%u,%u,%u) }\n",
             c.name, c.name, c.x, wname, pad, pad, pad, pad);
}

static void op(struct net *n, const char *kind, const char *name, const char *inputs, const char *params)
{
    str_addf(&n->text, " %%%s = %s \"%s\" (%s)%s\n", name, kind, name, inputs, params);
}

/* ---- what becomes of them --------------------------------------------------------------------------------------------- */

struct result {
    uint64_t cycles;
    json_t *advice; /* of the graph */
};

static void compile(struct net *n, struct binary_image *im)
{
    struct cost_device d;
    struct ir_graph *g;

    htp_cost_device(SM8550, V73, (uint64_t)n->vtcm_mb * MB, 4, &d);
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 256,
                                .chains = prepare_default_chains,
                                .max_tiles = 64,
                                .vtcm_bytes = (uint64_t)n->vtcm_mb * MB,
                                .order_steps = 200000,
                                .plan_nodes = 200000,
                                .device = &d };
    struct prepare_opts o = { .opt_level = 2, .vtcm_mb = n->vtcm_mb, .hvx_threads = 4 };
    o.binary.soc_model = SM8550;
    o.binary.arch = V73;
    str_add(&n->text, "}\n");
    if (ir_parse(str_text(&n->text), strlen(str_text(&n->text)), &g) != ST_OK || prepare(&t, &o, g, im) != ST_OK)
        fail_msg("%s", status_text());
    ir_graph_free(g);
    str_finish(&n->text);
}

static struct result advise(struct net *n)
{
    struct binary_image im;
    struct binary b;
    struct result r = { 0 };

    compile(n, &im);
    assert_int_equal(binary_open(im.data, im.size, &b), ST_OK);
    const struct qhas_graph q = { .g = &b.graphs[0] };
    if (advise_graph(&q, &b.target, &r.advice) != ST_OK)
        fail_msg("%s", status_text());
    r.cycles = b.graphs[0].info.cycles;
    assert_int_equal(r.cycles, json_integer_value(json_object_get(r.advice, "cycles"))); /* estimated again: the same */
    binary_close(&b);
    binary_image_free(&im);
    return r;
}

/* The advice of a rule on an operator ("": on the graph); NULL: it has none. */
static const json_t *find(const struct result *r, const char *rule, const char *name)
{
    json_t *x;
    size_t i;

    json_array_foreach(json_object_get(r->advice, "advice"), i, x)
    {
        if (str_eq(json_string_value(json_object_get(x, "rule")), rule) &&
            str_eq(json_string_value(json_object_get(x, "op")), name))
            return x;
    }
    return NULL;
}

/* Percent that the promised saving may be of the true one. */
struct near {
    double least, most;
};

static void check_pair(struct net *before, struct net *after, const char *rule, const char *name, struct near near)
{
    struct result a = advise(before), b = advise(after);
    const json_t *x = find(&a, rule, name);

    assert_non_null(x);
    assert_null(find(&b, rule, name));
    assert_true(json_string_length(json_object_get(x, "reason")) > 20);
    assert_true(json_string_length(json_object_get(x, "change")) > 20);
    if (near.most > 0) {
        double promised = json_number_value(json_object_get(x, "saving_cycles"));
        double saved = (double)a.cycles - (double)b.cycles;
        print_message("%s: %llu cycles, %llu when followed; promised %.0f, saved %.0f\n", rule, (unsigned long long)a.cycles,
                      (unsigned long long)b.cycles, promised, saved);
        assert_true(saved > 0);
        assert_true(promised >= near.least / 100 * saved);
        assert_true(promised <= near.most / 100 * saved);
    } else {
        assert_true(json_is_null(json_object_get(x, "saving_cycles"))); /* nothing is promised */
    }
    json_decref(a.advice);
    json_decref(b.advice);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------ */

enum { SIDE = 128, C = 32 };
#define DIMS "1,128,128,32"

/* Two branches and an operator on their results. */
static void branches(struct net *n, const char *kind, const char *name)
{
    begin(n);
    tensor(n, "in", "x", "uq8", DIMS);
    conv(n, "tmp", (struct conv){ "left", "x", "uq8", "sq8", SIDE, 3, C, C });
    conv(n, "tmp", (struct conv){ "right", "x", "uq8", "sq8", SIDE, 3, C, C });
    tensor(n, "tmp", name, "uq8", DIMS);
    op(n, kind, name, "%left, %right", "");
    conv(n, "out", (struct conv){ "last", name, "uq8", "sq8", SIDE, 3, C, C });
}

static void test_division(void **state)
{
    struct net before, after;

    (void)state;
    branches(&before, "ElementWiseDivide", "join");
    branches(&after, "ElementWiseMultiply", "join");
    check_pair(&before, &after, "div-to-mul", "join", (struct near){ 90, 110 });
}

/* Many divisions of which none is worth a word: one advice for all. */
static void test_together(void **state)
{
    enum { MANY = 1500 };
    struct net before;
    char name[16], inputs[40];

    (void)state;
    begin(&before);
    tensor(&before, "in", "x", "uq8", "1,8,8,32");
    tensor(&before, "in", "by", "uq8", "1,8,8,32");
    for (int i = 0; i < MANY; i++) {
        snprintf(inputs, sizeof inputs, i ? "%%d%d, %%by" : "%%x, %%by", i - 1);
        snprintf(name, sizeof name, "d%d", i);
        tensor(&before, i + 1 < MANY ? "tmp" : "out", name, "uq8", "1,8,8,32");
        op(&before, "ElementWiseDivide", name, inputs, "");
    }
    struct result r = advise(&before);
    const json_t *x = find(&r, "div-to-mul", "");
    assert_non_null(x);
    assert_null(find(&r, "div-to-mul", "d7"));
    assert_true(json_number_value(json_object_get(x, "saving_percent")) > 30);
    json_decref(r.advice);
}

/* The branches merged, and a convolution that subtracts one half of the channels from the other. */
static void test_subtraction(void **state)
{
    struct net before, after;

    (void)state;
    branches(&before, "ElementWiseSubtract", "join");
    begin(&after);
    tensor(&after, "in", "x", "uq8", DIMS);
    conv(&after, "tmp", (struct conv){ "both", "x", "uq8", "sq8", SIDE, 3, C, 2 * C });
    conv(&after, "tmp", (struct conv){ "join", "both", "uq8", "sq8", SIDE, 1, 2 * C, C });
    conv(&after, "out", (struct conv){ "last", "join", "uq8", "sq8", SIDE, 3, C, C });
    check_pair(&before, &after, "sub-to-conv", "join", (struct near){ 60, 110 });
}

static void activated(struct net *n, bool prelu)
{
    begin(n);
    tensor(n, "in", "x", "uq8", DIMS);
    conv(n, "tmp", (struct conv){ "first", "x", "uq8", "sq8", SIDE, 3, C, C });
    if (prelu)
        constant(n, "slope", "sq8", "32", C, "0303");
    tensor(n, "tmp", "act", "uq8", DIMS);
    op(n, prelu ? "Prelu" : "Relu", "act", prelu ? "%first, %slope" : "%first", "");
    conv(n, "out", (struct conv){ "last", "act", "uq8", "sq8", SIDE, 3, C, C });
}

static void test_prelu(void **state)
{
    struct net before, after;

    (void)state;
    activated(&before, true);
    activated(&after, false);
    check_pair(&before, &after, "prelu-to-relu", "act", (struct near){ 50, 120 });
}

static void with_channels(struct net *n, uint32_t channels)
{
    begin(n);
    tensor(n, "in", "x", "uq8", DIMS);
    conv(n, "tmp", (struct conv){ "first", "x", "uq8", "sq8", SIDE, 5, C, channels });
    conv(n, "out", (struct conv){ "last", "first", "uq8", "sq8", SIDE, 5, channels, C });
}

static void test_channels(void **state)
{
    struct net before, after;

    (void)state;
    with_channels(&before, 33);
    with_channels(&after, 32);
    check_pair(&before, &after, "channels", "first", (struct near){ 50, 150 });
}

static void of_type(struct net *n, const char *type, const char *weights)
{
    begin(n);
    tensor(n, "in", "x", type, DIMS);
    conv(n, "tmp", (struct conv){ "first", "x", type, weights, SIDE, 3, C, C });
    conv(n, "out", (struct conv){ "last", "first", type, weights, SIDE, 3, C, C });
}

static void test_width(void **state)
{
    struct net before, after;

    (void)state;
    of_type(&before, "uq16", "sq8");
    of_type(&after, "uq8", "sq8");
    check_pair(&before, &after, "activation-width", "", (struct near){ 50, 150 });
    of_type(&before, "f16", "f16");
    of_type(&after, "uq8", "sq8");
    check_pair(&before, &after, "activation-width", "", (struct near){ 50, 150 });
}

static void with_weights(struct net *n, const char *type, const char *weights)
{
    begin(n);
    tensor(n, "in", "x", type, "1,1,1,512");
    conv(n, "out", (struct conv){ "wide", "x", type, weights, 1, 1, 512, 1024 });
}

static void test_weight_bytes(void **state)
{
    struct net before, after;

    (void)state;
    with_weights(&before, "uq16", "sq16");
    with_weights(&after, "uq16", "sq8");
    struct result a = advise(&before), b = advise(&after);
    const json_t *x = find(&a, "weight-bytes", "wide"), *y = find(&b, "weight-bytes", "wide");
    assert_true(x && y); /* 8 bits are better than 16, and 4 better still */
    double promised = json_number_value(json_object_get(x, "saving_cycles")), saved = (double)a.cycles - (double)b.cycles;
    assert_true(saved > 0 && promised >= 0.5 * saved && promised <= 1.5 * saved);
    json_decref(a.advice);
    json_decref(b.advice);
    with_weights(&before, "uq8", "sq8");
    with_weights(&after, "uq8", "sq4");
    check_pair(&before, &after, "weight-bytes", "wide", (struct near){ 50, 150 });
}

/* All of the first result is needed for its mean before it is used again, so it has to leave a small window. */
static void with_window(struct net *n, uint32_t vtcm_mb)
{
    begin(n);
    n->vtcm_mb = vtcm_mb;
    tensor(n, "in", "x", "uq8", DIMS);
    conv(n, "tmp", (struct conv){ "first", "x", "uq8", "sq8", SIDE, 3, C, 4 * C });
    tensor(n, "tmp", "mean", "uq8", "1,1,1,128");
    op(n, "ReduceMean", "mean", "%first", " { axes=u32[2](1,2), keep_dims=b8(1) }");
    tensor(n, "out", "scaled", "uq8", "1,128,128,128");
    op(n, "ElementWiseMultiply", "scaled", "%first, %mean", "");
}

static void test_spill(void **state)
{
    struct net before, after;

    (void)state;
    with_window(&before, 1);
    with_window(&after, 8);
    check_pair(&before, &after, "spill", "", (struct near){ 50, 150 });
}

static void image(struct net *n, bool normalized)
{
    begin(n);
    tensor(n, "in", "x", "uq8", "1,256,256,3");
    if (normalized) {
        constant(n, "scale", "uq8", "3", 3, "8a8a");
        tensor(n, "tmp", "normal", "uq8", "1,256,256,3");
        op(n, "ElementWiseMultiply", "normal", "%x, %scale", "");
    }
    conv(n, "out", (struct conv){ "first", normalized ? "normal" : "x", "uq8", "sq8", 256, 3, 3, C });
}

static void test_normalization(void **state)
{
    struct net before, after;

    (void)state;
    image(&before, true);
    image(&after, false);
    check_pair(&before, &after, "normalize-outside", "normal", (struct near){ 50, 150 });
}

static void layout(struct net *n, bool turned)
{
    begin(n);
    tensor(n, "in", "x", "uq8", turned ? "1,32,128,128" : DIMS);
    if (turned) {
        tensor(n, "tmp", "turn", "uq8", DIMS);
        op(n, "Transpose", "turn", "%x", " { perm=u32[4](0,2,3,1) }");
    }
    conv(n, "out", (struct conv){ "first", turned ? "turn" : "x", "uq8", "sq8", SIDE, 3, C, C });
}

static void test_transpose(void **state)
{
    struct net before, after;

    (void)state;
    layout(&before, true);
    layout(&after, false);
    check_pair(&before, &after, "transpose", "turn", (struct near){ 50, 150 });
}

/* Nothing is promised for what is about accuracy, or about what a device takes. */
static void test_numbers(void **state)
{
    struct net before, after;
    char *offset;

    (void)state;
    of_type(&before, "uq8", "uq8");
    offset = strstr(before.text.at, "const %wlast");
    offset = strstr(offset, "offset=-128");
    memcpy(offset, "offset=-100", 11);
    of_type(&after, "uq8", "uq8");
    check_pair(&before, &after, "symmetric-weights", "last", (struct near){ 0, 0 });

    begin(&before);
    tensor(&before, "in", "x", "uq16", "1,8,8,32");
    constant(&before, "w", "sq16", "1,1,32,32", 2048, "807f"); /* 0x7f80 */
    tensor(&before, "out", "y", "uq16", "1,8,8,32");
    op(&before, "Conv2d", "y", "%x, %w", " { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }");
    begin(&after);
    tensor(&after, "in", "x", "uq16", "1,8,8,32");
    constant(&after, "w", "sq16", "1,1,32,32", 2048, "7f7f");
    tensor(&after, "out", "y", "uq16", "1,8,8,32");
    op(&after, "Conv2d", "y", "%x, %w", " { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }");
    check_pair(&before, &after, "16-bit-weights", "y", (struct near){ 0, 0 });
}

/* Every rule of the table is tried above. */
static void test_all_rules(void **state)
{
    static const char *const tried[] = { "div-to-mul",       "sub-to-conv",       "prelu-to-relu", "channels",
                                         "activation-width", "weight-bytes",      "spill",         "normalize-outside",
                                         "transpose",        "symmetric-weights", "16-bit-weights" };
    size_t n = 0;

    (void)state;
    for (; advise_rules[n].id; n++)
        assert_string_equal(advise_rules[n].id, tried[n]);
    assert_int_equal(n, sizeof tried / sizeof tried[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together),     cmocka_unit_test(test_division), cmocka_unit_test(test_subtraction),
        cmocka_unit_test(test_prelu),        cmocka_unit_test(test_channels), cmocka_unit_test(test_width),
        cmocka_unit_test(test_weight_bytes), cmocka_unit_test(test_spill),    cmocka_unit_test(test_normalization),
        cmocka_unit_test(test_transpose),    cmocka_unit_test(test_numbers),  cmocka_unit_test(test_all_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
