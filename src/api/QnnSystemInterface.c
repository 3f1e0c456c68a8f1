/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemInterface.h: the one provider of the system library and its table. */
#include "QNN/System/QnnSystemInterface.h"

#include "api/errors.h"
#include "api/interface_next.h"
#include "api/log.h"

static struct next_system_interface provider = {
    .known = {
        .backendId = QNN_BACKEND_ID_NULL,
        .providerName = QNN_SYSTEM_INTERFACE_PROVIDER_NAME,
        .systemApiVersion = { QNN_SYSTEM_API_VERSION_MAJOR, NEXT_SYSTEM_MINOR, 0 },
        .QNN_SYSTEM_INTERFACE_VER_NAME = {
            .systemContextCreate = QnnSystemContext_create,
            .systemContextGetBinaryInfo = QnnSystemContext_getBinaryInfo,
            .systemContextGetMetaData = QnnSystemContext_getMetadata,
            .systemContextFree = QnnSystemContext_free,
            .systemTensorGetMemoryFootprint = QnnSystemTensor_getMemoryFootprint,
            .systemLogCreate = QnnSystemLog_create,
            .systemLogSetLogLevel = QnnSystemLog_setLogLevel,
            .systemLogFree = QnnSystemLog_free,
            .systemDlcCreateFromFile = QnnSystemDlc_createFromFile,
            .systemDlcCreateFromBinary = QnnSystemDlc_createFromBinary,
            .systemDlcComposeGraphs = QnnSystemDlc_composeGraphs,
            .systemDlcGetOpMappings = QnnSystemDlc_getOpMappings,
            .systemDlcFree = QnnSystemDlc_free,
            .systemProfileCreateSerializationTarget = QnnSystemProfile_createSerializationTarget,
            .systemProfileSerializeEventData = QnnSystemProfile_serializeEventData,
            .systemProfileFreeSerializationTarget = QnnSystemProfile_freeSerializationTarget,
            .systemDlcGetRecordByName = QnnSystemDlc_getRecordByName,
            .systemDlcGetRecordsByType = QnnSystemDlc_getRecordsByType,
            .systemDlcGetRecordDataSize = QnnSystemDlc_getRecordDataSize,
            .systemDlcReadRecordDataMemoryMapped = QnnSystemDlc_readRecordDataMemoryMapped,
            .systemDlcFreeRecord = QnnSystemDlc_freeRecord,
            .systemDlcSave = QnnSystemDlc_save,
            .systemDlcCreateFromFileWithDestinationDir = QnnSystemDlc_createFromFileWithDestinationDir,
            .systemDlcCreateFromBinaryWithDestinationDir = QnnSystemDlc_createFromBinaryWithDestinationDir,
            .systemDlcGetBinarySize = QnnSystemDlc_getBinarySize,
            .systemDlcGetBinary = QnnSystemDlc_getBinary,
            .systemDlcCreateWithDestinationDir = QnnSystemDlc_createWithDestinationDir,
        },
    },
};

/* A slot of headers that nobody has seen. */
static Qnn_ErrorHandle_t unknown_call(void)
{
    log_enter(NULL);
    return api_fail(COMP_COMMON, ST_NOT_SUPPORTED,
                    "this function of the system interface is newer than version %d.%d and not supported",
                    QNN_SYSTEM_API_VERSION_MAJOR, QNN_SYSTEM_API_VERSION_MINOR);
}

__attribute__((constructor)) static void fill(void)
{
    for (size_t i = 0; i < sizeof provider.dlc_info / sizeof provider.dlc_info[0]; i++)
        provider.dlc_info[i] = next_dlc_info[i];
    for (size_t i = 0; i < sizeof provider.unknown / sizeof provider.unknown[0]; i++)
        provider.unknown[i] = unknown_call;
}

Qnn_ErrorHandle_t QnnSystemInterface_getProviders(const QnnSystemInterface_t ***providerList, uint32_t *numProviders)
{
    static const QnnSystemInterface_t *list[] = { &provider.known };
    log_enter(NULL);
    API_CHECK(providerList && numProviders, COMP_COMMON, ST_INVALID_ARG, "%s is NULL; give a pointer that receives it",
              providerList ? "numProviders" : "providerList");
    *providerList = list;
    *numProviders = 1;
    return QNN_SUCCESS;
}
