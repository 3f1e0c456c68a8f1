/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a session sees: buffers of the client, known by the file behind the descriptor, and our own.
 *
 * A client that puts many tensors into one buffer registers it many times with different offsets, and often with several
 * contexts. The buffer is mapped into a session once, as a whole, and charged once. Descriptors of the client may be closed
 * as soon as it is registered. */
#include "backend/htp/htp_group.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* What is mapped for a request: the whole buffer where its size is known, so that other tensors in it find it. */
struct extent {
    uint64_t device, inode, offset, bytes;
};

/* Devices that do not tell their size (some DMA heaps) are believed. */
static enum status measure(const struct backend_mem_spec *s, struct extent *ret)
{
    struct stat st;
    RETURN_IF(fstat(s->fd, &st) != 0, ST_MAPPING, "file descriptor %d cannot be mapped: %s", s->fd, strerror(errno));
    RETURN_IF(S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode), ST_MAPPING,
              "file descriptor %d cannot be mapped: it is not memory or a file", s->fd);
    off_t end = st.st_size > 0 || S_ISREG(st.st_mode) ? st.st_size : lseek(s->fd, 0, SEEK_END);
    bool known = end > 0 || S_ISREG(st.st_mode);
    uint64_t size = known ? (uint64_t)end : s->total ? s->total : s->offset + s->bytes;
    RETURN_IF(s->total > size, ST_MAPPING, "file descriptor %d has %llu bytes; its descriptor says %llu", s->fd,
              (unsigned long long)size, (unsigned long long)s->total);
    RETURN_IF(s->offset > size || s->bytes > size - s->offset, ST_MAPPING,
              "file descriptor %d has %llu bytes; %llu bytes at offset %llu do not fit", s->fd, (unsigned long long)size,
              (unsigned long long)s->bytes, (unsigned long long)s->offset);
    *ret = (struct extent){
        .device = st.st_dev, .inode = st.st_ino, .offset = 0, .bytes = s->total ? s->total : s->offset + s->bytes
    };
    return ST_OK;
}

static struct htp_buffer *find(const struct htp_session *s, const struct extent *e)
{
    for (struct htp_buffer *b = s->buffers; b; b = b->next)
        if (b->device == e->device && b->inode == e->inode && b->bytes >= e->bytes)
            return b;
    return NULL;
}

