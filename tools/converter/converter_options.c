/* SPDX-License-Identifier: Apache-2.0 */
/* table: the command line of qnn-onnx-converter and qnn-tflite-converter. */
#include "converter/converter_main.h"

const char *const converter_float_widths[] = { "32", "16", NULL };

#define AT(member) offsetof(struct converter, member)
#define WORDS CONVERTER_WORDS

static const char *const source_formats[] = { "cpp", "dlc", NULL };

const struct tool_option converter_options[] = {
    { "input_network", OPT_STRING, AT(input), .argument = "FILE", .letter = 'i', .required = true, .help = "The model.",
      .section = "Files" },
    { "output_path", OPT_STRING, AT(output), .argument = "FILE", .letter = 'o',
      .help = "The source to write; weights (.bin) and description (_net.json) are named after it. When not given, beside "
              "the input." },
    { "copyright_file", OPT_STRING, AT(copyright), .argument = "FILE", .help = "Text for the head of the source." },
    { "dump_ir", OPT_STRING, AT(dump), .argument = "FILE",
      .help = "Also write the graph as text. Large constants as checksums." },
    WORDS("dry_run", 0, "[info|debug]", "Report what can be converted, write nothing."),

    { "out_node", OPT_STRING, AT(several), .argument = "NAME", .section = "Inputs and outputs",
      .help = "A tensor that becomes an output, instead of those of the model; may be repeated. --out_name is the same." },
    WORDS("input_dim", 'd', "NAME d0,d1,…", "Dimensions of an input, in the order of the source; may be repeated."),
    WORDS("input_layout", 'l', "NAME LAYOUT",
          "Layout of an input: NCDHW NDHWC NCHW NHWC NFC NCF NTF TNF NF NC F NONTRIVIAL; may be repeated."),
    WORDS("input_dtype", 0, "NAME TYPE", "Data type of an input; may be repeated."),
    WORDS("input_type", 't', "NAME default|image|opaque",
          "opaque: the input stays float when the model is quantized; may be repeated."),
    WORDS("input_encoding", 'e', "NAME IN [OUT]",
          "The client gives an image as IN (bgr, rgb, rgba, argb32), the model expects OUT (bgr, rgb; bgr when not given): "
          "the graph changes the order. "
          "time_series and other: as it is; may be repeated."),
    WORDS("define_symbol", 's', "SYMBOL VALUE", "Value of a symbolic dimension; may be repeated."),
    { "batch", OPT_NUMBER, AT(batch), .argument = "N", .letter = 'b', .min = 1, .max = INT32_MAX,
      .help = "Size of an open first dimension." },
    WORDS("preserve_io", 0, "[layout|datatype] [NAME…]",
          "Inputs and outputs keep the layout and the data type of the source, or only one of both. Names restrict it to "
          "some tensors (data types only)."),
    { "custom_io", OPT_STRING, AT(custom_io), .argument = "FILE",
      .help = "YAML list of inputs and outputs with Layout, Datatype and QuantParam." },
    { "dump_custom_io_config_template", OPT_STRING, AT(custom_template), .argument = "FILE",
      .help = "Write such a list for this model, to be edited." },
    { "reset_state", OPT_FLAG, AT(reset_state),
      .help = "Variables begin anew in every run, instead of becoming inputs and outputs of the graph." },

    { "float_bw", OPT_CHOICE, AT(float_bits), .choices = converter_float_widths, .help = "Bits of float tensors.",
      .section = "Conversion" },
    { "disable_batchnorm_folding", OPT_FLAG, AT(keep_batchnorm), .help = "Batch normalizations stay nodes of their own." },
    { "no_simplification", OPT_FLAG, AT(keep_patterns), .letter = 'n',
      .help = "Subgraphs that one operator could stand for (Gelu, LayerNorm, …) stay as they are." },
    { "overwrite_model_prefix", OPT_FLAG, AT(own_prefix),
      .help = "Functions of the source are named after the output: MODEL_composeGraphs instead of QnnModel_composeGraphs "
              "(--model_prefix of qnn-net-run)." },
    { "exclude_named_tensors", OPT_FLAG, AT(number_names),
      .help = "Tensors between nodes and constants are numbered instead of named." },
    { "export_format", OPT_CHOICE, AT(source_format), .choices = source_formats,
      .help =
          "cpp: a model source, its weights and a description. dlc: a DLC, which also says what every node was made from." },
    { "enable_framework_trace", OPT_FLAG, AT(ignored), .help = "Changes nothing.",
      .told = "a DLC (--export_format dlc) always says which operators every node was made from; a model source has no "
              "place for it." },
    { "keep_disconnected_nodes", OPT_FLAG, AT(ignored),
      .refused = "nodes without effect on an output are left out; make their results outputs with --out_node." },
    { "keep_quant_nodes", OPT_FLAG, AT(ignored),
      .refused = "encodings of QuantizeLinear and DequantizeLinear go to their tensors; --ignore_encodings takes them out "
                 "of the model instead." },
    WORDS("op_package_lib", 0, "PATH:PROVIDER", "Refused: " CONVERTER_REFUSED_PACKAGES "."),
    { "arch_checker", OPT_FLAG, AT(arch_checker),
      .help = "Also compile the model with libQnnHtp.so, say what in it costs time, accuracy or support on an HTP and what "
              "to change, and write that as "
              "<output>_arch_checker.json." },

    { "input_list", OPT_STRING, AT(quant.input_list), .argument = "FILE", .section = "Quantization",
      .help = "Lines of raw float32 files, as for qnn-net-run. Turns quantization on: the float graph runs on every line, "
              "ranges are taken from what "
              "it computes." },
    { "quantization_overrides", OPT_STRING, AT(quant.overrides), .argument = "FILE",
      .help = "JSON with encodings of some tensors. Without --input_list everything else stays float." },
    { "act_bw", OPT_NUMBER, AT(quant.act_bits), .argument = "8|16", .min = 8, .max = 16,
      .help = "Bits of activations (8)." },
    { "weight_bw", OPT_NUMBER, AT(quant.weight_bits), .argument = "4|8|16", .min = 4, .max = 16,
      .help = "Bits of weights (8)." },
    { "bias_bw", OPT_NUMBER, AT(quant.bias_bits), .argument = "8|32", .min = 8, .max = 32,
      .help = "Bits of biases (8). 32 is exact and costs little." },
    { "act_quantizer", OPT_CHOICE, AT(quant.act_old), .choices = quantizer_old_names, .seen = AT(quant.act_old_given),
      .help = "tf: min-max, asymmetric. enhanced: long tails are clipped (sqnr). adjusted: a range wider by a sixteenth. "
              "symmetric: signed, offset 0." },
    { "param_quantizer", OPT_CHOICE, AT(quant.param_old), .choices = quantizer_old_names, .seen = AT(quant.param_old_given),
      .help = "The same for weights." },
    { "act_quantizer_calibration", OPT_CHOICE, AT(quant.act_method), .choices = quantize_method_names,
      .seen = AT(quant.act_method_given), .help = "How ranges of activations are chosen." },
    { "param_quantizer_calibration", OPT_CHOICE, AT(quant.param_method), .choices = quantize_method_names,
      .seen = AT(quant.param_method_given), .help = "How ranges of weights are chosen." },
    { "act_quantizer_schema", OPT_CHOICE, AT(quant.act_schema), .choices = quantize_schema_names,
      .seen = AT(quant.act_schema_given), .help = "Encodings of activations." },
    { "param_quantizer_schema", OPT_CHOICE, AT(quant.param_schema), .choices = quantize_schema_names,
      .seen = AT(quant.param_schema_given), .help = "Encodings of weights." },
    { "percentile_calibration_value", OPT_STRING, AT(quant.percentile), .argument = "P",
      .help = "For the method percentile (99.99)." },
    WORDS("use_per_channel_quantization", 0, "[true|false]", "One scale per output channel of convolution weights."),
    WORDS("use_per_row_quantization", 0, "[true|false]",
          "One scale per output of FullyConnected and MatMul weights, and per row of those of Lstm and Gru."),
    { "restrict_quantization_steps", OPT_STRING, AT(quant.restrict_steps), .argument = "\"MIN MAX\"",
      .help = "Steps that values of a matching width may use, hexadecimal: \"-0x8000 0x7F7F\"." },
    { "ignore_encodings", OPT_FLAG, AT(quant.ignore_model),
      .help = "Encodings of the model are taken out of it: it becomes float before anything else." },
    { "use_native_input_files", OPT_FLAG, AT(quant.native_inputs),
      .help = "Files of --input_list have the types of the graph's inputs." },
    { "use_native_output_files", OPT_FLAG, AT(ignored), .help = "Changes nothing.",
      .told = "the converter writes no results." },
    { "use_native_dtype", OPT_FLAG, AT(quant.native_inputs), .help = "The older name of --use_native_input_files." },
    WORDS("algorithms", 0, "cle|bc|adaround|amp …",
          "cle: cross-layer equalization. bc: bias correction. adaround: weights are rounded with a view to the results. "
          "amp: layers that cost most get 16 bits. "
          "Several may be given."),
    { "dump_encodings", OPT_STRING, AT(quant.dump_encodings), .argument = "FILE",
      .help = "Write all encodings as JSON, in the form that overrides have." },
    { "compare", OPT_FLAG, AT(quant.compare),
      .help = "Run the quantized graph on the input list too, and print the error of every tensor, worst first." },
    { "quiet", OPT_FLAG, AT(quant.quiet), .help = "No table of encodings." },
    { "backend", OPT_STRING, AT(quant.backend), .argument = "FILE",
      .help = "The library that runs the graphs; libQnnCpu.so when not given." },
    { "debug", OPT_FLAG, AT(debug), .help = "Say more." },
    {}
};
