/* SPDX-License-Identifier: Apache-2.0 */
/* Where two runs differ: the float results of this run against those in another folder, tensor by tensor, worst first. With
 * --debug in both runs (or binaries made with --enable_intermediate_outputs) every tensor between nodes takes part, so that
 * a quantized model shows where it loses. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "common/tool_file.h"
#include "common/tool_log.h"
#include "net_run/graph_run.h"

struct row {
    char *name;
    double signal, noise, worst;
    uint64_t files;
};
struct rows {
    VEC(struct row) list;
    uint64_t sizes; /* files whose sizes differ */
};

static struct row *row_of(struct rows *r, const char *name)
{
    for (size_t i = 0; i < r->list.n; i++)
        if (str_eq(r->list.at[i].name, name))
            return &r->list.at[i];
    struct row *slot = vec_push(&r->list);
    if (slot)
        *slot = (struct row){ .name = mem_strdup(name) };
    return slot && slot->name ? slot : NULL;
}

static void add_values(struct row *row, const float *x, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double e = (double)x[i] - want[i];
        if (!isfinite(e))
            continue;
        row->signal += (double)want[i] * want[i];
        row->noise += e * e;
        row->worst = fmax(row->worst, fabs(e));
    }
    row->files++;
}

/* Tensors that only one of the runs has are left out. */
static enum status compare_file(struct rows *r, const char *folder, const char *other, const char *result, const char *file)
{
    CLEANUP(str_finish) struct str a, b;
    struct tool_file x = { 0 }, want = { 0 };
    str_init(&a);
    str_init(&b);
    str_addf(&a, "%s/%s/%s", folder, result, file);
    str_addf(&b, "%s/%s/%s", other, result, file);
    size_t n = strlen(file);
    if (n < 5 || !str_eq(file + n - 4, ".raw") || tool_file_read(str_text(&b), &want) != ST_OK)
        return ST_OK;
    enum status st = tool_file_read(str_text(&a), &x);
    struct row *row = st == ST_OK ? row_of(r, file) : NULL;
    if (st == ST_OK && !row)
        st = status_fail(ST_NO_MEMORY, "no memory for the comparison");
    if (st == ST_OK && x.size == want.size && x.size % sizeof(float) == 0)
        add_values(row, x.data, want.data, x.size / sizeof(float));
    else if (st == ST_OK)
        r->sizes++;
    tool_file_free(&x);
    tool_file_free(&want);
    return st;
}

static enum status compare_result(struct rows *r, const char *folder, const char *other, const char *result)
{
    CLEANUP(str_finish) struct str path;
    str_init(&path);
    str_addf(&path, "%s/%s", folder, result);
    DIR *d = opendir(str_text(&path));
    enum status st = ST_OK;
    for (struct dirent *e; d && st == ST_OK && (e = readdir(d));)
        st = compare_file(r, folder, other, result, e->d_name);
    if (d)
        closedir(d);
    return st;
}

static double decibel(const struct row *r)
{
    return r->noise > 0 ? 10 * log10(r->signal / r->noise) : INFINITY;
}

static int worse_first(const void *a, const void *b)
{
    double x = decibel(a), y = decibel(b);
    return x < y ? -1 : x > y ? 1 : strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static void print_rows(struct rows *r, const char *other)
{
    qsort(r->list.at, r->list.n, sizeof(*r->list.at), worse_first);
    tool_say("against %s, worst first:\n%8s %14s  %s", other, "SQNR dB", "largest error", "tensor");
    for (size_t i = 0; i < r->list.n; i++) {
        const struct row *x = &r->list.at[i];
        char db[24] = "exact";
        if (!x->files)
            continue;
        if (isfinite(decibel(x)))
            snprintf(db, sizeof(db), "%.6g", decibel(x));
        tool_say("%8s %14.6g  %.*s", db, x->worst, (int)strlen(x->name) - 4, x->name);
    }
    if (r->sizes)
        tool_log(TOOL_WARN, "%llu files have another size in %s and were not compared", (unsigned long long)r->sizes, other);
}

enum status result_compare(const char *folder, const char *other)
{
    struct rows r = { 0 };
    enum status st = ST_OK;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && st == ST_OK && (e = readdir(d));)
        if (str_starts(e->d_name, "Result_"))
            st = compare_result(&r, folder, other, e->d_name);
    if (d)
        closedir(d);
    status_clear();
    if (st == ST_OK && !r.list.n)
        st = status_fail(ST_NOT_FOUND,
                         "--compare %s: it has no result of a tensor that this run has; give the --output_dir of a run of "
                         "the same inputs",
                         other);
    if (st == ST_OK)
        print_rows(&r, other);
    for (size_t i = 0; i < r.list.n; i++)
        mem_free(r.list.at[i].name);
    vec_finish(&r.list);
    return st;
}
