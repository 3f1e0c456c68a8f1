/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemContext.h: what a context binary says about itself. Every answer is one arena that lives until the handle is
 * freed, also when further questions are asked. */
#include "QNN/System/QnnSystemContext.h"

#include "api/binary_info.h"
#include "api/objects.h"

struct answer {
    struct answer *next;
    struct arena arena;
    QnnSystemContext_BinaryInfo_t *info;
};

struct system_context {
    pthread_mutex_t lock;
    struct answer *answers;
};

static void answer_free(struct answer *a)
{
    if (!a)
        return;
    arena_finish(&a->arena);
    mem_free(a);
}

static enum status describe(const void *data, uint64_t size, struct answer **ret)
{
    struct answer *a = mem_new(struct answer);
    RETURN_IF(!a, ST_NO_MEMORY, "no memory to describe a context binary");
    enum status st = binary_info_make(data, size, &a->arena, &a->info);
    if (st != ST_OK) {
        answer_free(a);
        return st;
    }
    *ret = a;
    return ST_OK;
}

/* Answer a question about a binary; the answer joins the others of the handle. */
static Qnn_ErrorHandle_t ask(struct system_context *c, const void *data, uint64_t size,
                             const QnnSystemContext_BinaryInfo_t **info, Qnn_ContextBinarySize_t *info_size)
{
    API_CHECK(data, COMP_SYSTEM, ST_INVALID_ARG, "binaryBuffer is NULL; give the bytes of a context binary");
    API_CHECK(size, COMP_SYSTEM, ST_INVALID_ARG, "binaryBufferSize is 0; give the size of the context binary");
    API_CHECK(info, COMP_SYSTEM, ST_INVALID_ARG, "binaryInfo is NULL; give a pointer that receives the description");
    struct answer *a;
    enum status st = describe(data, size, &a);
    if (st != ST_OK)
        return api_error(COMP_SYSTEM, st);
    LOCKED(&c->lock);
    a->next = c->answers;
    c->answers = a;
    *info = a->info;
    if (info_size)
        *info_size = a->arena.used;
    return QNN_SUCCESS;
}

/* ---- entry points ----------------------------------------------------------------------------------------------------- */

Qnn_ErrorHandle_t QnnSystemContext_create(QnnSystemContext_Handle_t *sysCtxHandle)
{
    log_enter(NULL);
    API_CHECK(sysCtxHandle, COMP_SYSTEM, ST_INVALID_ARG, "sysCtxHandle is NULL; give a pointer that receives the handle");
    struct system_context *c = mem_new(struct system_context);
    if (c)
        pthread_mutex_init(&c->lock, NULL);
    void *h = c ? handle_open(HANDLE_SYSTEM_CONTEXT, c) : NULL;
    if (!h) {
        mem_free(c);
        return api_fail(COMP_SYSTEM, ST_NO_MEMORY, "no memory for a system context");
    }
    *sysCtxHandle = h;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnSystemContext_getBinaryInfo(QnnSystemContext_Handle_t sysCtxHandle, void *binaryBuffer,
                                                 uint64_t binaryBufferSize, const QnnSystemContext_BinaryInfo_t **binaryInfo,
                                                 Qnn_ContextBinarySize_t *binaryInfoSize)
{
    API_OBJECT(struct system_context, c, sysCtxHandle, HANDLE_SYSTEM_CONTEXT, COMP_SYSTEM);
    log_enter(NULL);
    API_CHECK(binaryInfoSize, COMP_SYSTEM, ST_INVALID_ARG,
              "binaryInfoSize is NULL; give a pointer that receives the description's size");
    return ask(c, binaryBuffer, binaryBufferSize, binaryInfo, binaryInfoSize);
}

Qnn_ErrorHandle_t QnnSystemContext_getMetadata(QnnSystemContext_Handle_t sysCtxHandle, const void *binaryBuffer,
                                               Qnn_ContextBinarySize_t binaryBufferSize,
                                               const QnnSystemContext_BinaryInfo_t **binaryInfo)
{
    API_OBJECT(struct system_context, c, sysCtxHandle, HANDLE_SYSTEM_CONTEXT, COMP_SYSTEM);
    log_enter(NULL);
    return ask(c, binaryBuffer, binaryBufferSize, binaryInfo, NULL);
}

Qnn_ErrorHandle_t QnnSystemContext_free(QnnSystemContext_Handle_t sysCtxHandle)
{
    log_enter(NULL);
    struct system_context *c = handle_close(sysCtxHandle, HANDLE_SYSTEM_CONTEXT, 0);
    API_CHECK(c, COMP_SYSTEM, ST_INVALID_HANDLE, "the %s handle is %s", handle_type_name(HANDLE_SYSTEM_CONTEXT),
              handle_describe(sysCtxHandle, HANDLE_SYSTEM_CONTEXT));
    while (c->answers) {
        struct answer *a = c->answers;
        c->answers = a->next;
        answer_free(a);
    }
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
    return QNN_SUCCESS;
}
