/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of inputs and outputs: the program's own, the extension library's, or shared buffers of libcdsprpc.so, in which
 * every tensor is registered with the context when it is made, so that executions name it by a handle and copy nothing. A
 * backend that finds tensors by offset (HTP) has many of them in one allocation, and so in one descriptor and one mapping;
 * for others each tensor is an allocation.
 *
 *     slab   | x0 | x1 | x2 | y |        |    one descriptor, a handle per tensor; freed with the last of them */
#include <QNN/HTP/QnnHtpMem.h>

#include "base/mem.h"
#include "common/tool_log.h"
#include "session/session_private.h"

#define RPC_LIBRARY "libcdsprpc.so"
enum { IO_ALIGNMENT = 64, SLAB_ALIGNMENT = 128, SLAB_BYTES = 1 << 20 };

struct session_slab {
    struct session_slab *next;
    uint8_t *at;
    size_t bytes, used;
    uint32_t tensors;
    int fd;
};

/* ---- opening --------------------------------------------------------------------------------------------------------- */

/* Who asks for shared buffers, as it was written; NULL: nobody. */
static const char *asked_by(const struct session *s)
{
    if (s->opt.shared_buffer)
        return "--shared_buffer";
    if (s->config.memory.type || extension_shares_io(s))
        return "memory/mem_type \"shared_buffer\"";
    return NULL;
}

static enum status open_rpc(struct session *s)
{
    struct session_memory *m = &s->memory;
    const struct {
        const char *name;
        void **to;
    } functions[] = { { "rpcmem_alloc2", (void **)&m->alloc },
                      { "rpcmem_free", (void **)&m->free },
                      { "rpcmem_to_fd", (void **)&m->to_fd } };
    TRY(library_open_beside(RPC_LIBRARY, s->opt.backend, &m->library));
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        TRY(library_symbol(m->library, RPC_LIBRARY, functions[i].name, functions[i].to));
    return ST_OK;
}

enum status memory_open(struct session *s)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    const char *who = asked_by(s);
    if (!who || !s->opt.executes)
        return ST_OK;
    RETURN_IF(s->opt.direct_mode, ST_INVALID_ARG,
              "%s is for programs outside the DSP; with --direct_mode there is nobody to share with: leave one out", who);
    bool can = api->memRegister && api->memDeRegister && api->propertyHasCapability &&
               api->propertyHasCapability(QNN_PROPERTY_MEMORY_SUPPORT_MEM_TYPE_ION) == QNN_PROPERTY_SUPPORTED;
    RETURN_IF(!can, ST_NOT_SUPPORTED,
              "%s: backend \"%s\" does not take shared buffers (property MEMORY_SUPPORT_MEM_TYPE_ION); run without it", who,
              s->opt.backend);
    pthread_mutex_init(&s->memory.lock, NULL);
    enum status st = open_rpc(s);
    if (st != ST_OK)
        return status_prefix(st, "%s needs " RPC_LIBRARY ", which allocates the memory", who);
    s->memory.offsets = s->backend.id == QNN_BACKEND_ID_HTP &&
                        api->propertyHasCapability(QNN_PROPERTY_MEMORY_SUPPORT_MEM_TYPE_CUSTOM) == QNN_PROPERTY_SUPPORTED;
    tool_log(TOOL_INFO, "inputs and outputs are in shared buffers of " RPC_LIBRARY);
    return ST_OK;
}

void memory_close(struct session *s)
{
    if (s->memory.library)
        pthread_mutex_destroy(&s->memory.lock);
    library_close(s->memory.library);
    s->memory = (struct session_memory){ 0 };
}

/* ---- shared buffers -------------------------------------------------------------------------------------------------- */

/* At `offset` in the slab, NULL: the whole of what is behind the descriptor. */
static enum status register_buffer(struct session *s, Qnn_Tensor_t *t, int fd, const struct session_slab *slab,
                                   uint64_t offset)
{
    uint32_t one = 1; /* a scalar has no dimensions, a buffer has */
    Qnn_MemDescriptor_t d = { .memShape = { t->v1.rank, t->v1.dimensions, NULL },
                              .dataType = t->v1.dataType,
                              .memType = QNN_MEM_TYPE_ION,
                              .ionInfo = { fd } };
    QnnMemHtp_Descriptor_t part = { .type = QNN_HTP_MEM_SHARED_BUFFER, .size = slab ? slab->bytes : 0 };
    part.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ fd, offset };
    if (!t->v1.rank)
        d.memShape = (Qnn_MemShape_t){ 1, &one, NULL };
    if (slab) {
        d.memType = QNN_MEM_TYPE_CUSTOM;
        d.customInfo = &part;
    }
    t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    t->v1.memHandle = NULL;
    Qnn_ErrorHandle_t error = s->backend.api.memRegister(s->context, &d, 1, &t->v1.memHandle);
    return error == QNN_SUCCESS ? ST_OK : library_fail(&s->backend.api, error, "the shared buffer could not be registered");
}

