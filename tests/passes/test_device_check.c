/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the device check: for each one a graph that breaks it and one that hardly does not; and docs/device-check.md
 * has each as it is in the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/htp/htp_device_check.h"

#define U8 "scale=0.5 offset=-128"
#define U16 "scale=0.5 offset=-32768"
#define RELU "in %x : uq8[1,4] " U8 "\nout %y : uq8[1,4] " U8 "\n%y = Relu \"n\" (%x)\n"
#define SOFTMAX(axis) \
    "in %x : uq8[1,4,8] " U8 "\nout %y : uq8[1,4,8] " U8 "\n%y = Softmax \"n\" (%x) { axis=u32(" axis ") }\n"
#define NORM(axes, n, m)                                                                            \
    "in %x : uq8[1,4,8] " U8 "\nconst %g : uq8[" m "] " U8 " = x\"" n "\"\nout %y : uq8[1,4,8] " U8 \
    "\n%y = LayerNorm \"n\" (%x, %g) { axes=" axes " }\n"
#define TOPK(type, enc, k, other)                                                             \
    "in %x : " type "[1,80] " enc "\nout %y : " type "[1," k "] " other "\nout %i : i32[1," k \
    "]\n%y, %i = TopK \"n\" (%x) "                                                            \
    "{ k=u32(" k ") }\n"
#define ACT(op, type, enc) \
    "in %x : " type "[1,4] scale=0.5 offset=0\nout %y : " type "[1,4] " enc "\n%y = " op " \"n\" (%x)\n"
#define POOL(rounding)                                                                                                 \
    "in %x : uq8[1,4,4,1] " U8 "\nout %y : uq8[1,2,2,1] " U8 "\n%y = PoolMax2d \"n\" (%x) { filter_size=u32[2](2,2), " \
    "stride=u32[2](2,2), pad_amount=u32[2,2](0,0,0,0), rounding_mode=u32(" rounding ") }\n"
#define DEPTHWISE(size, stride, dilation)                                                                           \
    "in %x : uq8[1,8,8,1] " U8 "\nconst %w : sq8[2,2,1,1] scale=0.5 offset=0 = x\"01020304\"\nout %y : uq8[1," size \
    ",1] " U8 "\n%y = DepthWiseConv2d \"n\" (%x, %w) { stride=u32[2](" stride "), pad_amount=u32[2,2](0,0,0,0), "   \
    "dilation=u32[2](" dilation ") }\n"
#define MATMUL(a, b) "in %x : " a "\nin %w : " b "\nout %y : f16[2,2]\n%y = MatMul \"n\" (%x, %w)\n"
#define WEIGHED(b) "in %x : f16[2,2]\nconst %w : " b "\nout %y : f16[2,2]\n%y = MatMul \"n\" (%x, %w)\n"
#define CONV(op, dims, w, params)                                                                                    \
    "in %x : uq16[" dims "] " U16 "\nconst %w : " w "\nout %y : uq16[" dims "] " U16 "\n%y = " op " \"n\" (%x, %w) " \
    "{ " params " }\n"
#define PLAIN2 "stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0)"
#define PLAIN3 "stride=u32[3](1,1,1), pad_amount=u32[3,2](0,0,0,0,0,0)"
#define CONV2(w) CONV("Conv2d", "1,2,2,1", w, PLAIN2)
#define W16(data) "sq16[1,1,1,1] scale=0.5 offset=0 = x\"" data "\""
#define FULLY(w) CONV("FullyConnected", "2,1", w, "keep_dims=b8(1)")
#define F16(data) "sq16[1,1] scale=0.5 offset=0 = x\"" data "\""
#define F8 "sq8[1,1] scale=0.5 offset=0 = x\"01\""

