/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers on many threads: their steps are cut into phases, and whoever computes them, with whatever else beside
 * it, the bits are those of one thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "exec/exec.h"
#include "prepare/prepare.h"
#include "one_team.h"
#include "random_graph.h"

enum { MAX_IO = 24, RUNS = 6, THREADS = 3 };

ONE_TEAM(THREADS);

static const struct prepare_target target = { .passes = prepare_default_passes,
                                              .tensor_align = 64,
                                              .max_tiles = 8,
                                              .order_steps = 5000,
                                              .plan_nodes = 20000 };

/* Matrices are inputs: large ones do not fit into a text. Two layers of which none needs the other, so that their phases run
 * beside each other. */
static const struct layer {
    const char *name, *text;
    uint32_t phases; /* at least, of all layers */
} layers[] = {
    { "Lstm both ways",
      "graph \"g\" { in %x : f32[1,7,128] in %w : f32[160,128] in %u : f32[160,160] in %b : f32[160]\n"
      "out %y : f32[1,7,160] tmp %c : f32[1,160] tmp %h : f32[1,160] out %z : f32[1,7,160] out %d : f32[1,160] out %e : "
      "f32[1,160]\n"
      "%y, %c, %h = Lstm \"f\" (%x, %w, %w, %w, %u, %u, %u, %b, %b, %b, _, _, _, _, _, _, %w, %u, _, _, _, %b)\n"
      "%z, %d, %e = Lstm \"r\" (%x, %w, %w, %w, %u, %u, %u, %b, %b, %b, _, _, _, _, _, _, %w, %u, %b, %b, %b, %b) { "
      "direction=u32(1) } }",
      14 },
    { "Lstm without an input gate, f16",
      "graph \"g\" { in %x : f16[5,1,128] in %w : f16[200,128] in %u : f16[200,200] in %b : f16[200] in %i : f16[1,200]\n"
      "out %y : f16[5,1,200] out %c : f16[1,200] out %h : f16[1,200]\n"
      "%y, %c, %h = Lstm \"f\" (%x, %w, %w, %w, %u, %u, %u, %b, %b, %b, %i, %i) { time_major=b8(1), "
      "cell_clip_threshold=f32(0.5) } }",
      5 },
    { "Lstm that remembers",
      "graph \"g\" { in %x : f32[1,3,128] in %w : f32[170,128] in %u : f32[170,170] in %b : f32[170] in %r : b8[1]\n"
      "out %y : f32[1,3,170] out %c : f32[1,170] out %h : f32[1,170]\n"
      "%y, %c, %h = Lstm \"f\" (%x, %w, %w, %w, %u, %u, %u, %b, %b, %b, _, _, _, _, _, _, %w, %u, _, _, _, %b, _, _, %r) }",
      4 },
    { "Gru that remembers, one frame",
      "graph \"g\" { in %x : f32[1,1,128] in %w : f32[352,128] in %u : f32[352,352] in %b : f32[352] in %r : b8[1] out %y : "
      "f32[1,1,352] out %h : f32[1,1,352]\n"
      "%y, %h = Gru \"f\" (%x, %w, %w, %w, %u, %u, %u, %b, %b, %b, %b, %b, %b, _, %r) }",
      3 },
    { "Gru, linear before the reset",
      "graph \"g\" { in %x : f32[1,19,128] in %w : f32[200,128] in %u : f32[200,200] in %b : f32[200] out %y : "
      "f32[1,19,200] out %h : f32[1,1,200]\n"
      "%y, %h = Gru \"f\" (%x, %w, %w, %w, %u, %u, %u, %b, %b, %b, %b, %b, %b) { linear_before_reset=u32(1), "
      "time_major=b8(0) } }",
      19 },
};

static void check(enum status st, const char *what)
{
    if (st != ST_OK)
        fail_msg("%s: %s", what, status_text());
}

/* Truth values say now and then that the state is to be forgotten. */
static void fill_inputs(struct random_graph *r, const struct binary_graph *g, void *const *data)
{
    for (uint32_t i = 0; i < g->info.n_inputs; i++) {
        const struct tensor_desc *d = &g->tensors[g->io[i]].desc;
        random_fill(r, d, data[i]);
        if (d->type == DT_B8)
            *(uint8_t *)data[i] = random_below(r, 3) == 0;
    }
}

static void compare(const struct binary_graph *g, const char *name)
{
    struct exec_program *alone, *many;
    struct random_graph r = { .seed = 5, .gain = 0.1f };
    struct exec_binding one[MAX_IO] = { { 0 } }, all[MAX_IO] = { { 0 } };
    void *data[MAX_IO];
    assert_true(g->n_io <= MAX_IO);
    for (uint32_t i = 0; i < g->n_io; i++) {
        uint64_t bytes = desc_bytes(&g->tensors[g->io[i]].desc);
        data[i] = one[i].data = mem_alloc_aligned(64, bytes);
        all[i].data = i < g->info.n_inputs ? data[i] : mem_alloc_aligned(64, bytes);
        assert_true(one[i].data && all[i].data);
    }
    check(exec_load(g, &(struct exec_opts){ .isa = cpu_isa() }, &alone), name);
    check(exec_load(g, &(struct exec_opts){ .isa = cpu_isa(), .team = team }, &many), name);
    for (int k = 0; k < RUNS; k++) {
        fill_inputs(&r, g, data);
        check(exec_run(alone, &(struct exec_run){ .io = one }), name);
        check(exec_run(many, &(struct exec_run){ .io = all }), name);
        for (uint32_t i = g->info.n_inputs; i < g->n_io; i++)
            if (memcmp(one[i].data, all[i].data, desc_bytes(&g->tensors[g->io[i]].desc)))
                fail_msg("%s, run %d: \"%s\" differs", name, k, g->tensors[g->io[i]].name);
    }
    exec_unload(alone);
    exec_unload(many);
    for (uint32_t i = 0; i < g->n_io; i++) {
        mem_free(data[i]);
        if (i >= g->info.n_inputs)
            mem_free(all[i].data);
    }
}

static void threads_keep_the_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        struct prepare_opts o = { .opt_level = 2 };
        struct ir_graph *g;
        struct binary_image im;
        struct binary b;
        check(ir_parse(layers[i].text, strlen(layers[i].text), &g), layers[i].name);
        check(prepare(&target, &o, g, &im), layers[i].name);
        check(binary_open(im.data, im.size, &b), layers[i].name);
        assert_true(b.graphs[0].n_steps >= layers[i].phases && b.graphs[0].n_commands >= 2 * layers[i].phases);
        compare(&b.graphs[0], layers[i].name);
        binary_close(&b);
        binary_image_free(&im);
        ir_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(threads_keep_the_bits) };
    return cmocka_run_group_tests(tests, make_team, free_team);
}
