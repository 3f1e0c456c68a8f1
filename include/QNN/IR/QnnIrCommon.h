/* SPDX-License-Identifier: Apache-2.0 */
/* QnnIrCommon.h: identity and version of the IR backend, which writes graphs to DLC files instead
 * of running them. */
#ifndef OPENQNN_QNNIRCOMMON_H
#define OPENQNN_QNNIRCOMMON_H

#include "../QnnTypes.h"

/* Backend id and provider name. */
#define QNN_BACKEND_ID_IR              9
#define QNN_IR_INTERFACE_PROVIDER_NAME "IR_QTI_AISW"

/* Version of the IR API. */
#define QNN_IR_API_VERSION_MAJOR 0
#define QNN_IR_API_VERSION_MINOR 1
#define QNN_IR_API_VERSION_PATCH 0

#define QNN_IR_API_VERSION_INIT                                                        \
    {                                                                                  \
        {QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH},         \
        {QNN_IR_API_VERSION_MAJOR, QNN_IR_API_VERSION_MINOR, QNN_IR_API_VERSION_PATCH} \
    }

#endif
