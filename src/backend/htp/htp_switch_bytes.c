/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of one graph of a file in a session, for graphs that come and go. The session gets the graph as a file of its own
 * (binary_pick): a few pages of tables, and right behind them the constants.
 *
 *     of the context's binary, which api/ has in the client's file or in shared memory    they are mapped where they are
 *     of a graph with an applied section, whose program is its own                        they are copied each time */
#include <string.h>

#include "backend/htp/htp_switch.h"
#include "base/mem.h"

enum { PAGE = 4096 };

/* Where constants can be mapped from; false: nowhere. */
static bool find_rest(const uint8_t *rest, struct rpc_piece *ret)
{
    ret->fd = rpc_fd(rest);
    ret->offset = ret->fd >= 0 ? rpc_offset(rest) : 0;
    return ret->fd >= 0 && ret->offset % PAGE == 0;
}

static enum status map_pick(struct htp_session *s, const struct binary_pick *p, const struct cancel *signal,
                            struct htp_binary *h)
{
    struct rpc_piece rest = { .bytes = p->rest_bytes };
    bool joined = p->rest_bytes && find_rest(p->rest, &rest);
    uint64_t bytes = p->head.size + (joined ? 0 : p->rest_bytes);
    void *at;

    TRY(rpc_alloc(bytes, &at));
    memcpy(at, p->head.data, p->head.size);
    if (!joined && p->rest_bytes)
        memcpy((uint8_t *)at + p->head.size, p->rest, p->rest_bytes);

    struct rpc_piece head = { .fd = rpc_fd(at), .bytes = bytes };
    enum status st = joined ? s->link->map_joined(s->s, &head, &rest, signal, &h->bytes.map)
                            : s->link->map(s->s, head.fd, 0, bytes, false, &h->bytes.map);
    rpc_free(at); /* the session keeps what it has mapped */

    h->bytes.bytes = p->head.size + p->rest_bytes;
    h->copied = joined ? 0 : p->rest_bytes;
    if (joined) {
        h->in = p->rest;
        h->in_bytes = p->rest_bytes;
        h->in_at = p->head.size;
    }
    return htp_session_result(s, st);
}

/* ---- picks ------------------------------------------------------------------------------------------------------------ */

static bool same_pick(const struct htp_binary *h, const struct binary *b, uint32_t graph)
{
    const struct binary_graph *first = &b->graphs[h->first], *g = &b->graphs[graph];
    return h->binary == b &&
           (h->first == graph || (first->constant_bytes && g->constant_bytes && first->constants == g->constants));
}

/* The number of a graph in its pick: graphs keep their order. */
static uint32_t number_in(const struct htp_binary *h, const struct binary *b, uint32_t graph)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < graph; i++)
        n += same_pick(h, b, i);
    return n;
}

enum status htp_pick_get(struct backend_context *c, struct htp_session *s, const struct binary *b, uint32_t graph,
                         struct htp_binary **ret, uint32_t *ret_number)
{
    for (struct htp_binary *h = c->binaries; h; h = h->next)
        if (same_pick(h, b, graph)) {
            h->users++;
            *ret = h;
            *ret_number = number_in(h, b, graph);
            return ST_OK;
        }

    struct htp_binary *h = mem_new(struct htp_binary);
    struct binary_pick pick = { 0 };
    RETURN_IF(!h, ST_NO_MEMORY, "no memory to load a context binary");
    *h = (struct htp_binary){ .next = c->binaries, .binary = b, .first = graph, .users = 1 };
    enum status st = binary_pick(b, graph, &pick);
    if (st == ST_OK)
        st = map_pick(s, &pick, c->signal, h);
    binary_pick_free(&pick);
    if (st != ST_OK) {
        mem_free(h);
        return st;
    }
    c->binaries = h;
    *ret = h;
    *ret_number = pick.graph;
    return ST_OK;
}

void htp_pick_release(struct htp_session *s, struct htp_binary *h)
{
    s->link->unmap(s->s, h->bytes.map); /* a dead session has nothing mapped */
}
