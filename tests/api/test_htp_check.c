/* SPDX-License-Identifier: Apache-2.0 */
/* OPENQNN_DEVICE_CHECK=error: QnnBackend_validateOpConfig says what a device would refuse. */
#include "api_test.h"

#include <stdlib.h>

#include <QNN/HTP/QnnHtpDevice.h>

enum { SM8350 = 30, SM8550 = 43 };

static Qnn_BackendHandle_t backend;
static Qnn_DeviceHandle_t device;

static void place_on(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t custom = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnDevice_Config_t *list[] = { &config, NULL };

    OK(q.backendCreate(NULL, NULL, &backend));
    OK(q.deviceCreate(NULL, list, &device));
}

static void leave(void)
{
    OK(q.deviceFree(device));
    OK(q.backendFree(backend));
}

static Qnn_ErrorHandle_t validate_relu(Qnn_DataType_t type)
{
    static const uint32_t dims[] = { 1, 4 };
    Qnn_Tensor_t x = tensor_make(QNN_TENSOR_VERSION_1, "x", QNN_TENSOR_TYPE_NATIVE, type, 2, dims);
    Qnn_Tensor_t y = tensor_make(QNN_TENSOR_VERSION_1, "y", QNN_TENSOR_TYPE_NATIVE, type, 2, dims);
    struct op relu = { .name = "relu", .type = "Relu", .ni = 1, .no = 1 };

    relu.in[0] = type == QNN_DATATYPE_FLOAT_32 ? x : tensor_quant(x, 0.5f, 0);
    relu.out[0] = type == QNN_DATATYPE_FLOAT_32 ? y : tensor_quant(y, 0.5f, 0);
    return op_validate(backend, &relu);
}

/* A program that asks for each operator learns what its device, or one that it is to run on, would refuse. */
static void test_device_check_of_operators(void **state)
{
    (void)state;
    setenv("OPENQNN_DEVICE_CHECK", "error", 1);
    place_on(SM8550);
    OK(validate_relu(QNN_DATATYPE_FLOAT_32));
    setenv("OPENQNN_DEVICE_CHECK_SOCS", "SM8650,SM8350", 1);
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "on SM8350: refused by rule float",
                 validate_relu(QNN_DATATYPE_FLOAT_32));
    OK(validate_relu(QNN_DATATYPE_UFIXED_POINT_8));
    setenv("OPENQNN_DEVICE_CHECK", "warn", 1);
    OK(validate_relu(QNN_DATATYPE_FLOAT_32));
    unsetenv("OPENQNN_DEVICE_CHECK_SOCS");
    leave();

    setenv("OPENQNN_DEVICE_CHECK", "error", 1);
    place_on(SM8350);
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "on SM8350: refused by rule float",
                 validate_relu(QNN_DATATYPE_FLOAT_32));
    unsetenv("OPENQNN_DEVICE_CHECK");
    OK(validate_relu(QNN_DATATYPE_FLOAT_32));
    leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_check_of_operators),
    };
    lib_open();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lib_close();
    return failed;
}
