/* SPDX-License-Identifier: Apache-2.0 */
/* rpcmem.h: shared memory for clients, in libcdsprpc.so. Heap ids and flags choose between kinds of memory on a device; here
 * there is one kind, coherent and cached. Wrong pointers are ignored, as the calls have no way to say so. */
#include "rpcmem.h"

#include "rpc/rpc.h"

void rpcmem_init(void)
{
}

void rpcmem_deinit(void)
{
}

void *rpcmem_alloc2(int heapid, uint32_t flags, size_t size)
{
    void *p;
    (void)heapid, (void)flags;
    return rpc_alloc(size, &p) == ST_OK ? p : NULL;
}

void *rpcmem_alloc(int heapid, uint32_t flags, int size)
{
    return size > 0 ? rpcmem_alloc2(heapid, flags, (size_t)size) : NULL;
}

void *rpcmem_alloc_def(int size)
{
    return rpcmem_alloc(RPCMEM_DEFAULT_HEAP, RPCMEM_DEFAULT_FLAGS, size);
}

void rpcmem_free(void *po)
{
    if (po)
        rpc_free(po);
}

int rpcmem_to_fd(void *po)
{
    return rpc_fd(po);
}
