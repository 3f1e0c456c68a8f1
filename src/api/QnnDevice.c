/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDevice.h. What a device is and how it is described is the backend's business; its handle, its users and the
 * descriptions that clients hold are kept here. A backend without devices (CPU) answers UNSUPPORTED_FEATURE, which clients
 * take as "use the default device". */
#include "QNN/QnnDevice.h"

#include "api/objects.h"
#include "base/forks.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* users of devices, and the list below */
FORKS_HOLD(lock)
static VEC(void *) given; /* descriptions that clients have from getPlatformInfo */

static Qnn_ErrorHandle_t unsupported(void *log, const char *call)
{
    log_enter_quiet(log);
    status_fail(ST_NOT_SUPPORTED, "%s: the %s backend has no device objects; pass a NULL device handle to contexts", call,
                backend_this->name);
    return api_answer(COMP_DEVICE, ST_NOT_SUPPORTED);
}

/* ---- descriptions ----------------------------------------------------------------------------------------------------- */

static enum status give_platform(void **ret)
{
    void *p;
    TRY(backend_this->platform_info(NULL, &p));
    pthread_mutex_lock(&lock);
    void **slot = vec_push(&given);
    if (slot)
        *slot = p;
    pthread_mutex_unlock(&lock);
    if (!slot) {
        backend_this->platform_info_free(p);
        return status_fail(ST_NO_MEMORY, "no memory to describe the platform");
    }
    *ret = p;
    return ST_OK;
}

static bool take_platform(const void *p)
{
    LOCKED(&lock);
    for (size_t i = 0; i < given.n; i++) {
        if (given.at[i] != p)
            continue;
        given.at[i] = given.at[--given.n];
        if (!given.n)
            vec_finish(&given);
        return true;
    }
    return false;
}

Qnn_ErrorHandle_t QnnDevice_getPlatformInfo(Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t **platformInfo)
{
    API_CHECK(platformInfo, COMP_DEVICE, ST_INVALID_ARG, "platformInfo is NULL; give a pointer that receives it");
    if (!backend_this->platform_info)
        return unsupported(logger, "QnnDevice_getPlatformInfo");
    log_enter(logger);
    void *p;
    enum status st = give_platform(&p);
    if (st == ST_OK)
        *platformInfo = p;
    return api_error(COMP_DEVICE, st);
}

Qnn_ErrorHandle_t QnnDevice_freePlatformInfo(Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t *platformInfo)
{
    API_CHECK(platformInfo, COMP_DEVICE, ST_INVALID_ARG, "platformInfo is NULL; give a pointer that receives it");
    if (!backend_this->platform_info)
        return unsupported(logger, "QnnDevice_freePlatformInfo");
    log_enter(logger);
    API_CHECK(take_platform(platformInfo), COMP_DEVICE, ST_INVALID_ARG,
              "%p is not what QnnDevice_getPlatformInfo gave, or is freed already", (const void *)platformInfo);
    backend_this->platform_info_free((void *)(uintptr_t)platformInfo);
    return QNN_SUCCESS;
}

/* Clients may leave descriptions to the end of the library. */
__attribute__((destructor)) static void free_given(void)
{
    for (size_t i = 0; i < given.n; i++)
        backend_this->platform_info_free(given.at[i]);
    vec_finish(&given);
}

Qnn_ErrorHandle_t QnnDevice_getInfrastructure(const QnnDevice_Infrastructure_t *deviceInfra)
{
    API_CHECK(deviceInfra, COMP_DEVICE, ST_INVALID_ARG, "deviceInfra is NULL");
    if (!backend_this->infrastructure)
        return unsupported(NULL, "QnnDevice_getInfrastructure");
    /* The pointer is declared const, but it is where the answer goes. */
    *(void **)(uintptr_t)deviceInfra = backend_this->infrastructure();
    return QNN_SUCCESS;
}

/* ---- handles ---------------------------------------------------------------------------------------------------------- */

static enum status read_config(const QnnDevice_Config_t **config, struct backend_device_cfg *cfg)
{
    for (; config && *config; config++) {
        const QnnDevice_Config_t *c = *config;
        RETURN_IF(c->option != QNN_DEVICE_CONFIG_OPTION_CUSTOM && c->option != QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO,
                  ST_INVALID_CONFIG, "device option %u is unknown; 0 (custom) and 1 (platform info) are known",
                  (unsigned)c->option);
        TRY(c->option == QNN_DEVICE_CONFIG_OPTION_CUSTOM ? backend_this->device_config(c->customConfig, cfg)
                                                         : backend_this->device_platform(c->hardwareInfo, cfg));
    }
    return backend_this->device_check(cfg);
}

