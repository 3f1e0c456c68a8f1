/* SPDX-License-Identifier: Apache-2.0 */
/* The library of an op package: opened, begun, asked what it has, called, and ended. */
#include "api/op_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/errors.h"
#include "api/log.h"
#include "api/op_package.h"
#include "base/forks.h"
#include "base/mem.h"

/* Newer tables may be longer than those of our headers. */
union table {
    QnnOpPackage_Interface_t known;
    void *room[64];
};

struct package {
    struct package *next;
    uint32_t users;
    struct package_code code;
    union table table;
    bool v2, begun;
    Qnn_OpPackageHandle_t handle; /* v2 */
    const QnnOpPackage_Info_t *info;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(all_lock)
static struct package *all;

static const char *code_name(uint64_t code)
{
    const struct qnn_error *row = code <= UINT32_MAX ? qnn_error_find((uint32_t)code) : NULL;
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
#define V1(fn)                                                         \
    {                                                                  \
        .at = offsetof(QnnOpPackage_Interface_t, v1_4.fn), .name = #fn \
    }
#define V2(fn)                                                         \
    {                                                                  \
        .at = offsetof(QnnOpPackage_Interface_t, v2_0.fn), .name = #fn \
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

static enum status ask(struct package *p, const char *path)
{
    const QnnOpPackage_Info_t *info = NULL;
    uint64_t code = OUTSIDE((p->v2 ? p->table.known.v2_0.getInfo : p->table.known.v1_4.getInfo)(&info));

    RETURN_IF(code || !info, ST_PACKAGE, "op package \"%s\": its getInfo %s %" PRIu64 " (%s)", path,
              code ? "returned" : "gave no information and returned", code, code ? code_name(code) : "success");
    /* cppcheck-suppress nullPointer ; without information this is not reached */
    RETURN_IF(!info->packageName || !*info->packageName, ST_PACKAGE,
              "op package \"%s\" has no name; its getInfo sets packageName", path);
    RETURN_IF(package_is_builtin(info->packageName), ST_PACKAGE,
              "op package \"%s\" has the name \"%s\", which is that of the built-in operators; give it another", path,
              info->packageName);
    RETURN_IF(!info->numOperations || !info->operationNames, ST_PACKAGE,
              "op package \"%s\" (\"%s\") has %u operators and %s of names; at least one is expected", path,
              info->packageName, info->numOperations, info->operationNames ? "a list" : "no list");
    for (uint32_t i = 0; i < info->numOperations; i++)
        RETURN_IF(!info->operationNames[i] || !*info->operationNames[i], ST_PACKAGE,
                  "op package \"%s\" (\"%s\"): operator %u of %u has no name", path, info->packageName, i,
                  info->numOperations);
    p->info = info;
    return ST_OK;
}

static enum status start(struct package *p, const char *path)
{
    p->table.known = (QnnOpPackage_Interface_t)QNN_OP_PACKAGE_INTERFACE_INIT;
    p->table.known.interfaceVersion = (Qnn_Version_t){ 0, 0, 0 };
    uint64_t code = OUTSIDE(p->code.provider(&p->table.known));
    RETURN_IF(code, ST_PACKAGE, "op package \"%s\": its interface provider returned %" PRIu64 " (%s)", path, code,
              code_name(code));
    TRY(check_table(p, path));
    TRY(begin(p, path));
    enum status st = ask(p, path);
    if (st != ST_OK)
        end(p);
    return st;
}

/* ---- once in this process --------------------------------------------------------------------------------------------- */

/* Why a library could not be opened, beside what the loader says. */
static const char *more_about(const char *path, const char *loader)
{
    enum { HEAD = 20, MACHINE = 18, HEXAGON = 164 };
    unsigned char head[HEAD] = { 0 };

    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = file >= 0 && read(file, head, HEAD) == HEAD;
    if (file >= 0)
        close(file);

    if (whole && memcmp(head, "\177ELF", 4) == 0 && (head[MACHINE] | head[MACHINE + 1] << 8) == HEXAGON)
        return "; it is code for Hexagon, which this computer does not have: compile the package for this computer "
               "(target \"CPU\")";
    if (loader && strstr(loader, "undefined symbol"))
        return "; packages of the HTP's C++ interface need symbols that there are not here: packages implement "
               "QnnOpPackage.h and QnnCpuOpPackage.h, which are C";
    return "";
}

enum status package_open(const struct package_source *s, struct package_code *ret)
{
    RETURN_IF(!s->path || !s->provider, ST_INVALID_ARG,
              "packagePath or interfaceProvider is NULL; give the library and the name of its function");
    ret->lib = OUTSIDE(dlopen(s->path, RTLD_NOW | RTLD_LOCAL));
    const char *why = ret->lib ? NULL : dlerror();
    RETURN_IF(!ret->lib, ST_UNKNOWN_PACKAGE, "op package \"%s\" cannot be opened: %s%s", s->path, why,
              more_about(s->path, why));
    ret->provider = (QnnOpPackage_InterfaceProvider_t)dlsym(ret->lib, s->provider);
    if (ret->provider)
        return ST_OK;
    package_close(ret);
    return status_fail(ST_PROVIDER, "op package \"%s\" has no function \"%s\"", s->path, s->provider);
}

void package_close(struct package_code *c)
{
    /* cppcheck-suppress doubleFree ; the macro evaluates it once */
    OUTSIDE(dlclose(c->lib));
}

static struct package *find_open(const struct package_code *c)
{
    struct package *p = all;
    while (p && (p->code.lib != c->lib || p->code.provider != c->provider))
        p = p->next;
    return p;
}

static enum status add_new(const struct package_code *c, const char *path, struct package **ret)
{
    struct package *p = mem_new(struct package);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory for op package \"%s\"", path);
    *p = (struct package){ .users = 1, .code = *c };
    enum status st = start(p, path);
    if (st != ST_OK) {
        mem_free(p);
        return st;
    }
    p->next = all;
    *ret = all = p;
    return ST_OK;
}

enum status package_hold(struct package_code *c, const char *path, struct package **ret)
{
    pthread_mutex_lock(&all_lock);
    struct package *p = find_open(c);
    enum status st = p ? ST_OK : add_new(c, path, ret);
    if (p) {
        p->users++;
        *ret = p;
    }
    if (p || st != ST_OK)
        package_close(c); /* nobody's, or counted twice */
    pthread_mutex_unlock(&all_lock);
    return st;
}

void package_release(struct package *p)
{
    struct package **at = &all;
    pthread_mutex_lock(&all_lock);
    if (!--p->users) {
        while (*at != p)
            at = &(*at)->next;
        *at = p->next;
        end(p);
        package_close(&p->code);
        mem_free(p);
    }
    pthread_mutex_unlock(&all_lock);
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

const QnnOpPackage_Info_t *package_info(const struct package *p)
{
    return p->info;
}

bool package_file(const struct package *p, char *ret)
{
    struct link_map *map = NULL;

    if (dlinfo(p->code.lib, RTLD_DI_LINKMAP, &map) != 0 || !map)
        return false;
    return realpath(map->l_name, ret) != NULL;
}

uint64_t package_create(struct package *p, void *node, void **impl)
{
    QnnOpPackage_OpImpl_t made = NULL;
    uint64_t code = p->v2 ? OUTSIDE(p->table.known.v2_0.createOpImpl(p->handle, NULL, node, &made))
                          : OUTSIDE(p->table.known.v1_4.createOpImpl(NULL, node, &made));
    *impl = made;
    return code;
}

uint64_t package_free(struct package *p, void *impl)
{
    uint64_t code =
        p->v2 ? OUTSIDE(p->table.known.v2_0.freeOpImpl(p->handle, impl)) : OUTSIDE(p->table.known.v1_4.freeOpImpl(impl));
    if (code)
        api_log(LOG_WARN, "op package \"%s\": its freeOpImpl returned %" PRIu64 " (%s)", p->info->packageName, code,
                code_name(code));
    return code;
}

enum status package_check(struct package *p, const Qnn_OpConfig_t *config)
{
    uint64_t code = p->v2 ? OUTSIDE(p->table.known.v2_0.validateOpConfig(p->handle, *config))
                          : OUTSIDE(p->table.known.v1_4.validateOpConfig(*config));
    const char *type = config->v1.typeName, *node = config->v1.name ? config->v1.name : "";
    RETURN_IF(code, ST_INVALID_OP, "%s \"%s\": op package \"%s\" refuses it: its validateOpConfig returned %" PRIu64 " (%s)",
              type, node, p->info->packageName, code, code_name(code));
    return ST_OK;
}
