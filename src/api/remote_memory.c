/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h, the part about memory. Sessions of the backends map what QnnMem_register names; what clients tell here is only
 * checked and remembered. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "api/remote_codes.h"
#include "base/vec.h"
#include "remote.h"

/* What clients told us about their memory. */
struct told {
    int domain, fd;
    void *at;
    size_t size;
    bool ours; /* an address that remote_register_fd reserved */
};
static VEC(struct told) memory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct told *find(int domain, int fd, const void *at)
{
    for (size_t i = 0; i < memory.n; i++)
        if (memory.at[i].domain == domain && (fd < 0 || memory.at[i].fd == fd) && memory.at[i].at == at)
            return &memory.at[i];
    return NULL;
}

static int remember(struct told t)
{
    pthread_mutex_lock(&lock);
    struct told *slot = vec_push(&memory);
    if (slot)
        *slot = t;
    pthread_mutex_unlock(&lock);
    return slot ? SUCCESS : NO_MEMORY;
}

static int forget(int domain, int fd, const void *at)
{
    struct told gone = { .ours = false };
    pthread_mutex_lock(&lock);
    struct told *t = find(domain, fd, at);
    if (t) {
        gone = *t;
        *t = memory.at[--memory.n];
        if (!memory.n)
            vec_finish(&memory);
    }
    pthread_mutex_unlock(&lock);
    if (gone.ours)
        munmap(gone.at, gone.size);
    return t ? SUCCESS : BAD_PARAMETER;
}

static bool is_open(int fd)
{
    return fd >= 0 && fcntl(fd, F_GETFD) >= 0;
}

int fastrpc_mmap(int domain, int fd, void *addr, int offset, size_t length, enum fastrpc_map_flags flags)
{
    bool known = flags == FASTRPC_MAP_STATIC || flags == FASTRPC_MAP_FD || flags == FASTRPC_MAP_FD_DELAYED ||
                 flags == FASTRPC_MAP_FD_NOMAP;
    if (!known)
        return UNSUPPORTED;
    if (!remote_domain_allowed(domain) || !is_open(fd) || offset < 0 || !length)
        return BAD_PARAMETER;
    return remember((struct told){ domain, fd, addr, length, false });
}

int fastrpc_munmap(int domain, int fd, void *addr, size_t length)
{
    (void)length;
    return fd < 0 ? BAD_PARAMETER : forget(domain, fd, addr);
}

void remote_register_buf_attr2(void *buf, size_t size, int fd, int attr)
{
    (void)attr;
    if (!buf)
        return;
    if (fd == -1)
        forget(-2, -1, buf); /* a domain that nobody has */
    else if (is_open(fd) && size)
        remember((struct told){ -2, fd, buf, size, false });
}

void remote_register_buf_attr(void *buf, int size, int fd, int attr)
{
    if (size > 0 || fd == -1)
        remote_register_buf_attr2(buf, size > 0 ? (size_t)size : 0, fd, attr);
}

void remote_register_buf(void *buf, int size, int fd)
{
    remote_register_buf_attr(buf, size, fd, FASTRPC_ATTR_NONE);
}

int remote_register_dma_handle_attr(int fd, uint32_t len, uint32_t attr)
{
    (void)attr;
    if (!len)
        return fd < 0 ? BAD_PARAMETER : forget(-3, fd, NULL);
    return is_open(fd) ? remember((struct told){ -3, fd, NULL, len, false }) : BAD_PARAMETER;
}

int remote_register_dma_handle(int fd, uint32_t len)
{
    return remote_register_dma_handle_attr(fd, len, FASTRPC_ATTR_NONE);
}

void *remote_register_fd2(int fd, size_t size)
{
    void *at =
        /* cppcheck-suppress invalidFunctionArg ; memory without a file has no descriptor */
        is_open(fd) && size ? mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    if (at != MAP_FAILED && remember((struct told){ -2, fd, at, size, true }) != SUCCESS) {
        munmap(at, size);
        at = MAP_FAILED;
    }
    return at == MAP_FAILED ? (void *)-1 : at;
}

void *remote_register_fd(int fd, int size)
{
    return size > 0 ? remote_register_fd2(fd, (size_t)size) : (void *)-1;
}
