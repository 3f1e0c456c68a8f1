/* SPDX-License-Identifier: Apache-2.0 */
/* QnnMem.h: client memory behind file descriptors, mapped once and used in place. */
#include "QNN/QnnMem.h"

#include <sys/stat.h>

#include "api/objects.h"
#include "api/translate.h"

static enum status read_shape(const Qnn_MemDescriptor_t *d, uint32_t at, struct tensor_desc *desc, uint64_t *ret)
{
    enum dtype t = dtype_from_client(d->dataType);
    RETURN_IF(t == DT_NONE || t == DT_STR, ST_INVALID_ARG, "descriptor %u has data type 0x%04x, which is not supported", at,
              (unsigned)d->dataType);
    RETURN_IF(!d->memShape.numDim || d->memShape.numDim > MAX_RANK || !d->memShape.dimSize, ST_SHAPE,
              "descriptor %u has %u dimensions%s; 1 to %d, and a list of them, are expected", at, d->memShape.numDim,
              d->memShape.dimSize ? "" : " and dimSize is NULL", MAX_RANK);
    RETURN_IF(d->memShape.shapeConfig && d->memShape.shapeConfig[0], ST_SHAPE,
              "descriptor %u has shapeConfig \"%s\"; only linear buffers are supported: give NULL", at,
              d->memShape.shapeConfig);
    uint64_t n = 1;
    for (uint32_t i = 0; i < d->memShape.numDim; i++) {
        RETURN_IF(!d->memShape.dimSize[i], ST_SHAPE, "descriptor %u: dimension %u is 0; every dimension is at least 1", at,
                  i);
        RETURN_IF(__builtin_mul_overflow(n, d->memShape.dimSize[i], &n) || n > (uint64_t)1 << 56, ST_SHAPE,
                  "descriptor %u: dimensions 0 to %u multiply to more than 2^56 elements; describe the buffer that the file "
                  "descriptor stands for",
                  at, i);
    }
    *desc = (struct tensor_desc){ .type = (uint8_t)t, .rank = (uint8_t)d->memShape.numDim };
    for (uint32_t i = 0; i < desc->rank; i++)
        desc->dims[i] = d->memShape.dimSize[i];
    *ret = dtype_bytes(t, n);
    return ST_OK;
}

static enum status descriptor_fd(const Qnn_MemDescriptor_t *d, uint32_t at, struct backend_mem_spec *s)
{
    if (d->memType == QNN_MEM_TYPE_CUSTOM && backend_this->mem_custom)
        return backend_this->mem_custom(d->customInfo, s);
    RETURN_IF(d->memType != QNN_MEM_TYPE_ION && d->memType != QNN_MEM_TYPE_DMA_BUF, ST_MEM_TYPE,
              "descriptor %u has memory type %u; 1 (ION) and 3 (DMA_BUF) are supported by the %s backend", at,
              (unsigned)d->memType, backend_this->name);
    s->fd = d->memType == QNN_MEM_TYPE_ION ? d->ionInfo.fd : d->dmaBufInfo.fd;
    RETURN_IF(s->fd < 0, ST_INVALID_ARG, "descriptor %u has file descriptor %d; that of an open buffer is expected", at,
              s->fd);
    return ST_OK;
}

/* Descriptors of files in memory may be copied, closed and their numbers used again: the file is what counts. Devices share
 * one number of a file among all their buffers, so their descriptors do. */
static void identify(const struct backend_mem_spec *s, struct api_mem *m)
{
    struct stat file;
    bool known = !s->object && fstat(s->fd, &file) == 0 && S_ISREG(file.st_mode);

    m->device = known ? file.st_dev : UINT64_MAX;
    m->inode = known ? file.st_ino : (uint64_t)s->fd;
}

static bool is_same(void *handle, const void *other)
{
    const struct api_mem *o = other;
    struct api_mem *m = handle_get(handle, HANDLE_MEM);
    bool same_file = m && m->device == o->device && m->inode == o->inode && m->object == o->object;
    bool same = same_file && m->offset == o->offset && m->use == o->use;
    if (m)
        handle_put(handle);
    return same;
}

static enum status describe(const Qnn_MemDescriptor_t *d, uint32_t at, struct backend_mem_spec *s, struct tensor_desc *desc)
{
    *s = (struct backend_mem_spec){ .use = MEM_TENSOR };
    TRY(descriptor_fd(d, at, s));
    if (s->use == MEM_TENSOR)
        TRY(read_shape(d, at, desc, &s->bytes));
    RETURN_IF(s->total && (s->offset > s->total || s->bytes > s->total - s->offset), ST_INVALID_ARG,
              "descriptor %u: %llu bytes at offset %llu do not fit into a buffer of %llu", at, (unsigned long long)s->bytes,
              (unsigned long long)s->offset, (unsigned long long)s->total);
    return ST_OK;
}

static enum status map(struct api_context *c, const struct backend_mem_spec *s, struct api_mem *m)
{
    return backend_this->mem_register ? backend_this->mem_register(c->state, s, &m->mem)
                                      : backend_this->mem_map(c->state, s->fd, s->offset, s->bytes, &m->address);
}

