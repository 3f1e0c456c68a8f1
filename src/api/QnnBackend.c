/* SPDX-License-Identifier: Apache-2.0 */
/* QnnBackend.h: the root object, and the questions about operators. */
#include "QNN/QnnBackend.h"

#include "QNN/QnnOpDef.h"
#include "QNN/QnnSdkBuildId.h"
#include "api/context_load.h"
#include "api/interface_next.h"
#include "api/log_mirror.h"
#include "api/objects.h"
#include "api/op_config.h"
#include "api/wide_node.h"

static enum status check_config(const QnnBackend_Config_t **config, struct backend_cfg *cfg)
{
    for (; config && *config; config++) {
        const QnnBackend_Config_t *c = *config;
        if (c->option == QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING)
            continue; /* the explanation of the last failure is always kept */
        RETURN_IF(c->option != QNN_BACKEND_CONFIG_OPTION_CUSTOM && c->option != QNN_BACKEND_CONFIG_OPTION_PLATFORM,
                  ST_INVALID_CONFIG,
                  "backend option %u is unknown; 0 (custom), 1 (error reporting) and 2 (platform) are known",
                  (unsigned)c->option);
        RETURN_IF(c->option == QNN_BACKEND_CONFIG_OPTION_PLATFORM, ST_NOT_SUPPORTED,
                  "backend option 2 (platform \"%s\") is not supported", c->platformOption ? c->platformOption : "");
        RETURN_IF(!backend_this->backend_config, ST_INVALID_CONFIG, "the %s backend has no custom backend options",
                  backend_this->name);
        TRY(backend_this->backend_config(c->customConfig, cfg));
    }
    return ST_OK;
}

Qnn_ErrorHandle_t QnnBackend_create(Qnn_LogHandle_t logger, const QnnBackend_Config_t **config, Qnn_BackendHandle_t *backend)
{
    log_enter(logger);
    API_CHECK(backend, COMP_BACKEND, ST_INVALID_ARG, "backend is NULL; give a pointer that receives the handle");
    API_CHECK(!logger || handle_get(logger, HANDLE_LOG), COMP_BACKEND, ST_INVALID_ARG, "the log handle is %s",
              handle_describe(logger, HANDLE_LOG));
    if (logger)
        handle_put(logger);
    struct backend_cfg cfg = { 0 };
    enum status st = check_config(config, &cfg);
    if (st == ST_OK && backend_this->check_machine)
        st = backend_this->check_machine();
    if (st != ST_OK)
        return api_error(COMP_BACKEND, st);
    struct api_backend *b = mem_new(struct api_backend);
    struct api_packages *packages = b ? packages_new(logger) : NULL;
    void *h = packages ? handle_open(HANDLE_BACKEND, b) : NULL;
    if (!h) {
        packages_release(packages);
        mem_free(b);
        return api_fail(COMP_BACKEND, ST_NO_MEMORY, "no memory for a backend");
    }
    b->packages = packages;
    b->self = h;
    b->log = logger;
    b->cfg = cfg;
    api_log(LOG_INFO, "%s backend, build %s", backend_this->name, QNN_SDK_BUILD_ID);
    log_check_environment();
    *backend = h;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnBackend_setConfig(Qnn_BackendHandle_t backend, const QnnBackend_Config_t **config)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_BACKEND);
    log_enter(b->log);
    struct backend_cfg cfg = b->cfg;
    enum status st = check_config(config, &cfg);
    if (st == ST_OK)
        b->cfg = cfg; /* for contexts made from now on */
    return api_error(COMP_BACKEND, st);
}

Qnn_ErrorHandle_t QnnBackend_getApiVersion(Qnn_ApiVersion_t *pVersion)
{
    log_enter(NULL);
    API_CHECK(pVersion, COMP_BACKEND, ST_INVALID_ARG, "pVersion is NULL; give a pointer that receives the version");
    const uint32_t *v = backend_this->version;
    *pVersion = (Qnn_ApiVersion_t){ { QNN_API_VERSION_MAJOR, NEXT_CORE_MINOR, 0 }, { v[0], v[1], v[2] } };
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnBackend_getBuildId(const char **id)
{
    log_enter(NULL);
    API_CHECK(id, COMP_BACKEND, ST_INVALID_ARG, "id is NULL; give a pointer that receives the text");
    *id = QNN_SDK_BUILD_ID;
    return QNN_SUCCESS;
}

static QnnBackend_OperationName_t operations[OP_COUNT];
static uint32_t n_operations;

__attribute__((constructor)) static void list_operations(void)
{
    for (unsigned id = OP_NONE + 1; id < OP_PUBLIC_END; id++)
        if (backend_has_op(backend_this, (enum op_id)id))
            operations[n_operations++] = (QnnBackend_OperationName_t){ .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                                                                       .name = op_get((enum op_id)id)->name };
}

Qnn_ErrorHandle_t QnnBackend_registerOpPackage(Qnn_BackendHandle_t backend, const char *packagePath,
                                               const char *interfaceProvider, const char *target)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_BACKEND);
    log_enter(b->log);
    struct package_source s = { .path = packagePath, .provider = interfaceProvider, .target = target };
    enum status st = backend_this->check_process ? backend_this->check_process() : ST_OK;
    if (st == ST_OK)
        st = packages_register(b->packages, &s, operations, n_operations);
    return api_error(COMP_BACKEND, st);
}