static enum status device_new(void *log, const QnnDevice_Config_t **config, void **ret)
{
    struct backend_device_cfg cfg = { 0 };
    if (backend_this->check_process)
        TRY(backend_this->check_process());
    RETURN_IF(log && handle_describe(log, HANDLE_LOG)[0] != 'v', ST_INVALID_ARG, "the log handle is %s",
              handle_describe(log, HANDLE_LOG));
    TRY(read_config(config, &cfg));
    struct api_device *d = mem_new(struct api_device);
    RETURN_IF(!d, ST_NO_MEMORY, "no memory for a device");
    *d = (struct api_device){ .log = log, .cfg = cfg };
    enum status st = backend_this->platform_info(&cfg, &d->info);
    if (st == ST_OK) {
        d->self = handle_open(HANDLE_DEVICE, d);
        st = d->self ? ST_OK : status_fail(ST_NO_MEMORY, "no memory for a device");
    }
    if (st != ST_OK) {
        if (d->info)
            backend_this->platform_info_free(d->info);
        mem_free(d);
        return st;
    }
    *ret = d->self;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnDevice_create(Qnn_LogHandle_t logger, const QnnDevice_Config_t **config, Qnn_DeviceHandle_t *device)
{
    API_CHECK(device, COMP_DEVICE, ST_INVALID_ARG, "device is NULL");
    if (!backend_this->device_config)
        return unsupported(logger, "QnnDevice_create");
    log_enter(logger);
    return api_error(COMP_DEVICE, device_new(logger, config, device));
}

Qnn_ErrorHandle_t QnnDevice_setConfig(Qnn_DeviceHandle_t device, const QnnDevice_Config_t **config)
{
    API_OBJECT(struct api_device, d, device, HANDLE_DEVICE, COMP_DEVICE);
    log_enter(d->log);
    LOCKED(&lock);
    struct backend_device_cfg cfg = d->cfg;
    enum status st = read_config(config, &cfg);
    API_CHECK(st != ST_OK || (cfg.soc_model == d->cfg.soc_model && cfg.arch == d->cfg.arch), COMP_DEVICE, ST_NOT_SUPPORTED,
              "the hardware of a device cannot be changed; create another device");
    if (st == ST_OK)
        d->cfg = cfg; /* for contexts made from now on */
    return api_error(COMP_DEVICE, st);
}

Qnn_ErrorHandle_t QnnDevice_getInfo(Qnn_DeviceHandle_t device, const QnnDevice_PlatformInfo_t **platformInfo)
{
    API_OBJECT(struct api_device, d, device, HANDLE_DEVICE, COMP_DEVICE);
    log_enter(d->log);
    API_CHECK(platformInfo, COMP_DEVICE, ST_INVALID_ARG, "platformInfo is NULL; give a pointer that receives it");
    *platformInfo = d->info;
    return QNN_SUCCESS;
}

enum status device_hold(void *handle, struct api_device **ret, struct backend_device_cfg *cfg)
{
    *ret = NULL;
    *cfg = (struct backend_device_cfg){ 0 };
    if (!handle)
        return backend_this->device_check ? backend_this->device_check(cfg) : ST_OK;
    LOCKED(&lock);
    struct api_device *d = handle_get(handle, HANDLE_DEVICE);
    RETURN_IF(!d, ST_INVALID_ARG, "the device handle is %s", handle_describe(handle, HANDLE_DEVICE));
    bool closing = d->closing;
    d->users += !closing;
    *cfg = d->cfg;
    *ret = closing ? NULL : d;
    handle_put(handle);
    RETURN_IF(closing, ST_INVALID_ARG, "the device is being freed");
    return ST_OK;
}

void device_release(struct api_device *d)
{
    if (!d)
        return;
    LOCKED(&lock);
    d->users--;
}

Qnn_ErrorHandle_t QnnDevice_free(Qnn_DeviceHandle_t device)
{
    uint32_t users;
    API_CHECK(in_callback() == CALLBACK_NONE, COMP_DEVICE, ST_NOT_PERMITTED,
              "a device cannot be freed from a function that the library called; free it afterwards");
    {
        API_OBJECT(struct api_device, d, device, HANDLE_DEVICE, COMP_DEVICE);
        log_enter(d->log);
        LOCKED(&lock);
        users = d->users;
        d->closing |= !users; /* no context is made on it from here on */
    }
    API_CHECK(!users, COMP_DEVICE, ST_ASSOCIATED, "%u contexts still use the device; free them first", users);
    struct api_device *d = handle_close(device, HANDLE_DEVICE, 0);
    API_CHECK(d, COMP_DEVICE, ST_INVALID_HANDLE, "the device handle is %s", handle_describe(device, HANDLE_DEVICE));
    backend_this->platform_info_free(d->info);
    mem_free(d);
    return QNN_SUCCESS;
}
