/* SPDX-License-Identifier: Apache-2.0 */
/* Input lists: every form that is accepted, and the sentence for every one that is not. */
#include <string.h>

#include "../unit/unit.h"
#include "net_run/input_list.h"

struct fixture {
    struct arena arena;
    struct input_list list;
};

static enum status parse(struct fixture *f, const char *text, size_t size)
{
    arena_init(&f->arena);
    status_clear();
    return input_list_parse(text, size, "list", &f->arena, &f->list);
}

static void finish(struct fixture *f)
{
    input_list_finish(&f->list);
    arena_finish(&f->arena);
}

static void test_bare(void **state)
{
    (void)state;
    struct fixture f;
    const char *text = "a.raw b.raw\n\n  c.raw\td.raw  \r\nlast#1.raw %x.raw";
    assert_int_equal(parse(&f, text, strlen(text)), ST_OK);
    assert_int_equal(f.list.lines.n, 3);
    assert_int_equal(f.list.lines.at[0].n, 2);
    assert_string_equal(f.list.lines.at[0].items[1].path, "b.raw");
    assert_null(f.list.lines.at[0].items[1].tensor);
    assert_int_equal(f.list.lines.at[1].number, 3);
    assert_string_equal(f.list.lines.at[1].items[1].path, "d.raw");
    assert_string_equal(f.list.lines.at[2].items[0].path, "last#1.raw");
    assert_string_equal(f.list.lines.at[2].items[1].path, "%x.raw");
    assert_int_equal(f.list.layers.n + f.list.tensors.n, 0);
    finish(&f);
}

static void test_named_and_selected(void **state)
{
    (void)state;
    struct fixture f;
    const char *text = "\xef\xbb\xbf#conv1 conv2\r\n%out\n# a comment\ny:=b.raw x:=dir/a:1.raw\n#no layer here\n";
    assert_int_equal(parse(&f, text, strlen(text)), ST_OK);
    assert_int_equal(f.list.layers.n, 2);
    assert_string_equal(f.list.layers.at[1], "conv2");
    assert_int_equal(f.list.tensors.n, 1);
    assert_string_equal(f.list.tensors.at[0], "out");
    assert_int_equal(f.list.lines.n, 1);
    assert_string_equal(f.list.lines.at[0].items[0].tensor, "y");
    assert_string_equal(f.list.lines.at[0].items[1].path, "dir/a:1.raw");
    finish(&f);
}

static void test_empty(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(parse(&f, "", 0), ST_OK);
    assert_int_equal(f.list.lines.n, 0);
    finish(&f);
    assert_int_equal(parse(&f, "\n# only\n\n", 9), ST_OK);
    assert_int_equal(f.list.lines.n, 0);
    finish(&f);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        const char *why;
    } cases[] = {
        { "ok.raw\na.raw x:=b.raw\n", 0, "list:2: \"a.raw\" and \"b.raw\" mix" },
        { "x:=a x:=b\n", 0, "tensor \"x\" is given twice" },
        { ":=a\n", 0, "no tensor name before" },
        { "x:= a\n", 0, "no path after \"x:=\"" },
        { "%t\n#l\na\n", 0, "comes before" },
        { "a\n%t\n", 0, "before the first line of paths" },
        { "#a\n#b\n", 0, "a second line of output names" },
        { "a\0b\n", 4, "a zero byte" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f;
        assert_int_equal(parse(&f, cases[i].text, cases[i].size ? cases[i].size : strlen(cases[i].text)), ST_BAD_TEXT);
        if (!strstr(status_text(), cases[i].why))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].why, status_text());
        finish(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_named_and_selected),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
