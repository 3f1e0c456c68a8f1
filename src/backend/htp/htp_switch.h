/* SPDX-License-Identifier: Apache-2.0 */
/* Graph switching: which graphs of a context are in its session (htp_switch.c), and their bytes there
 * (htp_switch_bytes.c). Private to backend/htp; c->switching NULL: all graphs stay loaded. */
#ifndef BACKEND_HTP_HTP_SWITCH_H
#define BACKEND_HTP_HTP_SWITCH_H

#include "backend/htp/htp_backend.h"

enum {
    HTP_EVENT_GRAPH_LOADED = 30030,
    HTP_EVENT_GRAPH_UNLOADED,
    HTP_EVENT_SWITCH_TIME,
    HTP_EVENT_SWITCH_COPIED,
};

/* A graph came or went, since a profile last asked. */
struct htp_switch_step {
    const struct binary_graph *graph;
    uint64_t bytes; /* of the session's addresses */
    bool loaded;
};

struct htp_switch {
    uint64_t loads, unloads; /* since the context was created */
    uint64_t ns, copied;     /* since a profile last asked */
    VEC(struct htp_switch_step) steps;
};

/* After all options are read: NULL stays NULL where the context does not switch. */
enum status htp_switch_create(struct backend_context *c);
void htp_switch_free(struct backend_context *c);

/* Whether the graph is loaded when its context, which switches, is created. */
bool htp_switch_preloads(const struct backend_context *c, const struct binary *b, uint32_t graph);
/* Whether the graph counts where the context is placed; and its constants, unless a graph before it has the same. */
bool htp_graph_counts(const struct backend_context *c, const struct binary *b, uint32_t graph);
uint64_t htp_constants_once(const struct backend_context *c, const struct binary *b, uint32_t graph);

/* Under the context's lock: the graph was loaded, and takes so many bytes more. */
void htp_switch_loaded(struct backend_graph *g, uint64_t bytes);
/* The graph is about to run: loads it, others make room. */
enum status htp_switch_in(struct backend_graph *g, const struct backend_run *r);
/* What was loaded and unloaded since this was last asked; prof NULL: dropped. */
void htp_switch_events(struct backend_context *c, struct prof *prof, int32_t parent);

/* What the session has for one graph alone, and for the context: constants and tables, memory of programs, staging memory.
 * Under the context's lock. */
uint64_t htp_graph_bytes(const struct backend_graph *g);
uint64_t htp_context_bytes_loaded(struct backend_context *c);

/* Properties of contexts that openqnn has alone, 64 bits each (docs/contexts.md). */
enum {
    HTP_PROPERTY_LOADED_BYTES = 0x4F510001, /* htp_context_bytes_loaded */
    HTP_PROPERTY_LOADED_GRAPHS,
    HTP_PROPERTY_LOADS, /* of a context that switches, since it was created */
    HTP_PROPERTY_UNLOADS,
};
/* The first two also of graphs. */
bool htp_graph_memory_property(struct backend_graph *g, uint32_t property, uint64_t *ret);
bool htp_memory_property(struct backend_context *c, uint32_t property, uint64_t *ret); /* false: it is none of these */

/* Under the context's lock: a graph's file in the session, for it and those that share its constants, and the number that
 * it has there. */
enum status htp_pick_get(struct backend_context *c, struct htp_session *s, const struct binary *b, uint32_t graph,
                         struct htp_binary **ret, uint32_t *ret_number);
void htp_pick_release(struct htp_session *s, struct htp_binary *h);

/* Under the context's lock (htp_graph.c): into the session that the context has, and out of it. */
enum status htp_graph_enter(struct backend_graph *g);
void htp_graph_exit(struct backend_graph *g);

#endif
