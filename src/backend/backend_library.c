/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that belong to a backend are beside its own, or where the dynamic linker looks. */
#include "backend/backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static void *open_beside(const char *name)
{
    char path[4096];
    backend_own_folder(path, sizeof path - strlen(name) - 1);
    if (*path) {
        strcat(path, name);
        void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (lib || access(path, F_OK) == 0)
            return lib; /* what is there must work */
    }
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

enum status backend_open_symbol(const char *name, const char *symbol, void **lib, void **ret)
{
    const char *path = backend_own_path(), *slash = strrchr(path, '/');
    *lib = open_beside(name);
    RETURN_IF(!*lib, ST_LOADING, "%s cannot be opened: %s; put it beside %s or into LD_LIBRARY_PATH", name, dlerror(),
              slash ? slash + 1 : path);
    *ret = dlsym(*lib, symbol);
    if (*ret)
        return ST_OK;
    dlclose(*lib);
    *lib = NULL;
    return status_fail(ST_LOADING, "%s has no symbol %s; it belongs to another SDK", name, symbol);
}
