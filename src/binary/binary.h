/* SPDX-License-Identifier: Apache-2.0 */
/* The context binary: what prepare writes and exec runs, in memory or in a file; the only thing that crosses from compiler
 * to runtime. docs/binary-format.md has the offsets of every field; all numbers are little-endian.
 *
 *   header (128 bytes) | section table (32 bytes each) | sections, 64-byte aligned; constants 4096-byte aligned
 *
 * A file holds one or more graphs. Everything about a graph sits in sections tagged with the graph's index; constant
 * sections are numbered on their own, so that graphs can share them. binary_open checks every offset, index, count and enum
 * once; after it everything is trusted and used in place. Checksums of metadata are verified at open, those of constants
 * only by the binary_verify functions, so that opening costs time in proportion to metadata: who executes a graph verifies
 * what it uses first. */
#ifndef BINARY_BINARY_H
#define BINARY_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "ops/ops.h"

enum { BINARY_VERSION = 3, BINARY_OLDEST = 3, BINARY_NONE = UINT32_MAX, BINARY_MAX_GRAPHS = 4096, BINARY_MAX_CORES = 16 };

/* Where a tensor's bytes are while a graph runs. */
enum binary_place {
    PLACE_NONE,       /* absent, or a constant without data */
    PLACE_CONST,      /* offset in the graph's constant section */
    PLACE_SCRATCH,    /* offset in the scratch arena */
    PLACE_PERSISTENT, /* offset in memory that keeps its contents between executions */
    PLACE_IO,         /* the client's buffer for I/O tensor number `offset` */
    PLACE_LINES,      /* a few lines at a time, `offset` in the workspace of its chain (struct binary_chain) */
    PLACE_VTCM,       /* offset in the window of fast memory */
    PLACE_SPILL,      /* offset in the spill-fill buffer: what does not fit into the window */
    PLACE_COUNT
};

/* Which way the client's bytes of a tensor go. The numbers are those of the file. */
enum binary_io {
    IO_NONE, /* none of the client's */
    IO_INPUT,
    IO_OUTPUT,
    IO_BOTH /* a tensor of the context: read and written, among the inputs of the I/O table */
};

/* What happens to be true of one target: filled by the backend, shown by reflection, checked at load. */
struct binary_target {
    uint32_t backend_id;          /* QNN_BACKEND_ID_* */
    uint32_t soc_model, arch;     /* 0: any */
    uint32_t core_version[3], backend_version[3];
    char build_id[48];
};

struct binary_graph_info {
    const char *name;
    uint32_t n_inputs, n_outputs; /* of the I/O table, inputs first, in the order the client created them */
    uint64_t scratch_bytes, persistent_bytes, scratch_align;
    uint64_t live_bytes;      /* lower bound of any plan of these lifetimes */
    uint64_t order_bytes;     /* lower bound for any order of the operators; 0: not known */
    uint64_t io_bytes;        /* all I/O tensors together */
    uint64_t const_bytes;     /* of the constants this graph uses */
    uint64_t macs;
    uint64_t cycles;          /* estimated, 0: no estimate */
    uint32_t priority;
    uint32_t opt_level, vtcm_mb, hvx_threads, dlbc; /* HTP blob info */
    uint64_t vtcm_bytes, vtcm_used; /* the window of fast memory, 0: the graph has none; what the plan takes of it */
    uint64_t spill_fill_bytes; /* the spill-fill buffer */
    uint32_t plan_optimal;    /* 1: the plan is proven optimal */
    uint32_t n_source_nodes;  /* nodes the client added, before passes */
    uint32_t options;         /* the backend's own bits, for load */
    uint32_t cores;           /* of the device that share the work; 0: one */
};

/* How a constant is stored in a saved file (binary_packed.c). In memory constants are always plain. The numbers are those of
 * the file. */
enum binary_storage {
    STORE_PLAIN,
    STORE_NIBBLES, /* two bytes in one, where they lie within 16 values */
    STORE_SPARSE,  /* without bytes that are the most frequent one */
    STORE_GROUPS,  /* groups of 16 bytes with as many bits as they need */
    STORE_COUNT
};

