/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnGpuProfilingReader.so and libQnnJsonProfilingReader.so: profiling logs as JSON. Per graph and method a
 * tree of events as in the log, each with its average, least and most over all calls. Events of nodes are listed
 * once more, with their share of what all nodes below the same event have in the same unit. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile_viewer/profile_reader.h"

struct line {
    const char *name;
    uint32_t type, unit;
    size_t parent; /* line, SIZE_MAX: none */
    uint64_t count, sum, least, most;
};

/* All calls of one method on one graph. */
struct group {
    uint32_t method;
    const char *graph;
    uint64_t calls;
    struct line own; /* measured by the application */
    VEC(struct line) lines;
};

struct groups {
    VEC(struct group) at;
};

static void finish(struct groups *g)
{
    for (size_t i = 0; i < g->at.n; i++)
        vec_finish(&g->at.at[i].lines);
    vec_finish(&g->at);
}

static void add_value(struct line *l, uint64_t v)
{
    l->least = !l->count || v < l->least ? v : l->least;
    l->most = v > l->most ? v : l->most;
    l->sum += v;
    l->count++;
}

/* The line of an event below line `parent`. Calls have their events in the same order, so the search starts where the event
 * should be. */
static struct line *find_line(struct group *g, const struct prof_event *e, size_t parent, size_t hint)
{
    const char *name = e->name ? e->name : "";

    for (size_t i = 0; i < g->lines.n; i++) {
        struct line *l = &g->lines.at[(hint + i) % g->lines.n];
        if (l->parent == parent && l->type == e->type && l->unit == e->unit && str_eq(l->name, name))
            return l;
    }
    struct line *l = vec_push(&g->lines);
    if (l)
        *l = (struct line){ .name = name, .type = e->type, .unit = e->unit, .parent = parent };
    return l;
}

static enum status add_events(struct group *g, const struct prof_log_record *r)
{
    CLEANUP(mem_freep) size_t *lines = mem_array(size_t, (size_t)r->n_events + 1); /* of its events */
    RETURN_IF(!lines, ST_NO_MEMORY, "no memory for the events of the log");

    for (uint32_t i = 0; i < r->n_events; i++) {
        const struct prof_event *e = &r->events[i];
        struct line *l = find_line(g, e, e->parent < 0 ? SIZE_MAX : lines[e->parent], i);
        RETURN_IF(!l, ST_NO_MEMORY, "no memory for the events of the log");
        lines[i] = (size_t)(l - g->lines.at);
        add_value(l, e->value);
    }
    return ST_OK;
}

