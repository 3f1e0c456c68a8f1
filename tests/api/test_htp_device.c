/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of libQnnHtp.so: the virtual SoC, how clients choose it, and the life of handles. */
#include "api_test.h"

#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpProperty.h>
#include <QNN/QnnGlobalConfig.h>

static const QnnHtpDevice_OnChipDeviceInfoExtension_t *chip_of(const QnnDevice_PlatformInfo_t *p)
{
    assert_int_equal(p->version, QNN_DEVICE_PLATFORM_INFO_VERSION_1);
    assert_int_equal(p->v1.numHwDevices, 1);
    const QnnDevice_HardwareDeviceInfo_t *h = p->v1.hwDevices;
    assert_int_equal(h->version, QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1);
    assert_true(h->v1.numCores >= 1);
    for (uint32_t i = 0; i < h->v1.numCores; i++)
        assert_int_equal(h->v1.cores[i].v1.coreId, i);
    assert_non_null(h->v1.deviceInfoExtension);
    assert_int_equal(h->v1.deviceInfoExtension->devType, QNN_HTP_DEVICE_TYPE_ON_CHIP);
    return &h->v1.deviceInfoExtension->onChipDevice;
}

static void platform_is(uint32_t soc, uint32_t arch, size_t vtcm)
{
    const QnnDevice_PlatformInfo_t *p = NULL;
    OK(q.deviceGetPlatformInfo(NULL, &p));
    const QnnHtpDevice_OnChipDeviceInfoExtension_t *c = chip_of(p);
    assert_int_equal(c->socModel, soc);
    assert_int_equal(c->arch, arch);
    assert_int_equal(c->vtcmSize, vtcm);
    OK(q.deviceFreePlatformInfo(NULL, p));
}

static void test_platform(void **state)
{
    (void)state;
    platform_is(43, 73, 8);
    setenv("OPENQNN_SOC", "SM8750", 1);
    platform_is(69, 79, 8);
    setenv("OPENQNN_SOC", "93", 1);
    platform_is(93, 68, 2);
    setenv("OPENQNN_SOC", "nonsense", 1);
    platform_is(43, 73, 8);
    unsetenv("OPENQNN_SOC");
    QnnGlobalConfig_t soc = { .option = QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL, .socModel = (Qnn_SocModel_t)57 };
    const QnnGlobalConfig_t *list[] = { &soc, NULL };
    OK(q.globalConfigSet(list));
    platform_is(57, 75, 8);
    soc.socModel = (Qnn_SocModel_t)9999;
    FAILS_SAYING(QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG, "9999", q.globalConfigSet(list));
    soc.socModel = (Qnn_SocModel_t)0;
    OK(q.globalConfigSet(list));
    platform_is(43, 73, 8);
}

static void test_platform_is_freed_once(void **state)
{
    (void)state;
    const QnnDevice_PlatformInfo_t *p = NULL;
    QnnDevice_PlatformInfo_t own = QNN_DEVICE_PLATFORM_INFO_INIT;
    OK(q.deviceGetPlatformInfo(NULL, &p));
    OK(q.deviceFreePlatformInfo(NULL, p));
    FAILS(QNN_DEVICE_ERROR_INVALID_ARGUMENT, q.deviceFreePlatformInfo(NULL, p));
    FAILS(QNN_DEVICE_ERROR_INVALID_ARGUMENT, q.deviceFreePlatformInfo(NULL, &own));
    OK(q.deviceGetPlatformInfo(NULL, &p)); /* left to the end of the library */
}

/* ---- choosing hardware ------------------------------------------------------------------------------------------------ */

static Qnn_ErrorHandle_t create(const void *a, const void *b, Qnn_DeviceHandle_t *ret)
{
    QnnDevice_Config_t c[2] = { { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = (void *)(uintptr_t)a },
                                { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = (void *)(uintptr_t)b } };
    const QnnDevice_Config_t *list[] = { a ? &c[0] : NULL, b ? &c[1] : NULL, NULL };
    return q.deviceCreate(NULL, list, ret);
}

static void made_is(const void *a, const void *b, uint32_t soc, uint32_t arch)
{
    Qnn_DeviceHandle_t d = NULL;
    const QnnDevice_PlatformInfo_t *p = NULL;
    OK(create(a, b, &d));
    OK(q.deviceGetInfo(d, &p));
    assert_int_equal(chip_of(p)->arch, arch);
    if (soc)
        assert_int_equal(chip_of(p)->socModel, soc);
    OK(q.deviceFree(d));
    FAILS(QNN_DEVICE_ERROR_INVALID_HANDLE, q.deviceFree(d));
    FAILS(QNN_DEVICE_ERROR_INVALID_HANDLE, q.deviceGetInfo(d, &p));
}

