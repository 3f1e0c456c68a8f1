/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of contexts that share memory while their graphs compute.
 *
 *     REGISTER_MULTI_CONTEXTS                 the first context says how much is spilled at most; others name the first one
 *     REGISTER_CONCURRENT_RESOURCE_SHARING    the same, and one priority: fast memory of a graph that gives way is saved
 *                                             in one place, too
 *     SHARE_RESOURCES                         contexts of a list; as much as the largest of them needs. By type: with
 *                                             scratch and staging memory of graphs, without them, or per priority as above
 *
 *     group ── places, one per session (of registered groups: one): buffers that are mapped there and charged once
 *       contexts on a session with a place    all their graphs compute there, one after the other
 *       contexts on other sessions            memory of their own: two processes cannot take turns with one buffer
 *
 * A buffer is made with the first graph that needs it and goes with the last context of its place, whichever that is. */
#include "backend/htp/htp_group.h"

#include <inttypes.h>

#include "base/forks.h"
#include "base/mem.h"
#include "binary/binary.h"

struct place {
    struct htp_session *session; /* NULL: free; one of `users` holds it */
    struct htp_shared buffers[HTP_GROUP_BUFFERS];
    _Atomic bool staging_used; /* by an execution */
    uint32_t users;
};

struct htp_group {
    pthread_mutex_t lock;
    struct htp_group *next; /* of lists, under lists_lock */
    uint64_t list;          /* 0: registered */
    bool concurrent;        /* of one priority */
    uint32_t priority;
    bool shared[HTP_GROUP_BUFFERS];
    uint64_t bytes[HTP_GROUP_BUFFERS]; /* 0: what the largest graph of the first file needs */
    uint32_t contexts, n_places;
    struct place places[HTP_MAX_SESSIONS];
};

static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(lists_lock)
static struct htp_group *lists; /* groups of lists */

/* ---- options ---------------------------------------------------------------------------------------------------------- */

enum { FIRST_VA_ARCH = 73, FIRST_CONCURRENT_ARCH = 81 };

static bool of_list(const struct backend_context *c)
{
    return c->own.share_resources && c->cfg.list;
}

static enum status check_types(const struct backend_context *c)
{
    const struct htp_context_cfg *s = &c->own;
    bool concurrent = s->concurrent_group || (of_list(c) && s->share_type == HTP_SHARE_CONCURRENT);
    RETURN_IF(concurrent && c->arch < FIRST_CONCURRENT_ARCH, ST_NOT_SUPPORTED,
              "HTP context config: %s needs architecture v%d; the device has v%u: leave it out, or create the device for a "
              "newer SoC",
              s->concurrent_group ? "REGISTER_CONCURRENT_RESOURCE_SHARING" : "SHARE_RESOURCES with CONCURRENT_OPTIMIZATION",
              FIRST_CONCURRENT_ARCH, c->arch);
    RETURN_IF(of_list(c) && s->share_type == HTP_SHARE_WITH_VA && c->arch < FIRST_VA_ARCH, ST_NOT_SUPPORTED,
              "HTP context config: SHARE_RESOURCES with SEQUENTIAL_WITH_VA_OPTIMIZATION needs architecture v%d; the device "
              "has v%u: use SEQUENTIAL_WITHOUT_VA_OPTIMIZATION",
              FIRST_VA_ARCH, c->arch);
    return ST_OK;
}

static enum status check_combination(const struct backend_context *c)
{
    static _Atomic bool said_alone, said_list;
    const struct htp_context_cfg *s = &c->own;
    int ways = s->grouped + s->concurrent_group + of_list(c);
    RETURN_IF(ways > 1, ST_INVALID_CONFIG,
              "HTP context config: only one of REGISTER_MULTI_CONTEXTS, REGISTER_CONCURRENT_RESOURCE_SHARING and "
              "SHARE_RESOURCES is possible");
    if (s->share_resources && !c->cfg.list)
        TRY(htp_deviate(&said_alone, ST_INVALID_CONFIG,
                        "HTP context config: SHARE_RESOURCES is for lists (QnnContext_createFromBinaryListAsync); a context "
                        "alone shares nothing"));
    if (c->cfg.list && (s->grouped || s->concurrent_group))
        TRY(htp_deviate(&said_list, ST_INVALID_CONFIG,
                        "HTP context config: contexts of a list should share by SHARE_RESOURCES, not by %s",
                        s->grouped ? "REGISTER_MULTI_CONTEXTS" : "REGISTER_CONCURRENT_RESOURCE_SHARING"));
    return ST_OK;
}

