/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of this process, a list for each architecture. A place in the list holds one living session; contexts hold it
 * as long as they exist, and the last one ends its process. When the process dies, the place is filled with a new one at
 * once, so that the next context finds it; the dead one stays with its contexts and answers every call with the reason
 * until they are freed. */
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
static struct session_set {
    uint32_t arch;
    struct htp_session *at[HTP_MAX_SESSIONS];
} sets[HTP_MAX_ARCHS];
static uint32_t n_sets;

/* With the lock. NULL: of too many architectures. */
static struct session_set *set_of(uint32_t arch)
{
    for (uint32_t i = 0; i < n_sets; i++)
        if (sets[i].arch == arch)
            return &sets[i];
    if (n_sets == HTP_MAX_ARCHS)
        return NULL;
    sets[n_sets].arch = arch;
    return &sets[n_sets++];
}

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

static enum status session_new(uint32_t index, struct htp_session **place, const struct htp_session_kind *kind,
                               const struct cancel *signal,
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
    s->place = place;
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
    enum status st = session_new(s->index, s->place, &s->kind, NULL, &fresh);
    if (*s->place == s)
        *s->place = fresh; /* NULL: the next context tries again */
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

enum status htp_session_look(struct htp_session *s)
{
    TRY(htp_session_check(s));
    return s->link->alive(s->s) ? ST_OK : htp_session_result(s, ST_COMMUNICATION);
}

/* A replacement that nobody came for ends with the last context of the session it replaced. */
static void drop_unused(struct htp_session **place)
{
    struct htp_session *s = *place;
    if (!s || s->users)
        return;
    *place = NULL;
    session_free(s);
}

const char *htp_domain_name(uint32_t domain)
{
    static const char *const names[] = { "unsigned", "signed", "unsigned and secure", "signed and secure" };

    return names[domain & HTP_DOMAIN];
}

/* Whether contexts of that kind can be on the session. */
static bool suits(const struct htp_session *s, const struct htp_session_kind *kind)
{
    return s->kind.domain == kind->domain && rpc_packages_within(kind->packages, s->kind.packages);
}

/* With the lock. */
static enum status take(uint32_t index, struct htp_session **place, const struct htp_session_kind *kind,
                        const struct cancel *signal)
{
    struct htp_session *s = *place;

    if (s && s->users == 0 && (!suits(s, kind) || !s->link->alive(s->s)))
        drop_unused(place);
    if (!*place)
        TRY(session_new(index, place, kind, signal, place));
    RETURN_IF((*place)->kind.domain != kind->domain, ST_IN_USE, "the process domain of session %u is %s; %s is wanted",
              index, htp_domain_name((*place)->kind.domain), htp_domain_name(kind->domain));
    RETURN_IF(!suits(*place, kind), ST_IN_USE, "session %u was started without op packages that the context has", index);
    (*place)->users++;
    return ST_OK;
}

enum status htp_session_get(uint32_t index, const struct htp_session_kind *kind, uint32_t limit, const struct cancel *signal,
                            struct htp_session **ret)
{
    RETURN_IF(index >= limit || index >= HTP_MAX_SESSIONS, ST_NOT_FOUND, "the SoC has %u sessions per process", limit);

    enum status st = cancel_lock(&lock, signal);
    RETURN_IF(st != ST_OK, st, "the call was ended by its signal while a session started");
    struct session_set *set = set_of(kind->arch);
    st = set ? take(index, &set->at[index], kind, signal)
             : status_fail(ST_NOT_FOUND, "sessions of %d architectures are in use", HTP_MAX_ARCHS);
    *ret = st == ST_OK ? set->at[index] : NULL;
    pthread_mutex_unlock(&lock);
    return st;
}

void htp_session_put(struct htp_session *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&lock);
    struct htp_session **place = s->place;
    if (--s->users == 0) {
        bool listed = *place == s;
        if (listed)
            *place = NULL;
        session_free(s);
        if (!listed)
            drop_unused(place);
    }
    pthread_mutex_unlock(&lock);
}

uint64_t htp_sessions_base(void)
{
    uint64_t sum = 0;

    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n_sets * HTP_MAX_SESSIONS; i++) {
        struct rpc_usage u = { 0 };
        const struct htp_session *s = sets[i / HTP_MAX_SESSIONS].at[i % HTP_MAX_SESSIONS];

        if (!s)
            continue;
        s->link->usage(s->s, &u);
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
    for (uint32_t i = 0; i < n_sets * HTP_MAX_SESSIONS; i++) {
        struct rpc_usage u = { 0 };
        const struct htp_session *s = sets[i / HTP_MAX_SESSIONS].at[i % HTP_MAX_SESSIONS];
        if (!s)
            continue;
        s->link->usage(s->s, &u);
        sum += u.mapped_bytes + (u.malloc_bytes ? u.malloc_bytes : u.heap_bytes);
        *contexts += s->users;
    }
    pthread_mutex_unlock(&lock);
    return sum;
}
