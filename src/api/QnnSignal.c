/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSignal.h: abort or time-limit one call at a time. The call looks at signal->cancel between commands. */
#include "QNN/QnnSignal.h"

#include "api/objects.h"
#include "base/clock.h"

static enum status set_option(struct api_signal *s, const QnnSignal_Config_t *c)
{
    switch (c->option) {
    case QNN_SIGNAL_CONFIG_OPTION_ABORT:
        s->kind = SIGNAL_ABORT;
        return ST_OK;
    case QNN_SIGNAL_CONFIG_OPTION_TIMEOUT:
        s->kind = SIGNAL_TIMEOUT;
        s->timeout_us = c->timeoutDurationUs;
        return ST_OK;
    case QNN_SIGNAL_CONFIG_OPTION_CUSTOM:
        return status_fail(ST_NOT_SUPPORTED,
                           "the %s backend has no custom signal options; ABORT (1) and TIMEOUT (2) are known",
                           backend_this->name);
    default:
        return status_fail(ST_INVALID_CONFIG, "signal option %u is unknown; 1 (abort) and 2 (timeout) are supported",
                           (unsigned)c->option);
    }
}

static enum status set_options(struct api_signal *s, const QnnSignal_Config_t **config)
{
    for (; config && *config; config++)
        TRY(set_option(s, *config));
    return ST_OK;
}

static void signal_free_parts(struct api_signal *s)
{
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->idle);
    mem_free(s);
}

static enum status signal_create(struct api_backend *b, const QnnSignal_Config_t **config, void **ret)
{
    struct api_signal *s = mem_new(struct api_signal);
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for a signal");
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->idle, NULL);
    s->log = b->log;
    s->backend = b->self;
    enum status st = set_options(s, config);
    if (st == ST_OK) {
        s->self = handle_open(HANDLE_SIGNAL, s);
        st = s->self ? children_add(&b->signals, s->self) : status_fail(ST_NO_MEMORY, "no memory for a signal");
    }
    if (st != ST_OK) {
        if (s->self)
            handle_close(s->self, HANDLE_SIGNAL, 0);
        signal_free_parts(s);
        return st;
    }
    *ret = s->self;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnSignal_create(Qnn_BackendHandle_t backend, const QnnSignal_Config_t **config,
                                   Qnn_SignalHandle_t *signal)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_SIGNAL);
    log_enter(b->log);
    API_CHECK(signal, COMP_SIGNAL, ST_INVALID_ARG, "signal is NULL; give a pointer that receives the handle");
    return api_error(COMP_SIGNAL, signal_create(b, config, signal));
}

Qnn_ErrorHandle_t QnnSignal_setConfig(Qnn_SignalHandle_t signal, const QnnSignal_Config_t **config)
{
    API_OBJECT(struct api_signal, s, signal, HANDLE_SIGNAL, COMP_SIGNAL);
    log_enter(s->log);
    LOCKED(&s->lock);
    API_CHECK(!s->in_use, COMP_SIGNAL, ST_IN_USE,
              "the signal is attached to a running call; wait until that call has returned");
    return api_error(COMP_SIGNAL, set_options(s, config));
}

Qnn_ErrorHandle_t QnnSignal_trigger(Qnn_SignalHandle_t signal)
{
    API_OBJECT(struct api_signal, s, signal, HANDLE_SIGNAL, COMP_SIGNAL);
    log_enter(s->log);
    LOCKED(&s->lock);
    API_CHECK(s->kind == SIGNAL_ABORT, COMP_SIGNAL, ST_SIGNAL_TYPE,
              "a timeout signal cannot be triggered; create an abort signal");
    API_CHECK(s->in_use, COMP_SIGNAL, ST_IDLE, "the signal is not attached to a running call; there is nothing to abort");
    atomic_store(&s->cancel.abort, 1);
    sched_cancel(&s->cancel);
    if (s->queue)
        queue_look(s->queue);
    uint64_t use = s->uses;
    bool wait = in_callback() == CALLBACK_NONE; /* the call may wait for the callback to return */
    while (wait && s->in_use && s->uses == use) /* until the call has let go; the next one may have begun */
        pthread_cond_wait(&s->idle, &s->lock);
    return QNN_SUCCESS;
}

enum status signal_begin(void *handle, struct run_queue *queue, struct api_signal **ret)
{
    *ret = NULL;
    if (!handle)
        return ST_OK;
    struct api_signal *s = handle_get(handle, HANDLE_SIGNAL);
    RETURN_IF(!s, ST_INVALID_ARG, "the signal handle is %s", handle_describe(handle, HANDLE_SIGNAL));
    pthread_mutex_lock(&s->lock);
    bool closing = s->closing;
    bool busy = s->in_use;
    if (!busy && !closing) {
        s->in_use = true;
        s->uses++;
        s->queue = queue;
        atomic_store(&s->cancel.abort, 0);
        s->cancel.deadline_ns = s->kind == SIGNAL_TIMEOUT ? clock_ns() + s->timeout_us * 1000 : 0;
    }
    pthread_mutex_unlock(&s->lock);
    if (closing) {
        handle_put(handle);
        return status_fail(ST_INVALID_ARG, "the signal handle is being freed");
    }
    if (busy) {
        handle_put(handle);
        return status_fail(ST_SIGNAL_IN_USE, "the signal is attached to another call; use one signal per call in flight");
    }
    *ret = s;
    return ST_OK;
}

void signal_end(struct api_signal *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->in_use = false;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
    handle_put(s->self);
}

bool signal_destroy(void *handle)
{
    struct api_signal *s = handle_close(handle, HANDLE_SIGNAL, 0);
    if (s)
        signal_free_parts(s);
    return s;
}

Qnn_ErrorHandle_t QnnSignal_free(Qnn_SignalHandle_t signal)
{
    void *backend;
    {
        API_OBJECT(struct api_signal, s, signal, HANDLE_SIGNAL, COMP_SIGNAL);
        log_enter(s->log);
        LOCKED(&s->lock);
        API_CHECK(!s->in_use, COMP_SIGNAL, ST_IN_USE,
                  "the signal is attached to a running call; wait until that call has returned");
        s->closing = true;
        backend = s->backend;
    }
    struct api_backend *b = handle_get(backend, HANDLE_BACKEND);
    if (b) {
        children_remove(&b->signals, signal);
        handle_put(backend);
    }
    API_CHECK(signal_destroy(signal), COMP_SIGNAL, ST_INVALID_HANDLE, "the signal handle is %s",
              handle_describe(signal, HANDLE_SIGNAL));
    return QNN_SUCCESS;
}
