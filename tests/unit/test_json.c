/* SPDX-License-Identifier: Apache-2.0 */
/* JSON by field tables: what is read, and word for word what is said about what is refused. */
#include "unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

struct graph {
    uint32_t vtcm;
    bool vtcm_seen;
    const char *name;
};

struct config {
    uint32_t first;
    bool on, deep_on, any_on;
    uint32_t level, small, priority;
    int64_t offset, limited;
    double scale, ratio;
    const char *text;
    struct {
        uint32_t x;
        struct {
            uint32_t y;
        } in;
    } deep;
    struct json_list graphs, names, plain, cores;
};

static const char *const priorities[] = { "low", "normal", "normal_high", "high", NULL };
static const struct json_field graph_fields[] = { { "vtcm_mb", JSON_U32, offsetof(struct graph, vtcm), .min = 1, .max = 16,
                                                    .seen = offsetof(struct graph, vtcm_seen) },
                                                  { "name", JSON_STRING, offsetof(struct graph, name), .required = true },
                                                  {} };
static const struct json_field in_fields[] = { { "y", JSON_U32, .offset = 0 }, {} };
static const struct json_field deep_fields[] = { { "x", JSON_U32, .offset = 0 },
                                                 { "in", JSON_OBJECT, sizeof(uint32_t), .sub = in_fields },
                                                 {} };
static const struct json_field fields[] = {
    { "first", JSON_U32, .offset = offsetof(struct config, first) },
    { "on", JSON_BOOL, .offset = offsetof(struct config, on) },
    { "level", JSON_U32, .offset = offsetof(struct config, level) },
    { "small", JSON_U32, offsetof(struct config, small), .max = 16 },
    { "priority", JSON_ENUM, offsetof(struct config, priority), .names = priorities },
    { "offset", JSON_I64, .offset = offsetof(struct config, offset) },
    { "limited", JSON_I64, offsetof(struct config, limited), .min = (uint64_t)-8, .max = 7 },
    { "scale", JSON_F64, .offset = offsetof(struct config, scale) },
    { "ratio", JSON_F64, offsetof(struct config, ratio), .min = 0, .max = 1 },
    { "text", JSON_STRING, .offset = offsetof(struct config, text) },
    { "deep", JSON_OBJECT, offsetof(struct config, deep), .sub = deep_fields, .seen = offsetof(struct config, deep_on) },
    { "graphs", JSON_LIST, offsetof(struct config, graphs), .sub = graph_fields, .item_size = sizeof(struct graph) },
    { "names", JSON_STRINGS, .offset = offsetof(struct config, names) },
    { "plain", JSON_LIST, .offset = offsetof(struct config, plain) },
    { "cores", JSON_U32S, offsetof(struct config, cores), .max = 7 },
    { "any", JSON_ANY, offsetof(struct config, any_on), .seen = offsetof(struct config, any_on) },
    {}
};

static void everything_is_read(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf// a comment with \"quotes\" and \xc3\xa4\n"
                               "{ \"first\": 0, \"on\": true, \"level\": 4294967295, /* one\n two */ \"small\": 16,\n"
                               "  \"priority\": \"high\", \"offset\": -9223372036854775808, \"limited\": -8,\n"
                               "  \"scale\": 1, \"ratio\": 0.5, \"text\": \"a // b /* c */ \\\" \\u00e4\",\n"
                               "  \"deep\": { \"in\": { \"y\": 7 }, \"x\": 3 },\n"
                               "  \"graphs\": [ { \"name\": \"g0\" }, { \"name\": \"g1\", \"vtcm_mb\": 8 } ],\n"
                               "  \"names\": [\"a\", \"b\"], \"plain\": [], \"cores\": [7, 0], \"any\": { \"x\": "
                               "[1, null] } } // end";
    struct config c = {};
    struct arena a;
    arena_init(&a);
    assert_int_equal(json_read(text, sizeof(text) - 1, fields, &c, &a), ST_OK);
    assert_true(c.on && c.deep_on);
    assert_int_equal(c.level, UINT32_MAX);
    assert_int_equal(c.small, 16);
    assert_int_equal(c.priority, 3);
    assert_true(c.offset == INT64_MIN && c.limited == -8);
    assert_true(c.scale == 1.0 && c.ratio == 0.5);
    assert_string_equal(c.text, "a // b /* c */ \" \xc3\xa4");
    assert_int_equal(c.deep.x, 3);
    assert_int_equal(c.deep.in.y, 7);
    const struct graph *g = c.graphs.items;
    assert_int_equal(c.graphs.n, 2);
    assert_string_equal(g[0].name, "g0");
    assert_false(g[0].vtcm_seen);
    assert_true(g[1].vtcm_seen && g[1].vtcm == 8);
    assert_int_equal(c.names.n, 2);
    assert_string_equal(((const char **)c.names.items)[1], "b");
    assert_int_equal(c.plain.n, 0);
    assert_int_equal(c.cores.n, 2);
    assert_true(((const uint32_t *)c.cores.items)[0] == 7 && ((const uint32_t *)c.cores.items)[1] == 0);
    assert_true(c.any_on);
    arena_finish(&a);
}

