/* SPDX-License-Identifier: Apache-2.0 */
/* The showcase models of the vendor's profiling guide, rebuilt in sizes that fit its tables: the operator that takes most of
 * the time there does so here, and every optimization that the guide suggests wins here. The tables are printed beside the
 * estimates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend/htp/htp_backend.h"
#include "backend/htp/htp_cost.h"

enum { H = 576, W = 640, C = 32, MAX_ROWS = 12, SM8550 = 43, V73 = 73 };

struct model {
    struct str text;
    struct binary_image im;
    struct binary b;
    const struct binary_graph *g;
};

/* Cycles of one operator in a table of the guide. */
struct row {
    const char *name;
    uint64_t cycles;
};

static void add_zeros(struct str *s, uint32_t bytes)
{
    str_addf(s, " = x\"");
    for (uint32_t i = 0; i < bytes; i++)
        str_addf(s, "00");
    str_addf(s, "\"\n");
}

static void add_tensor(struct model *m, const char *role, const char *name, uint32_t channels)
{
    str_addf(&m->text, " %s %%%s : uq8[1,%d,%d,%u] scale=0.5 offset=-128\n", role, name, H, W, channels);
}

static void add_conv(struct model *m, const char *name, const char *x, uint32_t kernel, uint32_t in, uint32_t out)
{
    uint32_t pad = kernel / 2;
    str_addf(&m->text, " const %%w%s : sq8[%u,%u,%u,%u] scale=0.25 offset=0", name, kernel, kernel, in, out);
    add_zeros(&m->text, kernel * kernel * in * out);
    add_tensor(m, "tmp", name, out);
    str_addf(&m->text, " %%%s = Conv2d \"%s\" (%%%s, %%w%s) { stride=u32[2](1,1), pad_amount=u32[2,2](%u,%u,%u,%u) }\n",
             name, name, x, name, pad, pad, pad, pad);
}

static void add_op(struct model *m, const char *op, const char *name, const char *x, const char *y)
{
    str_addf(&m->text, " %%%s = %s \"%s\" (%%%s, %%%s)\n", name, op, name, x, y);
}

/* Input, first convolution, and a slice of its result that all the rest begins with. The guide does not say what the slice
 * takes; one that takes everything is no operator, and then the rest begins with the convolution. */
static bool sliced;

static void begin(struct model *m)
{
    *m = (struct model){ 0 };
    str_init(&m->text);
    str_addf(&m->text, "graph \"g\" {\n");
    add_tensor(m, "in", "x", 3);
    add_tensor(m, "out", "add", C);
    add_conv(m, "convStart", "x", 3, 3, C);
    if (!sliced)
        return;
    add_tensor(m, "tmp", "stride", C);
    str_addf(&m->text, " %%stride = StridedSlice \"stride\" (%%convStart) { ranges=i32[4,3](0,1,1,0,%d,1,0,%d,1,0,%d,1) }\n",
             H, W, C);
}

static void finish(struct model *m)
{
    struct cost_device d;
    htp_cost_device(SM8550, V73, 8 << 20, 4, &d);
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 256,
                                .chains = prepare_default_chains,
                                .max_tiles = 64,
                                .vtcm_bytes = 8 << 20,
                                .order_steps = 200000,
                                .plan_nodes = 200000,
                                .device = &d };
    struct prepare_opts o = { .opt_level = 2 };
    struct ir_graph *g;
    str_addf(&m->text, "}\n");
    if (ir_parse(str_text(&m->text), strlen(str_text(&m->text)), &g) != ST_OK || prepare(&t, &o, g, &m->im) != ST_OK)
        fail_msg("%s", status_text());
    assert_int_equal(binary_open(m->im.data, m->im.size, &m->b), ST_OK);
    ir_graph_free(g);
    m->g = &m->b.graphs[0];
}

static void unmake(struct model *m)
{
    binary_close(&m->b);
    binary_image_free(&m->im);
    str_finish(&m->text);
}

