/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline in the format of chrome://tracing and Perfetto, for libQnnHtpOptraceProfilingReader.so (optrace_reader.c) and
 * libQnnChrometraceProfilingReader.so (chrometrace_reader.c).
 *
 * Of the context binary (--schematic): what every command keeps busy of the device, as estimated. Of the log: when each node
 * ran on this computer, where the profile was asked for that (optrace). The two have clocks that nothing connects, so with a
 * schematic the second is a file of its own: chrometrace.json has chrometrace_host.json beside it, and the reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "common/tool_file.h"
#include "profile_viewer/profile_reader.h"
#include "profile_viewer/trace_device.h"

enum { THIS_COMPUTER = 1000 }; /* processes of logs */

/* All graphs that are shown. */
struct view {
    const struct profile_job *job;
    struct trace_config config;
    struct trace_sources *sources; /* of --dlc; NULL: there is none */
    struct trace_graph *graphs;
    uint32_t n;
};

/* ---- the device ------------------------------------------------------------------------------------------------------- */

/* Those of a binary that have an estimate and, where names say what is wanted, these names. */
static enum status open_graphs(struct view *v, const struct binary *b)
{
    enum status st = ST_OK;
    bool zoom = v->job->zoom_start || v->job->zoom_end;

    v->graphs = mem_array(struct trace_graph, (size_t)b->n_graphs + 1);
    RETURN_IF(!v->graphs, ST_NO_MEMORY, "no memory for %u graphs", b->n_graphs);
    for (uint32_t i = 0; i < b->n_graphs && st == ST_OK; i++) {
        struct trace_graph *t = &v->graphs[v->n];

        if (!b->graphs[i].timeline.n_spans)
            continue;
        TRY(trace_graph_open(&b->graphs[i], t));
        st = v->sources ? trace_sources_find(v->sources, t) : ST_OK;
        if (st == ST_OK)
            st = trace_graph_cut(t, v->job->zoom_start, v->job->zoom_end);
        if (st == ST_OK) {
            v->n++;
            continue;
        }
        trace_graph_close(t);
        if (st == ST_INVALID_ARG && zoom && b->n_graphs > 1) /* another graph has these nodes */
            st = ST_OK;
    }
    RETURN_IF(st == ST_OK && !v->n, ST_INVALID_ARG,
              "\"%s\" has no estimate for these nodes; a context binary of libQnnHtp.so has one", v->job->schematic);
    return st;
}

static bool has_graph(const struct binary *b, const char *name)
{
    for (uint32_t i = 0; i < b->n_graphs; i++)
        if (str_eq(b->graphs[i].info.name, name))
            return true;
    return false;
}

/* A schematic of other graphs than ran says nothing of the run. */
static enum status check_logs(const struct profile_job *job, const struct binary *b)
{
    const char *ran = NULL;

    for (size_t i = 0; i < job->n; i++) {
        for (uint32_t k = 0; k < job->logs[i]->n_records; k++) {
            const char *name = job->logs[i]->records[k].graph_name;
            if (!name)
                continue;
            if (has_graph(b, name))
                return ST_OK;
            ran = name;
        }
    }
    RETURN_IF(ran && b->n_graphs, ST_INVALID_ARG, "\"%s\" is of graph \"%s\"; the log is of graph \"%s\"", job->schematic,
              b->graphs[0].info.name, ran);
    return ST_OK;
}

static enum status put_device(struct trace_out *out, const struct view *v, uint32_t i)
{
    const struct trace_graph *t = &v->graphs[i];
    const uint32_t process = i + 1;

    TRY(trace_put_device(out, t, v->config.traceback, process));
    TRY(trace_put_services(out, t, process));
    if (v->config.runtrace)
        TRY(trace_put_device_runs(out, t, v->job, process));
    if (v->config.memory_info)
        TRY(trace_put_memory(out, t, process));
    return trace_put_flows(out, t, &v->config, process);
}

static enum status put_devices(const struct view *v)
{
    struct trace_out out;

    trace_out_start(&out, v->job->to);
    for (uint32_t i = 0; i < v->n; i++)
        TRY(put_device(&out, v, i));
    trace_out_finish(&out);
    return ST_OK;
}

/* ---- this computer ---------------------------------------------------------------------------------------------------- */

static void put_host_name(struct trace_out *out, const char *name, uint32_t process)
{
    CLEANUP(str_finish) struct str text;

    str_init(&text);
    str_addf(&text, "%s (this computer, measured)", name);
    trace_put_process(out, process, str_text(&text));
}

/* How many runs have a timeline of nodes, and how many are shown as a whole. */
struct shown {
    uint32_t nodes, runs;
};

