/* SPDX-License-Identifier: Apache-2.0 */
/* Registered memory. It is mapped in this process, and on the ARM target also in the session, so that tensors in it are
 * computed in place there too. What the session cannot map is copied like other buffers. */
#include <fcntl.h>
#include <unistd.h>

#include "backend/lpai/lpai_backend.h"
#include "base/mem.h"

/* With the context's lock. */
static void map_in_session(struct backend_context *c, struct lpai_registered *m)
{
    struct lpai_session *s = c->session;
    if (!s || s->lost || m->map)
        return;
    if (lpai_session_result(s, s->link->map(s->s, m->fd, m->offset, m->bytes, true, &m->map)) != ST_OK)
        m->map = 0;
}

static void remember(struct backend_context *c, struct lpai_registered what)
{
    what.fd = fcntl(what.fd, F_DUPFD_CLOEXEC, 0); /* the client may close its own, and a session may come later */
    struct lpai_registered *m = what.fd >= 0 ? mem_new(struct lpai_registered) : NULL;
    if (!m) {
        if (what.fd >= 0)
            close(what.fd);
        return;
    }
    *m = what;
    pthread_mutex_lock(&c->lock);
    m->next = c->registered;
    c->registered = m;
    map_in_session(c, m);
    pthread_mutex_unlock(&c->lock);
}

enum status lpai_mem_map(struct backend_context *c, int fd, uint64_t offset, uint64_t bytes, void **ret)
{
    TRY(backend_map_fd(c, fd, offset, bytes, ret));
    if (c->cfg.given && c->cfg.target == LPAI_ARM)
        remember(c, (struct lpai_registered){ .address = *ret, .bytes = bytes, .offset = offset, .fd = fd });
    return ST_OK;
}

void lpai_mem_unmap(struct backend_context *c, void *address, uint64_t bytes)
{
    pthread_mutex_lock(&c->lock);
    struct lpai_registered **at = &c->registered, *m;
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    if ((m = *at)) {
        *at = m->next;
        if (m->map)
            c->session->link->unmap(c->session->s, m->map); /* waits for runs; a dead session has nothing mapped */
        close(m->fd);
        mem_free(m);
    }
    pthread_mutex_unlock(&c->lock);
    backend_unmap_fd(c, address, bytes);
}

void lpai_mem_join(struct backend_context *c)
{
    pthread_mutex_lock(&c->lock);
    for (struct lpai_registered *m = c->registered; m; m = m->next)
        map_in_session(c, m);
    pthread_mutex_unlock(&c->lock);
}

bool lpai_mem_find(struct backend_context *c, const uint8_t *data, uint64_t bytes, struct rpc_io *io)
{
    pthread_mutex_lock(&c->lock);
    const struct lpai_registered *m = c->registered;
    while (m && !(m->map && data >= m->address && bytes <= m->bytes && (uint64_t)(data - m->address) <= m->bytes - bytes))
        m = m->next;
    if (m) {
        io->map = m->map;
        io->offset = (uint64_t)(data - m->address);
    }
    pthread_mutex_unlock(&c->lock);
    return m != NULL;
}