Qnn_ErrorHandle_t QnnBackend_getSupportedOperations(Qnn_BackendHandle_t backend, uint32_t *numOperations,
                                                    const QnnBackend_OperationName_t **ops)
{
    log_enter(NULL);
    API_CHECK(numOperations && ops, COMP_BACKEND, ST_INVALID_ARG,
              "numOperations or operations is NULL; both receive the answer");
    uint32_t n = n_operations;
    const QnnBackend_OperationName_t *list = operations;
    if (backend) { /* NULL asks for the built-in operators */
        API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_BACKEND);
        log_enter(b->log);
        packages_operations(b->packages, &n, &list);
    }
    *numOperations = n;
    *ops = list;
    return QNN_SUCCESS;
}

static enum status validate_wide(const struct op_call *c, struct arena *a)
{
    struct wide_plan p;
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    TRY(wide_plan(c, a, &p));
    for (uint32_t i = 0; i < p.n_parts; i++) {
        struct op_call part = wide_call(c, &p, i, in, out);
        enum status st = op_check(&part);
        if (st == ST_OK)
            st = backend_supports(backend_this, &part);
        if (st != ST_OK)
            return status_prefix(st, WIDE_PART_TEXT, i + 1, p.n_parts);
    }
    return ST_OK;
}

/* ONNX Runtime asks whether it may have one HardSwish in place of two nodes, and leaves all parameters out of its question.
 * That can only be about the tensors, which every operation allows alike, so any operation will do. The node that is added
 * must have its own. */
static void complete_question(struct op_view *view)
{
    static const uint32_t relu = QNN_OP_ELEMENT_WISE_NEURON_OPERATION_RELU;
    int at = op_param_index(view->call.op, QNN_OP_ELEMENT_WISE_NEURON_PARAM_OPERATION);
    if (view->call.op->id == OP_ElementWiseNeuron && at >= 0 && !view->params[at].data)
        view->params[at] = (struct op_value){ .type = DT_U32, .count = 1, .data = &relu };
}

static enum status validate(struct api_backend *b, const Qnn_OpConfig_t *config)
{
    if (backend_this->check_process)
        TRY(backend_this->check_process());
    CLEANUP(arena_finish) struct arena a;
    arena_init(&a);
    struct op_view view;
    TRY(op_config_view(config, b->packages, &a, &view));
    complete_question(&view);
    if (wide_is(&view.call))
        return validate_wide(&view.call, &a);
    TRY(op_check(&view.call));
    TRY(backend_supports(backend_this, &view.call));
    return view.package ? package_validate(view.package, config) : ST_OK;
}

Qnn_ErrorHandle_t QnnBackend_validateOpConfig(Qnn_BackendHandle_t backend, Qnn_OpConfig_t opConfig)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_BACKEND);
    log_enter_quiet(b->log);
    return api_error(COMP_VALIDATE, validate(b, &opConfig));
}

Qnn_ErrorHandle_t QnnBackend_getProperty(Qnn_BackendHandle_t backendHandle, QnnBackend_Property_t **properties)
{
    API_OBJECT(struct api_backend, b, backendHandle, HANDLE_BACKEND, COMP_BACKEND);
    log_enter(b->log);
    API_CHECK(properties, COMP_BACKEND, ST_INVALID_ARG, "properties is NULL; give a list of pointers that ends with NULL");
    for (; *properties; properties++) {
        API_CHECK((*properties)->option == QNN_BACKEND_PROPERTY_OPTION_CUSTOM, COMP_BACKEND, ST_INVALID_ARG,
                  "backend property %u is unknown; 0 (custom) is known", (unsigned)(*properties)->option);
        API_CHECK(backend_this->backend_property, COMP_BACKEND, ST_NOT_SUPPORTED, "the %s backend has no custom properties",
                  backend_this->name);
        enum status st = backend_this->backend_property(&b->cfg, (*properties)->customProperty);
        if (st != ST_OK)
            return api_error(COMP_BACKEND, st);
    }
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnBackend_free(Qnn_BackendHandle_t backend)
{
    log_enter(NULL);
    API_CHECK(in_callback() == CALLBACK_NONE, COMP_BACKEND, ST_NOT_PERMITTED,
              "a backend cannot be freed from a function that the library called; free it afterwards");
    struct api_backend *b = handle_close(backend, HANDLE_BACKEND, 0);
    API_CHECK(b, COMP_BACKEND, ST_INVALID_HANDLE, "the backend handle is %s", handle_describe(backend, HANDLE_BACKEND));
    void *child;
    context_lists_finish(b);
    while ((child = children_take(&b->contexts)))
        context_destroy(child);
    while ((child = children_take(&b->signals)))
        signal_destroy(child);
    while ((child = children_take(&b->profiles)))
        profile_destroy(child);
    children_finish(&b->contexts);
    children_finish(&b->signals);
    children_finish(&b->profiles);
    packages_release(b->packages);
    mem_free(b);
    return QNN_SUCCESS;
}
