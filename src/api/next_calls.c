/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that newer SDKs appended to the table of a backend library, behind those of include/QNN. */
#include "api/interface_next.h"
#include "api/objects.h"

/* What a validation's result looks like is not public; without it there is nothing that could be handed out. */
Qnn_ErrorHandle_t next_graph_validate(Qnn_GraphHandle_t graph, const struct next_validate_config **config,
                                      struct next_validation_result **result)
{
    (void)config, (void)result;
    API_OBJECT(struct api_graph, g, graph, HANDLE_GRAPH, COMP_GRAPH);
    log_enter(g->context->log);
    return api_fail(COMP_GRAPH, ST_NOT_SUPPORTED,
                    "QnnGraph_validate is not supported by the %s backend; QnnBackend_validateOpConfig checks each "
                    "operator, and so does QnnGraph_addNode",
                    backend_this->name);
}

Qnn_ErrorHandle_t next_graph_free_validation(struct next_validation_result *result)
{
    log_enter(NULL);
    API_CHECK(result, COMP_GRAPH, ST_INVALID_ARG, "result is NULL; give what QnnGraph_validate returned");
    return api_fail(
        COMP_GRAPH, ST_NOT_SUPPORTED,
        "QnnGraph_freeValidationResult is not supported by the %s backend: QnnGraph_validate gives no results here",
        backend_this->name);
}

Qnn_ErrorHandle_t next_register_package_from_binary(Qnn_BackendHandle_t backend, const void *binary, uint64_t size,
                                                    const char *interfaceProvider, const char *target)
{
    (void)target;
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_BACKEND);
    log_enter(b->log);
    API_CHECK(binary && size && interfaceProvider, COMP_BACKEND, ST_INVALID_ARG,
              "the op package, its size or interfaceProvider is missing; give the bytes of a library and the name of its "
              "function");
    return api_fail(COMP_BACKEND, ST_NOT_SUPPORTED, "the %s backend does not run op packages yet", backend_this->name);
}
