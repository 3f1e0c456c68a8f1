/* SPDX-License-Identifier: Apache-2.0 */
/* QnnIrGraph.h: where and how the IR backend writes a graph, for QnnGraph_Config_t::customConfig. */
#ifndef OPENQNN_QNNIRGRAPH_H
#define OPENQNN_QNNIRGRAPH_H

#include <stdint.h>

#include "../QnnGraph.h"
#include "QnnIrCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forms of the file. */
typedef enum {
    QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER = 1
} QnnIrGraph_SerializationType_t;

/* Form and place of the file. */
typedef struct {
    QnnIrGraph_SerializationType_t serializationType;
    const char *outputPath;
} QnnIrGraph_SerializationOption_t;

#define QNN_IR_GRAPH_SERIALIZATION_OPTION_INIT {QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER, ""}

/* Which setting a QnnIrGraph_CustomConfig_t holds. */
typedef enum {
    QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION = 1,
    QNN_IR_GRAPH_CONFIG_OPTION_UNKNOWN       = 0x7FFFFFFF
} QnnIrGraph_ConfigOption_t;

/* One IR setting of a graph. */
typedef struct {
    QnnIrGraph_ConfigOption_t option;
    union {
        QnnIrGraph_SerializationOption_t serializationOption;
    };
} QnnIrGraph_CustomConfig_t;

#define QNN_IR_GRAPH_CUSTOM_CONFIG_INIT                                                    \
    {                                                                                      \
        QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION, {QNN_IR_GRAPH_SERIALIZATION_OPTION_INIT} \
    }

#ifdef __cplusplus
}
#endif

#endif
