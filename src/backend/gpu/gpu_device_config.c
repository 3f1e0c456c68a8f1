/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDevice objects: every OpenCL device that can be used is a hardware device with one core. Their numbers are places in
 * the list of gpu_devices; the first one is what contexts without a device handle take. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <QNN/GPU/QnnGpuDevice.h>

#include "backend/gpu/gpu_backend.h"
#include "base/mem.h"

enum status gpu_device_config(const void *custom, struct backend_device_cfg *cfg)
{
    (void)custom, (void)cfg;
    return status_fail(ST_INVALID_CONFIG,
                       "GPU device config: there are no custom options; choose a device by platform info");
}

enum status gpu_device_platform(const void *platform, struct backend_device_cfg *cfg)
{
    const QnnDevice_PlatformInfo_t *p = platform;
    RETURN_IF(!p || p->version != QNN_DEVICE_PLATFORM_INFO_VERSION_1, ST_INVALID_CONFIG,
              "platform info is NULL or of version %u; 1 is known", p ? (unsigned)p->version : 0);
    RETURN_IF(!p->v1.numHwDevices || !p->v1.hwDevices, ST_INVALID_CONFIG, "platform info names no hardware device");
    const QnnDevice_HardwareDeviceInfo_t *h = p->v1.hwDevices;
    RETURN_IF(h->version != QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1, ST_INVALID_CONFIG,
              "hardware device info of version %u; 1 is known", (unsigned)h->version);
    cfg->soc_model = h->v1.deviceId == QNN_DEVICE_DEFAULT_DEVICE_ID ? 0 : 1 + h->v1.deviceId;
    return ST_OK;
}

enum status gpu_device_check(struct backend_device_cfg *cfg)
{
    cl_device_id devices[GPU_MAX_DEVICES];
    uint32_t n;
    cfg->given = cfg->soc_model;
    if (!cfg->soc_model)
        return ST_OK;
    TRY(gpu_devices(devices, &n));
    RETURN_IF(cfg->soc_model > n, ST_INVALID_CONFIG, "device id %u; there are %u OpenCL devices, counted from 0",
              cfg->soc_model - 1, n);
    return ST_OK;
}

/* ---- the description -------------------------------------------------------------------------------------------------- */

/* One allocation: the tree that clients walk. */
struct platform {
    QnnDevice_PlatformInfo_t info;
    QnnDevice_HardwareDeviceInfo_t devices[GPU_MAX_DEVICES];
    QnnGpuDevice_DeviceInfoExtension_t extensions[GPU_MAX_DEVICES];
    QnnDevice_CoreInfo_t core;
    char names[GPU_MAX_DEVICES][128];
};
static_assert(offsetof(struct platform, info) == 0, "freed by the address the client has");

static void describe(struct platform *p, uint32_t at, uint32_t number, cl_device_id device)
{
    gpu_cl.GetDeviceInfo(device, CL_DEVICE_NAME, sizeof p->names[at] - 1, p->names[at], NULL);
    p->extensions[at] = (QnnGpuDevice_DeviceInfoExtension_t){ .option = QNN_GPU_DEVICE_INFO_EXTENSION_V1,
                                                              .deviceInfoV1.adrenoTier = p->names[at] };
    p->devices[at] = (QnnDevice_HardwareDeviceInfo_t){
        .version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1,
        .v1 = { .deviceId = number,
                .deviceType = number ? QNN_GPU_DEVICE_SECONDARY_GPU : QNN_GPU_DEVICE_PRIMARY_GPU,
                .numCores = 1,
                .cores = &p->core,
                .deviceInfoExtension = &p->extensions[at] },
    };
}

enum status gpu_platform_info(const struct backend_device_cfg *cfg, void **ret)
{
    cl_device_id devices[GPU_MAX_DEVICES];
    uint32_t n, one = cfg && cfg->soc_model ? cfg->soc_model - 1 : 0;
    TRY(gpu_devices(devices, &n));
    RETURN_IF(one >= n, ST_INVALID_CONFIG, "device id %u; there are %u OpenCL devices, counted from 0", one, n);
    struct platform *p = mem_new(struct platform);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory to describe the platform");
    p->core = (QnnDevice_CoreInfo_t){ .version = QNN_DEVICE_CORE_INFO_VERSION_1, .v1 = { .coreId = 0 } };
    for (uint32_t i = 0; i < n && !cfg; i++)
        describe(p, i, i, devices[i]);
    if (cfg)
        describe(p, 0, one, devices[one]);
    p->info = (QnnDevice_PlatformInfo_t){ .version = QNN_DEVICE_PLATFORM_INFO_VERSION_1,
                                          .v1 = { .numHwDevices = cfg ? 1 : n, .hwDevices = p->devices } };
    *ret = p;
    return ST_OK;
}

void gpu_platform_info_free(void *platform)
{
    mem_free(platform);
}
