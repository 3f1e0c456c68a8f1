/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-context-binary-generator: composes and finalizes graphs, and saves the context. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"
#include "common/tool_log.h"
#include "context_binary_generator/device_check_show.h"
#include "session/session.h"

struct generator {
    struct session_options session;
    const char *binary_file, *backend_binary, *data_format, *check_socs, *check_file;
    uint32_t mem_type;
};

static const char *const mem_types[] = { "raw", "memhandle", NULL };

#define AT(member) offsetof(struct generator, member)
static const struct tool_option options[] = {
    { "backend", OPT_STRING, AT(session.backend), .argument = "FILE", .help = "Backend library, for instance libQnnCpu.so.",
      .required = true, .section = "What is prepared" },
    { "model", OPT_LIST, AT(session.models), .argument = "FILE[,FILE...]",
      .help = "Model libraries of this machine's architecture; the graphs of all go into one context." },
    { "dlc_path", OPT_LIST, AT(session.dlcs), .argument = "FILE[,FILE...]",
      .help = "DLC files; instead of --model, or with --model libQnnModelDlc.so." },
    { "model_prefix", OPT_STRING, AT(session.model_prefix), .argument = "PREFIX",
      .help = "Prefix of the functions of the model library; QnnModel when not given." },
    { "system_library", OPT_STRING, AT(session.system_library), .argument = "FILE",
      .help = "libQnnSystem.so, needed for --dlc_path and profiling; looked for next to the backend when not given." },
    { "op_packages", OPT_LIST, AT(session.op_packages), .argument = "PATH:PROVIDER[:TARGET],...",
      .help = "Op packages to register with the backend." },
    { "config_file", OPT_STRING, AT(session.config_file), .argument = "JSON",
      .help = "Settings of context, graphs and backend extensions." },
    { "enable_intermediate_outputs", OPT_FLAG, AT(session.all_outputs), .help = "Every tensor becomes an output." },
    { "set_output_tensors", OPT_STRING, AT(session.output_tensors), .argument = "G0:T0,T1;G1:T0",
      .help = "Tensors inside the graphs that become outputs too." },
    { "input_output_tensor_mem_type", OPT_CHOICE, AT(mem_type), .choices = mem_types,
      .help = "How clients will give inputs and outputs: plain memory (default) or registered memory." },
    { "data_format_config", OPT_STRING, AT(data_format), .argument = "FILE",
      .help = "Formats of inputs and outputs on devices that have them." },
    { "check_device", OPT_STRING, AT(check_socs), .argument = "SOC[,SOC...]",
      .help =
          "Says what of the model these SoCs would refuse (SM8350, 57), why, and what to do. Where one refuses something, "
          "nothing is saved and the exit status is 1. libQnnHtp.so alone." },
    { "check_file", OPT_STRING, AT(check_file), .argument = "FILE.json", .help = "The same as JSON; with --check_device." },

    { "binary_file", OPT_STRING, AT(binary_file), .argument = "NAME", .section = "What is written",
      .help = "The context binary goes to <output_dir>/NAME.bin. Without it the graphs are only prepared, to see whether "
              "they can be." },
    { "output_dir", OPT_STRING, AT(session.output_dir), .argument = "DIR",
      .help = "Folder for the results; ./output when not given." },
    { "backend_binary", OPT_STRING, AT(backend_binary), .argument = "NAME",
      .help = "Backend-specific file, on backends that have one." },
    { "profiling_level", OPT_CHOICE, AT(session.profiling), .choices = session_profiling_levels,
      .seen = AT(session.profiling_given),
      .help = "Measures compose and finalize; read <output_dir>/qnn-profiling-data.log with qnn-profile-viewer." },
    { "profiling_option", OPT_CHOICE, AT(session.profiling_option), .choices = session_profiling_options,
      .help = "optrace: also writes <graph>_schematic.bin here, which readers of timelines want; on backends that "
              "have one." },
    { "log_level", OPT_CHOICE, AT(session.log_level), .choices = tool_log_levels, .seen = AT(session.log_level_given),
      .help = "info shows the graphs with their inputs and outputs; warn when not given." },
    {}
};

