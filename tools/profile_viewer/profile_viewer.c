/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-profile-viewer: shows the profiling logs that qnn-net-run and other clients of QnnSystemProfile write. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/file_kind.h"
#include "base/file_write.h"
#include "base/mem.h"
#include "common/tool_file.h"
#include "common/tool_library.h"
#include "common/tool_log.h"
#include "common/tool_options.h"
#include "memory_map/memory_map.h"
#include "profile_viewer/compare_logs.h"
#include "profile_viewer/profile_reader.h"
#include "profile_viewer/profile_stats.h"

struct viewer {
    struct opt_list logs;
    const char *output, *reader, *config, *schematic, *dlc, *binary, *map_file, *zoom_start, *zoom_end;
    const char *compared; /* compare_logs.c reads it */
    uint32_t map_format;
    bool gzip, map;
};

#define AT(member) offsetof(struct viewer, member)
static const struct tool_option options[] = {
    { "input_log", OPT_LIST, AT(logs), .argument = "LOG[,LOG...]",
      .help = "Profiling logs, for instance output/qnn-profiling-data.log.", .required = true },
    { "output", OPT_STRING, AT(output), .argument = "FILE", .help = "Write every event of all logs as CSV." },
    { "context_binary", OPT_STRING, AT(binary), .argument = "FILE",
      .help = "The context binary that ran; with it the memory map follows the times." },
    { "memory_map", OPT_CHOICE, AT(map_format), .choices = map_formats, .seen = AT(map),
      .help = "How the memory of --context_binary is shown: text (default), json or html." },
    { "memory_map_file", OPT_STRING, AT(map_file), .argument = "FILE",
      .help = "Where the memory map goes; standard output when not given." },
    { "reader", OPT_STRING, AT(reader), .argument = "LIB",
      .help = "Another view of the log instead, by a reader library, to --output or to standard output: "
              "libQnnJsonProfilingReader.so writes JSON, libQnnHtpOptraceProfilingReader.so a timeline." },
    { "config", OPT_STRING, AT(config), .argument = "JSON", .help = "Settings of the reader library." },
    { "schematic", OPT_STRING, AT(schematic), .argument = "FILE",
      .help = "Schematic of the graph, or the context binary that ran, for readers of accelerator timelines." },
    { "dlc", OPT_STRING, AT(dlc), .argument = "FILE",
      .help = "The model that was converted, for readers of accelerator timelines: names of its framework." },
    { "zoom_start", OPT_STRING, AT(zoom_start), .argument = "NODE",
      .help = "Only what needs this node (or operator of the framework, or tensor), for readers." },
    { "zoom_end", OPT_STRING, AT(zoom_end), .argument = "NODE",
      .help = "Only what this node (or operator, or tensor) needs, for readers." },
    { "compare", OPT_STRING, AT(compared), .argument = "A.log B.log",
      .help =
          "Instead of all else: what changed from one log to the other, per event and operator, as text, JSON or a page; "
          "--compare A.log B.log --help shows its options." },
    { "gzip", OPT_FLAG, AT(gzip), .help = "Compress the output of a reader; so does an output whose name ends with .gz." },
    {}
};

static const struct tool_program program = {
    .name = "qnn-profile-viewer",
    .summary = "shows where the time of a profiled run went.",
    .usage = "--input_log LOG[,LOG...] [--output FILE.csv] [--context_binary FILE [--memory_map text|json|html]]",
    .options = options,
    .examples = "  qnn-net-run --backend libQnnCpu.so --model libmodel.so --input_list list.txt --profiling_level detailed\n"
                "  qnn-profile-viewer --input_log output/qnn-profiling-data.log --output profile.csv\n",
};

static enum status check_options(const struct viewer *o)
{
    RETURN_IF((o->map || o->map_file) && !o->binary, ST_INVALID_ARG,
              "--memory_map needs the context binary that ran; give it with --context_binary FILE");
    RETURN_IF(!o->reader && (o->config || o->schematic || o->dlc || o->zoom_start || o->zoom_end || o->gzip), ST_INVALID_ARG,
              "--config, --schematic, --dlc, --zoom_start, --zoom_end and --gzip belong to readers; give one with --reader, "
              "for instance libQnnHtpOptraceProfilingReader.so");
    return ST_OK;
}

static enum status read_log(const char *path, struct prof_log *ret)
{
    struct tool_file f = { 0 };
    TRY(tool_file_read(path, &f));
    enum status st = prof_log_read(f.data, f.size, ret);
    st = file_kind_explain(st, f.data, f.size, FILE_PROFILE_LOG, "a profile log");
    tool_file_free(&f);
    return st == ST_OK ? st : status_prefix(st, "\"%s\"", path);
}

static bool named_gzip(const struct viewer *o)
{
    size_t n = o->output ? strlen(o->output) : 0;
    return n > 3 && str_eq(o->output + n - 3, ".gz");
}

/* What was written into memory. */
static enum status compress_to(const char *path, const char *data, size_t size)
{
    CLEANUP(file_write_abort) struct file_write file = { 0 };
    TRY(file_write_begin(&file, path));

    int fd = dup(file.fd); /* gzclose closes it */
    gzFile f = fd >= 0 ? gzdopen(fd, "wb") : NULL;
    if (!f && fd >= 0)
        close(fd);
    bool ok = f != NULL;
    for (size_t at = 0; ok && at < size;) {
        unsigned part = size - at < UINT32_MAX / 4 ? (unsigned)(size - at) : UINT32_MAX / 4;
        ok = gzwrite(f, data + at, part) == (int)part;
        at += part;
    }
    ok &= !f || gzclose(f) == Z_OK;
    RETURN_IF(!ok, ST_IO, "cannot write \"%s\": %s", path, strerror(errno));

