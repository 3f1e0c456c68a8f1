/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-tflite-converter: a TFLite file becomes a model source with its weights. */
#include "converter/converter_main.h"

static enum status convert(const void *data, size_t size, const char *folder, const struct convert_opts *o,
                           struct convert_report *r, struct ir_graph **ret)
{
    (void)folder;
    return convert_tflite(data, size, o, r, ret);
}

int main(int argc, char **argv)
{
    static const struct converter_front front = {
        .program = "qnn-tflite-converter",
        .summary = "turns a TFLite model into a QNN model source, its weights and a description.",
        .examples =
            "  qnn-tflite-converter -i mobilenet.tflite -o out/mobilenet.cpp\n"
            "  qnn-tflite-converter -i keyword.tflite -d input_1 1,49,10,1 --dry_run\n"
            "Quantized models keep their encodings. Variables of streaming models become inputs and outputs of the graph.\n",
        .convert = convert,
    };
    return converter_main(&front, argc, argv);
}
