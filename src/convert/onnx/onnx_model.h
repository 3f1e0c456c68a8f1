/* SPDX-License-Identifier: Apache-2.0 */
/* An ONNX file as structs: what the schema says, no meaning yet. Everything is in the arena or points into the file. Private
 * to convert/onnx. */
#ifndef CONVERT_ONNX_MODEL_H
#define CONVERT_ONNX_MODEL_H

#include "convert/onnx/onnx_wire.h"
#include "ops/ops.h"

enum { ONNX_RANK_MAX = 16 }; /* dimensions kept; more than MAX_RANK is refused where the tensor is used */

struct onnx_tensor {
    const char *name;
    int32_t elem;      /* the file's number of the data type */
    enum dtype type;   /* DT_NONE: not a type of ours */
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    struct wire message;
    struct wire raw;
    bool has_raw, external;
    const char *location;
    uint64_t offset, length; /* of external data; length 0: to the end */
};

struct onnx_attr {
    const char *name;
    int32_t type; /* 1 float, 2 int, 3 string, 4 tensor, 5 graph, 6 floats, 7 ints, 8 strings; 0: the file does not say */
    float f;
    int64_t i;
    const char *s;
    struct onnx_tensor *t;
    struct wire graph; /* not looked into unless asked */
    float *floats;
    int64_t *ints;
    const char **strings;
    uint32_t n_floats, n_ints, n_strings;
    const char *ref; /* inside a function: the name of the attribute of the call */
};

struct onnx_node {
    const char *name, *op, *domain;
    const char **in, **out; /* "": absent */
    uint32_t n_in, n_out, n_attrs;
    struct onnx_attr *attrs;
    uint32_t at; /* position in the file's list */
};

struct onnx_info {
    const char *name;
    enum dtype type;
    int32_t elem;
    bool has_shape;
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];        /* -1: unknown */
    const char *symbols[ONNX_RANK_MAX]; /* name of an unknown dimension, or NULL */
};

struct onnx_graph {
    const char *name;
    struct onnx_node *nodes;
    struct onnx_tensor *initializers;
    struct onnx_info *inputs, *outputs;
    size_t n_nodes, n_initializers, n_inputs, n_outputs;
    bool sparse; /* has sparse initializers */
};

struct onnx_function {
    const char *name, *domain;
    const char **in, **out;
    uint32_t n_in, n_out;
    size_t n_nodes;
    struct wire message;
};

struct onnx_model {
    int64_t ir_version, opset; /* of the default domain */
    struct onnx_graph graph;
    struct onnx_function *functions;
    size_t n_functions;
};

enum status onnx_parse_model(struct arena *a, const void *data, size_t size, struct onnx_model *ret);
enum status onnx_parse_graph(struct arena *a, struct wire message, struct onnx_graph *ret);
enum status onnx_parse_tensor(struct arena *a, struct wire message, struct onnx_tensor *ret);
/* Nodes as the file lists them, and behind those whose outputs they read (onnx_order.c). */
enum status onnx_parse_list(struct arena *a, struct wire message, uint32_t field, struct onnx_node **ret, size_t *ret_n);
enum status onnx_parse_nodes(struct arena *a, struct wire message, uint32_t field, struct onnx_node **ret, size_t *ret_n);
enum status onnx_order(struct arena *a, struct onnx_node **nodes, size_t n);

enum dtype onnx_dtype(int32_t elem);
const char *onnx_elem_name(int32_t elem);

/* The contents: dense bytes of t->type, borrowed from the file where the file has them so, else decoded or read into `a`. */
enum status onnx_tensor_bytes(struct arena *a, const struct onnx_tensor *t, const char *folder, const void **ret);

#endif
