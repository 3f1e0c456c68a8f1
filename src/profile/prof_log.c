/* SPDX-License-Identifier: Apache-2.0 */
/* The profile log file. docs/profile-log.md has the offsets of every field.
 *
 *     "OQNP" version | frame | frame | …          frame: kind, payload size, crc32 of the payload, 0, payload
 *
 * The first frame names the program that was measured, every other one is a record with its events. The reader takes any
 * bytes: nothing is used before its frame's size and checksum are known to be right, and what it allocates is bounded by the
 * size of the file. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/file_guard.h"
#include "base/file_write.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "profile/profile.h"

enum {
    LOG_VERSION = 1,
    LOG_HEADER = 8,    /* magic, version */
    FRAME_HEADER = 16, /* kind, size, crc32, reserved */
    FRAME_APP = 1,
    FRAME_RECORD = 2,
    EVENT_FIXED = 32,  /* bytes of an event before its name: the least an event takes */
    STRING_MAX = 1 << 20,
};
static const char magic[4] = { 'O', 'Q', 'N', 'P' };

/* ---- writing --------------------------------------------------------------------------------------------------------- */

struct prof_log_writer {
    struct file_write file; /* takes its place when the header is there; a log is useful while the program runs */
    off_t end;              /* of the last whole record */
    struct str payload;     /* reused for every frame */
};

static void put_u32(struct str *s, uint32_t v)
{
    str_addn(s, (const char *)&v, sizeof(v));
}

static void put_u64(struct str *s, uint64_t v)
{
    str_addn(s, (const char *)&v, sizeof(v));
}

/* Length with the terminator, then the bytes; no string at all has length 0. */
static void put_string(struct str *s, const char *text)
{
    size_t n = text ? strnlen(text, STRING_MAX - 1) : 0;
    put_u32(s, text ? (uint32_t)n + 1 : 0);
    if (text) {
        str_addn(s, text, n);
        str_addn(s, "", 1);
    }
}

/* A disk that is full leaves the records that were written before, whole. */
static enum status write_bytes(struct prof_log_writer *w, const void *data, size_t size)
{
    FILE_GUARD(guard);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(w->file.fd, (const char *)data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int error = n < 0 ? errno : ENOSPC;
            bool cut = w->end >= 0 && ftruncate(w->file.fd, w->end) == 0 && lseek(w->file.fd, w->end, SEEK_SET) == w->end;
            return status_fail(ST_IO, "profile log: %zu bytes could not be written: %s%s", size, strerror(error),
                               cut ? "; the records before are whole" : "");
        }
        done += (size_t)n;
    }
    return ST_OK;
}

static enum status write_frame(struct prof_log_writer *w, uint32_t kind)
{
    const struct str *s = &w->payload;
    RETURN_IF(s->failed, ST_NO_MEMORY, "profile log: no memory for a record");
    RETURN_IF(s->n > UINT32_MAX, ST_IO, "profile log: a record of %zu bytes; at most %u bytes fit one record", s->n,
              UINT32_MAX);
    uint32_t head[4] = { kind, (uint32_t)s->n, (uint32_t)crc32_z(0, (const Bytef *)s->at, s->n), 0 };
    TRY(write_bytes(w, head, sizeof(head)));
    TRY(write_bytes(w, s->at, s->n));
    w->end = lseek(w->file.fd, 0, SEEK_CUR);
    return ST_OK;
}

static enum status write_start(struct prof_log_writer *w, const struct prof_log_header *h)
{
    uint32_t version = LOG_VERSION;
    TRY(write_bytes(w, magic, sizeof(magic)));
    TRY(write_bytes(w, &version, sizeof(version)));
    w->payload.n = 0;
    put_string(&w->payload, h->app_name);
    put_string(&w->payload, h->app_version);
    put_string(&w->payload, h->backend_version);
    return write_frame(w, FRAME_APP);
}

