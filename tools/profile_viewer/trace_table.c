/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of linting and detailed logs as a timeline: operators one behind the other, as the main thread of a
 * device computes them, each behind what it waits; averages of all runs. A second lane shows how much of both is
 * overlapped. The log has only lengths of that, so it begins where the operator does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "profile_viewer/trace_device.h"

enum {
    LINT = 6001, /* below it nodes, and below these the next four */
    LINT_WAIT = 5001,
    LINT_OVERLAP = 5002,
    LINT_WAIT_OVERLAP = 5003,
    LINT_RESOURCES = 5004,
    LINT_OTHER = 5005,
    CYCLES = 3003,    /* of the detailed level, below it nodes */
    ESTIMATE = 30005, /* its name has the clock */
    NS_PER_US = 1000,
    LANE_MAIN = 1,
    LANE_OVERLAP = 2,
};

/* An operator: sums over all runs. */
struct row {
    uint64_t work, wait, overlap, wait_overlap;
    const char *name, *resources;
    struct str others; /* that overlap it */
};

struct table {
    uint32_t root; /* the type of the event that nodes are below; 0: there are none */
    uint32_t mhz, runs;
    VEC(struct row) rows;
};

static void finish(struct table *t)
{
    for (size_t i = 0; i < t->rows.n; i++)
        str_finish(&t->rows.at[i].others);
    vec_finish(&t->rows);
}

static const struct prof_event *find_event(const struct prof_log_record *r, uint32_t type)
{
    for (uint32_t i = 0; i < r->n_events; i++)
        if (r->events[i].type == type)
            return &r->events[i];
    return NULL;
}

/* The number before " MHz". */
static uint32_t clock_of(const struct prof_log_record *r)
{
    const struct prof_event *e = find_event(r, ESTIMATE);
    const char *at = e && e->name ? strstr(e->name, " at ") : NULL;

    return at ? (uint32_t)strtoul(at + strlen(" at "), NULL, 10) : 0;
}

static void add_detail(struct row *to, const struct prof_event *e)
{
    switch (e->type) {
    case LINT_WAIT:
        to->wait += e->value;
        break;
    case LINT_OVERLAP:
        to->overlap += e->value;
        break;
    case LINT_WAIT_OVERLAP:
        to->wait_overlap += e->value;
        break;
    case LINT_RESOURCES:
        to->resources = e->name;
        break;
    }
}

/* Runs of one graph have the same nodes in the same order. */
static enum status add_record(struct table *t, const struct prof_log_record *r)
{
    uint32_t n = 0;
    int32_t node = PROF_ROOT;

    for (uint32_t i = 0; i < r->n_events; i++) {
        const struct prof_event *e = &r->events[i];
        const struct prof_event *up = e->parent < 0 ? NULL : &r->events[e->parent];

        if (up && up->type == t->root && e->type == PROF_NODE) {
            struct row *row = n < t->rows.n ? &t->rows.at[n] : vec_push(&t->rows);
            RETURN_IF(!row, ST_NO_MEMORY, "no memory for the operators of the log");
            row->name = e->name ? e->name : "";
            row->work += e->value;
            node = (int32_t)i;
            n++;
        } else if (n && e->parent == node) {
            add_detail(&t->rows.at[n - 1], e);
        } else if (n && e->type == LINT_OTHER && !t->runs) {
            str_addf(&t->rows.at[n - 1].others, "%s%s", t->rows.at[n - 1].others.n ? ", " : "", e->name);
        }
    }
    t->runs++;
    return ST_OK;
}

/* All runs of the graph of record `first`. */
static enum status read_table(const struct prof_log *log, uint32_t first, struct table *ret)
{
    const struct prof_log_record *r = &log->records[first];

    ret->root = 0;
    if (find_event(r, LINT))
        ret->root = LINT;
    else if (find_event(r, CYCLES))
        ret->root = CYCLES;
    ret->mhz = clock_of(r);
    if (!ret->root || !ret->mhz)
        return ST_OK;
    for (uint32_t i = first; i < log->n_records; i++)
        if (log->records[i].method == r->method && str_eq(log->records[i].graph_name, r->graph_name))
            TRY(add_record(ret, &log->records[i]));
    return ST_OK;
}

