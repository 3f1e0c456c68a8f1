/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a context binary: fixed-size little-endian records. Private to binary/; docs/binary-format.md is the same in
 * words, and changes with it. Records are copied in and out with memcpy, so nothing here depends on the alignment of a
 * client's buffer. */
#ifndef BINARY_BINARY_FORMAT_H
#define BINARY_BINARY_FORMAT_H

#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "binary/binary.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are copied as they are");

enum {
    BIN_ALIGN = 64,         /* of sections, and of every constant inside its section */
    BIN_CONST_ALIGN = 4096, /* of constant sections in the file */
    BIN_VALUE_ALIGN = 8,    /* of every entry of a values section; records count in this unit */
    BIN_MAP_ALIGN = 16,     /* buffers below this alignment are copied when opened */
    BIN_MAX_SECTIONS = 1 << 20,
};
#define BIN_MAGIC "OQNB"

/* One row per kind of section: number, name, bytes per record (1: a plain run of bytes). Numbers are never reused. */
#define BIN_SECTIONS(X)                                         \
    X(SEC_GRAPH, 1, "graph", sizeof(struct bin_graph))          \
    X(SEC_STRINGS, 2, "strings", 1)                             \
    X(SEC_TENSORS, 3, "tensors", sizeof(struct bin_tensor))     \
    X(SEC_QUANTS, 4, "encodings", sizeof(struct bin_quant))     \
    X(SEC_OPS, 5, "operators", sizeof(uint32_t))                \
    X(SEC_NODES, 6, "nodes", sizeof(struct bin_node))           \
    X(SEC_PARAMS, 7, "parameters", sizeof(struct bin_param))    \
    X(SEC_LISTS, 8, "lists", sizeof(uint32_t))                  \
    X(SEC_VALUES, 9, "values", 1)                               \
    X(SEC_COMMANDS, 10, "commands", sizeof(struct bin_command)) \
    X(SEC_CONSTANTS, 11, "constants", 1)                        \
    X(SEC_OEM, 12, "oem string", 1)                             \
    X(SEC_OWN, 13, "backend", 1)                                \
    X(SEC_CHAINS, 14, "chains", sizeof(struct bin_chain))       \
    X(SEC_TILES, 15, "tiles", sizeof(struct bin_tile))          \
    X(SEC_SPANS, 16, "spans", 1)                                \
    X(SEC_PACKED, 17, "packed constants", 1)

enum bin_section_kind {
#define BIN_KIND(name, number, text, size) name = number,
    BIN_SECTIONS(BIN_KIND)
#undef BIN_KIND
        SEC_COUNT = 18
};

struct bin_header {
    char magic[4];
    uint32_t version;
    uint64_t size; /* of the whole file */
    uint32_t n_sections, n_graphs;
    uint32_t crc;  /* of header and section table with this field 0 */
    uint32_t header_bytes;
    uint32_t backend_id, soc_model, arch;
    uint32_t core_version[3], backend_version[3];
    char build_id[48];
    uint32_t reserved[3];
};

struct bin_section {
    uint32_t kind;
    uint32_t index; /* of the graph; of the section itself for constants */
    uint64_t offset, size;
    uint32_t crc;
    uint32_t link;  /* graph sections: index of the constant section, BINARY_NONE: none */
};

struct bin_graph {
    uint32_t name, n_inputs, n_outputs, priority;
    uint64_t scratch_bytes, persistent_bytes, scratch_align, live_bytes, io_bytes, const_bytes, macs, cycles,
        spill_fill_bytes;
    uint32_t opt_level, vtcm_mb, hvx_threads, dlbc, plan_optimal, n_source_nodes;
    uint32_t io_list; /* first entry of the I/O table in lists */
    uint32_t options; /* the backend's own bits */
    uint64_t order_bytes, vtcm_bytes, vtcm_used;
    uint32_t cores;
    uint32_t reserved2[3];
};

struct bin_tensor {
    uint32_t name;
    uint8_t type, rank, dynamic, place;
    uint8_t io, optional, updateable, quant_kind;
    uint8_t quant_definition, quant_bits, quant_mapping, mem_handle;
    uint16_t format;
    uint8_t storage, reserved2;
    uint32_t client_id, client_type;
    uint32_t quant; /* record of the encoding, BINARY_NONE: scale and offset say it all */
    uint64_t offset, bytes;
    uint32_t first, last;
    uint32_t dims[MAX_RANK];
    float quant_scale;
    int32_t quant_offset;
};

