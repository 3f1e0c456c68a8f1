/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of this process. A place in the list holds one living session; contexts hold it as long as they exist, and the
 * last one ends its process. When the process dies, the place is filled with a new one at once, so that whoever comes next
 * finds it; the dead one stays with its contexts and answers every call with the reason until they are freed. */
#include "backend/htp/htp_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel_lock.h"
#include "base/cpu.h"
#include "base/forks.h"
#include "base/mem.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(lock)
static struct htp_session *sessions[HTP_MAX_SESSIONS];

/* OPENQNN_SESSION_BYTES: another size of address space, for tests of placing. */
static uint64_t budget(void)
{
    const char *text = getenv("OPENQNN_SESSION_BYTES");
    unsigned long long n = text ? strtoull(text, NULL, 10) : 0;
    return n ? n : HTP_SESSION_BYTES;
}

static uint32_t threads(void)
{
    const char *text = getenv("OPENQNN_THREADS");
    unsigned long n = text ? strtoul(text, NULL, 10) : 0;
    uint32_t cores = cpu_cores();
    return n && n < 256 ? (uint32_t)n : cores < 8 ? cores : 8;
}

/* Graphs that run at the same time: where there are cores that one of them does not use. */
static uint32_t lanes(void)
{
    const char *text = getenv("OPENQNN_LANES");
    unsigned long n = text ? strtoul(text, NULL, 10) : cpu_cores() / threads();
    return n < 1 ? 1 : n < 256 ? (uint32_t)n : 255; /* of which a session takes as many as it can */
}

static enum status bring_over(const struct rpc_link *link, enum status st)
{
    const char *text = st != ST_OK && link->explain ? link->explain() : NULL;
    if (text && *text && text != status_text())
        return status_fail(st, "%s", text);
    return st;
}

static void session_free(struct htp_session *s)
{
    if (s->s)
        s->link->close(s->s);
    pthread_mutex_destroy(&s->lock);
    mem_free((char *)s->kind.packages);
    mem_free(s);
}

static enum status start(struct htp_session *s, const struct cancel *signal)
{
    char skel[RPC_PATH_MAX] = "";
    TRY(htp_find_link(s->kind.arch, &s->link));
    if (s->link != &rpc_link_inproc)
        TRY(htp_find_skel(s->kind.arch, skel));
    struct rpc_session_opts o = { .skel = skel,
                                  .build_id = htp_build_id,
                                  .arch = s->kind.arch,
                                  .threads = threads(),
                                  .lanes = lanes(),
                                  .budget = budget(),
                                  .cancel = signal,
                                  .packages = s->kind.packages };
    return bring_over(s->link, s->link->open(&o, &s->s));
}

static enum status session_new(uint32_t index, const struct htp_session_kind *kind, const struct cancel *signal,
                               struct htp_session **ret)
{
    struct htp_session *s = mem_new(struct htp_session);
    char *packages = mem_alloc(strlen(kind->packages) + 1);
    if (!s || !packages) {
        mem_free(s);
        mem_free(packages);
        return status_fail(ST_NO_MEMORY, "no memory for a session");
    }

    s->index = index;
    s->kind = *kind;
    s->kind.packages = strcpy(packages, kind->packages);
    pthread_mutex_init(&s->lock, NULL);
    enum status st = start(s, signal);
    if (st != ST_OK) {
        session_free(s);
        return st;
    }
    *ret = s;
    return ST_OK;
}

/* With the lock: fill the place of a session that died. */
static void replace(struct htp_session *s)
{
    struct htp_session *fresh = NULL;
    const char *why = s->link->explain ? s->link->explain() : NULL;

    snprintf(s->why, sizeof s->why, "%s", why ? why : "");
    enum status st = session_new(s->index, &s->kind, NULL, &fresh);
    if (sessions[s->index] == s)
        sessions[s->index] = fresh; /* NULL: the next context tries again */
    s->lost = st == ST_OK ? ST_COMMUNICATION : ST_COMMUNICATION_FATAL;
    htp_votes_lost();
    backend_log(BACKEND_WARN,
                st == ST_OK ? "session %u died and was started again: %s"
                            : "session %u died and could not be started again: %s",
                s->index, s->why);
}

