/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext_createFromBinaryListAsync: several contexts at a time.
 *
 *   the call        reads all options and makes empty contexts, so that nothing but the binaries has to stay; returns
 *   its workers     as many as cores, each takes the next context of the list and loads it from begin to end
 *   notifications   from those workers, one at a time: each graph when it is loaded, the context when it has all of them
 *
 * The backend is pinned until the last notification is over; then nothing of a list is left but threads that have ended,
 * which the next list or the end of the backend joins. */
#include <stdlib.h>
#include <string.h>

#include "QNN/QnnContext.h"
#include "api/context_load.h"
#include "base/cpu.h"
#include "base/forks.h"
#include "base/thread.h"

/* One context of a list. */
struct list_item {
    struct api_context *context; /* NULL: it could not be begun */
    enum status begun;
    char why[STATUS_TEXT_MAX]; /* begun is not ST_OK */
    const void *data;
    uint64_t size;
    void *profile; /* handle */
    struct load_given *given; /* NULL: the binary has everything */
    QnnContext_createFromBinaryNotifyFn_t notify;
    void *param;
};

struct context_list {
    struct context_list *next; /* of the backend */
    struct api_backend *backend;
    void *log;
    struct api_signal *signal;
    pthread_mutex_t notifying;
    _Atomic uint32_t taken;   /* items that a worker has begun with */
    _Atomic uint32_t working; /* workers, and the call that starts them */
    _Atomic bool done;
    uint32_t n, n_threads;
    pthread_t *threads;
    struct list_item items[];
};

/* ---- notifications ---------------------------------------------------------------------------------------------------- */

struct telling {
    struct context_list *list;
    const struct list_item *item;
};

/* The context has no handle yet, so a graph comes alone. */
static void tell_graph(const struct api_graph *graph, enum status st, void *arg)
{
    const struct telling *t = arg;
    char why[STATUS_TEXT_MAX];
    strcpy(why, status_text());
    Qnn_ErrorHandle_t result = api_error(COMP_CONTEXT, st);
    void *handle = st == ST_OK ? graph->self : NULL;

    pthread_mutex_lock(&t->list->notifying);
    enum callback_kind former = callback_enter(CALLBACK_PINNED);
    t->item->notify(NULL, handle, graph->name, QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT, t->item->param, result);
    callback_leave(former);
    pthread_mutex_unlock(&t->list->notifying);

    if (st != ST_OK)
        status_fail(st, "%s", why); /* the client may have called something */
}

/* Clients take a context over whenever they see one, so it is named once, at the end. Nothing pins it then: the client may
 * free it at once. */
static void tell_context(struct context_list *list, const struct list_item *item, void *context, enum status st)
{
    Qnn_ErrorHandle_t result = api_error(COMP_CONTEXT, st);

    pthread_mutex_lock(&list->notifying);
    enum callback_kind former = callback_enter(CALLBACK_OWNED);
    item->notify(st == ST_OK ? context : NULL, NULL, NULL, QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT, item->param, result);
    callback_leave(former);
    pthread_mutex_unlock(&list->notifying);
}

/* ---- workers ---------------------------------------------------------------------------------------------------------- */

static enum status load_item(struct context_list *list, struct list_item *item, void **ret)
{
    struct telling telling = { list, item };
    struct context_source source = { .data = item->data,
                                     .size = item->size,
                                     .given = item->given,
                                     .cancel = list->signal ? &list->signal->cancel : NULL,
                                     .graph_done = tell_graph,
                                     .arg = &telling };
    if (item->begun != ST_OK)
        return status_fail(item->begun, "%s", item->why);

    enum status st = profile_begin(item->profile, &source.profile);
    if (st != ST_OK) {
        context_discard(item->context);
        return st;
    }
    st = context_load(list->backend, item->context, &source, ret);
    profile_end(source.profile);
    return st;
}

static void leave(struct context_list *list)
{
    if (atomic_fetch_sub(&list->working, 1) != 1)
        return;
    const void *backend = list->backend->self;
    signal_end(list->signal);
    list->signal = NULL;
    atomic_store(&list->done, true);
    handle_put(backend);
}

