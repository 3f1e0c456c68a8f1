/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnHtpOptraceProfilingReader.so and libQnnChrometraceProfilingReader.so: a timeline in the format of chrome://tracing
 * and Perfetto.
 *
 * Of the context binary (--schematic): what every command keeps busy of the device, as estimated, with a lane for HMX, one
 * per HVX thread, and two for DMA. Of the log: when each node ran on this computer, where the profile was asked for that
 * (optrace). A report lies beside the output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_write.h"
#include "base/str.h"
#include "common/tool_file.h"
#include "profile_viewer/profile_reader.h"
#include "profile_viewer/trace_model.h"

enum { LANE_HMX = 1, LANE_HVX = 10, LANE_READ = 100, LANE_WRITE = 101, THIS_COMPUTER = 1000 };

struct writer {
    FILE *to;
    bool any;
    bool report_json;  /* features of the settings */
};

/* ---- JSON, one event at a time: there may be a million of them -------------------------------------------------------- */

static void put_text(FILE *to, const char *s)
{
    json_t *t = json_string(s);
    char *quoted = json_dumps(t, JSON_ENCODE_ANY);
    fputs(quoted ? quoted : "\"?\"", to);
    free(quoted);
    json_decref(t);
}

static void begin(struct writer *w)
{
    fputs(w->any ? ",\n" : "\n", w->to);
    w->any = true;
}

static void put_name(struct writer *w, const char *what, uint32_t process, uint32_t lane, const char *name)
{
    begin(w);
    fprintf(w->to, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what, process, lane);
    put_text(w->to, name);
    fputs("}}", w->to);
}

static void put_lanes(struct writer *w, const struct trace_graph *t, uint32_t process)
{
    char name[64];
    put_name(w, "process_name", process, 0, t->g->info.name);
    put_name(w, "thread_name", process, LANE_HMX, "HMX");
    for (uint32_t i = 0; i < t->g->timeline.threads; i++) {
        snprintf(name, sizeof name, "HVX %u", i);
        put_name(w, "thread_name", process, LANE_HVX + i, name);
    }
    put_name(w, "thread_name", process, LANE_READ, trace_units[UNIT_FETCH]);
    put_name(w, "thread_name", process, LANE_WRITE, trace_units[UNIT_STORE]);
}

static void put_span(struct writer *w, const struct trace_graph *t, const struct binary_span *s, uint32_t process,
                     uint32_t lane)
{
    const struct binary_node *n = &t->g->nodes[s->node];
    begin(w);
    fprintf(w->to, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":", process, lane,
            trace_us(t, s->start), trace_us(t, s->cycles));
    put_text(w->to, n->name);
    fputs(",\"cat\":", w->to);
    put_text(w->to, n->op->name);
    fprintf(w->to, ",\"args\":{\"command\":%u,\"start_cycle\":%llu,\"cycles\":%llu}}", s->command,
            (unsigned long long)s->start, (unsigned long long)s->cycles);
}

static void put_graph(struct writer *w, const struct trace_graph *t, uint32_t process)
{
    static const uint32_t lanes[UNIT_COUNT] = { LANE_HMX, LANE_HVX, LANE_READ, LANE_WRITE };
    put_lanes(w, t, process);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_span *s = &t->spans[i];
        uint32_t copies = s->span.unit == UNIT_VECTOR && s->span.all ? t->g->timeline.threads : 1;
        for (uint32_t k = 0; k < copies; k++)
            put_span(w, t, &s->span, process, lanes[s->span.unit] + s->lane + k);
    }
}

/* ---- this computer ---------------------------------------------------------------------------------------------------- */

/* How long the node took whose beginning event e is: "name:OpId_3 (begin, us)" goes with "name:OpId_3 (us)". */
static uint64_t length_of(const struct prof_log_record *r, uint32_t e)
{
    const char *name = r->events[e].name, *end = strstr(name, " (begin, us)");
    for (uint32_t i = 0; end && i < r->n_events; i++) {
        const struct prof_event *p = &r->events[i];
        if (p->type == PROF_NODE && p->unit == PROF_UNIT_US && p->name &&
            strncmp(p->name, name, (size_t)(end - name)) == 0 && str_eq(p->name + (end - name), " (us)"))
            return p->value;
    }
    return 0;
}

static uint32_t put_log(struct writer *w, const struct prof_log *log, const char *name, uint32_t process)
{
    uint32_t runs = 0;
    for (uint32_t k = 0; k < log->n_records; k++) {
        const struct prof_log_record *r = &log->records[k];
        bool any = false;
        for (uint32_t i = 0; i < r->n_events; i++) {
            const struct prof_event *e = &r->events[i];
            if (e->type != PROF_TRACE || !e->name)
                continue;
            any = true;
            begin(w);
            fprintf(w->to, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%llu,\"dur\":%llu,\"name\":", process, runs + 1,
                    (unsigned long long)e->value, (unsigned long long)length_of(r, i));
            put_text(w->to, e->name);
            fputs("}", w->to);
        }
        runs += any;
    }
    if (runs)
        put_name(w, "process_name", process, 0, name);
    return runs;
}

