/* SPDX-License-Identifier: Apache-2.0 */
/* What files begin with, and what a reader says of one of another kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/file_kind.h"

#define BYTES(text) text, sizeof(text) - 1

static void test_kinds(void **state)
{
    static const struct {
        enum file_kind kind;
        const char *bytes;
        size_t size;
    } cases[] = {
        { FILE_EMPTY, BYTES("") },
        { FILE_ZEROS, BYTES("\0\0\0\0\0\0\0\0") },
        { FILE_CONTEXT_BINARY, BYTES("OQNB\3\0\0\0") },
        { FILE_ONNX, BYTES("\x08\x07\x12\x07pytorch") },
        { FILE_TFLITE, BYTES("\x1c\0\0\0TFL3") },
        { FILE_OTHER, BYTES("\x1c\0\0\0TFL") }, /* cut off before the magic ends */
        { FILE_ZIP, BYTES("PK\3\4rest") },
        { FILE_ELF, BYTES("\177ELF\2\1") },
        { FILE_HTML, BYTES("<!doctype HTML><html>") },
        { FILE_HTML, BYTES("\r\n  <HTML lang=en>") },
        { FILE_LFS_POINTER, BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:00\n") },
        { FILE_JSON, BYTES(" { \"a\": 1 }") },
        { FILE_TEXT, BYTES("version 2 of something") },
        { FILE_GZIP, BYTES("\x1f\x8b\x08") },
        { FILE_OTHER, BYTES("\xde\xad\xbe\xef") },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (file_kind_of(cases[i].bytes, cases[i].size) != cases[i].kind)
            fail_msg("case %zu is said to be %s", i, file_kind_name(file_kind_of(cases[i].bytes, cases[i].size)));
    }
    for (int kind = 0; kind < FILE_KIND_COUNT; kind++) {
        assert_non_null(file_kind_name((enum file_kind)kind));
        assert_non_null(file_kind_advice((enum file_kind)kind));
    }
}

static void test_explain(void **state)
{
    (void)state;
    assert_int_equal(file_kind_explain(ST_OK, BYTES("<html>"), FILE_ONNX, "an ONNX model"), ST_OK);

    status_fail(ST_BAD_TEXT, "field 7 has wire type 4");
    assert_int_equal(file_kind_explain(ST_BAD_TEXT, BYTES("<html>"), FILE_ONNX, "an ONNX model"), ST_BAD_TEXT);
    assert_non_null(strstr(status_text(), "not an ONNX model but a web page; "));

    /* Of the right kind, or of none that is known: the reader's own words stay. */
    status_fail(ST_BAD_TEXT, "field 7 has wire type 4");
    file_kind_explain(ST_BAD_TEXT, BYTES("\xde\xad"), FILE_ONNX, "an ONNX model");
    assert_string_equal(status_text(), "field 7 has wire type 4");
    file_kind_explain(ST_BAD_TEXT, BYTES("\x08\x07\x12\x07"), FILE_ONNX, "an ONNX model");
    assert_string_equal(status_text(), "field 7 has wire type 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kinds), cmocka_unit_test(test_explain) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
