/* SPDX-License-Identifier: Apache-2.0 */
/* Random attention as chains: products of two results, with all that may stand between and behind them, give the same bits
 * as operators one after the other, on every instruction set, with threads, and in windows of fast memory at every level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "one_team.h"
#include "same_bits.h"
#include "test_scale.h"

enum { GRAPHS = 150, THREADS = 3 };

ONE_TEAM(THREADS);

/* What the graphs led to: chains with a product of two results, and with two of them; heads that became matrices. */
static uint32_t n_products, n_both, n_heads;

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

struct shape {
    const char *type, *encoding;
    char lead[32], key_lead[32]; /* dimensions before the last two; those of keys and values may be broadcast */
    uint32_t rows, keys, depth, width;
    bool turned, late, masked, scaled, softmax, behind, last;
};

static struct shape draw(struct random_graph *r)
{
    static const char *const types[] = { "f32", "f16", "uq8", "sq8", "uq16" };
    uint32_t rank = 2 + random_below(r, 3), heads = 1 + random_below(r, 4), batch = 1 + random_below(r, 2);
    struct shape s = { .type = types[random_below(r, 5)],
                       .rows = 1 + random_below(r, 200),
                       .keys = 2 + random_below(r, 90),
                       .depth = 1 + random_below(r, 40),
                       .width = 1 + random_below(r, 40),
                       .turned = random_below(r, 2),
                       .late = random_below(r, 2),
                       .masked = random_below(r, 2),
                       .scaled = random_below(r, 2),
                       .softmax = random_below(r, 4) > 0,
                       .behind = random_below(r, 2),
                       .last = random_below(r, 2) };
    bool shared = random_below(r, 4) == 0;
    s.encoding = s.type[0] == 'f' ? "" : s.type[0] == 's' ? " scale=0.02 offset=3" : " scale=0.01 offset=-100";
    if (rank == 3)
        snprintf(s.lead, sizeof s.lead, "%u,", heads);
    if (rank == 4)
        snprintf(s.lead, sizeof s.lead, "%u,%u,", batch, heads);
    if (shared)
        snprintf(s.key_lead, sizeof s.key_lead, "%s", rank == 3 ? "1," : rank == 4 ? "1,1," : "");
    else
        memcpy(s.key_lead, s.lead, sizeof s.lead);
    return s;
}

static void declare(struct str *text, const struct shape *s, const char *role, const char *name, const char *dims)
{
    str_addf(text, " %s %%%s : %s[%s]%s\n", role, name, s->type, dims, s->encoding);
}

/* Names stand for what they are: q, k, v; s scores, t scaled, u masked, p probabilities. */
static void write_graph(struct str *text, const struct shape *s)
{
    char q[64], k[64], v[64], scores[64], y[64], mask[64], keys[16];
    snprintf(q, sizeof q, "%s%u,%u", s->lead, s->rows, s->depth);
    snprintf(k, sizeof k, "%s%u,%u", s->key_lead, s->turned ? s->keys : s->depth, s->turned ? s->depth : s->keys);
    snprintf(v, sizeof v, "%s%u,%u", s->key_lead, s->keys, s->width);
    snprintf(scores, sizeof scores, "%s%u,%u", s->lead, s->rows, s->keys);
    snprintf(y, sizeof y, "%s%u,%u", s->lead, s->rows, s->width);
    snprintf(mask, sizeof mask, "%u,%u", s->rows, s->keys);
    snprintf(keys, sizeof keys, "%u", s->keys);
    str_init(text);
    str_addf(text, "graph \"g\" {\n");
    const char *const tensors[][3] = { { "in", "a", q },       { "in", "b", k },       { "in", "d", v },
                                       { "in", "m", mask },    { "in", "c", keys },    { "tmp", "q", q },
                                       { "tmp", "k", k },      { "tmp", "v", v },      { "tmp", "s", scores },
                                       { "tmp", "t", scores }, { "tmp", "u", scores }, { "tmp", "p", scores },
                                       { "tmp", "z", y },      { "out", "y", y } };
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++)
        declare(text, s, tensors[i][0], tensors[i][1], tensors[i][2]);
    const char *values = " %v = Relu \"v\" (%d)\n", *last = s->last ? "y" : "z";
    str_addf(text, " %%q = Relu \"q\" (%%a)\n %%k = Tanh \"k\" (%%b)\n%s", s->late ? "" : values);
    str_addf(text, " %%s = MatMul \"scores\" (%%q, %%k) { transpose_in1=b8(%d) }\n", s->turned);
    str_addf(text, s->scaled ? " %%t = ElementWiseMultiply \"scale\" (%%s, %%c)\n" : " %%t = Relu \"scale\" (%%s)\n");
    str_addf(text, s->masked ? " %%u = ElementWiseAdd \"mask\" (%%m, %%t)\n" : " %%u = Relu \"mask\" (%%t)\n");
    str_addf(text, " %%p = %s \"p\" (%%u)\n%s", s->softmax ? "Softmax" : "Sigmoid", s->late ? values : "");
    str_addf(text, " %%%s = MatMul \"values\" (%%p, %%v)\n", last);
    str_addf(text, s->last ? " }\n" : " %%y = %s \"y\" (%%z) }\n", s->behind ? "Tanh" : "Relu");
}

static void count(const struct binary_graph *g)
{
    for (uint32_t k = 0; k < g->n_nodes; k++)
        n_heads += g->nodes[k].op->id == OP_Reshape && g->tensors[g->nodes[k].in[0]].desc.rank == 3;
    for (uint32_t i = 0; i < g->n_chains; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < g->chains[i].n; k++)
            n += g->nodes[g->chains[i].first + k].op->id == OP_MatMul;
        n_products += n > 0;
        n_both += n > 1;
    }
}

static void test_graph(uint64_t seed)
{
    struct random_graph r = { .seed = seed * 0x9e3779b97f4a7c15 }; /* numbers that follow each other would draw alike */
    struct shape s = draw(&r);
    struct str text;
    struct ir_graph *g;
    write_graph(&text, &s);
    check(ir_parse(str_text(&text), text.n, &g), "parse");
    same_bits(g, team, seed, count);
    ir_graph_free(g);
    str_finish(&text);
}

static void attention_keeps_its_bits(void **state)
{
    (void)state;
    uint32_t n = 0, least = test_scale(GRAPHS);
    for (; n < least || (n < GRAPHS && n_heads <= n / 15); n++) /* of a few graphs none may have heads */
        test_graph(1 + n);
    print_message("%u chains with a product of two results, %u with two, %u with heads as matrices\n", n_products, n_both,
                  n_heads);
    assert_true(n_products > n / 3 && n_both > n / 4 && n_heads > n / 15); /* or this test says nothing */
}

int main(int argc, char **argv)
{
    if (argc == 2) { /* one seed, to look into a failure */
        if (make_team(NULL) != 0)
            return 1;
        test_graph(strtoull(argv[1], NULL, 10));
        return free_team(NULL);
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(attention_keeps_its_bits) };
    return cmocka_run_group_tests(tests, make_team, free_team);
}
