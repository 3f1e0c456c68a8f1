/* SPDX-License-Identifier: Apache-2.0 */
/* Attention whose scores do not fit into fast memory is computed some rows after the others: same bits, fewer bytes moved,
 * and only where it is attention. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "prepared.h"
#include "random_graph.h"

enum { ALIGN = 64, MAX_IO = 8, KIB = 1024 };

struct results {
    void *data[MAX_IO];
    uint32_t n;
};

static struct results run(const struct binary_graph *g, uint64_t seed)
{
    struct random_graph r = { .seed = seed };
    struct results b = { .n = g->n_io };
    struct exec_binding bind[MAX_IO] = { { 0 } };
    struct exec_program *p;
    void *window = mem_alloc_aligned(4096, g->info.vtcm_used + 1);
    assert_true(b.n <= MAX_IO);
    for (uint32_t i = 0; i < b.n; i++) {
        const struct tensor_desc *d = &g->tensors[g->io[i]].desc;
        assert_non_null(bind[i].data = b.data[i] = mem_alloc_aligned(64, desc_bytes(d)));
        if (i < g->info.n_inputs)
            random_fill(&r, d, b.data[i]);
    }
    check(exec_load(g, &(struct exec_opts){ .isa = cpu_isa(), .vtcm = window }, &p), "load");
    check(exec_run(p, &(struct exec_run){ .io = bind }), "run");
    exec_unload(p);
    mem_free(window);
    return b;
}

static void drop(struct results *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        mem_free(b->data[i]);
}

static uint32_t count(const struct binary_graph *g, enum op_id op)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->n_nodes; k++)
        n += g->nodes[k].op->id == op;
    return n;
}

static uint64_t moved(const struct binary_graph *g)
{
    struct binary_moves m;
    binary_graph_moves(g, &m);
    return binary_moves_in(&m) + binary_moves_out(&m);
}

/* What the client brings and takes, as a device has it. */
static uint64_t client_bytes(const struct binary_graph *g)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < g->n_io; i++) {
        const struct tensor_desc *d = &g->tensors[g->io[i]].desc;
        sum += desc_count(d) * binary_tile_bits(d->type) / 8;
    }
    return sum;
}

/* A graph compiled for a window, with the pass or without it. */
static void make(const struct ir_graph *g, uint64_t window, bool cut, struct prepared *ret)
{
    struct pass passes[32] = { { 0 } };
    size_t n = 0;
    for (const struct pass *p = prepare_default_passes; p->name; p++)
        if (cut || p->run != tile_rows)
            passes[n++] = *p;
    struct prepare_target t = { .passes = passes,
                                .tensor_align = ALIGN,
                                .max_tiles = 8,
                                .plan_nodes = 1000,
                                .order_steps = 1000,
                                .vtcm_bytes = window,
                                .chains = prepare_default_chains };
    prepared_make(ret, g, &t, &(struct prepare_opts){ .opt_level = 2 });
}

/* What stands for a shape: heads in front of it or not. */
static void attention(struct str *text, const char *type, uint32_t heads, uint32_t rows, const char *between)
{
    const char *q = type[0] == 'f' ? "" : " scale=0.01 offset=-100";
    char lead[32];
    snprintf(lead, sizeof lead, heads ? "1,%u," : "", heads);
    str_init(text);
    str_addf(text,
             "graph \"g\" { in %%q : %s[%s%u,24]%s in %%a : %s[%s72,24]%s in %%b : %s[%s72,40]%s in %%m : %s[%u,72]%s in "
             "%%c : %s[72]%s\n",
             type, lead, rows, q, type, lead, q, type, lead, q, type, rows, q, type, q);
    str_addf(text, " tmp %%k : %s[%s72,24]%s tmp %%v : %s[%s72,40]%s\n", type, lead, q, type, lead, q);
    for (const char *const *t = (const char *const[]){ "s", "t", "u", "p", NULL }; *t; t++)
        str_addf(text, " tmp %%%s : %s[%s%u,72]%s\n", *t, type, lead, rows, q);
    str_addf(text,
             " out %%y : %s[%s%u,40]%s\n %%k = Tanh \"k\" (%%a)\n %%v = Tanh \"v\" (%%b)\n %%s = MatMul \"scores\" (%%q, "
             "%%k) { transpose_in1=b8(1) }\n%s\n %%y = MatMul \"values\" (%%p, %%v) }\n",
             type, lead, rows, q, between);
}

static const char masked[] =
    " %t = ElementWiseMultiply \"scale\" (%s, %c)\n %u = ElementWiseAdd \"mask\" (%m, %t)\n %p = Softmax \"p\" (%u)";

static void rows_give_the_same_bits(void **state)
{
    (void)state;
    static const char *const types[] = { "f32", "f16", "uq8", "uq16" };
    static const uint32_t heads[] = { 0, 1, 3 }, rows[] = { 257, 481 };
    uint32_t cut = 0;
    for (uint32_t i = 0; i < 4 * 3 * 2; i++) {
        struct str text;
        struct ir_graph *g;
        struct prepared with, without;
        attention(&text, types[i % 4], heads[i / 4 % 3], rows[i / 12], masked);
        check(ir_parse(str_text(&text), text.n, &g), "parse");
        uint64_t window = heads[i / 4 % 3] > 1 ? 64 * KIB : 48 * KIB;
        make(g, window, true, &with);
        make(g, window, false, &without);
        const struct binary_graph *a = &with.b.graphs[0], *b = &without.b.graphs[0];
        assert_int_equal(count(b, OP_Softmax), 1);
        cut += count(a, OP_Softmax) > 1;
        assert_true(count(a, OP_Softmax) == 1 || moved(a) < moved(b));
        if (heads[i / 4 % 3] < 2) /* one chain from product to product, which holds nothing but what the client has */
            assert_int_equal(moved(a), client_bytes(a));
        struct results x = run(a, i), y = run(b, i);
        for (uint32_t k = a->info.n_inputs; k < a->n_io; k++)
            assert_memory_equal(x.data[k], y.data[k], desc_bytes(&a->tensors[a->io[k]].desc));
        drop(&x);
        drop(&y);
        unmake(&with);
        unmake(&without);
        ir_graph_free(g);
        str_finish(&text);
    }
    print_message("%u of 24 were cut\n", cut);
    assert_true(cut >= 8);
}

/* Softmax over another axis, scores that somebody else reads, scores that fit: all stay as they are. */
static void others_stay(void **state)
{
    (void)state;
    static const struct {
        const char *between;
        uint64_t window;
        bool cut;
    } cases[] = {
        { masked, 64 * KIB, true },
        { masked, 64 << 20, false },
        { " %p = Softmax \"p\" (%s)\n", 64 * KIB, true },
        { " %p = Softmax \"p\" (%s) { axis=u32(2) }\n", 64 * KIB, false },
        { " %t = Softmax \"p\" (%s)\n %p = ElementWiseAdd \"again\" (%t, %s)\n", 64 * KIB, false },
        { " %t = Softmax \"p\" (%s)\n %p = Softmax \"q\" (%t)\n", 64 * KIB, false },
        { " %p = Sigmoid \"p\" (%s)\n", 64 * KIB, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str text;
        struct ir_graph *g;
        struct prepared p;
        attention(&text, "f16", 2, 128, cases[i].between);
        check(ir_parse(str_text(&text), text.n, &g), "parse");
        make(g, cases[i].window, true, &p);
        assert_int_equal(count(&p.b.graphs[0], OP_MatMul) > 2, cases[i].cut);
        unmake(&p);
        ir_graph_free(g);
        str_finish(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_give_the_same_bits),
        cmocka_unit_test(others_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
