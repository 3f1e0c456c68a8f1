/* SPDX-License-Identifier: Apache-2.0 */
/* The op packages of a backend handle: registered, listed, and found for nodes. */
#include "api/op_package.h"

#include <stdio.h>
#include <string.h>

#include "QNN/QnnOpDef.h"
#include "api/op_library.h"
#include "base/mem.h"
#include "rpc/rpc.h"

struct package_use {
    struct backend_package base;
    struct package *package;
    void *log;
};

struct api_packages *packages_new(void *log)
{
    struct api_packages *p = mem_new(struct api_packages);
    if (!p)
        return NULL;
    atomic_init(&p->users, 1);
    p->log = log;
    pthread_mutex_init(&p->lock, NULL);
    arena_init(&p->lists);
    return p;
}

struct api_packages *packages_hold(struct api_packages *p)
{
    atomic_fetch_add_explicit(&p->users, 1, memory_order_relaxed);
    return p;
}

void packages_release(struct api_packages *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->users, 1, memory_order_acq_rel) != 1)
        return;
    while (p->uses.n) {
        struct package_use *u = p->uses.at[--p->uses.n];
        package_release(u->package);
        mem_free(u);
    }
    vec_finish(&p->uses);
    arena_finish(&p->lists);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

/* ---- registered ------------------------------------------------------------------------------------------------------- */

static struct package *package_of(const struct backend_package *p)
{
    return ((const struct package_use *)p)->package;
}

static uint64_t create_impl(const struct backend_package *p, void *node, void **impl)
{
    return package_create(package_of(p), node, impl);
}

static uint64_t free_impl(const struct backend_package *p, void *impl)
{
    return package_free(package_of(p), impl);
}

/* May be a worker's thread, which has no log of its own. */
static uint64_t call(const struct backend_package *p, uint64_t (*fn)(void *arg), void *arg)
{
    void *log = log_enter(((const struct package_use *)p)->log);
    uint64_t code = OUTSIDE(fn(arg));
    log_enter(log);
    return code;
}

static struct package_use *find_use(const struct api_packages *p, const char *name)
{
    for (size_t i = 0; i < p->uses.n; i++)
        if (!strcmp(p->uses.at[i]->base.name, name))
            return p->uses.at[i];
    return NULL;
}

/* The old list stays: the client may have it. */
static enum status list_operations(struct api_packages *p, const QnnBackend_OperationName_t *builtin, uint32_t n_builtin)
{
    uint32_t n = n_builtin, at = n_builtin;
    for (size_t i = 0; i < p->uses.n; i++)
        n += package_info(p->uses.at[i]->package)->numOperations;
    QnnBackend_OperationName_t *list = arena_array(&p->lists, QnnBackend_OperationName_t, n);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for a list of %u operators", n);
    memcpy(list, builtin, n_builtin * sizeof(list[0]));
    for (size_t i = 0; i < p->uses.n; i++) {
        const QnnOpPackage_Info_t *info = package_info(p->uses.at[i]->package);
        for (uint32_t k = 0; k < info->numOperations; k++)
            list[at++] = (QnnBackend_OperationName_t){ .packageName = info->packageName, .name = info->operationNames[k] };
    }
    p->operations = list;
    p->n_operations = n;
    return ST_OK;
}

static enum status add(struct api_packages *p, struct package *k, const char *path, struct package_use **ret)
{
    const char *name = package_info(k)->packageName;
    RETURN_IF(find_use(p, name), ST_EXISTS,
              "op package \"%s\" (\"%s\") is registered with this backend already; once is enough", name, path);
    struct package_use *u = mem_new(struct package_use);
    struct package_use **slot = u ? vec_push(&p->uses) : NULL;
    if (!slot) {
        mem_free(u);
        return status_fail(ST_NO_MEMORY, "no memory for op package \"%s\"", path);
    }
    *u = (struct package_use){ .base = { .name = name, .create = create_impl, .free = free_impl, .call = call },
                               .package = k,
                               .log = p->log };
    *ret = *slot = u;
    return ST_OK;
}

/* A session opens the same file again. */
static enum status list_library(struct api_packages *p, const struct package *k, const struct package_source *s)
{
    const char *before = p->libraries ? p->libraries : "";
    char file[PACKAGE_PATH_MAX];

    RETURN_IF(!package_file(k, file), ST_PACKAGE, "op package \"%s\": its file is not found any more", s->path);
    RETURN_IF(strpbrk(file, RPC_PACKAGE_MARKS) || strpbrk(s->provider, RPC_PACKAGE_MARKS), ST_PACKAGE,
              "op package \"%s\": its path has control characters; rename the file or its folder", s->path);

