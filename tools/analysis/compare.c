/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a graph are added up per event; operators are found by name, without the OpId and the unit that events carry. */
#include "analysis/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "QNN/System/QnnSystemProfile.h"
#include "analysis/page.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"

/* ---- what a log says of a graph --------------------------------------------------------------------------------------- */

/* "conv1:OpId_3 (cycles)" is "conv1" in both logs, also where a graph with other operators numbers it otherwise. */
static size_t name_length(const char *name)
{
    size_t n = strlen(name);
    const char *open = n && name[n - 1] == ')' ? strrchr(name, '(') : NULL;

    if (open && open > name && open[-1] == ' ')
        n = (size_t)(open - name) - 1;
    for (size_t i = n; i-- > 0;)
        if (strncmp(name + i, ":OpId_", 6) == 0)
            return i;
    return n;
}

/* Events of older logs say "(cycles, estimated)" where newer ones say "(cycles)". */
static char *event_name(const char *name, struct arena *a)
{
    static const char mark[] = ", estimated";
    const char *at = strstr(name, mark);

    if (!at)
        return arena_strdup(a, name);
    return arena_printf(a, "%.*s%s", (int)(at - name), name, at + sizeof mark - 1);
}

static void add(json_t *sums, const char *key, const char *what, uint64_t value)
{
    json_t *o = json_object_get(sums, key);

    if (!o) {
        o = json_object();
        json_object_set_new_nocheck(sums, key, o);
    }
    json_int_t before = json_integer_value(json_object_get(o, what));
    json_object_set_new(o, what, json_integer(before + (json_int_t)value));
}

static const char *unit_key(uint32_t unit)
{
    if (unit == PROF_UNIT_US)
        return "us";
    return unit == PROF_UNIT_CYCLES ? "cycles" : NULL;
}

/* An operator may occur several times in a record, below several events: the first counts. */
static bool is_first(json_t *seen, const struct prof_event *e)
{
    json_t *units = json_object_get(seen, e->name);

    if (units)
        return false;
    return json_object_set_new_nocheck(seen, e->name, json_true()) == 0;
}

static enum status add_record(const struct prof_log_record *r, json_t *graph, struct arena *a)
{
    json_t *seen = json_object();
    json_t *ops = json_object_get(graph, "ops"), *events = json_object_get(graph, "events");
    enum status st = ST_OK;

    for (uint32_t i = 0; i < r->n_events && st == ST_OK; i++) {
        const struct prof_event *e = &r->events[i];
        const char *unit = unit_key(e->unit);
        bool node = e->type == PROF_NODE;
        char *name;

        if (!e->name || !unit || e->type == PROF_TRACE || !is_first(seen, e))
            continue;
        name = node ? arena_printf(a, "%.*s", (int)name_length(e->name), e->name) : event_name(e->name, a);
        if (!name)
            st = status_fail(ST_NO_MEMORY, "no memory to compare logs");
        else if (node || e->parent == PROF_ROOT || r->events[e->parent].type != PROF_NODE)
            add(node ? ops : events, name, unit, e->value);
    }
    json_decref(seen);
    return st;
}

static bool is_execution(uint32_t method)
{
    return method == QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE ||
           method == QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE_ASYNC;
}

/* { graph: { "runs": n, "events": { name: { "us": sum } }, "ops": { name: { "us": sum, "cycles": sum } } } } */
static enum status read_log(const struct prof_log *log, struct arena *a, json_t *graphs)
{
    for (uint32_t k = 0; k < log->n_records; k++) {
        const struct prof_log_record *r = &log->records[k];
        const char *name = r->graph_name ? r->graph_name : "";
        json_t *graph = json_object_get(graphs, name);

        if (!is_execution(r->method))
            continue;
        if (!graph) {
            graph = json_pack("{s:i,s:o,s:o}", "runs", 0, "events", json_object(), "ops", json_object());
            json_object_set_new_nocheck(graphs, name, graph);
        }
        json_object_set_new(graph, "runs", json_integer(json_integer_value(json_object_get(graph, "runs")) + 1));
        add(json_object_get(graph, "events"), "NetRun", "us", r->stop_us - r->start_us);
        TRY(add_record(r, graph, a));
    }
    return ST_OK;
}

/* ---- side by side ----------------------------------------------------------------------------------------------------- */

struct pair {
    const json_t *graph[2];
    double runs[2];
};

static double average(const struct pair *p, int side, const char *list, const char *key, const char *unit, bool *there)
{
    const json_t *o = json_object_get(json_object_get(p->graph[side], list), key);
    const json_t *sum = json_object_get(o, unit);

    *there = sum != NULL;
    return sum ? (double)json_integer_value(sum) / p->runs[side] : 0;
}

