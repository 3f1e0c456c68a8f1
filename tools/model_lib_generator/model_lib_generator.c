/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-model-lib-generator: compiles the source of a model, and its weights, into a model library. */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/tool_file.h"
#include "common/tool_log.h"
#include "common/tool_options.h"
#include "model_lib_generator/weight_archive.h"

extern char **environ;

#define TARGET "x86_64-linux-clang"

struct generator {
    const char *source, *weights, *targets, *name, *output;
    bool verbose;
};

#define AT(member) offsetof(struct generator, member)
static const struct tool_option options[] = {
    { "cpp", OPT_STRING, AT(source), .argument = "FILE", .letter = 'c', .required = true,
      .help = "Source of the model: .c, or .cpp / .cc for C++." },
    { "bin", OPT_STRING, AT(weights), .argument = "FILE", .letter = 'b',
      .help = "Weights: the tar archive of raw files that a converter wrote, or any other file. Each member <name>.raw is "
              "available in the source as extern const uint8_t _binary_obj_binary_<name>_raw_start[], ..._end[]; a file "
              "that is no archive as _binary_<file>_start[], _binary_<file>_end[]." },
    { "target", OPT_STRING, AT(targets), .argument = "TARGETS", .letter = 't',
      .help = "Targets, separated by spaces or commas; this SDK builds " TARGET ", which is also the default." },
    { "lib_name", OPT_STRING, AT(name), .argument = "NAME", .letter = 'l',
      .help = "The library becomes lib<NAME>.so; when not given, named after the weights, else qnn_model." },
    { "output_dir", OPT_STRING, AT(output), .argument = "DIR", .letter = 'o',
      .help = "Libraries go to <DIR>/<target>/; the current folder when not given." },
    { "verbose", OPT_FLAG, AT(verbose), .letter = 'v', .help = "Show the compiler's command line." },
    {}
};

static const struct tool_program program = {
    .name = "qnn-model-lib-generator",
    .summary = "compiles a model source into a library that qnn-net-run and qnn-context-binary-generator load.",
    .usage = "-c model.cpp [-b model.bin] [-l NAME] [-o DIR]",
    .options = options,
    .examples = "  qnn-model-lib-generator -c model.cpp -b model.bin -t " TARGET " -l mynet -o libs\n"
                "  qnn-net-run --backend libQnnCpu.so --model libs/" TARGET "/libmynet.so --input_list list.txt\n"
                "The compilers are gcc and g++, or what CC and CXX say; QNN_SDK_ROOT tells where include/QNN is when the "
                "tool is not inside an SDK.\n",
};

/* ---- what to build ---------------------------------------------------------------------------------------------------- */

static enum status check_targets(const char *targets, struct arena *arena)
{
    struct opt_list list;
    bool found = !targets;
    char *copy = arena_strdup(arena, targets ? targets : "");
    RETURN_IF(!copy, ST_NO_MEMORY, "targets");
    for (char *p = copy; *p; p++)
        *p = *p == ' ' ? ',' : *p;
    TRY(tool_split(copy, ',', arena, &list));
    for (size_t i = 0; i < list.n; i++) {
        if (str_eq(list.items[i], TARGET))
            found = true;
        else
            tool_log(TOOL_WARN, "target %s is left out: this SDK builds model libraries for " TARGET " only", list.items[i]);
    }
    RETURN_IF(!found, ST_NOT_SUPPORTED, "-t \"%s\" has no target this SDK can build; use -t " TARGET, targets);
    return ST_OK;
}

static bool has_header(const char *folder)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/QnnInterface.h", folder);
    return access(path, R_OK) == 0;
}

static enum status find_headers(char *folder, size_t size)
{
    char own[PATH_MAX];
    const char *root = getenv("QNN_SDK_ROOT");
    tool_own_folder(own, sizeof(own));
    snprintf(folder, size, "%s/../../include/QNN", own);
    if (has_header(folder))
        return ST_OK;
    snprintf(folder, size, "%s/include/QNN", root ? root : "");
    RETURN_IF(!root || !has_header(folder), ST_NOT_FOUND,
              "QnnInterface.h was found neither in %s/../../include/QNN nor in $QNN_SDK_ROOT/include/QNN (QNN_SDK_ROOT is "
              "%s); set QNN_SDK_ROOT to the root of the SDK",
              own, root ? root : "not set");
    return ST_OK;
}