static const struct tool_program program = {
    .name = "qnn-context-binary-generator",
    .summary = "prepares graphs for a backend and saves them, so that applications load them without preparing again.",
    .usage = "--backend FILE --model FILE[,FILE...] --binary_file NAME [options]",
    .options = options,
    .examples =
        "  qnn-context-binary-generator --backend libQnnCpu.so --model libmodel.so --binary_file model --output_dir out\n"
        "  qnn-context-binary-utility --context_binary out/model.bin --summary\n"
        "  qnn-context-binary-generator --backend libQnnHtp.so --dlc_path model.dlc --check_device SM8350,SM8650\n"
        "  qnn-net-run --backend libQnnCpu.so --retrieve_context out/model.bin --input_list list.txt\n",
};

static enum status check_options(const struct generator *o)
{
    /* The older form: --model libQnnModelDlc.so --dlc_path FILE. */
    bool by_library = o->session.models.n == 1 && o->session.dlcs.n > 0;
    RETURN_IF(!o->session.models.n == !o->session.dlcs.n && !by_library, ST_INVALID_ARG,
              "exactly one of --model and --dlc_path is needed");
    RETURN_IF(o->data_format, ST_NOT_SUPPORTED,
              "--data_format_config needs a backend with camera formats, which this version does not have");
    RETURN_IF(o->check_file && !o->check_socs, ST_INVALID_ARG, "--check_file %s needs --check_device with the SoCs to check",
              o->check_file);
    return ST_OK;
}

static enum status save(struct session *s, const char *name)
{
    CLEANUP(str_finish) struct str path;
    str_init(&path);
    str_addf(&path, "%s/%s.bin", s->opt.output_dir, name);
    RETURN_IF(path.failed, ST_NO_MEMORY, "path of the binary");
    TRY(tool_make_dirs(s->opt.output_dir));
    TRY(session_save(s, str_text(&path)));
    tool_say("Saved the context of %zu graph%s to %s", s->graphs.n, s->graphs.n == 1 ? "" : "s", str_text(&path));
    return s->opt.profiling_option ? session_save_schematics(s, str_text(&path)) : ST_OK;
}

static enum status generate(const struct generator *o, struct session *s, const char **stage)
{
    struct device_check_show check = { .file = -1 };

    *stage = "options";
    TRY(check_options(o));
    *stage = "Initialization";
    if (o->check_socs)
        TRY(device_check_begin(&check, o->check_socs));
    TRY(session_open(s, &o->session));
    *stage = "Composing Graphs";
    tool_say("Composing Graphs");
    TRY(session_compose(s));
    session_describe(s);
    *stage = "Finalizing Graphs";
    tool_say("Finalizing Graphs");
    TRY(session_finalize(s));
    *stage = "Device check";
    if (o->check_socs)
        TRY(device_check_end(&check, o->check_file));
    *stage = "Saving the context";
    if (o->binary_file)
        TRY(save(s, o->binary_file));
    else if (!o->check_socs)
        tool_log(TOOL_WARN, "no --binary_file NAME was given: the graphs were prepared, nothing is saved");
    if (o->backend_binary)
        tool_log(TOOL_WARN, "--backend_binary %s: backend \"%s\" has no binary of its own; nothing is written",
                 o->backend_binary, s->backend.provider);
    return ST_OK;
}

int main(int argc, char **argv)
{
    struct generator o = { 0 };
    struct session s = { 0 };
    struct arena arena;
    const char *stage = "";
    arena_init(&arena);
    enum tool_next next = tool_options_parse(&program, argc, argv, &o, &arena);
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN) {
        o.session.memhandle_io = o.mem_type != 0;
        enum status st = generate(&o, &s, &stage);
        code = st == ST_OK ? 0 : tool_report(stage, st);
        session_close(&s);
    }
    arena_finish(&arena);
    return code;
}
