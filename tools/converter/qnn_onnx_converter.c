/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-onnx-converter: an ONNX file becomes a model source with its weights. */
#include "converter/converter_main.h"

int main(int argc, char **argv)
{
    static const struct converter_front front = {
        .program = "qnn-onnx-converter",
        .summary = "turns an ONNX model into a QNN model source, its weights and a description.",
        .examples = "  qnn-onnx-converter -i resnet50.onnx -o out/resnet50.cpp\n"
                    "  qnn-onnx-converter -i speech.onnx -d audio 1,512 -s frames 10 --dry_run\n"
                    "Images become channel last; the order of every input and output is printed. --preserve_io keeps the "
                    "order of the source.\n",
        .convert = convert_onnx,
    };
    return converter_main(&front, argc, argv);
}