static const char *begun(void)
{
    return sliced ? "stride" : "convStart";
}

/* Two branches of two convolutions, and an element-wise operator on their results. */
static void make_branches(struct model *m, const char *op, const char *name)
{
    begin(m);
    add_conv(m, "convLeft1", begun(), 3, C, C);
    add_conv(m, "convRight1", begun(), 3, C, C);
    add_conv(m, "convRight2", "convRight1", 3, C, C);
    add_conv(m, "convLeft2", "convLeft1", 3, C, C);
    add_tensor(m, "tmp", name, C);
    add_op(m, op, name, "convLeft2", "convRight2");
    add_op(m, "ElementWiseAdd", "add", name, begun());
    finish(m);
}

static const char *activation(struct model *m, const char *op, const char *name, const char *x)
{
    bool prelu = strcmp(op, "Prelu") == 0;
    if (prelu) {
        str_addf(&m->text, " const %%a%s : uq8[%d] scale=0.25 offset=0", name, 2 * C);
        add_zeros(&m->text, 2 * C);
    }
    add_tensor(m, "tmp", name, 2 * C);
    str_addf(&m->text, " %%%s = %s \"%s\" (%%%s%s%s)\n", name, op, name, x, prelu ? ", %a" : "", prelu ? name : "");
    return name;
}

/* Both branches in one, and a convolution in the place of the element-wise operator. */
static void make_combined(struct model *m, const char *act)
{
    begin(m);
    add_conv(m, "convCombined1", begun(), 3, C, 2 * C);
    add_conv(m, "convCombined2", activation(m, act, "act1", "convCombined1"), 3, 2 * C, 2 * C);
    add_conv(m, "subConv", activation(m, act, "act2", "convCombined2"), 1, 2 * C, C);
    add_op(m, "ElementWiseAdd", "add", "subConv", begun());
    finish(m);
}

static const char *bottleneck(const struct model *m)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < m->g->n_nodes; k++)
        best = m->g->nodes[k].cycles > m->g->nodes[best].cycles ? k : best;
    return m->g->nodes[best].name;
}

/* ---- linting ---------------------------------------------------------------------------------------------------------- */

struct lint_row {
    const char *name; /* of the event: "sub:OpId_6 (cycles)" */
    uint64_t work, wait, overlap;
    bool beside[16]; /* operators that its overlap names, by number */
    uint32_t resources;
};
struct lint_table {
    struct prof *prof;
    struct lint_row rows[16];
    uint32_t n;
};

static void lint(const struct model *m, struct lint_table *ret)
{
    uint64_t sum = 0;

    *ret = (struct lint_table){ 0 };
    assert_int_equal(prof_create(PROF_LINTING, &ret->prof), ST_OK);
    htp_lint(m->g, ret->prof, PROF_ROOT);
    for (uint32_t i = 1; i < prof_count(ret->prof); i++) {
        const struct prof_event *e = prof_at(ret->prof, i);
        struct lint_row *last = ret->n ? &ret->rows[ret->n - 1] : NULL;

        if (e->type == PROF_NODE)
            ret->rows[ret->n++] = (struct lint_row){ .name = e->name, .work = e->value };
        else if (e->type == 5001)
            last->wait = e->value;
        else if (e->type == 5002)
            last->overlap = e->value;
        else if (e->type == 5004)
            last->resources = (uint32_t)e->value;
        else if (e->type == 5005)
            last->beside[e->value] = true;
    }
    for (uint32_t k = 0; k < ret->n; k++) {
        const struct lint_row *r = &ret->rows[k];
        sum += r->work + r->wait;
        assert_true(r->overlap <= r->work);
        print_message("  lint %-32s %5.1f%% overlap %5.1f%% wait %4.1f%%\n", r->name,
                      100.0 * (double)r->work / (double)m->g->info.cycles,
                      r->work ? 100.0 * (double)r->overlap / (double)r->work : 0,
                      100.0 * (double)r->wait / (double)m->g->info.cycles);
    }
    assert_int_equal(ret->n, m->g->n_nodes);
    assert_int_equal(sum, m->g->info.cycles);
}

