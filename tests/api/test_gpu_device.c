/* SPDX-License-Identifier: Apache-2.0 */
/* Device objects of libQnnGpu.so: what there is, choosing one of several, and the life of handles. PoCL can show a CPU as
 * two devices. */
#include <QNN/GPU/QnnGpuDevice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_kit.h"

static int setup(void **state)
{
    (void)state;
    return q.backendCreate(NULL, NULL, &env.backend) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    return q.backendFree(env.backend) != QNN_SUCCESS;
}

static const char *name_of(const QnnDevice_HardwareDeviceInfo_t *h)
{
    assert_int_equal(h->version, QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1);
    assert_true(h->v1.numCores == 1 && h->v1.cores);
    assert_int_equal(h->v1.deviceInfoExtension->option, QNN_GPU_DEVICE_INFO_EXTENSION_V1);
    assert_true(h->v1.deviceInfoExtension->deviceInfoV1.adrenoTier[0]);
    return h->v1.deviceInfoExtension->deviceInfoV1.adrenoTier;
}

static void test_platform(void **state)
{
    (void)state;
    const QnnDevice_PlatformInfo_t *p;
    OK(q.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE) == QNN_PROPERTY_SUPPORTED ? QNN_SUCCESS
                                                                                    : QNN_PROPERTY_ERROR_UNKNOWN_KEY);
    OK(q.deviceGetPlatformInfo(NULL, &p));
    assert_int_equal(p->version, QNN_DEVICE_PLATFORM_INFO_VERSION_1);
    assert_true(p->v1.numHwDevices > 0);
    for (uint32_t i = 0; i < p->v1.numHwDevices; i++) {
        assert_int_equal(p->v1.hwDevices[i].v1.deviceId, i);
        assert_int_equal(p->v1.hwDevices[i].v1.deviceType, i ? QNN_GPU_DEVICE_SECONDARY_GPU : QNN_GPU_DEVICE_PRIMARY_GPU);
        print_message("device %u: %s\n", i, name_of(&p->v1.hwDevices[i]));
    }
    OK(q.deviceFreePlatformInfo(NULL, p));
    hush(true);
    FAILS(QNN_DEVICE_ERROR_INVALID_ARGUMENT, q.deviceFreePlatformInfo(NULL, p));
    hush(false);
}

static Qnn_ErrorHandle_t choose(uint32_t id, Qnn_DeviceHandle_t *ret)
{
    QnnDevice_HardwareDeviceInfo_t h = QNN_DEVICE_HARDWARE_DEVICE_INFO_INIT;
    QnnDevice_PlatformInfo_t p = { .version = QNN_DEVICE_PLATFORM_INFO_VERSION_1, .v1 = { 1, &h } };
    h.v1.deviceId = id;
    QnnDevice_Config_t c = { .option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO, .hardwareInfo = &p };
    return q.deviceCreate(NULL, (const QnnDevice_Config_t *[]){ &c, NULL }, ret);
}

/* A network on the device; the name that the device has. */
static const char *run_on(Qnn_DeviceHandle_t d)
{
    static char name[128];
    const QnnDevice_PlatformInfo_t *p;
    Qnn_ContextHandle_t c;
    struct net n;
    float y[CONV_OUT], want[CONV_OUT];
    OK(q.deviceGetInfo(d, &p));
    assert_int_equal(p->v1.numHwDevices, 1);
    snprintf(name, sizeof name, "%s", name_of(p->v1.hwDevices));
    OK(q.contextCreate(env.backend, d, NULL, &c));
    OK(net_conv(c, "net", &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    conv_expected(want);
    OK(net_run(&n, conv_in, y, CONV_IN, CONV_OUT));
    floats_are(y, want, CONV_OUT, 1e-5f);
    hush(true);
    FAILS(QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT, q.deviceFree(d));
    hush(false);
    OK(q.contextFree(c, NULL));
    return name;
}

static void test_each_device(void **state)
{
    (void)state;
    const QnnDevice_PlatformInfo_t *p;
    OK(q.deviceGetPlatformInfo(NULL, &p));
    for (uint32_t i = 0; i < p->v1.numHwDevices; i++) {
        Qnn_DeviceHandle_t d;
        OK(choose(i, &d));
        assert_string_equal(run_on(d), name_of(&p->v1.hwDevices[i]));
        OK(q.deviceFree(d));
    }
    if (p->v1.numHwDevices < 2)
        print_message("SKIP: one device only\n");
    OK(q.deviceFreePlatformInfo(NULL, p));
}

static void test_default(void **state)
{
    (void)state;
    const QnnDevice_PlatformInfo_t *p;
    Qnn_DeviceHandle_t d;
    OK(q.deviceGetPlatformInfo(NULL, &p));
    OK(q.deviceCreate(NULL, NULL, &d));
    assert_string_equal(run_on(d), name_of(p->v1.hwDevices));
    OK(q.deviceFree(d));
    OK(choose(QNN_DEVICE_DEFAULT_DEVICE_ID, &d));
    assert_string_equal(run_on(d), name_of(p->v1.hwDevices));
    OK(q.deviceFree(d));
    OK(q.deviceFreePlatformInfo(NULL, p));
}

/* The environment says which devices there are. */
static void test_environment(void **state)
{
    (void)state;
    const QnnDevice_PlatformInfo_t *all, *one;
    Qnn_DeviceHandle_t d;
    OK(q.deviceGetPlatformInfo(NULL, &all));
    for (uint32_t i = 0; i < all->v1.numHwDevices; i++) {
        setenv("OPENQNN_GPU_DEVICE", name_of(&all->v1.hwDevices[i]), 1);
        OK(q.deviceGetPlatformInfo(NULL, &one));
        assert_string_equal(name_of(one->v1.hwDevices), name_of(&all->v1.hwDevices[i]));
        OK(q.deviceFreePlatformInfo(NULL, one));
    }
    setenv("OPENQNN_GPU_DEVICE", "no such device", 1);
    hush(true);
    Qnn_ErrorHandle_t e = q.deviceCreate(NULL, NULL, &d);
    hush(false);
    assert_int_not_equal(CODE(e), QNN_SUCCESS);
    assert_non_null(strstr(explain(e), "no such device"));
    unsetenv("OPENQNN_GPU_DEVICE");
    OK(q.deviceFreePlatformInfo(NULL, all));
}

static void test_refused(void **state)
{
    (void)state;
    Qnn_DeviceHandle_t d;
    QnnDevice_Infrastructure_t infrastructure;
    QnnDevice_Config_t custom = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM };
    hush(true);
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "device id 77", choose(77, &d));
    FAILS_SAYING(QNN_DEVICE_ERROR_INVALID_CONFIG, "no custom options",
                 q.deviceCreate(NULL, (const QnnDevice_Config_t *[]){ &custom, NULL }, &d));
    FAILS(QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE, q.deviceGetInfrastructure(&infrastructure));
    hush(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_platform, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_default, setup, teardown),
        cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };
    setenv("POCL_DEVICES", "pthread basic", 1);
    kit_need_device();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