static void library_name(const struct generator *o, struct str *to)
{
    const char *slash = o->weights ? strrchr(o->weights, '/') : NULL;
    const char *base = o->name ? o->name : !o->weights ? "qnn_model" : slash ? slash + 1 : o->weights;
    const char *dot = o->name ? NULL : strrchr(base, '.');
    str_addn(to, base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

/* ---- building --------------------------------------------------------------------------------------------------------- */

static enum status run_compiler(char *const *argv, bool verbose, bool has_weights)
{
    pid_t pid;
    int state;
    if (verbose) {
        for (char *const *a = argv; *a; a++)
            printf("%s%s", a == argv ? "" : " ", *a);
        printf("\n");
        fflush(stdout);
    }
    int error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    RETURN_IF(error, ST_SYSTEM, "the compiler \"%s\" could not be started: %s; install gcc and g++, or set CC and CXX",
              argv[0], strerror(error));
    while (waitpid(pid, &state, 0) < 0)
        RETURN_IF(errno != EINTR, ST_SYSTEM, "waiting for the compiler: %s", strerror(errno));
    RETURN_IF(!WIFEXITED(state) || WEXITSTATUS(state), ST_INVALID_ARG,
              "the compiler refused the source; its messages are above%s",
              has_weights ? "" : ". Where they name _binary_obj_binary_…, the weights are missing: give -b MODEL.bin");
    return ST_OK;
}

/* Writes the assembler text of the weights to `path`. */
static enum status write_weights(const char *weights, const char *path)
{
    struct tool_file f = { 0 };
    unsigned count;
    CLEANUP(str_finish) struct str text;
    str_init(&text);
    char *full = realpath(weights, NULL);
    RETURN_IF(!full, ST_IO, "cannot open the weights \"%s\": %s", weights, strerror(errno));
    enum status st = tool_file_map(full, &f);
    if (st == ST_OK)
        st = weight_archive_text(full, f.data, f.size, &text, &count);
    if (st == ST_OK)
        st = tool_file_write(path, str_text(&text), text.n);
    if (st == ST_OK)
        tool_log(TOOL_INFO, "%u weight files, %zu bytes", count, f.size);
    tool_file_free(&f);
    free(full);
    return st;
}

/* What to start: a variable of the environment may say more than a name, as in CC="ccache gcc". */
static enum status compiler_words(const char *variable, const char *usual, struct arena *arena, struct opt_list *ret)
{
    const char *said = getenv(variable);
    TRY(tool_split(said ? said : "", ' ', arena, ret));
    return ret->n ? ST_OK : tool_split(usual, ' ', arena, ret);
}

static enum status compile(const struct generator *o, const char *assembler, const char *library, struct arena *arena)
{
    char include[PATH_MAX + 64] = "-I";
    const char *dot = strrchr(o->source, '.');
    struct opt_list words;
    RETURN_IF(access(o->source, R_OK), ST_IO, "cannot open the source \"%s\": %s", o->source, strerror(errno));
    TRY(find_headers(include + 2, sizeof(include) - 2));
    TRY(dot && str_eq(dot, ".c") ? compiler_words("CC", "gcc", arena, &words) : compiler_words("CXX", "g++", arena, &words));
    /* -z defs: what is missing is told now, and not when the library is loaded. */
    const char *rest[] = { "-shared", "-fPIC", "-O2",   "-Wl,-z,defs", "-fvisibility=hidden",         include,
                           "-o",      library, o->source,              o->weights ? assembler : NULL, NULL };
    const char **argv = arena_alloc_array(arena, words.n + sizeof(rest) / sizeof(rest[0]), sizeof(*argv));
    RETURN_IF(!argv, ST_NO_MEMORY, "command line of the compiler");
    memcpy(argv, words.items, words.n * sizeof(*argv));
    memcpy(argv + words.n, rest, sizeof(rest));
    return run_compiler((char *const *)argv, o->verbose, o->weights != NULL);
}

/* The compiler writes elsewhere: what it leaves when it fails is not for the user. */
static enum status install(const char *built, const char *path)
{
    struct tool_file f = { 0 };
    struct stat s;
    TRY(tool_file_map(built, &f));

    bool fresh = access(path, F_OK) != 0;
    enum status st = tool_file_write(path, f.data, f.size);
    tool_file_free(&f);
    if (st == ST_OK && fresh && stat(built, &s) == 0)
        (void)chmod(path, s.st_mode & 07777); /* as the linker left it; not needed to open a library */
    return st;
}

static enum status build(const struct generator *o, struct arena *arena)
{
    char folder[] = "/tmp/qnn-model-lib-XXXXXX", assembler[sizeof(folder) + 16], library[sizeof(folder) + 16];
    CLEANUP(str_finish) struct str path, dir;
    str_init(&path);
    str_init(&dir);
    TRY(check_targets(o->targets, arena));
    str_addf(&dir, "%s/" TARGET, o->output ? o->output : ".");
    str_addf(&path, "%s/lib", str_text(&dir));
    library_name(o, &path);
    str_add(&path, ".so");
    RETURN_IF(path.failed || dir.failed, ST_NO_MEMORY, "path of the library");
    TRY(tool_make_dirs(str_text(&dir)));
    RETURN_IF(!mkdtemp(folder), ST_IO, "cannot create a temporary folder: %s", strerror(errno));
    snprintf(assembler, sizeof(assembler), "%s/weights.s", folder);
    snprintf(library, sizeof(library), "%s/model.so", folder);
    enum status st = o->weights ? write_weights(o->weights, assembler) : ST_OK;
    if (st == ST_OK)
        st = compile(o, assembler, library, arena);
    if (st == ST_OK)
        st = install(library, str_text(&path));
    unlink(assembler);
    unlink(library);
    rmdir(folder);
    if (st == ST_OK)
        tool_say("Built %s", str_text(&path));
    return st;
}

int main(int argc, char **argv)
{
    struct generator o = { 0 };
    struct arena arena;
    arena_init(&arena);
    enum tool_next next = tool_options_parse(&program, argc, argv, &o, &arena);
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN) {
        enum status st = build(&o, &arena);
        code = st == ST_OK ? 0 : tool_report(program.name, st);
    }
    arena_finish(&arena);
    return code;
}