static uint32_t row_of(const struct lint_table *t, const char *name)
{
    for (uint32_t k = 0; k < t->n; k++)
        if (strncmp(t->rows[k].name, name, strlen(name)) == 0 && t->rows[k].name[strlen(name)] == ':')
            return k;
    fail_msg("no row \"%s\"", name);
    return 0;
}

/* The row that a reader of the table would point at, and how much of it is overlapped, in percent. */
static void points_at(const struct lint_table *t, const char *name, double least, double most)
{
    uint32_t best = 0;

    for (uint32_t k = 1; k < t->n; k++)
        best = t->rows[k].work > t->rows[best].work ? k : best;
    assert_int_equal(best, row_of(t, name));

    double overlap = 100.0 * (double)t->rows[best].overlap / (double)t->rows[best].work;
    assert_true(least <= overlap && overlap <= most);
}

static uint64_t cycles_of(const struct model *m, const char *name)
{
    for (uint32_t k = 0; k < m->g->n_nodes; k++)
        if (strcmp(m->g->nodes[k].name, name) == 0)
            return m->g->nodes[k].cycles;
    return 0;
}

static void check(const struct model *m, const char *title, const struct row *table)
{
    uint64_t sum = 0, all = 0;
    for (const struct row *r = table; r->name; r++)
        all += r->cycles;
    print_message("%s: %llu cycles estimated, %llu in the table\n", title, (unsigned long long)m->g->info.cycles,
                  (unsigned long long)all);
    for (const struct row *r = table; r->name; r++)
        print_message("  %-16s %8llu %5.1f%%   table %8llu %5.1f%%\n", r->name, (unsigned long long)cycles_of(m, r->name),
                      100.0 * (double)cycles_of(m, r->name) / (double)m->g->info.cycles, (unsigned long long)r->cycles,
                      100.0 * (double)r->cycles / (double)all);
    for (uint32_t k = 0; k < m->g->n_nodes; k++)
        sum += m->g->nodes[k].cycles;
    assert_int_equal(sum, m->g->info.cycles);
}

/* The tables; what is written as the output there belongs to the addition here. */
static const struct row model1[] = { { "convStart", 147075 },  { "stride", 146494 },       { "convLeft1", 288249 },
                                     { "convRight1", 220391 }, { "convRight2", 181016 },   { "convLeft2", 233736 },
                                     { "sub", 2165162 },       { "add", 525971 + 407091 }, { 0 } };
static const struct row model1_optimized[] = { { "convStart", 487448 },
                                               { "stride", 10422 },
                                               { "convCombined1", 337711 },
                                               { "convCombined2", 295022 },
                                               { "subConv", 48720 },
                                               { "add", 110698 + 77054 },
                                               { 0 } };
static const struct row model2[] = { { "convStart", 148293 },  { "stride", 145084 },       { "convLeft1", 285476 },
                                     { "convRight1", 219298 }, { "convRight2", 181198 },   { "convLeft2", 233731 },
                                     { "div", 5344081 },       { "add", 525199 + 771320 }, { 0 } };
static const struct row model2_mul[] = { { "convStart", 147478 },  { "stride", 145396 },       { "convLeft1", 287130 },
                                         { "convRight1", 219409 }, { "convRight2", 181465 },   { "convLeft2", 233619 },
                                         { "mul", 737978 },        { "add", 527450 + 249264 }, { 0 } };
static const struct row model3[] = { { "convStart", 589431 },
                                     { "stride", 0 },
                                     { "convCombined1", 165119 },
                                     { "act1", 27315 },
                                     { "convCombined2", 805490 },
                                     { "act2", 0 },
                                     { "subConv", 666721 },
                                     { "add", 62806 + 465781 },
                                     { 0 } };

