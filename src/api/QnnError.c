/* SPDX-License-Identifier: Apache-2.0 */
/* QnnError.h: what a code means, and why the last call that returned it failed. */
#include "QNN/QnnError.h"

#include <pthread.h>
#include <string.h>

#include "api/errors.h"
#include "api/log.h"
#include "base/forks.h"
#include "base/mem.h"
#include "base/str.h"

/* Verbose messages belong to the client until freed; they are listed, so that a wrong pointer is refused without being
 * looked at. */
struct verbose {
    struct verbose *next;
    char text[];
};
static struct verbose *messages;
static pthread_mutex_t messages_lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(messages_lock)

static struct verbose *unlist(const char *text)
{
    pthread_mutex_lock(&messages_lock);
    struct verbose **p = &messages, *found;
    while (*p && (*p)->text != text)
        p = &(*p)->next;
    found = *p;
    if (found)
        *p = found->next;
    pthread_mutex_unlock(&messages_lock);
    return found;
}

static void list(struct verbose *v)
{
    pthread_mutex_lock(&messages_lock);
    v->next = messages;
    messages = v;
    pthread_mutex_unlock(&messages_lock);
}

/* What the client did not free goes with the library. */
__attribute__((destructor)) static void free_messages(void)
{
    while (messages)
        mem_free(unlist(messages->text));
}

static const char *meaning_of(Qnn_ErrorHandle_t h)
{
    uint32_t code = (uint32_t)QNN_GET_ERROR_CODE(h);
    const struct qnn_error *row = qnn_error_find(code);
    return h == QNN_SUCCESS ? "success" : row ? row->meaning : NULL;
}

Qnn_ErrorHandle_t QnnError_getMessage(Qnn_ErrorHandle_t errorHandle, const char **errorMessage)
{
    log_enter_quiet(NULL);
    if (!errorMessage)
        return QNN_ERROR_INVALID_ARGUMENT;
    const char *text = meaning_of(errorHandle);
    if (!text)
        return QNN_ERROR_INVALID_ERROR_HANDLE;
    *errorMessage = text;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnError_getVerboseMessage(Qnn_ErrorHandle_t errorHandle, const char **errorMessage)
{
    log_enter_quiet(NULL);
    if (!errorMessage)
        return QNN_ERROR_INVALID_ARGUMENT;
    uint32_t code = (uint32_t)QNN_GET_ERROR_CODE(errorHandle);
    const struct qnn_error *row = qnn_error_find(code);
    const char *meaning = meaning_of(errorHandle), *why = errorHandle == QNN_SUCCESS ? NULL : error_last_text(code);
    if (!meaning)
        return QNN_ERROR_INVALID_ERROR_HANDLE;
    struct str s;
    str_init(&s);
    str_addf(&s, "%s (%u, 0x%x): %s", row ? row->name : "QNN_SUCCESS", code, code, why ? why : meaning);
    struct verbose *v = s.failed ? NULL : mem_alloc(sizeof *v + s.n + 1);
    if (v) {
        memcpy(v->text, s.at, s.n + 1);
        list(v);
        *errorMessage = v->text;
    }
    str_finish(&s);
    return v ? QNN_SUCCESS : QNN_COMMON_ERROR_MEM_ALLOC;
}

Qnn_ErrorHandle_t QnnError_freeVerboseMessage(const char *errorMessage)
{
    log_enter_quiet(NULL);
    if (!errorMessage)
        return QNN_ERROR_INVALID_ARGUMENT;
    struct verbose *v = unlist(errorMessage);
    if (!v)
        return QNN_ERROR_INVALID_ARGUMENT;
    mem_free(v);
    return QNN_SUCCESS;
}