static enum status alloc_rpc(struct session *s, size_t bytes, void **ret, int *ret_fd)
{
    *ret = s->memory.alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, bytes);
    RETURN_IF(!*ret, ST_NO_MEMORY, RPC_LIBRARY " has no shared memory of %zu bytes", bytes);
    *ret_fd = s->memory.to_fd(*ret);
    RETURN_IF(*ret_fd < 0, ST_STATE, RPC_LIBRARY " gives no file descriptor for its memory");
    return ST_OK;
}

static enum status new_slab(struct session *s, size_t bytes)
{
    void *at = NULL;
    struct session_slab *slab = mem_new(struct session_slab);
    RETURN_IF(!slab, ST_NO_MEMORY, "no memory for %zu bytes", bytes);
    slab->bytes = bytes > SLAB_BYTES ? bytes : SLAB_BYTES;
    enum status st = alloc_rpc(s, slab->bytes, &at, &slab->fd);
    if (st != ST_OK) {
        s->memory.free(at);
        mem_free(slab);
        return st;
    }
    slab->at = at;
    slab->next = s->memory.slabs;
    s->memory.slabs = slab;
    return ST_OK;
}

/* With the lock. Places are not used twice: all tensors come at the beginning and go at the end. */
static enum status alloc_part(struct session *s, size_t bytes, Qnn_Tensor_t *t, void **ret)
{
    struct session_slab *slab = s->memory.slabs;
    if (!slab || bytes > slab->bytes - slab->used)
        TRY(new_slab(s, bytes));
    slab = s->memory.slabs;
    size_t offset = slab->used, end = (offset + bytes + SLAB_ALIGNMENT - 1) / SLAB_ALIGNMENT * SLAB_ALIGNMENT;
    slab->used = end < slab->bytes ? end : slab->bytes;
    slab->tensors++;
    *ret = slab->at + offset;
    TRY(register_buffer(s, t, slab->fd, slab, offset));
    tool_log(TOOL_DEBUG, "tensor \"%s\": %zu bytes in shared memory, file descriptor %d, offset %zu", t->v1.name, bytes,
             slab->fd, offset);
    return ST_OK;
}

static void free_part(struct session *s, const uint8_t *part)
{
    struct session_slab **at = &s->memory.slabs;
    while (part < (*at)->at || part >= (*at)->at + (*at)->bytes)
        at = &(*at)->next;
    if (--(*at)->tensors)
        return;
    struct session_slab *gone = *at;
    *at = gone->next;
    s->memory.free(gone->at);
    mem_free(gone);
}

static enum status alloc_shared(struct session *s, size_t bytes, Qnn_Tensor_t *t, void **ret)
{
    int fd;
    if (s->memory.offsets) {
        pthread_mutex_lock(&s->memory.lock);
        enum status st = alloc_part(s, bytes, t, ret);
        pthread_mutex_unlock(&s->memory.lock);
        return st;
    }
    TRY(alloc_rpc(s, bytes, ret, &fd));
    TRY(register_buffer(s, t, fd, NULL, 0));
    tool_log(TOOL_DEBUG, "tensor \"%s\": %zu bytes in shared memory, file descriptor %d", t->v1.name, bytes, fd);
    return ST_OK;
}

static void free_shared(struct session *s, Qnn_Tensor_t *t, void *memory)
{
    Qnn_MemHandle_t handle = t->v1.memType == QNN_TENSORMEMTYPE_MEMHANDLE ? t->v1.memHandle : NULL;
    if (handle && s->backend.api.memDeRegister(&handle, 1) != QNN_SUCCESS)
        tool_log(TOOL_WARN, "the shared buffer of tensor \"%s\" could not be deregistered", t->v1.name);
    if (!s->memory.offsets) {
        s->memory.free(memory);
        return;
    }
    pthread_mutex_lock(&s->memory.lock);
    free_part(s, memory);
    pthread_mutex_unlock(&s->memory.lock);
}

/* ---- all kinds ------------------------------------------------------------------------------------------------------- */

enum status session_alloc(struct session *s, size_t bytes, Qnn_Tensor_t *t, void **ret)
{
    if (s->memory.library)
        return alloc_shared(s, bytes, t, ret);
    TRY(extension_io_memory(s, bytes, ret));
    if (!*ret)
        *ret = mem_alloc_aligned(IO_ALIGNMENT, bytes);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for %zu bytes", bytes);
    t->v1.memType = QNN_TENSORMEMTYPE_RAW;
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ *ret, (uint32_t)bytes };
    return ST_OK;
}

void session_free(struct session *s, Qnn_Tensor_t *t, void *memory)
{
    if (!memory)
        return;
    if (s->memory.library)
        free_shared(s, t, memory);
    else if (!extension_free_memory(s, memory))
        mem_free(memory);
}
