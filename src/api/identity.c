/* SPDX-License-Identifier: Apache-2.0 */
/* A backend's library when it is loaded: its identity comes from the backend's table, so that the interface is complete
 * before anybody asks, and the backend learns how to reach api/. */
#include "api/errors.h"
#include "api/interface_next.h"
#include "api/log.h"
#include "api/objects.h"
#include "api/op_package.h"
#include "api/translate.h"
#include "backend/backend.h"

static void log_for_backend(uint32_t level, const char *text)
{
    api_log((enum log_level)level, "%s", text);
}

static enum status describe_tensor(const struct tensor_desc *d, struct arena *a, void *ret)
{
    return tensor_to_client(d, "", 0, QNN_TENSOR_TYPE_UNDEFINED, a, ret);
}

__attribute__((constructor)) static void identify(void)
{
    backend_host = (struct backend_host){ .log = log_for_backend,
                                          .failed = error_returned,
                                          .with_context = context_with_state,
                                          .find_package = packages_find,
                                          .list_packages = packages_list,
                                          .describe_tensor = describe_tensor };
    log_set_tag(backend_this->log_tag);
    interface_identify(backend_this->id, backend_this->name, backend_this->version);
}
