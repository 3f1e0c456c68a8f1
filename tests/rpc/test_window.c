/* SPDX-License-Identifier: Apache-2.0 */
/* The fast memory of a session: one for all programs, charged for the largest, and no larger than a SoC has it (argument:
 * inproc or process). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpc_kit.h"

enum { SMALL = 1 << 20, LARGE = 3 << 20, MOST = 16 << 20 };

#define OK(expr) check((expr), #expr, __LINE__)
static void check(enum status st, const char *what, int line)
{
    if (st != ST_OK)
        fail_msg("line %d: %s: %s: %s", line, what, status_name(st), kit_link->explain());
}

/* A client whose program computes in a window. */
static enum status load_window(struct kit_client *c, uint64_t window, uint32_t *ret_program)
{
    struct rpc_load l = { 0 };
    int fd = kit_window_binary(window, &l.bytes);
    enum status st = kit_link->map(c->s, fd, 0, l.bytes, false, &l.map);
    close(fd);
    if (st == ST_OK && (st = kit_link->load(c->s, &l)) != ST_OK)
        kit_link->unmap(c->s, l.map);
    *ret_program = l.program;
    return st;
}

static uint64_t heap(const struct kit_client *c)
{
    struct rpc_usage u;
    kit_link->usage(c->s, &u);
    return u.heap_bytes;
}

static void run(struct kit_client *c, uint32_t program, uint32_t seed)
{
    uint32_t before = c->program;
    c->program = program;
    kit_fill(c, seed);
    OK(kit_run(c, (struct rpc_wait){ 0 }));
    assert_true(kit_right(c, seed));
    c->program = before;
}

static void test_one_for_all(void **state)
{
    (void)state;
    struct kit_client c;
    uint32_t small[3], large;
    OK(kit_open(&c));
    uint64_t none = heap(&c);
    OK(load_window(&c, SMALL, &small[0]));
    uint64_t tables = heap(&c) - none - SMALL;
    assert_in_range(tables, 1, SMALL / 2);
    OK(load_window(&c, SMALL, &small[1]));
    assert_int_equal(heap(&c), none + SMALL + 2 * tables);
    OK(load_window(&c, LARGE, &large));
    assert_int_equal(heap(&c), none + LARGE + 3 * tables);
    OK(load_window(&c, SMALL, &small[2]));
    for (uint32_t i = 0; i < 8; i++)
        run(&c, i % 2 ? large : small[i / 2 % 3], i);
    OK(kit_link->unload(c.s, small[1]));
    assert_int_equal(heap(&c), none + LARGE + 3 * tables);
    OK(kit_link->unload(c.s, large));
    assert_int_equal(heap(&c), none + SMALL + 2 * tables);
    run(&c, small[2], 8);
    OK(kit_link->unload(c.s, small[0]));
    OK(kit_link->unload(c.s, small[2]));
    assert_int_equal(heap(&c), none);
    OK(load_window(&c, SMALL, &small[0]));
    run(&c, small[0], 9);
    kit_close(&c);
}

static void test_no_larger_than_a_soc(void **state)
{
    (void)state;
    struct kit_client c;
    uint32_t program;
    OK(kit_open(&c));
    uint64_t none = heap(&c);
    assert_int_equal(load_window(&c, MOST + 64, &program), ST_NOT_SUPPORTED);
    assert_non_null(strstr(kit_link->explain(), "computes in 16777280 bytes of VTCM; no SoC has more than 16777216"));
    assert_int_equal(heap(&c), none);
    OK(load_window(&c, MOST, &program));
    run(&c, program, 1);
    kit_close(&c);
}

/* A second program needs its tables only; what does not fit leaves the charge as it was. */
static void test_budget(void **state)
{
    (void)state;
    struct kit_client c;
    uint32_t program;
    struct rpc_usage u;
    OK(kit_open(&c));
    OK(load_window(&c, SMALL, &program));
    kit_link->usage(c.s, &u);
    kit_link->close(c.s);
    struct rpc_session_opts o = kit_opts();
    o.budget = u.heap_bytes + u.mapped_bytes + SMALL / 2;
    OK(kit_link->open(&o, &c.s));
    OK(load_window(&c, SMALL, &program));
    OK(load_window(&c, SMALL, &program));
    uint64_t before = heap(&c);
    assert_int_equal(load_window(&c, LARGE, &program), ST_NO_MEMORY);
    assert_non_null(strstr(kit_link->explain(), "graph \"window\""));
    assert_int_equal(heap(&c), before);
    kit_close(&c);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "process") == 0)
        kit_link = kit_stub(kit_arch);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_for_all), cmocka_unit_test(test_no_larger_than_a_soc), cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
