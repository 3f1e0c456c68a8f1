/* SPDX-License-Identifier: Apache-2.0 */
/* Memory planner on files of lifetimes: plan [-m] [-t SECONDS] [-o FOLDER] FILE.csv ...
 *
 * plan_csv.h says what is in a file. A number between two dots of its name ("A.1048576.csv") is the capacity to reach;
 * otherwise, or with -m, the plan is minimised. The search may be stopped at any time (-t): the best plan so far is the
 * answer. -o writes every plan: the lines id,offset. Prints one row for each file and a sum; the exit status is 1 when a
 * file cannot be read or misses its capacity. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "plan_csv.h"

struct row {
    struct plan_result result;
    uint64_t greedy, ns;
};

static int by_first(const void *pa, const void *pb)
{
    const struct plan_buf *a = pa, *b = pb;
    return (a->first > b->first) - (a->first < b->first);
}

/* The answer is checked here without the planner's help: nothing overlaps, everything is aligned and inside. */
static bool is_plan(const struct plan_problem *p, uint64_t total)
{
    size_t n = p->buf.n;
    CLEANUP(mem_freep) struct plan_buf *b = mem_dup(p->buf.at, n * sizeof(*b));
    bool ok = b != NULL;
    if (n && b)
        qsort(b, n, sizeof(*b), by_first);
    for (size_t i = 0; ok && i < n; i++) {
        ok = !b[i].size || (b[i].offset + b[i].size <= total && b[i].offset % (b[i].align ? b[i].align : 1) == 0 &&
                            (b[i].fixed == PLAN_ANY || b[i].fixed == b[i].offset));
        for (size_t k = i + 1; ok && b[i].size && k < n && b[k].first <= b[i].last; k++)
            ok = !b[k].size || b[i].offset + b[i].size <= b[k].offset || b[k].offset + b[k].size <= b[i].offset;
    }
    return ok;
}

static bool write_plan(const char *folder, const char *path, const struct plan_problem *p)
{
    const char *slash = strrchr(path, '/');
    char to[4096];
    snprintf(to, sizeof(to), "%s/%s", folder, slash ? slash + 1 : path);
    FILE *f = fopen(to, "w");
    if (!f)
        return false;
    fprintf(f, "id,offset\n");
    for (size_t i = 0; i < p->buf.n; i++)
        fprintf(f, "%zu,%" PRIu64 "\n", i, p->buf.at[i].offset);
    return fclose(f) == 0;
}

static enum status solve(struct plan_problem *p, const struct plan_opts *o, struct row *ret)
{
    ret->greedy = plan_greedy_by_size(p->buf.at, p->buf.n);
    uint64_t start = clock_ns();
    enum status st = plan_solve(p->buf.at, p->buf.n, o, &ret->result);
    ret->ns = clock_ns() - start;
    return st;
}

static void print_row(const char *path, const struct plan_problem *p, const struct row *r)
{
    const char *slash = strrchr(path, '/');
    char capacity[24] = "-";
    if (p->capacity)
        snprintf(capacity, sizeof(capacity), "%" PRIu64, p->capacity);
    const struct plan_result *s = &r->result;
    printf("%-34s %7zu %12s %12" PRIu64 " %12" PRIu64 " %10.6f %-8s %12" PRIu64 " %6.1f%% %10" PRIu64 "%s\n",
           slash ? slash + 1 : path, p->buf.n, capacity, s->total, s->lower_bound, (double)r->ns * 1e-9,
           s->optimal ? "optimal" : "open", r->greedy,
           s->total ? 100.0 * ((double)r->greedy - (double)s->total) / (double)s->total : 0.0, s->nodes,
           p->capacity && s->total > p->capacity ? "  MISSED" : "");
}

/* Returns false when the file could not be read or missed its capacity. */
static bool bench_file(const char *path, struct plan_opts o, bool minimise, const char *folder, struct row *sum)
{
    struct plan_problem p = { 0 };
    struct row r = { 0 };
    bool ok = plan_csv_read(path, &p);
    if (ok) {
        o.capacity = minimise ? 0 : p.capacity;
        ok = solve(&p, &o, &r) == ST_OK;
        if (!ok)
            fprintf(stderr, "plan: %s: %s\n", path, status_text());
    }
    if (ok) {
        print_row(path, &p, &r);
        if (!is_plan(&p, r.result.total)) {
            fprintf(stderr, "plan: %s: the plan is wrong\n", path);
            abort();
        }
        if (folder && !write_plan(folder, path, &p))
            fprintf(stderr, "plan: the plan of %s cannot be written to \"%s\"\n", path, folder);
        sum->ns += r.ns;
        sum->greedy += r.greedy;
        sum->result.total += r.result.total;
        sum->result.lower_bound += r.result.lower_bound;
        sum->result.nodes += r.result.nodes;
        ok = !p.capacity || r.result.total <= p.capacity;
    }
    vec_finish(&p.buf);
    return ok;
}

static bool read_seconds(const char *text, uint64_t *ret_ns)
{
    char *end;
    double s = strtod(text, &end);
    if (end == text || *end || !(s >= 0 && s < 1e9))
        return false;
    *ret_ns = (uint64_t)(s * 1e9);
    return true;
}

int main(int argc, char **argv)
{
    struct plan_opts o = { .deadline_ns = 30000000000u };
    const char *folder = NULL;
    bool minimise = false, ok = true;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-m") == 0)
            minimise = true;
        else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (strcmp(argv[i], "-t") == 0 && i + 1 < argc && read_seconds(argv[i + 1], &o.deadline_ns))
            i++;
        else
            i = argc;
    }
    if (i >= argc) {
        fprintf(stderr, "usage: plan [-m] [-t SECONDS] [-o FOLDER] FILE.csv ...\n"
                        "  -m          minimise, even when the file name holds a capacity\n"
                        "  -t SECONDS  time the search may take for each file (default 30; 0: heuristics only)\n"
                        "  -o FOLDER   write each plan there, as id,offset\n");
        return 2;
    }
    printf("%-34s %7s %12s %12s %12s %10s %-8s %12s %7s %10s\n", "file", "buffers", "capacity", "ours", "lower bound",
           "seconds", "proven", "greedy", "worse", "steps");
    struct row sum = { 0 };
    for (; i < argc; i++)
        ok &= bench_file(argv[i], o, minimise, folder, &sum);
    printf("%-34s %7s %12s %12" PRIu64 " %12" PRIu64 " %10.6f %-8s %12" PRIu64 " %7s %10" PRIu64 "\n", "total", "", "",
           sum.result.total, sum.result.lower_bound, (double)sum.ns * 1e-9, "", sum.greedy, "", sum.result.nodes);
    return ok ? 0 : 1;
}