enum status prof_log_append(struct prof_log_writer *w, const struct prof_log_record *r)
{
    struct str *s = &w->payload;
    s->n = 0;
    put_u32(s, r->method);
    put_u32(s, r->graph);
    put_u64(s, r->start_us);
    put_u64(s, r->stop_us);
    put_u32(s, r->n_events);
    put_string(s, r->graph_name);
    for (uint32_t i = 0; i < r->n_events; i++) {
        const struct prof_event *e = &r->events[i];
        put_u32(s, e->type);
        put_u32(s, e->unit);
        put_u64(s, e->value);
        put_u64(s, e->timestamp_us);
        put_u32(s, (uint32_t)e->parent);
        put_string(s, e->name ? e->name : "");
    }
    enum status st = write_frame(w, FRAME_RECORD);
    if (s->failed)
        str_finish(s); /* the next record may be smaller */
    return st;
}

enum status prof_log_close(struct prof_log_writer *w)
{
    if (!w)
        return ST_OK;

    enum status st = file_write_end(&w->file);
    str_finish(&w->payload);
    mem_free(w);
    return st == ST_OK ? ST_OK : status_prefix(st, "profile log");
}

enum status prof_log_create(const char *path, const struct prof_log_header *h, struct prof_log_writer **ret)
{
    struct prof_log_writer *w = mem_new(struct prof_log_writer);
    RETURN_IF(!w, ST_NO_MEMORY, "profile log: no memory for the writer");

    w->end = -1; /* before the header is whole there is nothing to go back to */
    enum status st = file_write_begin(&w->file, path);
    if (st == ST_OK)
        st = write_start(w, h);
    if (st == ST_OK)
        st = file_write_replace(&w->file);
    if (st != ST_OK) {
        int kept = errno;
        file_write_abort(&w->file);
        str_finish(&w->payload);
        mem_free(w);
        errno = kept;
        return st == ST_IO ? status_prefix(st, "profile log") : st;
    }
    *ret = w;
    return ST_OK;
}

/* ---- reading --------------------------------------------------------------------------------------------------------- */