/* One tensor of a graph, as stored and as seen through the reader. */
struct binary_tensor {
    const char *name;
    struct tensor_desc desc;
    uint8_t place;         /* enum binary_place */
    uint8_t io;            /* enum binary_io */
    uint8_t optional, updateable;
    uint8_t mem_handle;    /* the client promised registered memory when it built the graph */
    uint8_t storage;       /* enum binary_storage, of constants */
    uint32_t client_id, client_type;
    uint64_t offset, bytes;   /* in its place; io: index in the I/O table */
    uint32_t first, last;     /* steps in which scratch memory is in use, for the memory map */
};

/* A part of an operator's first result (binary_box.c): lines, columns and channels of one image. depth: of a product, how
 * many terms of its sums are added at a time; of a pool, how many taps of its windows are looked at, 1: all of them.
 * Results without height have rows for lines, and one column. */
struct binary_box {
    uint32_t lines, columns, channels, depth;
};

/* How a node goes through its result: box by box, with so many bytes of the window for what of its operands lies elsewhere.
 * The last node of a chain has the room of all of it. All 0: there is no window, or the node needs nothing of it. */
struct binary_tile {
    struct binary_box box;
    uint64_t offset, bytes; /* in the window */
};

struct binary_node {
    const char *name;
    const struct op_def *op;
    uint32_t n_in, n_out, n_aux;
    const uint32_t *in, *out, *aux;     /* tensor indexes; BINARY_NONE: absent */
    const struct op_value *params;      /* one per parameter of the row */
    struct op_post post;
    uint64_t work_offset, work_bytes;   /* workspace in scratch, for one thread; further threads bring their own */
    uint32_t n_guards;                  /* the node runs only when all of them hold */
    const uint32_t *guards;             /* pairs: a tensor, one bool; the value (0, 1) that it must have */
    uint64_t state_offset, state_bytes; /* what the node keeps between executions, in persistent memory */
    uint64_t macs, cycles;
    uint32_t resources;                 /* of a device, bits of enum binary_resource; 0: no estimate */
    uint32_t stored_share;              /* of its constants' bytes, how many move, in BINARY_WHOLE; 0: all of them */
    struct binary_tile tile;
};

enum { BINARY_WHOLE = 65536 };

/* What of a device works for an operator. */
enum binary_resource { RESOURCE_MATRIX = 1, RESOURCE_VECTOR = 2, RESOURCE_DMA = 4 };

/* Nodes first … first + n - 1, computed depth first: a command of the last one names lines of its result, and for every
 * `height` of them the members compute in turn what is wanted. Results of the others are in PLACE_LINES: nobody outside
 * reads them. Workspaces of members lie in the chain's. */
struct binary_chain {
    uint32_t first, n;
    uint32_t height;
    uint32_t lines, images;           /* of the last result, all lines of so many images (op_chain_images); not stored */
    uint64_t work_offset, work_bytes; /* in scratch, for one thread; further threads bring their own */
};

/* One tile of work. Commands of equal step do not depend on each other; steps run as if step s + 1 started when all of
 * step s are done. */
struct binary_command {
    uint32_t node;
    uint32_t begin, end; /* units of the kernel's extent; end UINT32_MAX: all that is left */
    uint32_t step;
};

/* What an estimate says a command keeps busy, and when: cycles since the graph began. Spans of one command are in the order
 * of time per unit; of vectors there may be several at once, on threads. */
enum binary_unit { UNIT_MATRIX, UNIT_VECTOR, UNIT_FETCH, UNIT_STORE, UNIT_COUNT }; /* the DMA engine: from DRAM, to DRAM */
struct binary_span {
    uint32_t command;
    uint32_t node; /* of a chain's command, the member that works; for transfers its last node */
    uint8_t unit;  /* enum binary_unit */
    bool all;      /* of vectors: on all threads, not on one */
    uint64_t start, cycles;
    uint32_t core; /* of several: each has as large a part of an operator's commands, one behind the other */
};
struct binary_timeline {
    uint32_t clock_mhz, threads; /* of the device: its clock, threads of its vector units */
    uint32_t n_spans;
};

