/* SPDX-License-Identifier: Apache-2.0 */
/* From the files people have to a graph of QNN operators, and from a graph to the files that tools exchange.
 *
 *     model.onnx    ─┐                                   ┌─ model.cpp + model.bin + model_net.json
 *     model.tflite  ─┼─> struct ir_graph (channel last) ─┤
 *     model.dlc     ─┘                                   └─ model.dlc
 *
 * Front ends only use rows and rules of src/ops: what they build has passed op_check. Every unsupported operator of a model is reported,
 * not just the first. Nothing from a file is trusted. */
#ifndef CONVERT_CONVERT_H
#define CONVERT_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"
#include "ir/ir.h"

/* What the user says about one input of the source model. */
struct convert_input {
    const char *name;
    uint8_t rank;            /* 0: as in the model */
    uint32_t dims[MAX_RANK]; /* in the source's order */
    const char *layout;      /* "NCHW", "NHWC", "NCF", …; NULL: by rank */
    enum dtype type;         /* DT_NONE: as in the model */
};

struct convert_opts {
    const struct convert_input *inputs;
    uint32_t n_inputs;
    const char *const *outputs; /* tensors that become graph outputs; NULL: those of the model */
    uint32_t n_outputs;
    uint32_t batch;             /* overrides a leading dynamic dimension; 0: 1 */
    const char *const *symbols; /* names of symbolic dimensions … */
    const uint32_t *symbol_values;
    uint32_t n_symbols;
    bool preserve_io;           /* inputs and outputs keep the source's layout and type: transposes stay inside the graph */
    bool float16;               /* float tensors become f16 */
    bool keep_batchnorm;        /* do not fold */
};

/* One operator or tensor that could not be converted. */
struct convert_issue {
    const char *node, *op, *reason, *nearest; /* nearest: the supported form that comes closest, may be NULL */
};

/* How the user sees an input or output: name and layout in the source and in the graph. */
struct convert_io {
    const char *source_name, *graph_name;
    const char *source_layout, *graph_layout; /* "" when unknown */
    bool output;
};

struct convert_report {
    struct arena arena;
    VEC(struct convert_issue) issues;
    VEC(struct convert_io) io;
    uint64_t params, macs;
};
void convert_report_init(struct convert_report *r);
void convert_report_finish(struct convert_report *r);

/* Front ends. `data` must stay valid as long as the graph (large constants are borrowed from it). With issues: ST_NOT_SUPPORTED, and the report lists
 * all of them. */
enum status convert_onnx(const void *data, size_t size, const char *folder, const struct convert_opts *o, struct convert_report *r,
                         struct ir_graph **ret); /* folder: where external data files are, may be NULL */
enum status convert_tflite(const void *data, size_t size, const struct convert_opts *o, struct convert_report *r, struct ir_graph **ret);

/* A name as a C identifier, as file and tensor names are written: characters outside [A-Za-z0-9_] become '_'. */
const char *convert_name(struct arena *a, const char *name);

#endif
