/* SPDX-License-Identifier: Apache-2.0 */
/* Execution environments: buffers that a graph knows before it is executed.
 *
 *   BIND_MEM_HANDLES       the client's registered memory; it stands for tensors that an execution brings no buffer for
 *   POPULATE_CLIENT_BUFS   memory that the library allocates and, where the backend runs elsewhere, registers, so that
 *                          nothing is copied when the client gives the pointers back
 *
 * Where several environments have the same tensor, the newest counts. They go with the graph. */
#include "api/graph_environment.h"

#include <string.h>

#include "QNN/QnnProperty.h"
#include "api/translate.h"

struct entry {
    uint32_t id;  /* of the tensor */
    void *handle; /* of registered memory, NULL: none */
    void *data;   /* populated; NULL: bound */
};

struct graph_env {
    struct graph_env *next;
    QnnGraph_ExecuteEnvironmentOption_t option;
    uint32_t n;
    struct entry entries[];
};

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static void free_data(void *data)
{
    if (backend_this->bytes_free)
        backend_this->bytes_free(data);
    else
        mem_free(data);
}

static enum status populate(struct api_graph *g, const struct binary_tensor *t, struct entry *ret)
{
    uint64_t bytes = desc_bytes(&t->desc);
    if (backend_this->bytes_alloc)
        TRY(backend_this->bytes_alloc(bytes, &ret->data));
    else
        ret->data = mem_alloc_pages(bytes);
    RETURN_IF(!ret->data, ST_NO_MEMORY, "no memory for tensor \"%s\"", t->name);

    int fd = backend_this->mem_register && backend_this->bytes_fd ? backend_this->bytes_fd(ret->data) : -1;
    if (fd < 0)
        return ST_OK;
    struct backend_mem_spec spec = { .use = MEM_TENSOR, .fd = fd, .bytes = bytes, .total = bytes };
    return mem_add(g->context, &spec, &t->desc, &ret->handle);
}

static void env_free(struct api_graph *g, struct graph_env *env)
{
    for (uint32_t i = 0; i < env->n; i++) {
        if (!env->entries[i].data)
            continue;
        if (env->entries[i].handle) {
            children_remove(&g->context->mems, env->entries[i].handle);
            mem_destroy(env->entries[i].handle);
        }
        free_data(env->entries[i].data);
    }
    mem_free(env);
}

/* ---- preparing -------------------------------------------------------------------------------------------------------- */

static const struct binary_tensor *find_tensor(const struct api_graph *g, uint32_t id)
{
    for (uint32_t i = 0; i < g->n_io; i++)
        if (g->io[i].id == id)
            return g->io[i].tensor;
    return NULL;
}

static enum status bind(struct api_graph *g, const struct binary_tensor *t, const Qnn_TensorV1_t *v, struct entry *ret)
{
    RETURN_IF(v->memType != QNN_TENSORMEMTYPE_MEMHANDLE, ST_INVALID_ARG,
              "tensor \"%s\" has memType %u; a tensor to bind has MEMHANDLE (1)", t->name, (unsigned)v->memType);
    struct api_mem *m = handle_get(v->memHandle, HANDLE_MEM);
    RETURN_IF(!m, ST_INVALID_ARG, "tensor \"%s\": the memory handle is %s", t->name,
              handle_describe(v->memHandle, HANDLE_MEM));

    uint64_t need = desc_bytes(&t->desc), there = m->bytes;
    bool fits = m->owner == g->context && m->use == MEM_TENSOR && there >= need;
    handle_put(v->memHandle);
    RETURN_IF(!fits, ST_INVALID_ARG,
              "tensor \"%s\": %llu bytes of memory that is registered for a tensor of the graph's context are needed; the "
              "handle has %llu",
              t->name, (unsigned long long)need, (unsigned long long)there);
    ret->handle = v->memHandle;
    return ST_OK;
}

static enum status add_entry(struct api_graph *g, struct graph_env *env, Qnn_Tensor_t *client)
{
    Qnn_TensorV1_t *v = tensor_v1_rw(client);
    const struct binary_tensor *t = v ? find_tensor(g, v->id) : NULL;
    RETURN_IF(!v, ST_INVALID_ARG, "a tensor has version %u; 1 and 2 are supported", (unsigned)client->version);
    RETURN_IF(!t, ST_INVALID_ARG, "tensor id %u (\"%s\") is not an input or output of graph \"%s\"", v->id,
              v->name ? v->name : "", g->name);

    struct entry *e = &env->entries[env->n++];
    e->id = v->id;
    if (env->option == QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_BIND_MEM_HANDLES)
        return bind(g, t, v, e);
    RETURN_IF(v->memType == QNN_TENSORMEMTYPE_MEMHANDLE, ST_INVALID_ARG,
              "tensor \"%s\" has registered memory; it gets none: give it memType RAW (0)", t->name);
    return populate(g, t, e);
}

/* Nothing fails any more: the client learns its pointers. */
static void tell_pointers(const struct api_graph *g, const struct graph_env *env, const Qnn_TensorSetV1_t *set)
{
    for (uint32_t i = 0; i < env->n; i++) {
        Qnn_Tensor_t *client = i < set->numInputs ? &set->inputs[i] : &set->outputs[i - set->numInputs];
        Qnn_TensorV1_t *v = tensor_v1_rw(client);
        if (!env->entries[i].data)
            continue;
        v->memType = QNN_TENSORMEMTYPE_RAW;
        v->clientBuf.data = env->entries[i].data;
        v->clientBuf.dataSize = (uint32_t)desc_bytes(&find_tensor(g, v->id)->desc);
    }
}