static void test_soc_and_arch(void **state)
{
    (void)state;
    static const struct {
        uint32_t soc, arch;
    } known[] = { { 30, 68 }, { 36, 69 }, { 43, 73 }, { 57, 75 }, { 60, 73 },
                  { 69, 79 }, { 87, 81 }, { 39, 68 }, { 52, 73 }, { 72, 81 } };
    QnnHtpDevice_CustomConfig_t soc = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC },
                                arch = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH };
    made_is(NULL, NULL, 43, 73);
    for (unsigned i = 0; i < COUNT(known); i++) {
        soc.socModel = known[i].soc;
        made_is(&soc, NULL, known[i].soc, known[i].arch);
        arch.arch = (QnnHtpDevice_Minimum_Arch_t){ 0, (QnnHtpDevice_Arch_t)known[i].arch };
        made_is(&arch, NULL, 0, known[i].arch);
    }
    soc.socModel = 69;
    arch.arch.arch = QNN_HTP_DEVICE_ARCH_V68;
    made_is(&soc, &arch, 69, 79); /* the SoC wins, in either order */
    made_is(&arch, &soc, 69, 79);
    soc.socModel = 0;
    made_is(&soc, NULL, 43, 73);
}

/* Models of the public enum and of the device lists in LiteRT and ExecuTorch; architecture 0 where no public table says
 * it. */
static void test_public_lists(void **state)
{
    (void)state;
    static const struct {
        uint32_t soc, arch;
    } htp[] = {
        { 30, 68 }, { 32, 68 }, { 34, 68 }, { 35, 68 }, { 36, 69 }, { 37, 68 }, { 38, 68 }, { 39, 68 },
        { 41, 69 }, { 42, 69 }, { 43, 73 }, { 44, 68 }, { 45, 73 }, { 46, 73 }, { 50, 73 }, { 52, 73 },
        { 53, 69 }, { 54, 69 }, { 55, 0 },  { 56, 0 },  { 57, 75 }, { 58, 73 }, { 59, 0 },  { 60, 73 },
        { 61, 73 }, { 62, 68 }, { 63, 0 },  { 64, 73 }, { 65, 73 }, { 66, 73 }, { 67, 75 }, { 68, 73 },
        { 69, 79 }, { 70, 73 }, { 71, 0 },  { 72, 81 }, { 73, 73 }, { 74, 0 },  { 75, 79 }, { 76, 0 },
        { 77, 73 }, { 78, 73 }, { 79, 0 },  { 80, 0 },  { 81, 0 },  { 82, 75 }, { 84, 0 },  { 85, 79 },
        { 86, 73 }, { 87, 81 }, { 88, 81 }, { 90, 75 }, { 93, 68 }, { 95, 81 }, { 96, 81 }, { 97, 81 },
    };
    static const uint32_t without[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 15, 16, 17, 18, 19,
                                        20, 21, 23, 24, 25, 26, 27, 28, 29, 31, 33, 40, 47, 48, 49, 51, 83 };
    QnnHtpDevice_CustomConfig_t soc = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC };
    Qnn_DeviceHandle_t d = NULL;

    for (unsigned i = 0; i < COUNT(htp); i++) {
        soc.socModel = htp[i].soc;
        made_is(&soc, NULL, htp[i].soc, htp[i].arch ? htp[i].arch : 73);
    }
    for (unsigned i = 0; i < COUNT(without); i++) {
        soc.socModel = without[i];
        FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "without an HTP", create(&soc, NULL, &d));
    }
}

/* The layout of SDKs up to 2.43: values right behind the option. Guard words show that it was not taken for the
 * other one. */
static void test_old_layout(void **state)
{
    (void)state;
    const uint32_t soc[4] = { QNN_HTP_DEVICE_CONFIG_OPTION_SOC, 57, 0, 0xDEADBEEF },
                   soc_dirty[4] = { QNN_HTP_DEVICE_CONFIG_OPTION_SOC, 57, 0x7fff1234, 0 };
    const uint32_t arch[4] = { QNN_HTP_DEVICE_CONFIG_OPTION_ARCH, 0, 79, 0xDEADBEEF },
                   pd[4] = { QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD, 0, 1, 0 };
    made_is(soc, NULL, 57, 75);
    made_is(soc_dirty, NULL, 57, 75);
    made_is(arch, NULL, 0, 79);
    made_is(pd, soc, 57, 75);
}

static void test_refused(void **state)
{
    (void)state;
    Qnn_DeviceHandle_t d = NULL;
    QnnHtpDevice_CustomConfig_t c = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = 12345 };
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "12345", create(&c, NULL, &d));
    c.socModel = 12;
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "SDM855", create(&c, NULL, &d));
    c = (QnnHtpDevice_CustomConfig_t){ .option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH, .arch = { 0, (QnnHtpDevice_Arch_t)77 } };
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "77", create(&c, NULL, &d));
    c = (QnnHtpDevice_CustomConfig_t){ .option = (QnnHtpDevice_ConfigOption_t)55 };
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "55", create(&c, NULL, &d));
    QnnDevice_Config_t none = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = NULL },
                       bad = { .option = (QnnDevice_ConfigOption_t)9 },
                       empty = { .option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO, .hardwareInfo = NULL };
    const QnnDevice_Config_t *lists[3][2] = { { &none, NULL }, { &bad, NULL }, { &empty, NULL } };
    for (int i = 0; i < 3; i++)
        FAILS(QNN_DEVICE_ERROR_INVALID_CONFIG, q.deviceCreate(NULL, lists[i], &d));
    assert_null(d);
}

