/* SPDX-License-Identifier: Apache-2.0 */
/* qairt-quantizer: a float DLC and samples become a quantized DLC. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "common/tool_log.h"
#include "converter/converter_main.h"
#include "converter/custom_io.h"

static const char *const backends[] = { "HTP", "CPU", "GPU", "DSP", "HTA", "LPAI", NULL };

#define AT(member) offsetof(struct converter, member)
#define WORDS CONVERTER_WORDS

static const struct tool_option options[] = {
    { "input_dlc", OPT_STRING, AT(input), .argument = "FILE", .letter = 'i', .required = true, .section = "Files",
      .help = "The DLC of qairt-converter." },
    { "output_dlc", OPT_STRING, AT(output), .argument = "FILE", .letter = 'o',
      .help = "The DLC to write; <input>_quantized.dlc when not given." },
    { "input_list", OPT_STRING, AT(quant.input_list), .argument = "FILE",
      .help = "Lines of raw float32 files, as for qnn-net-run. The float graph runs on every line." },
    { "enable_float_fallback", OPT_FLAG, AT(quant.float_fallback),
      .help = "Instead of --input_list: tensors that have no encoding yet stay float." },
    { "dump_ir", OPT_STRING, AT(dump), .argument = "FILE", .help = "Also write the graph as text." },

    { "act_bitwidth", OPT_NUMBER, AT(quant.act_bits), .argument = "8|16", .min = 8, .max = 16,
      .help = "Bits of activations (8).", .section = "Quantization" },
    { "act_bw", OPT_NUMBER, AT(quant.act_bits), .argument = "8|16", .min = 8, .max = 16, .help = "The same." },
    { "weights_bitwidth", OPT_NUMBER, AT(quant.weight_bits), .argument = "4|8|16", .min = 4, .max = 16,
      .help = "Bits of weights (8)." },
    { "weight_bw", OPT_NUMBER, AT(quant.weight_bits), .argument = "4|8|16", .min = 4, .max = 16, .help = "The same." },
    { "bias_bitwidth", OPT_NUMBER, AT(quant.bias_bits), .argument = "8|32", .min = 8, .max = 32,
      .help = "Bits of biases (8). 32 is exact and costs little." },
    { "bias_bw", OPT_NUMBER, AT(quant.bias_bits), .argument = "8|32", .min = 8, .max = 32, .help = "The same." },
    { "act_quantizer_calibration", OPT_CHOICE, AT(quant.act_method), .choices = quantize_method_names,
      .help = "How ranges of activations are chosen." },
    { "param_quantizer_calibration", OPT_CHOICE, AT(quant.param_method), .choices = quantize_method_names,
      .help = "How ranges of weights are chosen." },
    { "act_quantizer_schema", OPT_CHOICE, AT(quant.act_schema), .choices = quantize_schema_names,
      .help = "Encodings of activations." },
    { "param_quantizer_schema", OPT_CHOICE, AT(quant.param_schema), .choices = quantize_schema_names,
      .help = "Encodings of weights." },
    { "percentile_calibration_value", OPT_STRING, AT(quant.percentile), .argument = "P",
      .help = "For the method percentile (99.99)." },
    WORDS("use_per_channel_quantization", 0, "[true|false]", "One scale per output channel of convolution weights."),
    WORDS("use_per_row_quantization", 0, "[true|false]",
          "One scale per output of FullyConnected and MatMul weights, and per row of those of Lstm and Gru."),
    WORDS("preserve_io_datatype", 0, "[NAME…]", "Inputs and outputs, or these, keep their data type."),
    { "restrict_quantization_steps", OPT_STRING, AT(quant.restrict_steps), .argument = "\"MIN MAX\"",
      .help = "Steps that values of a matching width may use, hexadecimal: \"-0x8000 0x7F7F\"." },
    { "quantization_overrides", OPT_STRING, AT(quant.overrides), .argument = "FILE", .letter = 'q',
      .help = "JSON with encodings of tensors." },
    { "ignore_quantization_overrides", OPT_FLAG, AT(quant.ignore_overrides),
      .help = "Leave --quantization_overrides aside." },
    { "config", OPT_STRING, AT(custom_io), .argument = "FILE",
      .help = "YAML list of inputs and outputs with Layout, Datatype and QuantParam." },
    { "use_native_input_files", OPT_FLAG, AT(quant.native_inputs),
      .help = "Files of --input_list have the types of the graph's inputs." },
    WORDS("apply_algorithms", 0, "cle|bc|adaround|amp …",
          "cle: cross-layer equalization. bc: bias correction. adaround: weights are rounded with a view to the results. "
          "amp: layers that cost most get 16 bits. "
          "Several may be given."),
    WORDS("algorithms", 0, "cle|bc|adaround|amp …", "The same."),
    { "target_backend", OPT_CHOICE, AT(ignored_choice), .choices = backends, .help = "Changes nothing.",
      .told = "the same DLC serves all backends; --backend says which library decides what runs in fixed point." },
    { "target_soc_model", OPT_STRING, AT(ignored_text), .argument = "NAME", .help = "Changes nothing.",
      .told = "the same DLC serves all backends." },
    { "use_aimet_quantizer", OPT_FLAG, AT(ignored),
      .refused = "there is one quantizer; --apply_algorithms has its algorithms." },
    WORDS("op_package_lib", 0, "PATH", "Refused: " CONVERTER_REFUSED_PACKAGES "."),

    { "dump_encodings", OPT_STRING, AT(quant.dump_encodings), .argument = "FILE", .section = "Reports",
      .help = "Write all encodings as JSON, in the form that overrides have." },
    { "compare", OPT_FLAG, AT(quant.compare),
      .help = "Run the quantized graph on the input list too, and print the error of every tensor, worst first." },
    { "quiet", OPT_FLAG, AT(quant.quiet), .help = "No table of encodings." },
    { "backend", OPT_STRING, AT(quant.backend), .argument = "FILE",
      .help = "The library that runs the graphs; libQnnCpu.so when not given." },
    { "debug", OPT_FLAG, AT(debug), .help = "Say more." },
    {}
};

static enum status write_dlc(const struct converter *c, const struct ir_graph *g, const char *command)
{
    struct arena a;
    arena_init(&a);
    const char *prefix = converter_prefix(c, ".dlc", &a);
    if (prefix && !c->output)
        prefix = arena_printf(&a, "%s_quantized", prefix);
    struct convert_write w = { .prefix = prefix, .command = command };
    enum status st = prefix ? convert_write_dlc(&g, 1, &w) : status_fail(ST_NO_MEMORY, "no memory for a path");
    if (st == ST_OK)
        tool_say("wrote %s.dlc", prefix);
    arena_finish(&a);
    return st;
}

static enum status quantize(struct converter *c, const char *command, struct convert_dlc **dlc, struct convert_report *r)
{
    struct ir_graph *const *graphs, *g, *keep = NULL;
    uint32_t n;
    RETURN_IF(!c->quant.input_list == !c->quant.float_fallback, ST_INVALID_ARG,
              "one of --input_list and --enable_float_fallback is needed, and not both: the list says what the encodings "
              "are made from");
    TRY(convert_dlc_open(c->input, dlc));
    enum status st = convert_dlc_graphs(*dlc, r, &graphs, &n);
    converter_print_issues(r);
    TRY(st);
    RETURN_IF(n != 1, ST_NOT_SUPPORTED, "the DLC has %u graphs; one is expected", n);
    g = graphs[0];
    if (c->custom_io)
        TRY(custom_io_read(c->custom_io, NULL, g, &r->arena, &c->quant));
    TRY(quantizer_run(&c->quant, NULL, &g, &keep)); /* keep belongs to the container */
    st = c->dump ? converter_dump(g, c->dump) : ST_OK;
    if (st == ST_OK)
        st = write_dlc(c, g, command);
    ir_graph_free(g);
    return st;
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {
        .name = "qairt-quantizer",
        .summary = "turns a float DLC into a quantized one: runs it on samples, chooses an encoding for every tensor, and "
                   "says how good they are.",
        .usage = "--input_dlc FILE --input_list FILE [options]",
        .options = options,
        .examples = "  qairt-quantizer --input_dlc model.dlc --input_list samples.txt --use_per_channel_quantization "
                    "--bias_bitwidth 32\n"
                    "  qairt-quantizer --input_dlc model.dlc --input_list samples.txt --act_bitwidth 16 --compare\n"
                    "  qairt-quantizer --input_dlc model.dlc --enable_float_fallback\n",
    };
    struct converter c = { 0 };
    struct converter_words w = { 0 };
    struct convert_dlc *dlc = NULL;
    struct convert_report report;
    struct str command;
    struct arena a;
    arena_init(&a);
    convert_report_init(&report);
    converter_command(&command, argc, argv);
    quantizer_defaults(&c.quant);
    tool_log_start();
    int rc = 1;
    if (converter_words_take(&w, &argc, argv) != ST_OK) {
        tool_report(program.name, ST_INVALID_ARG);
    } else {
        enum tool_next next = tool_options_parse(&program, argc, argv, &c, &a);
        converter_words_apply(&w, &c);
        enum status st = next == TOOL_RUN ? quantize(&c, str_text(&command), &dlc, &report) : ST_OK;
        rc = next == TOOL_EXIT_ERROR ? 1 : st != ST_OK ? tool_report(c.input, st) : 0;
    }
    convert_dlc_close(dlc);
    convert_report_finish(&report);
    converter_words_finish(&w);
    str_finish(&command);
    arena_finish(&a);
    return rc;
}
