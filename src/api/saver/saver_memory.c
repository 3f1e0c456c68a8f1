/* SPDX-License-Identifier: Apache-2.0 */
/* QnnMem.h, as it is recorded. A file descriptor means nothing in another process, so the program has buffers of its own:
 * one for each file that is registered, as large as it. What lies in the client's is recorded when an execution reads it.
 *
 *     client      fd 7, fd 9 (the same memory)      fd 12
 *     mems[]      1 at 0, 2 at 4096                 3 at 0
 *     program     shared(1)                         shared(2) */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "QNN/HTP/QnnHtpMem.h"
#include "QNN/LPAI/QnnLpaiCommon.h"
#include "QNN/LPAI/QnnLpaiMem.h"
#include "QNN/QnnMem.h"
#include "api/log.h"
#include "api/saver/saver.h"
#include "base/mem.h"

enum { DESCRIPTORS_MAX = 4096 };

void saver_memory_close(struct saver_memory *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}

/* Read, not mapped: a file that the client cuts meanwhile ends early instead of ending the process. */
void saver_memory_in(struct saver_call *c, const struct saver_memory *m)
{
    char *bytes = c->status == ST_OK ? mem_alloc(m->bytes) : NULL;
    if (!bytes) {
        saver_fail(c, ST_NO_MEMORY, "no memory for %llu bytes of registered memory", (unsigned long long)m->bytes);
        return;
    }
    uint64_t n = 0;
    for (ssize_t got = 1; n < m->bytes && got > 0; n += (uint64_t)(got > 0 ? got : 0))
        got = pread(m->fd, bytes + n, m->bytes - n, (off_t)(m->offset + n));
    if (n < m->bytes)
        saver_fail(c, ST_MAPPING, "registered memory has %llu of %llu bytes; keep the buffer as long as it is registered",
                   (unsigned long long)n, (unsigned long long)m->bytes);
    str_addf(&c->before, "    fill_shared(%u, %lluu, %lluu, ", m->buffer, (unsigned long long)m->size,
             (unsigned long long)m->offset);
    saver_write_blob(c, &c->before, bytes, n);
    str_addf(&c->before, ", %lluu);\n", (unsigned long long)n);
    mem_free(bytes);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------------ */

/* The client's file descriptor, where the memory begins, and its size where the descriptor has one. */
struct source {
    int fd;
    uint64_t offset, bytes;
};

static void from_htp(struct saver_call *c, const QnnMemHtp_Descriptor_t *d, struct source *s)
{
    if (d->type < QNN_HTP_MEM_SHARED_BUFFER || d->type > QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER) {
        saver_fail(c, ST_MEM_TYPE,
                   "custom memory of type %u cannot be recorded; 1 (SHARED_BUFFER) to 4 "
                   "(SHARED_VTCMBACKUP_BUFFER) can",
                   (unsigned)d->type);
        return;
    }
    s->fd = d->sharedBufferConfig.fd;
    s->offset = d->sharedBufferConfig.offset;
    if (d->type != QNN_HTP_MEM_SHARED_BUFFER)
        s->bytes = d->size;
}

static void from_custom(struct saver_call *c, const void *info, struct source *s)
{
    const struct saver_type *type = saver_custom(saver_settings()->backend, &saver_mem_descriptor, info);
    if ((uintptr_t)info < 4096) { /* a small number is a file descriptor in the wrong place */
        saver_fail(c, ST_INVALID_ARG, "custom memory: customInfo is %p; give the backend's descriptor", info);
    } else if (type == &saver_htp_memory) {
        from_htp(c, info, s);
    } else if (type == &saver_lpai_memory) {
        const QnnLpaiMem_MemInfoCustom_t *m = info;
        s->fd = m->fd;
        s->offset = m->offset;
    } else {
        saver_fail(c, ST_MEM_TYPE,
                   "custom memory of backend %u cannot be recorded; that of the HTP (%d) and LPAI (%d) can, when "
                   "QnnSaver_initialize is told with BACKEND_ID",
                   saver_settings()->backend, QNN_BACKEND_ID_HTP, QNN_BACKEND_ID_LPAI);
    }
}

static struct source source_of(struct saver_call *c, const Qnn_MemDescriptor_t *d, uint32_t at)
{
    struct source s = { .fd = -1 };
    switch (d->memType) {
    case QNN_MEM_TYPE_ION: s.fd = d->ionInfo.fd; break;
    case QNN_MEM_TYPE_DMA_BUF: s.fd = d->dmaBufInfo.fd; break;
    case QNN_MEM_TYPE_CUSTOM: from_custom(c, d->customInfo, &s); break;
    default:
        saver_fail(c, ST_MEM_TYPE, "descriptor %u has memory type %u; 1 (ION), 2 (CUSTOM) and 3 (DMA_BUF) can be recorded",
                   at, (unsigned)d->memType);
    }
    if (!s.bytes)
        s.bytes = saver_bytes_of(d->memShape.numDim, d->memShape.dimSize, d->dataType);
    if (!s.bytes || d->memShape.numDim > SAVER_RANK_MAX)
        saver_fail(c, ST_SHAPE, "descriptor %u has %u dimensions%s and data type 0x%04x; describe what is in the buffer", at,
                   d->memShape.numDim, d->memShape.dimSize ? "" : " at NULL", (unsigned)d->dataType);
    return s;
}

/* ---- buffers ---------------------------------------------------------------------------------------------------------- */

/* The number of the program's buffer for a file: that of memory which is registered, or a new one. */
static unsigned buffer_of(const struct saver_memory *m, const struct saver_memory *others, uint32_t n)
{
    const struct saver_object *o = saver_object_in_file(m);
    if (o)
        return o->memory.buffer;
    for (uint32_t i = 0; i < n; i++)
        if (others[i].device == m->device && others[i].file == m->file)
            return others[i].buffer;
    return ++saver_numbers.buffers;
}

/* Fills all[at]; those before it are of the same call. */
static void open_memory(struct saver_call *c, const Qnn_MemDescriptor_t *d, uint32_t at, struct saver_memory *all)
{
    struct saver_memory *m = &all[at];
    struct source s = source_of(c, d, at);
    struct stat st = { 0 };
    uint64_t end;
    m->fd = c->status == ST_OK ? fcntl(s.fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (m->fd < 0 || fstat(m->fd, &st) != 0) {
        saver_fail(c, ST_MAPPING, "descriptor %u: file descriptor %d: %s; give that of an open buffer", at, s.fd,
                   strerror(errno));
        return;
    }
    if (__builtin_add_overflow(s.offset, s.bytes, &end) || end > (uint64_t)st.st_size) {
        saver_fail(c, ST_MAPPING, "descriptor %u: %llu bytes at %llu of a buffer of %llu; describe no more than it has", at,
                   (unsigned long long)s.bytes, (unsigned long long)s.offset, (unsigned long long)st.st_size);
        return;
    }
    m->offset = s.offset;
    m->bytes = s.bytes;
    m->size = (uint64_t)st.st_size;
    m->device = (uint64_t)st.st_dev;
    m->file = (uint64_t)st.st_ino;
    m->buffer = buffer_of(m, all, at);
}

static void adopt(struct saver_call *c, struct saver_object *context, struct saver_memory *all, uint32_t n,
                  Qnn_MemHandle_t *handles)
{
    for (uint32_t i = 0; i < n; i++) {
        struct saver_object *o = saver_add(c, HANDLE_MEM, context, NULL);
        if (!o)
            return;
        if (i == 0)
            saver_arg(c, "&%s[%u]", saver_array(HANDLE_MEM), o->number);
        o->memory = all[i];
        all[i].fd = -1;
        handles[i] = o->handle;
    }
}

Qnn_ErrorHandle_t QnnMem_register(Qnn_ContextHandle_t context, const Qnn_MemDescriptor_t *memDescriptors,
                                  uint32_t numDescriptors, Qnn_MemHandle_t *memHandles)
{
    struct saver_call c;
    saver_begin(&c, "QnnMem_register", COMP_MEM);
    struct saver_object *o = saver_on(&c, HANDLE_CONTEXT, context);
    saver_need(&c, memDescriptors, "memDescriptors");
    saver_need(&c, memHandles, "memHandles");
    if (!numDescriptors || numDescriptors > DESCRIPTORS_MAX)
        saver_fail(&c, ST_INVALID_ARG, "numDescriptors is %u; 1 to %d are allowed", numDescriptors, DESCRIPTORS_MAX);
    uint32_t n = c.status == ST_OK ? numDescriptors : 0;
    struct saver_memory *all = mem_array(struct saver_memory, n + 1);
    if (!all)
        saver_fail(&c, ST_NO_MEMORY, "no memory for %u registrations", n);
    for (uint32_t i = 0; all && i < n; i++)
        all[i].fd = -1;
    for (uint32_t i = 0; i < n && c.status == ST_OK; i++)
        open_memory(&c, &memDescriptors[i], i, all);
    if (c.status == ST_OK) {
        c.memory = all;
        saver_array_arg(&c, &saver_mem_descriptor, memDescriptors, n);
        saver_arg(&c, "%uu", n);
        adopt(&c, o, all, n, memHandles);
    }
    Qnn_ErrorHandle_t e = saver_end(&c);
    for (uint32_t i = 0; all && i < n; i++) {
        saver_memory_close(&all[i]);
        if (e != QNN_SUCCESS)
            memHandles[i] = NULL;
    }
    mem_free(all);
    return e;
}

/* ---- the end of registrations ----------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t deregister_one(Qnn_MemHandle_t handle)
{
    struct saver_call c;
    saver_begin(&c, "QnnMem_deRegister", COMP_MEM);
    struct saver_object *o = saver_on(&c, HANDLE_MEM, handle);
    if (o) {
        struct saver_memory m = o->memory;
        o->memory.file = o->memory.device = 0;
        c.args.n = 0; /* it is told by its place */
        saver_arg(&c, "&%s[%u], 1u", saver_array(HANDLE_MEM), o->number);
        if (!saver_object_in_file(&m))
            str_addf(&c.after, "    drop_shared(%u);\n", m.buffer);
    }
    return saver_end_free(&c, o);
}

/* One at a time: a bad handle does not keep the others. */
Qnn_ErrorHandle_t QnnMem_deRegister(const Qnn_MemHandle_t *memHandles, uint32_t numHandles)
{
    log_enter(NULL);
    API_CHECK(memHandles && numHandles, COMP_MEM, ST_INVALID_ARG,
              "memHandles is NULL or numHandles is 0; give at least one handle");
    Qnn_ErrorHandle_t first = QNN_SUCCESS;
    for (uint32_t i = 0; i < numHandles; i++) {
        Qnn_ErrorHandle_t e = deregister_one(memHandles[i]);
        first = first == QNN_SUCCESS ? e : first;
    }
    return first;
}
