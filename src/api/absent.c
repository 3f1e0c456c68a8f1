/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnSaver.so: a library that other programs name when they are linked, so that without this file they would not start,
 * and use only when they are asked to. What would record calls is not here: it has no provider, and says so. */
#include <stddef.h>

#include "QNN/QnnInterface.h"

Qnn_ErrorHandle_t QnnInterface_getProviders(const QnnInterface_t ***providerList, uint32_t *numProviders)
{
    if (!providerList || !numProviders)
        return QNN_INTERFACE_ERROR_INVALID_PARAMETER;
    *providerList = NULL;
    *numProviders = 0;
    return QNN_INTERFACE_ERROR_NOT_SUPPORTED;
}
