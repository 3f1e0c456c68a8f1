/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, arena, vector and strings. */
#include "unit.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

static bool all_zero(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const unsigned char *)p)[i])
            return false;
    return true;
}

static void mem_edges(void **state)
{
    (void)state;
    volatile size_t huge = SIZE_MAX; /* hidden from the compiler's own warnings */
    void *a = mem_alloc(0), *b = mem_zalloc(0);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    mem_free(a);
    mem_free(b);
    mem_free(NULL);
    assert_null(mem_alloc(huge));
    assert_null(mem_zalloc(huge));
    assert_null(mem_alloc_array(huge / 2, 3));
    assert_null(mem_alloc_aligned(64, huge));
    assert_null(mem_strdup(NULL));
    for (size_t align = 8; align <= 4096; align *= 2) {
        char *p = mem_alloc_aligned(align, 100);
        assert_int_equal((uintptr_t)p % align, 0);
        assert_true(all_zero(p, 100));
        mem_free(p);
    }
    for (size_t size = (2u << 20) - 1; size < 20u << 20; size += 5u << 20) { /* large ones, where others were */
        char *p = mem_alloc_aligned(64, size);
        assert_true(p && all_zero(p, size));
        memset(p, 1, size);
        mem_free(p);
        p = mem_alloc_pages(size);
        assert_int_equal((uintptr_t)p % 4096, 0);
        memset(p, 2, size);
        mem_free(p);
    }
    a = mem_realloc(mem_strdup("grow"), 1000);
    assert_string_equal(a, "grow");
    assert_null(mem_realloc(a, huge));
    mem_free(a);
}

static void arena_blocks_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    enum { N = 3000 };
    static unsigned char *at[N];
    struct arena a;
    arena_init(&a);
    size_t want = 0, sizes[] = { 0, 1, 15, 16, 17, 100, 1000, 5000, 70000 };
    for (int round = 0; round < 2; round++) {
        want = 0;
        for (int i = 0; i < N; i++) {
            size_t n = sizes[(i * 7 + i / 9) % COUNT(sizes)];
            at[i] = arena_alloc(&a, n);
            assert_non_null(at[i]);
            assert_int_equal((uintptr_t)at[i] % 16, 0);
            assert_true(all_zero(at[i], n));
            memset(at[i], i % 255 + 1, n);
            want += n;
        }
        for (int i = 0; i < N; i++) {
            size_t n = sizes[(i * 7 + i / 9) % COUNT(sizes)];
            for (size_t k = 0; k < n; k += 1 + n / 50)
                assert_int_equal(at[i][k], i % 255 + 1);
        }
        assert_in_range(a.used, want, want + 16 * N);
        arena_finish(&a); /* usable again */
        assert_int_equal(a.used, 0);
    }
}

static void arena_helpers(void **state)
{
    (void)state;
    volatile size_t huge = SIZE_MAX;
    struct arena a;
    arena_init(&a);
    assert_null(arena_alloc(&a, huge));
    assert_null(arena_alloc(&a, huge - 20));
    assert_null(arena_alloc_array(&a, huge / 4, 8));
    assert_null(arena_strdup(&a, NULL));
    assert_string_equal(arena_strdup(&a, "tensor"), "tensor");
    assert_string_equal(arena_printf(&a, "%s_%d", "conv", 12), "conv_12");
    char *longer = arena_printf(&a, "%5000d", 7);
    assert_int_equal(strlen(longer), 5000);
    uint32_t *dims = arena_array(&a, uint32_t, 4);
    assert_true(all_zero(dims, 16));
    assert_memory_equal(arena_dup(&a, "abc", 3), "abc", 3);
    arena_finish(&a);
}

static void vec_grows_and_keeps(void **state)
{
    (void)state;
    struct pair {
        uint32_t a, b;
    };
    VEC(struct pair) v = {};
    for (uint32_t i = 0; i < 10000; i++) {
        struct pair *p = vec_push(&v);
        assert_non_null(p);
        assert_true(all_zero(p, sizeof(*p)));
        *p = (struct pair){ i, ~i };
    }
    assert_int_equal(v.n, 10000);
    for (uint32_t i = 0; i < 10000; i++)
        assert_true(v.at[i].a == i && v.at[i].b == ~i);
    struct pair *before = v.at;
    volatile size_t huge = SIZE_MAX / 4;
    assert_false(vec_reserve(&v, huge));
    assert_ptr_equal(v.at, before);
    assert_int_equal(v.n, 10000);
    assert_true(vec_reserve(&v, 20000));
    assert_true(v.cap >= 20000);
    vec_finish(&v);
    assert_null(v.at);
    assert_int_equal(v.cap, 0);
}

