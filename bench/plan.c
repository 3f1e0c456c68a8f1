/* SPDX-License-Identifier: Apache-2.0 */
/* Memory planner on files of lifetimes: plan [-m] [-t SECONDS] FILE.csv ...
 *
 * A file has the columns id,lower,upper,size; a buffer is alive in the half-open interval [lower, upper). A number between
 * two dots of the file name ("A.1048576.csv") is the capacity to reach; otherwise, or with -m, the plan is minimised.
 * Prints one row for each file and a sum; the exit status is 1 when a file cannot be read or misses its capacity. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "prepare/plan.h"

struct problem {
    VEC(struct plan_buf) buf;
    uint64_t capacity; /* 0: none */
};

struct row {
    struct plan_result result;
    uint64_t greedy, ns;
};

static uint64_t capacity_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strchr(name, '.');
    if (!dot)
        return 0;
    char *end;
    uint64_t value = strtoull(dot + 1, &end, 10);
    return end > dot + 1 && *end == '.' ? value : 0;
}

static bool read_line(struct problem *p, const char *line)
{
    uint64_t lower, upper, size;
    const char *comma = strchr(line, ',');
    if (!comma || sscanf(comma + 1, "%" SCNu64 ",%" SCNu64 ",%" SCNu64, &lower, &upper, &size) != 3)
        return false;
    if (lower > upper || upper > UINT32_MAX)
        return false;
    struct plan_buf *b = vec_push(&p->buf);
    if (!b)
        return false;
    bool never_alive = lower == upper;
    *b = (struct plan_buf){ .size = never_alive ? 0 : size, .align = 1, .first = (uint32_t)lower,
                            .last = (uint32_t)(never_alive ? upper : upper - 1), .fixed = PLAN_ANY };
    return true;
}

static bool read_problem(const char *path, struct problem *p)
{
    char line[512];
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "plan: %s: %s\n", path, strerror(errno));
        return false;
    }
    bool ok = true;
    for (int number = 1; ok && fgets(line, sizeof(line), f); number++) {
        bool skip = number == 1 || line[strspn(line, " \t\r\n")] == 0;
        ok = skip || read_line(p, line);
        if (!ok)
            fprintf(stderr, "plan: %s:%d: expected id,lower,upper,size with lower <= upper < 2^32\n", path, number);
    }
    fclose(f);
    p->capacity = capacity_of(path);
    return ok;
}

static enum status solve(struct problem *p, const struct plan_opts *o, struct row *ret)
{
    ret->greedy = plan_greedy_by_size(p->buf.at, p->buf.n);
    uint64_t start = clock_ns();
    enum status st = plan_solve(p->buf.at, p->buf.n, o, &ret->result);
    ret->ns = clock_ns() - start;
    return st;
}

static void print_row(const char *path, const struct problem *p, const struct row *r)
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
static bool bench_file(const char *path, struct plan_opts o, bool minimise, struct row *sum)
{
    struct problem p = { 0 };
    struct row r = { 0 };
    bool ok = read_problem(path, &p);
    if (ok) {
        o.capacity = minimise ? 0 : p.capacity;
        ok = solve(&p, &o, &r) == ST_OK;
        if (!ok)
            fprintf(stderr, "plan: %s: %s\n", path, status_text());
    }
    if (ok) {
        print_row(path, &p, &r);
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

int main(int argc, char **argv)
{
    struct plan_opts o = { .deadline_ns = 30000000000u };
    bool minimise = false, ok = true;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-m") == 0)
            minimise = true;
        else if (strcmp(argv[i], "-t") == 0 && i + 1 < argc)
            o.deadline_ns = (uint64_t)(strtod(argv[++i], NULL) * 1e9);
        else
            i = argc;
    }
    if (i >= argc) {
        fprintf(stderr, "usage: plan [-m] [-t SECONDS] FILE.csv ...\n"
                        "  -m          minimise, even when the file name holds a capacity\n"
                        "  -t SECONDS  time the search may take for each file (default 30)\n");
        return 2;
    }
    printf("%-34s %7s %12s %12s %12s %10s %-8s %12s %7s %10s\n", "file", "buffers", "capacity", "ours", "lower bound",
           "seconds", "proven", "greedy", "worse", "steps");
    struct row sum = { 0 };
    for (; i < argc; i++)
        ok &= bench_file(argv[i], o, minimise, &sum);
    printf("%-34s %7s %12s %12" PRIu64 " %12" PRIu64 " %10.6f %-8s %12" PRIu64 " %7s %10" PRIu64 "\n", "total", "", "",
           sum.result.total, sum.result.lower_bound, (double)sum.ns * 1e-9, "", sum.greedy, "", sum.result.nodes);
    return ok ? 0 : 1;
}