/* Positions in values are counted in BIN_VALUE_ALIGN bytes; BINARY_NONE: no such array. */
struct bin_quant {
    int32_t axis;
    uint32_t n, blocks_per_axis;
    uint8_t block_scale_bits, block_scale_storage, reserved[2];
    uint32_t block[MAX_RANK];
    uint32_t scales, offsets, float_offsets, block_scales;
};

struct bin_node {
    uint32_t name, op;
    uint16_t n_in, n_out, n_aux, n_params;
    uint32_t list;  /* inputs, outputs, aux constants, one after another in lists */
    uint32_t param; /* first of n_params records */
    float post_lo, post_hi;
    uint64_t work_offset, work_bytes, macs, cycles;
    uint64_t state_offset, state_bytes;
    uint32_t n_guards, guards; /* first entry in lists: tensor and value, one after another */
    uint32_t resources, stored_share;
};

/* Named, not numbered: rows of operators may gain parameters. */
struct bin_param {
    uint32_t name;
    uint8_t type, rank, reserved[2];
    uint32_t count, data;
    uint32_t dims[MAX_RANK];
};

struct bin_command {
    uint32_t node, begin, end, step;
};

struct bin_chain {
    uint32_t first, n, height, reserved;
    uint64_t work_offset, work_bytes;
};

struct bin_tile {
    uint32_t lines, columns, channels, depth;
    uint64_t offset, bytes;
};

/* Instead of a constant section: what it has, in the order of offsets, without what is between (zeros). */
struct bin_packed {
    uint64_t bytes; /* of the constant section */
    uint32_t crc, n;
};
struct bin_packed_entry {
    uint64_t offset, bytes; /* in the constant section */
    uint64_t at, stored;    /* in this section */
    uint32_t storage, reserved;
};

/* Before the bytes of spans (binary_spans.c). */
struct bin_timeline {
    uint32_t clock_mhz, threads, n_spans, reserved;
};

static_assert(sizeof(struct bin_header) == 128, "docs/binary-format.md");
static_assert(sizeof(struct bin_section) == 32, "docs/binary-format.md");
static_assert(sizeof(struct bin_graph) == 160, "docs/binary-format.md");
static_assert(sizeof(struct bin_tensor) == 96, "docs/binary-format.md");
static_assert(sizeof(struct bin_quant) == 64, "docs/binary-format.md");
static_assert(sizeof(struct bin_node) == 96, "docs/binary-format.md");
static_assert(sizeof(struct bin_param) == 48, "docs/binary-format.md");
static_assert(sizeof(struct bin_command) == 16, "docs/binary-format.md");
static_assert(sizeof(struct bin_chain) == 32, "docs/binary-format.md");
static_assert(sizeof(struct bin_tile) == 32, "docs/binary-format.md");
static_assert(sizeof(struct bin_timeline) == 16, "docs/binary-format.md");
static_assert(sizeof(struct bin_packed) == 16, "docs/binary-format.md");
static_assert(sizeof(struct bin_packed_entry) == 40, "docs/binary-format.md");
static_assert(sizeof(struct binary_command) == sizeof(struct bin_command), "copied as they are");

const char *bin_section_name(uint32_t kind); /* "unknown" for kinds of later versions */
uint32_t bin_record_size(uint32_t kind);     /* 1 for kinds of later versions */
uint32_t bin_crc(const uint8_t *data, uint64_t size);   /* crc32 of zlib */
enum status bin_foreign(const void *data, size_t size); /* what bytes are that are no context binary; always fails */

/* ---- putting a file together: binary_image.c ------------------------------------------------------------------------- */

/* Sections in file order. `data` NULL: zeros that the caller fills between bin_image_build and bin_image_seal. */
struct bin_piece {
    uint32_t kind, index, link;
    const void *data;
    uint64_t size;
    uint64_t offset; /* in the file: the answer of bin_layout */
    uint32_t crc;    /* taken over instead of computed when has_crc */
    bool has_crc;
};
struct bin_pieces {
    struct bin_piece *at;
    size_t n, cap;
};

enum status bin_add(struct bin_pieces *p, struct bin_piece piece);
enum status bin_layout(struct bin_pieces *p, uint64_t *ret_size); /* gives every piece its offset */
enum status bin_image_build(const struct bin_pieces *p, uint64_t size, struct binary_image *ret);
void bin_image_seal(const struct bin_pieces *p, const struct binary_target *t, uint32_t n_graphs, struct binary_image *im);

/* ---- what moves: binary_moves.c, binary_cores.c ----------------------------------------------------------------------- */

