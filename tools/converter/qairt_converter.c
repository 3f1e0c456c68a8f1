/* SPDX-License-Identifier: Apache-2.0 */
/* qairt-converter: an ONNX or TFLite file becomes a DLC. */
#include <string.h>

#include "converter/converter_main.h"

static const char *const backends[] = { "HTP", "CPU", "GPU", "DSP", "HTA", "LPAI", NULL };
static const char *const formats[] = { "DLC_DEFAULT", "DLC_STRIP_QUANT", "dlc", NULL };

#define AT(member) offsetof(struct converter, member)
#define WORDS CONVERTER_WORDS

static const struct tool_option options[] = {
    { "input_network", OPT_STRING, AT(input), .argument = "FILE", .letter = 'i', .required = true, .section = "Files",
      .help = "The model: ONNX or TFLite, told apart by its first bytes." },
    { "output_path", OPT_STRING, AT(output), .argument = "FILE", .letter = 'o',
      .help = "The DLC to write. When not given, beside the input." },
    { "copyright_file", OPT_STRING, AT(copyright), .argument = "FILE", .help = "Text that is kept with the model." },
    { "dump_ir", OPT_STRING, AT(dump), .argument = "FILE",
      .help = "Also write the graph as text. Large constants as checksums." },
    WORDS("dry_run", 0, "[info|debug]", "Report what can be converted, write nothing."),

    { "source_model_input_shape", OPT_STRING, AT(several), .argument = "NAME d0,d1,…", .letter = 's',
      .section = "Inputs and outputs", .help = "Dimensions of an input, in the order of the source; may be repeated." },
    WORDS("source_model_input_layout", 0, "NAME LAYOUT",
          "Layout of an input: NCDHW NDHWC NCHW NHWC NFC NCF NTF TNF NF NC F; may be repeated."),
    WORDS("source_model_input_datatype", 0, "NAME TYPE", "Data type of an input; may be repeated."),
    WORDS("desired_input_layout", 0, "NAME LAYOUT",
          "How the client gives an input: the graph brings it into its own order; may be repeated."),
    WORDS("source_model_output_layout", 0, "NAME LAYOUT",
          "Layout of an output in the source, where it is not known; may be repeated."),
    WORDS("desired_output_layout", 0, "NAME LAYOUT", "How the client gets an output; may be repeated."),
    WORDS("desired_input_color_encoding", 'e', "NAME IN [OUT]",
          "The client gives an image as IN (bgr, rgb, rgba, argb32), the model expects OUT (bgr when not given); may be "
          "repeated."),
    WORDS("out_tensor_node", 0, "NAME",
          "A tensor that becomes an output, instead of those of the model; may be repeated. --out_tensor_name is the same."),
    WORDS("onnx_define_symbol", 0, "SYMBOL VALUE", "Value of a symbolic dimension; may be repeated."),
    { "onnx_override_batch", OPT_NUMBER, AT(batch), .argument = "N", .min = 1, .max = INT32_MAX,
      .help = "Size of an open first dimension." },
    WORDS("preserve_io", 0, "[layout|datatype] [NAME…]",
          "Inputs and outputs keep layout and data type of the source, or one of both."),
    WORDS("preserve_io_datatype", 0, "[NAME…]", "Inputs and outputs, or these, keep their data type."),
    { "config", OPT_STRING, AT(custom_io), .argument = "FILE",
      .help = "YAML list of inputs and outputs with Layout, Datatype and QuantParam." },
    { "dump_config_template", OPT_STRING, AT(custom_template), .argument = "FILE",
      .help = "Write such a list for this model, to be edited." },
    { "reset_state", OPT_FLAG, AT(reset_state),
      .help = "Variables begin anew in every run, instead of becoming inputs and outputs of the graph." },

    { "quantization_overrides", OPT_STRING, AT(quant.overrides), .argument = "FILE", .letter = 'q', .section = "Conversion",
      .help = "JSON with encodings of tensors. What has none stays float; qairt-quantizer with an input list adds the "
              "missing ones." },
    { "float_bitwidth", OPT_CHOICE, AT(float_bits), .choices = converter_float_widths, .help = "Bits of float tensors." },
    { "disable_batchnorm_folding", OPT_FLAG, AT(keep_batchnorm), .help = "Batch normalizations stay nodes of their own." },
    { "float_bias_bitwidth", OPT_CHOICE, AT(float_bias_bits), .choices = converter_float_widths,
      .seen = AT(float_bias_given), .help = "Bits of float biases; those of --float_bitwidth." },
    { "onnx_skip_simplification", OPT_FLAG, AT(keep_patterns),
      .help = "Subgraphs that one operator could stand for (Gelu, LayerNorm, …) stay as they are." },
    { "export_format", OPT_CHOICE, AT(export_format), .choices = formats,
      .help = "DLC_STRIP_QUANT: encodings of the model are taken out of it. dlc is DLC_DEFAULT." },
    { "set_model_version", OPT_STRING, AT(version), .argument = "TEXT", .help = "Kept with the model." },
    { "enable_framework_trace", OPT_FLAG, AT(ignored), .help = "Changes nothing.",
      .told = "the operators every node was made from are always kept." },
    { "onnx_summary", OPT_FLAG, AT(ignored), .help = "Changes nothing.",
      .told = "inputs, outputs and counts are always printed." },
    { "onnx_validate_models", OPT_FLAG, AT(ignored), .help = "Changes nothing.", .told = "models are always checked." },
    { "onnx_perform_sequence_construct_optimizer", OPT_FLAG, AT(ignored), .help = "Changes nothing.",
      .told = "sequences that a model makes are always resolved." },
    { "target_backend", OPT_CHOICE, AT(ignored_choice), .choices = backends, .help = "Changes nothing.",
      .told = "the same DLC serves all backends." },
    { "target_soc_model", OPT_STRING, AT(ignored_text), .argument = "NAME", .help = "Changes nothing.",
      .told = "the same DLC serves all backends." },
    { "gguf_config", OPT_STRING, AT(ignored_text), .argument = "FILE",
      .refused = "GGUF files are not read; convert the model to ONNX." },
    { "lora_weight_list", OPT_STRING, AT(ignored_text), .argument = "FILE",
      .refused = "adapters are not converted; merge their weights into the model." },
    { "dump_exported_onnx", OPT_FLAG, AT(ignored),
      .refused = "no model is exported on the way; --dump_ir writes the graph as text." },
    { "tflite_signature_name", OPT_STRING, AT(ignored_text), .argument = "NAME",
      .refused = "subgraph 0 of a TFLite file is converted; save the model with that signature alone." },
    WORDS("converter_op_package_lib", 0, "PATH", "Refused: " CONVERTER_REFUSED_PACKAGES "."),
    { "quiet", OPT_FLAG, AT(quant.quiet), .help = "No table of encodings." },
    { "debug", OPT_FLAG, AT(debug), .help = "Say more." },
    {}
};

/* Flatbuffers carry their identifier behind the root offset; everything else is protobuf, which has none. */
static enum status convert(const void *data, size_t size, const char *folder, const struct convert_opts *o,
                           struct convert_report *r, struct ir_graph **ret)
{
    if (size > 8 && !memcmp((const char *)data + 4, "TFL3", 4))
        return convert_tflite(data, size, o, r, ret);
    return convert_onnx(data, size, folder, o, r, ret);
}

int main(int argc, char **argv)
{
    static const struct converter_front front = {
        .program = "qairt-converter",
        .summary = "turns an ONNX or TFLite model into a DLC.",
        .examples = "  qairt-converter -i mobilenet.onnx -o mobilenet.dlc\n"
                    "  qairt-quantizer --input_dlc mobilenet.dlc --input_list images.txt\n"
                    "  qnn-net-run --backend libQnnCpu.so --dlc_path mobilenet_quantized.dlc --input_list images.txt\n",
        .convert = convert,
    };
    return converter_program(&front, options, true, argc, argv);
}
