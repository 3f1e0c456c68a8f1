/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: what a client's HTP device options mean, and the description of the virtual SoC.
 *
 * QnnHtpDevice_CustomConfig_t has had two layouts without a version field: values at byte 4 (12 bytes, SDKs up to 2.43) and
 * at byte 8 (16 bytes). Both are read from a client's memory as words; which one it is shows by where a value lies that
 * makes sense. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <QNN/HTP/QnnHtpDevice.h>

#include "backend/htp/htp_backend.h"
#include "base/mem.h"

static_assert(offsetof(QnnHtpDevice_CustomConfig_t, socModel) == 8, "the layout of 16 bytes");

/* Word `at` of the client's structure. */
static uint32_t word(const void *custom, unsigned at)
{
    uint32_t v;
    memcpy(&v, (const char *)custom + 4 * at, sizeof v);
    return v;
}

static bool soc_has_htp(uint32_t model)
{
    const struct rpc_soc *soc = rpc_soc_find(model);
    return soc && soc->has_htp;
}

/* Old: [option, model]; new: [option, padding, model]. In the old layout word 2 is what the client left in the rest of the
 * union. */
static enum status take_soc(const void *c, struct backend_device_cfg *cfg)
{
    uint32_t old = word(c, 1), model = word(c, 2);
    if (!soc_has_htp(model) && soc_has_htp(old))
        model = old;
    const struct rpc_soc *s = model ? rpc_soc_find(model) : htp_soc_default();
    RETURN_IF(!s, ST_INVALID_CONFIG,
              "HTP device config: SoC model %u is not known; 43 (SM8550), 57 (SM8650), 69 (SM8750) and 87 (SM8850) are some "
              "that are",
              model);
    RETURN_IF(!s->has_htp, ST_INVALID_CONFIG, "HTP device config: SoC model %u (%s) has an older DSP without an HTP", model,
              s->name);
    cfg->soc_model = s->model;
    return ST_OK;
}

/* Old: [option, device, value]; new: [option, padding, device, value]. Devices have small numbers, so an architecture in
 * word 2 is a value. */
static enum status take_arch(const void *c, struct backend_device_cfg *cfg)
{
    uint32_t arch = htp_arch_known(word(c, 2)) ? word(c, 2) : word(c, 3);
    if (arch == QNN_HTP_DEVICE_ARCH_NONE)
        return ST_OK;
    RETURN_IF(!htp_arch_known(arch), ST_INVALID_CONFIG,
              "HTP device config: architecture %u; 68, 69, 73, 75, 79, 81, 85 and 89 are known", arch);
    cfg->arch = arch;
    cfg->flags |= DEVICE_ARCH_GIVEN;
    return ST_OK;
}

static void take_flag(const void *c, uint32_t flag, struct backend_device_cfg *cfg)
{
    bool on = (word(c, 2) & 0xff) == 1 || (word(c, 3) & 0xff) == 1;
    cfg->flags = on ? cfg->flags | flag : cfg->flags & ~flag;
}

enum status htp_device_config(const void *custom, struct backend_device_cfg *cfg)
{
    RETURN_IF(!custom, ST_INVALID_CONFIG,
              "HTP device config: customConfig is NULL; a QnnHtpDevice_CustomConfig_t is expected");
    uint32_t option = word(custom, 0);
    switch (option) {
    case QNN_HTP_DEVICE_CONFIG_OPTION_SOC:
        return take_soc(custom, cfg);
    case QNN_HTP_DEVICE_CONFIG_OPTION_ARCH:
        return take_arch(custom, cfg);
    case QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD:
        take_flag(custom, DEVICE_SIGNED, cfg);
        return ST_OK;
    case QNN_HTP_DEVICE_CONFIG_OPTION_SECUREPD:
        take_flag(custom, DEVICE_SECURE, cfg);
        return ST_OK;
    case QNN_HTP_DEVICE_CONFIG_OPTION_ASYNC_EXECUTE:
        take_flag(custom, DEVICE_ASYNC, cfg);
        return ST_OK;
    case QNN_HTP_DEVICE_CONFIG_OPTION_DYNAMIC_PARTITIONING:
        take_flag(custom, DEVICE_PARTITIONED, cfg);
        return ST_OK;
    case QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID:
        cfg->app_uid = word(custom, 2);
        return ST_OK;
    case QNN_HTP_DEVICE_CONFIG_OPTION_HTP_EXTENSION:
        return ST_OK;
    default:
        return status_fail(ST_INVALID_CONFIG, "HTP device config: option %u is unknown; 0 (SOC) to 6 (APP_UID) are known",
                           option);
    }
}

