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
 * Layout/Custom is how the client wants it: a Transpose inside does the rest. Datatype float32 keeps a quantized model's
 * tensor float; uint8 and int8 with QuantParam set its encoding. Only this form is read: two spaces or more of indentation,
 * one key per line, comments behind "#". */
#ifndef TOOLS_CONVERTER_CUSTOM_IO_H
#define TOOLS_CONVERTER_CUSTOM_IO_H

#include "converter/converter_words.h"
#include "converter/quantizer.h"

/* Adds to q->io and q->preserved, and changes layouts of the graph's inputs and outputs. `r` tells the layouts the graph
 * has; where it does not (NULL allowed), Layout/Model does. */
enum status custom_io_read(const char *path, const struct convert_report *r, struct ir_graph *g, struct arena *a,
                           struct quantizer_args *q);
/* Input or output `t`, which is `from` ("NHWC") in the graph, becomes `to` for the client. */
enum status custom_io_layout(struct ir_graph *g, uint32_t t, const char *from, const char *to, struct arena *a);
/* Parts of the two above: an input gets a tensor of its own behind it, which everybody reads instead; the last node becomes
 * the first. */
enum status custom_io_split(struct ir_graph *g, uint32_t t, struct arena *a, uint32_t *inner);
void custom_io_last_first(struct ir_graph *g);
/* The image that input `t` takes: the client gives `from` (rgb, bgr, rgba, argb32), the graph wants `to` (rgb, bgr). */
enum status custom_io_color(struct ir_graph *g, uint32_t t, const char *from, const char *to, struct arena *a);
/* All that the command line says about the order of values. */
enum status converter_orders(const struct converter_words *w, const struct convert_report *r, struct ir_graph *g,
                             struct arena *a);
enum status custom_io_template(const struct convert_report *r, struct ir_graph *g, const char *path);

#endif
