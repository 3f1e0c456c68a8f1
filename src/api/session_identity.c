/* SPDX-License-Identifier: Apache-2.0 */
/* What a skel program has in place of a backend's library (identity.c), so that op packages run in it: there is no client
 * here whose objects they could ask for. What they have to say goes to standard error, where sessions may be debugged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/op_package.h"
#include "api/translate.h"
#include "backend/backend.h"

static bool debugged;

static void log_for_backend(uint32_t level, const char *text)
{
    (void)level;
    if (debugged)
        fprintf(stderr, "%s\n", text);
}

static enum status describe_tensor(const struct tensor_desc *d, struct arena *a, void *ret)
{
    return tensor_to_client(d, "", 0, QNN_TENSOR_TYPE_UNDEFINED, a, ret);
}

static const struct backend session_backend = {
    .name = "session",
    .package_infrastructure = backend_package_infrastructure,
};

const struct backend *const backend_this = &session_backend;

__attribute__((constructor)) static void identify(void)
{
    const char *debug = getenv("OPENQNN_SESSION_DEBUG");

    debugged = debug && strcmp(debug, "1") == 0;
    backend_host = (struct backend_host){ .log = log_for_backend,
                                          .find_package = packages_find,
                                          .list_packages = packages_list,
                                          .describe_tensor = describe_tensor };
}
