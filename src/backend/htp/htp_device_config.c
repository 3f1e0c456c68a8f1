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
static enum status take_soc(const struct htp_option *option, const void *c, void *settings)
{
    struct backend_device_cfg *cfg = settings;
    uint32_t old = word(c, 1);
    uint32_t model = word(c, 2);

    if (!soc_has_htp(model) && soc_has_htp(old))
        model = old;
    const struct rpc_soc *s = model ? rpc_soc_find(model) : htp_soc_default();
    RETURN_IF(!s, ST_INVALID_CONFIG,
              "HTP device config: %s: model %u is not known; 43 (SM8550), 57 (SM8650), 69 (SM8750) and 87 "
              "(SM8850) are some that are",
              option->name, model);
    RETURN_IF(!s->has_htp, ST_INVALID_CONFIG, "HTP device config: %s: model %u (%s) has an older DSP without an HTP",
              option->name, model, s->name);
    cfg->soc_model = s->model;
    return ST_OK;
}

static enum status check_device_id(const struct htp_option *option, uint32_t device)
{
    RETURN_IF(device != 0, ST_INVALID_CONFIG, "HTP device config: %s: device %u; there is one, with number 0", option->name,
              device);
    return ST_OK;
}

/* Old: [option, device, value]; new: [option, padding, device, value]. Devices have small numbers, so an architecture in
 * word 2 is a value. */
static enum status take_arch(const struct htp_option *option, const void *c, void *settings)
{
    struct backend_device_cfg *cfg = settings;
    bool old = htp_arch_known(word(c, 2));
    uint32_t arch = old ? word(c, 2) : word(c, 3);

    if (arch == QNN_HTP_DEVICE_ARCH_NONE)
        return ST_OK;
    RETURN_IF(!htp_arch_known(arch), ST_INVALID_CONFIG, "HTP device config: %s: architecture %u; allowed: %s", option->name,
              arch, option->allowed);
    TRY(check_device_id(option, old ? word(c, 1) : word(c, 2)));
    cfg->arch = arch;
    cfg->flags |= DEVICE_ARCH_GIVEN;
    return ST_OK;
}

/* The row's `at` is the bit of the flag. */
static enum status take_flag(const struct htp_option *option, const void *c, void *settings)
{
    struct backend_device_cfg *cfg = settings;
    bool on = (word(c, 2) & 0xff) == 1 || (word(c, 3) & 0xff) == 1;

    cfg->flags = on ? cfg->flags | option->at : cfg->flags & ~(uint32_t)option->at;
    if (on && option->outcome == HTP_NO_EFFECT)
        htp_option_warn(&htp_device_options, option);
    return ST_OK;
}

static enum status take_uid(const struct htp_option *option, const void *c, void *settings)
{
    struct backend_device_cfg *cfg = settings;

    cfg->app_uid = word(c, 2);
    if (cfg->app_uid)
        htp_option_warn(&htp_device_options, option);
    return ST_OK;
}

static enum status take_extension(const struct htp_option *option, const void *c, void *settings)
{
    (void)c, (void)settings;
    htp_option_warn(&htp_device_options, option);
    return ST_OK;
}

/* clang-format off */
#define OPTION(id, ...) { .number = QNN_HTP_DEVICE_CONFIG_OPTION_##id, .name = #id, __VA_ARGS__ }
#define DOMAIN(bit) .allowed = "true, false", .take = take_flag, .at = bit, \
    .test = "test_htp_session.c: test_process_domains, test_htp_tools.py: test_domain"
#define FLAG(bit) .allowed = "true, false", .take = take_flag, .at = bit, .outcome = HTP_NO_EFFECT, \
    .test = "test_htp_limits.c: test_device_told_once"