/* ---- writing --------------------------------------------------------------------------------------------------------- */

/* A graph ready to be written. Pointers are borrowed until binary_write returns. The writer numbers the I/O table itself:
 * tensors with io 1 or 3 in tensor order, then those with io 2; a tensor with io 0 in PLACE_IO names an entry of
 * that table. */
struct binary_source {
    struct binary_graph_info info;
    uint32_t n_tensors, n_nodes, n_commands;
    const struct binary_tensor *tensors; /* PLACE_CONST: `offset` is assigned by the writer, `data[i]` is copied */
    const void *const *data;             /* per tensor: constant bytes or NULL */
    const struct binary_node *nodes;
    const struct binary_command *commands;
    uint32_t n_chains;
    const struct binary_chain *chains; /* in the order of their nodes */
    const uint8_t *spans;              /* of binary_spans_encode; NULL: none */
    uint64_t span_bytes;
};

/* One allocation with the finished file; free with binary_image_free. */
struct binary_image {
    void *data; /* 4096-byte aligned */
    size_t size;
};
enum status binary_write(const struct binary_target *t, const struct binary_source *g, struct binary_image *ret);
void binary_image_free(struct binary_image *im);

struct binary; /* an opened file, below */

/* What a file has besides its graphs. */
struct binary_extra {
    const char *oem;    /* NULL: none */
    const void *own;    /* bytes of the backend that made it */
    uint64_t own_bytes; /* 0: none */
    const uint32_t *priorities; /* of the graphs, in their order; NULL: those that they were written with */
    bool apart;         /* graphs keep constants of their own, but for those that had one section before */
};

/* Several one-graph files into one; constants that graphs have in common are stored once. `extra` may be NULL. */
enum status binary_merge(const struct binary *const *parts, uint32_t n, const struct binary_extra *extra,
                         struct binary_image *ret);
/* The exact size binary_merge will give. */
enum status binary_merged_size(const struct binary *const *parts, uint32_t n, const struct binary_extra *extra,
                               uint64_t *ret);

/* ---- constants in fewer bytes (binary_packed.c, binary_codec.c) ------------------------------------------------------- */

/* The bytes that a constant takes when it is stored so; as many as it has where that saves nothing. */
uint64_t binary_stored_bytes(enum binary_storage storage, const uint8_t *data, uint64_t bytes);
/* What compression leaves of a tensor's bytes; at most as many as it has. */
uint64_t binary_compressed_bytes(const uint8_t *data, uint64_t bytes);
/* The same file with constants stored as their tensors say. An image that stays empty: none of them takes fewer bytes. */
enum status binary_pack(const void *data, size_t size, struct binary_image *ret);
/* Bytes of the file with plain constants; 0: it has them plain, or is no context binary, which binary_open explains. */
uint64_t binary_unpacked_size(const void *data, size_t size);
/* That file, into memory of that size which is 64-byte aligned. */
enum status binary_unpack(const void *data, size_t size, void *dst, uint64_t dst_bytes);

/* ---- reading --------------------------------------------------------------------------------------------------------- */

struct binary_graph {
    struct binary_graph_info info;
    uint32_t n_tensors, n_nodes, n_commands, n_io, n_steps;
    const struct binary_tensor *tensors;
    const struct binary_node *nodes;
    const struct binary_command *commands; /* ordered by step */
    uint32_t n_chains, n_marks;            /* marks of a run: one per command, or per member of its chain */
    const struct binary_chain *chains;     /* in the order of their nodes */
    const uint32_t *chain_of;              /* per node, BINARY_NONE: none; NULL: there are no chains */
    const uint32_t *io;                    /* tensor index of each I/O table entry: inputs, then outputs */
    const uint8_t *constants;              /* the constant section, in place */
    uint64_t constant_bytes;
    struct binary_timeline timeline;       /* of an estimate by events; n_spans 0: there is none */
    const uint8_t *spans;                  /* for binary_span_next */
    uint64_t span_bytes;
};

