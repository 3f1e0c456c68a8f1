/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-profile-viewer --compare A.log B.log: what changed between two runs, before and after. */
#include "profile_viewer/compare_logs.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/file_write.h"
#include "base/str.h"
#include "common/tool_file.h"
#include "common/tool_log.h"
#include "common/tool_options.h"

struct comparison {
    const char *before, *after, *output;
    uint32_t format;
    bool format_given;
};

#define AT(member) offsetof(struct comparison, member)
static const struct tool_option options[] = {
    { "compare", OPT_STRING, AT(before), .argument = "A.log B.log", .required = true,
      .help = "Two profiling logs: what every event and operator took in each, and how that changed." },
    { "with", OPT_STRING, AT(after), .argument = "B.log", .required = true,
      .help = "The second log, where it does not stand behind the first." },
    { "output", OPT_STRING, AT(output), .argument = "FILE",
      .help = "Where the comparison goes; standard output when not given." },
    { "compare_format", OPT_CHOICE, AT(format), .choices = compare_formats, .seen = AT(format_given),
      .help = "text, json, or html, a page that needs nothing but a browser. When not given, what --output ends with "
              "(.json, .html), otherwise text." },
    {}
};

static const struct tool_program program = {
    .name = "qnn-profile-viewer",
    .summary = "compares two profiled runs.",
    .usage = "--compare A.log B.log [--output FILE] [--compare_format text|json|html]",
    .options = options,
    .examples =
        "  qnn-profile-viewer --compare before/qnn-profiling-data.log after/qnn-profiling-data.log --output diff.html\n",
};

static bool is_option(const char *word)
{
    return strcmp(word, "--compare") == 0 || str_starts(word, "--compare=");
}

bool viewer_compares(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (is_option(argv[i]))
            return true;
    return false;
}

/* "--compare A B" as "--compare A --with B", which the table knows. */
static char **with_word(int *argc, char **argv, struct arena *a)
{
    static char word[] = "--with";
    char **ret = arena_array(a, char *, (size_t)*argc + 2);
    int n = 0;

    for (int i = 0; ret && i < *argc; i++) {
        bool joined = i > 0 && str_starts(argv[i - 1], "--compare=");
        bool first_log = i > 0 && strcmp(argv[i - 1], "--compare") == 0;
        bool second = i > 1 && strcmp(argv[i - 2], "--compare") == 0;

        if ((second || (joined && !first_log)) && argv[i][0] != '-')
            ret[n++] = word;
        ret[n++] = argv[i];
    }
    *argc = n;
    return ret;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = s ? strlen(s) : 0, m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static enum compare_format format_of(const struct comparison *o)
{
    if (o->format_given)
        return (enum compare_format)o->format;
    if (ends_with(o->output, ".json"))
        return COMPARE_JSON;
    return ends_with(o->output, ".html") ? COMPARE_HTML : COMPARE_TEXT;
}

static enum status write_result(const struct comparison *o, const json_t *result)
{
    CLEANUP(file_write_abort) struct file_write file = { 0 };

    if (!o->output) {
        int failed = compare_write(result, format_of(o), stdout);
        RETURN_IF(failed || fflush(stdout), ST_IO, "cannot write to the standard output: %s", strerror(errno));
        return ST_OK;
    }
    TRY(file_write_begin(&file, o->output));
    if (compare_write(result, format_of(o), file.to))
        return status_fail(ST_IO, "cannot write \"%s\": %s", o->output, strerror(file.error ? file.error : errno));
    return file_write_end(&file);
}

static enum status read_log(const char *path, struct prof_log *ret)
{
    struct tool_file f = { 0 };

    TRY(tool_file_read(path, &f));
    enum status st = prof_log_read(f.data, f.size, ret);
    tool_file_free(&f);
    return st == ST_OK ? ST_OK : status_prefix(st, "\"%s\"", path);
}

static enum status compare(const struct comparison *o, struct prof_log logs[2])
{
    const struct compare_side sides[2] = { { &logs[0], o->before }, { &logs[1], o->after } };
    json_t *result = NULL;

    TRY(read_log(o->before, &logs[0]));
    TRY(read_log(o->after, &logs[1]));
    TRY(compare_logs(sides, &result));
    enum status st = write_result(o, result);
    json_decref(result);
    return st;
}

int viewer_compare(int argc, char **argv)
{
    struct comparison o = { 0 };
    struct prof_log logs[2] = { 0 };
    struct arena arena;

    arena_init(&arena);
    char **words = with_word(&argc, argv, &arena);
    enum tool_next next = words ? tool_options_parse(&program, argc, words, &o, &arena) : TOOL_EXIT_ERROR;
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN) {
        enum status st = compare(&o, logs);
        code = st == ST_OK ? 0 : tool_report(program.name, st);
    }
    for (int i = 0; i < 2; i++)
        prof_log_free(&logs[i]);
    arena_finish(&arena);
    return code;
}
