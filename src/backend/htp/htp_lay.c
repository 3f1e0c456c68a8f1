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

enum status htp_lay_all(struct backend_context *c, struct htp_session *s, struct htp_binary *b)
{
    uint32_t n = b->binary->map == c->lays_in ? (uint32_t)c->lays.n : 0;

    for (; b->laid < n; b->laid++) {
        const struct backend_lay *lay = &c->lays.at[b->laid];
        struct rpc_mapping m = { .fd = lay->fd, .offset = lay->offset, .bytes = lay->bytes, .at = lay->at };
        m.over = b->bytes.map;
        m.cancel = c->signal;
        TRY(htp_session_result(s, s->link->map_with(s->s, &m)));
    }
    return ST_OK;
}

void htp_lay_finish(struct backend_context *c)
{
    for (size_t i = 0; i < c->lays.n; i++)
        close(c->lays.at[i].fd);
    vec_finish(&c->lays);
}