static void *work(void *arg)
{
    struct context_list *list = arg;
    log_enter(list->log);
    for (uint32_t i; (i = atomic_fetch_add(&list->taken, 1)) < list->n;) {
        void *handle = NULL;
        api_log(LOG_DEBUG, "loading context %u of %u of a list: %llu bytes", i + 1, list->n,
                (unsigned long long)list->items[i].size);
        enum status st = load_item(list, &list->items[i], &handle);
        given_free(list->items[i].given);
        tell_context(list, &list->items[i], handle, st);
    }
    leave(list);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER; /* of all backends */
FORKS_HOLD(lists_lock)

static void list_free(struct context_list *list)
{
    for (uint32_t i = 0; i < list->n_threads; i++)
        pthread_join(list->threads[i], NULL);
    pthread_mutex_destroy(&list->notifying);
    mem_free(list->threads);
    mem_free(list);
}

/* Takes a list out of those of the backend: any, or one that is over. */
static struct context_list *take_list(struct api_backend *b, bool over)
{
    LOCKED(&lists_lock);
    struct context_list **at = &b->lists;
    while (*at && over && !atomic_load(&(*at)->done))
        at = &(*at)->next;
    struct context_list *list = *at;
    if (list)
        *at = list->next;
    return list;
}

void context_lists_finish(struct api_backend *b)
{
    for (struct context_list *list; (list = take_list(b, false));)
        list_free(list);
}

static void keep_list(struct api_backend *b, struct context_list *list)
{
    for (struct context_list *old; (old = take_list(b, true));)
        list_free(old);
    LOCKED(&lists_lock);
    list->next = b->lists;
    b->lists = list;
}

static const QnnContext_ParamsV1_t *params_v1(const QnnContext_Params_t *p)
{
    if (p->version == QNN_CONTEXT_PARAMS_VERSION_1)
        return &p->v1;
    return p->version == QNN_CONTEXT_PARAMS_VERSION_2 ? (const QnnContext_ParamsV1_t *)p->v2 : NULL;
}

_Static_assert(offsetof(QnnContext_ParamsV1_t, notifyParam) == offsetof(QnnContext_ParamsV2_t, notifyParam),
               "v1 is a prefix of v2");

/* NULL: none. */
static const Qnn_ContextBinaryCallback_t *callback_of(const QnnContext_Params_t *p)
{
    return p->version == QNN_CONTEXT_PARAMS_VERSION_2 ? p->v2->callback : NULL;
}

static enum status check_list(const QnnContext_Params_t **params, uint32_t *ret_n)
{
    RETURN_IF(!params || !*params, ST_INVALID_ARG, "contextParams is NULL or empty");
    for (*ret_n = 0; params[*ret_n]; ++*ret_n) {
        uint32_t i = *ret_n;
        const QnnContext_ParamsV1_t *v = params_v1(params[i]);
        RETURN_IF(!v, ST_INVALID_ARG, "contextParams[%u] has version %u; 1 and 2 are supported", i,
                  (unsigned)params[i]->version);
        RETURN_IF(!v->notifyFunc, ST_INVALID_ARG, "contextParams[%u] has no notify function; the context would be lost", i);
        bool none = !v->binaryBuffer && !callback_of(params[i]);
        RETURN_IF(none || !v->binaryBufferSize, ST_INVALID_ARG, "contextParams[%u] has no binary", i);
    }
    return ST_OK;
}

/* What is wrong with one context is told in its notification. */
static void begin_item(struct context_list *list, struct list_item *item, struct context_source *s,
                       const QnnContext_Params_t *params)
{
    const QnnContext_ParamsV1_t *v = params_v1(params);
    const Qnn_ContextBinaryCallback_t *callback = callback_of(params);

    *item = (struct list_item){ .data = v->binaryBuffer,
                                .size = v->binaryBufferSize,
                                .profile = v->profile,
                                .notify = v->notifyFunc,
                                .param = v->notifyParam };
    item->begun = callback ? given_new(callback, &item->given) : ST_OK;
    s->given = item->given;
    if (item->begun == ST_OK)
        item->begun = context_load_begin(list->backend, s, &item->context);
    if (item->begun != ST_OK)
        strcpy(item->why, status_text());
}

/* What the device does not have is the same for all contexts: the call says so, and nothing is loaded. */
static enum status check_supported(const struct context_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].begun == ST_NOT_SUPPORTED)
            return status_fail(ST_NOT_SUPPORTED, "%s", list->items[i].why);
    return ST_OK;
}

