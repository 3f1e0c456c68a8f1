/* SPDX-License-Identifier: Apache-2.0 */
/* What users take for granted of an estimate, on random networks: a smaller image is not slower, products and sums of 8 bits
 * are not slower than those of 16, nor those than floats, more fast memory does not make a network slower, and neither
 * does a newer device or a higher level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/htp/htp_cost.h"
#include "cost_graph.h"
#include "prepared.h"

enum { NETS = 24, LAYERS = 14, MB = 1 << 20, VTCM = 8 * MB, SM8550 = 43, V73 = 73 };
/* Percent by which a schedule, which is searched for, may miss the one that was found for another memory or another type. */
enum { OTHER_MEMORY = 5, OTHER_TYPE = 1 };

static uint32_t pick(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

/* x * Sigmoid(x) needs a new encoding where it is not part of a product, which floats do not: 16 bits are slower at it. */
static struct cost_act gated(struct cost_graph *g, struct cost_act x)
{
    return cost_silu(g, cost_conv(g, x, x.c, 1, 1, 1));
}

/* A random network of convolutions, sums, activations and whatever else images go through; the same one for the same seed,
 * whatever the size of its image. */
static void build(struct cost_graph *g, uint64_t seed, uint32_t side)
{
    static const uint32_t widths[] = { 8, 16, 24, 32, 48, 64, 96, 128 };
    struct cost_act x = cost_input(g, side, 2 * side, 3), past = x;
    x = cost_conv(g, x, widths[pick(&seed, 8)], 3, 1 + pick(&seed, 2), 1);
    for (uint32_t i = 0; i < LAYERS; i++) {
        bool large = x.h > 8;
        switch (pick(&seed, 10)) {
        case 0:
        case 1: x = cost_conv(g, x, widths[pick(&seed, 8)], 1, 1, 1); break;
        case 2:
        case 3: x = cost_conv(g, x, widths[pick(&seed, 8)], 3, 1, 1); break;
        case 4: x = cost_depthwise(g, x, 3 + 2 * pick(&seed, 2), 1); break;
        case 5: x = cost_unary(g, x, pick(&seed, 2) ? "Relu" : "Sigmoid"); break;
        case 6:
            x = past.h == x.h && past.w == x.w && past.c == x.c ? cost_binary(g, x, past, "ElementWiseAdd") : gated(g, x);
            break;
        case 7: x = large ? cost_pool(g, x, "PoolMax2d", 2, 2) : cost_unary(g, x, "Tanh"); break;
        case 8:
            x = past.h == x.h && past.w == x.w && past.c < 256 ? cost_concat(g, (struct cost_act[]){ x, past }, 2)
                                                               : cost_conv(g, x, 64, 1, 1, 1);
            break;
        default: x = cost_binary(g, x, cost_constant(g, 1, 1, x.c), "ElementWiseAdd");
        }
        past = pick(&seed, 3) ? past : x;
    }
    cost_output(g, x);
}

struct case_of {
    uint64_t seed;
    uint32_t side;
    enum cost_type type;
    uint32_t soc, arch;
    uint64_t vtcm;
    uint32_t level;
};

static struct cost_graph g;

/* g, prepared as the case says. */
static void prepare_case(const struct case_of *c, struct cost_device *d, struct prepared *ret)
{
    htp_cost_device(c->soc, c->arch, c->vtcm, 0, d);
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 256,
                                .chains = prepare_default_chains,
                                .max_tiles = 64,
                                .vtcm_bytes = c->vtcm,
                                .order_steps = 20000,
                                .plan_nodes = 20000,
                                .device = d };
    prepared_make(ret, g.g, &t, &(struct prepare_opts){ .opt_level = c->level });
}

/* Nanoseconds, since clocks differ. */
static uint64_t time_of(const struct case_of *c)
{
    struct cost_device d;
    struct prepared p;
    cost_graph_start(&g, "random", c->type);
    build(&g, c->seed, c->side);
    prepare_case(c, &d, &p);
    uint64_t ns = p.b.graphs[0].info.cycles * 1000 / d.clock_mhz;
    unmake(&p);
    ir_graph_free(g.g);
    return ns;
}

/* `slack`: percent that the first may be slower by. */
static void not_slower(const char *what, const struct case_of *a, const struct case_of *b, uint32_t slack)
{
    uint64_t first = time_of(a), second = time_of(b);
    if (first > second + second * slack / 100)
        fail_msg("%s, network %llu: %llu ns (side %u, type %d, SoC %u, %llu bytes) against %llu ns (side %u, type %d, SoC "
                 "%u, %llu "
                 "bytes)",
                 what, (unsigned long long)a->seed, (unsigned long long)first, a->side, (int)a->type, a->soc,
                 (unsigned long long)a->vtcm, (unsigned long long)second, b->side, (int)b->type, b->soc,
                 (unsigned long long)b->vtcm);
}

