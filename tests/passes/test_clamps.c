/* SPDX-License-Identifier: Apache-2.0 */
/* A clamp that was taken into the operator before it gives the bits of one that was not: sums of all float16 numbers with
 * special ones, and what stands behind a DepthToSpace. A client that wants to see what is clamped keeps both apart. */
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

enum { HALVES = 65536, MAX_IO = 4 };

/* The last result of the graph; to be freed. nodes: how many operators there were to run. */
static void *run(const char *text, enum isa isa, const void *const *inputs, uint32_t *nodes)
{
    struct prepare_target t = {
        .passes = prepare_default_passes, .tensor_align = 64, .max_tiles = 4, .plan_nodes = 1000, .order_steps = 1000
    };
    struct exec_binding bind[MAX_IO] = { { 0 } };
    struct exec_program *e;
    struct prepared p;
    struct ir_graph *g;
    void *own[MAX_IO];
    check(ir_parse(text, strlen(text), &g), "parse");
    prepared_make(&p, g, &t, &(struct prepare_opts){ .opt_level = 2 });
    const struct binary_graph *b = &p.b.graphs[0];
    for (uint32_t i = 0; i < b->n_io; i++) {
        uint64_t bytes = desc_bytes(&b->tensors[b->io[i]].desc);
        assert_non_null(bind[i].data = own[i] = mem_alloc_aligned(64, bytes));
        if (i < b->info.n_inputs)
            memcpy(own[i], inputs[i], bytes);
    }
    check(exec_load(b, &(struct exec_opts){ .isa = isa }, &e), "load");
    check(exec_run(e, &(struct exec_run){ .io = bind }), "run");
    exec_unload(e);
    *nodes = b->n_nodes;
    uint32_t last = b->n_io - 1;
    for (uint32_t i = 0; i < last; i++)
        mem_free(own[i]);
    unmake(&p);
    ir_graph_free(g);
    return own[last];
}

/* Twice: `between` is a tensor of the graph's own, or one of the client's. */
static void same_both_ways(const char *form, const void *const *inputs, size_t bytes, bool one_less)
{
    char joined[1024], apart[1024];
    uint32_t fewer, more;
    snprintf(joined, sizeof joined, form, "tmp");
    snprintf(apart, sizeof apart, form, "out");
    for (int isa = ISA_REF; isa <= (int)cpu_isa(); isa++) {
        void *a = run(joined, (enum isa)isa, inputs, &fewer), *b = run(apart, (enum isa)isa, inputs, &more);
        if (memcmp(a, b, bytes) != 0)
            fail_msg("%s: other bits on %s", joined, cpu_isa_name((enum isa)isa));
        assert_int_equal(more - fewer, one_less);
        mem_free(a);
        mem_free(b);
    }
}

static void half_sums(void **state)
{
    (void)state;
    /* Zeros, the least and the largest that are there, where rounding changes, infinities, NaN. */
    static const uint16_t special[] = { 0x0000, 0x8000, 0x0001, 0x8001, 0x0400, 0x83ff, 0x3c00, 0xbc00,
                                        0x4600, 0xc600, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555 };
    static const struct {
        const char *op;
        bool taken;
    } clamps[] = { { "Relu \"c\" (%%t)", true },
                   { "Relu6 \"c\" (%%t)", true },
                   { "ReluMinMax \"c\" (%%t) { min_value=f32(-2), max_value=f32(3) }", true },
                   { "ReluMinMax \"c\" (%%t) { min_value=f32(-0.1), max_value=f32(0.3) }", false } };
    static uint16_t all[HALVES], other[HALVES];
    for (uint32_t i = 0; i < HALVES; i++)
        all[i] = (uint16_t)i;
    for (size_t s = 0; s < sizeof special / sizeof special[0]; s++) {
        for (uint32_t i = 0; i < HALVES; i++)
            other[i] = special[s];
        char form[1024];
        snprintf(form, sizeof form,
                 "graph \"g\" { in %%%%x : f16[65536]\n in %%%%y : f16[65536]\n %%s %%%%t : f16[65536]\n"
                 " out %%%%z : f16[65536]\n %%%%t = %s \"s\" (%%%%x, %%%%y)\n %%%%z = %s\n }\n",
                 s % 2 ? "ElementWiseSubtract" : "ElementWiseAdd", clamps[s / 2 % 4].op);
        same_both_ways(form, (const void *const[]){ all, other }, sizeof all, clamps[s / 2 % 4].taken);
    }
}

static void behind_moves(void **state)
{
    (void)state;
    static const char form[] =
        "graph \"g\" { in %%x : uq8[1,2,3,8] scale=0.5 offset=-100\n const %%w : sq8[1,1,8,8] scale=0.25 offset=0 = "
        "(1,-2,3,-4,5,-6,7,-8,1,-2,3,-4,5,-6,7,-8,1,-2,3,-4,5,-6,7,-8,1,-2,3,-4,5,-6,7,-8,"
        "1,-2,3,-4,5,-6,7,-8,1,-2,3,-4,5,-6,7,-8,1,-2,3,-4,5,-6,7,-8,1,-2,3,-4,5,-6,7,-8)\n"
        " tmp %%t : uq8[1,2,3,8] scale=0.75 offset=-90\n %s %%d : uq8[1,4,6,2] scale=0.75 offset=-90\n"
        " out %%z : uq8[1,4,6,2] scale=0.75 offset=-90\n"
        " %%t = Conv2d \"p\" (%%x, %%w) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
        " %%d = DepthToSpace \"d\" (%%t) { block_size=u32[2](2,2) }\n %%z = Relu \"r\" (%%d)\n }\n";
    uint8_t x[2 * 3 * 8];
    for (uint32_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(i * 37);
    same_both_ways(form, (const void *const[]){ x }, sizeof x, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(half_sums), cmocka_unit_test(behind_moves) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
