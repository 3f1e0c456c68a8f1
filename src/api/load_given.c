/* SPDX-License-Identifier: Apache-2.0 */
/* See load_given.h. A DMA buffer takes the place of the whole pages of its section, here and in the session. What is left of
 * the last page is copied, because other sections may lie behind it: less than 4 KiB of each section. */
#include "api/load_given.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "api/objects.h"
#include "base/vec.h"

enum { PAGE = 4096 };

/* What the client brought, as it gets it back. */
struct buffers {
    Qnn_ContextBinaryDmaBufferCallbackV1_t call;
    VEC(Qnn_ContextBinaryDmaDataMem_t) list;
    struct backend_context *context;
    struct load_image *image;
};

struct load_given {
    Qnn_ContextBinaryRawBufferCallbackV1_t raw;
    Qnn_ContextBinaryRawDataMem_t whole; /* memPtr NULL: not asked for */
    bool is_raw;
    struct buffers *dma;
    struct image_provider provider; /* provide NULL: taken over */
};

/* ---- raw memory ------------------------------------------------------------------------------------------------------- */

bool given_is_raw(const struct load_given *g)
{
    return g->is_raw;
}

enum status given_whole(struct load_given *g, uint64_t size, const void **ret)
{
    Qnn_ContextBinaryDataRequest_t request = { .offset = 0, .size = size };
    Qnn_ContextBinaryRawDataResponse_t got = { 0 };

    enum callback_kind former = callback_enter(CALLBACK_PINNED);
    Qnn_ErrorHandle_t e = g->raw.dataProvide(request, &got, g->raw.notifyParam);
    callback_leave(former);

    RETURN_IF(e != QNN_SUCCESS || !got.memPtr, ST_BAD_BINARY, "dataProvide returned %llu and %s for bytes 0 to %llu",
              (unsigned long long)e, got.memPtr ? "a buffer" : "no buffer", (unsigned long long)size);
    g->whole = (Qnn_ContextBinaryRawDataMem_t){ .memPtr = got.memPtr, .memSize = got.alignedSize };
    *ret = (const char *)got.memPtr + got.dataStartOffset;
    return ST_OK;
}

void given_release(struct load_given *g)
{
    char why[STATUS_TEXT_MAX];
    if (!g->whole.memPtr)
        return;

    strcpy(why, status_text()); /* of a failure that is on its way: the client may call something */
    enum callback_kind former = callback_enter(CALLBACK_PINNED);
    g->raw.dataRelease(g->whole, g->raw.notifyParam);
    callback_leave(former);
    g->whole.memPtr = NULL;
    status_fail(ST_INTERNAL, "%s", why);
}

/* ---- DMA buffers ------------------------------------------------------------------------------------------------------ */

static enum status ask(struct buffers *b, const struct binary_section *s, Qnn_ContextBinaryDmaDataResponse_t *got)
{
    Qnn_ContextBinaryDataRequest_t request = { .offset = s->offset, .size = s->bytes, .isBackendMappingNeeded = 1 };
    Qnn_ContextBinaryDmaDataMem_t *slot = vec_push(&b->list);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory to remember a buffer");

    *got = (Qnn_ContextBinaryDmaDataResponse_t){ .dmaBuffer = { .fd = -1 } };
    enum callback_kind former = callback_enter(CALLBACK_PINNED);
    Qnn_ErrorHandle_t e = b->call.dataProvide(request, got, b->call.notifyParam);
    callback_leave(former);

    bool none = e != QNN_SUCCESS || got->dmaBuffer.fd < 0;
    *slot = (Qnn_ContextBinaryDmaDataMem_t){ .dmaBuffer = got->dmaBuffer, .memSize = got->alignedSize };
    b->list.n -= none; /* there is nothing to give back */
    RETURN_IF(none, ST_BAD_BINARY, "dataProvide returned %llu and descriptor %d for %llu bytes at offset %llu",
              (unsigned long long)e, got->dmaBuffer.fd, (unsigned long long)s->bytes, (unsigned long long)s->offset);
    return ST_OK;
}

static enum status check(const struct buffers *b, const struct binary_section *s,
                         const Qnn_ContextBinaryDmaDataResponse_t *got)
{
    for (size_t i = 0; i + 1 < b->list.n; i++)
        RETURN_IF(b->list.at[i].dmaBuffer.fd == got->dmaBuffer.fd, ST_INVALID_ARG,
                  "dataProvide gave descriptor %d twice; each part needs a buffer of its own", got->dmaBuffer.fd);
    RETURN_IF(got->dataStartOffset % PAGE, ST_INVALID_ARG,
              "dataProvide put the bytes at offset %llu of its buffer; a multiple of %d can be mapped, 0 is best",
              (unsigned long long)got->dataStartOffset, PAGE);
    RETURN_IF(got->alignedSize < s->bytes, ST_INVALID_ARG, "dataProvide gave a buffer of %llu bytes; %llu were asked for",
              (unsigned long long)got->alignedSize, (unsigned long long)s->bytes);
    return ST_OK;
}