static void smaller_images_are_not_slower(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= NETS; seed++)
        for (uint32_t side = 16; side < 128; side *= 2)
            not_slower("a smaller image", &(struct case_of){ seed, side, seed % COST_TYPES, SM8550, V73, VTCM, 2 },
                       &(struct case_of){ seed, 2 * side, seed % COST_TYPES, SM8550, V73, VTCM, 2 }, 0);
}

static void fewer_bits_are_not_slower(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= NETS; seed++) {
        struct case_of c[COST_TYPES];
        for (int t = 0; t < COST_TYPES; t++)
            c[t] = (struct case_of){ seed, 32u << seed % 3, (enum cost_type)t, SM8550, V73, VTCM, 2 };
        not_slower("8 bits", &c[COST_W8A8], &c[COST_W8A16], OTHER_TYPE);
        not_slower("16 bits", &c[COST_W8A16], &c[COST_FLOAT], OTHER_TYPE);
    }
}

static void more_fast_memory_is_not_slower(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= NETS; seed++)
        for (uint64_t mb = 1; mb < 8; mb *= 2)
            not_slower("more fast memory", &(struct case_of){ seed, 128, seed % COST_TYPES, SM8550, V73, 2 * mb * MB, 2 },
                       &(struct case_of){ seed, 128, seed % COST_TYPES, SM8550, V73, mb * MB, 2 }, OTHER_MEMORY);
}

static void newer_devices_are_not_slower(void **state)
{
    static const uint32_t socs[][2] = { { 36, 69 }, { 43, 73 }, { 57, 75 }, { 69, 79 }, { 87, 81 } };
    (void)state;
    for (uint64_t seed = 1; seed <= NETS; seed++)
        for (size_t i = 0; i + 1 < sizeof socs / sizeof socs[0]; i++)
            not_slower("a newer device",
                       &(struct case_of){ seed, 64, seed % COST_TYPES, socs[i + 1][0], socs[i + 1][1], VTCM, 2 },
                       &(struct case_of){ seed, 64, seed % COST_TYPES, socs[i][0], socs[i][1], VTCM, 2 }, 0);
}

/* Level 3 tries what level 2 does, and keeps the best by its own estimate. */
static void the_highest_level_is_not_slower(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= NETS; seed++)
        not_slower("level 3", &(struct case_of){ seed, 128, seed % COST_TYPES, SM8550, V73, MB << seed % 3, 3 },
                   &(struct case_of){ seed, 128, seed % COST_TYPES, SM8550, V73, MB << seed % 3, 2 }, 0);
}

/* Two windows over an image whose lines have 480 KiB between them: some of these lines are in the window at a time, and
 * nothing of the 30 MiB goes to DRAM. */
static void long_lines_stay_in_fast_memory(void **state)
{
    (void)state;
    struct case_of c = { .type = COST_W8A8, .soc = SM8550, .arch = V73, .vtcm = VTCM, .level = 2 };
    struct binary_moves sum = { 0 };
    struct cost_device d;
    struct prepared p;
    cost_graph_start(&g, "lines", c.type);
    cost_output(&g, cost_conv(&g, cost_conv(&g, cost_input(&g, 64, 2560, 16), 192, 3, 1, 1), 16, 3, 1, 1));
    prepare_case(&c, &d, &p);
    binary_graph_moves(&p.b.graphs[0], &sum);
    assert_int_equal(sum.spill + sum.fill, 0);
    unmake(&p);
    ir_graph_free(g.g);
}

/* SoCs that the table does not have: rates of the phone with their architecture, not of another SoC that has it; SM8550's
 * where nothing is known. */
static void others_have_a_phones_rates(void **state)
{
    (void)state;
    static const struct {
        uint32_t soc, arch, as;
    } cases[] = { { 30, 68, 39 }, { 42, 69, 36 }, { 66, 73, 43 }, { 67000, 75, 57 },
                  { 85, 79, 69 }, { 97, 81, 87 }, { 0, 0, 43 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cost_device other, phone;
        htp_cost_device(cases[i].soc, cases[i].arch, VTCM, 0, &other);
        htp_cost_device(cases[i].as, 0, VTCM, 0, &phone);
        assert_int_equal(other.clock_mhz, phone.clock_mhz);
        assert_int_equal(other.dram_mb_s, phone.dram_mb_s);
        assert_int_equal(other.matrix_macs, phone.matrix_macs);
        assert_int_equal(other.vector_units, phone.vector_units);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smaller_images_are_not_slower),   cmocka_unit_test(fewer_bits_are_not_slower),
        cmocka_unit_test(more_fast_memory_is_not_slower),  cmocka_unit_test(newer_devices_are_not_slower),
        cmocka_unit_test(the_highest_level_is_not_slower), cmocka_unit_test(long_lines_stay_in_fast_memory),
        cmocka_unit_test(others_have_a_phones_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