    return file_write_end(&file);
}

/* To a file, to the standard output, or into memory. A reader that fails leaves a former file as it was. */
static enum status run_reader(const struct viewer *o, const struct profile_reader *r, struct profile_job *job)
{
    char *data = NULL;
    size_t size = 0;
    bool zip = job->gzip;
    bool to_file = o->output && !zip;
    CLEANUP(file_write_abort) struct file_write file = { 0 };
    if (to_file)
        TRY(file_write_begin(&file, o->output));

    job->to = stdout;
    if (to_file)
        job->to = file.to;
    else if (zip)
        job->to = open_memstream(&data, &size);
    RETURN_IF(!job->to, ST_NO_MEMORY, "no memory for the output of --reader %s", o->reader);

    bool failed = r->write(job) != 0;
    bool written = fflush(job->to) == 0 && !ferror(job->to);
    written &= !zip || fclose(job->to) == 0;
    enum status st = failed ? status_fail(ST_IO, "--reader %s: %s", o->reader, r->explain())
                            : ST_OK; /* it keeps its sentence in memory of its own */
    if (st == ST_OK && !written && !to_file)
        st = status_fail(ST_IO, "cannot write to %s: %s", zip ? "memory" : "the standard output", strerror(errno));
    if (st == ST_OK && to_file)
        st = file_write_end(&file);
    if (st == ST_OK && zip)
        st = compress_to(o->output, data, size);
    free(data);
    return st;
}

static enum status find_reader(const struct viewer *o, void *library, const struct profile_reader **ret)
{
    void *found;
    TRY(library_symbol(library, o->reader, READER_SYMBOL, &found));
    const struct profile_reader *r = *ret = found;
    RETURN_IF(r->version != READER_VERSION, ST_NOT_SUPPORTED,
              "--reader %s has version %u; %d is needed: take both from one installation", o->reader, r->version,
              (int)READER_VERSION);
    RETURN_IF(!r->timeline && (o->config || o->schematic || o->dlc || o->zoom_start || o->zoom_end), ST_NOT_SUPPORTED,
              "--config, --schematic, --dlc, --zoom_start and --zoom_end belong to readers of accelerator timelines; "
              "--reader %s (%s) is none",
              o->reader, r->name);
    RETURN_IF(!r->write && (o->gzip || named_gzip(o)), ST_NOT_SUPPORTED,
              "--output %s: what --reader %s (%s) writes is CSV, which is not compressed", o->output, o->reader, r->name);
    return ST_OK;
}

static enum status view_plainly(const struct viewer *o, const struct prof_log *const *list, bool runs, bool csv)
{
    for (size_t i = 0; i < o->logs.n; i++)
        TRY(viewer_print_text(list[i], o->logs.items[i], runs, stdout));
    if (o->output && csv)
        TRY(viewer_write_csv(list, o->logs.n, o->output));
    if (!o->binary)
        return ST_OK;
    if (!o->map_file)
        printf("\nMemory:\n-------\n");
    return map_show(o->binary, o->map_format, o->map_file);
}

/* The reader's text, and what it writes: to --output where there is a text, else in its place. */
static enum status use_reader(const struct viewer *o, const struct profile_reader *r, struct profile_job *job)
{
    if (r->settings && r->settings(job) != 0)
        return status_fail(ST_INVALID_ARG, "--reader %s: %s", o->reader, r->explain());
    RETURN_IF(job->gzip && !o->output, ST_INVALID_ARG,
              "--gzip, and the setting gzip, need a file; give it with --output FILE.json.gz");

    if (r->text != TEXT_NONE)
        TRY(view_plainly(o, job->logs, r->text == TEXT_RUNS, !r->write));
    return r->write && (o->output || r->text == TEXT_NONE) ? run_reader(o, r, job) : ST_OK;
}

static enum status view_with_reader(const struct viewer *o, const struct prof_log *const *list)
{
    void *library;
    const struct profile_reader *r;
    struct profile_job job = { .logs = list,
                               .names = o->logs.items,
                               .n = o->logs.n,
                               .output = o->output,
                               .schematic = o->schematic ? o->schematic : o->binary,
                               .config = o->config,
                               .dlc = o->dlc,
                               .gzip = o->gzip || named_gzip(o),
                               .zoom_start = o->zoom_start,
                               .zoom_end = o->zoom_end };
    TRY(library_open(o->reader, &library));
    enum status st = find_reader(o, library, &r);
    if (st == ST_OK)
        st = use_reader(o, r, &job);
    library_close(library);
    return st;
}

static enum status view(const struct viewer *o, struct prof_log *logs, const struct prof_log **list)
{
    TRY(check_options(o));
    for (size_t i = 0; i < o->logs.n; i++) {
        TRY(read_log(o->logs.items[i], &logs[i]));
        list[i] = &logs[i];
    }
    return o->reader ? view_with_reader(o, list) : view_plainly(o, list, false, true);
}

int main(int argc, char **argv)
{
    struct viewer o = { 0 };
    struct arena arena;
    if (viewer_compares(argc, argv))
        return viewer_compare(argc, argv);
    arena_init(&arena);
    enum tool_next next = tool_options_parse(&program, argc, argv, &o, &arena);
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN) {
        struct prof_log *logs = arena_array(&arena, struct prof_log, o.logs.n + 1);
        const struct prof_log **list = arena_array(&arena, const struct prof_log *, o.logs.n + 1);
        enum status st = logs && list ? view(&o, logs, list) : status_fail(ST_NO_MEMORY, "%zu logs", o.logs.n);
        code = st == ST_OK ? 0 : tool_report(program.name, st);
        for (size_t i = 0; logs && i < o.logs.n; i++)
            prof_log_free(&logs[i]);
    }
    arena_finish(&arena);
    return code;
}
