/* SPDX-License-Identifier: Apache-2.0 */
/* rpcmem.h: allocates memory that can be shared with a DSP session without copies.
 * Each allocation has a file descriptor, which QnnMem_register and the FastRPC functions take.
 * Freeing unmaps it; contexts that still use it must be done first. */
#ifndef OPENQNN_RPCMEM_H
#define OPENQNN_RPCMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what a library exports, as in QNN/QnnCommon.h. */
#ifndef QNN_API
#define QNN_API __attribute__((visibility("default")))
#endif

/* Flags of an allocation. */
#define RPCMEM_DEFAULT_FLAGS  1
#define RPCMEM_TRY_MAP_STATIC 0x04000000u
#define RPCMEM_FLAG_UNCACHED  0
#define RPCMEM_FLAG_CACHED    1

/* Heaps and heap flags. */
#define RPCMEM_DEFAULT_HEAP       (-1)
#define RPCMEM_HEAP_DEFAULT       0x80000000u
#define RPCMEM_HEAP_NOREG         0x40000000u
#define RPCMEM_HEAP_UNCACHED      0x20000000u
#define RPCMEM_HEAP_NOVA          0x10000000u
#define RPCMEM_HEAP_NONCOHERENT   0x08000000u
#define RPCMEM_FORCE_NOFLUSH      0x01000000u
#define RPCMEM_FORCE_NOINVALIDATE 0x02000000u
#define ION_SECURE_FLAGS          ((int)0x80080000)

/* Heaps; on this platform all give the same memory. */
enum rpc_heap_ids {
    RPCMEM_HEAP_ID_SECURE = 9,
    RPCMEM_HEAP_ID_CONTIG = 22,
    RPCMEM_HEAP_ID_SYSTEM = 25
};

/* Does nothing that the first allocation would not do; kept for older clients. */
QNN_API void rpcmem_init(void);

/* Counterpart of rpcmem_init. */
QNN_API void rpcmem_deinit(void);

/* Allocates size bytes, aligned to pages; null if there is no memory or size is not positive.
 * Release with rpcmem_free. */
QNN_API void *rpcmem_alloc(int heapid, uint32_t flags, int size);

/* As rpcmem_alloc, for 2 GiB and more. */
QNN_API void *rpcmem_alloc2(int heapid, uint32_t flags, size_t size);

/* rpcmem_alloc with the default heap and flags. */
QNN_API void *rpcmem_alloc_def(int size);

/* Releases an allocation; null is allowed. */
QNN_API void rpcmem_free(void *po);

/* File descriptor of an allocation, or -1. It belongs to the allocation. */
QNN_API int rpcmem_to_fd(void *po);

#ifdef __cplusplus
}
#endif

#endif
