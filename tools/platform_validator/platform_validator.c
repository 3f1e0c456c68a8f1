/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-platform-validator: which backends are installed and work here, and which files are missing. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/str.h"
#include "common/tool_file.h"
#include "common/tool_log.h"
#include "common/tool_options.h"
#include "platform_validator/platform_check.h"

struct validator {
    const char *backend, *directory, *dsp_type, *variant, *device, *target_path, *host, *output;
    bool test, core, library, debug;
};

static const struct {
    const char *option, *title, *library;
    enum platform_test test;
} backends[] = {
    { "cpu", "CPU", "libQnnCpu.so", PLATFORM_TEST_FLOATS },   { "gpu", "GPU", "libQnnGpu.so", PLATFORM_TEST_FLOATS },
    { "dsp", "DSP", "libQnnHtp.so", PLATFORM_TEST_FLOATS },   { "htp", "HTP", "libQnnHtp.so", PLATFORM_TEST_FLOATS },
    { "lpai", "LPAI", "libQnnLpai.so", PLATFORM_TEST_BYTES },
};
enum { N_BACKENDS = sizeof(backends) / sizeof(backends[0]) };

#define AT(member) offsetof(struct validator, member)
static const struct tool_option options[] = {
    { "backend", OPT_STRING, AT(backend), .argument = "all|cpu|gpu|dsp|htp|lpai", .help = "What to check.",
      .required = true },
    { "directory", OPT_STRING, AT(directory), .argument = "SDK",
      .help = "Root of the SDK; the one this program is in when not given." },
    { "testBackend", OPT_FLAG, AT(test), .help = "Also run a small graph." },
    { "coreVersion", OPT_FLAG, AT(core), .help = "Show the version of the core API only." },
    { "libVersion", OPT_FLAG, AT(library), .help = "Show the version of the library only." },
    { "output_dir", OPT_STRING, AT(output), .argument = "DIR", .help = "Folder of the CSV file; output when not given." },
    { "dsp_type", OPT_STRING, AT(dsp_type), .argument = "v66|v68|...",
      .help = "Architecture of the DSP; accepted, every one is checked the same way here." },
    { "buildVariant", OPT_STRING, AT(variant), .argument = "VARIANT",
      .help = "Accepted; this SDK has x86_64-linux-clang only." },
    { "deviceId", OPT_STRING, AT(device), .argument = "ID", .help = "Accepted; the check runs on this machine." },
    { "targetPath", OPT_STRING, AT(target_path), .argument = "DIR", .help = "Accepted; nothing is copied to a device." },
    { "remoteHost", OPT_STRING, AT(host), .argument = "HOST", .help = "Accepted; the check runs on this machine." },
    { "debug", OPT_FLAG, AT(debug), .help = "Show more of what is done." },
    {}
};

static const struct tool_program program = {
    .name = "qnn-platform-validator",
    .summary = "tells which backends are installed and work on this machine.",
    .usage = "--backend all [--directory SDK] [--testBackend]",
    .options = options,
    .examples = "  qnn-platform-validator --backend all --testBackend\n"
                "  qnn-platform-validator --backend cpu --directory /opt/openqnn --libVersion\n",
};

static void library_path(const struct validator *o, const char *name, char *to, size_t size)
{
    if (o->directory)
        snprintf(to, size, "%s/lib/x86_64-linux-clang/%s", o->directory, name);
    else
        snprintf(to, size, "%s", name);
}

static void show(const struct validator *o, const struct platform_report *r)
{
    if (o->core && !o->library) {
        tool_say("%s core version: %s", r->name, r->found ? r->core : "not found");
        return;
    }
    if (o->library && !o->core) {
        tool_say("%s library version: %s", r->name, r->found ? r->version : "not found");
        return;
    }
    tool_say("Backend = %s {", r->name);
    tool_say("  Backend Hardware  : %s", r->supported ? "Supported" : r->found ? "Not Supported" : "Unknown");
    tool_say("  Backend Libraries : %s (%s)", r->found ? "Found" : "Not Found", r->library);
    tool_say("  Library Version   : %s", r->found ? r->version : "Not Queried");
    tool_say("  Core Version      : %s", r->found ? r->core : "Not Queried");
    tool_say("  Unit Test         : %s", r->tested ? (r->passed ? "Passed" : "Failed") : "Not Queried");
    if (r->why[0])
        tool_say("  Reason            : %s", r->why);
    tool_say("}");
}

static enum status write_csv(const char *dir, const struct platform_report *r, size_t n)
{
    CLEANUP(str_finish) struct str text, path;
    str_init(&text);
    str_init(&path);
    str_add(&text, "Backend,Backend Hardware,Backend Libraries,Library Version,Core Version,Unit Test\n");
    for (size_t i = 0; i < n; i++)
        str_addf(&text, "%s,%s,%s,%s,%s,%s\n", r[i].name, r[i].supported ? "Supported" : "Not Supported",
                 r[i].found ? "Found" : "Not Found", r[i].version, r[i].core,
                 r[i].tested ? (r[i].passed ? "Passed" : "Failed") : "Not Queried");
    str_addf(&path, "%s/Result.csv", dir);
    RETURN_IF(text.failed || path.failed, ST_NO_MEMORY, "CSV text");
    TRY(tool_make_dirs(dir));
    return tool_file_write(str_text(&path), str_text(&text), text.n);
}

static enum status validate(const struct validator *o)
{
    struct platform_report reports[N_BACKENDS] = { 0 };
    size_t n = 0;
    bool all = str_eq(o->backend, "all"), ok = true;
    for (size_t i = 0; i < N_BACKENDS; i++) {
        char path[PATH_MAX];
        if (!all && !str_eq(o->backend, backends[i].option))
            continue;
        if (all && str_eq(backends[i].option, "dsp"))
            continue; /* the same library as HTP */
        reports[n].name = backends[i].title;
        library_path(o, backends[i].library, path, sizeof(path));
        platform_check(path, o->test ? backends[i].test : PLATFORM_NO_TEST, NULL, &reports[n]);
        show(o, &reports[n]);
        ok &= reports[n].supported || (all && !reports[n].found);
        ok &= !reports[n].tested || reports[n].passed;
        n++;
    }
    RETURN_IF(!n, ST_INVALID_ARG, "--backend \"%s\" is not known; choose one of: all, cpu, gpu, dsp, htp, lpai", o->backend);
    TRY(write_csv(o->output ? o->output : "output", reports, n));
    RETURN_IF(!ok, ST_NOT_SUPPORTED, "a backend does not work here; the reason is above");
    return ST_OK;
}

int main(int argc, char **argv)
{
    struct validator o = { 0 };
    struct arena arena;
    arena_init(&arena);
    enum tool_next next = tool_options_parse(&program, argc, argv, &o, &arena);
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN) {
        if (o.debug)
            tool_log_level(TOOL_DEBUG);
        enum status st = validate(&o);
        code = st == ST_OK ? 0 : tool_report(program.name, st);
    }
    arena_finish(&arena);
    return code;
}
