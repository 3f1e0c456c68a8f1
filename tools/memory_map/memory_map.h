/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of one graph of a context binary: which tensor lies where in scratch, or in the window of fast memory where the
 * graph has one, and when. Built once, shown in three ways.
 *
 *     address ^   +-----+
 *             |   |  b  +-----+       a step is what runs at once, usually one operator; the busiest step
 *             | +-+--+--+  d  |       decides how much scratch memory the graph needs
 *             | | a  | c |    |
 *             +-+----+---+----+-> step */
#ifndef TOOLS_MEMORY_MAP_MEMORY_MAP_H
#define TOOLS_MEMORY_MAP_MEMORY_MAP_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "binary/binary.h"

enum map_kind { MAP_TENSOR, MAP_INPUT, MAP_OUTPUT, MAP_WORKSPACE, MAP_TILE, MAP_KINDS };

/* One rectangle. */
struct map_item {
    const char *name;
    const char *label;     /* the name, shortened to what tells it apart in this map */
    const char *op;        /* operator that makes it; "" for the room of an input */
    enum map_kind kind;
    uint64_t offset, bytes;
    uint32_t first, last;  /* steps, both included */
    uint32_t in_place_of;  /* the item whose memory it takes over in its first step, BINARY_NONE: none */
    uint32_t taken_by;     /* the other way round */
    uint32_t order;        /* in the file */
    uint32_t views;        /* further tensors that are the same bytes */
    const char *view_names; /* "" or their names */
};

struct map_step {
    const char *node, *op;  /* the first operator of the step */
    uint32_t index, nodes;  /* its number, how many run in the step */
    uint64_t live;          /* bytes in use, in units of the alignment */
    uint64_t cycles, macs;
    struct binary_traffic moved;
    struct binary_moves dma; /* what a device moves between DRAM and its window */
    uint32_t resources;     /* of a device, bits of enum binary_resource */
    uint32_t commands;
};

struct memory_map {
    const struct binary_graph *g;
    uint8_t place;          /* PLACE_SCRATCH or PLACE_VTCM */
    const char *pool;       /* its name */
    uint64_t total;         /* its bytes */
    struct map_item *items; /* by first step, then by address */
    struct map_step *steps;
    uint32_t n_items, n_steps;
    uint32_t peak;          /* the busiest step */
    uint64_t peak_bytes;
};

enum status map_build(const struct binary_graph *g, struct arena *a, struct memory_map *ret);
bool map_alive(const struct map_item *i, uint32_t step);
const char *map_kind_name(enum map_kind k); /* "tensor", "input", … */
const char *map_resource_name(enum binary_resource r); /* "HMX", "HVX", "DMA" */
const char *map_human(uint64_t bytes, char *buf, size_t size); /* "12.5 KiB" */

enum { MAP_TEXT, MAP_JSON, MAP_HTML };
extern const char *const map_formats[]; /* "text", "json", "html", NULL */

/* All graphs of an opened binary; `title` is shown. The result is appended. */
enum status map_write(const struct binary *b, const char *title, uint32_t format, struct str *out);
/* A context binary in a file, shown in a file or, with `to` NULL, on stdout. */
enum status map_show(const char *context_binary, uint32_t format, const char *to);

/* map_text.c, map_json.c, map_html.c */
void map_text(const struct memory_map *m, struct str *out);
enum status map_json(const struct memory_map *const *maps, uint32_t n, const char *title, struct str *out);
void map_html(const struct memory_map *const *maps, uint32_t n, const char *title, struct str *out);

#endif