static void subtraction_becomes_convolution(void **state)
{
    (void)state;
    struct model before, after;
    make_branches(&before, "ElementWiseSubtract", "sub");
    make_combined(&after, "Relu");
    check(&before, "model 1", model1);
    check(&after, "model 1, optimized", model1_optimized);
    assert_string_equal(bottleneck(&before), "sub");
    assert_true(after.g->info.cycles < before.g->info.cycles);
    unmake(&before);
    unmake(&after);
}

static void division_becomes_multiplication(void **state)
{
    (void)state;
    struct model before, after;
    make_branches(&before, "ElementWiseDivide", "div");
    make_branches(&after, "ElementWiseMultiply", "mul");
    check(&before, "model 2", model2);
    check(&after, "model 2 with mul", model2_mul);
    assert_string_equal(bottleneck(&before), "div");
    assert_true(after.g->info.cycles < before.g->info.cycles);
    unmake(&before);
    unmake(&after);
}

static void prelu_becomes_relu(void **state)
{
    (void)state;
    struct model before, after;
    make_combined(&before, "Prelu");
    make_combined(&after, "Relu");
    check(&before, "model 3", model3);
    assert_string_equal(bottleneck(&before), "convCombined2");
    assert_true(after.g->info.cycles < before.g->info.cycles);
    unmake(&before);
    unmake(&after);
}

/* The tables of the guide in both readings of the slice: the operator that has most of the time there has it here, and what
 * is overlapped little there is overlapped little here. The optimized model with a slice is left out: here the slice goes
 * through DRAM. */
static void linting_points_at_the_bottleneck(void **state)
{
    (void)state;
    for (int reading = 0; reading < 2; reading++) {
        struct model m;
        struct lint_table t;

        sliced = reading;
        print_message("%s\n", sliced ? "with a slice" : "without");
        make_branches(&m, "ElementWiseSubtract", "sub");
        lint(&m, &t);
        points_at(&t, "sub", 0, 40); /* 21.5 in the table */
        prof_free(t.prof);
        unmake(&m);

        make_combined(&m, "Relu");
        lint(&m, &t);
        if (!sliced)
            points_at(&t, "convStart", 90, 100); /* 97.6 */
        prof_free(t.prof);
        unmake(&m);

        make_branches(&m, "ElementWiseDivide", "div");
        lint(&m, &t);
        points_at(&t, "div", 0, 20); /* 9.9 */
        prof_free(t.prof);
        unmake(&m);

        make_branches(&m, "ElementWiseMultiply", "mul");
        lint(&m, &t);
        points_at(&t, "mul", 0, 100); /* 59.3 */
        prof_free(t.prof);
        unmake(&m);
    }
    sliced = true;
}

/* A Prelu behind a product is background of it and has a cost of its own, what the product would be faster by without it; a
 * Relu is part of the product. */
static void activations_have_a_cost(void **state)
{
    (void)state;
    for (int reading = 0; reading < 2; reading++) {
        struct model with, without;
        struct lint_table t;

        sliced = reading;
        make_combined(&with, "Prelu");
        make_combined(&without, "Relu");
        lint(&with, &t);
        points_at(&t, "convCombined2", 0, 100);
        const struct lint_row *prelu = &t.rows[row_of(&t, "act2")];
        assert_true(prelu->resources & RESOURCE_VECTOR);
        assert_true(t.rows[row_of(&t, "convCombined2")].beside[row_of(&t, "act2")]);
        assert_true(cycles_of(&with, "act1") + cycles_of(&with, "act2") > 0);
        assert_int_equal(cycles_of(&without, "act1") + cycles_of(&without, "act2"), 0);
        assert_true(without.g->info.cycles < with.g->info.cycles);
        prof_free(t.prof);
        unmake(&with);
        unmake(&without);
    }
    sliced = true;
}

int main(void)
{
    sliced = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subtraction_becomes_convolution),
        cmocka_unit_test(division_becomes_multiplication),
        cmocka_unit_test(prelu_becomes_relu),
        cmocka_unit_test(linting_points_at_the_bottleneck),
        cmocka_unit_test(activations_have_a_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
