/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines by table; see tool_options.h. */
#include "common/tool_options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "QNN/QnnSdkBuildId.h"
#include "base/str.h"
#include "base/vec.h"
#include "common/tool_log.h"

const char *const tool_log_levels[] = { "error", "warn", "info", "verbose", "debug", NULL };

uint32_t tool_level_of(uint32_t index)
{
    return index + TOOL_ERROR;
}

/* ---- splitting ------------------------------------------------------------------------------------------------------- */

enum status tool_split(const char *text, char separator, struct arena *arena, struct opt_list *ret)
{
    size_t most = 1;
    for (const char *p = text; *p; p++)
        most += *p == separator;
    char *copy = arena_strdup(arena, text);
    ret->items = arena_alloc_array(arena, most, sizeof(*ret->items));
    ret->n = 0;
    RETURN_IF(!copy || !ret->items, ST_NO_MEMORY, "list of %zu items", most);
    for (char *p = copy, *next; p; p = next) {
        next = strchr(p, separator);
        if (next)
            *next++ = '\0';
        if (*p)
            ret->items[ret->n++] = p;
    }
    return ST_OK;
}

enum status tool_split_names(const char *text, struct arena *arena, struct opt_names_list *ret)
{
    struct opt_list groups;
    TRY(tool_split(text, ';', arena, &groups));
    ret->at = arena_alloc_array(arena, groups.n + 1, sizeof(*ret->at));
    RETURN_IF(!ret->at, ST_NO_MEMORY, "list of tensor names");
    for (ret->n = 0; ret->n < groups.n; ret->n++) {
        const char *group = groups.items[ret->n], *colon = strchr(group, ':');
        struct opt_names *to = &ret->at[ret->n];
        if (colon) {
            char *name = arena_strdup(arena, group);
            RETURN_IF(!name, ST_NO_MEMORY, "name of a graph");
            name[colon - group] = '\0';
            to->graph = name;
        }
        TRY(tool_split(colon ? colon + 1 : group, ',', arena, &to->tensors));
        RETURN_IF(!to->tensors.n, ST_INVALID_ARG,
                  "\"%s\" names no tensor; the form is graph0:tensor0,tensor1;graph1:tensor0", group);
    }
    return ST_OK;
}

bool opt_names_have(const struct opt_names_list *l, const char *graph, const char *tensor)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->at[i].graph && !str_eq(l->at[i].graph, graph))
            continue;
        for (size_t t = 0; t < l->at[i].tensors.n; t++) {
            if (str_eq(l->at[i].tensors.items[t], tensor))
                return true;
        }
    }
    return false;
}

/* ---- help ------------------------------------------------------------------------------------------------------------ */

enum { HELP_INDENT = 6, HELP_WIDTH = 100 };

static void print_wrapped(const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (!column || column + 1 + word > HELP_WIDTH) {
            printf("%s%*s", column ? "\n" : "", HELP_INDENT, "");
            column = HELP_INDENT;
        } else {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)word, text);
        column += word;
        text += word + strspn(text + word, " ");
    }
    putchar('\n');
}

static void print_argument(const struct tool_option *o)
{
    if (o->kind == OPT_CHOICE) {
        for (size_t i = 0; o->choices[i]; i++)
            printf("%c%s", i ? '|' : ' ', o->choices[i]);
    } else if (o->kind != OPT_FLAG) {
        printf(" %s", o->argument ? o->argument : "VALUE");
    }
}

static void print_help(const struct tool_program *p)
{
    printf("%s: %s\n\nusage: %s %s\n", p->name, p->summary, p->name, p->usage);
    for (const struct tool_option *o = p->options; o->name; o++) {
        if (o->section)
            printf("\n%s\n", o->section);
        printf("  --%s", o->name);
        if (o->letter)
            printf(", -%c", o->letter);
        print_argument(o);
        printf("%s\n", o->required ? "   (required)" : "");
        print_wrapped(o->refused ? o->refused : o->help);
    }
    printf("\n  --version\n      Print the version and exit.\n  --help, -h\n      Print this text and exit.\n");
    printf("\nExit status: 0 when everything worked, 1 otherwise.\n");
    if (p->examples)
        printf("\nExamples:\n%s", p->examples);
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

static enum status store_choice(const struct tool_option *o, const char *text, void *to)
{
    struct str known;
    for (uint32_t i = 0; o->choices[i]; i++) {
        if (str_eq(o->choices[i], text)) {
            *(uint32_t *)to = i;
            return ST_OK;
        }
    }
    str_init(&known);
    for (uint32_t i = 0; o->choices[i]; i++)
        str_addf(&known, "%s%s", i ? ", " : "", o->choices[i]);
    enum status st =
        status_fail(ST_INVALID_ARG, "--%s \"%s\" is not known; choose one of: %s", o->name, text, str_text(&known));
    str_finish(&known);
    return st;
}

static enum status store_number(const struct tool_option *o, const char *text, void *to)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    RETURN_IF(end == text || *end || errno, ST_INVALID_ARG, "--%s \"%s\" is not a whole number", o->name, text);
    bool high = o->max >= o->min && value > o->max;
    RETURN_IF((value < o->min || high) && o->max >= o->min, ST_INVALID_ARG, "--%s %lld is outside %" PRId64 "..%" PRId64,
              o->name, value, o->min, o->max);
    RETURN_IF(value < o->min, ST_INVALID_ARG, "--%s %lld is too small; at least %" PRId64, o->name, value, o->min);
    *(int64_t *)to = value;
    return ST_OK;
}

static enum status store_real(const struct tool_option *o, const char *text, void *to)
{
    char *end;
    double value = strtod(text, &end);
    RETURN_IF(end == text || *end || !isfinite(value), ST_INVALID_ARG, "--%s \"%s\" is not a number", o->name, text);

