/* SPDX-License-Identifier: Apache-2.0 */
/* QnnInterface.h: the one provider of this library, every slot filled. Clients copy the table by value. Whose it is says
 * interface_identify. */
#include "QNN/QnnInterface.h"

#include "api/errors.h"
#include "api/interface_next.h"
#include "api/log.h"

static struct next_interface provider = {
    .known = {
        .apiVersion.coreApiVersion = { QNN_API_VERSION_MAJOR, NEXT_CORE_MINOR, 0 },
        .QNN_INTERFACE_VER_NAME = {
            .propertyHasCapability = QnnProperty_hasCapability,
            .backendCreate = QnnBackend_create,
            .backendSetConfig = QnnBackend_setConfig,
            .backendGetApiVersion = QnnBackend_getApiVersion,
            .backendGetBuildId = QnnBackend_getBuildId,
            .backendRegisterOpPackage = QnnBackend_registerOpPackage,
            .backendGetSupportedOperations = QnnBackend_getSupportedOperations,
            .backendValidateOpConfig = QnnBackend_validateOpConfig,
            .backendFree = QnnBackend_free,
            .contextCreate = QnnContext_create,
            .contextSetConfig = QnnContext_setConfig,
            .contextGetBinarySize = QnnContext_getBinarySize,
            .contextGetBinary = QnnContext_getBinary,
            .contextCreateFromBinary = QnnContext_createFromBinary,
            .contextFree = QnnContext_free,
            .graphCreate = QnnGraph_create,
            .graphCreateSubgraph = QnnGraph_createSubgraph,
            .graphSetConfig = QnnGraph_setConfig,
            .graphAddNode = QnnGraph_addNode,
            .graphFinalize = QnnGraph_finalize,
            .graphRetrieve = QnnGraph_retrieve,
            .graphExecute = QnnGraph_execute,
            .graphExecuteAsync = QnnGraph_executeAsync,
            .tensorCreateContextTensor = QnnTensor_createContextTensor,
            .tensorCreateGraphTensor = QnnTensor_createGraphTensor,
            .logCreate = QnnLog_create,
            .logSetLogLevel = QnnLog_setLogLevel,
            .logFree = QnnLog_free,
            .profileCreate = QnnProfile_create,
            .profileSetConfig = QnnProfile_setConfig,
            .profileGetEvents = QnnProfile_getEvents,
            .profileGetSubEvents = QnnProfile_getSubEvents,
            .profileGetEventData = QnnProfile_getEventData,
            .profileGetExtendedEventData = QnnProfile_getExtendedEventData,
            .profileFree = QnnProfile_free,
            .memRegister = QnnMem_register,
            .memDeRegister = QnnMem_deRegister,
            .deviceGetPlatformInfo = QnnDevice_getPlatformInfo,
            .deviceFreePlatformInfo = QnnDevice_freePlatformInfo,
            .deviceGetInfrastructure = QnnDevice_getInfrastructure,
            .deviceCreate = QnnDevice_create,
            .deviceSetConfig = QnnDevice_setConfig,
            .deviceGetInfo = QnnDevice_getInfo,
            .deviceFree = QnnDevice_free,
            .signalCreate = QnnSignal_create,
            .signalSetConfig = QnnSignal_setConfig,
            .signalTrigger = QnnSignal_trigger,
            .signalFree = QnnSignal_free,
            .errorGetMessage = QnnError_getMessage,
            .errorGetVerboseMessage = QnnError_getVerboseMessage,
            .errorFreeVerboseMessage = QnnError_freeVerboseMessage,
            .graphPrepareExecutionEnvironment = QnnGraph_prepareExecutionEnvironment,
            .graphReleaseExecutionEnvironment = QnnGraph_releaseExecutionEnvironment,
            .graphGetProperty = QnnGraph_getProperty,
            .contextValidateBinary = QnnContext_validateBinary,
            .contextCreateFromBinaryWithSignal = QnnContext_createFromBinaryWithSignal,
            .contextCreateFromBinaryListAsync = QnnContext_createFromBinaryListAsync,
            .tensorUpdateGraphTensors = QnnTensor_updateGraphTensors,
            .tensorUpdateContextTensors = QnnTensor_updateContextTensors,
            .contextGetBinarySectionSize = QnnContext_getBinarySectionSize,
            .contextGetBinarySection = QnnContext_getBinarySection,
            .contextApplyBinarySection = QnnContext_applyBinarySection,
            .backendGetProperty = QnnBackend_getProperty,
            .contextGetProperty = QnnContext_getProperty,
            .contextGetIncrementalBinary = QnnContext_getIncrementalBinary,
            .contextReleaseIncrementalBinary = QnnContext_releaseIncrementalBinary,
            .contextFinalize = QnnContext_finalize,
            .globalConfigSet = QnnGlobalConfig_Set,
            .contextCreateFromBinaryWithCallback = QnnContext_createFromBinaryWithCallback,
            .contextGetBinarySectionUpdate = QnnContext_getBinarySectionUpdate,
            .contextFreeBinarySectionUpdate = QnnContext_freeBinarySectionUpdate,
            .contextAddToDlc = QnnContext_addToDlc,
        },
    },
    .graphValidate = next_graph_validate,
    .graphFreeValidationResult = next_graph_free_validation,
    .backendRegisterOpPackageFromBinary = next_register_package_from_binary,
};

static const QnnInterface_t *const providers[] = { &provider.known };

/* A slot that newer headers than those that are known may have. */
static Qnn_ErrorHandle_t unknown_call(void)
{
    log_enter(NULL);
    return api_fail(COMP_COMMON, ST_NOT_SUPPORTED,
                    "this function of the interface is newer than version %d.%d, the newest that is known",
                    QNN_API_VERSION_MAJOR, NEXT_CORE_MINOR);
}

void interface_identify(uint32_t id, const char *name, const uint32_t version[3])
{
    provider.known.backendId = id;
    provider.known.providerName = name;
    provider.known.apiVersion.backendApiVersion = (Qnn_Version_t){ version[0], version[1], version[2] };
    for (size_t i = 0; i < sizeof provider.unknown / sizeof provider.unknown[0]; i++)
        provider.unknown[i] = unknown_call;
}

Qnn_ErrorHandle_t QnnInterface_getProviders(const QnnInterface_t ***providerList, uint32_t *numProviders)
{
    log_enter(NULL);
    API_CHECK(providerList && numProviders, COMP_COMMON, ST_INVALID_ARG,
              "providerList or numProviders is NULL; both receive the answer");
    *providerList = (const QnnInterface_t **)providers;
    *numProviders = 1;
    return QNN_SUCCESS;
}
