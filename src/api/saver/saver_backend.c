/* SPDX-License-Identifier: Apache-2.0 */
/* Backends, devices, profiles and signals, as they are recorded. */
#include "QNN/QnnSdkBuildId.h"
#include "api/interface_next.h"
#include "api/log.h"
#include "api/saver/saver.h"

static const uint32_t version[3] = { QNN_SAVER_API_VERSION_MAJOR, QNN_SAVER_API_VERSION_MINOR, QNN_SAVER_API_VERSION_PATCH };

__attribute__((constructor)) static void identify(void)
{
    interface_identify(QNN_BACKEND_ID_SAVER, QNN_SAVER_INTERFACE_PROVIDER_NAME, version);
}

/* ---- backends --------------------------------------------------------------------------------------------------------- */

Qnn_ErrorHandle_t QnnBackend_create(Qnn_LogHandle_t logger, const QnnBackend_Config_t **config, Qnn_BackendHandle_t *backend)
{
    struct saver_call c;
    saver_begin(&c, "QnnBackend_create", COMP_BACKEND);
    saver_maybe(&c, HANDLE_LOG, logger);
    saver_configs(&c, &saver_backend_config, config);
    saver_new(&c, HANDLE_BACKEND, NULL, backend);
    if (c.status == ST_OK)
        api_log(LOG_INFO, "calls are recorded in \"%s\"", saver_settings()->folder);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnBackend_setConfig(Qnn_BackendHandle_t backend, const QnnBackend_Config_t **config)
{
    struct saver_call c;
    saver_begin(&c, "QnnBackend_setConfig", COMP_BACKEND);
    saver_on(&c, HANDLE_BACKEND, backend);
    saver_configs(&c, &saver_backend_config, config);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnBackend_getApiVersion(Qnn_ApiVersion_t *pVersion)
{
    log_enter(NULL);
    API_CHECK(pVersion, COMP_BACKEND, ST_INVALID_ARG, "pVersion is NULL; give a pointer that receives the version");
    *pVersion = (Qnn_ApiVersion_t){ { QNN_API_VERSION_MAJOR, NEXT_CORE_MINOR, 0 }, { version[0], version[1], version[2] } };
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnBackend_getBuildId(const char **id)
{
    log_enter(NULL);
    API_CHECK(id, COMP_BACKEND, ST_INVALID_ARG, "id is NULL; give a pointer that receives the text");
    *id = QNN_SDK_BUILD_ID;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnBackend_registerOpPackage(Qnn_BackendHandle_t backend, const char *packagePath,
                                               const char *interfaceProvider, const char *target)
{
    struct saver_call c;
    saver_begin(&c, "QnnBackend_registerOpPackage", COMP_BACKEND);
    saver_on(&c, HANDLE_BACKEND, backend);
    saver_need(&c, packagePath, "packagePath");
    saver_need(&c, interfaceProvider, "interfaceProvider");
    saver_text(&c, packagePath);
    saver_text(&c, interfaceProvider);
    saver_text(&c, target);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnBackend_getSupportedOperations(Qnn_BackendHandle_t backend, uint32_t *numOperations,
                                                    const QnnBackend_OperationName_t **operations)
{
    struct saver_call c;
    saver_begin(&c, "QnnBackend_getSupportedOperations", COMP_BACKEND);
    saver_maybe(&c, HANDLE_BACKEND, backend);
    saver_need(&c, numOperations, "numOperations");
    saver_need(&c, operations, "operations");
    saver_arg(&c, "&(uint32_t){ 0 }, &(const QnnBackend_OperationName_t *){ NULL }");
    if (c.status == ST_OK)
        *numOperations = 0, *operations = NULL;
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnBackend_validateOpConfig(Qnn_BackendHandle_t backend, Qnn_OpConfig_t opConfig)
{
    struct saver_call c;
    saver_begin(&c, "QnnBackend_validateOpConfig", COMP_BACKEND);
    saver_on(&c, HANDLE_BACKEND, backend);
    saver_value(&c, &saver_op_config, &opConfig);
    c.question = true;
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnBackend_getProperty(Qnn_BackendHandle_t backendHandle, QnnBackend_Property_t **properties)
{
    struct saver_call c;
    saver_begin(&c, "QnnBackend_getProperty", COMP_BACKEND);
    saver_on(&c, HANDLE_BACKEND, backendHandle);
    saver_need(&c, properties, "properties");
    saver_arg(&c, "NULL /* what was asked for is not recorded */");
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnBackend_free(Qnn_BackendHandle_t backend)
{
    struct saver_call c;
    saver_begin(&c, "QnnBackend_free", COMP_BACKEND);
    struct saver_object *o = saver_on(&c, HANDLE_BACKEND, backend);
    return saver_end_free(&c, o);
}

Qnn_ErrorHandle_t QnnProperty_hasCapability(QnnProperty_Key_t key)
{
    struct saver_call c;
    saver_begin(&c, "QnnProperty_hasCapability", COMP_COMMON);
    saver_arg(&c, "%uu", key);
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnGlobalConfig_Set(const QnnGlobalConfig_t **config)
{
    struct saver_call c;
    saver_begin(&c, "QnnGlobalConfig_Set", COMP_GLOBAL);
    saver_configs(&c, &saver_global_config, config);
    return saver_end(&c);
}

/* ---- devices ---------------------------------------------------------------------------------------------------------- */

static const QnnDevice_PlatformInfo_t no_hardware = QNN_DEVICE_PLATFORM_INFO_INIT;

Qnn_ErrorHandle_t QnnDevice_getPlatformInfo(Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t **platformInfo)
{
    struct saver_call c;
    saver_begin(&c, "QnnDevice_getPlatformInfo", COMP_DEVICE);
    saver_maybe(&c, HANDLE_LOG, logger);
    saver_need(&c, platformInfo, "platformInfo");
    saver_arg(&c, "&(const QnnDevice_PlatformInfo_t *){ NULL }");
    if (c.status == ST_OK)
        *platformInfo = &no_hardware;
    c.question = true;
    return saver_end(&c);
}

/* The replay keeps what it got until it ends. */
Qnn_ErrorHandle_t QnnDevice_freePlatformInfo(Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t *platformInfo)
{
    (void)logger;
    log_enter(NULL);
    API_CHECK(platformInfo == &no_hardware, COMP_DEVICE, ST_INVALID_ARG,
              "platformInfo is not what QnnDevice_getPlatformInfo gave; give that");
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnDevice_getInfrastructure(const QnnDevice_Infrastructure_t *deviceInfra)
{
    struct saver_call c;
    saver_begin(&c, "QnnDevice_getInfrastructure", COMP_DEVICE);
    saver_need(&c, deviceInfra, "deviceInfra");
    saver_arg(&c, "&(QnnDevice_Infrastructure_t){ NULL }");
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnDevice_create(Qnn_LogHandle_t logger, const QnnDevice_Config_t **config, Qnn_DeviceHandle_t *device)
{
    struct saver_call c;
    saver_begin(&c, "QnnDevice_create", COMP_DEVICE);
    saver_maybe(&c, HANDLE_LOG, logger);
    saver_configs(&c, &saver_device_config, config);
    saver_new(&c, HANDLE_DEVICE, NULL, device);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnDevice_setConfig(Qnn_DeviceHandle_t device, const QnnDevice_Config_t **config)
{
    struct saver_call c;
    saver_begin(&c, "QnnDevice_setConfig", COMP_DEVICE);
    saver_on(&c, HANDLE_DEVICE, device);
    saver_configs(&c, &saver_device_config, config);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnDevice_getInfo(Qnn_DeviceHandle_t device, const QnnDevice_PlatformInfo_t **platformInfo)
{
    struct saver_call c;
    saver_begin(&c, "QnnDevice_getInfo", COMP_DEVICE);
    saver_on(&c, HANDLE_DEVICE, device);
    saver_need(&c, platformInfo, "platformInfo");
    saver_arg(&c, "&(const QnnDevice_PlatformInfo_t *){ NULL }");
    if (c.status == ST_OK)
        *platformInfo = &no_hardware;
    c.question = true;
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnDevice_free(Qnn_DeviceHandle_t device)
{
    struct saver_call c;
    saver_begin(&c, "QnnDevice_free", COMP_DEVICE);
    struct saver_object *o = saver_on(&c, HANDLE_DEVICE, device);
    return saver_end_free(&c, o);
}

/* ---- profiles --------------------------------------------------------------------------------------------------------- */

Qnn_ErrorHandle_t QnnProfile_create(Qnn_BackendHandle_t backend, QnnProfile_Level_t level, Qnn_ProfileHandle_t *profile)
{
    struct saver_call c;
    saver_begin(&c, "QnnProfile_create", COMP_PROFILE);
    struct saver_object *b = saver_on(&c, HANDLE_BACKEND, backend);
    saver_arg(&c, "%uu", level);
    saver_new(&c, HANDLE_PROFILE, b, profile);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnProfile_setConfig(Qnn_ProfileHandle_t profileHandle, const QnnProfile_Config_t **config)
{
    struct saver_call c;
    saver_begin(&c, "QnnProfile_setConfig", COMP_PROFILE);
    saver_on(&c, HANDLE_PROFILE, profileHandle);
    saver_configs(&c, &saver_profile_config, config);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnProfile_getEvents(Qnn_ProfileHandle_t profile, const QnnProfile_EventId_t **profileEventIds,
                                       uint32_t *numEvents)
{
    struct saver_call c;
    saver_begin(&c, "QnnProfile_getEvents", COMP_PROFILE);
    saver_on(&c, HANDLE_PROFILE, profile);
    saver_need(&c, profileEventIds, "profileEventIds");
    saver_need(&c, numEvents, "numEvents");
    saver_arg(&c, "&(const QnnProfile_EventId_t *){ NULL }, &(uint32_t){ 0 }");
    if (c.status == ST_OK)
        *profileEventIds = NULL, *numEvents = 0;
    return saver_end_dummy(&c);
}

/* Events have no ids here, so what is asked about them cannot be asked again. */
static Qnn_ErrorHandle_t about_event(const void *answer, const char *name)
{
    log_enter(NULL);
    API_CHECK(answer, COMP_PROFILE, ST_INVALID_ARG, "%s: the pointer that receives the answer is NULL", name);
    return QNN_SAVER_ERROR_DUMMY_RETVALUE;
}

Qnn_ErrorHandle_t QnnProfile_getSubEvents(QnnProfile_EventId_t eventId, const QnnProfile_EventId_t **subEventIds,
                                          uint32_t *numSubEvents)
{
    (void)eventId;
    if (subEventIds && numSubEvents)
        *subEventIds = NULL, *numSubEvents = 0;
    return about_event(subEventIds ? numSubEvents : NULL, "QnnProfile_getSubEvents");
}

Qnn_ErrorHandle_t QnnProfile_getEventData(QnnProfile_EventId_t eventId, QnnProfile_EventData_t *eventData)
{
    (void)eventId;
    return about_event(eventData, "QnnProfile_getEventData");
}

Qnn_ErrorHandle_t QnnProfile_getExtendedEventData(QnnProfile_EventId_t eventId, QnnProfile_ExtendedEventData_t *eventData)
{
    (void)eventId;
    return about_event(eventData, "QnnProfile_getExtendedEventData");
}

Qnn_ErrorHandle_t QnnProfile_free(Qnn_ProfileHandle_t profile)
{
    struct saver_call c;
    saver_begin(&c, "QnnProfile_free", COMP_PROFILE);
    struct saver_object *o = saver_on(&c, HANDLE_PROFILE, profile);
    return saver_end_free(&c, o);
}

/* ---- signals ---------------------------------------------------------------------------------------------------------- */

Qnn_ErrorHandle_t QnnSignal_create(Qnn_BackendHandle_t backend, const QnnSignal_Config_t **config,
                                   Qnn_SignalHandle_t *signal)
{
    struct saver_call c;
    saver_begin(&c, "QnnSignal_create", COMP_SIGNAL);
    struct saver_object *b = saver_on(&c, HANDLE_BACKEND, backend);
    saver_configs(&c, &saver_signal_config, config);
    saver_new(&c, HANDLE_SIGNAL, b, signal);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnSignal_setConfig(Qnn_SignalHandle_t signal, const QnnSignal_Config_t **config)
{
    struct saver_call c;
    saver_begin(&c, "QnnSignal_setConfig", COMP_SIGNAL);
    saver_on(&c, HANDLE_SIGNAL, signal);
    saver_configs(&c, &saver_signal_config, config);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnSignal_trigger(Qnn_SignalHandle_t signal)
{
    struct saver_call c;
    saver_begin(&c, "QnnSignal_trigger", COMP_SIGNAL);
    saver_on(&c, HANDLE_SIGNAL, signal);
    c.question = true; /* whether the call it aborts is still running differs */
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnSignal_free(Qnn_SignalHandle_t signal)
{
    struct saver_call c;
    saver_begin(&c, "QnnSignal_free", COMP_SIGNAL);
    struct saver_object *o = saver_on(&c, HANDLE_SIGNAL, signal);
    return saver_end_free(&c, o);
}

/* ---- newer calls ------------------------------------------------------------------------------------------------------ */

Qnn_ErrorHandle_t next_graph_validate(Qnn_GraphHandle_t graph, const struct next_validate_config **config,
                                      struct next_validation_result **result)
{
    (void)graph, (void)config, (void)result;
    log_enter(NULL);
    return api_fail(COMP_GRAPH, ST_NOT_SUPPORTED, "QnnGraph_validate cannot be recorded");
}

Qnn_ErrorHandle_t next_graph_free_validation(struct next_validation_result *result)
{
    (void)result;
    log_enter(NULL);
    return api_fail(COMP_GRAPH, ST_NOT_SUPPORTED, "QnnGraph_freeValidationResult cannot be recorded");
}

Qnn_ErrorHandle_t next_register_package_from_binary(Qnn_BackendHandle_t backend, const void *binary, uint64_t size,
                                                    const char *interfaceProvider, const char *target)
{
    (void)backend, (void)binary, (void)size, (void)interfaceProvider, (void)target;
    log_enter(NULL);
    return api_fail(COMP_BACKEND, ST_NOT_SUPPORTED, "op packages in memory cannot be recorded; register the library's file");
}
