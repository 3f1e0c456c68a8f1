/* SPDX-License-Identifier: Apache-2.0 */
/* The DLC as we read and write it (private to convert/).
 *
 *     zip ─┬─ model          D5 0A 04 00 00 00 00 00, then a flatbuffer NETD: graphs, nodes, tensors, encodings
 *          ├─ model.params   the same eight bytes, then a flatbuffer NETP: bytes of constants and of tensor parameters
 *          ├─ dlc.metadata   lines of key=value
 *          ├─ openqnn.extra    only where needed, flatbuffer OQNX: what the tables of NETD have no place for; other readers
 *          │                   pass it by
 *          ├─ openqnn.weights  only where the constants do not fit a flatbuffer (2 GiB): their bytes, in the order of graphs
 *          │                   and tensors, each at a multiple of 64; model.params has none then
 *          └─ openqnn.sources  flatbuffer OQNS: which operators of the source model every node was made from
 *
 * Nobody has published the layout. The tables below are what can be seen in files; of the encoding we take the fields to be
 * bit width, minimum, maximum, scale and offset, with real = scale * (q + offset). */
#ifndef CONVERT_DLC_DLC_H
#define CONVERT_DLC_DLC_H

#include "convert/convert.h"
#include "convert/dlc/flatbuffer_write.h"
#include "convert/tflite/flatbuffer.h"

#define DLC_MODEL "model"
#define DLC_PARAMS "model.params"
#define DLC_METADATA "dlc.metadata"
#define DLC_EXTRA "openqnn.extra"
#define DLC_SOURCES "openqnn.sources"
#define DLC_WEIGHTS "openqnn.weights"

enum { DLC_PREFIX_BYTES = 8, DLC_WEIGHTS_ALIGN = 64 };
extern const uint8_t dlc_prefix[DLC_PREFIX_BYTES];

/* Fields of the tables, in the order of their slots. */
enum { DLC_MODEL_GRAPHS };
enum { DLC_GRAPH_NAME, DLC_GRAPH_NODES, DLC_GRAPH_TENSORS };
enum { DLC_NODE_NAME, DLC_NODE_TYPE, DLC_NODE_INPUTS, DLC_NODE_OUTPUTS, DLC_NODE_ATTRIBUTES };
enum { DLC_ATTR_NAME, DLC_ATTR_KIND, DLC_ATTR_FLAG, DLC_ATTR_VALUE, DLC_ATTR_TENSOR };
enum { DLC_VALUE_KIND, DLC_VALUE_INT, DLC_VALUE_FLOAT, DLC_VALUE_STRING };
enum {
    DLC_TENSOR_ID,
    DLC_TENSOR_NAME,
    DLC_TENSOR_TYPE,
    DLC_TENSOR_SHAPE,
    DLC_TENSOR_UNKNOWN,
    DLC_TENSOR_INFO,
    DLC_TENSOR_DTYPE,
    DLC_TENSOR_OUT_DTYPE
};
enum { DLC_INFO_ENCODING, DLC_INFO_DEFINED, DLC_INFO_TENSOR, DLC_INFO_AXIS };
enum { DLC_RANGE_BITS, DLC_RANGE_MIN, DLC_RANGE_MAX, DLC_RANGE_SCALE, DLC_RANGE_OFFSET };
enum { DLC_AXIS_AXIS, DLC_AXIS_RANGES };
enum { DLC_PARAMS_GRAPHS };
enum { DLC_GRAPH_PARAMS_NAME, DLC_GRAPH_PARAMS_TENSORS, DLC_GRAPH_PARAMS_NODES };
enum { DLC_NODE_PARAMS_TENSORS };
enum { DLC_DATA_NAME, DLC_DATA_BYTES };
enum { DLC_PARAMS64_BUFFERS, DLC_PARAMS64_PARAMS };
enum { DLC_BUFFER_BYTES };

enum { DLC_ATTR_SCALAR = 0, DLC_ATTR_IS_TENSOR = 1 };

/* OQNX: graphs [name, tensors], and of a tensor what is not in NETD. */
enum { EXTRA_GRAPHS };
enum { EXTRA_GRAPH_NAME, EXTRA_GRAPH_TENSORS };
enum {
    EXTRA_NAME,
    EXTRA_DYNAMIC,
    EXTRA_FORMAT,
    EXTRA_KIND,
    EXTRA_DEFINITION,
    EXTRA_BITS,
    EXTRA_MAPPING,
    EXTRA_AXIS,
    EXTRA_SCALE,
    EXTRA_OFFSET,
    EXTRA_SCALES,
    EXTRA_OFFSETS,
    EXTRA_FLOAT_OFFSETS,
    EXTRA_BLOCK,
    EXTRA_EXPANSION,
    EXTRA_BLOCK_SCALES,
};

/* OQNS: graphs [name, sources: one text per node of NETD, lines of "Type:name"]. */
enum { SOURCES_GRAPHS };
enum { SOURCES_GRAPH_NAME, SOURCES_GRAPH_NODES };

/* The client's tensor type by role and flags; false: there is no such type. */
bool dlc_type_from_role(const struct ir_tensor *t, uint32_t *ret);
bool dlc_type_to_role(uint32_t type, struct ir_tensor *ret);
enum dtype dlc_dtype(uint32_t number); /* DT_NONE when unknown */

/* ---- encodings (dlc_encoding.c) --------------------------------------------------------------------------------------- */

/* Whether NETD alone cannot say everything about a tensor. */
bool dlc_needs_extra(const struct tensor_desc *d);
uint32_t dlc_put_info(struct fbw *w, const struct tensor_desc *d); /* the TensorInfo table, 0: none */
enum status dlc_get_info(struct fb_table tensor, const char *name, struct arena *a, struct tensor_desc *d);

uint32_t dlc_put_extra(struct fbw *w, const struct ir_tensor *t);
enum status dlc_get_extra(struct fb_table t, const char *name, struct arena *a, struct tensor_desc *d);

/* ---- the model (dlc_read.c) ------------------------------------------------------------------------------------------- */

struct dlc_part {
    const uint8_t *at; /* NULL: the container has no such record */
    uint64_t n;
};
struct dlc_parts {
    struct dlc_part model, params, extra, sources, weights;
};
/* Constants are borrowed from the parts. */
enum status dlc_read_graphs(const struct dlc_parts *parts, struct convert_report *r, struct ir_graph ***ret,
                            uint32_t *ret_n);

/* The first violation of the layout, in words about the DLC. */
enum status dlc_layout(const struct fb *b, const char *part);

#endif