/* A tree that the client built, usually to prepare for hardware it does not have. */
enum status htp_device_platform(const void *platform, struct backend_device_cfg *cfg)
{
    const QnnDevice_PlatformInfo_t *p = platform;
    RETURN_IF(!p || p->version != QNN_DEVICE_PLATFORM_INFO_VERSION_1, ST_INVALID_CONFIG,
              "platform info is NULL or of version %u; 1 is known", p ? (unsigned)p->version : 0);
    RETURN_IF(!p->v1.numHwDevices || !p->v1.hwDevices, ST_INVALID_CONFIG, "platform info names no hardware device");
    const QnnDevice_HardwareDeviceInfo_t *h = p->v1.hwDevices;
    RETURN_IF(h->version != QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1, ST_INVALID_CONFIG,
              "hardware device info of version %u; 1 is known", (unsigned)h->version);
    const QnnHtpDevice_DeviceInfoExtension_t *x = h->v1.deviceInfoExtension;
    if (!x)
        return ST_OK; /* some of the cores of the default device */
    RETURN_IF(x->devType != QNN_HTP_DEVICE_TYPE_ON_CHIP, ST_INVALID_CONFIG,
              "platform info: device type %u; 0 (on chip) is supported", (unsigned)x->devType);
    const QnnHtpDevice_OnChipDeviceInfoExtension_t *chip = &x->onChipDevice;
    if (chip->arch != QNN_HTP_DEVICE_ARCH_NONE && chip->arch != QNN_HTP_DEVICE_ARCH_UNKNOWN) {
        RETURN_IF(!htp_arch_known((uint32_t)chip->arch), ST_INVALID_CONFIG, "platform info: architecture %u is unknown",
                  (unsigned)chip->arch);
        cfg->arch = (uint32_t)chip->arch;
        cfg->flags |= DEVICE_ARCH_GIVEN;
    }
    const struct rpc_soc *s = chip->socModel ? rpc_soc_find(chip->socModel) : NULL;
    RETURN_IF(chip->socModel && (!s || !s->has_htp), ST_INVALID_CONFIG, "platform info: SoC model %u is %s", chip->socModel,
              s ? "one without an HTP" : "not known");
    if (s)
        cfg->soc_model = s->model;
    if (chip->signedPdSupport)
        cfg->flags |= DEVICE_SIGNED;
    return ST_OK;
}

/* Clients name such SoCs by their number alone, and expect a device. */
static uint32_t assumed_arch(const struct rpc_soc *soc)
{
    uint32_t arch = rpc_soc_find(HTP_DEFAULT_SOC)->arch;

    backend_log(BACKEND_WARN,
                "HTP device config: the architecture of SoC model %u (%s) is not public; v%u is assumed. Option ARCH "
                "chooses another",
                soc->model, soc->name, arch);
    return arch;
}

/* A SoC wins over an architecture; without both the default SoC is meant. */
enum status htp_device_check(struct backend_device_cfg *cfg)
{
    const struct rpc_soc *s = cfg->soc_model ? rpc_soc_find(cfg->soc_model) : NULL;
    cfg->given = s || cfg->flags & DEVICE_ARCH_GIVEN;
    if (!s && !(cfg->flags & DEVICE_ARCH_GIVEN))
        s = htp_soc_default();
    if (!s)
        s = rpc_soc_of_arch(cfg->arch);
    if (s && !s->arch && !(cfg->flags & DEVICE_ARCH_GIVEN))
        cfg->arch = assumed_arch(s);
    if (s && s->arch) {
        if (cfg->flags & DEVICE_ARCH_GIVEN && cfg->arch != s->arch && cfg->soc_model)
            backend_log(BACKEND_WARN, "HTP device config: SoC %s has architecture v%u; the option ARCH v%u is ignored",
                        s->name, s->arch, cfg->arch);
        if (cfg->soc_model || !(cfg->flags & DEVICE_ARCH_GIVEN))
            cfg->arch = s->arch;
    }
    if (cfg->soc_model || !(cfg->flags & DEVICE_ARCH_GIVEN))
        cfg->soc_model = s->model;
    return ST_OK;
}

/* ---- the description -------------------------------------------------------------------------------------------------- */

enum { MAX_CORES = 8 };

/* One allocation: the tree that clients walk. */
struct platform {
    QnnDevice_PlatformInfo_t info;
    QnnDevice_HardwareDeviceInfo_t device;
    QnnHtpDevice_DeviceInfoExtension_t extension;
    QnnDevice_CoreInfo_t cores[MAX_CORES];
};
static_assert(offsetof(struct platform, info) == 0, "freed by the address the client has");

enum status htp_platform_info(const struct backend_device_cfg *cfg, void **ret)
{
    struct platform *p = mem_new(struct platform);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory to describe the platform");
    const struct rpc_soc *def = htp_soc_default(), *s = cfg && cfg->soc_model ? rpc_soc_find(cfg->soc_model)
                                                        : cfg                 ? rpc_soc_of_arch(cfg->arch)
                                                                              : def;
    if (!s)
        s = def;
    p->extension = (QnnHtpDevice_DeviceInfoExtension_t){
        .devType = QNN_HTP_DEVICE_TYPE_ON_CHIP,
        .onChipDevice = { .vtcmSize = s->vtcm_mb,
                          .socModel = cfg ? cfg->soc_model : s->model,
                          .signedPdSupport = true,
                          .dlbcSupport = s->arch >= 69,
                          .arch = (QnnHtpDevice_Arch_t)(cfg ? cfg->arch : s->arch) },
    };
    for (uint32_t i = 0; i < s->cores && i < MAX_CORES; i++)
        p->cores[i] = (QnnDevice_CoreInfo_t){ .version = QNN_DEVICE_CORE_INFO_VERSION_1,
                                              .v1 = { .coreId = i, .coreType = QNN_HTP_CORE_TYPE_NSP } };
    p->device = (QnnDevice_HardwareDeviceInfo_t){
        .version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1,
        .v1 = { .deviceId = 0,
                .deviceType = 0,
                .numCores = s->cores,
                .cores = p->cores,
                .deviceInfoExtension = &p->extension },
    };
    p->info = (QnnDevice_PlatformInfo_t){ .version = QNN_DEVICE_PLATFORM_INFO_VERSION_1,
                                          .v1 = { .numHwDevices = 1, .hwDevices = &p->device } };
    if (cfg)
        htp_soc_use(cfg->arch); /* votes know no device */
    *ret = p;
    return ST_OK;
}

void htp_platform_info_free(void *platform)
{
    mem_free(platform);
}
