/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries; see tool_library.h. dlopen's own text is kept, but the usual causes are told first: users meet a library
 * of the wrong machine or a search path that does not hold the file far more often than anything else. */
#include "base/file_kind.h"
#include "common/tool_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "common/error_names.h"
#include "common/tool_file.h"

static const char *machine_name(uint16_t machine)
{
    static const struct {
        uint16_t machine;
        const char *name;
    } names[] = {
        { EM_X86_64, "x86-64" },  { EM_AARCH64, "aarch64" }, { EM_ARM, "32-bit ARM" },
        { EM_386, "32-bit x86" }, { 164, "Hexagon" },
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].machine == machine)
            return names[i].name;
    }
    return "another machine";
}

/* Explains why an existing file could not be opened as a library. */
static enum status explain_file(const char *path, const char *why)
{
    struct tool_file f = { 0 };
    TRY(tool_file_read(path, &f));
    enum status st;
    const unsigned char *p = f.data;
    if (f.size < EI_NIDENT + 4 || memcmp(p, ELFMAG, SELFMAG)) {
        st = status_fail(ST_INVALID_ARG, "the file is not a shared library: it does not begin as an ELF file does");
        st = status_prefix(file_kind_explain(st, f.data, f.size, FILE_ELF, "a shared library"), "\"%s\"", path);
    } else {
        uint16_t machine = (uint16_t)(p[18] | p[19] << 8);
        if (machine != EM_X86_64)
            st = status_fail(ST_INVALID_ARG,
                             "\"%s\" is a library for %s; this program needs one for x86-64 (on this host use "
                             "the x86_64-linux-clang build; model libraries: qnn-model-lib-generator -t x86_64-linux-clang)",
                             path, machine_name(machine));
        else
            st = status_fail(ST_INVALID_ARG, "\"%s\" could not be loaded: %s", path, why);
    }
    tool_file_free(&f);
    return st;
}

