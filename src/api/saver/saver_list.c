/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext_createFromBinaryListAsync, as it is recorded: the program makes the same call and waits until it was told of
 * all contexts. The client is told as soon as the call is recorded, of graphs as well when the binary is one whose graphs
 * are known; the program then looks for those by name. */
#include "QNN/QnnContext.h"
#include "api/log.h"
#include "api/saver/saver.h"
#include "base/mem.h"
#include "binary/binary.h"

enum { LIST_MAX = 256 };

struct listed {
    const QnnContext_ParamsV1_t *v;
    void *handle, **graphs;
    struct binary binary;
    bool known;
};

static const QnnContext_ParamsV1_t *params_of(const QnnContext_Params_t *p)
{
    if (p->version == QNN_CONTEXT_PARAMS_VERSION_1)
        return &p->v1;
    return p->version == QNN_CONTEXT_PARAMS_VERSION_2 ? (const QnnContext_ParamsV1_t *)p->v2 : NULL;
}

static uint32_t check_list(struct saver_call *c, const QnnContext_Params_t **params)
{
    uint32_t n = 0;
    for (; params && params[n] && n < LIST_MAX && c->status == ST_OK; n++) {
        const QnnContext_ParamsV1_t *v = params_of(params[n]);
        if (!v)
            saver_fail(c, ST_INVALID_ARG, "contextParams[%u] has version %u; 1 and 2 are supported", n,
                       (unsigned)params[n]->version);
        else if (!v->notifyFunc || !v->binaryBuffer || !v->binaryBufferSize)
            saver_fail(c, ST_INVALID_ARG, "contextParams[%u] has no %s; give one", n,
                       v->notifyFunc ? "binary" : "notify function");
    }
    if (!n || n == LIST_MAX)
        saver_fail(c, ST_INVALID_ARG, "contextParams has %u entries; 1 to %d, and NULL behind them, are allowed", n,
                   LIST_MAX - 1);
    return n;
}

/* Graphs of a binary that can be read; of another one the client hears only that the context is there. */
static void add_graphs(struct saver_call *c, struct saver_object *context, struct listed *l)
{
    l->known = binary_open(l->v->binaryBuffer, l->v->binaryBufferSize, &l->binary) == ST_OK;
    l->graphs = l->known ? mem_array(void *, l->binary.n_graphs + 1) : NULL;
    for (uint32_t i = 0; l->graphs && i < l->binary.n_graphs; i++) {
        const char *name = l->binary.graphs[i].info.name;
        struct saver_object *g = saver_add(c, HANDLE_GRAPH, context, NULL);
        if (!g)
            return;
        g->from_binary = true;
        l->graphs[i] = g->handle;
        str_addf(&c->after, "    answer(%u, \"QnnGraph_retrieve\", q.graphRetrieve(contexts[%u], ", c->number,
                 context->number);
        saver_write_string(&c->after, name);
        str_addf(&c->after, ", &graphs[%u]));\n", g->number);
    }
}

static void add_context(struct saver_call *c, struct saver_object *backend, struct listed *l, struct str *list)
{
    struct str configs = c->args; /* saver_configs adds an argument; here it is a member */
    str_init(&c->args);
    saver_configs(c, &saver_context_config, l->v->config);
    struct str config = c->args;
    c->args = configs;
    struct saver_object *o = saver_add(c, HANDLE_CONTEXT, backend, NULL);
    if (o) {
        o->from_binary = true;
        l->handle = o->handle;
        str_addf(list, "\n        { .version = 1, .v1 = { .config = %s, .binaryBuffer = ", str_text(&config));
        saver_write_array(c, list, &saver_u8, l->v->binaryBuffer, l->v->binaryBufferSize);
        str_addf(list, ", .binaryBufferSize = %lluu, .profile = ", (unsigned long long)l->v->binaryBufferSize);
        saver_write_handle(list, l->v->profile);
        str_addf(list, ", .notifyFunc = context_ready, .notifyParam = &contexts[%u] } },", o->number);
        add_graphs(c, o, l);
    }
    c->args.failed |= config.failed;
    str_finish(&config);
}

static void write_list(struct saver_call *c, struct saver_object *backend, struct listed *all, uint32_t n)
{
    struct str list;
    str_init(&list);
    for (uint32_t i = 0; i < n && c->status == ST_OK; i++)
        add_context(c, backend, &all[i], &list);
    unsigned name = ++c->names;
    str_addf(&c->before, "    QnnContext_Params_t a%u[] = {%s };\n    const QnnContext_Params_t *a%u[] = { ", name,
             str_text(&list), name + 1);
    for (uint32_t i = 0; i < n; i++)
        str_addf(&c->before, "&a%u[%u], ", name, i);
    str_add(&c->before, "NULL };\n");
    saver_arg(c, "a%u", ++c->names);
    c->before.failed |= list.failed;
    str_finish(&list);
}

static void tell(const struct listed *l)
{
    for (uint32_t i = 0; l->graphs && i < l->binary.n_graphs; i++)
        l->v->notifyFunc(NULL, l->graphs[i], l->binary.graphs[i].info.name, QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT,
                         l->v->notifyParam, QNN_SUCCESS);
    l->v->notifyFunc(l->handle, NULL, NULL, QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT, l->v->notifyParam, QNN_SUCCESS);
}

Qnn_ErrorHandle_t QnnContext_createFromBinaryListAsync(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                                       const QnnContext_Params_t **contextParams,
                                                       const QnnContext_Config_t **listConfig, Qnn_SignalHandle_t signal)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_createFromBinaryListAsync", COMP_CONTEXT);
    struct saver_object *b = saver_on(&c, HANDLE_BACKEND, backend);
    saver_maybe(&c, HANDLE_DEVICE, device);
    uint32_t n = check_list(&c, contextParams);
    struct listed *all = mem_array(struct listed, n + 1);
    if (!all)
        saver_fail(&c, ST_NO_MEMORY, "no memory for %u contexts", n);
    for (uint32_t i = 0; i < n && c.status == ST_OK; i++)
        all[i].v = params_of(contextParams[i]);
    if (c.status == ST_OK)
        write_list(&c, b, all, n);
    saver_configs(&c, &saver_context_config, listConfig);
    saver_maybe(&c, HANDLE_SIGNAL, signal);
    c.wait = n;
    Qnn_ErrorHandle_t e = saver_end(&c);
    for (uint32_t i = 0; all && i < n; i++) {
        if (e == QNN_SUCCESS)
            tell(&all[i]);
        if (all[i].known)
            binary_close(&all[i].binary);
        mem_free(all[i].graphs);
    }
    mem_free(all);
    return e;
}