/* ---- the files -------------------------------------------------------------------------------------------------------- */

static enum status read_config(const char *path, struct writer *w)
{
    json_error_t e;
    if (!path)
        return ST_OK;
    json_t *root = json_load_file(path, 0, &e), *features = json_object_get(root, "features");
    RETURN_IF(!root, ST_INVALID_ARG, "--config %s: line %d: %s", path, e.line, e.text);
    w->report_json = json_is_true(json_object_get(features, "qhas_json"));
    json_decref(root);
    return ST_OK;
}

static enum status write_report_file(const char *path, bool html, json_t *reports)
{
    CLEANUP(file_write_abort) struct file_write file = { 0 };
    TRY(file_write_begin(&file, path));

    int failed = 0;
    if (html)
        failed = trace_report_html(reports, file.to);
    else
        failed = json_dumpf(reports, file.to, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    RETURN_IF(failed, ST_IO, "cannot write \"%s\": %s", path, strerror(file.error ? file.error : errno));

    return file_write_end(&file);
}

/* chrometrace.json and chrometrace.json.gz have chrometrace_qnn_htp_analysis_summary.html beside them. */
static enum status write_report(const struct profile_job *job, const struct writer *w, json_t *reports)
{
    CLEANUP(str_finish) struct str path;
    str_init(&path);
    if (!job->output || !json_array_size(reports))
        return ST_OK;
    size_t n = strlen(job->output);
    n -= n > 3 && str_eq(job->output + n - 3, ".gz") ? 3 : 0;
    n -= n > 5 && strncmp(job->output + n - 5, ".json", 5) == 0 ? 5 : 0;
    for (int html = 0; html < 2; html++) {
        if (!html && !w->report_json)
            continue;
        path.n = 0;
        str_addf(&path, "%.*s_qnn_htp_analysis_summary.%s", (int)n, job->output, html ? "html" : "json");
        RETURN_IF(path.failed, ST_NO_MEMORY, "no memory for the name of the report");
        TRY(write_report_file(str_text(&path), html, reports));
    }
    return ST_OK;
}

static enum status put_binary(const struct profile_job *job, struct writer *w, const struct binary *b)
{
    json_t *reports = json_array();
    enum status st = ST_OK;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < b->n_graphs && st == ST_OK; i++) {
        struct trace_graph t = { 0 };
        bool zoom = job->zoom_start || job->zoom_end;
        if (!b->graphs[i].timeline.n_spans)
            continue;
        st = trace_graph_open(&b->graphs[i], job->zoom_start, job->zoom_end, &t);
        if (st == ST_INVALID_ARG && zoom && b->n_graphs > 1) { /* another graph has these nodes */
            st = ST_OK;
            continue;
        }
        if (st == ST_OK) {
            put_graph(w, &t, i + 1);
            json_array_append_new(reports, trace_report(&t));
            shown++;
        }
        trace_graph_close(&t);
    }
    if (st == ST_OK && !shown)
        st = status_fail(ST_INVALID_ARG, "\"%s\" has no estimate for these nodes; a context binary of libQnnHtp.so has one",
                         job->schematic);
    if (st == ST_OK)
        st = write_report(job, w, reports);
    json_decref(reports);
    return st;
}

static enum status put_schematic(const struct profile_job *job, struct writer *w)
{
    struct tool_file f = { 0 };
    struct binary b;
    TRY(tool_file_map(job->schematic, &f));
    enum status st = binary_open(f.data, f.size, &b);
    if (st == ST_OK) {
        st = put_binary(job, w, &b);
        binary_close(&b);
    } else {
        st = status_prefix(st, "\"%s\"", job->schematic);
    }
    tool_file_free(&f);
    return st;
}

static enum status write_all(const struct profile_job *job)
{
    struct writer w = { .to = job->to };
    uint32_t runs = 0;
    TRY(read_config(job->config, &w));
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", w.to);
    if (job->schematic)
        TRY(put_schematic(job, &w));
    for (size_t i = 0; i < job->n; i++)
        runs += put_log(&w, job->logs[i], job->names[i], THIS_COMPUTER + (uint32_t)i);
    fputs("\n]}\n", w.to);
    RETURN_IF(!runs && !job->schematic, ST_INVALID_ARG,
              "the log has no timeline; run with --profiling_level detailed --profiling_option optrace, or give the context "
              "binary that ran with --schematic FILE");
    return ST_OK;
}

static int write_trace(const struct profile_job *job)
{
    return write_all(job) != ST_OK;
}

extern const struct profile_reader openqnn_profile_reader;
__attribute__((visibility("default"))) const struct profile_reader openqnn_profile_reader = {
    .version = READER_VERSION,
    .name = "timeline",
    .timeline = true,
    .write = write_trace,
    .explain = status_text,
};
