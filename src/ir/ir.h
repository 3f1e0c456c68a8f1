/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in memory: two arrays, tensors and nodes; edges are indexes. Built by api/ and the converters, rewritten by
 * prepare/, printed and parsed as text for tests and bug reports (docs/internals/ir.md has the grammar).
 *
 *     graph "net" {
 *       in   %x   : uq8[1,8,8,3] scale=0.5 offset=-128
 *       const %w  : sq8[3,3,3,16] axis=3 scales=[0.01,…] = x"01ff…"
 *       out  %y   : uq8[1,8,8,16] scale=0.25 offset=0
 *       %t : uq8[1,8,8,16] scale=0.25 offset=0 = Conv2d "conv1" (%x, %w) { stride=u32[1,1], pad_amount=u32[[1,1],[1,1]] }
 *       %y = Relu "relu1" (%t)
 *     }
 */
#ifndef IR_IR_H
#define IR_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"
#include "ops/ops.h"

enum { IR_NONE = UINT32_MAX };

enum ir_role {
    IR_INPUT,     /* written by the client before execution */
    IR_OUTPUT,    /* read by the client after execution; may feed other nodes too */
    IR_INOUT,     /* shared by graphs of a context, read and written by the client */
    IR_NATIVE,    /* between nodes */
    IR_CONST,     /* data known */
    IR_ABSENT,    /* stands for an optional input that is not given */
    IR_ROLE_COUNT
};

struct ir_tensor {
    const char *name;
    struct tensor_desc desc;
    uint8_t role;          /* enum ir_role */
    bool optional;         /* the client may leave it out when executing */
    bool stripped;         /* a constant whose data moved into aux constants: only the descriptor is left */
    bool updateable;
    bool mem_handle;       /* the client promised registered memory (qmem) */
    uint32_t client_id;    /* the id the client knows it by; 0: made by a pass */
    uint32_t client_type;  /* the client's tensor type number, given back by reflection */
    const void *data;      /* IR_CONST: desc_bytes(&desc) bytes, or raw_bytes when set; in the arena or borrowed */
    uint64_t raw_bytes;    /* a constant made by a kernel family: opaque bytes, desc is u8[raw_bytes] */
};

/* A node with guards runs only when all of them hold: the tensor, one bool, is true or is false. */
struct ir_guard {
    uint32_t tensor;
    uint32_t value; /* 0 or 1 */
};
enum { IR_MAX_GUARDS = 16 }; /* as deep as If may be nested */

struct ir_node {
    const char *name;
    const char *source;       /* operators of the model it was made from, "Conv:conv1\nRelu:relu1"; NULL: not known */
    const struct op_def *op;
    uint32_t n_in, n_out, n_aux;
    uint32_t *in;             /* tensor indexes; IR_NONE: absent */
    uint32_t *out;
    uint32_t *aux;            /* constants appended by prepare for the kernels */
    struct op_value *params;  /* op_param_count(op) entries */
    struct op_post post;
    uint32_t n_guards;
    struct ir_guard *guards;  /* outermost first */
    bool dead;                /* removed by a pass; ir_compact drops it */
};

struct ir_graph {
    const char *name;
    struct arena arena; /* names, lists, parameters, quantization arrays, data */
    VEC(struct ir_tensor) tensors;
    VEC(struct ir_node) nodes; /* in an order where every producer stands before its consumers */
    VEC(struct ir_graph *) children; /* graphs that If nodes of this one name, owned; see ir_if */
    VEC(struct ir_graph *) spent;    /* children that were put in place: their constants are still borrowed */
    struct {                   /* tensor indexes by name, brought up to date when somebody looks for a name */
        uint32_t *slots;
        size_t cap, n;
    } names;
};

enum status ir_graph_create(const char *name, struct ir_graph **ret);
void ir_graph_free(struct ir_graph *g); /* NULL allowed */

/* Adding copies everything pointed to (names, quantization arrays, parameter values) into the arena, and constant data too
 * unless `borrow` is set in ir_add_const. On failure the graph is unchanged. */
