/* SPDX-License-Identifier: Apache-2.0 */
/* From the files people have to a graph of QNN operators, and from a graph to the files that tools exchange.
 *
 *     model.onnx    ─┐                                   ┌─ model.cpp + model.bin + model_net.json
 *     model.tflite  ─┼─> struct ir_graph (channel last) ─┤
 *     model.dlc     ─┘                                   └─ model.dlc
 *
 * Front ends only use rows and rules of src/ops: what they build has passed op_check. Every unsupported operator of a model
 * is reported, not just the first. Nothing from a file is trusted. */
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

/* An input of the source whose contents are known when it is converted (a shape, axes, paddings): it becomes a constant. */
struct convert_const {
    const char *name;
    struct tensor_desc desc; /* dimensions may be 0 */
    const void *data;        /* as long-lived as the model's bytes */
};

struct convert_opts {
    const struct convert_const *constants;
    uint32_t n_constants;
    const struct convert_input *inputs;
    uint32_t n_inputs;
    const char *const *outputs; /* tensors that become graph outputs; NULL: those of the model */
    uint32_t n_outputs;
    uint32_t batch;             /* overrides a leading dynamic dimension; 0: 1 */
    const char *const *symbols; /* names of symbolic dimensions … */
    const uint32_t *symbol_values;
    uint32_t n_symbols;
    bool preserve_io;             /* inputs and outputs keep the source's layout: transposes stay inside the graph */
    bool float16;                 /* float tensors become f16 … */
    bool preserve_types;          /* … but inputs and outputs keep their type, … */
    const char *const *preserved; /* … or only these, when there are any */
    uint32_t n_preserved;
    bool keep_batchnorm;        /* do not fold */
    bool keep_patterns;         /* do not replace subgraphs by one operator (convert_fuse) */
    bool approximate;           /* … also by one that differs by up to 5e-4: worth it before quantizing to 8 bits */
    /* Called for bytes of the file that a copy was made of and that will hardly be read again: whoever mapped the file can
     * let their pages go. NULL: nobody. */
    void (*release)(void *arg, const void *bytes, size_t size);
    void *release_arg;
    bool reset_state;           /* TFLite: variables begin anew in every run; otherwise they are graph inputs and outputs */
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
    /* What the model keeps between runs. An output: the graph input that gets its value in the next run; NULL: an ordinary
     * output. */
    const char *state;
    const void
        *initial; /* an input fed that way: what the first run gets, as long-lived as the model's bytes; NULL: real zero */
    uint64_t initial_bytes;
};

struct convert_report {
    struct arena arena;
    VEC(struct convert_issue) issues;
    VEC(struct convert_io) io;
    uint64_t params, macs;
};
void convert_report_init(struct convert_report *r);
void convert_report_finish(struct convert_report *r);

/* Multiplications of a node for one result `out`; 0 for operators that are not products. */
uint64_t convert_macs(const struct op_call *c, const struct tensor_desc *out);

/* Front ends. `data` must stay valid as long as the graph (large constants are borrowed from it). With issues:
 * ST_NOT_SUPPORTED, and the report lists all of them. */
enum status convert_onnx(const void *data, size_t size, const char *folder, const struct convert_opts *o,
                         struct convert_report *r,
                         struct ir_graph **ret); /* folder: where external data files are, may be NULL */
enum status convert_tflite(const void *data, size_t size, const struct convert_opts *o, struct convert_report *r,
                           struct ir_graph **ret);

/* Subgraphs that QNN has one operator for become that operator: Gelu, HardSwish, LayerNorm, RmsNorm, MaskedSoftmax. Results
 * differ by rounding only; with `approximate` the tanh form of Gelu counts too, which differs by up to 5e-4. Front ends call
 * it. */
enum status convert_fuse(struct ir_graph *g, bool approximate);
/* Batch normalizations behind layers with constant weights become part of them. Front ends call it, unless keep_batchnorm is
 * set. */
enum status convert_fold_batchnorm(struct ir_graph *g);

/* Model files: PREFIX.cpp composes the graph through a backend's interface table, PREFIX.bin is a tar archive of its
 * constants (qnn-model-lib-generator compiles both into a model library), PREFIX_net.json describes the graph without the
 * constants. */
struct convert_write {
    const char *prefix;  /* path without suffix: "out/model" */
    const char *path;    /* of a DLC, in place of PREFIX.dlc; may be NULL */
    const char *command; /* how the converter was called, for the records; may be NULL */
    const char *copyright;
    const char *version; /* of the model, kept in a DLC; may be NULL */
    uint64_t inline_max; /* bytes of constants that a DLC keeps in its flatbuffer, 0: as many as fit */
    bool own_names;      /* functions of the source are named after the file: MODEL_composeGraphs instead of
                            QnnModel_composeGraphs */
};
enum status convert_write_model(const struct ir_graph *g, const struct convert_report *r, const struct convert_write *w);

/* ---- DLC: a zip archive of records, among them a model. A container and what it gives is used by one thread at a time.  */

struct convert_dlc;
/* `data` stays the caller's and valid until the container is closed. */
enum status convert_dlc_open(const char *path, struct convert_dlc **ret);
enum status convert_dlc_open_data(const void *data, size_t size, struct convert_dlc **ret);
enum status convert_dlc_create(struct convert_dlc **ret); /* a container with nothing but its metadata */
void convert_dlc_close(struct convert_dlc *d);            /* NULL allowed; frees its graphs */

uint32_t convert_dlc_count(const struct convert_dlc *d);
const char *convert_dlc_name(const struct convert_dlc *d, uint32_t record);
uint64_t convert_dlc_size(const struct convert_dlc *d, uint32_t record);
/* Its bytes; read once, valid until close. */
enum status convert_dlc_record(struct convert_dlc *d, uint32_t record, const void **ret);

/* The graphs of the model, read at the first call; they belong to the container. No model: none. Operators that we do not
 * have: ST_NOT_SUPPORTED, and the report (NULL allowed) lists all of them. */
enum status convert_dlc_graphs(struct convert_dlc *d, struct convert_report *r, struct ir_graph *const **ret,
                               uint32_t *ret_n);

/* All records in a new container: in a file, or in memory for mem_free. */
enum status convert_dlc_save(struct convert_dlc *d, const char *path);
enum status convert_dlc_image(struct convert_dlc *d, void **ret, size_t *ret_size);

/* PREFIX.dlc, or the path given. The graphs are as front ends make them: after prepare they hold what a DLC has no
 * place for. */
enum status convert_write_dlc(const struct ir_graph *const *graphs, uint32_t n, const struct convert_write *w);

/* The client's number of a data type (QNN_DATATYPE_…), by name in source files and as a number in JSON. */
uint32_t convert_dtype_number(enum dtype t);
const char *convert_dtype_macro(enum dtype t);

/* A name as a C identifier, as file and tensor names are written: characters outside [A-Za-z0-9_] become '_'. */
const char *convert_name(struct arena *a, const char *name);
/* Whether an input or output keeps its type in a graph of f16; by its name in the source or in the graph. */
bool convert_keeps_type(struct arena *a, const struct convert_opts *o, const char *name);

#include "convert/quantize.h"

#endif