struct binary {
    struct binary_target target;
    uint32_t n_graphs;
    const struct binary_graph *graphs;
    const char *oem;      /* may be NULL */
    const void *own;      /* bytes of the backend that made it, in place; not looked into here */
    uint64_t own_bytes;   /* 0: none */
    const void *map;      /* the bytes given to binary_open; constants point into them */
    size_t size;
    void *memory;         /* decoded tables: one allocation per graph */
};

/* Checks everything, copies only metadata: names and tables live in b->memory, constants stay in `data`, which must stay
 * mapped as long as the binary is in use. A file with packed constants is unpacked into memory of the reader.
 * Says what the bytes are when they are something else (ELF, ONNX, zip, …). A buffer
 * that is not 16-byte aligned is copied as a whole; constants are aligned to 64 bytes relative to the start of
 * the buffer. */
enum status binary_open(const void *data, size_t size, struct binary *ret);
void binary_close(struct binary *b);
/* Checksums of constant sections: of all of them, or of the one that a graph uses. */
enum status binary_verify_constants(const struct binary *b);
enum status binary_verify_graph(const struct binary *b, uint32_t graph);

/* Constant sections of a file, for readers that bring them in and check them piece by piece (binary_consts.c). */
struct binary_section {
    uint64_t offset, bytes; /* in the file */
    uint32_t crc, number;
};
struct binary_sections {
    struct binary_section *at; /* by offset */
    uint32_t n;
    uint64_t table_bytes, file_bytes; /* header and section table; the whole file */
};
/* Looks at header and section table alone. */
enum status binary_sections_read(const void *data, size_t size, struct binary_sections *ret);
void binary_sections_finish(struct binary_sections *s);
/* The checksum of what came before (0: nothing) and of these bytes; that of two pieces from those of each. */
uint32_t binary_crc(uint32_t crc, const void *data, uint64_t size);
uint32_t binary_crc_join(uint32_t first, uint32_t second, uint64_t second_bytes);
/* ST_BAD_BINARY: it is not that of the section. */
enum status binary_section_check(const struct binary_section *s, uint32_t crc);

/* The largest of the graphs of a file, from their records alone (binary_needs.c); ret holds numbers to be raised. */
struct binary_needs {
    uint64_t scratch_bytes, spill_fill_bytes, io_bytes;
    uint32_t n_io;
};
enum status binary_needs_read(const void *data, size_t size, struct binary_needs *ret);

/* A graph, and those that share its constants, as a file of their own (binary_pick.c): `head`, and right behind it the bytes
 * at `rest`, which stay those of `b`. */
struct binary_pick {
    struct binary_image head; /* whole pages where there is a rest */
    const uint8_t *rest;
    uint64_t rest_bytes;
    uint32_t graph, n_graphs; /* its number in the pick; how many there are */
};
enum status binary_pick(const struct binary *b, uint32_t graph, struct binary_pick *ret);
void binary_pick_free(struct binary_pick *p); /* the head */

/* Bytes moved when a node runs once (all of its tiles), by enum binary_place: each operand once, workspaces and states in
 * and out; a view over its own memory moves nothing. */
struct binary_traffic {
    uint64_t read[PLACE_COUNT], written[PLACE_COUNT];
};
void binary_node_traffic(const struct binary_graph *g, uint32_t node, struct binary_traffic *ret);
void binary_graph_traffic(const struct binary_graph *g, struct binary_traffic *ret); /* the sum over all nodes */

/* What an execution moves between the window of fast memory and the spill-fill buffer, in tile layout; zero where there is
 * no window. */
struct binary_transfers {
    uint64_t spilled, filled; /* for lack of room, and back */
    uint64_t read, written;   /* operands that stay in the spill-fill buffer because they do not fit */
};
void binary_transfers(const struct binary_graph *g, struct binary_transfers *ret);

/* ---- updates: a graph with new values, for who has the old one (binary_update.c) ------------------------------------- */

