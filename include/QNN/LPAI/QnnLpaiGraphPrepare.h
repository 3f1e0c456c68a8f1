/* SPDX-License-Identifier: Apache-2.0 */
/* QnnLpaiGraphPrepare.h: settings of LPAI graphs that are compiled here, given when the graph is
 * created. */
#ifndef OPENQNN_QNNLPAIGRAPHPREPARE_H
#define OPENQNN_QNNLPAIGRAPHPREPARE_H

#include <stddef.h>
#include <stdint.h>

#include "../QnnGraph.h"
#include "QnnLpaiTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How to compile a graph. */
typedef struct {
    uint32_t enablePerLayer;
    char *enableCoreSelection;
} QnnLpaiGraph_CustomConfigPrepare_t;

#define QNN_LPAI_GRAPH_CUSTOM_CONFIG_PREPARE_INIT {0, NULL}

/* Further option of QnnLpaiGraph_CustomConfig_t. */
typedef enum {
    QNN_LPAI_GRAPH_SET_CFG_PREPARE = 10001  /* QnnLpaiGraph_CustomConfigPrepare_t */
} QnnLpaiGraph_ConfigPrepareOption_t;

#ifdef __cplusplus
}
#endif

#endif