enum status ir_add_tensor(struct ir_graph *g, const struct ir_tensor *t, uint32_t *ret);
enum status ir_add_const(struct ir_graph *g, const struct ir_tensor *t, bool borrow, uint32_t *ret);
/* No operator check: see ir_check_node. */
enum status ir_add_node(struct ir_graph *g, const struct ir_node *n, uint32_t *ret);

/* A copy that borrows constant data, so that passes can rewrite it while the original stays as the client built it. */
enum status ir_clone(const struct ir_graph *g, struct ir_graph **ret);

/* Whether the client may give some tensor of the graph, or of a graph inside of it, a new value. */
bool ir_updateable(const struct ir_graph *g);
/* Gives the client's tensor of that id new data and a new encoding, whose arrays stay the caller's, here and in graphs
 * inside of this one; NULL: the old ones. Data is written where it lies, so that who borrowed it has the new one, too: the
 * tensor was added by ir_add_tensor, to this graph or to the one it was borrowed from. False: there is no such tensor. */
bool ir_set_value(struct ir_graph *g, uint32_t client_id, const void *data, const struct quant *q);
enum status ir_keep_quant(struct ir_graph *g, struct quant *q); /* copies its arrays into the arena */

/* If runs one of two graphs of its own graph's children. A child takes nothing from around it: its inputs are inputs of the
 * If node (behind the condition first those of then_graph in tensor order, then those of else_graph), its outputs are the
 * node's outputs. */
/* Copies, borrowing constants; names are unique among children. */
enum status ir_add_child(struct ir_graph *g, const struct ir_graph *child);
/* The same without a copy; on failure the caller keeps it. */
enum status ir_take_child(struct ir_graph *g, struct ir_graph *child);
struct ir_graph *ir_find_child(const struct ir_graph *g, const char *name);  /* NULL when there is none */
bool ir_is_if(const struct ir_node *n);                                      /* an If that names graphs */
/* The two graphs of such a node, [1] for true; checked against its inputs and outputs. */
enum status ir_if(const struct ir_graph *g, const struct ir_node *n, struct ir_graph *ret[2]);

uint32_t ir_find_tensor(struct ir_graph *g, const char *name); /* IR_NONE when there is none */

/* Both lists of sources without repetitions, in the arena. NULL when there is none, and when there is no memory: it is a
 * remark. */
const char *ir_join_sources(struct arena *a, const char *x, const char *y);

/* The node as an op_call; arrays live in `view`, valid until the graph changes. */
struct ir_call {
    struct op_call call;
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    const void *in_data[MAX_PORTS], *aux[8];
};
void ir_call(const struct ir_graph *g, const struct ir_node *n, struct ir_call *view);
enum status ir_check_node(const struct ir_graph *g, const struct ir_node *n); /* op_check of the node as it stands */
bool ir_stateful(const struct ir_graph *g, const struct ir_node *n);           /* op_stateful of the node as it stands */

/* Who makes and uses what; recomputed by passes that need it. */
struct ir_uses {
    uint32_t *producer;     /* per tensor: node or IR_NONE */
    uint32_t *n_consumers;  /* per tensor */
    uint32_t *consumer;     /* per tensor: one consumer (the only one when n_consumers is 1) or IR_NONE */
};
enum status ir_uses(const struct ir_graph *g, struct arena *a, struct ir_uses *ret);

/* Indexes in range, one producer per tensor, producers first, inputs produced, operators check out. Names the pass that
 * broke it. */
enum status ir_verify(const struct ir_graph *g, const char *after);
/* Drop dead nodes and tensors that nobody uses (graph inputs and outputs stay); renumbers. */
enum status ir_compact(struct ir_graph *g);

/* Text. Constants longer than `max_data` bytes print as their crc32 when max_data is not SIZE_MAX (such text cannot be
 * parsed back). */
void ir_print(const struct ir_graph *g, size_t max_data, struct str *out);
enum status ir_parse(const char *text, size_t size, struct ir_graph **ret); /* error with line and column */

#endif