static const struct pair {
    const char *rule;
    const char *socs[2]; /* that breaks it, that does not */
    const char *graphs[2];
    struct device_asked asked[2];
} pairs[] = {
    { "no-htp", { "SDM865", "SM8350" }, { RELU, RELU }, { { 0 } } },
    { "arch-unknown", { "SM4375", "SM8350" }, { RELU, RELU }, { { 0 } } },
    { "vtcm", { "SM7325", "SM7325" }, { RELU, RELU }, { { .vtcm_mb = 3 }, { .vtcm_mb = 2 } } },
    { "option-arch", { "SM8750", "SM8850" }, { RELU, RELU }, { { .options = UINT32_MAX }, { .options = UINT32_MAX } } },
    { "weight-sharing", { "SM8475", "SM8550" }, { RELU, RELU }, { { .weight_sharing = true }, { .weight_sharing = true } } },
    { "float",
      { "SM8475", "SM8550" },
      { "in %x : f32[4]\nout %y : f32[4]\n%y = Relu \"n\" (%x)\n",
        "in %x : f32[4]\nout %y : f32[4]\n%y = Relu \"n\" (%x)\n" },
      { { 0 } } },
    { "mixed-unsigned",
      { "SM8650", "SM8650" },
      { MATMUL("f16[2,2]", "uq8[2,2] " U8), MATMUL("f16[2,2]", "sq8[2,2] scale=0.5 offset=0") },
      { { 0 } } },
    { "mixed-types",
      { "SM8650", "SM8650" },
      { WEIGHED("sq8[2,2] scale=0.5 offset=0 = x\"01020304\""), WEIGHED("f16[2,2] = x\"003c003c003c003c\"") },
      { { 0 } } },
    { "weights16-arch", { "SM8475", "SM8550" }, { CONV2(W16("0100")), CONV2(W16("0100")) }, { { 0 } } },
    { "weights16-soc", { "SM8475", "SM8475" }, { FULLY(F16("0100")), FULLY(F8) }, { { 0 } } },
    { "weights16-operator",
      { "SM8550", "SM8550" },
      { CONV("Conv3d", "1,2,2,2,1", "sq16[1,1,1,1,1] scale=0.5 offset=0 = x\"0100\"", PLAIN3),
        CONV("Conv3d", "1,2,2,2,1", "sq8[1,1,1,1,1] scale=0.5 offset=0 = x\"01\"", PLAIN3) },
      { { 0 } } },
    { "weights16-range", { "SM8550", "SM8550" }, { CONV2(W16("807f")), CONV2(W16("7f7f")) }, { { 0 } } },
    { "rank",
      { "SM8550", "SM8550" },
      { "in %x : uq8[1,1,1,1,1,4] " U8 "\nout %y : uq8[1,1,1,1,1,4] " U8 "\n%y = Relu \"n\" (%x)\n",
        "in %x : uq8[1,1,1,1,4] " U8 "\nout %y : uq8[1,1,1,1,4] " U8 "\n%y = Relu \"n\" (%x)\n" },
      { { 0 } } },
    { "softmax-axis", { "SM8550", "SM8550" }, { SOFTMAX("1"), SOFTMAX("2") }, { { 0 } } },
    { "layernorm-axes",
      { "SM8550", "SM8550" },
      { NORM("u32[1](1)", "01020304", "4"), NORM("u32[1](2)", "0102030405060708", "8") },
      { { 0 } } },
    { "topk-k", { "SM8550", "SM8550" }, { TOPK("uq16", U16, "65", U16), TOPK("uq16", U16, "64", U16) }, { { 0 } } },
    { "same-encoding",
      { "SM8550", "SM8550" },
      { TOPK("uq8", U8, "4", "scale=0.25 offset=-128"), TOPK("uq8", U8, "4", U8) },
      { { 0 } } },
    { "fixed-encoding",
      { "SM8550", "SM8550" },
      { ACT("Sigmoid", "uq16", "scale=0.000030517578125 offset=0"),
        ACT("Sigmoid", "uq16", "scale=0.0000152587890625 offset=0") },
      { { 0 } } },
    { "fixed-encoding",
      { "SM8550", "SM8550" },
      { ACT("Tanh", "uq16", "scale=0.000030517578125 offset=0"),
        ACT("Tanh", "uq16", "scale=0.000030517578125 offset=-32768") },
      { { 0 } } },
    { "pool-rounding", { "SM8550", "SM8550" }, { POOL("1"), POOL("0") }, { { 0 } } },
    { "depthwise-dilation",
      { "SM8550", "SM8550" },
      { DEPTHWISE("3,3", "2,2", "2,2"), DEPTHWISE("6,6", "1,1", "2,2") },
      { { 0 } } },
    { "channel-weights",
      { "SM8550", "SM8550" },
      { CONV("FullyConnected", "2,1", "uq8[1,1] quant=2 axis=0 scales=(0.5) offsets=(-128) = x\"01\"", "keep_dims=b8(1)"),
        CONV("FullyConnected", "2,1", "sq8[1,1] quant=2 axis=0 scales=(0.5) = x\"01\"", "keep_dims=b8(1)") },
      { { 0 } } },
    { "op-package",
      { "SM8550", "SM8550" },
      { "in %x : f32[4]\nout %y : f32[4]\n%y = PackageOp \"n\" (%x) { package=\"own\", operator=\"Print\" }\n", RELU },
      { { 0 } } },
    { "public-table",
      { "SM8550", "SM8550" },
      { "in %x : uq8[1,4] " U8 "\nout %y : uq8[1,4] " U8 "\n%y = ElementWiseSoftplus \"n\" (%x)\n", RELU },
      { { 0 } } },
};
enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

