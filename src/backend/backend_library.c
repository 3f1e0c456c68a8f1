/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that belong to a backend lie in its folder, or in one of LD_LIBRARY_PATH; what is not there, the backend library
 * has itself. */
#include "backend/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* Whether the bytes of a file have the name of the symbol: a library of another product is not opened to find that out. */
static bool has_symbol(const char *path, const char *symbol)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool readable = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    void *at = readable ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    bool found = at != MAP_FAILED && memmem(at, (size_t)st.st_size, symbol, strlen(symbol)) != NULL;

    if (at != MAP_FAILED)
        munmap(at, (size_t)st.st_size);
    if (fd >= 0)
        close(fd);
    return found;
}

/* The first folder of LD_LIBRARY_PATH that has the library. Folders that are not absolute would depend on where the client
 * happens to be. */
static bool find_in_path(const char *name, const char *symbol, char *ret, size_t size)
{
    const char *list = getenv("LD_LIBRARY_PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":;");
        int written = snprintf(ret, size, "%.*s/%s", (int)n, list, name);
        bool fits = n && *list == '/' && written > 0 && (size_t)written < size;
        if (fits && has_symbol(ret, symbol))
            return true;
        list += n + (list[n] != '\0');
    }
    return false;
}

/* Beside this library, then in LD_LIBRARY_PATH. False: nowhere. */
static bool find_library(const char *name, const char *symbol, char *ret, size_t size)
{
    backend_own_folder(ret, size - strlen(name) - 1);
    if (!*ret)
        return false;
    strcat(ret, name);
    return access(ret, F_OK) == 0 || find_in_path(name, symbol, ret, size);
}

enum status backend_open_symbol(const char *name, const char *symbol, void **lib, void **ret)
{
    char path[4096];
    *ret = NULL;
    if (!find_library(name, symbol, path, sizeof path))
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