static enum status put_hosts(const struct profile_job *job, const struct trace_config *c, FILE *to, struct shown *ret)
{
    struct trace_out out;

    trace_out_start(&out, to);
    for (size_t i = 0; i < job->n; i++) {
        uint32_t process = THIS_COMPUTER + (uint32_t)i;

        put_host_name(&out, job->names[i], process);
        TRY(trace_put_host(&out, job->logs[i], process, &ret->nodes));
        if (c->runtrace)
            TRY(trace_put_host_runs(&out, job->logs[i], process, &ret->runs));
    }
    trace_out_finish(&out);
    return ST_OK;
}

/* A log without a timeline has no file; neither has the standard output one beside it. */
static enum status write_hosts(const struct profile_job *job, const struct trace_config *c)
{
    char *data = NULL;
    size_t size = 0;
    struct shown shown = { 0 };
    FILE *to = job->output ? open_memstream(&data, &size) : NULL;
    RETURN_IF(job->output && !to, ST_NO_MEMORY, "no memory for what this computer measured");
    if (!to)
        return ST_OK;

    enum status st = put_hosts(job, c, to, &shown);
    bool written = fclose(to) == 0;
    if (st == ST_OK && !written)
        st = status_fail(ST_NO_MEMORY, "no memory for what this computer measured");
    if (st == ST_OK && (shown.nodes || shown.runs))
        st = trace_write_beside(job, "_host.json", data, size);
    free(data);
    return st;
}

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

static enum status write_view(struct view *v, const struct binary *b)
{
    const struct trace_set set = { v->job, &v->config, v->graphs, v->n, b };

    TRY(put_devices(v));
    TRY(write_hosts(v->job, &v->config));
    return trace_write_files(&set);
}

static enum status write_schematic(struct view *v)
{
    CLEANUP(trace_sources_closep) struct trace_sources *sources = NULL;
    struct tool_file f = { 0 };
    struct binary b;

    if (v->job->dlc)
        TRY(trace_sources_open(v->job->dlc, &sources));
    v->sources = sources;
    TRY(tool_file_map(v->job->schematic, &f));
    enum status st = binary_open(f.data, f.size, &b);
    if (st == ST_OK) {
        st = check_logs(v->job, &b);
        if (st == ST_OK)
            st = open_graphs(v, &b);
        if (st == ST_OK)
            st = write_view(v, &b);
        for (uint32_t i = 0; i < v->n; i++)
            trace_graph_close(&v->graphs[i]);
        mem_free(v->graphs);
        binary_close(&b);
    } else {
        st = status_prefix(st, "\"%s\"", v->job->schematic);
    }
    tool_file_free(&f);
    return st;
}

/* The tables of all logs; *ret: how many graphs have one. */
static enum status put_tables(const struct profile_job *job, uint32_t *ret)
{
    struct trace_out out;

    trace_out_start(&out, job->to);
    for (size_t i = 0; i < job->n; i++)
        TRY(trace_put_tables(&out, job->logs[i], 1, ret));
    trace_out_finish(&out);
    return ST_OK;
}

static bool any_table(const struct profile_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (trace_has_tables(job->logs[i]))
            return true;
    return false;
}

/* tables: what a log says of a device without its binary is shown, too. */
static enum status write_all(const struct profile_job *job, bool tables)
{
    struct view v = { .job = job };
    struct shown shown = { 0 };

    TRY(trace_config_read(job->config, &v.config));
    if (job->schematic)
        return write_schematic(&v);
    RETURN_IF(job->zoom_start || job->zoom_end || job->dlc, ST_INVALID_ARG,
              "--zoom_start, --zoom_end and --dlc need the graph; give the context binary that ran with --schematic FILE");
    if (tables && any_table(job)) {
        uint32_t n = 0;
        TRY(put_tables(job, &n));
        return write_hosts(job, &v.config);
    }
    TRY(put_hosts(job, &v.config, job->to, &shown));
    RETURN_IF(!shown.nodes, ST_INVALID_ARG,
              "the log has no timeline; run with --profiling_level detailed --profiling_option optrace, or give the context "
              "binary that ran with --schematic FILE");
    return ST_OK;
}

int trace_write(const struct profile_job *job)
{
    return write_all(job, false) != ST_OK;
}

int trace_write_tables(const struct profile_job *job)
{
    return write_all(job, true) != ST_OK;
}

int trace_settings(struct profile_job *job)
{
    struct trace_config c;
    enum status st = trace_config_read(job->config, &c);

    job->gzip |= st == ST_OK && c.gzip;
    return st != ST_OK;
}