struct binary_constant {
    uint64_t bytes;
    const uint8_t *data;
    uint32_t crc;
};
struct binary_constants { /* in an order to find them in */
    struct binary_constant *at;
    size_t n;
    uint64_t bytes; /* of the constant section */
};
enum status binary_list_constants(const struct binary_graph *g, struct binary_constants *ret);
void binary_constants_finish(struct binary_constants *c);

/* Of one-graph files, what is not among the constants of the files they were before; of those only sizes and checksums are
 * looked at. */
enum status binary_update_write(const struct binary *const *parts, const struct binary_constants *const *base, uint32_t n,
                                struct binary_image *ret);

/* An opened one. Checks everything that can be checked without the file before; `data` stays the caller's. */
struct binary_update {
    const uint8_t *data;
    uint64_t size;
    uint32_t n_parts, backend_id;
};
enum status binary_update_open(const void *data, size_t size, struct binary_update *ret);
/* The same without its checksum, which looks at every byte. */
enum status binary_update_open_unsummed(const void *data, size_t size, struct binary_update *ret);
const char *binary_update_name(const struct binary_update *u, uint32_t part); /* of its graph */
/* The new file of a graph, for binary_open: with the constants of the one that it was, whose data are there. */
enum status binary_update_build(const struct binary_update *u, uint32_t part, const struct binary_constants *base,
                                struct binary_image *ret);

/* ---- spans: an estimate, command by command (binary_spans.c) ---------------------------------------------------------- */

/* Stored in a few bytes each, so they are read one after the other, in the order of commands. */
struct binary_span_reader {
    const struct binary_graph *g;
    uint64_t at;
    uint32_t command;
    uint64_t start[UNIT_COUNT], later[UNIT_COUNT],
        cycles[UNIT_COUNT]; /* of the last one on each unit; later: how much it began later than the one before it */
    uint32_t first, behind; /* commands of the node that `command` is one of */
};
void binary_span_first(const struct binary_graph *g, struct binary_span_reader *ret);
bool binary_span_next(struct binary_span_reader *r, struct binary_span *ret); /* false: there are no more */
/* Spans in any order, but those of a command on one unit in that of time, as bytes of a file; free with mem_free. Only
 * nodes, commands and chains of the graph are looked at. */
enum status binary_spans_encode(const struct binary_graph *g, const struct binary_timeline *t,
                                const struct binary_span *spans, const uint8_t **ret, uint64_t *ret_bytes);
/* Estimated cycles per command: what it adds to the end of all work before it; of graphs without spans those of its node, or
 * of all members of its chain, in proportion to its units. They sum up to what nodes have. */
void binary_command_cycles(const struct binary_graph *g, uint64_t *ret);


bool binary_is_transfer(const struct binary_node *n);                    /* between fast memory and DRAM */
uint32_t binary_tile_bits(enum dtype t);                 /* of an element; floats of any width are float16 there */
uint32_t binary_tile_side(const struct tensor_desc *d, uint32_t axis); /* elements of a tile along one dimension */
bool binary_node_in_tiles(const struct binary_graph *g, const struct binary_node *n);
bool binary_in_tiles(const struct op_call *c); /* Concat or Split of whole tiles: a device has nothing to move but addresses;
                                                  looks at shapes alone */
uint64_t binary_tile_bytes(const struct tensor_desc *d); /* with the last dimension padded to 32, height and width of images
                                                            to 8 by 8 (4 for 16 bits) */
/* The same, or what this computer needs where its numbers are wider than the device's. */
uint64_t binary_vtcm_bytes(const struct tensor_desc *d);

/* ---- boxes: what operators need in fast memory at a time (binary_box.c, binary_moves.c) ------------------------------- */

enum { BINARY_BOX_SIDES = 3 };
struct binary_box_rule;