static void test_every_option(void **state)
{
    (void)state;
    for (uint32_t o = QNN_HTP_DEVICE_CONFIG_OPTION_SOC; o <= QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID; o++) {
        QnnHtpDevice_CustomConfig_t c = { .option = (QnnHtpDevice_ConfigOption_t)o };
        Qnn_DeviceHandle_t d = NULL;
        OK(create(&c, NULL, &d));
        OK(q.deviceFree(d));
    }
}

static void test_from_platform(void **state)
{
    (void)state;
    const QnnDevice_PlatformInfo_t *p = NULL, *mine = NULL;
    Qnn_DeviceHandle_t d = NULL;
    setenv("OPENQNN_SOC", "SM8650", 1);
    OK(q.deviceGetPlatformInfo(NULL, &p));
    unsetenv("OPENQNN_SOC");
    QnnDevice_Config_t c = { .option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO,
                             .hardwareInfo = (QnnDevice_PlatformInfo_t *)(uintptr_t)p };
    const QnnDevice_Config_t *list[] = { &c, NULL };
    OK(q.deviceCreate(NULL, list, &d));
    OK(q.deviceGetInfo(d, &mine));
    assert_int_equal(chip_of(mine)->socModel, 57);
    OK(q.deviceFree(d));

    /* The same beyond a bus is refused. */
    struct _QnnDevice_DeviceInfoExtension_t *extension = p->v1.hwDevices[0].v1.deviceInfoExtension;
    extension->devType = QNN_HTP_DEVICE_TYPE_OFF_CHIP;
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "device type 1", q.deviceCreate(NULL, list, &d));
    extension->devType = QNN_HTP_DEVICE_TYPE_ON_CHIP;
    OK(q.deviceFreePlatformInfo(NULL, p));
}

/* ---- contexts on devices ---------------------------------------------------------------------------------------------- */

static void test_device_outlives_contexts(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c[2];
    Qnn_DeviceHandle_t d = NULL;
    OK(q.backendCreate(NULL, NULL, &b));
    OK(create(NULL, NULL, &d));
    OK(q.contextCreate(b, d, NULL, &c[0]));
    OK(q.contextCreate(b, d, NULL, &c[1]));
    FAILS_SAYING(QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT, "2 contexts", q.deviceFree(d));
    OK(q.contextFree(c[0], NULL));
    FAILS(QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT, q.deviceFree(d));
    OK(q.contextFree(c[1], NULL));
    OK(q.deviceFree(d));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextCreate(b, d, NULL, &c[0]));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextCreate(b, b, NULL, &c[0]));
    OK(q.backendFree(b));
}

/* A binary of a newer architecture is refused by a device of an older one, with both named; the default device takes it. */
static void test_binary_of_newer_arch(void **state)
{
    (void)state;
    static char bytes[65536];
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_DeviceHandle_t newer, older;
    struct net net;
    uint64_t size;
    QnnHtpDevice_CustomConfig_t soc = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = 69 };
    OK(q.backendCreate(NULL, NULL, &b));
    OK(create(&soc, NULL, &newer));
    soc.socModel = 43;
    OK(create(&soc, NULL, &older));
    OK(q.contextCreate(b, newer, NULL, &c));
    OK(net_affine(c, "net", 2, 1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(q.contextGetBinary(c, bytes, sizeof bytes, &size));
    OK(q.contextFree(c, NULL));
    FAILS_SAYING(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, "v79",
                 q.contextCreateFromBinary(b, older, NULL, bytes, size, &c, NULL));
    FAILS(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, q.contextValidateBinary(b, older, NULL, bytes, size));
    OK(q.contextValidateBinary(b, newer, NULL, bytes, size));
    OK(q.contextCreateFromBinary(b, NULL, NULL, bytes, size, &c, NULL));
    OK(q.backendFree(b));
    OK(q.deviceFree(newer));
    OK(q.deviceFree(older));
}

static int setup(void **state)
{
    (void)state;
    lib_open();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    lib_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_platform),        cmocka_unit_test(test_platform_is_freed_once),
        cmocka_unit_test(test_soc_and_arch), cmocka_unit_test(test_public_lists),    cmocka_unit_test(test_old_layout),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_every_option),
        cmocka_unit_test(test_from_platform),   cmocka_unit_test(test_device_outlives_contexts),
        cmocka_unit_test(test_binary_of_newer_arch),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