static enum status make_env(struct api_graph *g, const QnnGraph_ExecuteEnvironment_t *e, struct graph_env **ret)
{
    const Qnn_TensorSetV1_t *set = &e->tensorSet.v1;
    uint64_t n = (uint64_t)set->numInputs + set->numOutputs;
    RETURN_IF(e->tensorSet.version != QNN_TENSOR_SET_VERSION_1, ST_INVALID_ARG,
              "a set of tensors has version %u; 1 is known", (unsigned)e->tensorSet.version);
    RETURN_IF(!n || n > g->n_io || (set->numInputs && !set->inputs) || (set->numOutputs && !set->outputs), ST_INVALID_ARG,
              "a set of %u inputs and %u outputs; graph \"%s\" has %u together", set->numInputs, set->numOutputs, g->name,
              g->n_io);
    struct graph_env *env = mem_alloc(sizeof *env + n * sizeof env->entries[0]);
    RETURN_IF(!env, ST_NO_MEMORY, "no memory for an execution environment");
    memset(env, 0, sizeof *env + n * sizeof env->entries[0]);
    env->option = e->option;

    enum status st = ST_OK;
    for (uint32_t i = 0; st == ST_OK && i < n; i++)
        st = add_entry(g, env, i < set->numInputs ? &set->inputs[i] : &set->outputs[i - set->numInputs]);
    if (st != ST_OK) {
        env_free(g, env);
        return st;
    }
    *ret = env;
    return ST_OK;
}

static bool supported(QnnGraph_ExecuteEnvironmentOption_t option)
{
    return (option == QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_BIND_MEM_HANDLES &&
            backend_capable(backend_this, QNN_PROPERTY_GRAPH_SUPPORT_ENV_OPTION_BIND_MEM_HANDLES)) ||
           (option == QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS &&
            backend_capable(backend_this, QNN_PROPERTY_GRAPH_SUPPORT_ENV_OPTION_POPULATE_CLIENT_BUFS));
}

/* Between two executions: they look at the list. */
static void change_list(struct api_graph *g, struct graph_env **at, struct graph_env *to)
{
    sched_pause(&g->context->queue.group);
    pthread_rwlock_wrlock(&g->program);
    *at = to;
    pthread_rwlock_unlock(&g->program);
    sched_resume(&g->context->queue.group);
}

static void drop_newest(struct api_graph *g, uint32_t n)
{
    while (n--) {
        struct graph_env *env = g->envs;
        change_list(g, &g->envs, env->next);
        env_free(g, env);
    }
}

enum status graph_env_prepare(struct api_graph *g, QnnGraph_ExecuteEnvironment_t **envs, uint32_t n)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct graph_env *env;
        if (!envs[i] || !supported(envs[i]->option))
            continue;
        enum status st = make_env(g, envs[i], &env);
        if (st != ST_OK) {
            drop_newest(g, made);
            return st;
        }
        env->next = g->envs;
        change_list(g, &g->envs, env);
        made++;
    }
    RETURN_IF(!made, ST_NOT_SUPPORTED,
              "the %s backend has none of the %u execution environments; give buffers or memory handles with each execution",
              backend_this->name, n);

    const struct graph_env *env = g->envs;
    for (uint32_t i = n; i--;) {
        if (envs[i] && supported(envs[i]->option)) {
            tell_pointers(g, env, &envs[i]->tensorSet.v1);
            env = env->next;
        } else if (envs[i]) {
            *envs[i] = (QnnGraph_ExecuteEnvironment_t){ .option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_UNDEFINED,
                                                        .tensorSet = QNN_TENSOR_SET_INIT };
        }
    }
    return ST_OK;
}

/* ---- releasing -------------------------------------------------------------------------------------------------------- */

static bool is_same(const struct graph_env *env, const QnnGraph_ExecuteEnvironment_t *e)
{
    const Qnn_TensorSetV1_t *set = &e->tensorSet.v1;
    if (env->option != e->option || (uint64_t)set->numInputs + set->numOutputs != env->n)
        return false;
    for (uint32_t i = 0; i < env->n; i++) {
        const Qnn_TensorV1_t *v = tensor_v1(i < set->numInputs ? &set->inputs[i] : &set->outputs[i - set->numInputs]);
        const struct entry *entry = &env->entries[i];
        bool same =
            v && v->id == entry->id && (entry->data ? v->clientBuf.data == entry->data : v->memHandle == entry->handle);
        if (!same)
            return false;
    }
    return true;
}

enum status graph_env_release(struct api_graph *g, const QnnGraph_ExecuteEnvironment_t **envs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct graph_env **at = &g->envs;
        while (*at && !(envs[i] && is_same(*at, envs[i])))
            at = &(*at)->next;
        RETURN_IF(!*at, ST_INVALID_ARG, "environment %u is none that graph \"%s\" was prepared with, or is released already",
                  i, g->name);
        struct graph_env *env = *at;
        change_list(g, at, env->next);
        env_free(g, env);
    }
    return ST_OK;
}

void graph_env_finish(struct api_graph *g)
{
    while (g->envs) {
        struct graph_env *env = g->envs;
        g->envs = env->next;
        env_free(g, env);
    }
}

/* ---- executing -------------------------------------------------------------------------------------------------------- */

void *graph_env_find(const struct api_graph *g, uint32_t at, const void *data)
{
    for (const struct graph_env *env = g->envs; env; env = env->next)
        for (uint32_t i = 0; i < env->n; i++)
            if (env->entries[i].id == g->io[at].id && env->entries[i].handle && env->entries[i].data == data)
                return env->entries[i].handle;
    return NULL;
}
