/* SPDX-License-Identifier: Apache-2.0 */
/* A profiling log as text: the sections and words of the usual report, each event once per graph with average, minimum and
 * maximum over its executions. */
#include <inttypes.h>
#include <string.h>

#include "QNN/System/QnnSystemProfile.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile_viewer/profile_stats.h"

/* The methods that have a section. */
enum {
    M_EXECUTE = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE,
    M_FINALIZE = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE,
    M_EXECUTE_ASYNC = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE_ASYNC,
    M_FROM_BINARY = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_CREATE_FROM_BINARY,
    M_DEINIT = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_DEINIT,
    M_CONTEXT_CREATE = QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_CONTEXT_CREATE,
    M_COMPOSE = QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_COMPOSE_GRAPHS,
    M_IPS = QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_EXECUTE_IPS,
    M_LIB_LOAD = QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_BACKEND_LIB_LOAD,
};

enum which { AVERAGE, LEAST, MOST };

/* An event of the same name and unit below the same one, in all records of one method and graph. */
struct line {
    const char *name;
    uint32_t unit, depth;
    size_t parent; /* line, SIZE_MAX: none */
    uint64_t count, sum, least, most;
};

struct group {
    const char *graph;
    struct line own; /* measured by the application */
    VEC(struct line) lines;
};

static void add_value(struct line *l, uint64_t v)
{
    l->least = !l->count || v < l->least ? v : l->least;
    l->most = v > l->most ? v : l->most;
    l->sum += v;
    l->count++;
}

static uint32_t depth_of(const struct prof_log_record *r, uint32_t event)
{
    uint32_t depth = 0;
    for (int32_t p = r->events[event].parent; p >= 0; p = r->events[p].parent)
        depth++;
    return depth;
}

/* Records of one graph have their events in the same order, so the search starts where the last one ended. */
static struct line *find_line(struct group *g, const struct prof_event *e, uint32_t depth, size_t parent, size_t hint)
{
    const char *name = e->name ? e->name : "";
    for (size_t i = 0; i < g->lines.n; i++) {
        struct line *l = &g->lines.at[(hint + i) % g->lines.n];
        if (l->unit == e->unit && l->parent == parent && str_eq(l->name, name))
            return l;
    }
    struct line *l = vec_push(&g->lines);
    if (l)
        *l = (struct line){ .name = name, .unit = e->unit, .depth = depth, .parent = parent };
    return l;
}

static enum status add_record(struct group *g, const struct prof_log_record *r)
{
    CLEANUP(mem_freep) size_t *lines = mem_array(size_t, (size_t)r->n_events + 1); /* of its events */
    RETURN_IF(!lines, ST_NO_MEMORY, "events of the log");
    add_value(&g->own, r->stop_us - r->start_us);
    for (uint32_t i = 0; i < r->n_events; i++) {
        int32_t parent = r->events[i].parent;
        struct line *l = find_line(g, &r->events[i], depth_of(r, i), parent < 0 ? SIZE_MAX : lines[parent], i);
        RETURN_IF(!l, ST_NO_MEMORY, "events of the log");
        lines[i] = (size_t)(l - g->lines.at);
        add_value(l, r->events[i].value);
    }
    return ST_OK;
}

struct groups {
    VEC(struct group) at;
};

static void finish_groups(struct groups *g)
{
    for (size_t i = 0; i < g->at.n; i++)
        vec_finish(&g->at.at[i].lines);
    vec_finish(&g->at);
}

static enum status collect(const struct prof_log *log, uint32_t first, uint32_t second, struct groups *ret)
{
    for (uint32_t i = 0; i < log->n_records; i++) {
        const struct prof_log_record *r = &log->records[i];
        if (r->method != first && r->method != second)
            continue;
        size_t at = 0;
        while (at < ret->at.n && !str_eq(ret->at.at[at].graph, r->graph_name))
            at++;
        struct group *g = at < ret->at.n ? &ret->at.at[at] : vec_push(&ret->at);
        RETURN_IF(!g, ST_NO_MEMORY, "graphs of the log");
        g->graph = r->graph_name;
        TRY(add_record(g, r));
    }
    return ST_OK;
}

/* ---- printing -------------------------------------------------------------------------------------------------------- */

static uint64_t value_of(const struct line *l, enum which w)
{
    return w == LEAST ? l->least : w == MOST ? l->most : l->count ? l->sum / l->count : 0;
}