/* The places where a bare name is looked for, besides what dlopen does itself. */
static bool open_beside(const char *name, void **ret, struct str *tried)
{
    char own[PATH_MAX];
    tool_own_folder(own, sizeof(own));
    const char *root = getenv("QNN_SDK_ROOT");
    struct {
        const char *base, *below;
    } places[] = { { ".", "" }, { own, "" }, { own, "/../../lib/x86_64-linux-clang" }, { root, "/lib/x86_64-linux-clang" } };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[2 * PATH_MAX];
        if (!places[i].base || !places[i].base[0])
            continue;
        snprintf(path, sizeof(path), "%s%s/%s", places[i].base, places[i].below, name);
        str_addf(tried, "%s%s%s", tried->n ? ", " : "", places[i].base, places[i].below);
        if (access(path, F_OK) == 0 && (*ret = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
            return true;
    }
    return false;
}

/* The file of that name which the loader met in LD_LIBRARY_PATH and could not use; "" when there is none. */
static void find_refused(const char *name, char *ret, size_t size)
{
    const char *list = getenv("LD_LIBRARY_PATH");

    ret[0] = 0;
    while (list && *list) {
        const size_t n = strcspn(list, ":;");
        snprintf(ret, size, "%.*s/%s", (int)n, list, name);
        if (n && access(ret, F_OK) == 0)
            return;
        ret[0] = 0;
        list += n + (list[n] != 0);
    }
}

enum status library_open(const char *name, void **ret)
{
    struct str tried;
    if ((*ret = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
        return ST_OK;
    char why[512];
    snprintf(why, sizeof(why), "%s", dlerror());
    if (strchr(name, '/'))
        return access(name, F_OK) == 0 ? explain_file(name, why)
                                       : status_fail(ST_NOT_FOUND, "there is no file \"%s\"", name);
    str_init(&tried);
    bool found = open_beside(name, ret, &tried);
    enum status st = ST_OK;
    char refused[PATH_MAX];
    find_refused(name, refused, sizeof(refused));
    if (!found && refused[0])
        st = explain_file(refused, why);
    else if (!found && access(name, F_OK) == 0)
        st = explain_file(name, why);
    else if (!found)
        st = status_fail(ST_NOT_FOUND,
                         "library \"%s\" was not found in LD_LIBRARY_PATH (%s), nor in %s; give its path or set "
                         "LD_LIBRARY_PATH",
                         name, getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : "not set", str_text(&tried));
    str_finish(&tried);
    return st;
}

enum status library_symbol(void *library, const char *library_name, const char *symbol, void **ret)
{
    *ret = dlsym(library, symbol);
    RETURN_IF(!*ret, ST_NOT_FOUND, "library \"%s\" does not export %s", library_name, symbol);
    return ST_OK;
}

void library_close(void *library)
{
    if (library)
        dlclose(library);
}

enum status library_open_backend(const char *path, struct library_backend *ret)
{
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    void *symbol;
    memset(ret, 0, sizeof(*ret));
    TRY(library_open(path, &ret->library));
    ret->path = path;
    if (library_symbol(ret->library, path, "QnnInterface_getProviders", &symbol) != ST_OK)
        return status_prefix(ST_INVALID_ARG, "\"%s\" is no QNN backend", path);
    Qnn_ErrorHandle_t error = ((__typeof__(&QnnInterface_getProviders))symbol)(&list, &n);
    if (error != QNN_SUCCESS)
        return library_fail(NULL, error, "QnnInterface_getProviders of \"%s\"", path);
    for (uint32_t i = 0; i < n; i++) {
        Qnn_Version_t v = list[i]->apiVersion.coreApiVersion;
        ret->version = list[i]->apiVersion;
        if (v.major != QNN_API_VERSION_MAJOR || v.minor < QNN_API_VERSION_MINOR)
            continue;
        ret->id = list[i]->backendId;
        ret->provider = list[i]->providerName ? list[i]->providerName : "";
        ret->api = list[i]->QNN_INTERFACE_VER_NAME;
        return ST_OK;
    }
    Qnn_Version_t v = ret->version.coreApiVersion;
    return status_fail(ST_NOT_SUPPORTED,
                       "\"%s\" has core API %u.%u.%u (%u providers); this program needs %u.%u or a later minor "
                       "version: use a backend library of the same or a newer SDK",
                       path, v.major, v.minor, v.patch, n, QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR);
}

enum status library_open_beside(const char *name, const char *beside, void **ret)
{
    char path[PATH_MAX];
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    snprintf(path, sizeof(path), "%.*s/%s", slash ? (int)(slash - beside) : 0, slash ? beside : "", name);
    if (slash && access(path, F_OK) == 0 && library_open(path, ret) == ST_OK)
        return ST_OK;
    return library_open(name, ret);
}

enum status library_open_system(const char *path, const char *beside, struct library_system *ret)
{
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    void *symbol;
    const char *name = path ? path : "libQnnSystem.so";
    memset(ret, 0, sizeof(*ret));
    TRY(path ? library_open(path, &ret->library) : library_open_beside(name, beside, &ret->library));
    TRY(library_symbol(ret->library, name, "QnnSystemInterface_getProviders", &symbol));
    Qnn_ErrorHandle_t error = ((__typeof__(&QnnSystemInterface_getProviders))symbol)(&list, &n);
    if (error != QNN_SUCCESS)
        return library_fail(NULL, error, "QnnSystemInterface_getProviders of \"%s\"", name);
    for (uint32_t i = 0; i < n; i++) {
        ret->version = list[i]->systemApiVersion;
        if (ret->version.major != QNN_SYSTEM_API_VERSION_MAJOR || ret->version.minor < QNN_SYSTEM_API_VERSION_MINOR)
            continue;
        ret->api = list[i]->QNN_SYSTEM_INTERFACE_VER_NAME;
        return ST_OK;
    }
    return status_fail(ST_NOT_SUPPORTED, "\"%s\" has System API %u.%u; this program needs %u.%u or a later minor version",
                       name, ret->version.major, ret->version.minor, QNN_SYSTEM_API_VERSION_MAJOR,
                       QNN_SYSTEM_API_VERSION_MINOR);
}

/* Explanations of the libraries begin with "NAME (code, 0xcode): ", which the tools' own messages say, too. */
static const char *without_name(const char *why, const char *name)
{
    const size_t n = strlen(name);
    const char *end = strstr(why, "): ");

    return strncmp(why, name, n) == 0 && why[n] == ' ' && why[n + 1] == '(' && end ? end + 3 : why;
}

enum status library_fail(const QNN_INTERFACE_VER_TYPE *api, Qnn_ErrorHandle_t error, const char *fmt, ...)
{
    char what[512];
    const char *text = NULL, *brief = NULL;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    if (api && api->errorGetMessage)
        api->errorGetMessage(error, &brief);
    if (api && api->errorGetVerboseMessage && api->errorGetVerboseMessage(error, &text) != QNN_SUCCESS)
        text = NULL;
    uint32_t code = (uint32_t)QNN_GET_ERROR_CODE(error);
    const char *why = text && text[0] ? text : brief ? brief : "";
    why = without_name(why, error_name(code));
    enum status st = status_fail(ST_STATE, "%s: %s %" PRIu32 " 0x%" PRIx32 "%s%s", what, error_name(code), code, code,
                                 why[0] ? ": " : "", why);
    if (text && api->errorFreeVerboseMessage)
        api->errorFreeVerboseMessage(text);
    return st;
}
