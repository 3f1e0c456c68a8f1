/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and their binaries, as they are recorded. */
#include "QNN/QnnContext.h"
#include "api/log.h"
#include "api/saver/saver.h"

Qnn_ErrorHandle_t QnnContext_create(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                    const QnnContext_Config_t **config, Qnn_ContextHandle_t *context)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_create", COMP_CONTEXT);
    struct saver_object *b = saver_on(&c, HANDLE_BACKEND, backend);
    saver_maybe(&c, HANDLE_DEVICE, device);
    saver_configs(&c, &saver_context_config, config);
    saver_new(&c, HANDLE_CONTEXT, b, context);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnContext_setConfig(Qnn_ContextHandle_t context, const QnnContext_Config_t **config)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_setConfig", COMP_CONTEXT);
    saver_on(&c, HANDLE_CONTEXT, context);
    saver_configs(&c, &saver_context_config, config);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnContext_getBinarySize(Qnn_ContextHandle_t context, Qnn_ContextBinarySize_t *binaryBufferSize)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_getBinarySize", COMP_CONTEXT);
    saver_on(&c, HANDLE_CONTEXT, context);
    saver_need(&c, binaryBufferSize, "binaryBufferSize");
    saver_arg(&c, "&binary_size");
    if (c.status == ST_OK)
        *binaryBufferSize = 0;
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnContext_getBinary(Qnn_ContextHandle_t context, void *binaryBuffer,
                                       Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextBinarySize_t *writtenBufferSize)
{
    struct saver_call c;
    (void)binaryBuffer, (void)binaryBufferSize;
    saver_begin(&c, "QnnContext_getBinary", COMP_CONTEXT);
    saver_on(&c, HANDLE_CONTEXT, context);
    saver_need(&c, writtenBufferSize, "writtenBufferSize");
    str_add(&c.before, "    Qnn_ContextBinarySize_t written = 0;\n    void *bytes = buffer((size_t)binary_size);\n");
    saver_arg(&c, "bytes, binary_size, &written");
    str_addf(&c.after, "    keep_binary(%u, bytes, written);\n", c.number);
    if (c.status == ST_OK)
        *writtenBufferSize = 0;
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnContext_validateBinary(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                            const QnnContext_Config_t **config, const void *binaryBuffer,
                                            Qnn_ContextBinarySize_t binaryBufferSize)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_validateBinary", COMP_CONTEXT);
    saver_on(&c, HANDLE_BACKEND, backend);
    saver_maybe(&c, HANDLE_DEVICE, device);
    saver_configs(&c, &saver_context_config, config);
    saver_need(&c, binaryBuffer, "binaryBuffer");
    saver_bytes(&c, binaryBuffer, binaryBufferSize);
    c.question = true;
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnContext_createFromBinaryWithSignal(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                                        const QnnContext_Config_t **config, const void *binaryBuffer,
                                                        Qnn_ContextBinarySize_t binaryBufferSize,
                                                        Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile,
                                                        Qnn_SignalHandle_t signal)
{
    struct saver_call c;
    saver_begin(&c, signal ? "QnnContext_createFromBinaryWithSignal" : "QnnContext_createFromBinary", COMP_CONTEXT);
    struct saver_object *b = saver_on(&c, HANDLE_BACKEND, backend);
    saver_maybe(&c, HANDLE_DEVICE, device);
    saver_configs(&c, &saver_context_config, config);
    saver_need(&c, binaryBuffer, "binaryBuffer");
    saver_bytes(&c, binaryBuffer, binaryBufferSize);
    struct saver_object *o = saver_new(&c, HANDLE_CONTEXT, b, context);
    saver_maybe(&c, HANDLE_PROFILE, profile);
    if (signal)
        saver_maybe(&c, HANDLE_SIGNAL, signal);
    if (o)
        o->from_binary = true;
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnContext_createFromBinary(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                              const QnnContext_Config_t **config, const void *binaryBuffer,
                                              Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextHandle_t *context,
                                              Qnn_ProfileHandle_t profile)
{
    return QnnContext_createFromBinaryWithSignal(backend, device, config, binaryBuffer, binaryBufferSize, context, profile,
                                                 NULL);
}

Qnn_ErrorHandle_t QnnContext_finalize(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_finalize", COMP_CONTEXT);
    saver_on(&c, HANDLE_CONTEXT, context);
    saver_maybe(&c, HANDLE_PROFILE, profile);
    return saver_end(&c);
}

Qnn_ErrorHandle_t QnnContext_getProperty(Qnn_ContextHandle_t contextHandle, QnnContext_Property_t **properties)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_getProperty", COMP_CONTEXT);
    saver_on(&c, HANDLE_CONTEXT, contextHandle);
    saver_need(&c, properties, "properties");
    saver_arg(&c, "NULL /* what was asked for is not recorded */");
    return saver_end_dummy(&c);
}

Qnn_ErrorHandle_t QnnContext_free(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile)
{
    struct saver_call c;
    saver_begin(&c, "QnnContext_free", COMP_CONTEXT);
    struct saver_object *o = saver_on(&c, HANDLE_CONTEXT, context);
    saver_maybe(&c, HANDLE_PROFILE, profile);
    return saver_end_free(&c, c.status == ST_OK ? o : NULL);
}