static enum status map_new(struct htp_session *s, int fd, const struct extent *e, struct htp_buffer **ret)
{
    struct htp_buffer *b = mem_new(struct htp_buffer);
    RETURN_IF(!b, ST_NO_MEMORY, "no memory for a registration");
    *b = (struct htp_buffer){ .next = s->buffers, .session = s, .device = e->device, .inode = e->inode, .bytes = e->bytes };
    enum status st = htp_session_result(s, s->link->map(s->s, fd, 0, e->bytes, true, &b->map));
    if (st != ST_OK) {
        mem_free(b);
        return st == ST_NO_MEMORY ? status_prefix(ST_MAPPING, "file descriptor %d, session %u", fd, s->index) : st;
    }
    /* The client may close its descriptor. This takes addresses and no memory: mostly it is never looked at. */
    b->here = mmap(NULL, e->bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    s->buffers = b;
    *ret = b;
    return ST_OK;
}

static enum status buffer_get(struct htp_session *s, int fd, const struct extent *e, struct htp_buffer **ret)
{
    enum status st = ST_OK;
    pthread_mutex_lock(&s->lock);
    *ret = find(s, e);
    if (!*ret)
        st = map_new(s, fd, e, ret);
    if (st == ST_OK)
        (*ret)->users++;
    pthread_mutex_unlock(&s->lock);
    return st;
}

static void buffer_put(struct htp_buffer *b)
{
    struct htp_session *s = b->session;
    pthread_mutex_lock(&s->lock);
    if (--b->users == 0) {
        struct htp_buffer **at = &s->buffers;
        while (*at != b)
            at = &(*at)->next;
        *at = b->next;
        s->link->unmap(s->s, b->map); /* a dead session has nothing mapped */
        if (b->here != MAP_FAILED)
            munmap(b->here, b->bytes);
        mem_free(b);
    }
    pthread_mutex_unlock(&s->lock);
}

static enum status fits_anywhere(struct backend_context *c, struct htp_session *s, void *arg)
{
    (void)c, (void)s, (void)arg;
    return ST_OK;
}

static enum status check_use(const struct backend_context *c, const struct backend_mem_spec *s)
{
    uint64_t need = s->use == MEM_WEIGHTS       ? c->weights
                    : s->use == MEM_SPILL_FILL  ? c->spill_fill
                    : s->use == MEM_VTCM_BACKUP ? (uint64_t)c->vtcm_mb << 20
                                                : 0;
    static const char *const names[] = { "", "weights", "spill-fill", "VTCM backup" };
    RETURN_IF(s->bytes < need, ST_INVALID_ARG, "a %s buffer of %llu bytes; the context needs %llu (context properties)",
              names[s->use], (unsigned long long)s->bytes, (unsigned long long)need);
    RETURN_IF(s->use == MEM_SPILL_FILL && c->group, ST_INVALID_ARG,
              "a spill-fill buffer for a context whose group shares one already; only one of the two is possible");
    RETURN_IF(s->use == MEM_VTCM_BACKUP && c->group && htp_group_has_backup(c), ST_INVALID_ARG,
              "a VTCM backup buffer for a context whose group shares one already (CONCURRENT_OPTIMIZATION, "
              "REGISTER_CONCURRENT_RESOURCE_SHARING); only one of the two is possible");
    RETURN_IF(s->use != MEM_TENSOR && s->offset % HTP_BUFFER_ALIGN, ST_INVALID_ARG,
              "a %s buffer at offset %llu; a multiple of %d is needed", names[s->use], (unsigned long long)s->offset,
              HTP_BUFFER_ALIGN);
    return ST_OK;
}

static enum htp_pool pool_of(const struct backend_mem *m)
{
    return m->use == MEM_SPILL_FILL    ? HTP_SPILL
           : m->use == MEM_VTCM_BACKUP ? HTP_BACKUP
           : m->use == MEM_WEIGHTS     ? HTP_WEIGHTS
                                       : HTP_POOLS;
}

/* All graphs of the context use the newest buffer that was registered for a purpose; they run one after the other, so one is
 * enough. */
static enum status use_pool(struct backend_context *c, struct backend_mem *m)
{
    enum status st = ST_OK;
    enum htp_pool pool = pool_of(m);
    if (pool == HTP_POOLS)
        return ST_OK;
    pthread_mutex_lock(&c->lock);
    for (struct backend_graph *g = c->graphs; g && st == ST_OK; g = g->next)
        st = htp_graph_pool(g, pool, m);
    for (struct backend_graph *g = c->graphs; g && st != ST_OK; g = g->next) /* all of them, or none */
        htp_graph_pool(g, pool, c->pools[pool]);
    if (st == ST_OK)
        c->pools[pool] = m;
    pthread_mutex_unlock(&c->lock);
    return st;
}

static void leave_pool(struct backend_context *c, const struct backend_mem *m)
{
    enum htp_pool pool = pool_of(m);
    if (pool == HTP_POOLS)
        return;
    pthread_mutex_lock(&c->lock);
    bool used = c->pools[pool] == m;
    for (struct backend_graph *g = c->graphs; g && used; g = g->next)
        if (htp_graph_pool(g, pool, NULL) != ST_OK)
            backend_log(BACKEND_WARN, "graph \"%s\" has no memory of its own in place of a buffer that is gone: %s",
                        g->g->info.name, status_text());
    c->pools[pool] = used ? NULL : c->pools[pool];
    pthread_mutex_unlock(&c->lock);
}

enum status htp_mem_register(struct backend_context *c, const struct backend_mem_spec *spec, struct backend_mem **ret)
{
    struct extent e;
    TRY(check_use(c, spec));
    TRY(measure(spec, &e));
    TRY(htp_place(c, fits_anywhere, NULL));
    TRY(htp_session_check(c->session));
    struct backend_mem *m = mem_new(struct backend_mem);
    RETURN_IF(!m, ST_NO_MEMORY, "no memory for a registration");
    *m = (struct backend_mem){ .context = c, .offset = spec->offset, .bytes = spec->bytes, .use = spec->use };
    enum status st = buffer_get(c->session, spec->fd, &e, &m->buffer);
    if (st != ST_OK) {
        mem_free(m);
        return st;
    }
    if ((st = use_pool(c, m)) != ST_OK) {
        htp_mem_release(m);
        return st;
    }
    *ret = m;
    return ST_OK;
}

void htp_mem_release(struct backend_mem *m)
{
    leave_pool(m->context, m);
    buffer_put(m->buffer);
    mem_free(m);
}

void *htp_mem_address(const struct backend_mem *m)
{
    bool mapped = m->buffer->here != MAP_FAILED;

    return mapped ? (uint8_t *)m->buffer->here + m->offset : NULL;
}

/* ---- our own memory --------------------------------------------------------------------------------------------------- */

static enum status map_own(struct htp_session *s, bool writable, const struct cancel *signal, struct htp_shared *m)
{
    int fd = rpc_fd(m->at);
    RETURN_IF(fd < 0, ST_INTERNAL, "memory of a session has no descriptor");
    struct rpc_mapping to = {
        .fd = fd, .offset = rpc_offset(m->at), .bytes = m->bytes, .writable = writable, .cancel = signal
    };
    TRY(htp_session_result(s, s->link->map_with(s->s, &to)));
    m->map = to.map;
    return ST_OK;
}

enum status htp_shared_alloc(struct htp_session *s, uint64_t bytes, const struct cancel *signal, struct htp_shared *ret)
{
    struct htp_shared m = { .bytes = bytes };
    TRY(rpc_alloc(bytes, &m.at));
    enum status st = map_own(s, true, signal, &m);
    if (st != ST_OK) {
        rpc_free(m.at);
        return st;
    }
    *ret = m;
    return ST_OK;
}

enum status htp_shared_adopt(struct htp_session *s, const void *bytes, uint64_t size, const struct cancel *signal,
                             struct htp_shared *ret)
{
    struct htp_shared m = { .at = (void *)(uintptr_t)bytes, .bytes = size, .borrowed = rpc_fd(bytes) >= 0 };
    if (!m.borrowed) {
        TRY(rpc_alloc(size, &m.at));
        memcpy(m.at, bytes, size);
    }
    enum status st = map_own(s, false, signal, &m);
    if (st != ST_OK) {
        if (!m.borrowed)
            rpc_free(m.at);
        return st;
    }
    *ret = m;
    return ST_OK;
}

void htp_shared_free(struct htp_session *s, struct htp_shared *m)
{
    if (!m->at)
        return;
    s->link->unmap(s->s, m->map);
    if (!m->borrowed)
        rpc_free(m->at);
    *m = (struct htp_shared){ 0 };
}

enum status htp_bytes_alloc(uint64_t size, void **ret)
{
    return rpc_alloc(size, ret);
}

enum status htp_bytes_file(int fd, uint64_t offset, uint64_t size, void **ret)
{
    return rpc_map_file(fd, offset, size, ret);
}

void htp_bytes_free(void *bytes)
{
    if (bytes)
        rpc_free(bytes);
}