/* ---- joining ---------------------------------------------------------------------------------------------------------- */

static enum status new_group(const struct backend_context *c, struct htp_group **ret)
{
    struct htp_group *g = mem_new(struct htp_group);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory for a group of contexts");
    pthread_mutex_init(&g->lock, NULL);
    g->list = of_list(c) ? c->cfg.list : 0;
    g->concurrent = c->own.concurrent_group || (g->list && c->own.share_type == HTP_SHARE_CONCURRENT);
    g->priority = c->cfg.priority;
    g->shared[HTP_GROUP_SPILL] = true;
    g->shared[HTP_GROUP_SCRATCH] = g->shared[HTP_GROUP_STAGING] = g->list && c->own.share_type == HTP_SHARE_WITH_VA;
    g->shared[HTP_GROUP_BACKUP] = g->concurrent;
    g->bytes[HTP_GROUP_BACKUP] = (uint64_t)c->vtcm_mb << 20;
    g->n_places = g->list ? HTP_MAX_SESSIONS : 1;
    g->contexts = 1;
    *ret = g;
    return ST_OK;
}

static enum status found(struct backend_context *c, const char *option)
{
    uint64_t bytes = c->own.max_spill_fill;
    RETURN_IF(bytes > HTP_SESSION_BYTES, ST_INVALID_CONFIG,
              "HTP context config: %s: maxSpillFillBuffer is %" PRIu64 "; a session has %" PRIu64 " bytes of addresses",
              option, bytes, HTP_SESSION_BYTES);
    RETURN_IF(
        !bytes && c->own.concurrent_group, ST_INVALID_CONFIG,
        "HTP context config: %s: maxSpillFillBuffer of the first context is 0; give the largest spillFillBufferSize of "
        "the graphs (qnn-context-binary-utility)",
        option);
    TRY(new_group(c, &c->group));
    c->group->bytes[HTP_GROUP_SPILL] = bytes;
    return ST_OK;
}

struct joining {
    const struct backend_context *c;
    struct htp_group *group;
};

static void take_group(struct backend_context *first, void *arg)
{
    struct joining *j = arg;
    struct htp_group *g = first->group;
    if (!g || g->list || g->concurrent != j->c->own.concurrent_group)
        return;
    pthread_mutex_lock(&g->lock);
    g->contexts++;
    pthread_mutex_unlock(&g->lock);
    j->group = g;
}

/* The group is this context's already: leaving it is the caller's, on failure too. */
static enum status check_member(const struct backend_context *c, const char *option)
{
    static _Atomic bool said;
    const struct htp_group *g = c->group;
    uint64_t bytes = c->own.max_spill_fill, there = g->bytes[HTP_GROUP_SPILL];
    RETURN_IF(g->concurrent && g->priority != c->cfg.priority, ST_INVALID_CONFIG,
              "HTP context config: %s: the context has priority %u, its group %u; create it with that one, or in another "
              "group",
              option, c->cfg.priority, g->priority);
    if (!bytes || bytes == there)
        return ST_OK;
    RETURN_IF(g->concurrent, ST_INVALID_CONFIG,
              "HTP context config: %s: maxSpillFillBuffer is %" PRIu64 ", that of the group %" PRIu64 "; give that, or 0",
              option, bytes, there);
    return htp_deviate(&said, ST_INVALID_CONFIG,
                       "HTP context config: %s: maxSpillFillBuffer %" PRIu64
                       " is ignored; that of the first context, %" PRIu64 ", is the group's",
                       option, bytes, there);
}

static enum status join_registered(struct backend_context *c, const char *option, const void *first)
{
    struct joining j = { .c = c };
    if (!first)
        return found(c, option);
    bool there = backend_host.with_context && backend_host.with_context(first, take_group, &j);
    RETURN_IF(!there, ST_INVALID_CONFIG, "HTP context config: %s: firstGroupHandle %p is not a context", option, first);
    RETURN_IF(!j.group, ST_INVALID_CONFIG,
              "HTP context config: %s: firstGroupHandle %p is a context without a group; create it with the same option",
              option, first);
    c->group = j.group;
    TRY(check_member(c, option));
    backend_log(BACKEND_INFO, "the context shares the spill-fill buffer of its group, which has %u contexts now",
                c->group->contexts);
    return ST_OK;
}