static const struct htp_option option_rows[] = {
    OPTION(SOC, .allowed = "model ids of the public device list that have an HTP; 0: the default, SM8550 or "
                           "OPENQNN_SOC",
        .take = take_soc, .test = "test_htp_device.c: test_soc_and_arch",
        .effect = "architecture, VTCM, vector threads, cores, sessions and rates of the device; wins over ARCH"),
    OPTION(ARCH, .allowed = "68, 69, 73, 75, 79, 81, 85 and 89; 0: none; device 0", .take = take_arch,
        .test = "test_htp_device.c: test_soc_and_arch, test_htp_limits.c: test_device_ids",
        .effect = "the device is the first SoC of that architecture; other devices than 0 are refused"),
    OPTION(SIGNEDPD, DOMAIN(DEVICE_SIGNED),
        .effect = "contexts are on sessions of a signed process domain, apart from those of unsigned ones; the log tells "
                  "which one a context is on. A session is a process of this computer: it needs no signature, and has the "
                  "same rights either way"),
    OPTION(SECUREPD, DOMAIN(DEVICE_SECURE), .effect = "as SIGNEDPD, for a secure process domain"),
    OPTION(ASYNC_EXECUTE, FLAG(DEVICE_ASYNC),
        .effect = "QnnGraph_executeAsync is always available"),
    OPTION(DYNAMIC_PARTITIONING, FLAG(DEVICE_PARTITIONED),
        .effect = "a context goes to the first session that has room for it"),
    OPTION(APP_UID, .allowed = "a user id, 0: none", .take = take_uid, .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_device_told_once",
        .effect = "sessions belong to the user who runs the program"),
    OPTION(HTP_EXTENSION, .allowed = "anything", .take = take_extension, .outcome = HTP_NO_EFFECT,
        .test = "test_htp_limits.c: test_device_told_once", .effect = "the public headers do not say what it does"),
};
/* clang-format on */

enum { ROWS = sizeof option_rows / sizeof option_rows[0] };
static _Atomic bool option_warned[ROWS];
const struct htp_option_table htp_device_options = {
    .kind = "device",
    .prefix = "QNN_HTP_DEVICE_CONFIG_OPTION_",
    .rows = option_rows,
    .n = ROWS,
    .warned = option_warned,
};

enum status htp_device_config(const void *custom, struct backend_device_cfg *cfg)
{
    RETURN_IF(!custom, ST_INVALID_CONFIG,
              "HTP device config: customConfig is NULL; a QnnHtpDevice_CustomConfig_t is expected");
    const struct htp_option *option = htp_option_find(&htp_device_options, word(custom, 0));
    RETURN_IF(!option, ST_INVALID_CONFIG, "HTP device config: option %u is unknown; 0 (SOC) to 6 (APP_UID) are known",
              word(custom, 0));
    return htp_option_take(&htp_device_options, option, custom, cfg);
}

/* ---- hardware as the client describes it ------------------------------------------------------------------------------ */

static enum status take_chip(const QnnHtpDevice_OnChipDeviceInfoExtension_t *chip, struct backend_device_cfg *cfg)
{
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
    cfg->vtcm_mb = chip->vtcmSize < UINT32_MAX ? (uint32_t)chip->vtcmSize : UINT32_MAX;
    return ST_OK;
}

static enum status take_core_ids(const QnnDevice_HardwareDeviceInfo_t *h, struct backend_device_cfg *cfg)
{
    for (uint32_t i = 0; h->v1.cores && i < h->v1.numCores; i++) {
        const QnnDevice_CoreInfo_t *core = &h->v1.cores[i];

        RETURN_IF(core->v1.coreType != QNN_HTP_CORE_TYPE_NSP, ST_INVALID_CONFIG,
                  "platform info: core %u has type %u; 0 (NSP) is supported", core->v1.coreId, (unsigned)core->v1.coreType);
        if (core->v1.coreId >= cfg->cores)
            cfg->cores = core->v1.coreId + 1;
    }
    return ST_OK;
}

/* A tree that the client built, usually to prepare for hardware it does not have. What it says of VTCM and cores is held
 * against the SoC in htp_device_check. */
enum status htp_device_platform(const void *platform, struct backend_device_cfg *cfg)
{
    const QnnDevice_PlatformInfo_t *p = platform;