static void str_buffer(void **state)
{
    (void)state;
    struct str s;
    str_init(&s);
    assert_string_equal(str_text(&s), "");
    str_add(&s, "a");
    str_addn(&s, "bcdef", 2);
    str_addf(&s, "-%d-%s", 42, "x");
    assert_string_equal(str_text(&s), "abc-42-x");
    str_addf(&s, "%3000d", 1);
    assert_int_equal(s.n, 3008);
    assert_false(s.failed);
    str_addn(&s, "", SIZE_MAX); /* cannot fit: fails, and stays failed */
    assert_true(s.failed);
    str_add(&s, "more");
    assert_int_equal(s.n, 3008);
    str_finish(&s);
    assert_string_equal(str_text(&s), "");
}

static void str_helpers(void **state)
{
    (void)state;
    assert_true(str_eq("a", "a") && str_eq(NULL, NULL));
    assert_false(str_eq("a", "b") || str_eq("a", NULL) || str_eq(NULL, "a"));
    assert_true(str_starts("Relu6", "Relu") && str_starts("x", ""));
    assert_false(str_starts("Re", "Relu"));
    /* Values published with the FNV algorithm. */
    assert_true(str_hash("") == UINT64_C(0xcbf29ce484222325));
    assert_true(str_hash("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(str_hash("foobar") == UINT64_C(0x85944171f73967e8));
}

static void str_distances(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        unsigned d;
    } cases[] = { { "", "", 0 },
                  { "", "abc", 3 },
                  { "kitten", "sitting", 3 },
                  { "flaw", "lawn", 2 },
                  { "vtcm_mb", "vtcm_bm", 1 },
                  { "Conv2d", "Conv2D", 1 },
                  { "abc", "abc", 0 },
                  { "saturday", "sunday", 3 } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(str_distance(cases[i].a, cases[i].b), cases[i].d);
        assert_int_equal(str_distance(cases[i].b, cases[i].a), cases[i].d);
    }
    char longer[300];
    memset(longer, 'x', 299);
    longer[299] = '\0';
    assert_int_equal(str_distance(longer, "x"), 299);
    assert_int_equal(str_distance(longer, longer), 0);
    longer[128] = '\0'; /* the longest that is compared letter by letter */
    assert_int_equal(str_distance(longer, "xx"), 126);
}

static void str_suggestions(void **state)
{
    (void)state;
    static const char *const names[] = { "vtcm_mb", "priority", "O", "fp16_relaxed_precision" };
    assert_string_equal(str_nearest("vtcm_bm", names, COUNT(names)), "vtcm_mb");
    assert_string_equal(str_nearest("graph_priority", names, COUNT(names)), "priority");
    assert_string_equal(str_nearest("fp16_relaxed", names, COUNT(names)), "fp16_relaxed_precision");
    assert_null(str_nearest("soc_model", names, COUNT(names)));
    assert_null(str_nearest("", names, COUNT(names)));
    assert_null(str_nearest("x", NULL, 0));
}

static void clock_and_cpu(void **state)
{
    (void)state;
    uint64_t a = clock_ns(), b = clock_ns();
    assert_true(b >= a && a > 0);
    assert_true(clock_wall_us() > UINT64_C(1600000000000000));
    assert_true(cpu_cores() >= 1);
    assert_in_range(cpu_isa(), ISA_REF, ISA_COUNT - 1);
    assert_int_equal(cpu_isa(), cpu_isa());
    assert_string_equal(cpu_isa_name(ISA_AVX512), "avx512");
    assert_string_equal(cpu_isa_name((enum isa)77), "unknown");
    /* The compiler's own detection must agree where it knows the features. */
    if (cpu_isa() >= ISA_AVX2)
        assert_true(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    if (cpu_isa() >= ISA_AVX512)
        assert_true(__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni"));
    /* All up to the best are there, but for one that need not be. */
    for (int i = 0; i < ISA_COUNT; i++)
        if (i != ISA_AVXVNNI)
            assert_int_equal(cpu_has((enum isa)i), i <= (int)cpu_isa());
    assert_true(!cpu_has(ISA_AVXVNNI) || cpu_isa() >= ISA_AVXVNNI);
    print_message("isa %s, %u cores\n", cpu_isa_name(cpu_isa()), cpu_cores());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem_edges),     cmocka_unit_test(arena_blocks_are_zeroed_aligned_and_apart),
        cmocka_unit_test(arena_helpers), cmocka_unit_test(vec_grows_and_keeps),
        cmocka_unit_test(str_buffer),    cmocka_unit_test(str_helpers),
        cmocka_unit_test(str_distances), cmocka_unit_test(str_suggestions),
        cmocka_unit_test(clock_and_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
