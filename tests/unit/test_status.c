/* SPDX-License-Identifier: Apache-2.0 */
/* Status: names, the kept sentence, cutting, prefixes, the macros, threads. */
#include "unit.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"

static void names_and_default_texts(void **state)
{
    (void)state;
    assert_string_equal(status_name(ST_OK), "ST_OK");
    assert_string_equal(status_name(ST_NO_MEMORY), "ST_NO_MEMORY");
    assert_string_equal(status_name((enum status)9999), "ST_UNKNOWN");
    for (int i = 0; i < ST_COUNT; i++) {
        assert_int_equal(strncmp(status_name((enum status)i), "ST_", 3), 0);
        assert_true(strlen(status_default_text((enum status)i)) > 3);
    }
    assert_non_null(status_default_text((enum status) - 1));
}

static void text_is_kept_and_cleared(void **state)
{
    (void)state;
    status_clear();
    assert_string_equal(status_text(), "");
    assert_int_equal(status_fail(ST_STATE, "rank %d", 9), ST_STATE);
    assert_string_equal(status_text(), "rank 9");
    assert_int_equal(status_fail(ST_IO, "%s twice", status_text()), ST_IO); /* argument points into the text itself */
    assert_string_equal(status_text(), "rank 9 twice");
    assert_int_equal(status_prefix(ST_IO, "node \"%s\"", "conv"), ST_IO);
    assert_string_equal(status_text(), "node \"conv\": rank 9 twice");
    status_clear();
    assert_string_equal(status_text(), "");
    status_prefix(ST_ABORTED, "graph");
    assert_string_equal(status_text(), "graph: the call was aborted by its signal");
    status_fail(ST_ABORTED, "%s", "");
    assert_string_equal(status_text(), status_default_text(ST_ABORTED));
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[STATUS_TEXT_MAX * 2 + 1];
    for (size_t len = STATUS_TEXT_MAX - 3; len <= STATUS_TEXT_MAX + 1; len++) {
        memset(text, 'x', len);
        text[len] = '\0';
        status_fail(ST_INTERNAL, "%s", text);
        bool fits = len < STATUS_TEXT_MAX;
        assert_int_equal(strlen(status_text()), fits ? len : STATUS_TEXT_MAX - 1);
        assert_string_equal(status_text() + STATUS_TEXT_MAX - 7, fits ? text + STATUS_TEXT_MAX - 7 : "xxx...");
    }
    status_prefix(ST_INTERNAL, "%s", "front");
    assert_int_equal(strncmp(status_text(), "front: xxx", 10), 0);
    assert_int_equal(strlen(status_text()), STATUS_TEXT_MAX - 1);
    assert_string_equal(status_text() + STATUS_TEXT_MAX - 7, "xxx...");

    for (size_t i = 0; i + 2 < sizeof(text); i += 2) /* two-byte characters, at both alignments */
        memcpy(text + i, "\xc3\xa4", 3);
    for (int shift = 0; shift < 2; shift++) {
        status_fail(ST_INTERNAL, "%s%s", shift ? "x" : "", text);
        const char *dots = strstr(status_text(), "...");
        assert_non_null(dots);
        assert_int_equal((unsigned char)dots[-1], 0xa4); /* the last character is whole */
        assert_true(strlen(status_text()) >= STATUS_TEXT_MAX - 2);
    }
}

static enum status macro_user(int n, bool *cleaned)
{
    RETURN_IF(n < 0, ST_INVALID_ARG, "n is %d; at least 0 is allowed", n);
    CLEANUP(mem_freep) char *p = mem_strdup("text");
    char *moved = TAKE(p);
    *cleaned = p == NULL && moved != NULL;
    mem_free(moved);
    TRY(status_fail(n ? ST_STATE : ST_OK, "state"));
    return ST_OK;
}

static void macros(void **state)
{
    (void)state;
    bool cleaned = false;
    assert_int_equal(macro_user(-1, &cleaned), ST_INVALID_ARG);
    assert_string_equal(status_text(), "n is -1; at least 0 is allowed");
    assert_false(cleaned);
    assert_int_equal(macro_user(1, &cleaned), ST_STATE);
    assert_int_equal(macro_user(0, &cleaned), ST_OK);
    assert_true(cleaned);
}

static void *fail_in_thread(void *arg)
{
    bool empty = status_text()[0] == '\0';
    status_fail(ST_IO, "other");
    *(bool *)arg = empty && strcmp(status_text(), "other") == 0;
    return NULL;
}

static void threads_have_their_own(void **state)
{
    (void)state;
    status_fail(ST_IO, "mine");
    for (int i = 0; i < 100; i++) {
        bool ok = false;
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, fail_in_thread, &ok), 0);
        pthread_join(t, NULL);
        assert_true(ok);
    }
    assert_string_equal(status_text(), "mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_default_texts), cmocka_unit_test(text_is_kept_and_cleared),
        cmocka_unit_test(long_texts_are_cut),      cmocka_unit_test(macros),
        cmocka_unit_test(threads_have_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
