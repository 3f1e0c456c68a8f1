/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that runs in the session of the low-power domain. Its program computes in the client's pools where these are
 * shared memory, else in a mirror of them:
 *
 *   persistent   copied there before each execution and back after it, so that what the client sees and changes is the state
 *   scratch      only the rooms of inputs and outputs are copied
 *   I/O buffers  in place where they are registered memory, else through staging memory
 *
 * Nothing is allocated by an execution. */
#include <string.h>

#include "backend/lpai/lpai_backend.h"
#include "base/mem.h"

struct lpai_remote {
    struct lpai_binary *binary;
    struct lpai_shared pool[POOL_COUNT], staging;
    uint32_t program;
    bool loaded;
    uint64_t *place;     /* per I/O table entry: in staging */
    struct rpc_io *io;
    uint8_t *made;       /* per entry: the last run computed it */
    struct prof_recorder marks;
};

static const struct binary_tensor *tensor_of(const struct backend_graph *g, uint32_t io)
{
    return &g->g->tensors[g->g->io[io]];
}

/* ---- attaching -------------------------------------------------------------------------------------------------------- */

static enum status make_tables(const struct backend_graph *g, struct lpai_remote *r)
{
    uint32_t n = g->g->n_io;
    r->place = mem_array(uint64_t, n);
    r->io = mem_array(struct rpc_io, n);
    r->made = mem_array(uint8_t, n);
    r->marks.cap = g->g->n_marks;
    r->marks.marks = mem_array(struct prof_mark, r->marks.cap);
    RETURN_IF(!r->place || !r->io || !r->made || !r->marks.marks, ST_NO_MEMORY, "graph \"%s\": no memory to load it",
              g->g->info.name);
    return ST_OK;
}

static enum status make_staging(const struct backend_graph *g, struct lpai_remote *r)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        r->place[i] = all;
        all += (desc_bytes(&tensor_of(g, i)->desc) + LPAI_ALIGN - 1) / LPAI_ALIGN * LPAI_ALIGN;
    }
    return lpai_share(g->context->session, all, &r->staging);
}

static enum status attach(struct backend_graph *g, struct lpai_remote *r)
{
    struct backend_context *c = g->context;
    TRY(make_tables(g, r));
    TRY(lpai_binary_get(c, g->binary, &r->binary));
    TRY(make_staging(g, r));
    for (int k = 0; k < POOL_COUNT; k++)
        TRY(lpai_share_pool(c->session, g->claim.pool[k].addr, lpai_pool_bytes(g, (enum lpai_pool)k), &r->pool[k]));
    struct rpc_load l = { .map = r->binary->bytes.map,
                          .bytes = g->binary->size,
                          .graph = (uint32_t)(g->g - g->binary->graphs),
                          .scratch = { .map = r->pool[POOL_SCRATCH].map },
                          .persistent = { .map = r->pool[POOL_PERSISTENT].map } };
    TRY(lpai_session_result(c->session, c->session->link->load(c->session->s, &l)));
    r->program = l.program;
    r->loaded = true;
    if (r->pool[POOL_PERSISTENT].own)
        memset(g->claim.pool[POOL_PERSISTENT].addr, 0, g->g->info.persistent_bytes);
    return ST_OK;
}

enum status lpai_remote_attach(struct backend_graph *g)
{
    g->remote = mem_new(struct lpai_remote);
    RETURN_IF(!g->remote, ST_NO_MEMORY, "graph \"%s\": no memory to load it", g->g->info.name);
    enum status st = attach(g, g->remote);
    if (st != ST_OK)
        lpai_remote_free(g);
    return st;
}

enum status lpai_remote_scratch(struct backend_graph *g)
{
    struct lpai_session *s = g->context->session;
    struct lpai_remote *r = g->remote;
    struct lpai_shared fresh, *at = &r->pool[POOL_SCRATCH];
    if (!at->map || g->paused.halfway) /* what is done so far is in it, and it is the same */
        return ST_OK;
    TRY(lpai_share_pool(s, g->claim.pool[POOL_SCRATCH].addr, lpai_pool_bytes(g, POOL_SCRATCH), &fresh));
    enum status st = lpai_session_result(s, s->link->set_scratch(s->s, r->program, (struct rpc_pool){ .map = fresh.map }));
    struct lpai_shared gone = st == ST_OK ? *at : fresh;
    if (st == ST_OK)
        *at = fresh;
    lpai_unshare(s, &gone);
    return st;
}

