/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of contexts that share one spill-fill buffer (REGISTER_MULTI_CONTEXTS). The first context says how large it is; the
 * others name the first one.
 *
 *     group ── buffer, mapped into one session, charged there once
 *       contexts on that session      all their graphs spill to it, one after the other
 *       contexts on other sessions    memory of their own: two processes cannot take turns with one buffer
 *
 * The buffer is made with the first graph that spills and goes with the last context that uses it, whichever that is. */
#include "backend/htp/htp_backend.h"

#include <inttypes.h>

#include "base/mem.h"

struct htp_group {
    pthread_mutex_t lock;
    uint64_t bytes;              /* 0: what the largest graph of the first file needs that spills */
    uint32_t contexts;
    struct htp_session *session; /* that has the buffer; one of `users` holds it */
    struct htp_shared buffer;
    uint32_t users;              /* contexts that spill to it */
};

static void take_group(struct backend_context *first, void *arg)
{
    struct htp_group **ret = arg;
    if (!first->group)
        return;
    pthread_mutex_lock(&first->group->lock);
    first->group->contexts++;
    pthread_mutex_unlock(&first->group->lock);
    *ret = first->group;
}

static enum status found(uint64_t bytes, struct htp_group **ret)
{
    RETURN_IF(bytes > HTP_SESSION_BYTES, ST_INVALID_CONFIG,
              "HTP context config: REGISTER_MULTI_CONTEXTS: maxSpillFillBuffer is %" PRIu64 "; a session has %" PRIu64
              " bytes of addresses",
              bytes, HTP_SESSION_BYTES);
    struct htp_group *g = mem_new(struct htp_group);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory for a group of contexts");
    pthread_mutex_init(&g->lock, NULL);
    g->bytes = bytes;
    g->contexts = 1;
    *ret = g;
    return ST_OK;
}

enum status htp_group_join(struct backend_context *c)
{
    const void *first = c->own.first_of_group;
    if (!c->own.grouped)
        return ST_OK;
    if (!first)
        return found(c->own.max_spill_fill, &c->group);
    bool there = backend_host.with_context && backend_host.with_context(first, take_group, &c->group);
    RETURN_IF(!there, ST_INVALID_CONFIG, "HTP context config: REGISTER_MULTI_CONTEXTS: firstGroupHandle %p is not a context",
              first);
    if (c->group)
        backend_log(BACKEND_INFO, "the context shares the spill-fill buffer of its group, which has %u contexts now",
                    c->group->contexts);
    RETURN_IF(!c->group, ST_INVALID_CONFIG,
              "HTP context config: REGISTER_MULTI_CONTEXTS: firstGroupHandle %p is a context without a group; create it "
              "with the same option",
              first);
    return ST_OK;
}

/* With the context's session still held: it may be the last that does. */
static void leave_buffer(struct backend_context *c)
{
    struct htp_group *g = c->group;
    if (c->in_group_buffer && --g->users == 0) {
        htp_shared_free(g->session, &g->buffer);
        g->session = NULL;
    }
    c->in_group_buffer = false;
}

void htp_group_unplace(struct backend_context *c)
{
    if (!c->group)
        return;
    pthread_mutex_lock(&c->group->lock);
    leave_buffer(c);
    pthread_mutex_unlock(&c->group->lock);
}

void htp_group_leave(struct backend_context *c)
{
    struct htp_group *g = c->group;
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    leave_buffer(c);
    bool last = --g->contexts == 0;
    pthread_mutex_unlock(&g->lock);
    c->group = NULL;
    if (!last)
        return;
    pthread_mutex_destroy(&g->lock);
    mem_free(g);
}

enum status htp_group_check(const struct backend_context *c, const struct binary_graph_info *i)
{
    struct htp_group *g = c->group;
    if (!g)
        return ST_OK;
    pthread_mutex_lock(&g->lock);
    uint64_t bytes = g->bytes;
    pthread_mutex_unlock(&g->lock);
    RETURN_IF(bytes && i->spill_fill_bytes > bytes, ST_NO_MEMORY,
              "graph \"%s\" spills %" PRIu64 " bytes; the buffer of its group of contexts has %" PRIu64
              ", the maxSpillFillBuffer of the first context",
              i->name, i->spill_fill_bytes, bytes);
    return ST_OK;
}

uint64_t htp_group_need(const struct backend_context *c, const struct htp_session *s, uint64_t sum, uint64_t most)
{
    struct htp_group *g = c->group;
    if (!g)
        return sum;
    pthread_mutex_lock(&g->lock);
    uint64_t need = !most || g->session == s ? 0 : g->session ? sum : g->bytes ? g->bytes : most;
    pthread_mutex_unlock(&g->lock);
    return need;
}

static enum status make_buffer(struct htp_group *g, struct htp_session *s, const struct binary *b)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < b->n_graphs; i++)
        most = b->graphs[i].info.spill_fill_bytes > most ? b->graphs[i].info.spill_fill_bytes : most;
    TRY(htp_shared_alloc(s, g->bytes ? g->bytes : most, NULL, &g->buffer));
    g->bytes = g->buffer.bytes;
    g->session = s;
    return ST_OK;
}

enum status htp_group_pool(struct backend_context *c, struct htp_session *s, const struct binary *b, uint32_t graph,
                           struct rpc_pool *ret)
{
    struct htp_group *g = c->group;
    const struct binary_graph_info *i = &b->graphs[graph].info;
    *ret = (struct rpc_pool){ 0 };
    if (!g || !i->spill_fill_bytes)
        return ST_OK;
    pthread_mutex_lock(&g->lock);
    enum status st = g->session ? ST_OK : make_buffer(g, s, b);
    bool here = st == ST_OK && g->session == s;
    if (here) {
        g->users += !c->in_group_buffer;
        c->in_group_buffer = true;
        ret->map = g->buffer.map;
    }
    pthread_mutex_unlock(&g->lock);
    if (st == ST_OK && !here)
        backend_log(BACKEND_INFO,
                    "graph \"%s\" is not on the session of its group of contexts; it spills to memory of its own", i->name);
    return st;
}