    RETURN_IF(!p || p->version != QNN_DEVICE_PLATFORM_INFO_VERSION_1, ST_INVALID_CONFIG,
              "platform info is NULL or of version %u; 1 is known", p ? (unsigned)p->version : 0);
    RETURN_IF(!p->v1.numHwDevices || !p->v1.hwDevices, ST_INVALID_CONFIG, "platform info names no hardware device");
    const QnnDevice_HardwareDeviceInfo_t *h = p->v1.hwDevices;
    RETURN_IF(h->version != QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1, ST_INVALID_CONFIG,
              "hardware device info of version %u; 1 is known", (unsigned)h->version);
    RETURN_IF(h->v1.deviceId != 0, ST_INVALID_CONFIG, "platform info: device %u; there is one, with number 0",
              h->v1.deviceId);
    TRY(take_core_ids(h, cfg));

    const QnnHtpDevice_DeviceInfoExtension_t *x = h->v1.deviceInfoExtension;
    if (!x)
        return ST_OK; /* some of the cores of the default device */
    RETURN_IF(x->devType != QNN_HTP_DEVICE_TYPE_ON_CHIP, ST_INVALID_CONFIG,
              "platform info: device type %u; 0 (on chip) is supported", (unsigned)x->devType);
    return take_chip(&x->onChipDevice, cfg);
}

/* Public programs describe every SoC with 8 MB of VTCM. */
static enum status check_description(const struct rpc_soc *soc, struct backend_device_cfg *cfg)
{
    static _Atomic bool said;

    RETURN_IF(cfg->cores > soc->cores, ST_INVALID_CONFIG, "platform info: core %u; SoC %s has %u, counted from 0",
              cfg->cores - 1, soc->name, soc->cores);
    if (cfg->vtcm_mb <= soc->vtcm_mb)
        return ST_OK;
    TRY(htp_deviate(&said, ST_INVALID_CONFIG, "platform info: %u MB of VTCM; SoC %s has %u, which is used", cfg->vtcm_mb,
                    soc->name, soc->vtcm_mb));
    cfg->vtcm_mb = soc->vtcm_mb;
    return ST_OK;
}

/* Clients name such SoCs by their number alone, and expect a device. */
static uint32_t assumed_arch(const struct rpc_soc *soc)
{
    uint32_t arch = rpc_soc_find(HTP_DEFAULT_SOC)->arch;

    backend_log(BACKEND_WARN,
                "HTP device config: the architecture of SoC model %u (%s) is not public; v%u is assumed. "
                "Option ARCH chooses another",
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
    return check_description(s ? s : htp_soc_default(), cfg);
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
        .onChipDevice = { .vtcmSize = cfg && cfg->vtcm_mb ? cfg->vtcm_mb : s->vtcm_mb,
                          .socModel = cfg ? cfg->soc_model : s->model,
                          .signedPdSupport = true,
                          .dlbcSupport = s->arch >= 69,
                          .arch = (QnnHtpDevice_Arch_t)(cfg ? cfg->arch : s->arch) },
    };
    uint32_t cores = cfg && cfg->cores ? cfg->cores : s->cores;
    for (uint32_t i = 0; i < cores && i < MAX_CORES; i++)
        p->cores[i] = (QnnDevice_CoreInfo_t){ .version = QNN_DEVICE_CORE_INFO_VERSION_1,
                                              .v1 = { .coreId = i, .coreType = QNN_HTP_CORE_TYPE_NSP } };
    p->device = (QnnDevice_HardwareDeviceInfo_t){
        .version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1,
        .v1 = { .deviceId = 0,
                .deviceType = 0,
                .numCores = cores < MAX_CORES ? cores : MAX_CORES,
                .cores = p->cores,
                .deviceInfoExtension = &p->extension },
    };
    p->info = (QnnDevice_PlatformInfo_t){ .version = QNN_DEVICE_PLATFORM_INFO_VERSION_1,
                                          .v1 = { .numHwDevices = 1, .hwDevices = &p->device } };
    if (cfg)
        htp_soc_use(s, cfg->arch); /* votes know no device */
    *ret = p;
    return ST_OK;
}

void htp_platform_info_free(void *platform)
{
    mem_free(platform);
}
