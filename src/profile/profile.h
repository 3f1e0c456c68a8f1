/* SPDX-License-Identifier: Apache-2.0 */
/* Profiling: raw marks while running, a tree of events afterwards, and the log file both end in.
 *
 *   exec/     prof_mark into a recorder: fixed array, no strings, no locks, drops when full
 *   backend/  turns marks into events of a struct prof (names come from the binary)
 *   api/      serves QnnProfile_getEvents and friends from struct prof
 *   log       prof_log_*: the file that libQnnSystem.so writes and qnn-profile-viewer reads (docs/profile-log.md) */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- raw marks ------------------------------------------------------------------------------------------------------- */

struct prof_mark {
    uint64_t begin_ns, end_ns;
    uint32_t node;   /* index of the node in its graph */
    uint32_t worker; /* which thread of the team */
};

struct prof_recorder {
    struct prof_mark *marks;
    uint32_t n, cap, dropped;
};

static inline void prof_mark(struct prof_recorder *r, struct prof_mark m)
{
    if (r->n < r->cap)
        r->marks[r->n++] = m;
    else
        r->dropped++;
}

/* What the marks of a run say about each node. */
struct prof_node_time {
    uint64_t ns;               /* while one of its tiles ran, of all runs so far */
    uint64_t begin_ns, end_ns; /* of the present run: its first tile (UINT64_MAX: none), the last one that was counted */
};

void prof_nodes_start(struct prof_node_time *t, uint32_t n); /* of a run */
void prof_nodes_add(struct prof_node_time *t, uint32_t n, const struct prof_mark *marks, uint32_t n_marks);

/* ---- events ---------------------------------------------------------------------------------------------------------- */

/* Event types, units and levels are the numbers of the public API (QnnProfile.h); profile/ only carries them. */
enum {
    PROF_INIT = 100,
    PROF_FINALIZE = 300,
    PROF_EXECUTE = 400,
    PROF_NODE = 404,
    PROF_QUEUE_WAIT = 405,
    PROF_PREPROCESS = 406,
    PROF_DEVICE = 407,
    PROF_POSTPROCESS = 408,
    PROF_DEINIT = 500,
    PROF_TRACE = 600, /* a point on a timeline */
    PROF_BACKEND = 1000, /* what only the backend knows the meaning of */
    PROF_UNIT_US = 1,
    PROF_UNIT_BYTES = 2,
    PROF_UNIT_CYCLES = 3,
    PROF_UNIT_COUNT = 4,
    PROF_UNIT_NONE = 6,
    PROF_BASIC = 1,
    PROF_DETAILED = 2,
    PROF_LINTING = 3, /* more than that, where a backend has it */
    PROF_ROOT = -1, /* parent of top-level events */
};

struct prof_event {
    uint32_t type, unit;
    uint64_t value;
    uint64_t timestamp_us; /* wall clock when the event was recorded */
    const char *name;      /* owned by the prof, lives until prof_free */
    int32_t parent;        /* index of the parent event, PROF_ROOT */
};

struct prof; /* grows while events are added; event indexes and names stay valid until prof_free */

enum status prof_create(uint32_t level, struct prof **ret);
void prof_free(struct prof *p);
void prof_reset(struct prof *p);                              /* start of a new call: getEvents shows only what follows */
void prof_limit(struct prof *p, uint64_t max_events);         /* per call; further events are dropped and counted */
uint32_t prof_level(const struct prof *p);
void prof_set_trace(struct prof *p, bool on);                 /* whether a timeline is wanted; a new profile wants none */
bool prof_trace(const struct prof *p);
uint64_t prof_dropped(const struct prof *p);                  /* events of this call that were not kept */

/* Add one event; returns its index, or -2 when it was dropped (limit or memory): its children are dropped too. */
int32_t prof_add(struct prof *p, int32_t parent, uint32_t type, uint32_t unit, uint64_t value, const char *name);
/* The same, with a name of any length that is put together here. */
int32_t prof_addf(struct prof *p, int32_t parent, uint32_t type, uint32_t unit, uint64_t value, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* Change the value of an event added earlier (totals known only at the end). */
void prof_set(struct prof *p, int32_t event, uint64_t value);

uint32_t prof_count(const struct prof *p);                    /* all events ever added and kept */
const struct prof_event *prof_at(const struct prof *p, uint32_t index);
/* Indexes of the children of `parent` (PROF_ROOT: top-level events since the last reset) into ids[0..cap); returns how many
 * there are. */
uint32_t prof_children(const struct prof *p, int32_t parent, uint32_t *ids, uint32_t cap);

/* ---- the log file ----------------------------------------------------------------------------------------------------- */

/* A log is a sequence of records: what the tool did (init, compose, finalize, execute, deinit) with times of the tool itself
 * and the backend's event tree. Written by libQnnSystem.so, read by the viewer; the reader checks everything. */
struct prof_log_record {
    uint32_t method;         /* QnnSystemProfile_MethodType_t number */
    uint32_t graph;          /* index of the graph, for messages */
    const char *graph_name;  /* may be NULL */
    uint64_t start_us, stop_us; /* measured by the tool */
    uint32_t n_events;
    const struct prof_event *events; /* parents before children */
};

struct prof_log_header {
    const char *app_name, *app_version, *backend_version;
};

struct prof_log_writer;
enum status prof_log_create(const char *path, const struct prof_log_header *h, struct prof_log_writer **ret);
enum status prof_log_append(struct prof_log_writer *w, const struct prof_log_record *r);
enum status prof_log_close(struct prof_log_writer *w);        /* NULL allowed; flushes */

struct prof_log {
    struct prof_log_header header;
    uint32_t n_records;
    struct prof_log_record *records; /* all memory belongs to the log */
    void *memory;
};
enum status prof_log_read(const void *data, size_t size, struct prof_log *ret);   /* checks everything */
void prof_log_free(struct prof_log *log);

const char *prof_method_name(uint32_t method);
const char *prof_unit_name(uint32_t unit); /* "us", "bytes", "cycles", "count", "" */

#endif