static struct htp_group *find_list(const struct backend_context *c)
{
    bool concurrent = c->own.share_type == HTP_SHARE_CONCURRENT;
    for (struct htp_group *g = lists; g; g = g->next)
        if (g->list == c->cfg.list && g->concurrent == concurrent && (!concurrent || g->priority == c->cfg.priority) &&
            g->shared[HTP_GROUP_SCRATCH] == (c->own.share_type == HTP_SHARE_WITH_VA))
            return g;
    return NULL;
}

static void raise_to(uint64_t *bytes, uint64_t to)
{
    *bytes = to > *bytes ? to : *bytes;
}

/* All contexts of a list join before any of them is loaded, so that the largest is known by then. */
static enum status join_list(struct backend_context *c)
{
    struct binary_needs needs = { 0 };
    enum status st = ST_OK;
    if (c->cfg.binary)
        TRY(binary_needs_read(c->cfg.binary, c->cfg.binary_bytes, &needs));

    pthread_mutex_lock(&lists_lock);
    struct htp_group *g = find_list(c);
    if (g) {
        g->contexts++;
        c->group = g;
    } else if ((st = new_group(c, &c->group)) == ST_OK) {
        c->group->next = lists;
        lists = c->group;
    }
    if (st == ST_OK) {
        raise_to(&c->group->bytes[HTP_GROUP_SPILL], needs.spill_fill_bytes);
        raise_to(&c->group->bytes[HTP_GROUP_SCRATCH], needs.scratch_bytes);
        raise_to(&c->group->bytes[HTP_GROUP_STAGING], needs.io_bytes + (uint64_t)needs.n_io * HTP_ALIGN);
    }
    pthread_mutex_unlock(&lists_lock);
    return st;
}

enum status htp_group_join(struct backend_context *c)
{
    TRY(check_combination(c));
    TRY(check_types(c));
    if (c->own.grouped)
        return join_registered(c, "REGISTER_MULTI_CONTEXTS", c->own.first_of_group);
    if (c->own.concurrent_group)
        return join_registered(c, "REGISTER_CONCURRENT_RESOURCE_SHARING", c->own.first_of_concurrent_group);
    return of_list(c) ? join_list(c) : ST_OK;
}

enum status htp_check_priority(struct backend_context *c, uint32_t priority)
{
    const struct htp_group *g = c->group;
    RETURN_IF(g && g->concurrent && priority != g->priority, ST_INVALID_CONFIG,
              "priority %u: contexts and graphs of a group that shares memory for one priority keep that, %u", priority,
              g->priority);
    return ST_OK;
}

/* ---- leaving ---------------------------------------------------------------------------------------------------------- */

/* With the context's session still held: it may be the last that does. */
static void leave_place(struct backend_context *c)
{
    struct place *p = c->group_place ? &c->group->places[c->group_place - 1] : NULL;
    if (p && --p->users == 0) {
        for (int i = 0; i < HTP_GROUP_BUFFERS; i++)
            htp_shared_free(p->session, &p->buffers[i]);
        p->session = NULL;
    }
    c->group_place = 0;
}

void htp_group_unplace(struct backend_context *c)
{
    if (!c->group)
        return;
    pthread_mutex_lock(&c->group->lock);
    leave_place(c);
    pthread_mutex_unlock(&c->group->lock);
}

static void unlist(const struct htp_group *gone)
{
    struct htp_group **at = &lists;
    while (*at && *at != gone)
        at = &(*at)->next;
    if (*at)
        *at = gone->next;
}

