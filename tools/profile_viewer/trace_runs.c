/* SPDX-License-Identifier: Apache-2.0 */
/* Whole executions: how long one takes, what it waits for, and when it gives way to others. On the device's clock
 * that is the estimate; on this computer's, what was measured of every run. The log has sums of a run and no moments,
 * so what a run consists of stands one behind the other from its beginning. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile_viewer/trace_device.h"

enum {
    QUEUE_WAIT = PROF_QUEUE_WAIT,
    RPC = 3001,
    ACCELERATOR = 3004,
    YIELD_RELEASE = 3006,
    YIELD_WAIT = 3007,
    YIELD_RESTORE = 3008,
    YIELDS = 3009,
    VTCM_ACQUIRE = 3010,
    UNITS_ACQUIRE = 3011,
    YIELD_BYTES = 30011,
    NS_PER_US = 1000,
};

static uint64_t value_of(const struct prof_log_record *r, uint32_t type, bool *there)
{
    for (uint32_t i = 0; i < r->n_events; i++)
        if (r->events[i].type == type) {
            *there = true;
            return r->events[i].value;
        }
    return 0;
}

static bool is_run(const struct prof_log_record *r)
{
    bool there = false;

    value_of(r, ACCELERATOR, &there);
    return there;
}

/* "<graph> Runtraces" and "<graph> Yields"; lane: the first of them. */
static void put_lanes(struct trace_out *out, const char *graph, uint32_t process, uint32_t lane)
{
    static const char *const kinds[] = { "Runtraces", "Yields" };
    CLEANUP(str_finish) struct str name;

    str_init(&name);
    for (uint32_t i = 0; i < 2; i++) {
        name.n = 0;
        str_addf(&name, "%s %s", graph ? graph : "", kinds[i]);
        trace_put_lane(out, process, lane + i, str_text(&name));
    }
}

/* ---- the device ------------------------------------------------------------------------------------------------------- */

/* What the runs of a log say of a graph, on average. */
struct runs {
    uint64_t n, yields, yield_bytes, wait_us;
};

static void add_runs(const struct trace_graph *t, const struct prof_log *log, struct runs *ret)
{
    bool there = false;

    for (uint32_t i = 0; i < log->n_records; i++) {
        const struct prof_log_record *r = &log->records[i];
        if (!is_run(r) || !str_eq(r->graph_name, t->g->info.name))
            continue;
        ret->n++;
        ret->yields += value_of(r, YIELDS, &there);
        ret->yield_bytes += value_of(r, YIELD_BYTES, &there);
        ret->wait_us += value_of(r, YIELD_WAIT, &there);
    }
}

/* Cycles that DMA needs for so many bytes, by what it needs for all others. */
static uint64_t dma_cycles(const struct trace_graph *t, const struct binary_moves *moves, uint64_t bytes)
{
    uint64_t moved = 0, cycles = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        const struct binary_span *s = &t->spans[i].span;
        if (s->unit != UNIT_FETCH)
            continue;
        moved += binary_moves_in(&moves[s->command]);
        cycles += s->cycles;
    }
    return moved ? (uint64_t)((double)bytes * (double)cycles / (double)moved) : 0;
}

/* Saving and restoring what an average run has in VTCM when it gives way. */
static void put_device_yields(struct trace_out *out, const struct trace_graph *t, const struct binary_moves *moves,
                              const struct runs *runs, uint32_t process)
{
    static const char *const names[] = { "save VTCM", "restore VTCM" };
    uint64_t bytes = runs->yield_bytes / runs->n, cycles = dma_cycles(t, moves, bytes), at = t->end;

    for (int i = 0; i < 2 && cycles; i++, at += cycles) {
        struct trace_slice s = { .process = process,
                                 .lane = TRACE_LANE_RUNS + 1,
                                 .begin_ns = trace_ns(t, at),
                                 .end_ns = trace_ns(t, at + cycles),
                                 .name = names[i] };
        trace_begin_slice(out, &s);
        fprintf(out->to,
                "\"bytes\":%" PRIu64 ",\"yields\":%.3f,\"measured_wait_us\":%" PRIu64
                ",\"note\":\"the log does not say when; shown behind the execution\"",
                bytes, (double)runs->yields / (double)runs->n, runs->wait_us / runs->n);
        trace_end_slice(out);
    }
}

