/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of the client that hold constants (QnnContext_createFromBinaryWithCallback): they take the place of pages of the
 * binary, in this process at once, and in a session when it has the binary mapped and is about to load a graph. */
#include "backend/htp/htp_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum status htp_bytes_check(int fd, uint64_t offset, uint64_t bytes)
{
    off_t end = lseek(fd, 0, SEEK_END); /* DMA buffers tell their size this way, too */
    uint64_t there = end > 0 ? (uint64_t)end : 0;

    RETURN_IF(end < 0, ST_INVALID_ARG, "descriptor %d is no memory: %s; a DMA buffer is expected", fd,
              strerrordesc_np(errno));
    RETURN_IF(offset > there || bytes > there - offset, ST_INVALID_ARG,
              "descriptor %d has %llu bytes; %llu at offset %llu are needed", fd, (unsigned long long)there,
              (unsigned long long)bytes, (unsigned long long)offset);
    return ST_OK;
}

/* The client may close its descriptor, though it should not; the session gets ours. */
static enum status keep(struct backend_context *c, const struct backend_lay *lay)
{
    int fd = fcntl(lay->fd, F_DUPFD_CLOEXEC, 0);
    RETURN_IF(fd < 0, ST_SYSTEM, "descriptor %d could not be kept: %s", lay->fd, strerrordesc_np(errno));

    struct backend_lay *slot = vec_push(&c->lays);
    if (!slot) {
        close(fd);
        return status_fail(ST_NO_MEMORY, "no memory to remember a buffer");
    }
    *slot = *lay;
    slot->fd = fd;
    return ST_OK;
}

enum status htp_bytes_lay(struct backend_context *c, void *bytes, const struct backend_lay *lay)
{
    void *at = mmap((uint8_t *)bytes + lay->at, lay->bytes, PROT_READ, MAP_SHARED | MAP_FIXED, lay->fd, (off_t)lay->offset);
    RETURN_IF(at == MAP_FAILED, ST_MAPPING, "descriptor %d could not be mapped: %s; a DMA buffer is expected", lay->fd,
              strerrordesc_np(errno));

    pthread_mutex_lock(&c->lock);
    enum status st = keep(c, lay);
    c->lays_in = bytes;
    pthread_mutex_unlock(&c->lock);
    return st;
}

static enum status lay_one(struct backend_context *c, struct htp_session *s, const struct htp_binary *b,
                           const struct backend_lay *lay)
{
    uint64_t from = (uintptr_t)c->lays_in + lay->at - (uintptr_t)b->in; /* wraps where it lies in front */
    bool inside = b->in && from < b->in_bytes && lay->bytes <= b->in_bytes - from;
    if (!inside)
        return ST_OK;

    struct rpc_mapping m = {
        .fd = lay->fd, .offset = lay->offset, .bytes = lay->bytes, .over = b->bytes.map, .at = b->in_at + from
    };
    m.cancel = c->signal;
    return htp_session_result(s, s->link->map_with(s->s, &m));
}

enum status htp_lay_all(struct backend_context *c, struct htp_session *s, struct htp_binary *b)
{
    for (; b->laid < c->lays.n; b->laid++)
        TRY(lay_one(c, s, b, &c->lays.at[b->laid]));
    return ST_OK;
}

void htp_lay_finish(struct backend_context *c)
{
    for (size_t i = 0; i < c->lays.n; i++)
        close(c->lays.at[i].fd);
    vec_finish(&c->lays);
}
