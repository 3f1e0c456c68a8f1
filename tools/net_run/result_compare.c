/* SPDX-License-Identifier: Apache-2.0 */
#include "net_run/result_compare.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "common/difference.h"
#include "common/tensor_text.h"
#include "common/tool_file.h"
#include "common/tool_log.h"

/* One tensor over all results. `order` is its place among the graph's outputs, which is the order of execution. */
struct row {
    char *name; /* of its files, without ".raw" */
    uint32_t order;
    struct difference difference;
    uint64_t missing; /* results that the other run does not have */
    uint64_t resized; /* results of another size */
};

struct result_compare {
    struct result_sink sink;
    struct compare_options options;
    const struct graph_io *io;
    VEC(struct row) rows;
    VEC(char *) extra; /* tensors that only the other run has */
};

static struct row *find_row(struct result_compare *compare, const char *name)
{
    for (size_t i = 0; i < compare->rows.n; i++) {
        if (str_eq(compare->rows.at[i].name, name))
            return &compare->rows.at[i];
    }

    return NULL;
}

static struct row *row_of(struct result_compare *compare, const char *name, uint32_t order)
{
    struct row *row = find_row(compare, name);
    if (row)
        return row;

    row = vec_push(&compare->rows);
    if (!row)
        return NULL;

    *row = (struct row){ .name = mem_strdup(name), .order = order };
    if (row->name)
        return row;

    compare->rows.n--;
    return NULL;
}

/* ---- results, as the run produces them ----------------------------------------------------- */

static enum status compare_values(struct row *row, const char *path, const struct result_values *got)
{
    CLEANUP(mem_freep) float *want = mem_alloc_array(got->n + 1, sizeof(*want));
    RETURN_IF(!want, ST_NO_MEMORY, "--compare: %" PRIu64 " numbers of \"%s\"", got->n, path);

    TRY(tool_file_read_at(path, got->first * sizeof(float), want, (size_t)got->n * sizeof(float)));
    difference_add(&row->difference, got->values, want, (size_t)got->n);

    return ST_OK;
}

static enum status take_values(struct result_sink *sink, const struct result_values *got)
{
    struct result_compare *compare = (struct result_compare *)(void *)sink;
    uint64_t size = 0;
    CLEANUP(str_finish) struct str path;

    /* Further passes over the list have results of their own only when the other run kept as many. */
    str_init(&path);
    str_addf(&path, "%s/Result_%" PRIu64 "/%s.raw", compare->options.folder, got->result, got->name);
    RETURN_IF(path.failed, ST_NO_MEMORY, "--compare: a path");
    bool found = tool_file_size(str_text(&path), &size) == ST_OK;
    status_clear();
    if (!found && got->result >= compare->io->n_lines)
        return ST_OK;

    struct row *row = row_of(compare, got->name, got->output);
    RETURN_IF(!row, ST_NO_MEMORY, "--compare: a table");
    if (!found) {
        row->missing++;
        return ST_OK;
    }
    if (size != got->total * sizeof(float)) {
        row->resized++;
        return ST_OK;
    }

    return compare_values(row, str_text(&path), got);
}

enum status result_compare_open(const struct compare_options *options, const struct graph_io *io,
                                struct result_compare **ret)
{
    struct result_compare *compare = mem_new(struct result_compare);
    RETURN_IF(!compare, ST_NO_MEMORY, "--compare: no memory");

    compare->sink.take = take_values;
    compare->options = *options;
    compare->io = io;
    *ret = compare;

    return ST_OK;
}

struct result_sink *result_compare_sink(struct result_compare *compare)
{
    return &compare->sink;
}

void result_compare_free(struct result_compare *compare)
{
    if (!compare)
        return;

    for (size_t i = 0; i < compare->rows.n; i++)
        mem_free(compare->rows.at[i].name);
    for (size_t i = 0; i < compare->extra.n; i++)
        mem_free(compare->extra.at[i]);
    vec_finish(&compare->rows);
    vec_finish(&compare->extra);
    mem_free(compare);
}

/* ---- the other run's tensors that this run does not have ----------------------------------- */

/* "x_native.raw" is the second form of "x.raw" (--output_data_type float_and_native). */
static bool is_native_copy(const char *folder, const char *name)
{
    size_t n = strlen(name);
    size_t suffix = strlen("_native");
    if (n <= suffix || !str_eq(name + n - suffix, "_native"))
        return false;

    uint64_t size = 0;
    CLEANUP(str_finish) struct str path;
    str_init(&path);
    str_addf(&path, "%s/%.*s.raw", folder, (int)(n - suffix), name);

    return tool_file_size(str_text(&path), &size) == ST_OK;
}

static enum status add_extra(struct result_compare *compare, const char *folder, const char *file)
{
    size_t n = strlen(file);
    if (n < 5 || !str_eq(file + n - 4, ".raw"))
        return ST_OK;

    CLEANUP(str_finish) struct str name;
    str_init(&name);
    str_addf(&name, "%.*s", (int)(n - 4), file);
    if (find_row(compare, str_text(&name)) || is_native_copy(folder, str_text(&name)))
        return ST_OK;

    char **slot = vec_push(&compare->extra);
    RETURN_IF(!slot, ST_NO_MEMORY, "--compare: a table");
    *slot = mem_strdup(str_text(&name));
    RETURN_IF(!*slot, ST_NO_MEMORY, "--compare: a table");

    return ST_OK;
}

static enum status find_extra(struct result_compare *compare)
{
    enum status st = ST_OK;
    CLEANUP(str_finish) struct str folder;
    str_init(&folder);
    str_addf(&folder, "%s/Result_0", compare->options.folder);