static void parse(const char *lines, struct ir_graph **ret)
{
    char text[2048];
    snprintf(text, sizeof text, "graph \"g\" {\n%s}\n", lines);
    if (ir_parse(text, strlen(text), ret) != ST_OK)
        fail_msg("%s\n%s", status_text(), text);
}

static const struct device_finding *find(const struct device_report *r, const char *rule)
{
    for (size_t i = 0; i < r->findings.n; i++)
        if (strcmp(r->findings.at[i].rule->id, rule) == 0)
            return &r->findings.at[i];
    return NULL;
}

static void check_side(const struct pair *p, int side)
{
    struct device_report r;
    struct ir_graph *g;
    parse(p->graphs[side], &g);
    assert_int_equal(device_check(rpc_soc_find_name(p->socs[side]), &p->asked[side], g, &r), ST_OK);

    const struct device_finding *f = find(&r, p->rule);
    if ((f == NULL) != (side == 1))
        fail_msg("rule %s: %s graph", p->rule, side ? "speaks of the other" : "does not speak of its");
    if (f) {
        assert_string_not_equal(f->detail, "");
        assert_int_equal(f->node == NULL, f->rule->of_graph);
        assert_true(strcmp(p->rule, "no-htp") != 0 || r.nodes[DEVICE_REFUSED] == 1);
        assert_true(f->rule->of_graph || r.nodes[f->rule->verdict] == 1);
    }
    assert_int_equal(r.nodes[0] + r.nodes[1] + r.nodes[2], 1);
    device_report_finish(&r);
    ir_graph_free(g);
}

static void pairs_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < PAIRS; i++) {
        check_side(&pairs[i], 0);
        check_side(&pairs[i], 1);
    }
}

static void every_rule_has_a_pair(void **state)
{
    (void)state;
    for (const struct device_rule *rule = device_rules; rule->id; rule++) {
        bool found = false;
        for (size_t i = 0; i < PAIRS; i++)
            found |= strcmp(pairs[i].rule, rule->id) == 0;
        if (!found)
            fail_msg("rule %s has no pair of graphs", rule->id);
    }
}

/* A node that nothing speaks against is fine, and names with quotes do not break the report. */
static void names_are_escaped(void **state)
{
    struct device_report r;
    struct ir_graph *g;
    struct str out;
    (void)state;
    parse("in %x : f32[4]\nout %y : f32[4]\n%y = Relu \"a\\\"b\" (%x)\n", &g);
    assert_int_equal(device_check(rpc_soc_find_name("SM8350"), &(struct device_asked){ 0 }, g, &r), ST_OK);
    str_init(&out);
    device_report_json(&r, &out);
    assert_non_null(strstr(str_text(&out), "\"node\":\"a\\\"b\""));
    assert_non_null(strstr(str_text(&out), "\"refused\":1,\"unsure\":0,\"fine\":0"));
    str_finish(&out);
    device_report_finish(&r);
    ir_graph_free(g);
}

static void page_has_the_table(void **state)
{
    char path[1024], line[1024], text[32768];
    uint32_t rules = 0, rows = 0;
    (void)state;
    snprintf(path, sizeof path, "%s/docs/device-check.md", getenv("OPENQNN_SOURCE_DIR"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    assert_true(n < sizeof text - 1);
    text[n] = '\0';
    fclose(f);
    for (const struct device_rule *r = device_rules; r->id; r++, rules++) {
        snprintf(line, sizeof line, "\n| `%s` | %s | %s | %s | %s | %s |\n", r->id, r->looks_at, r->where,
                 device_verdicts[r->verdict], r->source, r->remedy);
        if (!strstr(text, line))
            fail_msg("docs/device-check.md lacks this line: %s", line);
    }
    for (const char *at = text; (at = strstr(at, "\n| `")); at++)
        rows += strncmp(at, "\n| `OPENQNN", 11) != 0;
    assert_int_equal(rows, rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_differ),
        cmocka_unit_test(every_rule_has_a_pair),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(page_has_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
