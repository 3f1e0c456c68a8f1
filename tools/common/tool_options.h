/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, from one table per program: name, argument, help, and where the value goes.
 *
 *     static const struct tool_option options[] = {
 *         { "backend", OPT_STRING, offsetof(struct args, backend), .argument = "FILE", .help = "backend library",
 *           .required = true },
 *         { "log_level", OPT_CHOICE, offsetof(struct args, level), .choices = levels, .help = "how much is logged" },
 *         {} };
 *
 * `--name value` and `--name=value` are the same; `-x` when the row has a letter. --help and --version exist in every
 * program. Help is made from the table. What is refused names the option, the value seen, what is allowed and the nearest
 * known name. */
#ifndef TOOLS_COMMON_TOOL_OPTIONS_H
#define TOOLS_COMMON_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum opt_kind {
    OPT_FLAG,   /* bool */
    OPT_STRING, /* const char * */
    OPT_LIST,   /* struct opt_list, separated by commas */
    OPT_NUMBER, /* int64_t, min..max */
    OPT_REAL,   /* double */
    OPT_CHOICE, /* uint32_t: index in choices[] */
};

struct opt_list {
    const char **items;
    size_t n;
};

struct tool_option {
    const char *name;
    enum opt_kind kind;
    size_t offset;
    const char *argument;       /* shown in help, "FILE" */
    const char *help;           /* sentences; wrapped by the printer */
    const char *const *choices; /* NULL-terminated */
    int64_t min, max;           /* max below min: no upper limit */
    size_t seen;                /* offset of a bool set when the option is given; 0: none */
    char letter;
    bool required;
    const char *refused; /* known, but not possible: why, and what to do instead */
    const char *told;    /* known, but changes nothing: why. Said when it is given */
    const char *section; /* a heading printed before this row */
};

struct tool_program {
    const char *name;
    const char *summary; /* one or two sentences */
    const char *usage;   /* behind the program's name */
    const struct tool_option *options;
    const char *examples; /* lines, printed as they are */
};

/* What the caller should do next. */
enum tool_next { TOOL_RUN, TOOL_EXIT_OK, TOOL_EXIT_ERROR };

/* Fills *out, prints help, version or the reason of a refusal. Lists are in the arena, strings are those of argv. */
enum tool_next tool_options_parse(const struct tool_program *p, int argc, char **argv, void *out, struct arena *arena);

/* Splits at every `separator`; empty items are kept out. The text is copied into the arena. */
enum status tool_split(const char *text, char separator, struct arena *arena, struct opt_list *ret);

/* "graph0:t0,t1;graph1:t2" (also without the graph part: for every graph). */
struct opt_names {
    const char *graph; /* NULL: every graph */
    struct opt_list tensors;
};
struct opt_names_list {
    struct opt_names *at;
    size_t n;
};
enum status tool_split_names(const char *text, struct arena *arena, struct opt_names_list *ret);
bool opt_names_have(const struct opt_names_list *l, const char *graph, const char *tensor);

/* The row for --log_level that every program has, and its names. */
extern const char *const tool_log_levels[];
/* enum tool_level of an index in tool_log_levels. */
uint32_t tool_level_of(uint32_t index);

#endif
