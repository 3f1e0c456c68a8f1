/* SPDX-License-Identifier: Apache-2.0 */
/* The session of the low-power domain, for backends whose target is ARM: one process that computes for all their contexts,
 * started by the first graph that gets its memory and ended by the last context. When it dies, contexts that were on it
 * answer with the reason until they are freed, and the next one gets a new process. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/lpai/lpai_backend.h"
#include "base/forks.h"
#include "base/mem.h"

#define SESSION_BYTES ((uint64_t)15 << 28) /* 3.75 GiB of a 32-bit address space */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(lock)
static struct lpai_session *current;     /* the one that new contexts join; NULL: start one */
static void *stub_lib;                   /* kept: a session holds code of it */
static const struct rpc_link *stub_link;

/* ---- starting --------------------------------------------------------------------------------------------------------- */

static enum status open_stub(void)
{
    static const char name[] = "libQnnLpaiStub.so";
    void *symbol;
    if (stub_link)
        return ST_OK;
    TRY(backend_open_symbol(name, RPC_STUB_SYMBOL, &stub_lib, &symbol));
    const struct rpc_link *l = symbol ? ((rpc_stub_fn *)symbol)(RPC_LINK_VERSION) : &rpc_link_built_in;
    RETURN_IF(!l || strcmp(l->build_id, lpai_build_id) != 0, ST_LOADING,
              "%s is of build %s, libQnnLpai.so of build %s; use libraries of one build", name, l ? l->build_id : "another",
              lpai_build_id);
    stub_link = l;
    return ST_OK;
}

static enum status bring_over(const struct rpc_link *link, enum status st)
{
    const char *text = st != ST_OK ? link->explain() : NULL;
    return text && *text && text != status_text() ? status_fail(st, "%s", text) : st;
}

static enum status start(struct lpai_session *s)
{
    char skel[RPC_PATH_MAX], note[RPC_NOTE_MAX] = "";
    TRY(open_stub());
    TRY(rpc_find_program(RPC_ARCH_LPAI, backend_own_path(), skel, note));
    if (*note)
        backend_log(BACKEND_WARN, "%s", note);
    s->link = stub_link;
    struct rpc_session_opts o = {
        .skel = skel, .build_id = lpai_build_id, .arch = RPC_ARCH_LPAI, .threads = 1, .budget = SESSION_BYTES
    };
    return bring_over(s->link, s->link->open(&o, &s->s));
}