static void absent_keys_keep_defaults(void **state)
{
    (void)state;
    struct config c = { .level = 77, .text = "default" };
    struct arena a;
    arena_init(&a);
    assert_int_equal(json_read("{}", 2, fields, &c, &a), ST_OK);
    assert_int_equal(c.level, 77);
    assert_string_equal(c.text, "default");
    arena_finish(&a);
}

static const struct refusal {
    const char *text;
    enum status st;
    const char *message; /* all of it, or its beginning when it ends in '*' */
} refusals[] = {
    { "{\n  \"graphs\": [\n    { \"name\": \"\xc3\xa4\", \"vtcm\": 3 } ] }", ST_INVALID_CONFIG,
      "Invalid key: graphs/0/vtcm (line 3, column 20); nearest known key: vtcm_mb" },
    { "{ \"zzzzzz\": 1 }", ST_INVALID_CONFIG, "Invalid key: zzzzzz (line 1, column 3); known keys: first, on, level,*" },
    { "{ /* \n\xc3\xa4 */ \"smal\": 1 }", ST_INVALID_CONFIG,
      "Invalid key: smal (line 2, column 6); nearest known key: small" },
    { "{ \"fir\\u0073t\": 1, \"small\": 17 }", ST_INVALID_CONFIG,
      "small (line 1, column 20): 17 is out of range; allowed are 0 to 16" },
    { "{ \"graphs\": [ { \"name\": \"a,}]\", \"vtcm_mb\": 0 } ] }", ST_INVALID_CONFIG,
      "graphs/0/vtcm_mb (line 1, column 33): 0 is out of range; allowed are 1 to 16" },
    { "{ \"level\": -1 }", ST_INVALID_CONFIG, "level (line 1, column 3): -1 is out of range; allowed are 0 to 4294967295" },
    { "{ \"level\": 4294967296 }", ST_INVALID_CONFIG, "level (line 1, column 3): 4294967296 is out of range*" },
    { "{ \"limited\": 8 }", ST_INVALID_CONFIG, "limited (line 1, column 3): 8 is out of range; allowed are -8 to 7" },
    { "{ \"cores\": [0, 8] }", ST_INVALID_CONFIG, "cores/1 (line 1, column 16): 8 is out of range; allowed are 0 to 7" },
    { "{ \"cores\": [\"x\"] }", ST_INVALID_CONFIG,
      "cores/0 (line 1, column 13): the value is a string; a whole "
      "number is expected" },
    { "{ \"cores\": 3 }", ST_INVALID_CONFIG,
      "cores (line 1, column 3): the value is a whole number; a list of "
      "whole numbers is expected" },
    { "{ \"ratio\": 1.5 }", ST_INVALID_CONFIG, "ratio (line 1, column 3): 1.5 is out of range; allowed are 0 to 1" },
    { "{ \"level\": 1.0 }", ST_INVALID_CONFIG,
      "level (line 1, column 3): the value is a number with a fraction or exponent; a whole number is expected" },
    { "{ \"on\": 1 }", ST_INVALID_CONFIG, "on (line 1, column 3): the value is a whole number; true or false is expected" },
    { "{ \"text\": null }", ST_INVALID_CONFIG, "text (line 1, column 3): the value is null; a string is expected" },
    { "{ \"scale\": \"1\" }", ST_INVALID_CONFIG, "scale (line 1, column 3): the value is a string; a number is expected" },
    { "{ \"priority\": \"hihg\" }", ST_INVALID_CONFIG,
      "priority (line 1, column 3): \"hihg\" is not known; allowed are low, normal, normal_high, high; did you mean "
      "\"high\"?" },
    { "{ \"priority\": \"\\u001b[31m\" }", ST_INVALID_CONFIG, "priority (line 1, column 3): \"?[31m\" is not known*" },
    { "{ \"names\": [\"a\", [\"x\"],\n false] }", ST_INVALID_CONFIG,
      "names/1 (line 1, column 18): the value is a list; a string is expected" },
    { "{ \"names\": {} }", ST_INVALID_CONFIG,
      "names (line 1, column 3): the value is an object; a list of strings is expected" },
    { "{ \"graphs\": [ {}, {} ] }", ST_INVALID_CONFIG,
      "graphs/0 (line 1, column 15): the key \"name\" is missing; it is required here" },
    { "{ \"deep\": { \"x\": 1,\n\"in\": { \"z\": 1 } } }", ST_INVALID_CONFIG,
      "Invalid key: deep/in/z (line 2, column 9); known keys: y" },
    { "{ \"deep\": [] }", ST_INVALID_CONFIG, "deep (line 1, column 3): the value is a list; an object is expected" },
    { "[]", ST_INVALID_CONFIG, "the top level: the value is a list; an object is expected" },
    { "{ \"on\": true,\n\"on\": true }", ST_BAD_TEXT, "near line 2, column 4: duplicate object key near '\"on\"'" },
    { "{ \"on\": tru }", ST_BAD_TEXT, "near line 1, column 11: invalid token near 'tru'" },
    { "{ \"on\": true, }", ST_BAD_TEXT, "near line 1, column 15:*" },
    { "{ \"on\": true\n /* open", ST_BAD_TEXT, "line 2, column 2: this comment has no end; \"*/\" is missing" },
    { "{ \"offset\": 9223372036854775808 }", ST_BAD_TEXT, "near line 1, column 31: too big integer*" },
    { "{ \"scale\": 1e999 }", ST_BAD_TEXT, "near line 1, column 16: real number overflow*" },
    { "{ \"text\": \"\\u0000\" }", ST_BAD_TEXT, "near line 1, *" },
    { "{ \"text\": \"\xff\" }", ST_BAD_TEXT, "near line 1, *" },
    { "{} x", ST_BAD_TEXT, "near line 1, column 4: end of file expected near 'x'" },
    { "{ \"text\": \"abc", ST_BAD_TEXT, "near line 1, *" },
    { "", ST_BAD_TEXT, "near line 1, column 0: '[' or '{' expected near end of file" },
    { "/", ST_BAD_TEXT, "near line 1, column 1: '[' or '{' expected near '/'" },
};

