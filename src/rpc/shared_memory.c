/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of shared allocations: pages of a memfd, or of a DMA heap, by address. Clients hand us any pointer, so every
 * lookup goes through the list, sorted by address; nothing is ever read behind a client's pointer. */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/forks.h"
#include "base/mem.h"
#include "base/vec.h"
#include "rpc/rpc.h"
#include "rpc/rpc_shared.h"

enum { RPC_PAGE = 4096 };

struct block {
    char *at;
    size_t size; /* as asked for; mapped up to the next page */
    int fd;
    uint64_t offset; /* of `at` in what is behind fd */
    size_t before;   /* bytes in front of `at` that are mapped, too: a mapping begins with a page */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(lock)
static VEC(struct block) blocks; /* sorted by address */

/* Index of the first block that ends behind `p`. */
static size_t find(const char *p)
{
    size_t lo = 0, hi = blocks.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (blocks.at[mid].at + blocks.at[mid].size <= p)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static enum status insert(struct block b)
{
    size_t i = find(b.at);
    RETURN_IF(!vec_push(&blocks), ST_NO_MEMORY, "no memory to remember a shared allocation");
    memmove(&blocks.at[i + 1], &blocks.at[i], (blocks.n - 1 - i) * sizeof b);
    blocks.at[i] = b;
    return ST_OK;
}

/* Memory of the kernel's DMA heap, as on a device; -1 where there is none, or none for us. */
static int dma_heap(size_t size)
{
    int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
    if (heap < 0)
        return -1;
    struct dma_heap_allocation_data d = { .len = size, .fd_flags = O_RDWR | O_CLOEXEC };
    bool made = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &d) == 0;
    close(heap);
    return made ? (int)d.fd : -1;
}

static void *map(int fd, size_t size)
{
    return fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static enum status map_new(size_t size, struct block *ret)
{
    int fd = dma_heap(size);
    void *p = map(fd, size);
    if (p == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        TRY(shared_create("rpcmem", size, &fd));
        p = map(fd, size);
    }
    if (p == MAP_FAILED) {
        int why = errno;
        close(fd);
        return status_fail(ST_NO_MEMORY, "a shared allocation of %zu bytes: %s", size, strerrordesc_np(why));
    }
    *ret = (struct block){ .at = p, .size = size, .fd = fd };
    return ST_OK;
}

static void unmap(const struct block *b)
{
    munmap(b->at - b->before, b->before + b->size);
    if (b->fd >= 0)
        close(b->fd);
}

static enum status keep(struct block b, void **ret)
{
    pthread_mutex_lock(&lock);
    enum status st = insert(b);
    pthread_mutex_unlock(&lock);
    if (st != ST_OK) {
        unmap(&b);
        return st;
    }
    *ret = b.at;
    return ST_OK;
}

enum status rpc_alloc(size_t size, void **ret)
{
    struct block b;
    RETURN_IF(!size || size > PTRDIFF_MAX, ST_INVALID_ARG, "a shared allocation of %zu bytes; 1 and more are allowed", size);
    TRY(map_new(size, &b));
    return keep(b, ret);
}

enum status rpc_map_file(int fd, uint64_t offset, size_t size, void **ret)
{
    uint64_t there;
    size_t before = offset % RPC_PAGE;
    TRY(shared_fd_bytes(fd, &there));
    RETURN_IF(!size || offset > there || size > there - offset, ST_MAPPING,
              "%zu bytes at offset %llu of a file that has %llu", size, (unsigned long long)offset,
              (unsigned long long)there);

    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    RETURN_IF(own < 0, ST_SYSTEM, "a file could not be kept open: %s", strerrordesc_np(errno));
    char *p = mmap(NULL, before + size, PROT_READ, MAP_SHARED, own, (off_t)(offset - before));
    if (p == MAP_FAILED) {
        int why = errno;
        close(own);
        return status_fail(ST_MAPPING, "%zu bytes of a file could not be mapped: %s", size, strerrordesc_np(why));
    }
    return keep((struct block){ .at = p + before, .size = size, .fd = own, .offset = offset, .before = before }, ret);
}

enum status rpc_free(void *address)
{
    struct block b = { 0 };
    pthread_mutex_lock(&lock);
    size_t i = find(address);
    if (i < blocks.n && blocks.at[i].at == address) {
        b = blocks.at[i];
        memmove(&blocks.at[i], &blocks.at[i + 1], (--blocks.n - i) * sizeof b);
    }
    if (!blocks.n)
        vec_finish(&blocks);
    pthread_mutex_unlock(&lock);
    RETURN_IF(!b.at, ST_NOT_FOUND, "%p is not the start of a shared allocation", address);
    unmap(&b);
    return ST_OK;
}

static struct block lookup(const void *address)
{
    struct block b = { .fd = -1 };
    pthread_mutex_lock(&lock);
    size_t i = find(address);
    if (i < blocks.n && blocks.at[i].at <= (const char *)address)
        b = blocks.at[i];
    pthread_mutex_unlock(&lock);
    return b;
}

int rpc_fd(const void *address)
{
    return lookup(address).fd;
}

size_t rpc_size(const void *address)
{
    return lookup(address).size;
}

uint64_t rpc_offset(const void *address)
{
    struct block b = lookup(address);

    return b.at ? b.offset + (uint64_t)((const char *)address - b.at) : 0;
}

void rpc_abandon(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    for (size_t i = 0; i < blocks.n; i++) {
        if (blocks.at[i].fd >= 0)
            close(blocks.at[i].fd);
        blocks.at[i].fd = -1;
    }
    pthread_mutex_unlock(&lock);
}

unsigned rpc_live(void)
{
    pthread_mutex_lock(&lock);
    size_t n = blocks.n;
    pthread_mutex_unlock(&lock);
    return (unsigned)n;
}
