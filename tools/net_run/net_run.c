/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-net-run: executes the graphs of a model library or context binary on files. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "QNN/LPAI/QnnLpaiCommon.h"
#include "base/str.h"
#include "common/error_names.h"
#include "common/error_page.h"
#include "common/tensor_text.h"
#include "common/tool_log.h"
#include "net_run/graph_run.h"
#include "net_run/result_compare.h"

struct net_run {
    struct session_options session;
    const char *retrieve_context, *native_names, *explain_error;
    struct compare_options compare;
    bool min_sqnr_given, min_cosine_given, max_error_given;
    struct opt_list input_lists, binary_updates;
    bool native_outputs, native_inputs, synchronous, asynchronous, use_mmap, validate;
    bool output_type_given, perf_given, sets_given, size_given;
    uint32_t output_type, input_type, perf_profile;
    int64_t inferences, duration, keep, batch_multiplier, timeout, cache_sets, cache_mb;
};

static const char *const output_types[] = { "float_only", "native_only", "float_and_native", NULL };
static const char *const input_types[] = { "float", "native", NULL };
#define DIRECT_ADSP "adsp"

#define AT(member) offsetof(struct net_run, member)
static const struct tool_option options[] = {
    { "backend", OPT_STRING, AT(session.backend), .argument = "FILE", .section = "What runs where",
      .help = "Backend library, for instance libQnnCpu.so." },
    { "model", OPT_LIST, AT(session.models), .argument = "FILE[,FILE...]",
      .help = "Model libraries, made by qnn-model-lib-generator; their graphs are composed and finalized here." },
    { "retrieve_context", OPT_STRING, AT(retrieve_context), .argument = "FILE",
      .help = "Context binary, made by qnn-context-binary-generator; instead of --model." },
    { "dlc_path", OPT_LIST, AT(session.dlcs), .argument = "FILE[,FILE...]",
      .help = "DLC files; instead of --model, or with --model libQnnModelDlc.so." },
    { "model_prefix", OPT_STRING, AT(session.model_prefix), .argument = "PREFIX",
      .help = "Prefix of the functions of the model library; QnnModel when not given." },
    { "system_library", OPT_STRING, AT(session.system_library), .argument = "FILE",
      .help = "libQnnSystem.so, needed for --retrieve_context, --dlc_path and profiling; looked for next to the backend "
              "when not given." },
    { "op_packages", OPT_LIST, AT(session.op_packages), .argument = "PATH:PROVIDER[:TARGET],...",
      .help = "Op packages to register with the backend." },
    { "config_file", OPT_STRING, AT(session.config_file), .argument = "JSON",
      .help = "Settings of context, graphs, profiling and backend extensions." },
    { "binary_updates", OPT_LIST, AT(binary_updates), .argument = "FILE[,FILE...]",
      .help = "Updateable binary sections to apply to every graph before executing." },

    { "input_list", OPT_LIST, AT(input_lists), .argument = "FILE[,FILE...]", .section = "Inputs and outputs",
      .help = "One list per graph, in the order of the graphs; __ skips a graph. A line per inference: paths of raw files "
              "in the order of the inputs, or tensor:=path items. Leading lines #layer ... or %tensor ... choose the "
              "outputs to save." },
    { "input_data_type", OPT_CHOICE, AT(input_type), .choices = input_types,
      .help = "What raw input files hold: float32 numbers, converted to the type of the graph (default), or the bytes of "
              "the tensor." },
    { "use_native_input_files", OPT_FLAG, AT(native_inputs), .help = "Same as --input_data_type native." },
    { "native_input_tensor_names", OPT_STRING, AT(native_names), .argument = "G0:T0,T1;G1:T0",
      .help = "Only the files of these inputs are native." },
    { "output_dir", OPT_STRING, AT(session.output_dir), .argument = "DIR",
      .help = "Where Result_<i>/<tensor>.raw files go; ./output when not given. With several graphs: a folder per graph." },
    { "output_data_type", OPT_CHOICE, AT(output_type), .choices = output_types, .seen = AT(output_type_given),
      .help = "float32 numbers (default), the bytes of the tensor, or both: <tensor>.raw and <tensor>_native.raw." },
    { "use_native_output_files", OPT_FLAG, AT(native_outputs), .help = "Same as --output_data_type native_only." },
    { "set_output_tensors", OPT_STRING, AT(session.output_tensors), .argument = "G0:T0,T1;G1:T0",
      .help = "Tensors inside the graphs that become outputs too; not with --retrieve_context." },
    { "debug", OPT_FLAG, AT(session.all_outputs), .help = "Every tensor becomes an output; not with --retrieve_context." },
    { "compare", OPT_STRING, AT(compare.folder), .argument = "DIR",
      .help = "Compare the results with those of an earlier run of the same inputs (its --output_dir), float against "
              "quantized for example, and print the error of every tensor, worst first. With --debug in both runs: of every "
              "layer. Fails when a tensor is missing, has another size, or is NaN or infinite in one run only." },
    { "compare_common", OPT_FLAG, AT(compare.common),
      .help = "Tensors that only one of the runs has are left out; implied by --debug and --set_output_tensors." },
    { "compare_min_sqnr", OPT_REAL, AT(compare.min_sqnr), .argument = "DB", .seen = AT(min_sqnr_given),
      .help = "Fail when the signal-to-noise ratio of a tensor is lower." },
    { "compare_min_cosine", OPT_REAL, AT(compare.min_cosine), .argument = "X", .seen = AT(min_cosine_given),
      .help = "Fail when the cosine similarity of a tensor is lower." },
    { "compare_max_error", OPT_REAL, AT(compare.max_error), .argument = "X", .seen = AT(max_error_given),
      .help = "Fail when an element differs by more." },
    { "batch_multiplier", OPT_NUMBER, AT(batch_multiplier), .argument = "N", .min = 1, .max = 1 << 20,
      .help = "Inputs and outputs have N times the batch the model was composed with." },
    { "keep_num_outputs", OPT_NUMBER, AT(keep), .argument = "N", .max = -1,
      .help = "Save the first N results only, 0 none. When not given: those of one pass through the input list." },
    { "shared_buffer", OPT_FLAG, AT(session.shared_buffer),
      .help =
          "Inputs and outputs in memory of libcdsprpc.so, registered with the backend once, so that nothing is copied." },

    { "num_inferences", OPT_NUMBER, AT(inferences), .argument = "N", .min = 1, .max = -1, .section = "How it runs",
      .help = "Go through the input list until N inferences are done." },
    { "duration", OPT_NUMBER, AT(duration), .argument = "SECONDS", .min = 1, .max = 1 << 30,
      .help = "Go through the input list until this time has passed." },
    { "asynchronous", OPT_FLAG, AT(asynchronous), .help = "Several executions at once, with graphExecuteAsync." },
    { "synchronous", OPT_FLAG, AT(synchronous), .help = "One execution after the other; the default." },
    { "timeout", OPT_NUMBER, AT(timeout), .argument = "MICROSECONDS", .min = 1, .max = -1,
      .help = "Give up an execution after this time." },
    { "perf_profile", OPT_CHOICE, AT(perf_profile), .choices = session_perf_profiles, .seen = AT(perf_given),
      .help = "Power and clock settings, on backends that have them." },
    { "max_input_cache_tensor_sets", OPT_NUMBER, AT(cache_sets), .argument = "N", .min = -1, .max = 1 << 30,
      .seen = AT(sets_given), .help = "Input sets kept in memory when the list is gone through several times; -1 all." },
    { "max_input_cache_size_mb", OPT_NUMBER, AT(cache_mb), .argument = "N", .max = 1 << 30, .seen = AT(size_given),
      .help = "The same as a limit in megabytes; 256 when neither is given." },
    { "use_mmap", OPT_FLAG, AT(use_mmap), .help = "Map the context binary instead of reading it." },
    { "validate_binary", OPT_FLAG, AT(validate),
      .help = "Only ask the backend whether it accepts the binary of --retrieve_context." },
    { "direct_mode", OPT_STRING, AT(session.direct_mode), .argument = "adsp",
      .help = "As inside the ADSP, without RPC (LPAI backend, with --retrieve_context)." },

    { "profiling_level", OPT_CHOICE, AT(session.profiling), .choices = session_profiling_levels,
      .seen = AT(session.profiling_given), .section = "What it tells",
      .help = "basic: time of every call; detailed: also of every node; linting (HTP): also what nodes wait for; backend: "
              "as the settings of the backend say. Written to <output_dir>/qnn-profiling-data.log for "
              "qnn-profile-viewer." },
    { "profiling_option", OPT_CHOICE, AT(session.profiling_option), .choices = session_profiling_options,
      .help = "optrace: a timeline of the accelerator, on backends that have one; without --retrieve_context also "
              "<graph>_schematic.bin here." },
    { "log_level", OPT_CHOICE, AT(session.log_level), .choices = tool_log_levels, .seen = AT(session.log_level_given),
      .help = "info shows the graphs with their inputs and outputs; warn when not given." },
    { "explain_error", OPT_STRING, AT(explain_error), .argument = "CODE",
      .help = "Print the name of an error code, decimal or 0x..., with --backend also what the backend says about it, and "
              "exit." },
    {}
};

