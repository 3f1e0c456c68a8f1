/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of operators, worked out by hand from docs/cost.md: rates that are prime, so that a rate taken for
 * another shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost_made.h"

static const struct cost_rates rates = {
    .products = { { 7, 11, 13 }, { 17, 19, 23 }, { 29, 31, 37 } },
    .per_channel = { 41, 43, 47 },
    .elements = { 2, 3, 5 },
    .bytes = { [PLACE_CONST] = 53, [PLACE_SCRATCH] = 59, [PLACE_PERSISTENT] = 61, [PLACE_IO] = 67 },
    .start = 1000,
};

static uint64_t up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void elements_and_views(void **state)
{
    (void)state;
    struct made m = made_of("graph \"g\" {\n"
                         "  in %x : uq8[10,100] scale=0.5 offset=0\n"
                         "  tmp %a : uq8[10,100] scale=0.5 offset=0\n"
                         "  tmp %v : uq8[1000] scale=0.5 offset=0\n"
                         "  tmp %f : f32[1000]\n"
                         "  out %y : f32[1000]\n"
                         "  %a = Relu \"r\" (%x)\n"
                         "  %v = Reshape \"v\" (%a)\n"
                         "  %f = Dequantize \"d\" (%v)\n"
                         "  %y = Relu \"s\" (%f)\n"
                         "}\n", &rates, NULL);
    const struct binary_node *n = m.g->nodes;
    assert_int_equal(n[0].cycles, 1000 + most(up(1000, 2), up(1000, 67) + up(1000, 59)));
    assert_int_equal(n[1].cycles, 0);
    assert_int_equal(n[2].cycles, 1000 + most(up(1000, 5), up(1000 + 4000, 59)));
    assert_int_equal(n[3].cycles, 1000 + most(up(1000, 5), up(4000, 59) + up(4000, 67)));
    assert_int_equal(m.g->info.cycles, n[0].cycles + n[2].cycles + n[3].cycles);
    struct binary_traffic t;
    binary_graph_traffic(m.g, &t);
    assert_int_equal(t.read[PLACE_IO], 1000);
    assert_int_equal(t.written[PLACE_IO], 4000);
    assert_int_equal(t.read[PLACE_SCRATCH], 1000 + 4000);
    assert_int_equal(t.written[PLACE_SCRATCH], 1000 + 4000);
    assert_int_equal(t.read[PLACE_CONST] + t.written[PLACE_CONST] + t.read[PLACE_PERSISTENT], 0);
    unmake(&m);
}

/* Rows by the first operand, columns by the second: 16-bit activations and 8-bit weights are products[1][0]. */
static void products_by_width(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *y;
        uint32_t rate;
    } cases[] = {
        { "uq8", "sq8", "uq8", 7 },
        { "uq16", "sq8", "uq16", 17 },
        { "uq16", "sq16", "uq16", 19 },
        { "f32", "f32", "f32", 37 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str text;
        str_init(&text);
        const char *q = i < 3 ? " scale=0.5 offset=0" : "";
        str_addf(&text,
                 "graph \"g\" { in %%x : %s[50,60]%s\n in %%w : %s[60,70]%s\n out %%y : %s[50,70]%s\n %%y = MatMul \"m\" "
                 "(%%x, %%w)\n }\n",
                 cases[i].a, q, cases[i].b, q, cases[i].y, q);
        struct made m = made_of(str_text(&text), &rates, NULL);
        const struct binary_node *n = m.g->nodes;
        assert_int_equal(n->macs, 50 * 60 * 70);
        assert_int_equal(n->cycles, 1000 + up(n->macs, cases[i].rate));
        unmake(&m);
        str_finish(&text);
    }
}

static void depth_wise(void **state)
{
    (void)state;
    struct made m =
        made_of("graph \"g\" { in %x : f32[1,8,8,16]\n in %w : f32[3,3,1,16]\n out %y : f32[1,6,6,16]\n"
                "  %y = DepthWiseConv2d \"d\" (%x, %w) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n }\n",
                &rates, NULL);
    assert_int_equal(m.g->nodes->macs, 6 * 6 * 16 * 9);
    assert_int_equal(m.g->nodes->cycles, 1000 + most(up(6 * 6 * 16 * 9, 47),
                                                     up(m.g->nodes->work_bytes * 2, 59) + up(4 * (1024 + 144 + 576), 67)));
    unmake(&m);
}

/* The state of an operator is read and written in persistent memory. */
static void states(void **state)
{
    (void)state;
    struct made m = made_of("graph \"g\" { in %x : f32[4]\n out %y : f32[4]\n %y = Relu \"r\" (%x)\n }\n", &rates, NULL);
    struct binary_node n = *m.g->nodes;
    struct binary_graph g = *m.g;
    struct binary_traffic t;
    n.state_bytes = 100;
    g.nodes = &n;
    binary_node_traffic(&g, 0, &t);
    assert_int_equal(t.read[PLACE_PERSISTENT], 100);
    assert_int_equal(t.written[PLACE_PERSISTENT], 100);
    assert_int_equal(t.read[PLACE_IO], 16);
    unmake(&m);
}

static void no_rates(void **state)
{
    (void)state;
    struct made m = made_of("graph \"g\" { in %x : f32[4]\n out %y : f32[4]\n %y = Relu \"r\" (%x)\n }\n", NULL, NULL);
    assert_int_equal(m.g->nodes->cycles, 0);
    assert_int_equal(m.g->info.cycles, 0);
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_and_views),
        cmocka_unit_test(products_by_width),
        cmocka_unit_test(depth_wise),
        cmocka_unit_test(states),
        cmocka_unit_test(no_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
