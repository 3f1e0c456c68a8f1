/* SPDX-License-Identifier: Apache-2.0 */
/* The TCM pool of libQnnLpaiNetRunExtensions.so: what it gives is aligned, its own and zeroed, what is freed can be had
 * again, and a refusal takes nothing away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lpai_extension/lpai_memory.h"
#include "test_scale.h"

static char last[256];
static unsigned lines;

static void take_line(QnnLog_Level_t level, const char *text)
{
    (void)level;
    lines++;
    snprintf(last, sizeof last, "%s", text);
}

static struct lpai_memory tcm(void)
{
    struct lpai_memory m;
    lpai_memory_init(&m, QNN_LPAI_MEM_TYPE_TCM, take_line);
    m.start_align = m.size_align = 64;
    lines = 0;
    return m;
}

static void test_whole_pool(void **state)
{
    (void)state;
    struct lpai_memory m = tcm();
    uint8_t *all = lpai_memory_alloc(&m, LPAI_TCM_BYTES);
    assert_non_null(all);
    assert_int_equal(lines, 2);
    assert_string_equal(last, "Allocate size 2035712 from tcm pool 0");
    memset(all, 0xA5, LPAI_TCM_BYTES);
    assert_null(lpai_memory_alloc(&m, 1));
    assert_string_equal(last, "TCM memory allocation failure: required size: 64");
    assert_non_null(strstr(status_text(), "2035712 of 2035712 bytes"));
    lpai_memory_free(&m, all);
    all = lpai_memory_alloc(&m, LPAI_TCM_BYTES);
    assert_non_null(all);
    for (size_t i = 0; i < LPAI_TCM_BYTES; i += 997)
        assert_int_equal(all[i], 0);
    lpai_memory_free(&m, all);
    assert_null(lpai_memory_alloc(&m, LPAI_TCM_BYTES + 1));
    assert_string_equal(last, "TCM memory allocation failure: required size: 2035713");
    assert_null(lpai_memory_alloc(&m, SIZE_MAX));
    lpai_memory_finish(&m);
}

static void test_buffers(void **state)
{
    (void)state;
    struct lpai_memory m = tcm();
    uint8_t *p[LPAI_TCM_BUFFERS];
    for (int i = 0; i < LPAI_TCM_BUFFERS; i++) {
        p[i] = lpai_memory_alloc(&m, 100);
        assert_non_null(p[i]);
        memset(p[i], i, 100);
    }
    assert_null(lpai_memory_alloc(&m, 100));
    assert_non_null(strstr(status_text(), "all of its 32 buffers"));
    for (int i = 0; i < LPAI_TCM_BUFFERS; i++)
        assert_true(p[i][0] == i && p[i][99] == i);
    lpai_memory_free(&m, p[7]);
    lpai_memory_free(&m, p[7] + 1); /* nothing that was given */
    assert_ptr_equal(lpai_memory_alloc(&m, 128), p[7]); /* the gap */
    assert_null(lpai_memory_alloc(&m, 1));
    lpai_memory_finish(&m);
}

static void test_other_types(void **state)
{
    (void)state;
    struct lpai_memory m = tcm();
    m.type = QNN_LPAI_MEM_TYPE_UNDEFINED;
    assert_null(lpai_memory_alloc(&m, 64));
    assert_string_equal(last, "Memory type only supports DDR & TCM");
    m.type = QNN_LPAI_MEM_TYPE_DDR;
    uint8_t *a = lpai_memory_alloc(&m, 3 * LPAI_TCM_BYTES), *b = lpai_memory_alloc(&m, 0);
    assert_true(a && b && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
    assert_int_equal(lines, 1); /* DDR says nothing */
    assert_null(lpai_memory_alloc(&m, SIZE_MAX));
    lpai_memory_free(&m, a);
    lpai_memory_free(&m, b);
    lpai_memory_free(&m, NULL);
    lpai_memory_finish(&m);
}

/* Whatever is taken and given back: buffers never overlap, and the pool refuses only when it has a reason. */
static void test_random(void **state)
{
    (void)state;
    struct lpai_memory m = tcm();
    struct {
        uint8_t *p;
        size_t bytes;
    } have[LPAI_TCM_BUFFERS] = { 0 };
    uint32_t seed = 1;
    for (unsigned step = 0; step < test_scale(20000); step++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned i = (seed >> 8) % LPAI_TCM_BUFFERS;
        if (have[i].p) {
            assert_true(have[i].p[0] == i && have[i].p[have[i].bytes - 1] == i);
            lpai_memory_free(&m, have[i].p);
            have[i].p = NULL;
            continue;
        }
        have[i].bytes = (seed >> 4) % 200000 + 1;
        have[i].p = lpai_memory_alloc(&m, have[i].bytes);
        size_t used = 0, gaps = 0;
        for (unsigned k = 0; k < LPAI_TCM_BUFFERS; k++) {
            used += have[k].p ? have[k].bytes : 0;
            gaps += have[k].p != NULL;
        }
        if (!have[i].p) { /* then no gap can be as large; so what is free is less than all gaps together */
            assert_true(LPAI_TCM_BYTES - used < (gaps + 1) * (have[i].bytes + 64) + 64 * gaps);
            continue;
        }
        assert_true((uintptr_t)have[i].p % 64 == 0 && have[i].p >= m.pool &&
                    have[i].p + have[i].bytes <= m.pool + LPAI_TCM_BYTES);
        memset(have[i].p, (int)i, have[i].bytes);
    }
    lpai_memory_finish(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole_pool), cmocka_unit_test(test_buffers),
                                        cmocka_unit_test(test_other_types), cmocka_unit_test(test_random) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