static bool seen_before(const struct prof_log *log, uint32_t record)
{
    const struct prof_log_record *r = &log->records[record];

    for (uint32_t i = 0; i < record; i++)
        if (log->records[i].method == r->method && str_eq(log->records[i].graph_name, r->graph_name))
            return true;
    return false;
}

/* ---- slices ----------------------------------------------------------------------------------------------------------- */

static uint64_t to_ns(const struct table *t, uint64_t cycles)
{
    return (uint64_t)(((unsigned __int128)cycles * NS_PER_US + t->mhz / 2) / t->mhz);
}

static void put_row(struct trace_out *out, const struct table *t, const struct row *row, uint32_t process, uint64_t at)
{
    const uint64_t wait = row->wait / t->runs, work = row->work / t->runs;
    const struct {
        uint32_t lane;
        uint64_t begin, cycles;
        const char *category;
    } all[] = { { LANE_MAIN, at, wait, "Wait" },
                { LANE_OVERLAP, at, row->wait_overlap / t->runs, "Overlap (wait)" },
                { LANE_MAIN, at + wait, work, "Op" },
                { LANE_OVERLAP, at + wait, row->overlap / t->runs, "Overlap" } };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!all[i].cycles)
            continue;
        bool waits = str_eq(all[i].category, "Wait");
        struct trace_slice s = { .process = process,
                                 .lane = all[i].lane,
                                 .begin_ns = to_ns(t, all[i].begin),
                                 .end_ns = to_ns(t, all[i].begin + all[i].cycles),
                                 .name = waits ? "Wait (Scheduler)" : row->name,
                                 .category = all[i].category };
        trace_begin_slice(out, &s);
        fputs("\"op\":", out->to);
        trace_put_text(out->to, row->name);
        fprintf(out->to, ",\"start_cycle\":%" PRIu64 ",\"cycles\":%" PRIu64, all[i].begin, all[i].cycles);
        if (row->resources) {
            fputs(",\"resources\":", out->to);
            trace_put_text(out->to, row->resources);
        }
        if (row->others.n) {
            fputs(",\"overlapped_by\":", out->to);
            trace_put_text(out->to, str_text(&row->others));
        }
        trace_end_slice(out);
    }
}

static void put_table(struct trace_out *out, const struct table *t, const char *graph, uint32_t process)
{
    CLEANUP(str_finish) struct str name;
    uint64_t at = 0;

    str_init(&name);
    str_addf(&name, "%s (device, estimated at %u MHz)", graph ? graph : "", t->mhz);
    trace_put_process(out, process, str_text(&name));
    trace_put_lane(out, process, LANE_MAIN, "main thread");
    if (t->root == LINT)
        trace_put_lane(out, process, LANE_OVERLAP, "overlapped by others (length)");
    for (size_t i = 0; i < t->rows.n; i++) {
        const struct row *row = &t->rows.at[i];

        put_row(out, t, row, process, at);
        at += row->wait / t->runs + row->work / t->runs;
    }
}

bool trace_has_tables(const struct prof_log *log)
{
    for (uint32_t i = 0; i < log->n_records; i++) {
        const struct prof_log_record *r = &log->records[i];
        if (clock_of(r) && (find_event(r, LINT) || find_event(r, CYCLES)))
            return true;
    }
    return false;
}

enum status trace_put_tables(struct trace_out *out, const struct prof_log *log, uint32_t process, uint32_t *ret)
{
    for (uint32_t i = 0; i < log->n_records; i++) {
        CLEANUP(finish) struct table t = { 0 };

        if (seen_before(log, i))
            continue;
        TRY(read_table(log, i, &t));
        if (t.rows.n)
            put_table(out, &t, log->records[i].graph_name, process + (*ret)++);
    }
    return ST_OK;
}