static const struct tool_program program = {
    .name = "qnn-net-run",
    .summary = "runs the graphs of a model on raw files and saves what comes out.",
    .usage = "--backend FILE (--model FILE | --retrieve_context FILE) --input_list FILE [options]",
    .options = options,
    .examples =
        "  A float32 input per line of list.txt, results in out/Result_0, out/Result_1, ...\n"
        "    qnn-net-run --backend libQnnCpu.so --model libmodel.so --input_list list.txt --output_dir out\n"
        "  The same from a context binary, quantized input files, both kinds of output files:\n"
        "    qnn-net-run --backend libQnnCpu.so --retrieve_context model.bin --input_list list.txt \\\n"
        "                --use_native_input_files --output_data_type float_and_native\n"
        "  Where the time goes:\n"
        "    qnn-net-run --backend libQnnCpu.so --model libmodel.so --input_list list.txt --num_inferences 100 \\\n"
        "                --profiling_level detailed && qnn-profile-viewer --input_log output/qnn-profiling-data.log\n",
};

static void free_path(char **path)
{
    free(*path);
}

/* ---- options that exclude each other, or need what does not exist ----------------------------------------------------- */

static enum status check_compare(const struct net_run *o)
{
    const struct compare_options *compare = &o->compare;
    const char *output_dir = o->session.output_dir ? o->session.output_dir : "./output";
    bool native_only = o->native_outputs || (o->output_type_given && o->output_type == OUTPUT_NATIVE);
    bool has_limits = o->min_sqnr_given || o->min_cosine_given || o->max_error_given || compare->common;