static void refusals_are_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct config c = {};
        struct arena a;
        arena_init(&a);
        status_clear();
        size_t n = strlen(r->text), m = strlen(r->message);
        char *exact = malloc(n ? n : 1); /* a sanitizer sees a read past the end */
        memcpy(exact, r->text, n);
        assert_int_equal(json_read(exact, n, fields, &c, &a), r->st);
        if (r->message[m - 1] == '*' && strncmp(status_text(), r->message, m - 1) == 0)
            m = 0;
        if (m)
            assert_string_equal(status_text(), r->message);
        free(exact);
        arena_finish(&a);
    }
}

static void deep_and_long_input(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct config c = {};
    struct arena a;
    arena_init(&a);
    char *text = malloc(N + 20);
    memset(text, '[', N);
    assert_int_equal(json_read(text, N, fields, &c, &a), ST_BAD_TEXT); /* too deep, not a stack overflow */
    memcpy(text, "{ \"", 3);
    memset(text + 3, 'k', N);
    memcpy(text + 3 + N, "\": 1 }", 6);
    assert_int_equal(json_read(text, N + 9, fields, &c, &a), ST_INVALID_CONFIG);
    assert_int_equal(strncmp(status_text(), "Invalid key: kkkk", 17), 0);
    assert_non_null(strstr(status_text(), "kkk... (line 1, column 3)"));
    free(text);
    arena_finish(&a);
}

static void files(void **state)
{
    (void)state;
    struct config c = {};
    struct arena a;
    arena_init(&a);
    assert_int_equal(json_read_file("no/such/file.json", fields, &c, &a), ST_IO);
    assert_string_equal(status_text(), "\"no/such/file.json\" could not be opened: No such file or directory");
    assert_int_equal(json_read_file("/", fields, &c, &a), ST_IO);
    assert_string_equal(status_text(), "\"/\" could not be read: Is a directory");

    char path[] = "test_json_XXXXXX", want[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "{ \"level\": 5 }\n", 15), 15);
    assert_int_equal(json_read_file(path, fields, &c, &a), ST_OK);
    assert_int_equal(c.level, 5);
    assert_int_equal(pwrite(fd, "x", 1, 13), 1);
    assert_int_equal(json_read_file(path, fields, &c, &a), ST_BAD_TEXT);
    snprintf(want, sizeof(want), "%s: near line 1, column 14: '}' expected near 'x'", path);
    close(fd);
    unlink(path);
    assert_string_equal(status_text(), want);
    arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(absent_keys_keep_defaults),
        cmocka_unit_test(refusals_are_explained),
        cmocka_unit_test(deep_and_long_input),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