static void unmap(struct api_mem *m)
{
    if (m->mem)
        backend_this->mem_release(m->mem);
    if (m->address)
        backend_this->mem_unmap(m->owner->state, m->address, m->bytes);
}

enum status mem_add(struct api_context *c, const struct backend_mem_spec *s, const struct tensor_desc *desc, void **ret)
{
    struct api_mem same = { 0 };
    identify(s, &same);
    struct api_mem *m = mem_new(struct api_mem);
    RETURN_IF(!m, ST_NO_MEMORY, "no memory for a registration");
    *m = (struct api_mem){ .log = c->log,
                           .context = c->self,
                           .owner = c,
                           .fd = s->fd,
                           .device = same.device,
                           .inode = same.inode,
                           .desc = *desc,
                           .use = s->use,
                           .offset = s->offset,
                           .bytes = s->bytes,
                           .object = s->object };
    enum status st = map(c, s, m);
    if (st == ST_OK) {
        m->self = handle_open(HANDLE_MEM, m);
        st = m->self ? children_add(&c->mems, m->self) : status_fail(ST_NO_MEMORY, "no memory for a registration");
    }
    if (st != ST_OK) {
        if (m->self)
            handle_close(m->self, HANDLE_MEM, 0);
        unmap(m);
        mem_free(m);
        return st;
    }
    *ret = m->self;
    return ST_OK;
}

static enum status register_one(struct api_context *c, const Qnn_MemDescriptor_t *d, uint32_t at, void **ret)
{
    struct backend_mem_spec s;
    struct tensor_desc desc = { 0 };
    TRY(describe(d, at, &s, &desc));

    struct api_mem same = { .offset = s.offset, .object = s.object, .use = s.use };
    identify(&s, &same);
    bool known = children_any(&c->mems, is_same, &same);
    RETURN_IF(known && s.object, ST_EXISTS, "the buffer %p is registered with this context already; deregister it first",
              s.object);
    RETURN_IF(known, ST_EXISTS,
              "the memory of file descriptor %d, offset %llu, is registered with this context already; deregister it first",
              s.fd, (unsigned long long)s.offset);
    return mem_add(c, &s, &desc, ret);
}

bool mem_destroy(void *handle)
{
    struct api_mem *m = handle_close(handle, HANDLE_MEM, 0);
    if (!m)
        return false;
    unmap(m);
    mem_free(m);
    return true;
}

Qnn_ErrorHandle_t QnnMem_register(Qnn_ContextHandle_t context, const Qnn_MemDescriptor_t *memDescriptors,
                                  uint32_t numDescriptors, Qnn_MemHandle_t *memHandles)
{
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_MEM);
    log_enter(c->log);
    API_CHECK(memDescriptors && memHandles && numDescriptors, COMP_MEM, ST_INVALID_ARG,
              "memDescriptors or memHandles is NULL, or numDescriptors is 0; give at least one descriptor and room for its "
              "handle");
    API_CHECK(backend_this->mem_map || backend_this->mem_register, COMP_MEM, ST_NOT_SUPPORTED,
              "the %s backend does not register memory", backend_this->name);
    for (uint32_t i = 0; i < numDescriptors; i++)
        memHandles[i] = NULL;
    enum status alive = context_alive(c);
    if (alive != ST_OK)
        return api_error(COMP_MEM, alive);
    for (uint32_t i = 0; i < numDescriptors; i++) {
        enum status st = register_one(c, &memDescriptors[i], i, &memHandles[i]);
        if (st == ST_OK)
            continue;
        for (uint32_t k = 0; k < i; k++) { /* all or nothing */
            children_remove(&c->mems, memHandles[k]);
            mem_destroy(memHandles[k]);
            memHandles[k] = NULL;
        }
        return api_error(COMP_MEM, st);
    }
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t deregister_one(Qnn_MemHandle_t handle)
{
    void *context;
    {
        API_OBJECT(struct api_mem, m, handle, HANDLE_MEM, COMP_MEM);
        context = m->context;
    }
    API_OBJECT(struct api_context, c, context, HANDLE_CONTEXT, COMP_MEM);
    log_enter(c->log);
    children_remove(&c->mems, handle);
    API_CHECK(mem_destroy(handle), COMP_MEM, ST_INVALID_HANDLE, "the memory handle is %s",
              handle_describe(handle, HANDLE_MEM));
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnMem_deRegister(const Qnn_MemHandle_t *memHandles, uint32_t numHandles)
{
    log_enter(NULL);
    API_CHECK(memHandles && numHandles, COMP_MEM, ST_INVALID_ARG,
              "memHandles is NULL or numHandles is 0; give at least one handle");
    Qnn_ErrorHandle_t result = QNN_SUCCESS;
    for (uint32_t i = 0; i < numHandles; i++) { /* a bad handle does not keep the others */
        Qnn_ErrorHandle_t e = deregister_one(memHandles[i]);
        result = result == QNN_SUCCESS ? e : result;
    }
    return result;
}