    RETURN_IF(has_limits && !compare->folder, ST_INVALID_ARG,
              "--compare_common, --compare_min_sqnr, --compare_min_cosine and --compare_max_error need --compare DIR");
    if (!compare->folder)
        return ST_OK;

    RETURN_IF(native_only, ST_INVALID_ARG,
              "--compare needs float results; leave out --use_native_output_files, or use --output_data_type "
              "float_and_native");
    CLEANUP(free_path) char *reference = realpath(compare->folder, NULL);
    CLEANUP(free_path) char *results = realpath(output_dir, NULL);
    RETURN_IF(!reference, ST_NOT_FOUND, "--compare %s: there is no such folder; give the --output_dir of an earlier run",
              compare->folder);
    RETURN_IF(results && str_eq(reference, results), ST_INVALID_ARG,
              "--compare %s is the folder that this run writes to; give this run another --output_dir", compare->folder);

    return ST_OK;
}

static enum status check_options(const struct net_run *o)
{
    /* The older form: --model libQnnModelDlc.so --dlc_path FILE. */
    bool by_library = o->session.models.n == 1 && o->session.dlcs.n > 0;
    size_t sources = (o->session.models.n > 0) + (o->retrieve_context != NULL) + (o->session.dlcs.n > 0) - by_library;
    RETURN_IF(!o->session.backend, ST_INVALID_ARG, "--backend FILE is missing");
    RETURN_IF(sources != 1, ST_INVALID_ARG,
              "exactly one of --model, --retrieve_context and --dlc_path is needed; %zu are given", sources);
    RETURN_IF(o->retrieve_context && o->session.all_outputs, ST_INVALID_ARG,
              "--debug needs the graph itself, --retrieve_context has a finished one; use --model, or build the binary with "
              "qnn-context-binary-generator --enable_intermediate_outputs");
    RETURN_IF(o->retrieve_context && o->session.output_tensors, ST_INVALID_ARG,
              "--set_output_tensors needs the graph itself, --retrieve_context has a finished one; build the binary with "
              "qnn-context-binary-generator --set_output_tensors");
    TRY(check_compare(o));
    RETURN_IF(o->validate && !o->retrieve_context, ST_INVALID_ARG, "--validate_binary needs --retrieve_context FILE");
    RETURN_IF(o->native_inputs && o->native_names, ST_INVALID_ARG,
              "--use_native_input_files and --native_input_tensor_names exclude each other");
    RETURN_IF(o->native_outputs && o->output_type_given && o->output_type != OUTPUT_NATIVE, ST_INVALID_ARG,
              "--use_native_output_files and --output_data_type %s contradict each other", output_types[o->output_type]);
    RETURN_IF(o->sets_given && o->size_given, ST_INVALID_ARG,
              "--max_input_cache_tensor_sets and --max_input_cache_size_mb exclude each other");
    RETURN_IF(o->synchronous && o->asynchronous, ST_INVALID_ARG, "--synchronous and --asynchronous exclude each other");
    RETURN_IF(o->inferences && o->duration, ST_INVALID_ARG, "--num_inferences and --duration exclude each other");
    const char *mode = o->session.direct_mode;
    RETURN_IF(mode && !str_eq(mode, DIRECT_ADSP), ST_INVALID_ARG, "--direct_mode %s: the only mode is " DIRECT_ADSP, mode);
    RETURN_IF(mode && !o->retrieve_context, ST_INVALID_ARG,
              "--direct_mode " DIRECT_ADSP
              " runs graphs that were prepared before: save them with qnn-context-binary-generator and give the file with "
              "--retrieve_context");
    return ST_OK;
}