/* Indented as the vendor's guide shows it; what has no unit is all name. */
static void put_line(FILE *to, const struct line *l, enum which w)
{
    static const int indents[] = { 3, 6, 12, 15 };
    enum { INDENTS = sizeof indents / sizeof indents[0] };
    const char *unit = prof_unit_name(l->unit);

    fprintf(to, "%*s", indents[l->depth < INDENTS ? l->depth : INDENTS - 1], "");
    fprintf(to, l->depth ? "%s" : "Backend (%s)", l->name);
    if (unit[0])
        fprintf(to, ": %" PRIu64 "  %s", value_of(l, w), unit);
    fputc('\n', to);
}

static void put_group(FILE *to, const struct group *g, size_t index, enum which w, bool with_graph)
{
    if (with_graph && g->graph)
        fprintf(to, "Graph %zu (%s):\n", index, g->graph);
    fprintf(to, "   NetRun:  %" PRIu64 " us\n", value_of(&g->own, w));
    for (size_t i = 0; i < g->lines.n; i++)
        put_line(to, &g->lines.at[i], w);
}

/* One section: all records of a method (or two), merged per graph. Nothing when there are none. */
static enum status put_section(FILE *to, const struct prof_log *log, const char *title, uint32_t first, uint32_t second,
                               enum which w)
{
    CLEANUP(finish_groups) struct groups groups = { 0 };
    TRY(collect(log, first, second, &groups));
    if (!groups.at.n)
        return ST_OK;
    fprintf(to, "\n%s:\n", title);
    for (size_t i = strlen(title) + 1; i; i--)
        fputc('-', to);
    fputc('\n', to);
    if (first == M_EXECUTE)
        fprintf(to, "Total Inference Time:\n---------------------\n");
    for (size_t i = 0; i < groups.at.n; i++)
        put_group(to, &groups.at.at[i], i, w, true);
    return ST_OK;
}

static void put_overall(FILE *to, const struct prof_log *log)
{
    bool titled = false;
    for (uint32_t i = 0; i < log->n_records; i++) {
        const struct prof_log_record *r = &log->records[i];
        uint64_t span = r->stop_us - r->start_us;
        if (r->method != M_IPS || !r->n_events)
            continue;
        if (!titled)
            fprintf(to, "\nExecute Stats (Overall):\n------------------------\n");
        titled = true;
        if (r->graph_name)
            fprintf(to, "Graph (%s):\n", r->graph_name);
        fprintf(to, "    NetRun IPS: %.2f inf/sec\n", span ? (double)r->events[0].value * 1e6 / (double)span : 0.0);
        fprintf(to, "    Inferences: %" PRIu64 "\n", r->events[0].value);
    }
}

/* Records of one method in their order, each a section of its own. */
static enum status put_runs(FILE *to, const struct prof_log *log)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < log->n_records; i++) {
        struct prof_log one = *log;
        char title[64];

        if (log->records[i].method != M_EXECUTE && log->records[i].method != M_EXECUTE_ASYNC)
            continue;
        one.records = &log->records[i];
        one.n_records = 1;
        snprintf(title, sizeof title, "Execute Stats (Run %u)", n++);
        TRY(put_section(to, &one, title, M_EXECUTE, M_EXECUTE_ASYNC, AVERAGE));
    }
    return ST_OK;
}

enum status viewer_print_text(const struct prof_log *log, const char *name, bool runs, FILE *to)
{
    fprintf(to, "Input Log File: %s\n", name);
    fprintf(to, "Application: %s %s, backend %s\n\n", log->header.app_name ? log->header.app_name : "",
            log->header.app_version ? log->header.app_version : "",
            log->header.backend_version ? log->header.backend_version : "");
    fprintf(to, "Qnn Init/Prepare/Finalize/De-Init/Execute/Lib-Load Statistics:\n");
    fprintf(to, "------------------------------------------------------------\n");
    TRY(put_section(to, log, "Lib-Load Stats", M_LIB_LOAD, M_LIB_LOAD, AVERAGE));
    TRY(put_section(to, log, "Init Stats", M_FROM_BINARY, M_CONTEXT_CREATE, AVERAGE));
    TRY(put_section(to, log, "Compose Graphs Stats", M_COMPOSE, M_COMPOSE, AVERAGE));
    TRY(put_section(to, log, "Finalize Stats", M_FINALIZE, M_FINALIZE, AVERAGE));
    TRY(put_section(to, log, "De-Init Stats", M_DEINIT, M_DEINIT, AVERAGE));
    put_overall(to, log);
    if (runs)
        return put_runs(to, log);
    TRY(put_section(to, log, "Execute Stats (Average)", M_EXECUTE, M_EXECUTE_ASYNC, AVERAGE));
    TRY(put_section(to, log, "Execute Stats (Min)", M_EXECUTE, M_EXECUTE_ASYNC, LEAST));
    return put_section(to, log, "Execute Stats (Max)", M_EXECUTE, M_EXECUTE_ASYNC, MOST);
}