/* "a_us", "b_us", "change_us"; a side that does not have it is null. */
static bool set_values(const struct pair *p, const char *list, const char *key, const char *unit, json_t *row)
{
    char name[32];
    bool there[2];
    double value[2];

    for (int s = 0; s < 2; s++) {
        value[s] = average(p, s, list, key, unit, &there[s]);
        snprintf(name, sizeof name, "%c_%s", 'a' + s, unit);
        json_object_set_new(row, name, there[s] ? json_real(value[s]) : json_null());
    }
    bool any = there[0] || there[1];
    snprintf(name, sizeof name, "change_%s", unit);
    json_object_set_new(row, name, any ? json_real(value[1] - value[0]) : json_null());
    snprintf(name, sizeof name, "percent_%s", unit);
    bool relative = there[0] && there[1] && value[0] > 0;
    json_object_set_new(row, name, relative ? json_real(100 * (value[1] - value[0]) / value[0]) : json_null());
    return any;
}

static const char *where(const struct pair *p, const char *list, const char *key)
{
    bool a = json_object_get(json_object_get(p->graph[0], list), key) != NULL;
    bool b = json_object_get(json_object_get(p->graph[1], list), key) != NULL;

    if (a && b)
        return "both";
    return a ? "a" : "b";
}

static double size_of(const json_t *row)
{
    const json_t *cycles = json_object_get(row, "change_cycles");

    return fabs(json_number_value(json_is_real(cycles) ? cycles : json_object_get(row, "change_us")));
}

static int by_change(const void *a, const void *b)
{
    double x = size_of(*(json_t *const *)a), y = size_of(*(json_t *const *)b);
    return (x < y) - (x > y);
}

static json_t *sorted(json_t *rows)
{
    size_t n = json_array_size(rows);
    CLEANUP(mem_freep) json_t **list = mem_array(json_t *, n + 1);
    json_t *ret = json_array();

    for (size_t i = 0; list && i < n; i++)
        list[i] = json_array_get(rows, i);
    if (list)
        qsort(list, n, sizeof *list, by_change);
    for (size_t i = 0; list && i < n; i++)
        json_array_append(ret, list[i]);
    json_decref(rows);
    return ret;
}

static void add_rows(const struct pair *p, int side, const char *list, const char *name, json_t *rows)
{
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(p->graph[side], list), key, value)
    {
        json_t *row;
        if (side == 1 && strcmp(where(p, list, key), "b") != 0)
            continue; /* it is there already */
        row = json_object();
        json_object_set_new(row, name, page_text(key));
        json_object_set_new(row, "in", page_text(where(p, list, key)));
        set_values(p, list, key, "us", row);
        set_values(p, list, key, "cycles", row);
        json_array_append_new(rows, row);
    }
}

static json_t *rows_json(const struct pair *p, const char *list, const char *name)
{
    json_t *rows = json_array();

    add_rows(p, 0, list, name, rows);
    add_rows(p, 1, list, name, rows);
    return rows;
}

static json_t *graph_json(const char *name, const json_t *a, const json_t *b)
{
    struct pair p = { .graph = { a, b } };
    json_t *o = json_object();

    json_object_set_new(o, "graph", page_text(name));
    for (int s = 0; s < 2; s++) {
        p.runs[s] = json_number_value(json_object_get(p.graph[s], "runs"));
        json_object_set_new(o, s ? "b_runs" : "a_runs", json_integer((json_int_t)p.runs[s]));
    }
    json_object_set_new(o, "events", rows_json(&p, "events", "event"));
    json_object_set_new(o, "operators", sorted(rows_json(&p, "ops", "op")));
    return o;
}

/* Graphs of both; where each log has one, these two whatever they are called. */
static json_t *graphs_json(json_t *a, json_t *b)
{
    json_t *list = json_array();
    const char *name;
    json_t *graph;

    json_object_foreach(a, name, graph)
    {
        json_t *other = json_object_get(b, name);
        void *first = json_object_iter(b);
        if (!other && json_object_size(a) == 1 && json_object_size(b) == 1)
            other = json_object_iter_value(first);
        if (other)
            json_array_append_new(list, graph_json(name, graph, other));
    }
    return list;
}

enum status compare_logs(const struct compare_side side[2], json_t **ret)
{
    CLEANUP(arena_finish) struct arena a;
    json_t *graphs[2] = { json_object(), json_object() };
    json_t *list = NULL;
    enum status st = ST_OK;

    arena_init(&a);
    for (int s = 0; s < 2 && st == ST_OK; s++)
        st = read_log(side[s].log, &a, graphs[s]);
    if (st == ST_OK)
        list = graphs_json(graphs[0], graphs[1]);
    if (st == ST_OK && !json_array_size(list))
        st = status_fail(ST_INVALID_ARG,
                         "\"%s\" and \"%s\" have no executions of the same graph; give logs of runs of qnn-net-run with "
                         "--profiling_level",
                         side[0].name, side[1].name);
    json_decref(graphs[0]);
    json_decref(graphs[1]);
    if (st != ST_OK) {
        json_decref(list);
        return st;
    }
    *ret = json_pack("{s:o,s:o,s:o}", "a", page_text(side[0].name), "b", page_text(side[1].name), "graphs", list);
    return ST_OK;
}
