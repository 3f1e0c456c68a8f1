/* SPDX-License-Identifier: Apache-2.0 */
/* Short names are parts of their names and tell them apart; what cannot be told apart, or is short, stays as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "common/short_names.h"

static void shorten(const char *const *names, size_t n, struct arena *a, const char **ret)
{
    arena_init(a);
    assert_int_equal(short_names(names, n, a, ret), ST_OK);
}

static void test_what_differs_is_left(void **state)
{
    static const char *const names[] = {
        "MobileNetV2/expanded_conv_5/expand/Conv2D;StatefulPartitionedCall/MobileNetV2/expanded_conv_5/expand",
        "MobileNetV2/expanded_conv_6/expand/Conv2D;StatefulPartitionedCall/MobileNetV2/expanded_conv_6/expand",
        "MobileNetV2/expanded_conv_6/project/Conv2D;StatefulPartitionedCall/MobileNetV2/expanded_conv_6/project",
        "MobileNetV2/expanded_conv_5/expand/Conv2D;StatefulPartitionedCall/MobileNetV2/expanded_conv_5/expand",
        "input",
        "",
    };
    enum { N = sizeof names / sizeof names[0] };
    const char *got[N];
    struct arena a;

    (void)state;
    shorten(names, N, &a, got);
    assert_string_equal(got[0], "conv_5");
    assert_string_equal(got[1], "conv_6/expand");
    assert_string_equal(got[2], "project");
    assert_string_equal(got[3], "conv_5"); /* equal names */
    assert_string_equal(got[4], "input");
    assert_string_equal(got[5], "");
    arena_finish(&a);
}

static void test_what_cannot_be_told_apart(void **state)
{
    static const char *const names[] = { "a/long/name/of/an/operator", "a/long/name/of/an/operator/twice",
                                         "................................" };
    const char *got[3];
    struct arena a;

    (void)state;
    shorten(names, 3, &a, got);
    assert_string_equal(got[0], names[0]); /* all of it is part of the other */
    assert_string_equal(got[1], "twice");
    assert_string_equal(got[2], names[2]);
    arena_finish(&a);
}

/* Of many names of a generator: no two alike, each a part of its name. */
static void test_many(void **state)
{
    enum { N = 2000 };
    static char text[N][128];
    static const char *names[N], *got[N];
    struct arena a;

    (void)state;
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "/model/layers.%d/self_attn/%s_proj/MatMul_%d", i / 4, &"q\0k\0v\0o\0"[i % 4 * 2],
                 i);
        names[i] = text[i];
    }
    shorten(names, N, &a, got);
    for (int i = 0; i < N; i++) {
        assert_non_null(strstr(names[i], got[i]));
        assert_true(strlen(got[i]) <= 24);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(got[i], got[k]);
    }
    arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_differs_is_left),
        cmocka_unit_test(test_what_cannot_be_told_apart),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
