/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-profile-viewer: shows the profiling logs that qnn-net-run and other clients of QnnSystemProfile write. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "common/tool_file.h"
#include "common/tool_library.h"
#include "common/tool_log.h"
#include "common/tool_options.h"
#include "memory_map/memory_map.h"
#include "profile_viewer/profile_reader.h"
#include "profile_viewer/profile_stats.h"

struct viewer {
    struct opt_list logs;
    const char *output, *reader, *config, *schematic, *dlc, *binary, *map_file;
    uint32_t map_format;
    int64_t zoom_start, zoom_end;
    bool gzip, zoom_given, map;
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
    { "memory_map_file", OPT_STRING, AT(map_file), .argument = "FILE", .help = "Where the memory map goes; standard output when not given." },
    { "reader", OPT_STRING, AT(reader), .argument = "LIB", .help = "Another view of the log instead, by a reader library: libQnnGpuProfilingReader.so writes JSON to --output or to standard output." },
    { "config", OPT_STRING, AT(config), .argument = "JSON", .help = "Settings of the reader library." },
    { "schematic", OPT_STRING, AT(schematic), .argument = "FILE",
      .help = "Schematic of the graph, for readers of accelerator timelines." },
    { "dlc", OPT_STRING, AT(dlc), .argument = "FILE", .help = "The model, for readers of accelerator timelines." },
    { "zoom_start", OPT_NUMBER, AT(zoom_start), .argument = "N", .max = -1, .seen = AT(zoom_given),
      .help = "Start of the timeline, for readers." },
    { "zoom_end", OPT_NUMBER, AT(zoom_end), .argument = "N", .max = -1, .seen = AT(zoom_given),
      .help = "End of the timeline, for readers." },
    { "gzip", OPT_FLAG, AT(gzip), .help = "Compress the output of a reader." },
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
    RETURN_IF((o->map || o->map_file) && !o->binary, ST_INVALID_ARG, "--memory_map needs the context binary that ran; give it with --context_binary FILE");
    RETURN_IF(o->config || o->schematic || o->dlc || o->zoom_given || o->gzip, ST_NOT_SUPPORTED,
              "--config, --schematic, --dlc, --zoom_start, --zoom_end and --gzip belong to readers of accelerator timelines, which this "
              "version does not have");
    return ST_OK;
}

static enum status read_log(const char *path, struct prof_log *ret)
{
    struct tool_file f = { 0 };
    TRY(tool_file_read(path, &f));
    enum status st = prof_log_read(f.data, f.size, ret);
    const char *kind = st == ST_OK ? NULL : tool_file_kind(f.data, f.size);
    tool_file_free(&f);
    return st == ST_OK ? st : status_prefix(st, kind ? "\"%s\" (%s)" : "\"%s\"", path, kind);
}

static enum status use_reader(const struct viewer *o, void *library, const struct prof_log *const *list)
{
    void *found;
    TRY(library_symbol(library, o->reader, READER_SYMBOL, &found));
    const struct profile_reader *r = found;
    RETURN_IF(r->version != READER_VERSION, ST_NOT_SUPPORTED, "--reader %s has version %u; %d is needed: take both from one installation", o->reader, r->version,
              (int)READER_VERSION);
    FILE *to = o->output ? fopen(o->output, "w") : stdout;
    RETURN_IF(!to, ST_IO, "cannot write \"%s\": %s", o->output, strerror(errno));
    bool failed = r->write(list, o->logs.items, o->logs.n, to) != 0;
    bool written = fflush(to) == 0 && !ferror(to);
    written &= !o->output || fclose(to) == 0;
    RETURN_IF(failed, ST_IO, "--reader %s: %s", o->reader, r->explain()); /* it keeps its sentence in memory of its own */
    RETURN_IF(!written, ST_IO, "cannot write \"%s\": %s", o->output ? o->output : "the standard output", strerror(errno));
    return ST_OK;
}

/* In place of text and CSV. */
static enum status view_with_reader(const struct viewer *o, const struct prof_log *const *list)
{
    void *library;
    TRY(library_open(o->reader, &library));
    enum status st = use_reader(o, library, list);
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
    if (o->reader)
        return view_with_reader(o, list);
    for (size_t i = 0; i < o->logs.n; i++)
        TRY(viewer_print_text(&logs[i], o->logs.items[i], stdout));
    if (o->output)
        TRY(viewer_write_csv(list, o->logs.n, o->output));
    if (!o->binary)
        return ST_OK;
    if (!o->map_file)
        printf("\nMemory:\n-------\n");
    return map_show(o->binary, o->map_format, o->map_file);
}

int main(int argc, char **argv)
{
    struct viewer o = { 0 };
    struct arena arena;
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
