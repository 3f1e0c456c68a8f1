/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDevice.h. A backend without devices (CPU) answers UNSUPPORTED_FEATURE, which clients take as "use the default device". */
#include "QNN/QnnDevice.h"

#include "api/errors.h"
#include "api/log.h"
#include "backend/backend.h"
#include "base/handle.h"

static Qnn_ErrorHandle_t unsupported(void *log, const char *call)
{
    log_enter_quiet(log);
    return api_fail(COMP_DEVICE, ST_NOT_SUPPORTED, "%s: the %s backend has no device objects; pass a NULL device handle to contexts", call,
                    backend_this->name);
}

/* No device was ever created here, so any handle is wrong. */
static Qnn_ErrorHandle_t bad_device(Qnn_DeviceHandle_t device)
{
    log_enter(NULL);
    return api_fail(COMP_DEVICE, ST_INVALID_HANDLE, "the device handle is %s", handle_describe(device, HANDLE_DEVICE));
}

Qnn_ErrorHandle_t QnnDevice_getPlatformInfo(Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t **platformInfo)
{
    API_CHECK(platformInfo, COMP_DEVICE, ST_INVALID_ARG, "platformInfo is NULL");
    return unsupported(logger, "QnnDevice_getPlatformInfo");
}

Qnn_ErrorHandle_t QnnDevice_freePlatformInfo(Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t *platformInfo)
{
    API_CHECK(platformInfo, COMP_DEVICE, ST_INVALID_ARG, "platformInfo is NULL");
    return unsupported(logger, "QnnDevice_freePlatformInfo");
}

Qnn_ErrorHandle_t QnnDevice_getInfrastructure(const QnnDevice_Infrastructure_t *deviceInfra)
{
    API_CHECK(deviceInfra, COMP_DEVICE, ST_INVALID_ARG, "deviceInfra is NULL");
    return unsupported(NULL, "QnnDevice_getInfrastructure");
}

Qnn_ErrorHandle_t QnnDevice_create(Qnn_LogHandle_t logger, const QnnDevice_Config_t **config, Qnn_DeviceHandle_t *device)
{
    (void)config;
    API_CHECK(device, COMP_DEVICE, ST_INVALID_ARG, "device is NULL");
    return unsupported(logger, "QnnDevice_create");
}

Qnn_ErrorHandle_t QnnDevice_setConfig(Qnn_DeviceHandle_t device, const QnnDevice_Config_t **config)
{
    (void)config;
    return bad_device(device);
}

Qnn_ErrorHandle_t QnnDevice_getInfo(Qnn_DeviceHandle_t device, const QnnDevice_PlatformInfo_t **platformInfo)
{
    (void)platformInfo;
    return bad_device(device);
}

Qnn_ErrorHandle_t QnnDevice_free(Qnn_DeviceHandle_t device)
{
    return bad_device(device);
}