    DIR *dir = opendir(str_text(&folder));
    for (struct dirent *entry; dir && st == ST_OK && (entry = readdir(dir));)
        st = add_extra(compare, str_text(&folder), entry->d_name);
    if (dir)
        closedir(dir);
    if (st == ST_OK)
        status_clear();

    return st;
}

/* ---- the report ---------------------------------------------------------------------------- */

static int worse_first(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int order = difference_order(&x->difference, &y->difference);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Below this the result of a layer has little to do with the reference; used to name a layer when no limit is given. */
enum { BAD_SQNR = 20 };

static bool misses_limit(const struct compare_options *options, const struct difference *d)
{
    return d->odd || (!isnan(options->min_sqnr) && !(difference_sqnr(d) >= options->min_sqnr)) ||
           (!isnan(options->min_cosine) && !(difference_cosine(d) >= options->min_cosine)) ||
           (!isnan(options->max_error) && !(d->worst <= options->max_error));
}

static bool has_limit(const struct compare_options *options)
{
    return !isnan(options->min_sqnr) || !isnan(options->min_cosine) || !isnan(options->max_error);
}

static void print_rows(const struct result_compare *compare)
{
    tool_say("against %s, worst first:\n%8s %9s %14s %9s  %s", compare->options.folder, "SQNR dB", "cosine", "largest error",
             "NaN, Inf", "tensor");
    for (size_t i = 0; i < compare->rows.n; i++) {
        const struct row *row = &compare->rows.at[i];
        const struct difference *d = &row->difference;
        char ratio[24];

        if (d->elements)
            tool_say("%8s %9.6f %14.6g %9" PRIu64 "  %s", difference_sqnr_text(d, ratio), difference_cosine(d), d->worst,
                     d->odd, row->name);
    }
}

/* The earliest bad tensor in execution order: what comes after it can only be as bad because of it. */
static void print_first_bad(const struct result_compare *compare)
{
    struct compare_options limits = compare->options;
    const struct row *first = NULL;
    if (!has_limit(&limits))
        limits.min_sqnr = BAD_SQNR;

    for (size_t i = 0; i < compare->rows.n; i++) {
        const struct row *row = &compare->rows.at[i];
        bool bad = row->difference.elements && misses_limit(&limits, &row->difference);
        if (bad && (!first || row->order < first->order))
            first = row;
    }

    if (first && compare->rows.n > 1)
        tool_say("first bad tensor in the order of execution: %s", first->name);
}

static void list_names(struct str *to, const char *name, size_t index)
{
    enum { SHOWN = 8 };

    if (index < SHOWN)
        str_addf(to, "%s\"%s\"", index ? ", " : "", name);
    else if (index == SHOWN)
        str_add(to, ", ...");
}

/* Tensors that one side lacks or has in another size, as one sentence each; returns how many count as failures. */
static size_t report_unequal_sets(const struct result_compare *compare)
{
    enum { MISSING, RESIZED, EXTRA, KINDS };
    static const char *const sentences[KINDS] = {
        [MISSING] = "are not in all results of",
        [RESIZED] = "have another number of elements in",
        [EXTRA] = "are results only of",
    };
    struct str names[KINDS];
    size_t counts[KINDS] = { 0 };
    size_t failures = 0;

    for (int kind = 0; kind < KINDS; kind++)
        str_init(&names[kind]);
    for (size_t i = 0; i < compare->rows.n; i++) {
        const struct row *row = &compare->rows.at[i];
        if (row->missing)
            list_names(&names[MISSING], row->name, counts[MISSING]++);
        if (row->resized)
            list_names(&names[RESIZED], row->name, counts[RESIZED]++);
    }
    for (size_t i = 0; i < compare->extra.n; i++)
        list_names(&names[EXTRA], compare->extra.at[i], counts[EXTRA]++);

    for (int kind = 0; kind < KINDS; kind++) {
        bool fails = kind == RESIZED || !compare->options.common;
        if (counts[kind])
            tool_log(fails ? TOOL_WARN : TOOL_INFO, "--compare: %zu tensors %s %s: %s", counts[kind], sentences[kind],
                     compare->options.folder, str_text(&names[kind]));
        failures += fails ? counts[kind] : 0;
        str_finish(&names[kind]);
    }

    return failures;
}

enum status result_compare_report(struct result_compare *compare)
{
    const struct compare_options *options = &compare->options;
    size_t compared = 0;
    size_t bad = 0;

    TRY(find_extra(compare));
    if (compare->rows.n > 1)
        qsort(compare->rows.at, compare->rows.n, sizeof(*compare->rows.at), worse_first);
    for (size_t i = 0; i < compare->rows.n; i++) {
        const struct difference *d = &compare->rows.at[i].difference;
        compared += d->elements > 0;
        bad += d->elements > 0 && misses_limit(options, d);
    }

    if (compared)
        print_rows(compare);
    size_t unequal = report_unequal_sets(compare);
    RETURN_IF(!compared, ST_NOT_FOUND,
              "--compare %s: it has no result of a tensor that this run has; give the --output_dir of a run of the same "
              "inputs",
              options->folder);
    print_first_bad(compare);

    RETURN_IF(bad, ST_INVALID_ARG,
              "--compare %s: %zu of %zu tensors miss a limit or are NaN or infinite where the other run is not",
              options->folder, bad, compared);
    RETURN_IF(unequal, ST_INVALID_ARG,
              "--compare %s: %zu tensors have no counterpart of the same size; with --compare_common those of one run only "
              "are left out",
              options->folder, unequal);

    return ST_OK;
}