static enum status lost(const struct htp_session *s)
{
    return status_fail((enum status)s->lost,
                       "session %u has died%s (%s); free the contexts that were on it and create them again", s->index,
                       s->lost == ST_COMMUNICATION_FATAL ? " and could not be started again" : "", s->why);
}

enum status htp_session_check(struct htp_session *s)
{
    return s->lost == ST_OK ? ST_OK : lost(s);
}

enum status htp_session_result(struct htp_session *s, enum status st)
{
    if (st != ST_COMMUNICATION)
        return bring_over(s->link, st);
    pthread_mutex_lock(&lock);
    if (s->lost == ST_OK)
        replace(s);
    pthread_mutex_unlock(&lock);
    return lost(s);
}

/* A replacement that nobody came for ends with the last context of the session it replaced. */
static void drop_unused(uint32_t index)
{
    struct htp_session *s = sessions[index];
    if (!s || s->users)
        return;
    sessions[index] = NULL;
    session_free(s);
}

/* Whether contexts of that kind can be on the session. */
static bool suits(const struct htp_session *s, const struct htp_session_kind *kind)
{
    return s->kind.arch == kind->arch && rpc_packages_within(kind->packages, s->kind.packages);
}

enum status htp_session_get(uint32_t index, const struct htp_session_kind *kind, uint32_t limit, const struct cancel *signal,
                            struct htp_session **ret)
{
    enum status st = ST_OK;
    RETURN_IF(index >= limit || index >= HTP_MAX_SESSIONS, ST_NOT_FOUND, "the SoC has %u sessions per process", limit);
    st = cancel_lock(&lock, signal);
    RETURN_IF(st != ST_OK, st, "the call was ended by its signal while a session started");
    struct htp_session *s = sessions[index];
    if (s && s->users == 0 && (!suits(s, kind) || !s->link->alive(s->s))) {
        drop_unused(index);
        s = NULL;
    }
    if (!s) {
        st = session_new(index, kind, signal, &s);
        sessions[index] = s;
    } else if (s->kind.arch != kind->arch) {
        st = status_fail(ST_IN_USE, "session %u is of architecture v%u; v%u is wanted", index, s->kind.arch, kind->arch);
    } else if (!suits(s, kind)) {
        st = status_fail(ST_IN_USE, "session %u was started without op packages that the context has", index);
    }
    if (st == ST_OK)
        s->users++;
    pthread_mutex_unlock(&lock);
    *ret = s;
    return st;
}

void htp_session_put(struct htp_session *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&lock);
    uint32_t index = s->index;
    if (--s->users == 0) {
        bool listed = sessions[index] == s;
        if (listed)
            sessions[index] = NULL;
        session_free(s);
        if (!listed)
            drop_unused(index);
    }
    pthread_mutex_unlock(&lock);
}

uint64_t htp_sessions_base(void)
{
    uint64_t sum = 0;

    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < HTP_MAX_SESSIONS; i++) {
        struct rpc_usage u = { 0 };

        if (!sessions[i])
            continue;
        sessions[i]->link->usage(sessions[i]->s, &u);
        sum += u.base_bytes;
    }
    pthread_mutex_unlock(&lock);
    return sum;
}

uint64_t htp_sessions_heap(uint32_t *contexts)
{
    uint64_t sum = 0;
    *contexts = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < HTP_MAX_SESSIONS; i++) {
        struct rpc_usage u = { 0 };
        if (!sessions[i])
            continue;
        sessions[i]->link->usage(sessions[i]->s, &u);
        sum += u.mapped_bytes + (u.malloc_bytes ? u.malloc_bytes : u.heap_bytes);
        *contexts += sessions[i]->users;
    }
    pthread_mutex_unlock(&lock);
    return sum;
}