    *(double *)to = value;
    return ST_OK;
}

static enum status store(const struct tool_option *o, const char *text, void *out, struct arena *arena)
{
    void *to = (char *)out + o->offset;
    RETURN_IF(o->refused, ST_NOT_SUPPORTED, "--%s is not supported: %s", o->name, o->refused);
    if (o->told)
        tool_log(TOOL_WARN, "--%s changes nothing: %s", o->name, o->told);
    if (o->seen)
        *((char *)out + o->seen) = 1;
    switch (o->kind) {
    case OPT_FLAG: *(bool *)to = true; return ST_OK;
    case OPT_STRING: *(const char **)to = text; return ST_OK;
    case OPT_LIST: return tool_split(text, ',', arena, to);
    case OPT_NUMBER: return store_number(o, text, to);
    case OPT_REAL: return store_real(o, text, to);
    case OPT_CHOICE: return store_choice(o, text, to);
    }
    return ST_INTERNAL;
}

/* ---- parsing --------------------------------------------------------------------------------------------------------- */

static const struct tool_option *find_option(const struct tool_program *p, const char *name, size_t n)
{
    for (const struct tool_option *o = p->options; o->name; o++) {
        if (strlen(o->name) == n && !memcmp(o->name, name, n))
            return o;
    }
    return NULL;
}

static const struct tool_option *find_letter(const struct tool_program *p, char letter)
{
    for (const struct tool_option *o = p->options; o->name; o++) {
        if (o->letter == letter)
            return o;
    }
    return NULL;
}

static enum status unknown_option(const struct tool_program *p, const char *text)
{
    VEC(const char *) names = { 0 };
    for (const struct tool_option *o = p->options; o->name; o++) {
        const char **slot = vec_push(&names);
        if (slot)
            *slot = o->name;
    }
    size_t n = strcspn(text + strspn(text, "-"), "=");
    char name[128];
    snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name) - 1), text + strspn(text, "-"));
    const char *near = str_nearest(name, names.at, names.n);
    enum status st = near ? status_fail(ST_INVALID_ARG, "unknown option %s; did you mean --%s?", text, near)
                          : status_fail(ST_INVALID_ARG, "unknown option %s; %s --help lists what there is", text, p->name);
    vec_finish(&names);
    return st;
}

/* Finds the row of argv[*at] and, when it takes one, its value; moves *at behind both. */
static enum status take_option(const struct tool_program *p, int argc, char **argv, int *at, const struct tool_option **row,
                               const char **value)
{
    const char *text = argv[(*at)++];
    RETURN_IF(text[0] != '-' || !text[1], ST_INVALID_ARG, "\"%s\" is not an option; every argument belongs to a --name",
              text);
    bool is_long = text[1] == '-';
    const char *equals = is_long ? strchr(text, '=') : NULL;
    size_t n = equals ? (size_t)(equals - text) - 2 : strlen(text) - 2;
    *row = is_long ? find_option(p, text + 2, n) : text[2] ? NULL : find_letter(p, text[1]);
    if (!*row)
        return unknown_option(p, text);
    *value = equals ? equals + 1 : NULL;
    if ((*row)->kind == OPT_FLAG) {
        RETURN_IF(equals, ST_INVALID_ARG, "--%s takes no value; remove \"=%s\"", (*row)->name, *value);
        return ST_OK;
    }
    if (!*value) {
        RETURN_IF(*at >= argc || str_starts(argv[*at], "--"), ST_INVALID_ARG, "--%s needs a value: --%s %s", (*row)->name,
                  (*row)->name,
                  (*row)->argument  ? (*row)->argument
                  : (*row)->choices ? (*row)->choices[0]
                                    : "VALUE");
        *value = argv[(*at)++];
    }
    return ST_OK;
}

static enum status parse_all(const struct tool_program *p, int argc, char **argv, void *out, struct arena *arena)
{
    uint64_t given = 0; /* one bit per row; rows beyond 64 are never required */
    for (int at = 1; at < argc;) {
        const struct tool_option *row = NULL;
        const char *value = NULL;
        TRY(take_option(p, argc, argv, &at, &row, &value));
        TRY(store(row, value, out, arena));
        size_t index = (size_t)(row - p->options);
        given |= index < 64 ? 1ull << index : 0;
    }
    for (size_t i = 0; i < 64 && p->options[i].name; i++) {
        const struct tool_option *o = &p->options[i];
        RETURN_IF(o->required && !(given >> i & 1), ST_INVALID_ARG, "--%s %s is missing: %s", o->name,
                  o->argument ? o->argument : "", o->help);
    }
    return ST_OK;
}

enum tool_next tool_options_parse(const struct tool_program *p, int argc, char **argv, void *out, struct arena *arena)
{
    tool_log_start();
    for (int i = 1; i < argc; i++) {
        if (str_eq(argv[i], "--help") || str_eq(argv[i], "-h")) {
            print_help(p);
            return TOOL_EXIT_OK;
        }
        if (str_eq(argv[i], "--version")) {
            printf("%s %s\n", p->name, QNN_SDK_BUILD_ID);
            return TOOL_EXIT_OK;
        }
    }
    enum status st = argc > 1 ? parse_all(p, argc, argv, out, arena)
                              : status_fail(ST_INVALID_ARG, "no options given; usage: %s %s", p->name, p->usage);
    if (st == ST_OK)
        return TOOL_RUN;
    tool_report(p->name, st);
    fprintf(stderr, "Run \"%s --help\" for all options and examples.\n", p->name);
    return TOOL_EXIT_ERROR;
}