static enum status add_record(struct groups *all, const struct prof_log_record *r)
{
    const char *graph = r->graph_name ? r->graph_name : "";
    size_t at = 0;
    while (at < all->at.n && !(all->at.at[at].method == r->method && str_eq(all->at.at[at].graph, graph)))
        at++;
    struct group *g = at < all->at.n ? &all->at.at[at] : vec_push(&all->at);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory for the graphs of the log");
    g->method = r->method;
    g->graph = graph;
    g->calls++;
    add_value(&g->own, r->stop_us - r->start_us);
    return add_events(g, r);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------- */

static void set_text(json_t *to, const char *key, const char *value)
{
    json_t *text = json_string(value); /* NULL for bytes that are not UTF-8 */
    json_object_set_new(to, key, text ? text : json_string("?"));
}

static void set_values(json_t *to, const struct line *l)
{
    json_object_set_new(to, "average", json_real((double)l->sum / (double)l->count));
    json_object_set_new(to, "min", json_integer((json_int_t)l->least));
    json_object_set_new(to, "max", json_integer((json_int_t)l->most));
    json_object_set_new(to, "count", json_integer((json_int_t)l->count));
}

static json_t *line_json(const struct line *l)
{
    json_t *o = json_object();
    set_text(o, "name", l->name);
    json_object_set_new(o, "type", json_integer(l->type));
    set_text(o, "unit", prof_unit_name(l->unit));
    set_values(o, l);
    return o;
}

/* Parents stand before their children. */
static void put_tree(const struct group *g, json_t *roots, json_t **of)
{
    for (size_t i = 0; i < g->lines.n; i++) {
        const struct line *l = &g->lines.at[i];
        json_t *list = roots;

        of[i] = line_json(l);
        if (l->parent != SIZE_MAX) {
            list = json_object_get(of[l->parent], "events");
            if (!list) {
                list = json_array();
                json_object_set_new(of[l->parent], "events", list);
            }
        }
        json_array_append_new(list, of[i]);
    }
}

static bool shares(const struct line *a, const struct line *b)
{
    return a->type == PROF_NODE && b->type == PROF_NODE && a->parent == b->parent && a->unit == b->unit;
}

static void put_nodes(const struct group *g, json_t *nodes)
{
    const struct line *last = NULL;
    uint64_t sum = 0;

    for (size_t i = 0; i < g->lines.n; i++) {
        const struct line *l = &g->lines.at[i];
        if (l->type != PROF_NODE)
            continue;
        if (!last || !shares(l, last)) {
            sum = 0;
            for (size_t k = 0; k < g->lines.n; k++)
                sum += shares(l, &g->lines.at[k]) ? g->lines.at[k].sum : 0;
        }
        last = l;
        json_t *o = line_json(l);
        set_text(o, "parent", l->parent == SIZE_MAX ? "" : g->lines.at[l->parent].name);
        if (sum)
            json_object_set_new(o, "share", json_real((double)l->sum / (double)sum));
        json_array_append_new(nodes, o);
    }
}

static json_t *group_json(const struct group *g)
{
    json_t *o = json_object(), *events = json_array(), *nodes = json_array(), *own = json_object();
    CLEANUP(mem_freep) json_t **of = mem_array(json_t *, g->lines.n + 1);

    if (of)
        put_tree(g, events, of);
    put_nodes(g, nodes);
    set_text(o, "graph", g->graph);
    set_text(o, "method", prof_method_name(g->method));
    json_object_set_new(o, "calls", json_integer((json_int_t)g->calls));
    set_values(own, &g->own);
    set_text(own, "unit", "us");
    json_object_set_new(o, "application", own);
    json_object_set_new(o, "events", events);
    json_object_set_new(o, "nodes", nodes);
    return o;
}

static enum status log_json(const struct prof_log *log, const char *name, json_t *to)
{
    CLEANUP(finish) struct groups all = { 0 };
    for (uint32_t i = 0; i < log->n_records; i++)
        TRY(add_record(&all, &log->records[i]));
    json_t *o = json_object(), *graphs = json_array();
    for (size_t i = 0; i < all.at.n; i++)
        json_array_append_new(graphs, group_json(&all.at.at[i]));
    set_text(o, "log", name);
    set_text(o, "application", log->header.app_name ? log->header.app_name : "");
    set_text(o, "backend", log->header.backend_version ? log->header.backend_version : "");
    json_object_set_new(o, "records", graphs);
    json_array_append_new(to, o);
    return ST_OK;
}

static int write_logs(const struct profile_job *job)
{
    json_t *all = json_array(), *root = json_pack("{s:o}", "logs", all);
    enum status st = root ? ST_OK : status_fail(ST_NO_MEMORY, "no memory for the view of %zu logs", job->n);
    for (size_t i = 0; i < job->n && st == ST_OK; i++)
        st = log_json(job->logs[i], job->names[i], all);
    if (st == ST_OK && (json_dumpf(root, job->to, JSON_INDENT(2) | JSON_PRESERVE_ORDER) != 0 || fputc('\n', job->to) == EOF))
        st = status_fail(ST_IO, "the view of the logs cannot be written");
    json_decref(root);
    return st;
}

extern const struct profile_reader openqnn_profile_reader;
__attribute__((visibility("default"))) const struct profile_reader openqnn_profile_reader = {
    .version = READER_VERSION,
    .name = "JSON",
    .write = write_logs,
    .explain = status_text,
};
