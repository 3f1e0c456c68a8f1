/* SPDX-License-Identifier: Apache-2.0 */
/* From a float graph and samples to a quantized graph, as the converters and qairt-quantizer do it: calibrate, quantize,
 * report, compare. */
#ifndef TOOLS_CONVERTER_QUANTIZER_H
#define TOOLS_CONVERTER_QUANTIZER_H

#include "convert/convert.h"
#include "converter/encodings_json.h"

struct quantizer_args {
    const char *input_list, *overrides, *dump_encodings, *backend, *restrict_steps;
    int64_t act_bits, weight_bits, bias_bits;
    uint32_t act_method, param_method;       /* indexes of quantize_method_names */
    uint32_t act_schema, param_schema;       /* of quantize_schema_names */
    uint32_t act_old, param_old;             /* of quantizer_old_names, which set method and schema */
    bool act_old_given, param_old_given, act_schema_given, param_schema_given, act_method_given, param_method_given;
    const char *percentile;
    bool per_channel, per_row, native_inputs, ignore_overrides, float_fallback, preserve_io, compare, quiet, ignore_model;
    bool cle, bc, adaround, amp; /* --algorithms, --apply_algorithms */
    const char *const *preserved; /* names given with preserve_io */
    uint32_t n_preserved;
    const struct quantize_override *io; /* from --custom_io */
    uint32_t n_io;
};
extern const char *const quantizer_old_names[]; /* tf enhanced adjusted symmetric */
extern const char *const quantizer_weight_bits[];

void quantizer_defaults(struct quantizer_args *q);
/* Whether anything asks for quantization. */
bool quantizer_wanted(const struct quantizer_args *q);

/* report: the front end's, for states; NULL: none. *g becomes the quantized graph; *keep holds the float graph, whose
 * constants it borrows (free it last). */
enum status quantizer_run(const struct quantizer_args *q, const struct convert_report *report, struct ir_graph **g,
                          struct ir_graph **keep);

/* What the graph computes from constants alone becomes constants, so that weights are quantized as such. */
struct runner_engine;
enum status quantizer_known(const struct quantizer_args *q, struct runner_engine *e, const struct convert_report *report,
                            struct ir_graph *g);

/* Automatic mixed precision: the layers whose rounding costs the outputs most get 16 bits until all outputs reach the
 * target. o: as for quantize_graph, with statistics. bits: one entry per tensor, filled. */
enum status quantizer_mix(const struct quantizer_args *q, struct runner_engine *e, const struct convert_report *report,
                          struct ir_graph *g, const struct quantize_opts *o, uint8_t *bits);
/* AdaRound and bias correction stay on in *o where the outputs are better with them. */
enum status quantizer_weigh(const struct quantizer_args *q, struct runner_engine *e, const struct convert_report *report,
                            struct ir_graph *g, struct quantize_opts *o);

/* The table: a line per tensor. */
void quantizer_print(const struct quantize_report *r);
/* Runs both graphs on the list and prints the error of every tensor that both have, worst first. */
enum status quantizer_compare(const struct quantizer_args *q, const struct convert_report *report,
                              const struct ir_graph *real, const struct ir_graph *fixed);

#endif