/* A span of bytes that are consumed from the front. `bad` stays set once something did not fit; values read then are 0. */
struct cursor {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static const void *take(struct cursor *c, size_t n)
{
    if (c->bad || n > c->left) {
        c->bad = true;
        return NULL;
    }
    const void *p = c->at;
    c->at += n;
    c->left -= n;
    return p;
}

static uint32_t take_u32(struct cursor *c)
{
    uint32_t v = 0;
    const void *p = take(c, sizeof(v));
    if (p)
        memcpy(&v, p, sizeof(v));
    return v;
}

static uint64_t take_u64(struct cursor *c)
{
    uint64_t v = 0;
    const void *p = take(c, sizeof(v));
    if (p)
        memcpy(&v, p, sizeof(v));
    return v;
}

/* A copy in the arena, or NULL: absent, out of memory or (c->bad) malformed. */
static const char *take_string(struct cursor *c, struct arena *a)
{
    uint32_t n = take_u32(c);
    if (n == 0)
        return NULL;
    const char *p = n <= STRING_MAX ? take(c, n) : NULL;
    if (!p || memchr(p, 0, n) != p + n - 1) {
        c->bad = true;
        return NULL;
    }
    return arena_dup(a, p, n);
}

static enum status read_events(struct cursor *c, struct arena *a, struct prof_log_record *r)
{
    RETURN_IF(r->n_events > c->left / EVENT_FIXED, ST_BAD_BINARY,
              "profile log: a record promises %u events in %zu bytes; an event has at least %d", r->n_events, c->left,
              EVENT_FIXED);
    struct prof_event *events = arena_array(a, struct prof_event, r->n_events);
    RETURN_IF(!events, ST_NO_MEMORY, "profile log: no memory for %u events", r->n_events);
    for (uint32_t i = 0; i < r->n_events; i++) {
        struct prof_event *e = &events[i];
        e->type = take_u32(c);
        e->unit = take_u32(c);
        e->value = take_u64(c);
        e->timestamp_us = take_u64(c);
        e->parent = (int32_t)take_u32(c);
        e->name = take_string(c, a);
        RETURN_IF(c->bad, ST_BAD_BINARY, "profile log: event %u of %u does not fit its record", i, r->n_events);
        RETURN_IF(!e->name, ST_BAD_BINARY, "profile log: event %u has no name", i);
        RETURN_IF(e->parent < PROF_ROOT || e->parent >= (int64_t)i, ST_BAD_BINARY,
                  "profile log: event %u names event %d as its parent; an earlier event or %d is expected", i, e->parent,
                  PROF_ROOT);
    }
    r->events = events;
    return ST_OK;
}

static enum status read_record(struct cursor *c, struct arena *a, struct prof_log_record *r)
{
    r->method = take_u32(c);
    r->graph = take_u32(c);
    r->start_us = take_u64(c);
    r->stop_us = take_u64(c);
    r->n_events = take_u32(c);
    r->graph_name = take_string(c, a);
    RETURN_IF(c->bad, ST_BAD_BINARY, "profile log: a record is too small or has a malformed name");
    return read_events(c, a, r);
}

static enum status read_app(struct cursor *c, struct arena *a, struct prof_log_header *h)
{
    h->app_name = take_string(c, a);
    h->app_version = take_string(c, a);
    h->backend_version = take_string(c, a);
    RETURN_IF(c->bad, ST_BAD_BINARY, "profile log: the names of application and backend are malformed");
    return ST_OK;
}

struct frame {
    uint32_t kind;
    struct cursor payload;
};

static enum status next_frame(struct cursor *c, size_t offset, struct frame *ret)
{
    ret->kind = take_u32(c);
    uint32_t size = take_u32(c), crc = take_u32(c);
    take_u32(c);
    RETURN_IF(c->bad || size > c->left, ST_BAD_BINARY,
              "profile log: cut off: the record at offset %zu needs %u bytes and %zu are left", offset, size, c->left);
    ret->payload = (struct cursor){ .at = take(c, size), .left = size };
    uint32_t seen = (uint32_t)crc32_z(0, ret->payload.at, size);
    RETURN_IF(seen != crc, ST_BAD_BINARY, "profile log: the record at offset %zu is damaged: checksum %08x, expected %08x",
              offset, seen, crc);
    return ST_OK;
}

static enum status check_start(const void *data, size_t size)
{
    RETURN_IF(size < LOG_HEADER || memcmp(data, magic, sizeof(magic)) != 0, ST_BAD_BINARY,
              "not a profile log: it does not start with \"OQNP\" (%zu bytes)", size);
    uint32_t version;
    memcpy(&version, (const char *)data + sizeof(magic), sizeof(version));
    RETURN_IF(version != LOG_VERSION, ST_BINARY_VERSION, "profile log: format version %u; this program reads version %d",
              version, LOG_VERSION);
    return ST_OK;
}

/* Frames in order; kinds of later versions are skipped. */
static enum status read_frames(const void *data, size_t size, struct arena *a, struct prof_log *log)
{
    VEC(struct prof_log_record) records = {};
    struct cursor c = { .at = (const uint8_t *)data + LOG_HEADER, .left = size - LOG_HEADER };
    enum status st = ST_OK;
    while (st == ST_OK && c.left > 0) {
        struct frame f;
        st = next_frame(&c, size - c.left, &f);
        if (st != ST_OK)
            break;
        if (f.kind == FRAME_APP) {
            st = read_app(&f.payload, a, &log->header);
        } else if (f.kind == FRAME_RECORD) {
            struct prof_log_record *r = vec_push(&records);
            st = r ? read_record(&f.payload, a, r) : status_fail(ST_NO_MEMORY, "profile log: no memory for the records");
        }
    }
    if (st == ST_OK && records.n > 0) {
        log->records = arena_dup(a, records.at, records.n * sizeof(records.at[0]));
        if (!log->records)
            st = status_fail(ST_NO_MEMORY, "profile log: no memory for %zu records", records.n);
    }
    log->n_records = (uint32_t)records.n;
    vec_finish(&records);
    return st;
}

void prof_log_free(struct prof_log *log)
{
    if (log->memory) {
        arena_finish(log->memory);
        mem_free(log->memory);
    }
    *log = (struct prof_log){};
}

enum status prof_log_read(const void *data, size_t size, struct prof_log *ret)
{
    TRY(check_start(data, size));
    struct prof_log log = { .memory = mem_new(struct arena) };
    RETURN_IF(!log.memory, ST_NO_MEMORY, "profile log: no memory for the reader");
    arena_init(log.memory);
    enum status st = read_frames(data, size, log.memory, &log);
    if (st != ST_OK) {
        prof_log_free(&log);
        return st;
    }
    *ret = log;
    return ST_OK;
}
