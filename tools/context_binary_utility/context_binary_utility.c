/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-context-binary-utility: tells what is in a context binary, as JSON or as text. */
#include <stddef.h>
#include <stdio.h>

#include "base/file_kind.h"
#include "base/str.h"
#include "binary/binary.h"
#include "common/tool_file.h"
#include "common/tool_library.h"
#include "common/tool_log.h"
#include "common/tool_options.h"
#include "context_binary_utility/advise_show.h"
#include "context_binary_utility/binary_report.h"
#include "memory_map/memory_map.h"

struct utility {
    const char *binary, *json, *system_library, *map_file, *advice_file, *dlc, *backend;
    bool summary, map, advise;
    uint32_t version, map_format;
};

static const char *const versions[] = { "1", "3", NULL };

#define AT(member) offsetof(struct utility, member)
static const struct tool_option options[] = {
    { "context_binary", OPT_STRING, AT(binary), .argument = "FILE",
      .help = "The context binary. One whose checksums are wrong is refused.", .required = true },
    { "json_file", OPT_STRING, AT(json), .argument = "FILE",
      .help = "Write the description as JSON. Sizes are in bytes, except vtcmSize, which is in megabytes." },
    { "json_version", OPT_CHOICE, AT(version), .choices = versions,
      .help = "1 (default): graphs, tensors and blobs inside \"info\" objects; 3: their fields flat. Keys and units are the "
              "same." },
    { "summary", OPT_FLAG, AT(summary),
      .help = "Print a summary for people: graphs, inputs, outputs, planned memory. Also done without --json_file." },
    { "memory_map", OPT_CHOICE, AT(map_format), .choices = map_formats, .seen = AT(map),
      .help = "Show which tensor lies where in scratch memory, and when, the peak and what it is made of: as text, as JSON, "
              "or as an HTML page with a "
              "picture that needs nothing but a browser." },
    { "memory_map_file", OPT_STRING, AT(map_file), .argument = "FILE",
      .help = "Where the memory map goes; standard output when not given." },
    { "advise", OPT_FLAG, AT(advise),
      .help = "Say what in the graphs costs time, accuracy or support on an HTP, why, what to change, and what the estimate "
              "says that this saves; and what the plan takes on other SoCs." },
    { "advise_file", OPT_STRING, AT(advice_file), .argument = "FILE",
      .help = "Where the advice goes: JSON when FILE ends with .json, otherwise text; standard output when not given." },
    { "what_if", OPT_STRING, AT(dlc), .argument = "MODEL.dlc",
      .help = "With --advise: also compile the model that the context binary was made of for other SoCs, sizes of VTCM and "
              "with O3, and say what the estimate says of each." },
    { "backend", OPT_STRING, AT(backend), .argument = "FILE", .help = "libQnnHtp.so, for --what_if." },
    { "system_library", OPT_STRING, AT(system_library), .argument = "FILE",
      .help = "libQnnSystem.so; looked for in the usual places when not given." },
    {}
};

static const struct tool_program program = {
    .name = "qnn-context-binary-utility",
    .summary = "tells what is in a context binary.",
    .usage = "--context_binary FILE [--json_file FILE] [--summary] [--memory_map text|json|html [--memory_map_file FILE]] "
             "[--advise]",
    .options = options,
    .examples =
        "  qnn-context-binary-utility --context_binary out/model.bin --summary\n"
        "  qnn-context-binary-utility --context_binary out/model.bin --json_file model.json\n"
        "  qnn-context-binary-utility --context_binary out/model.bin --advise\n"
        "  qnn-context-binary-utility --context_binary out/model.bin --memory_map html --memory_map_file memory.html\n",
};

/* The description has nothing of the weights, but who asks what is in a file wants to know when it is damaged. */
static enum status check_weights(const struct utility *o, const struct tool_file *f)
{
    struct binary b;
    if (binary_open(f->data, f->size, &b) != ST_OK)
        return ST_OK; /* libQnnSystem.so says what is wrong, in its own words */

    enum status st = binary_verify_constants(&b);
    binary_close(&b);
    return st == ST_OK ? ST_OK : status_prefix(st, "\"%s\"", o->binary);
}

static enum status advise(const struct utility *o, const struct tool_file *f)
{
    const struct advise_want want = {
        .binary = o->binary, .to = o->advice_file, .dlc = o->dlc, .backend = o->backend, .system_library = o->system_library
    };

    return advise_show(&want, f);
}

static enum status describe(const struct utility *o, struct library_system *sys, const struct tool_file *f)
{
    QnnSystemContext_Handle_t reader = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    Qnn_ErrorHandle_t error = sys->api.systemContextCreate(&reader);
    if (error != QNN_SUCCESS)
        return library_fail(NULL, error, "libQnnSystem.so: systemContextCreate");
    enum status st = ST_OK;
    error = sys->api.systemContextGetBinaryInfo(reader, f->data, f->size, &info, &info_size);
    if (error != QNN_SUCCESS) {
        st = library_fail(NULL, error, "the %zu bytes could not be read as a context binary", f->size);
        st = file_kind_explain(st, f->data, f->size, FILE_CONTEXT_BINARY, "a context binary");
        st = status_prefix(st, "\"%s\"", o->binary);
    }
    if (st == ST_OK)
        st = check_weights(o, f);
    if (st == ST_OK && o->json)
        st = report_json(info, o->version ? 3 : 1, o->json);
    if (st == ST_OK && (o->summary || (!o->json && !o->map && !o->advise)))
        report_summary(info, o->binary, f->data, f->size);
    if (st == ST_OK && o->json)
        tool_log(TOOL_INFO, "wrote \"%s\"", o->json);
    sys->api.systemContextFree(reader);
    if (st == ST_OK && o->map)
        st = map_show(o->binary, o->map_format, o->map_file);
    if (st == ST_OK && o->advise)
        st = advise(o, f);
    if (st == ST_OK && o->map && o->map_file)
        tool_log(TOOL_INFO, "wrote \"%s\"", o->map_file);
    return st;
}

static enum status check_options(const struct utility *o)
{
    RETURN_IF((o->advice_file || o->dlc) && !o->advise, ST_INVALID_ARG,
              "--advise_file and --what_if say what becomes of advice; add --advise");
    RETURN_IF(o->backend && !o->dlc, ST_INVALID_ARG, "--backend compiles the model of --what_if; add --what_if MODEL.dlc");
    return ST_OK;
}

int main(int argc, char **argv)
{
    struct utility o = { 0 };
    struct library_system sys = { 0 };
    struct tool_file f = { 0 };
    struct arena arena;
    arena_init(&arena);
    enum tool_next next = tool_options_parse(&program, argc, argv, &o, &arena);
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN) {
        enum status st = check_options(&o);
        if (st == ST_OK)
            st = tool_file_map(o.binary, &f);
        if (st == ST_OK)
            st = library_open_system(o.system_library, NULL, &sys);
        if (st == ST_OK)
            st = describe(&o, &sys, &f);
        code = st == ST_OK ? 0 : tool_report(program.name, st);
    }
    library_close(sys.library);
    tool_file_free(&f);
    arena_finish(&arena);
    return code;
}