void htp_group_leave(struct backend_context *c)
{
    struct htp_group *g = c->group;
    if (!g)
        return;
    pthread_mutex_lock(&lists_lock);
    pthread_mutex_lock(&g->lock);
    leave_place(c);
    bool last = --g->contexts == 0;
    pthread_mutex_unlock(&g->lock);
    if (last)
        unlist(g);
    pthread_mutex_unlock(&lists_lock);
    c->group = NULL;
    if (!last)
        return;
    pthread_mutex_destroy(&g->lock);
    mem_free(g);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------ */

static uint64_t need_of(const struct binary_graph_info *i, enum htp_group_buffer buffer)
{
    const uint64_t needs[HTP_GROUP_BUFFERS] = { [HTP_GROUP_SPILL] = i->spill_fill_bytes,
                                                [HTP_GROUP_SCRATCH] = i->scratch_bytes,
                                                [HTP_GROUP_BACKUP] = i->vtcm_used,
                                                [HTP_GROUP_STAGING] = i->io_bytes };
    return needs[buffer];
}

static uint64_t largest(const struct binary *b, enum htp_group_buffer buffer)
{
    uint64_t most = 0;
    for (uint32_t i = 0; b && i < b->n_graphs; i++)
        raise_to(&most, need_of(&b->graphs[i].info, buffer));
    return most;
}

/* The place on a session, or one that is free. NULL: there is none. */
static struct place *find_place(struct htp_group *g, const struct htp_session *s)
{
    struct place *empty = NULL;
    for (uint32_t i = 0; i < g->n_places; i++) {
        if (g->places[i].session == s)
            return &g->places[i];
        if (!g->places[i].session && !empty)
            empty = &g->places[i];
    }
    return empty;
}

enum status htp_group_check(const struct backend_context *c, const struct binary_graph_info *i)
{
    struct htp_group *g = c->group;
    if (!g || g->list)
        return ST_OK;
    pthread_mutex_lock(&g->lock);
    uint64_t bytes = g->bytes[HTP_GROUP_SPILL];
    pthread_mutex_unlock(&g->lock);
    RETURN_IF(bytes && i->spill_fill_bytes > bytes, ST_NO_MEMORY,
              "graph \"%s\" spills %" PRIu64 " bytes; the buffer of its group of contexts has %" PRIu64
              ", the maxSpillFillBuffer of the first context",
              i->name, i->spill_fill_bytes, bytes);
    return ST_OK;
}

static uint64_t sum_of(const struct binary *b, enum htp_group_buffer buffer)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->n_graphs; i++)
        sum += need_of(&b->graphs[i].info, buffer);
    return sum;
}

static uint64_t buffer_need(struct htp_group *g, const struct htp_session *s, const struct binary *b,
                            enum htp_group_buffer buffer)
{
    const struct place *p = g && g->shared[buffer] ? find_place(g, s) : NULL;
    uint64_t most = largest(b, buffer);
    bool counts = buffer == HTP_GROUP_SPILL || buffer == HTP_GROUP_SCRATCH; /* where they are not shared */
    if (!p)
        return counts ? sum_of(b, buffer) : 0;
    if (!most || p->buffers[buffer].at)
        return 0;
    return g->bytes[buffer] ? g->bytes[buffer] : most;
}

uint64_t htp_group_need(const struct backend_context *c, const struct htp_session *s, const struct binary *b)
{
    struct htp_group *g = c->group;
    uint64_t need = 0;
    if (g)
        pthread_mutex_lock(&g->lock);
    for (int i = 0; i < HTP_GROUP_BUFFERS; i++)
        need += buffer_need(g, s, b, (enum htp_group_buffer)i);
    if (g)
        pthread_mutex_unlock(&g->lock);
    return need;
}

/* ---- buffers ---------------------------------------------------------------------------------------------------------- */

static enum status make_buffer(struct htp_group *g, struct place *p, const struct binary *b, enum htp_group_buffer buffer)
{
    static const char *const names[HTP_GROUP_BUFFERS] = { "spill-fill buffer", "scratch memory", "VTCM backup buffer",
                                                          "staging memory" };
    uint64_t bytes = g->bytes[buffer] ? g->bytes[buffer] : largest(b, buffer);
    TRY(htp_shared_alloc(p->session, bytes, NULL, &p->buffers[buffer]));
    g->bytes[buffer] = bytes;
    backend_log(BACKEND_INFO, "%u contexts share a %s of %" PRIu64 " bytes on session %u", g->contexts, names[buffer], bytes,
                p->session->index);
    return ST_OK;
}

static enum status get_buffer(struct htp_group *g, struct place *p, const struct binary *b, uint32_t graph,
                              enum htp_group_buffer buffer, struct rpc_pool *ret)
{
    uint64_t need = need_of(&b->graphs[graph].info, buffer);
    if (!g->shared[buffer] || !need)
        return ST_OK;
    if (!p->buffers[buffer].at)
        TRY(make_buffer(g, p, b, buffer));
    if (need <= p->buffers[buffer].bytes)
        ret->map = p->buffers[buffer].map;
    else
        backend_log(BACKEND_INFO,
                    "graph \"%s\" needs %" PRIu64 " bytes; the memory that its contexts share has %" PRIu64
                    ": it has memory of its own",
                    b->graphs[graph].info.name, need, p->buffers[buffer].bytes);
    return ST_OK;
}

static bool needs_any(const struct htp_group *g, const struct binary_graph_info *info)
{
    bool any = false;
    for (int i = 0; i < HTP_GROUP_POOLS; i++)
        any |= g->shared[i] && need_of(info, (enum htp_group_buffer)i);
    return any;
}