void lpai_remote_free(struct backend_graph *g)
{
    struct lpai_remote *r = g->remote;
    struct lpai_session *s = g->context->session;
    if (!r)
        return;
    if (r->loaded)
        s->link->unload(s->s, r->program);
    for (int k = 0; k < POOL_COUNT; k++)
        lpai_unshare(s, &r->pool[k]);
    lpai_unshare(s, &r->staging);
    lpai_binary_put(g->context, r->binary);
    mem_free(r->place);
    mem_free(r->io);
    mem_free(r->made);
    mem_free(r->marks.marks);
    mem_free(r);
    g->remote = NULL;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* Where entry `i` has to be copied to for the session to see it; NULL: it sees the client's memory. */
static uint8_t *copy_of(const struct backend_graph *g, uint32_t i)
{
    const struct lpai_remote *r = g->remote;
    if (g->buffers[i].data)
        return r->io[i].map == r->staging.map ? (uint8_t *)r->staging.own + r->place[i] : NULL;
    return r->pool[POOL_SCRATCH].own ? (uint8_t *)r->pool[POOL_SCRATCH].own + g->home[i] : NULL;
}

/* An execution that goes on has its inputs there, and where they were may be something else by now. */
static void bind(struct backend_graph *g, const struct exec_run *e)
{
    struct lpai_remote *r = g->remote;
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        const struct binary_tensor *t = tensor_of(g, i);
        bool staged = g->buffers[i].data != NULL;
        uint64_t bytes = desc_bytes(&t->desc);
        r->made[i] = t->io == IO_BOTH; /* read and written: there in any case */
        r->io[i] = (struct rpc_io){ .map = staged ? r->staging.map : r->pool[POOL_SCRATCH].map,
                                    .offset = staged ? r->place[i] : g->home[i],
                                    .bytes = bytes,
                                    .produced = t->io == IO_OUTPUT ? &r->made[i] : NULL };
        if (staged)
            lpai_mem_find(g->context, e->io[i].data, bytes, &r->io[i]);
        if (t->io != IO_OUTPUT && !e->step && copy_of(g, i))
            memcpy(copy_of(g, i), e->io[i].data, bytes);
    }
}

static void hand_out(struct backend_graph *g, const struct exec_run *e)
{
    const struct lpai_remote *r = g->remote;
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        const struct binary_tensor *t = tensor_of(g, i);
        if (e->io[i].produced && t->io != IO_INPUT)
            *e->io[i].produced = r->made[i];
        if (t->io != IO_INPUT && r->made[i] && copy_of(g, i))
            memcpy(e->io[i].data, copy_of(g, i), desc_bytes(&t->desc));
    }
}

enum status lpai_remote_run(struct backend_graph *g, struct exec_run *e, uint32_t priority)
{
    struct lpai_session *s = g->context->session;
    struct lpai_remote *r = g->remote;
    void *state = g->claim.pool[POOL_PERSISTENT].addr, *mirror = r->pool[POOL_PERSISTENT].own;
    e->marks = &r->marks;
    r->marks.n = 0;
    TRY(lpai_check_context(g->context));
    bind(g, e);
    if (mirror)
        memcpy(mirror, state, g->g->info.persistent_bytes);
    struct rpc_run run = { .program = r->program,
                           .priority = priority,
                           .io = r->io,
                           .n_io = g->g->n_io,
                           .profile_nodes = e->profile_nodes,
                           .cancel = e->cancel,
                           .pause = e->pause,
                           .step = e->step,
                           .marks = r->marks.marks,
                           .max_marks = e->profile_nodes ? r->marks.cap : 0 };
    enum status st = lpai_session_result(s, s->link->run(s->s, &run));
    if (st == ST_COMMUNICATION)
        return st; /* the state is that before this execution */
    if (mirror)
        memcpy(state, mirror, g->g->info.persistent_bytes);
    if (st == ST_OK || st == ST_ENDED_EARLY)
        hand_out(g, e);
    r->marks.n = run.n_marks;
    e->step = run.step;
    return st;
}
