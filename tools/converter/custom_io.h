/* SPDX-License-Identifier: Apache-2.0 */
/* --custom_io: a YAML list that says how the user wants inputs and outputs.
 *
 *     - IOName: image
 *       Layout:
 *         Model: NCHW
 *         Custom: NHWC
 *       Datatype: uint8
 *       QuantParam:
 *         Type: QNN_DEFINITION_DEFINED
 *         Scale: 0.0078125
 *         Offset: 128
 *
 * Datatype float32 keeps a quantized model's tensor float; uint8 and int8 with QuantParam set its encoding. Only this form is read: two spaces or
 * more of indentation, one key per line, comments behind "#". */
#ifndef TOOLS_CONVERTER_CUSTOM_IO_H
#define TOOLS_CONVERTER_CUSTOM_IO_H

#include "converter/quantizer.h"

/* Adds to q->io and q->preserved; the graph's tensors are checked. */
enum status custom_io_read(const char *path, struct ir_graph *g, struct arena *a, struct quantizer_args *q);
enum status custom_io_template(const struct convert_report *r, struct ir_graph *g, const char *path);

#endif
