/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of inputs and outputs: the program's own, the extension library's, or shared buffers. A shared buffer is an allocation of libcdsprpc.so per
 * tensor, registered with the context when it is made, so that executions name it by a handle and copy nothing. */
#include "base/mem.h"
#include "common/tool_log.h"
#include "session/session_private.h"

#define RPC_LIBRARY "libcdsprpc.so"
enum { IO_ALIGNMENT = 64 };

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
    } functions[] = { { "rpcmem_alloc2", (void **)&m->alloc }, { "rpcmem_free", (void **)&m->free }, { "rpcmem_to_fd", (void **)&m->to_fd } };
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
    RETURN_IF(s->opt.direct_mode, ST_INVALID_ARG, "%s is for programs outside the DSP; with --direct_mode there is nobody to share with: leave one out", who);
    bool can = api->memRegister && api->memDeRegister && api->propertyHasCapability &&
               api->propertyHasCapability(QNN_PROPERTY_MEMORY_SUPPORT_MEM_TYPE_ION) == QNN_PROPERTY_SUPPORTED;
    RETURN_IF(!can, ST_NOT_SUPPORTED, "%s: backend \"%s\" does not take shared buffers (property MEMORY_SUPPORT_MEM_TYPE_ION); run without it", who,
              s->opt.backend);
    enum status st = open_rpc(s);
    if (st != ST_OK)
        return status_prefix(st, "%s needs " RPC_LIBRARY ", which allocates the memory", who);
    tool_log(TOOL_INFO, "inputs and outputs are in shared buffers of " RPC_LIBRARY);
    return ST_OK;
}

void memory_close(struct session *s)
{
    library_close(s->memory.library);
    s->memory = (struct session_memory){ 0 };
}

/* ---- shared buffers -------------------------------------------------------------------------------------------------- */

static enum status register_buffer(struct session *s, Qnn_Tensor_t *t, int fd)
{
    uint32_t one = 1; /* a scalar has no dimensions, a buffer has */
    Qnn_MemDescriptor_t d = { .memShape = { t->v1.rank, t->v1.dimensions, NULL }, .dataType = t->v1.dataType, .memType = QNN_MEM_TYPE_ION, .ionInfo = { fd } };
    if (!t->v1.rank)
        d.memShape = (Qnn_MemShape_t){ 1, &one, NULL };
    t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    t->v1.memHandle = NULL;
    Qnn_ErrorHandle_t error = s->backend.api.memRegister(s->context, &d, 1, &t->v1.memHandle);
    return error == QNN_SUCCESS ? ST_OK : library_fail(&s->backend.api, error, "the shared buffer could not be registered");
}

static enum status alloc_shared(struct session *s, size_t bytes, Qnn_Tensor_t *t, void **ret)
{
    *ret = s->memory.alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, bytes);
    RETURN_IF(!*ret, ST_NO_MEMORY, RPC_LIBRARY " has no shared memory of %zu bytes", bytes);
    int fd = s->memory.to_fd(*ret);
    RETURN_IF(fd < 0, ST_STATE, RPC_LIBRARY " gives no file descriptor for its memory");
    TRY(register_buffer(s, t, fd));
    tool_log(TOOL_DEBUG, "tensor \"%s\": %zu bytes in shared memory, file descriptor %d", t->v1.name, bytes, fd);
    return ST_OK;
}

static void free_shared(struct session *s, Qnn_Tensor_t *t, void *memory)
{
    Qnn_MemHandle_t handle = t->v1.memType == QNN_TENSORMEMTYPE_MEMHANDLE ? t->v1.memHandle : NULL;
    if (handle && s->backend.api.memDeRegister(&handle, 1) != QNN_SUCCESS)
        tool_log(TOOL_WARN, "the shared buffer of tensor \"%s\" could not be deregistered", t->v1.name);
    s->memory.free(memory);
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
