/* SPDX-License-Identifier: Apache-2.0 */
/* What this computer measured of a run, where the profile was asked for a timeline: when each node began, and
 * for how long it worked. Members of a chain take turns, so their times overlap; those that do are on different
 * lanes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile_viewer/trace_device.h"

enum { NS_PER_US = 1000, MOST_LANES = 256 };
#define OP_ID ":OpId_"
#define BEGIN " (begin, us)"

struct host_span {
    uint64_t begin_us, end_us;
    const char *name; /* of the event, which goes on behind the name of the node */
    int length;
};
struct host_run {
    VEC(struct host_span) spans;
    uint64_t end_us[MOST_LANES]; /* of the last span on each lane */
};

static void run_finish(struct host_run *run)
{
    vec_finish(&run->spans);
}

/* The time of the node whose beginning is event e: "name:OpId_3 (begin, us)" goes with "name:OpId_3 (us)". Both stand in the
 * order of nodes, so the search begins where the last one ended. */
static uint64_t time_of(const struct prof_log_record *r, uint32_t e, size_t length, uint32_t *at)
{
    const char *name = r->events[e].name;

    for (uint32_t k = 0; k < r->n_events; k++) {
        uint32_t i = (*at + k) % r->n_events;
        const struct prof_event *p = &r->events[i];
        bool time = p->type == PROF_NODE && p->unit == PROF_UNIT_US && p->name;

        if (time && strncmp(p->name, name, length) == 0 && str_eq(p->name + length, " (us)")) {
            *at = i;
            return p->value;
        }
    }
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct host_span *x = a, *y = b;
    return (x->begin_us > y->begin_us) - (x->begin_us < y->begin_us);
}

static bool list_spans(const struct prof_log_record *r, struct host_run *ret)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < r->n_events; i++) {
        const struct prof_event *e = &r->events[i];
        size_t n = e->name ? strlen(e->name) : 0;
        size_t ending = strlen(BEGIN);

        if (e->type != PROF_TRACE || n < ending || !str_eq(e->name + n - ending, BEGIN))
            continue;
        struct host_span *s = vec_push(&ret->spans);
        if (!s)
            return false;
        n -= ending;
        *s = (struct host_span){ e->value, e->value + time_of(r, i, n, &at), e->name, (int)n };
    }
    if (ret->spans.n)
        qsort(ret->spans.at, ret->spans.n, sizeof ret->spans.at[0], by_begin);
    return true;
}

/* The first lane where nothing is any more. Times are rounded to microseconds, so what overlaps by one of them does not
 * overlap, and begins where the other ends. */
static uint32_t lane_for(struct host_run *run, struct host_span *s)
{
    uint32_t lane = 0;

    while (lane + 1 < MOST_LANES && run->end_us[lane] > s->begin_us + 1)
        lane++;
    if (run->end_us[lane] > s->begin_us)
        s->begin_us = run->end_us[lane];
    if (s->end_us < s->begin_us)
        s->end_us = s->begin_us;
    run->end_us[lane] = s->end_us;
    return lane;
}

/* Of "conv:OpId_3", the bytes of "conv", which may have such a part itself. */
static size_t node_length(const char *name)
{
    const char *end = NULL;

    for (const char *at = strstr(name, OP_ID); at; at = strstr(at + 1, OP_ID))
        end = at;
    return end ? (size_t)(end - name) : strlen(name);
}

static void put_run(struct trace_out *out, struct host_run *run, uint32_t process, uint64_t start_us)
{
    CLEANUP(str_finish) struct str name;
    CLEANUP(str_finish) struct str shown;

    str_init(&name);
    str_init(&shown);
    for (size_t i = 0; i < run->spans.n; i++) {
        struct host_span *s = &run->spans.at[i];
        uint32_t lane = lane_for(run, s);

        name.n = 0;
        str_addf(&name, "%.*s", s->length, s->name);
        shown.n = 0;
        trace_shorten(&shown, str_text(&name), node_length(str_text(&name)));
        struct trace_slice slice = { .process = process,
                                     .lane = lane + 1,
                                     .begin_ns = (start_us + s->begin_us) * NS_PER_US,
                                     .end_ns = (start_us + s->end_us) * NS_PER_US,
                                     .name = str_text(&shown) };
        trace_begin_slice(out, &slice);
        fputs("\"op\":", out->to);
        trace_put_text(out->to, str_text(&name));
        trace_end_slice(out);
    }
}

static void put_lanes(struct trace_out *out, uint32_t process, uint32_t n_lanes)
{
    char lane[32];

    for (uint32_t k = 0; k < n_lanes; k++) {
        snprintf(lane, sizeof lane, "operators %u", k);
        trace_put_lane(out, process, k + 1, lane);
    }
}

/* Runs stand where they were, the first one at zero, and their nodes behind what a run waits for. */
enum status trace_put_host(struct trace_out *out, const struct prof_log *log, uint32_t process, uint32_t *ret)
{
    uint32_t n_lanes = 0;
    uint64_t first_us = trace_first_run(log);

    for (uint32_t k = 0; k < log->n_records; k++) {
        const struct prof_log_record *r = &log->records[k];
        CLEANUP(run_finish) struct host_run run = { 0 };

        RETURN_IF(!list_spans(r, &run), ST_NO_MEMORY, "no memory for the operators of a run");
        if (!run.spans.n)
            continue;
        ++*ret;
        put_run(out, &run, process, r->start_us - first_us + trace_run_acquired(r));
        for (uint32_t lane = n_lanes; lane < MOST_LANES; lane++)
            n_lanes = run.end_us[lane] ? lane + 1 : n_lanes;
    }
    put_lanes(out, process, n_lanes);
    return ST_OK;
}