    char *list = arena_printf(&p->lists, "%s%s" RPC_PACKAGE_UNIT "%s" RPC_PACKAGE_END, before, file, s->provider);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for op package \"%s\"", s->path);
    p->libraries = list;
    return ST_OK;
}

static enum status check_target(const struct package_source *s)
{
    static const char computer[] = "CPU"; /* code of this computer, on every backend */
    const char *device = backend_this->package_target;

    RETURN_IF(!backend_this->package_infrastructure, ST_NOT_SUPPORTED,
              "op package \"%s\" was found, but the %s backend does not run op packages%s%s", s->path, backend_this->name,
              backend_this->no_packages ? ": " : "", backend_this->no_packages ? backend_this->no_packages : "");
    if (!s->target || !*s->target || strcmp(s->target, computer) == 0)
        return ST_OK;

    RETURN_IF(device && strcmp(s->target, device) == 0, ST_NOT_SUPPORTED,
              "op package \"%s\" is registered for target \"%s\": %s", s->path, s->target, backend_this->no_packages);
    return status_fail(ST_PACKAGE, "op package \"%s\" is registered for target \"%s\"; here \"%s\" or none is expected",
                       s->path, s->target, computer);
}

enum status packages_register(struct api_packages *p, const struct package_source *s,
                              const QnnBackend_OperationName_t *builtin, uint32_t n_builtin)
{
    struct package_code code;
    struct package *k;
    struct package_use *u = NULL;
    TRY(package_open(s, &code));
    enum status st = check_target(s);
    if (st != ST_OK) {
        package_close(&code);
        return st;
    }
    TRY(package_hold(&code, s->path, &k));
    pthread_mutex_lock(&p->lock);
    st = add(p, k, s->path, &u);
    if (st == ST_OK)
        st = list_operations(p, builtin, n_builtin);
    if (st == ST_OK && backend_this->package_sessions && !s->in_session)
        st = list_library(p, k, s);
    if (st != ST_OK)
        p->uses.n -= u != NULL;
    pthread_mutex_unlock(&p->lock);
    if (st != ST_OK) {
        mem_free(u);
        package_release(k);
    }
    return st;
}

bool packages_operations(struct api_packages *p, uint32_t *n, const QnnBackend_OperationName_t **ret)
{
    pthread_mutex_lock(&p->lock);
    bool any = p->operations != NULL;
    if (any) {
        *n = p->n_operations;
        *ret = p->operations;
    }
    pthread_mutex_unlock(&p->lock);
    return any;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

bool package_is_builtin(const char *name)
{
    return !name || !strcmp(name, QNN_OP_PACKAGE_NAME_QTI_AISW);
}

/* `"a", "b"` */
static void list_name(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s\"%s\"", used ? ", " : "", name);
}

static enum status unknown_package(const struct api_packages *p, const char *node, const char *package)
{
    char list[512] = "";
    for (size_t i = 0; i < p->uses.n; i++)
        list_name(list, sizeof(list), p->uses.at[i]->base.name);
    return status_fail(ST_UNKNOWN_PACKAGE,
                       "node \"%s\" names op package \"%s\", which is not registered; \"%s\" is built in, %s%s "
                       "(QnnBackend_registerOpPackage)",
                       node, package, QNN_OP_PACKAGE_NAME_QTI_AISW, *list ? "registered are " : "no other is registered",
                       list);
}

static enum status check_operator(const struct package_use *u, const char *node, const char *op)
{
    const QnnOpPackage_Info_t *info = package_info(u->package);
    char list[512] = "";
    for (uint32_t i = 0; i < info->numOperations; i++) {
        if (!strcmp(info->operationNames[i], op))
            return ST_OK;
        list_name(list, sizeof(list), info->operationNames[i]);
    }
    return status_fail(ST_INVALID_OP, "node \"%s\": op package \"%s\" has no operator \"%s\"; it has %s", node, u->base.name,
                       op, list);
}

enum status packages_find(void *packages, const char *node, const char *package, const char *op,
                          const struct backend_package **ret)
{
    struct api_packages *p = packages;
    pthread_mutex_lock(&p->lock);
    struct package_use *u = find_use(p, package);
    enum status st = u ? check_operator(u, node, op) : unknown_package(p, node, package);
    pthread_mutex_unlock(&p->lock);
    *ret = u ? &u->base : NULL;
    return st;
}

const char *packages_list(void *packages)
{
    struct api_packages *p = packages;

    if (!p)
        return "";
    pthread_mutex_lock(&p->lock);
    const char *list = p->libraries ? p->libraries : "";
    pthread_mutex_unlock(&p->lock);
    return list;
}

enum status package_validate(const struct backend_package *p, const Qnn_OpConfig_t *config)
{
    return package_check(package_of(p), config);
}