enum status trace_put_device_runs(struct trace_out *out, const struct trace_graph *t, const struct profile_job *job,
                                  uint32_t process)
{
    CLEANUP(mem_freep) struct binary_moves *moves = mem_array(struct binary_moves, (size_t)t->g->n_commands + 1);
    struct runs runs = { 0 };
    RETURN_IF(!moves, ST_NO_MEMORY, "no memory for the runs of graph \"%s\"", t->g->info.name);

    binary_command_moves(t->g, moves);
    for (size_t i = 0; i < job->n; i++)
        add_runs(t, job->logs[i], &runs);
    put_lanes(out, t->g->info.name, process, TRACE_LANE_RUNS);
    struct trace_slice s = { .process = process,
                             .lane = TRACE_LANE_RUNS,
                             .begin_ns = trace_ns(t, t->begin),
                             .end_ns = trace_ns(t, t->end),
                             .name = "execute" };
    trace_begin_slice(out, &s);
    fprintf(out->to, "\"runs_in_log\":%" PRIu64 ",\"yields_in_log\":%" PRIu64, runs.n, runs.yields);
    trace_end_slice(out);
    if (runs.yields)
        put_device_yields(out, t, moves, &runs, process);
    return ST_OK;
}

/* ---- this computer ---------------------------------------------------------------------------------------------------- */

struct names {
    VEC(const char *) list;
};

static void names_finish(struct names *n)
{
    vec_finish(&n->list);
}

struct part {
    uint32_t type;
    const char *name;
};

/* Parts of a run one behind the other, none beyond its end. */
static void put_parts(struct trace_out *out, const struct prof_log_record *r, const struct part *parts, uint32_t n,
                      struct trace_slice s, uint64_t end_us)
{
    uint64_t at = s.begin_ns / NS_PER_US;

    for (uint32_t i = 0; i < n; i++) {
        bool there = false;
        uint64_t us = value_of(r, parts[i].type, &there);
        uint64_t end = at + us < end_us ? at + us : end_us;

        if (!there || at >= end)
            continue;
        s.name = parts[i].name;
        s.begin_ns = at * NS_PER_US;
        s.end_ns = end * NS_PER_US;
        trace_begin_slice(out, &s);
        fprintf(out->to, "\"us\":%" PRIu64, us);
        trace_end_slice(out);
        at = end;
    }
}

static void put_run(struct trace_out *out, const struct prof_log_record *r, uint32_t process, uint32_t lane,
                    uint64_t start_us)
{
    static const struct part acquire[] = { { QUEUE_WAIT, "queue wait" },
                                           { UNITS_ACQUIRE, "acquire HVX + HMX" },
                                           { VTCM_ACQUIRE, "acquire VTCM" },
                                           { ACCELERATOR, "execute" } };
    static const struct part yields[] = { { YIELD_RELEASE, "save VTCM" },
                                          { YIELD_WAIT, "wait for others" },
                                          { YIELD_RESTORE, "restore VTCM" } };
    bool there = false;
    uint64_t end_us = start_us + (r->stop_us - r->start_us);
    struct trace_slice s = {
        .process = process, .lane = lane, .begin_ns = start_us * NS_PER_US, .end_ns = end_us * NS_PER_US, .name = "inference"
    };

    trace_begin_slice(out, &s);
    fprintf(out->to, "\"rpc_us\":%" PRIu64 ",\"yields\":%" PRIu64, value_of(r, RPC, &there), value_of(r, YIELDS, &there));
    trace_end_slice(out);
    put_parts(out, r, acquire, 4, s, end_us);
    s.lane++;
    put_parts(out, r, yields, 3, s, end_us);
}

/* The number of a graph among those that ran, in their order. */
static enum status number_of(struct names *names, const char *graph, size_t *ret)
{
    for (*ret = 0; *ret < names->list.n; ++*ret)
        if (str_eq(names->list.at[*ret], graph))
            return ST_OK;
    const char **slot = vec_push(&names->list);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for the graphs of a log");
    *slot = graph;
    return ST_OK;
}

uint64_t trace_first_run(const struct prof_log *log)
{
    for (uint32_t i = 0; i < log->n_records; i++)
        if (is_run(&log->records[i]))
            return log->records[i].start_us;
    return 0;
}

uint64_t trace_run_acquired(const struct prof_log_record *r)
{
    bool there = false;

    return value_of(r, QUEUE_WAIT, &there) + value_of(r, UNITS_ACQUIRE, &there) + value_of(r, VTCM_ACQUIRE, &there);
}

enum status trace_put_host_runs(struct trace_out *out, const struct prof_log *log, uint32_t process, uint32_t *ret)
{
    CLEANUP(names_finish) struct names names = { 0 };
    uint64_t first_us = trace_first_run(log);

    for (uint32_t i = 0; i < log->n_records; i++) {
        const struct prof_log_record *r = &log->records[i];
        size_t known = names.list.n, graph;

        if (!is_run(r))
            continue;
        TRY(number_of(&names, r->graph_name, &graph));
        uint32_t lane = TRACE_LANE_HOST_RUNS + 2 * (uint32_t)graph;
        if (names.list.n > known)
            put_lanes(out, r->graph_name, process, lane);
        put_run(out, r, process, lane, r->start_us - first_us);
        ++*ret;
    }
    return ST_OK;
}