/* An operator, as far as boxes are concerned. */
struct binary_box_op {
    const struct op_call *call;
    const struct binary_box_rule *rule;
    struct binary_box whole, least,
        step; /* the result of one image; the smallest box; boxes are multiples of step, or whole */
    uint64_t planes;                      /* images */
    bool image;
    uint32_t terms; /* taps of a window that may be taken in pieces; 0: it may not */
    uint64_t taps, window[BINARY_BOX_SIDES], stride[BINARY_BOX_SIDES]; /* sides: width, height, depth */
};
void binary_box_op(const struct op_call *c, struct binary_box_op *ret); /* the call is borrowed */
bool binary_box_fits(const struct binary_box_op *o, const struct binary_box *b); /* it is one of this operator */
/* Bytes of operand i (inputs, then outputs) that one box needs. */
uint64_t binary_box_operand(const struct binary_box_op *o, const struct binary_box *b, uint32_t i);
/* Boxes of the result; *ret: along each side, and pieces of sums or windows. */
uint64_t binary_box_count(const struct binary_box_op *o, const struct binary_box *b, struct binary_box *ret);
/* Bytes of the first operand, which has `bytes`, that come when windows are taken in pieces: each piece for each box. */
uint64_t binary_box_again(const struct binary_box_op *o, const struct binary_box *b, uint64_t bytes);

/* Where an operand is while a node runs. */
enum binary_role {
    ROLE_STAYS,    /* whole in the window, or in no memory of its own */
    ROLE_STREAMS,  /* in the spill-fill buffer: comes and goes box by box */
    ROLE_CLIENT,   /* in a buffer of the client, likewise */
    ROLE_CONSTANT, /* in DRAM, wanted by this node */
    ROLE_LINES,    /* inside a chain */
};

/* Bytes that the DMA engine moves for a node, in tile layout. */
struct binary_moves {
    uint64_t weights;
    uint64_t inputs, outputs; /* from and to buffers of the client */
    uint64_t fill, spill;     /* from and to the spill-fill buffer */
    uint64_t exchanged;       /* between cores: goes to DRAM, and comes from there */
};
static inline uint64_t binary_moves_in(const struct binary_moves *m)
{
    return m->weights + m->inputs + m->fill + m->exchanged;
}
static inline uint64_t binary_moves_out(const struct binary_moves *m)
{
    return m->outputs + m->spill + m->exchanged;
}
/* Of the window, for what does not stay there. */
uint64_t binary_box_bytes(const struct binary_box_op *o, const struct binary_box *b, const uint8_t *roles);
void binary_box_moves(const struct binary_box_op *o, const struct binary_box *b, const uint8_t *roles,
                      struct binary_moves *ret);
/* The same for a member of a chain, which has so many slabs. */
void binary_box_slab_moves(const struct binary_box_op *o, const struct binary_box *b, const uint8_t *roles, uint32_t slabs,
                           struct binary_moves *ret);
enum binary_role binary_role_of(enum binary_place place);
/* Of the bytes of a tensor between operators, those that move: fewer where the graph has ENABLE_DLBC (binary_dlbc.c). */
uint64_t binary_moved_compressed(const struct binary_graph *g, const struct tensor_desc *d, uint64_t bytes);
/* What a node has of the window besides operands that are there whole, and what moves when it runs once; where there are no
 * tiles, as if its box were everything. */
uint64_t binary_node_box_bytes(const struct binary_graph *g, uint32_t node);
void binary_node_moves(const struct binary_graph *g, uint32_t node, struct binary_moves *ret);
void binary_graph_moves(const struct binary_graph *g, struct binary_moves *ret); /* the sum over all nodes */
/* The same per core, by the commands that are for it; ST_NO_MEMORY: not known. */
enum status binary_core_moves(const struct binary_graph *g, struct binary_moves ret[BINARY_MAX_CORES]);
/* The same per command: that of its node, or of all members of its chain, in proportion to its units; they sum up to what
 * nodes have. */
void binary_command_moves(const struct binary_graph *g, struct binary_moves *ret);
/* The box of a member of a chain when `lines` of its result are computed at a time, all channels of them or those of so many
 * bytes of weights in turn. */
struct binary_box binary_box_lines(const struct binary_box_op *o, uint32_t lines, uint64_t weights);

/* Human-readable dump: sections, graphs, tensors, memory, commands. */
void binary_dump(const struct binary *b, struct str *out);

#endif