static enum status list_new(struct api_backend *b, void *device, const QnnContext_Params_t **params,
                            const QnnContext_Config_t **list_config, struct context_list **ret)
{
    static _Atomic uint64_t lists;
    uint64_t number = atomic_fetch_add(&lists, 1) + 1;
    uint32_t n;
    TRY(check_list(params, &n));
    struct context_list *list = mem_alloc(sizeof *list + n * sizeof list->items[0]);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for a list of %u contexts", n);
    *list = (struct context_list){ .backend = b, .log = b->log, .n = n, .working = 1 };
    uint32_t cores = cpu_cores();
    uint32_t workers = cores < n ? cores : n;
    list->threads = mem_array(pthread_t, workers);
    if (!list->threads) {
        mem_free(list);
        return status_fail(ST_NO_MEMORY, "no memory for a list of %u contexts", n);
    }
    pthread_mutex_init(&list->notifying, NULL);
    list->n_threads = workers; /* how many are wanted, until start */

    for (uint32_t i = 0; i < n; i++) {
        const QnnContext_ParamsV1_t *v = params_v1(params[i]);
        struct context_source s = { .config = v->config,
                                    .list_config = list_config,
                                    .data = v->binaryBuffer,
                                    .size = v->binaryBufferSize,
                                    .device = device,
                                    .list = number };
        begin_item(list, &list->items[i], &s, params[i]);
    }
    *ret = list;
    return ST_OK;
}

/* Nothing of it was told to the client. */
static void list_discard(struct context_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->items[i].begun == ST_OK)
            context_discard(list->items[i].context);
        given_free(list->items[i].given);
    }
    list->n_threads = 0;
    list_free(list);
}

/* One worker is enough; the others are there to be faster. */
static enum status start_workers(struct context_list *list)
{
    uint32_t wanted = list->n_threads;
    enum status st = ST_OK;
    for (list->n_threads = 0; list->n_threads < wanted && st == ST_OK;) {
        atomic_fetch_add(&list->working, 1);
        st = thread_start(&list->threads[list->n_threads], "qnn-list", work, list);
        if (st == ST_OK)
            list->n_threads++;
        else
            atomic_fetch_sub(&list->working, 1);
    }
    return list->n_threads ? ST_OK : st;
}

/* OPENQNN_LIST_WAIT=1: for clients that free their buffers, or look for their contexts, as soon as the call is back. */
static bool wait_wanted(void)
{
    const char *text = getenv("OPENQNN_LIST_WAIT");
    return text && strcmp(text, "1") == 0;
}

/* The list belongs to the backend once a worker is there. */
static enum status list_run(struct api_backend *b, struct context_list *list, void *signal)
{
    enum status st = signal_begin(signal, NULL, &list->signal);
    bool pinned = st == ST_OK && handle_get(b->self, HANDLE_BACKEND); /* the list's own */
    if (st == ST_OK && !pinned)
        st = status_fail(ST_INVALID_HANDLE, "the backend is being freed");
    if (st == ST_OK)
        st = start_workers(list);
    if (st != ST_OK) {
        signal_end(list->signal);
        if (pinned)
            handle_put(b->self);
        list_discard(list);
        return st;
    }

    bool wait = wait_wanted();
    leave(list);
    if (wait)
        list_free(list);
    else
        keep_list(b, list);
    return ST_OK;
}

static enum status list_begin(struct api_backend *b, struct context_list *list, void *signal)
{
    char why[STATUS_TEXT_MAX];
    enum status st = check_supported(list);
    if (st == ST_OK)
        return list_run(b, list, signal);
    strcpy(why, status_text());
    list_discard(list);
    return status_fail(st, "%s", why);
}

Qnn_ErrorHandle_t QnnContext_createFromBinaryListAsync(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                                       const QnnContext_Params_t **contextParams,
                                                       const QnnContext_Config_t **listConfig, Qnn_SignalHandle_t signal)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_CONTEXT);
    log_enter(b->log);
    API_CHECK(!device || handle_describe(device, HANDLE_DEVICE)[0] == 'v', COMP_CONTEXT, ST_INVALID_ARG,
              "the device handle is %s", handle_describe(device, HANDLE_DEVICE));
    struct context_list *list;
    enum status st = list_new(b, device, contextParams, listConfig, &list);
    if (st == ST_OK)
        st = list_begin(b, list, signal);
    return api_error(COMP_CONTEXT, st);
}