static enum status copy_end(struct buffers *b, const struct binary_section *s, const Qnn_ContextBinaryDmaDataResponse_t *got,
                            uint64_t whole)
{
    uint64_t from = got->dataStartOffset + whole;
    if (whole == s->bytes)
        return ST_OK;

    void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, got->dmaBuffer.fd, (off_t)from);
    RETURN_IF(page == MAP_FAILED, ST_MAPPING, "descriptor %d of dataProvide cannot be mapped: %s", got->dmaBuffer.fd,
              strerrordesc_np(errno));
    memcpy(b->image->at + s->offset + whole, page, s->bytes - whole);
    munmap(page, PAGE);
    return ST_OK;
}

static enum status provide(void *arg, struct load_image *im, const struct binary_section *s)
{
    struct buffers *b = arg;
    Qnn_ContextBinaryDmaDataResponse_t got;
    struct backend_lay lay = { .at = s->offset, .bytes = s->bytes / PAGE * PAGE };

    b->image = im;
    TRY(ask(b, s, &got));
    TRY(check(b, s, &got));
    lay.fd = got.dmaBuffer.fd;
    lay.offset = got.dataStartOffset;
    TRY(backend_this->bytes_check(lay.fd, lay.offset, s->bytes));
    if (lay.bytes)
        TRY(backend_this->bytes_lay(b->context, im->at, &lay));
    return copy_end(b, s, &got, lay.bytes);
}

static void finish(void *arg)
{
    struct buffers *b = arg;
    char why[STATUS_TEXT_MAX];

    strcpy(why, status_text());
    for (size_t i = 0; i < b->list.n; i++) {
        enum callback_kind former = callback_enter(CALLBACK_PINNED);
        b->call.dataRelease(b->list.at[i], b->call.notifyParam);
        callback_leave(former);
    }
    status_fail(ST_INTERNAL, "%s", why);
    vec_finish(&b->list);
    mem_free(b);
}

struct image_provider *given_provider(struct load_given *g, struct backend_context *c)
{
    g->dma->context = c;
    return &g->provider;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static enum status take_raw(const Qnn_ContextBinaryRawBufferCallback_t *c, struct load_given *g)
{
    RETURN_IF(c->version != QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1, ST_NOT_SUPPORTED,
              "raw-buffer callbacks have version %u; 1 is supported", (unsigned)c->version);
    RETURN_IF(!c->v1.dataProvide || !c->v1.dataRelease, ST_INVALID_ARG,
              "the raw-buffer callbacks are not both given; dataProvide and dataRelease are needed");
    g->raw = c->v1;
    g->is_raw = true;
    return ST_OK;
}

static enum status take_dma(const Qnn_ContextBinaryDmaBufferCallback_t *c, struct load_given *g)
{
    RETURN_IF(c->version != QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1, ST_NOT_SUPPORTED,
              "DMA-buffer callbacks have version %u; 1 is supported", (unsigned)c->version);
    RETURN_IF(!c->v1.dataProvide || !c->v1.dataRelease, ST_INVALID_ARG,
              "the DMA-buffer callbacks are not both given; dataProvide and dataRelease are needed");
    RETURN_IF(!backend_this->bytes_lay, ST_NOT_SUPPORTED,
              "the %s backend computes in ordinary memory, not in DMA buffers; give raw-buffer callbacks, or the binary "
              "to QnnContext_createFromBinary",
              backend_this->name);

    g->dma = mem_new(struct buffers);
    RETURN_IF(!g->dma, ST_NO_MEMORY, "no memory for callbacks");
    g->dma->call = c->v1;
    g->provider = (struct image_provider){ .provide = provide, .finish = finish, .arg = g->dma };
    return ST_OK;
}

static enum status take(const Qnn_ContextBinaryCallback_t *c, struct load_given *g)
{
    if (c->type == QNN_CONTEXT_CALLBACK_RAW_BUFFER)
        return take_raw(&c->rawBufferCallback, g);
    if (c->type == QNN_CONTEXT_CALLBACK_DMA_BUFFER)
        return take_dma(&c->dmaBufferCallback, g);
    return status_fail(ST_NOT_SUPPORTED, "callback type %u is unknown; 1 (raw buffers) and 2 (DMA buffers) are known",
                       (unsigned)c->type);
}

enum status given_new(const Qnn_ContextBinaryCallback_t *callback, struct load_given **ret)
{
    struct load_given *g = mem_new(struct load_given);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory for callbacks");

    enum status st = take(callback, g);
    if (st != ST_OK) {
        given_free(g);
        return st;
    }
    *ret = g;
    return ST_OK;
}

void given_free(struct load_given *g)
{
    if (!g)
        return;
    given_release(g);
    if (g->provider.finish)
        g->provider.finish(g->provider.arg);
    mem_free(g);
}