static void ask_for_performance(const struct net_run *o, const struct session *s)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    QnnDevice_Infrastructure_t infra = NULL;
    const struct extension *extension = s->extension.table;
    if (!o->perf_given || (extension && (extension->before_execute || extension->stage)))
        return; /* the extension library sees to it */
    Qnn_ErrorHandle_t error =
        api->deviceGetInfrastructure ? api->deviceGetInfrastructure(&infra) : QNN_COMMON_ERROR_NOT_SUPPORTED;
    if (error != QNN_SUCCESS || !infra)
        tool_log(TOOL_WARN,
                 "--perf_profile %s has no effect: this backend has no power settings (deviceGetInfrastructure: %s %" PRIu64
                 ")",
                 session_perf_profiles[o->perf_profile], error_name(error), QNN_GET_ERROR_CODE(error));
    else
        tool_log(TOOL_WARN, "--perf_profile %s has no effect: it needs the backend's extension library",
                 session_perf_profiles[o->perf_profile]);
}

static int explain_error(const struct net_run *o)
{
    enum status st = error_page(o->explain_error);
    return st == ST_OK ? 0 : tool_report("--explain_error", st);
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

static struct io_options io_options_of(const struct net_run *o, const char *output_dir)
{
    enum { DEFAULT_CACHE_MB = 256, MIB = 1 << 20 };
    return (struct io_options){
        .native_inputs = o->native_inputs || o->input_type,
        .output_type = o->native_outputs ? OUTPUT_NATIVE : o->output_type,
        .batch_multiplier = o->batch_multiplier ? (uint32_t)o->batch_multiplier : 1,
        .output_dir = output_dir,
        .cache_sets = o->sets_given ? o->cache_sets : -1,
        .cache_bytes = o->sets_given ? -1 : (o->size_given ? o->cache_mb : DEFAULT_CACHE_MB) * MIB,
    };
}

static struct run_options run_options_of(const struct net_run *o, const struct session *s)
{
    enum { DEFAULT_DEPTH = 10 };
    uint32_t depth = s->config.async.executions ? s->config.async.executions : DEFAULT_DEPTH;
    return (struct run_options){ .inferences = o->inferences,
                                 .duration_s = o->duration,
                                 .keep_outputs = o->keep,
                                 .timeout_us = o->timeout,
                                 .async = o->asynchronous,
                                 .depth = depth };
}

/* A name that no input has would silently leave its file a float file. */
static enum status check_native_names(const struct net_run *o, struct session *s)
{
    struct opt_names_list names = { 0 };
    if (o->native_names)
        TRY(tool_split_names(o->native_names, &s->arena, &names));
    for (size_t i = 0; i < names.n; i++) {
        for (size_t t = 0; t < names.at[i].tensors.n; t++) {
            const char *graph = names.at[i].graph, *tensor = names.at[i].tensors.items[t];
            bool found = false;
            for (size_t g = 0; g < s->graphs.n; g++) {
                for (uint32_t k = 0; k < s->graphs.at[g].n_inputs; k++)
                    found |=
                        (!graph || str_eq(graph, s->graphs.at[g].name)) && str_eq(tensor, s->graphs.at[g].inputs[k].v1.name);
            }
            RETURN_IF(!found, ST_NOT_FOUND,
                      "--native_input_tensor_names: graph \"%s\" has no input \"%s\"; --log_level info lists them",
                      graph ? graph : "(any)", tensor);
        }
    }
    return ST_OK;
}

/* Several graphs have a folder each, in the other run too. */
static void graph_folder(const struct session *s, const struct session_graph *g, const char *folder, struct str *to)
{
    str_add(to, folder);
    if (s->graphs.n > 1) {
        str_add(to, "/");
        tensor_file_name(g->name, to);
    }
}

static struct compare_options compare_options_of(const struct net_run *o, const char *folder)
{
    return (struct compare_options){
        .folder = folder,
        .common = o->compare.common || o->session.all_outputs || o->session.output_tensors,
        .min_sqnr = o->min_sqnr_given ? o->compare.min_sqnr : NAN,
        .min_cosine = o->min_cosine_given ? o->compare.min_cosine : NAN,
        .max_error = o->max_error_given ? o->compare.max_error : NAN,
    };
}

/* Executes the graph and compares what it computes with `reference`, when that is given. */
static enum status run_opened(const struct net_run *o, struct session *s, struct graph_io *io, const char *reference,
                              struct run_totals *totals)
{
    struct run_options run_opt = run_options_of(o, s);
    struct compare_options compare_opt = compare_options_of(o, reference);
    struct result_compare *compare = NULL;
    enum status st = ST_OK;

    if (o->compare.folder)
        st = result_compare_open(&compare_opt, io, &compare);
    if (st == ST_OK && compare)
        io->opt.sink = result_compare_sink(compare);
    if (st == ST_OK)
        st = graph_run(s, io, &run_opt, totals);
    if (st == ST_OK && compare)
        st = result_compare_report(compare);
    result_compare_free(compare);

    return st;
}

static enum status run_graph(const struct net_run *o, struct session *s, size_t index, const char *list)
{
    struct graph_io io = { 0 };
    struct run_totals totals;
    CLEANUP(str_finish) struct str dir;
    CLEANUP(str_finish) struct str reference;
    const struct session_graph *g = &s->graphs.at[index];

    str_init(&dir);
    str_init(&reference);
    graph_folder(s, g, s->opt.output_dir, &dir);
    graph_folder(s, g, o->compare.folder ? o->compare.folder : "", &reference);
    RETURN_IF(dir.failed || reference.failed, ST_NO_MEMORY, "output folder");

    struct io_options io_opt = io_options_of(o, str_text(&dir));
    if (o->native_names)
        TRY(tool_split_names(o->native_names, &s->arena, &io_opt.native_names));

    enum status st = graph_io_open(&io, g, list, &io_opt);
    if (st == ST_OK)
        st = run_opened(o, s, &io, str_text(&reference), &totals);
    graph_io_finish(&io);
    if (st == ST_OK && totals.executions)
        tool_log(TOOL_INFO, "graph \"%s\": %" PRIu64 " inferences, %.1f us each, %.1f per second", g->name,
                 totals.executions, (double)totals.busy_ns / 1e3 / (double)totals.executions,
                 (double)totals.executions * 1e9 / (double)totals.busy_ns);
    return st;
}

static enum status run_graphs(const struct net_run *o, struct session *s)
{
    size_t n = o->input_lists.n;
    for (size_t i = 0; i < s->graphs.n; i++) {
        bool needs = s->graphs.at[i].n_inputs > 0;
        CLEANUP(str_finish) struct str names;
        str_init(&names);
        for (size_t g = 0; g < s->graphs.n; g++)
            str_addf(&names, "%s\"%s\"", g ? ", " : "", s->graphs.at[g].name);
        RETURN_IF(n > s->graphs.n || (i >= n && needs), ST_INVALID_ARG,
                  "--input_list has %zu lists for %zu graphs (%s); give one per graph, separated by commas, __ for a graph "
                  "that should not run",
                  n, s->graphs.n, str_text(&names));
    }
    for (size_t i = 0; i < s->graphs.n; i++) {
        const char *list = i < n ? o->input_lists.items[i] : NULL;
        if (list && str_eq(list, "__"))
            continue;
        TRY(run_graph(o, s, i, list));
    }
    return ST_OK;
}

static enum status run_session(const struct net_run *o, struct session *s, const char **stage)
{
    *stage = "Initialization";
    struct session_options so = o->session;
    so.executes = !o->validate;
    so.perf_profile = o->perf_given ? session_perf_profiles[o->perf_profile] : NULL;
    TRY(session_open(s, &so));
    RETURN_IF(so.direct_mode && s->backend.id != QNN_BACKEND_ID_LPAI, ST_NOT_SUPPORTED,
              "--direct_mode %s is for the LPAI backend; \"%s\" has id %u, not %d", so.direct_mode, so.backend,
              s->backend.id, QNN_BACKEND_ID_LPAI);
    ask_for_performance(o, s);
    if (o->validate) {
        *stage = "Validating the binary";
        TRY(session_validate(s, o->retrieve_context, o->use_mmap));
        tool_say("The backend accepts the context binary \"%s\"", o->retrieve_context);
        return ST_OK;
    }
    if (o->retrieve_context) {
        *stage = "Creating the context from its binary";
        tool_say("Retrieving Graphs");
        TRY(session_retrieve(s, o->retrieve_context, o->use_mmap));
    } else {
        *stage = "Composing Graphs";
        tool_say("Composing Graphs");
        TRY(session_compose(s));
        *stage = "Finalizing Graphs";
        tool_say("Finalizing Graphs");
        TRY(session_finalize(s));
        TRY(session_save_schematics(s, NULL));
    }
    *stage = "Applying updates";
    for (size_t i = 0; i < o->binary_updates.n; i++)
        TRY(session_update(s, o->binary_updates.items[i]));
    session_describe(s);
    *stage = "Executing Graphs";
    TRY(check_native_names(o, s));
    tool_say("Executing Graphs");
    TRY(run_graphs(o, s));
    tool_say("Finished Executing Graphs");
    return ST_OK;
}

static int run(const struct net_run *o)
{
    struct session s = { 0 };
    const char *stage = "options";
    tool_say("qnn-net-run pid:%d", (int)getpid());
    enum status st = check_options(o);
    if (st == ST_OK)
        st = run_session(o, &s, &stage);
    int code = st == ST_OK ? 0 : tool_report(stage, st);
    if (o->session.direct_mode)
        tool_say(code ? "dspApp->run FAILED res = %d" : "NonRPC net-run SUCCESS", code);
    session_close(&s);
    return code;
}

int main(int argc, char **argv)
{
    struct net_run o = { .keep = -1 };
    struct arena arena;
    arena_init(&arena);
    enum tool_next next = tool_options_parse(&program, argc, argv, &o, &arena);
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN)
        code = o.explain_error ? explain_error(&o) : run(&o);
    arena_finish(&arena);
    return code;
}