/* A node with its box: of its own, or as many lines as its chain computes at a time. */
struct bin_seen {
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    uint8_t roles[2 * MAX_PORTS];
    struct op_call call;
    struct binary_box_op op;
    struct binary_box box;
};
/* For graphs of several cores: `ret` has what one of them would move. */
void bin_add_core_moves(const struct binary_graph *g, uint32_t node, const struct bin_seen *s, struct binary_moves *ret);

/* ---- constants in fewer bytes: binary_codec.c ------------------------------------------------------------------------- */

struct bin_file;
/* Only where binary_stored_bytes says that it saves some; that many are written. */
void bin_encode(enum binary_storage storage, const uint8_t *data, uint64_t bytes, uint8_t *ret);
/* Any bytes may be given; ST_BAD_BINARY when they are no such constant. */
enum status bin_decode(enum binary_storage storage, const uint8_t *data, uint64_t stored, uint8_t *ret, uint64_t bytes);
/* The file is one with packed constants. */
bool bin_is_packed(const struct bin_file *f);

/* ---- constants of several graphs: binary_share.c --------------------------------------------------------------------- */

struct bin_shared {
    const uint8_t *data;
    uint64_t bytes, offset; /* offset: in the section */
    uint32_t section, hash, next;
};
struct bin_shared_section {
    const uint8_t *data;  /* those of its first graph, as they were */
    uint64_t bytes, size; /* size: with what later graphs added */
    uint32_t crc;         /* of data */
};
struct bin_share {
    VEC(struct bin_shared) consts, added;
    VEC(struct bin_shared_section) sections;
    VEC(uint32_t) slots;
    bool apart; /* only graphs that had one section before share it */
};

/* The section that the constants of a graph are in, or are put into; `records` are its tensors, whose offsets change. `crc`:
 * of its constants as they are. */
enum status bin_share_graph(struct bin_share *s, const struct binary_graph *g, uint32_t crc, struct bin_tensor *records,
                            uint32_t *ret);
enum status bin_share_pieces(const struct bin_share *s, struct bin_pieces *p);
void bin_share_fill(const struct bin_share *s, const struct bin_pieces *p, uint8_t *file); /* after bin_image_build */
void bin_share_finish(struct bin_share *s);

/* ---- taking a file apart: binary_sections.c, binary_tensors.c, binary_nodes.c, binary_overlap.c, binary_spans.c,
 * binary_states.c, binary_tiles.c  */

struct bin_span {
    const uint8_t *data;
    uint64_t size;
    uint32_t n; /* records */
    bool seen;
};

/* One graph while it is decoded. Everything that `g` points to is in the arena, constants excepted. */
struct bin_reader {
    struct arena *arena;
    const char *graph; /* "graph 3", then its name: for messages */
    struct bin_span sec[SEC_COUNT];
    struct binary_graph *g;
    const char *strings;
    const uint8_t *values;
    const uint32_t *lists;
};

struct bin_file {
    const uint8_t *data;
    uint64_t size;
    struct bin_header header;
    const struct bin_section *sections; /* checked: inside the file, whole records, right checksum unless constants */
};

enum status bin_check_head(const void *data, size_t size, struct bin_header *ret); /* header and section table */
enum status bin_read_file(const void *data, size_t size, struct arena *a, struct bin_file *ret);
enum status bin_read_tensors(struct bin_reader *r);
enum status bin_read_nodes(struct bin_reader *r);
enum status bin_read_chains(struct bin_reader *r);
enum status bin_read_tiles(struct bin_reader *r);
/* A node as a call; the arrays have MAX_PORTS entries each. */
void bin_call(const struct binary_graph *g, const struct binary_node *n, const struct tensor_desc **in,
              const struct tensor_desc **out, struct op_call *c);
enum status bin_check_chain_commands(const struct bin_reader *r); /* also counts marks */
enum status bin_read_commands(struct bin_reader *r);
enum status bin_read_spans(struct bin_reader *r);
enum status bin_check_overlap(const struct bin_reader *r);
enum status bin_check_states(const struct bin_reader *r);
enum status bin_check_claims(const struct bin_reader *r); /* after all that lies in memory was read */
enum status bin_string(const struct bin_reader *r, uint32_t at, const char *what, const char **ret);
/* `bytes` bytes at position `at` of values; at BINARY_NONE gives NULL. */
enum status bin_value(const struct bin_reader *r, uint32_t at, uint64_t bytes, const void **ret);

#endif