static void enter_place(struct backend_context *c, struct place *p, struct htp_session *s)
{
    p->session = s;
    p->users += !c->group_place;
    c->group_place = (uint32_t)(p - c->group->places) + 1;
}

static enum status get_buffers(struct backend_context *c, struct htp_session *s, const struct binary *b, uint32_t graph,
                               struct htp_group_pools *ret)
{
    struct htp_group *g = c->group;
    struct place *p = find_place(g, s);
    if (!p) {
        backend_log(BACKEND_INFO,
                    "graph \"%s\" is not on the session of its group of contexts; it spills to memory of its own",
                    b->graphs[graph].info.name);
        return ST_OK;
    }
    enter_place(c, p, s);
    for (int i = 0; i < HTP_GROUP_POOLS; i++)
        TRY(get_buffer(g, p, b, graph, (enum htp_group_buffer)i, &ret->pool[i]));
    return ST_OK;
}

enum status htp_group_get(struct backend_context *c, struct htp_session *s, const struct binary *b, uint32_t graph,
                          struct htp_group_pools *ret)
{
    struct htp_group *g = c->group;
    *ret = (struct htp_group_pools){ 0 };
    if (!g || !needs_any(g, &b->graphs[graph].info))
        return ST_OK;
    pthread_mutex_lock(&g->lock);
    enum status st = get_buffers(c, s, b, graph, ret);
    pthread_mutex_unlock(&g->lock);
    return st;
}

bool htp_group_has_backup(const struct backend_context *c)
{
    return c->group && c->group->shared[HTP_GROUP_BACKUP];
}

/* ---- staging memory --------------------------------------------------------------------------------------------------- */

bool htp_group_staging(struct backend_context *c, struct htp_session *s, uint64_t bytes, struct htp_shared *ret)
{
    struct htp_group *g = c->group;
    if (!g || !g->shared[HTP_GROUP_STAGING])
        return false;

    pthread_mutex_lock(&g->lock);
    const bool fits = bytes <= g->bytes[HTP_GROUP_STAGING];
    struct place *p = fits ? find_place(g, s) : NULL;
    if (p)
        enter_place(c, p, s);
    bool there = p && (p->buffers[HTP_GROUP_STAGING].at || make_buffer(g, p, NULL, HTP_GROUP_STAGING) == ST_OK);
    if (there)
        *ret = p->buffers[HTP_GROUP_STAGING];
    pthread_mutex_unlock(&g->lock);
    return there;
}

bool htp_group_begin(struct backend_context *c)
{
    return !atomic_exchange(&c->group->places[c->group_place - 1].staging_used, true);
}

void htp_group_end(struct backend_context *c)
{
    atomic_store(&c->group->places[c->group_place - 1].staging_used, false);
}

/* ---- what is told ----------------------------------------------------------------------------------------------------- */

static uint64_t bytes_here(const struct backend_context *c, enum htp_group_buffer buffer)
{
    return c->group_place ? c->group->places[c->group_place - 1].buffers[buffer].bytes : 0;
}

bool htp_group_property(struct backend_context *c, uint32_t property, uint64_t *ret)
{
    if (property < HTP_PROPERTY_SHARED_SPILL || property > HTP_PROPERTY_GROUP_CONTEXTS)
        return false;
    *ret = 0;
    if (!c->group)
        return true;
    pthread_mutex_lock(&c->group->lock);
    *ret = property == HTP_PROPERTY_GROUP_CONTEXTS
               ? c->group->contexts
               : bytes_here(c, (enum htp_group_buffer)(property - HTP_PROPERTY_SHARED_SPILL));
    pthread_mutex_unlock(&c->group->lock);
    return true;
}

void htp_group_events(struct backend_context *c, struct prof *prof, int32_t parent)
{
    static const char *const names[] = { "Spill-fill buffer shared by contexts", "Scratch memory shared by contexts",
                                         "VTCM backup buffer shared by contexts", "Staging memory shared by contexts",
                                         "Contexts that share" };
    for (uint32_t i = 0; c->group && i < HTP_GROUP_BUFFERS + 1; i++) {
        uint64_t value;
        htp_group_property(c, HTP_PROPERTY_SHARED_SPILL + i, &value);
        if (value)
            prof_add(prof, parent, HTP_EVENT_SHARED_SPILL + i, i < HTP_GROUP_BUFFERS ? PROF_UNIT_BYTES : PROF_UNIT_COUNT,
                     value, names[i]);
    }
}
