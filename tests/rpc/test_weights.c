/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of programs in memory of the client: copied there, read from there and from nowhere else, shared only by graphs
 * that have the same (argument: inproc or process). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpc_kit.h"

enum { SEED = 7, OFFSET = 4096, BYTES = OFFSET + 2 * KIT_BYTES };

#define OK(expr) check((expr), #expr, __LINE__)
static void check(enum status st, const char *what, int line)
{
    if (st != ST_OK)
        fail_msg("line %d: %s: %s: %s", line, what, status_name(st), kit_link->explain());
}

static struct kit_client c;
static float *memory;
static uint32_t map;

static int setup(void **state)
{
    (void)state;
    void *p;
    OK(kit_open(&c));
    OK(rpc_alloc(BYTES, &p));
    memory = p;
    memset(memory, 0xA5, BYTES);
    OK(kit_link->map(c.s, rpc_fd(memory), 0, BYTES, true, &map));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kit_close(&c);
    OK(rpc_free(memory));
    return 0;
}

static float *weights(void)
{
    return memory + OFFSET / sizeof(float);
}

static bool right_now(void)
{
    kit_fill(&c, SEED);
    OK(kit_run(&c, (struct rpc_wait){ 0 }));
    return kit_right(&c, SEED);
}

/* y is relu(x + what is in the client's memory). */
static bool reads_memory(void)
{
    kit_fill(&c, SEED);
    OK(kit_run(&c, (struct rpc_wait){ 0 }));
    const float *y = c.memory + KIT_N;
    for (uint32_t i = 0; i < KIT_N; i++) {
        float t = c.memory[i] + weights()[i];
        if (y[i] != (t > 0 ? t : 0))
            return false;
    }
    return true;
}

static bool untouched(const void *from, uint64_t bytes)
{
    const uint8_t *p = from;
    for (uint64_t i = 0; i < bytes; i++)
        if (p[i] != 0xA5)
            return false;
    return true;
}

static void test_read_from_there(void **state)
{
    (void)state;
    assert_true(right_now());
    OK(kit_link->set_weights(c.s, c.program, (struct rpc_pool){ map, OFFSET }));
    for (uint32_t i = 0; i < KIT_N; i++)
        assert_true(weights()[i] == (float)(i % 7) - 3.0f);
    assert_true(untouched(memory, OFFSET) && untouched(weights() + KIT_N, KIT_BYTES));
    assert_true(right_now() && reads_memory());
    for (uint32_t i = 0; i < KIT_N; i++)
        weights()[i] += (float)(i % 5); /* nobody should; here it shows what is read */
    assert_true(reads_memory() && !right_now());
    assert_int_equal(kit_link->unmap(c.s, map), ST_IN_USE);
    OK(kit_link->set_weights(c.s, c.program, (struct rpc_pool){ 0, 0 }));
    assert_true(right_now());
    OK(kit_link->unmap(c.s, map));
    assert_true(right_now());
}

static void test_refused(void **state)
{
    (void)state;
    uint32_t read_only;
    OK(kit_link->map(c.s, rpc_fd(memory), 0, BYTES, false, &read_only));
    struct { struct rpc_pool pool; enum status want; const char *says; } bad[] = {
        { { 12345, 0 }, ST_NOT_FOUND, "12345" },
        { { map, 32 }, ST_INVALID_ARG, "multiple of 64" },
        { { map, BYTES - KIT_BYTES + 64 }, ST_INVALID_ARG, "weights memory of 12288 bytes; the mapping has 12224" },
        { { map, UINT64_MAX - 63 }, ST_INVALID_ARG, "behind offset" },
        { { read_only, 0 }, ST_INVALID_ARG, "reading only" },
        { { c.binary, 0 }, ST_INVALID_ARG, "reading only" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(kit_link->set_weights(c.s, c.program, bad[i].pool), bad[i].want);
        if (!strstr(kit_link->explain(), bad[i].says))
            fail_msg("\"%s\" does not say \"%s\"", kit_link->explain(), bad[i].says);
        assert_true(right_now());
    }
    assert_int_equal(kit_link->set_weights(c.s, 99, (struct rpc_pool){ map, 0 }), ST_NOT_FOUND);
    assert_true(untouched(memory, BYTES));
}

/* Two programs of one binary have the same constants; those of another binary may not lie over them, by whatever mapping. */
static void test_shared(void **state)
{
    (void)state;
    struct rpc_load same = { .map = c.binary }, other = { 0 };
    uint32_t again;
    kit_binary(&same.bytes);
    int fd = kit_window_binary(1 << 20, &other.bytes);
    OK(kit_link->map(c.s, fd, 0, other.bytes, false, &other.map));
    close(fd);
    OK(kit_link->load(c.s, &same));
    OK(kit_link->load(c.s, &other));
    OK(kit_link->map(c.s, rpc_fd(memory), OFFSET, BYTES - OFFSET, true, &again));
    OK(kit_link->set_weights(c.s, c.program, (struct rpc_pool){ map, OFFSET }));
    assert_int_equal(kit_link->set_weights(c.s, same.program, (struct rpc_pool){ again, 64 }), ST_INVALID_ARG);
    OK(kit_link->set_weights(c.s, same.program, (struct rpc_pool){ again, 0 }));
    assert_int_equal(kit_link->set_weights(c.s, other.program, (struct rpc_pool){ map, OFFSET }), ST_INVALID_ARG);
    assert_int_equal(kit_link->set_weights(c.s, other.program, (struct rpc_pool){ again, KIT_BYTES - 64 }), ST_INVALID_ARG);
    assert_non_null(strstr(kit_link->explain(), "those of graph \"kit\" are at offset 4096 of the same memory"));
    OK(kit_link->set_weights(c.s, other.program, (struct rpc_pool){ again, KIT_BYTES }));
    uint32_t programs[] = { c.program, same.program, other.program };
    for (uint32_t i = 0; i < 6; i++) {
        c.program = programs[i % 3];
        assert_true(right_now());
    }
    OK(kit_link->unload(c.s, programs[0]));
    OK(kit_link->unload(c.s, programs[1]));
    OK(kit_link->set_weights(c.s, other.program, (struct rpc_pool){ map, OFFSET }));
    c.program = other.program;
    assert_true(right_now() && reads_memory());
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "process") == 0)
        kit_link = kit_stub(kit_arch);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = { TEST(test_read_from_there), TEST(test_refused), TEST(test_shared) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
