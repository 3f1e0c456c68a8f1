/* SPDX-License-Identifier: Apache-2.0 */
/* Op packages: opened, begun, asked what they have, and ended. Every call into a package goes through here, and calls back
 * into this library are refused meanwhile, since locks are held. */
#include "api/op_package.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "QNN/QnnOpDef.h"
#include "QNN/QnnOpPackage.h"
#include "api/errors.h"
#include "api/log.h"
#include "base/mem.h"

/* Newer tables may be longer than those of our headers. */
union table {
    QnnOpPackage_Interface_t known;
    void *room[64];
};

/* A package in this process. */
struct package {
    struct package *next;
    uint32_t users;
    void *lib;
    QnnOpPackage_InterfaceProvider_t provider;
    union table table;
    bool v2, begun;
    Qnn_OpPackageHandle_t handle; /* v2 */
    const QnnOpPackage_Info_t *info;
};

/* A package of one backend handle. */
struct package_use {
    struct backend_package base;
    struct package *package;
    void *log;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct package *all;

/* Around everything that runs code of a package. */
#define OUTSIDE(expr)                                                       \
    ({                                                                      \
        enum callback_kind outside_former_ = callback_enter(CALLBACK_BUSY); \
        __typeof__(expr) outside_value_ = (expr);                           \
        callback_leave(outside_former_);                                    \
        outside_value_;                                                     \
    })

static const char *code_name(uint64_t code)
{
    const struct error_row *row = code <= UINT32_MAX ? error_find((uint32_t)code) : NULL;
    return row ? row->name : "not a code of QNN";
}

static void log_for_package(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list ap)
{
    char text[STATUS_TEXT_MAX];
    (void)timestamp;
    if (!fmt)
        return;
    vsnprintf(text, sizeof(text), fmt, ap);
    bool known = level >= QNN_LOG_LEVEL_ERROR && level <= QNN_LOG_LEVEL_DEBUG;
    api_log(known ? (enum log_level)level : LOG_DEBUG, "op package: %s", text);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------------ */

/* What a table must have: all but the functions of its log. */
struct member {
    const char *name;
    size_t at;
};
#define V1(name)                                             \
    {                                                        \
#name, offsetof(QnnOpPackage_Interface_t, v1_4.name) \
    }
#define V2(name)                                             \
    {                                                        \
#name, offsetof(QnnOpPackage_Interface_t, v2_0.name) \
    }
static const struct member members_1[] = { V1(init),         V1(terminate),  V1(getInfo), V1(validateOpConfig),
                                           V1(createOpImpl), V1(freeOpImpl), { NULL, 0 } };
static const struct member members_2[] = { V2(create),       V2(free),       V2(getInfo), V2(validateOpConfig),
                                           V2(createOpImpl), V2(freeOpImpl), { NULL, 0 } };

static enum status check_table(struct package *p, const char *path)
{
    const Qnn_Version_t *v = &p->table.known.interfaceVersion;
    RETURN_IF(v->major != 1 && v->major != 2, ST_PACKAGE_VERSION,
              "op package \"%s\" has interface version %u.%u.%u; versions 1 (to 1.4) and 2 (2.0) are supported", path,
              v->major, v->minor, v->patch);
    p->v2 = v->major == 2;
    for (const struct member *m = p->v2 ? members_2 : members_1; m->name; m++) {
        void *fn;
        memcpy(&fn, (const char *)&p->table.known + m->at, sizeof(fn));
        RETURN_IF(!fn, ST_PACKAGE,
                  "op package \"%s\": its table (version %u) has no %s; every function but those of its log is needed", path,
                  v->major, m->name);
    }
    return ST_OK;
}

static enum status begin(struct package *p, const char *path)
{
    QnnOpPackage_GlobalInfrastructure_t infra = backend_this->package_infrastructure();
    const QnnOpPackage_ImplementationV1_4_t *t = &p->table.known.v1_4;
    uint64_t code = p->v2 ? OUTSIDE(p->table.known.v2_0.create(infra, log_for_package, QNN_LOG_LEVEL_DEBUG, &p->handle))
                          : OUTSIDE(t->init(infra));
    /* Somebody else in this process uses it, too, and ends it. */
    bool theirs = !p->v2 && code == QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED;
    RETURN_IF(code && !theirs, ST_PACKAGE, "op package \"%s\": its %s returned %" PRIu64 " (%s)", path,
              p->v2 ? "create" : "init", code, code_name(code));
    p->begun = !theirs;
    if (!p->v2 && t->logInitialize && OUTSIDE(t->logInitialize(log_for_package, QNN_LOG_LEVEL_DEBUG)))
        api_log(LOG_WARN, "op package \"%s\" has no log: its logInitialize failed", path);
    return ST_OK;
}

static void end(struct package *p)
{
    const QnnOpPackage_ImplementationV1_4_t *t = &p->table.known.v1_4;
    if (p->begun && !p->v2 && t->logTerminate)
        OUTSIDE(t->logTerminate());
    uint64_t code = !p->begun ? 0 : p->v2 ? OUTSIDE(p->table.known.v2_0.free(p->handle)) : OUTSIDE(t->terminate());
    if (code)
        api_log(LOG_WARN, "op package \"%s\": its %s returned %" PRIu64 " (%s)", p->info ? p->info->packageName : "",
                p->v2 ? "free" : "terminate", code, code_name(code));
    p->begun = false;
}

static bool is_text(const char *s)
{
    return s && *s;
}

static enum status ask(struct package *p, const char *path)
{
    const QnnOpPackage_Info_t *info = NULL;
    uint64_t code = OUTSIDE((p->v2 ? p->table.known.v2_0.getInfo : p->table.known.v1_4.getInfo)(&info));
    RETURN_IF(code || !info, ST_PACKAGE, "op package \"%s\": its getInfo %s %" PRIu64 " (%s)", path,
              code ? "returned" : "gave no information and returned", code, code ? code_name(code) : "success");
    RETURN_IF(!is_text(info->packageName), ST_PACKAGE, "op package \"%s\" has no name; its getInfo sets packageName", path);
    RETURN_IF(package_is_builtin(info->packageName), ST_PACKAGE,
              "op package \"%s\" has the name \"%s\", which is that of the built-in operators; give it another", path,
              info->packageName);
    RETURN_IF(!info->numOperations || !info->operationNames, ST_PACKAGE,
              "op package \"%s\" (\"%s\") has %u operators and %s of names; at least one is expected", path,
              info->packageName, info->numOperations, info->operationNames ? "a list" : "no list");
    for (uint32_t i = 0; i < info->numOperations; i++)
        RETURN_IF(!is_text(info->operationNames[i]), ST_PACKAGE, "op package \"%s\" (\"%s\"): operator %u of %u has no name",
                  path, info->packageName, i, info->numOperations);
    p->info = info;
    return ST_OK;
}

static enum status start(struct package *p, const char *path)
{
    p->table.known = (QnnOpPackage_Interface_t)QNN_OP_PACKAGE_INTERFACE_INIT;
    p->table.known.interfaceVersion = (Qnn_Version_t){ 0, 0, 0 };
    uint64_t code = OUTSIDE(p->provider(&p->table.known));
    RETURN_IF(code, ST_PACKAGE, "op package \"%s\": its interface provider returned %" PRIu64 " (%s)", path, code,
              code_name(code));
    TRY(check_table(p, path));
    TRY(begin(p, path));
    enum status st = ask(p, path);
    if (st != ST_OK)
        end(p);
    return st;
}

static void close_library(void *lib)
{
    OUTSIDE(dlclose(lib));
}

/* ---- in this process -------------------------------------------------------------------------------------------------- */

static enum status open_library(const struct package_source *s, void **lib, QnnOpPackage_InterfaceProvider_t *provider)
{
    RETURN_IF(!s->path || !s->provider, ST_INVALID_ARG,
              "packagePath or interfaceProvider is NULL; give the library and the name of its function");
    *lib = OUTSIDE(dlopen(s->path, RTLD_NOW | RTLD_LOCAL));
    RETURN_IF(!*lib, ST_UNKNOWN_PACKAGE, "op package \"%s\" cannot be opened: %s", s->path, dlerror());
    *provider = (QnnOpPackage_InterfaceProvider_t)dlsym(*lib, s->provider);
    if (*provider)
        return ST_OK;
    close_library(*lib);
    return status_fail(ST_PROVIDER, "op package \"%s\" has no function \"%s\"", s->path, s->provider);
}

static struct package *find_open(const void *lib, QnnOpPackage_InterfaceProvider_t provider)
{
    struct package *p = all;
    while (p && (p->lib != lib || p->provider != provider))
        p = p->next;
    return p;
}

/* `lib` is the package's from here on. */
static enum status hold(void *lib, QnnOpPackage_InterfaceProvider_t provider, const char *path, struct package **ret)
{
    *ret = find_open(lib, provider);
    if (*ret) {
        (*ret)->users++;
        close_library(lib); /* which was counted twice */
        return ST_OK;
    }
    struct package *p = mem_new(struct package);
    enum status st = ST_NO_MEMORY;
    if (p) {
        *p = (struct package){ .users = 1, .lib = lib, .provider = provider };
        st = start(p, path);
    } else {
        status_note(st, "no memory for op package \"%s\"", path);
    }
    if (st != ST_OK) {
        mem_free(p);
        close_library(lib);
        return st;
    }
    p->next = all;
    all = p;
    *ret = p;
    return ST_OK;
}

static void release(struct package *p)
{
    struct package **at = &all;
    if (--p->users)
        return;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    end(p);
    close_library(p->lib);
    mem_free(p);
}

/* ---- of a backend handle ---------------------------------------------------------------------------------------------- */

static struct package *package_of(const struct backend_package *p)
{
    return ((const struct package_use *)p)->package;
}

static uint64_t create_impl(const struct backend_package *p, void *node, void **impl)
{
    struct package *k = package_of(p);
    QnnOpPackage_OpImpl_t made = NULL;
    uint64_t code = k->v2 ? OUTSIDE(k->table.known.v2_0.createOpImpl(k->handle, NULL, node, &made))
                          : OUTSIDE(k->table.known.v1_4.createOpImpl(NULL, node, &made));
    *impl = made;
    return code;
}

static uint64_t free_impl(const struct backend_package *p, void *impl)
{
    struct package *k = package_of(p);
    uint64_t code =
        k->v2 ? OUTSIDE(k->table.known.v2_0.freeOpImpl(k->handle, impl)) : OUTSIDE(k->table.known.v1_4.freeOpImpl(impl));
    if (code)
        api_log(LOG_WARN, "op package \"%s\": its freeOpImpl returned %" PRIu64 " (%s)", p->name, code, code_name(code));
    return code;
}

/* May be a worker's thread, which has no log of its own. */
static uint64_t call(const struct backend_package *p, uint64_t (*fn)(void *arg), void *arg)
{
    void *log = log_enter(((const struct package_use *)p)->log);
    uint64_t code = OUTSIDE(fn(arg));
    log_enter(log);
    return code;
}

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
    pthread_mutex_lock(&all_lock);
    while (p->uses.n) {
        struct package_use *u = p->uses.at[--p->uses.n];
        release(u->package);
        mem_free(u);
    }
    pthread_mutex_unlock(&all_lock);
    vec_finish(&p->uses);
    arena_finish(&p->lists);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
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
        n += p->uses.at[i]->package->info->numOperations;
    QnnBackend_OperationName_t *list = arena_array(&p->lists, QnnBackend_OperationName_t, n);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for a list of %u operators", n);
    memcpy(list, builtin, n_builtin * sizeof(list[0]));
    for (size_t i = 0; i < p->uses.n; i++) {
        const QnnOpPackage_Info_t *info = p->uses.at[i]->package->info;
        for (uint32_t k = 0; k < info->numOperations; k++)
            list[at++] = (QnnBackend_OperationName_t){ .packageName = info->packageName, .name = info->operationNames[k] };
    }
    p->operations = list;
    p->n_operations = n;
    return ST_OK;
}

/* The package is held; on failure it still is. */
static enum status add(struct api_packages *p, struct package *k, const struct package_source *s, struct package_use **ret)
{
    RETURN_IF(find_use(p, k->info->packageName), ST_EXISTS,
              "op package \"%s\" (\"%s\") is registered with this backend already; once is enough", k->info->packageName,
              s->path);
    struct package_use *u = mem_new(struct package_use);
    struct package_use **slot = u ? vec_push(&p->uses) : NULL;
    if (!slot) {
        mem_free(u);
        return status_fail(ST_NO_MEMORY, "no memory for op package \"%s\"", s->path);
    }
    *u = (struct package_use){
        .base = { .name = k->info->packageName, .create = create_impl, .free = free_impl, .call = call },
        .package = k,
        .log = p->log
    };
    *ret = *slot = u;
    return ST_OK;
}

static enum status check_target(const struct package_source *s)
{
    RETURN_IF(is_text(s->target) && strcmp(s->target, backend_this->name) != 0, ST_PACKAGE,
              "op package \"%s\" is registered for target \"%s\"; here \"%s\" or none is expected", s->path, s->target,
              backend_this->name);
    return ST_OK;
}

enum status packages_register(struct api_packages *p, const struct package_source *s,
                              const QnnBackend_OperationName_t *builtin, uint32_t n_builtin)
{
    void *lib;
    QnnOpPackage_InterfaceProvider_t provider;
    struct package *k;
    struct package_use *u = NULL;
    TRY(open_library(s, &lib, &provider));
    enum status st = check_target(s);
    if (!backend_this->package_infrastructure)
        st = status_fail(ST_NOT_SUPPORTED, "op package \"%s\" was found, but the %s backend does not run op packages%s%s",
                         s->path, backend_this->name, backend_this->no_packages ? ": " : "",
                         backend_this->no_packages ? backend_this->no_packages : "");
    if (st != ST_OK) {
        close_library(lib);
        return st;
    }
    pthread_mutex_lock(&all_lock);
    pthread_mutex_lock(&p->lock);
    st = hold(lib, provider, s->path, &k);
    if (st == ST_OK) {
        st = add(p, k, s, &u);
        if (st == ST_OK)
            st = list_operations(p, builtin, n_builtin);
        if (st != ST_OK) {
            p->uses.n -= u != NULL;
            mem_free(u);
            release(k);
        }
    }
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_unlock(&all_lock);
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
    const QnnOpPackage_Info_t *info = u->package->info;
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

enum status package_validate(const struct backend_package *p, const Qnn_OpConfig_t *config)
{
    struct package *k = package_of(p);
    uint64_t code = k->v2 ? OUTSIDE(k->table.known.v2_0.validateOpConfig(k->handle, *config))
                          : OUTSIDE(k->table.known.v1_4.validateOpConfig(*config));
    const char *type = config->v1.typeName, *node = config->v1.name ? config->v1.name : "";
    RETURN_IF(code, ST_INVALID_OP, "%s \"%s\": op package \"%s\" refuses it: its validateOpConfig returned %" PRIu64 " (%s)",
              type, node, p->name, code, code_name(code));
    return ST_OK;
}