/* With the lock. NULL: it cannot be started, and graphs run in this process. */
static struct lpai_session *session_new(void)
{
    struct lpai_session *s = mem_new(struct lpai_session);
    if (s && start(s) == ST_OK)
        return s;
    backend_log(BACKEND_WARN, "no session for the ARM target, so graphs run in this process: %s",
                s ? status_text() : "no memory");
    mem_free(s);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static void forget(struct lpai_session *s)
{
    s->lost = true;
    if (current == s)
        current = NULL;
}

static void session_put(struct lpai_session *s)
{
    if (--s->users)
        return;
    forget(s);
    s->link->close(s->s);
    mem_free(s);
}

enum status lpai_session_join(struct backend_context *c)
{
    const char *mode = getenv("OPENQNN_SESSION");
    if (mode && strcmp(mode, "inproc") == 0)
        return ST_OK;
    pthread_mutex_lock(&lock);
    bool joins = !c->session;
    if (joins) {
        if (current && !current->link->alive(current->s))
            forget(current);
        if (!current)
            current = session_new();
        c->session = current;
        if (current)
            current->users++;
    }
    pthread_mutex_unlock(&lock);
    if (joins)
        lpai_mem_join(c);
    return lpai_check_context(c);
}

void lpai_session_leave(struct backend_context *c)
{
    pthread_mutex_lock(&lock);
    if (c->session)
        session_put(c->session);
    c->session = NULL;
    pthread_mutex_unlock(&lock);
}

/* Clients open and close the library many times in one process, some without freeing what they made. This also runs at the
 * end of a program whose other threads may still be in a call. */
__attribute__((destructor)) static void close_library(void)
{
    if (stub_link && !stub_link->abandon()) {
        rpc_abandon();
        return; /* threads may still call what they had */
    }
    if (stub_lib)
        dlclose(stub_lib);
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

static enum status lost(const struct lpai_session *s)
{
    return status_fail(
        ST_COMMUNICATION,
        "the session of the low-power domain has died%s%s%s; free the contexts that were on it and create them again",
        *s->why ? " (" : "", s->why, *s->why ? ")" : "");
}

enum status lpai_check_context(struct backend_context *c)
{
    const struct lpai_session *s = c->session;
    return s && s->lost ? lost(s) : ST_OK;
}

enum status lpai_session_result(struct lpai_session *s, enum status st)
{
    if (st != ST_COMMUNICATION)
        return bring_over(s->link, st);
    pthread_mutex_lock(&lock);
    bool first = !s->lost;
    if (first)
        snprintf(s->why, sizeof s->why, "%s", s->link->explain());
    forget(s);
    pthread_mutex_unlock(&lock);
    if (first)
        backend_log(BACKEND_WARN, "the session of the low-power domain has died; the next context starts another: %s",
                    s->why);
    return lost(s);
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static enum status share_fd(struct lpai_session *s, int fd, uint64_t offset, uint64_t bytes, bool writable,
                            struct lpai_shared *ret)
{
    return lpai_session_result(s, s->link->map(s->s, fd, offset, bytes, writable, &ret->map));
}

static enum status share_own(struct lpai_session *s, uint64_t bytes, bool writable, struct lpai_shared *ret)
{
    struct lpai_shared m = { 0 };
    TRY(rpc_alloc(bytes, &m.own));
    enum status st = share_fd(s, rpc_fd(m.own), 0, bytes, writable, &m);
    if (st != ST_OK) {
        rpc_free(m.own);
        return st;
    }
    *ret = m;
    return ST_OK;
}

enum status lpai_share(struct lpai_session *s, uint64_t bytes, struct lpai_shared *ret)
{
    *ret = (struct lpai_shared){ 0 };
    return bytes ? share_own(s, bytes, true, ret) : ST_OK;
}

enum status lpai_share_pool(struct lpai_session *s, const void *pool, uint64_t bytes, struct lpai_shared *ret)
{
    struct lpai_shared m = { 0 };
    uint64_t offset;
    int fd = bytes ? lpai_shared_fd(pool, bytes, &offset) : -1;
    if (fd >= 0) {
        enum status st = share_fd(s, fd, offset, bytes, true, &m);
        close(fd);
        if (st == ST_OK || st == ST_COMMUNICATION) {
            *ret = m;
            return st;
        }
    }
    return lpai_share(s, bytes, ret);
}

void lpai_unshare(struct lpai_session *s, struct lpai_shared *m)
{
    if (m->map)
        s->link->unmap(s->s, m->map); /* a dead session has nothing mapped */
    if (m->own)
        rpc_free(m->own);
    *m = (struct lpai_shared){ 0 };
}

/* ---- binaries --------------------------------------------------------------------------------------------------------- */

static enum status binary_new(struct lpai_session *s, const struct binary *b, struct lpai_binary **ret)
{
    struct lpai_binary *n = mem_new(struct lpai_binary);
    RETURN_IF(!n, ST_NO_MEMORY, "no memory to load a graph");
    n->binary = b;
    enum status st = share_own(s, b->size, false, &n->bytes);
    if (st != ST_OK) {
        mem_free(n);
        return st;
    }
    memcpy(n->bytes.own, b->map, b->size);
    *ret = n;
    return ST_OK;
}

enum status lpai_binary_get(struct backend_context *c, const struct binary *b, struct lpai_binary **ret)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&c->lock);
    struct lpai_binary *n = c->binaries;
    while (n && n->binary != b)
        n = n->next;
    if (!n && (st = binary_new(c->session, b, &n)) == ST_OK) {
        n->next = c->binaries;
        c->binaries = n;
    }
    if (st == ST_OK)
        n->users++;
    pthread_mutex_unlock(&c->lock);
    *ret = n;
    return st;
}

void lpai_binary_put(struct backend_context *c, struct lpai_binary *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&c->lock);
    if (--b->users == 0) {
        struct lpai_binary **at = &c->binaries;
        while (*at != b)
            at = &(*at)->next;
        *at = b->next;
        lpai_unshare(c->session, &b->bytes);
        mem_free(b);
    }
    pthread_mutex_unlock(&c->lock);
}
