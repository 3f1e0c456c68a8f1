/* SPDX-License-Identifier: Apache-2.0 */
/* Op packages inside of a session: the libraries that the client registered are opened before the session is locked in, and
 * begun behind that. In a session of the client's own process they are open already and are only held once more. */
#include <dlfcn.h>
#include <string.h>

#include "api/op_library.h"
#include "api/op_package.h"
#include "backend/backend.h"
#include "rpc/rpc.h"

enum { LIBRARY_MAX = PACKAGE_PATH_MAX + 1024 };

/* The next library of a list; false: that was all. Path and provider are copied to `text`. */
static bool next_library(const char **list, char *text, size_t size, struct package_source *ret)
{
    size_t n = strcspn(*list, RPC_PACKAGE_END);

    if (!**list || n >= size)
        return false;
    memcpy(text, *list, n);
    text[n] = 0;
    *list += n + ((*list)[n] != 0);

    char *provider = strchr(text, RPC_PACKAGE_UNIT[0]);
    if (!provider)
        return false;
    *provider++ = 0;
    *ret = (struct package_source){ .path = text, .provider = provider, .in_session = true };
    return true;
}

/* What is opened here stays until the process ends; it is found again by its name, without a look at the file. */
static enum status open_libraries(const char *list)
{
    char text[LIBRARY_MAX];
    struct package_source s;

    while (next_library(&list, text, sizeof(text), &s))
        /* cppcheck-suppress leakReturnValNotUsed ; the comment above says why */
        RETURN_IF(!dlopen(s.path, RTLD_NOW | RTLD_LOCAL), ST_UNKNOWN_PACKAGE,
                  "op package \"%s\" cannot be opened in a session: %s", s.path, dlerror());
    return ST_OK;
}

static void end_libraries(void *packages)
{
    packages_release(packages);
}

static enum status begin_libraries(const char *list, void **ret)
{
    static const QnnBackend_OperationName_t none[1];
    char text[LIBRARY_MAX];
    struct package_source s;
    struct api_packages *p = packages_new(NULL);

    RETURN_IF(!p, ST_NO_MEMORY, "no memory for op packages of a session");
    while (next_library(&list, text, sizeof(text), &s)) {
        enum status st = packages_register(p, &s, none, 0);
        if (st != ST_OK) {
            packages_release(p);
            return st;
        }
    }
    *ret = p;
    return ST_OK;
}

const struct rpc_packages rpc_packages = {
    .open = open_libraries,
    .begin = begin_libraries,
    .end = end_libraries,
    .outside = backend_package_outside,
};
