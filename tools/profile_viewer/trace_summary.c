/* SPDX-License-Identifier: Apache-2.0 */
/* What lies beside a timeline and analyses it: QHAS as a page, as JSON and its schema, and the memory map that the page
 * links to. */
#include <errno.h>
#include <string.h>

#include "analysis/advise.h"
#include "analysis/htp_json.h"
#include "analysis/qhas.h"
#include "base/file_write.h"
#include "base/mem.h"
#include "base/str.h"
#include "memory_map/memory_map.h"
#include "profile_viewer/trace_model.h"

static const char *without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct qhas_graph qhas_graph_of(const struct trace_set *set, uint32_t i)
{
    const struct trace_graph *t = &set->graphs[i];

    return (struct qhas_graph){
        .g = t->g,
        .index = (uint32_t)(t->g - set->binary->graphs),
        .target = &set->binary->target,
        .wanted = t->wanted,
        .sources = t->sources,
    };
}

static enum status write_text(const struct trace_set *set, const char *ending, const char *text, size_t size)
{
    CLEANUP(str_finish) struct str path;

    str_init(&path);
    TRY(trace_path_beside(set->job, ending, &path));
    return file_write_all(str_text(&path), text, size);
}

static enum status write_memory_map(const struct trace_set *set)
{
    CLEANUP(str_finish) struct str out;

    str_init(&out);
    TRY(map_write(set->binary, without_folder(set->job->schematic), MAP_HTML, &out));
    return write_text(set, "_memory_map.html", str_text(&out), out.n);
}

static enum status write_page(const struct trace_set *set, const json_t *reports)
{
    CLEANUP(str_finish) struct str path;
    CLEANUP(str_finish) struct str map;
    CLEANUP(file_write_abort) struct file_write file = { 0 };
    struct qhas_links links = { .trace = without_folder(set->job->output) };

    str_init(&path);
    str_init(&map);
    TRY(trace_path_beside(set->job, "_qnn_htp_analysis_summary.html", &path));
    TRY(trace_path_beside(set->job, "_memory_map.html", &map));
    TRY(file_write_begin(&file, str_text(&path)));

    links.memory_map = without_folder(str_text(&map));
    if (qhas_html(reports, &links, file.to))
        return status_fail(ST_IO, "cannot write \"%s\": %s", str_text(&path), strerror(file.error ? file.error : errno));
    return file_write_end(&file);
}

static enum status write_json(const struct trace_set *set, const json_t *reports)
{
    CLEANUP(str_finish) struct str path;
    CLEANUP(file_write_abort) struct file_write file = { 0 };

    str_init(&path);
    TRY(trace_path_beside(set->job, "_qnn_htp_analysis_summary.json", &path));
    TRY(file_write_begin(&file, str_text(&path)));
    if (json_dumpf(reports, file.to, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12)))
        return status_fail(ST_IO, "cannot write \"%s\": %s", str_text(&path), strerror(file.error ? file.error : errno));
    return file_write_end(&file);
}

/* Netron shows one graph of a file, so each has its own. */
static enum status write_topology(const struct trace_set *set, uint32_t i, const json_t *report)
{
    CLEANUP(str_finish) struct str ending;
    CLEANUP(str_finish) struct str path;
    CLEANUP(file_write_abort) struct file_write file = { 0 };
    struct qhas_graph q = qhas_graph_of(set, i);

    str_init(&ending);
    str_init(&path);
    if (set->n > 1)
        str_addf(&ending, "_%s", q.g->info.name);
    str_add(&ending, "_htp.json");
    for (char *c = ending.at; c && *c; c++)
        *c = *c == '/' ? '_' : *c;
    TRY(trace_path_beside(set->job, str_text(&ending), &path));

    json_t *net = htp_json(&q, report);
    RETURN_IF(!net, ST_NO_MEMORY, "no memory for \"%s\"", str_text(&path));
    enum status st = file_write_begin(&file, str_text(&path));
    if (st == ST_OK && json_dumpf(net, file.to, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)))
        st = status_fail(ST_IO, "cannot write \"%s\": %s", str_text(&path), strerror(file.error ? file.error : errno));
    json_decref(net);
    return st == ST_OK ? file_write_end(&file) : st;
}

static enum status write_files(const struct trace_set *set, const json_t *reports)
{
    TRY(write_memory_map(set));
    TRY(write_page(set, reports));
    if (set->config->qhas_json)
        TRY(write_json(set, reports));
    if (set->config->qhas_schema)
        TRY(write_text(set, "_qhas_schema.json", qhas_schema, strlen(qhas_schema)));
    for (uint32_t i = 0; set->config->htp_json && i < set->n; i++)
        TRY(write_topology(set, i, json_array_get(reports, i)));
    return ST_OK;
}

static enum status make_reports(const struct trace_set *set, json_t *reports)
{
    for (uint32_t i = 0; i < set->n; i++) {
        struct qhas_graph q = qhas_graph_of(set, i);
        json_t *report = qhas_report(&q);
        if (!report)
            return ST_NO_MEMORY; /* explained there */
        json_array_append_new(reports, report);
        TRY(advise_add_to(&q, &set->binary->target, report));
    }
    return ST_OK;
}

enum status trace_write_files(const struct trace_set *set)
{
    if (!set->job->output || !set->n)
        return ST_OK;

    json_t *reports = json_array();
    enum status st = make_reports(set, reports);
    if (st == ST_OK)
        st = write_files(set, reports);
    json_decref(reports);
    return st;
}
