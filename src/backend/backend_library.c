/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that belong to a backend lie in its folder; what is not there, the backend library has itself. */
#include "backend/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"

const char *backend_own_path(void)
{
    Dl_info i;
    return dladdr((void *)(uintptr_t)&backend_own_path, &i) && i.dli_fname ? i.dli_fname : "";
}

void backend_own_folder(char *ret, size_t size)
{
    const char *path = backend_own_path(), *slash = strrchr(path, '/');
    snprintf(ret, size, "%.*s", slash ? (int)(slash - path + 1) : 0, path);
}

enum status backend_open_symbol(const char *name, const char *symbol, void **lib, void **ret)
{
    char path[4096];
    *ret = NULL;
    backend_own_folder(path, sizeof path - strlen(name) - 1);
    if (!*path)
        return ST_OK; /* never the folder that the client happens to be in */
    strcat(path, name);
    if (access(path, F_OK) != 0)
        return ST_OK;

    *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*lib) { /* dlerror says it in words that depend on the locale */
        errno = descriptors_errno();
        TRY(descriptors_left(ST_LOADING, name));
    }
    RETURN_IF(!*lib, ST_LOADING, "%s cannot be opened: %s; copy it again, or remove it: it can be done without", path,
              dlerror());
    *ret = dlsym(*lib, symbol);
    if (*ret)
        return ST_OK;

    dlclose(*lib);
    *lib = NULL;
    return status_fail(ST_LOADING, "%s has no symbol %s; it belongs to another SDK", name, symbol);
}
