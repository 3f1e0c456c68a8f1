/* SPDX-License-Identifier: Apache-2.0 */
/* Chains go through Reshape: of rows that stay rows, and of positions that become lines of an image. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "one_team.h"
#include "same_bits.h"
#include "test_scale.h"

enum { GRAPHS = 120, THREADS = 3 };

ONE_TEAM(THREADS);

static uint32_t n_shapes, n_joined; /* chains with a Reshape inside; with one that makes lines of several */

static void count(const struct binary_graph *g)
{
    for (uint32_t i = 0; i < g->n_chains; i++)
        for (uint32_t k = 0; k < g->chains[i].n; k++) {
            const struct binary_node *n = &g->nodes[g->chains[i].first + k];
            struct op_lines in = { 0 }, out = { 0 };
            if (n->op->id != OP_Reshape)
                continue;
            desc_lines(&g->tensors[n->in[0]].desc, &in);
            desc_lines(&g->tensors[n->out[0]].desc, &out);
            n_shapes++;
            n_joined += in.n != out.n;
        }
}

/* A graph of tensors `a` and `b` of the same bytes: element-wise operators on both sides, and around them what works on
 * lines of each shape. */
static void test_graph(uint64_t seed)
{
    static const char *const types[] = { "f32", "f16", "uq8", "sq16" };
    struct random_graph r = { .seed = seed * 0x9e3779b97f4a7c15 };
    uint32_t batch = 1 + random_below(&r, 2), lines = 2 + random_below(&r, 30), columns = 2 + random_below(&r, 9),
             channels = 1 + random_below(&r, 40), form = random_below(&r, 4);
    const char *type = types[random_below(&r, 4)], *q = type[0] == 'f' ? "" : " scale=0.03 offset=0";
    char a[64], b[64];
    const char *back = random_below(&r, 2) ? "%a" : "%d";
    if (form < 2) { /* rows that stay rows */
        snprintf(a, sizeof a, "%u,1,%u,%u", form ? 1 : batch, lines * columns, channels);
        snprintf(b, sizeof b, "%u,%u", (form ? 1 : batch) * lines * columns, channels);
    } else { /* positions, and lines of so many of them */
        snprintf(a, sizeof a, "%u,%u,%u", batch, lines * columns, channels);
        snprintf(b, sizeof b, "%u,%u,%u,%u", batch, lines, columns, channels);
    }
    struct str text;
    struct ir_graph *g;
    str_init(&text);
    str_addf(&text, "graph \"g\" { in %%x : %s[%s]%s in %%z : %s[%u]%s\n", type, a, q, type, channels, q);
    for (const char *const *t = (const char *const[]){ "a", "d", NULL }; *t; t++)
        str_addf(&text, " tmp %%%s : %s[%s]%s\n", *t, type, a, q);
    for (const char *const *t = (const char *const[]){ "b", "c", "e", "f", NULL }; *t; t++)
        str_addf(&text, " tmp %%%s : %s[%s]%s\n", *t, type, b, q);
    str_addf(&text, " out %%y : %s[%s]%s\n %%a = Tanh \"a\" (%%x)\n %%d = ElementWiseMultiply \"d\" (%%a, %%z)\n", type, b,
             q);
    str_addf(&text, " %%b = Reshape \"b\" (%s)\n %%c = Softmax \"c\" (%%b)\n", back);
    if (form < 2)
        str_addf(&text, " %%e = ElementWiseAdd \"e\" (%%c, %%z)\n");
    else
        str_addf(&text, " %%e = PoolMax2d \"e\" (%%c) { filter_size=u32[2](3,3), stride=u32[2](1,1), "
                        "pad_amount=u32[2,2](1,1,1,1) }\n");
    str_addf(&text, " %%f = Sigmoid \"f\" (%%e)\n %%y = ElementWiseMultiply \"y\" (%%f, %%z) }\n");
    check(ir_parse(str_text(&text), text.n, &g), "parse");
    same_bits(g, team, seed, count);
    ir_graph_free(g);
    str_finish(&text);
}

static void shapes_keep_the_bits(void **state)
{
    (void)state;
    uint32_t n = test_scale(GRAPHS);
    for (uint32_t i = 0; i < n; i++)
        test_graph(1 + i);
    print_message("%u times Reshape inside a chain, %u times of several lines\n", n_shapes, n_joined);
    assert_true(n_shapes > n / 3 && n_joined > n / 10); /* or this test says nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(shapes_keep_the_bits) };
    return cmocka_run_group_tests(tests, make_team, free_team);
}
