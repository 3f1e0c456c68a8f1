/* SPDX-License-Identifier: Apache-2.0 */
/* openqnn_lpai.h: what openqnn's LPAI backend offers beyond the QNN headers, in the same form: options for the custom structs of
 * QnnLpaiGraph.h. Other implementations do not know these numbers. */
#ifndef OPENQNN_LPAI_H
#define OPENQNN_LPAI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options of QnnLpaiGraph_CustomConfig_t. */
typedef enum {
    /* uint32_t: not 0: inputs and outputs have no room in scratch, every execution brings buffers. Before the graph is compiled. */
    OPENQNN_LPAI_GRAPH_SET_CFG_EXCLUDE_IO = 0x4F510001,
    /* uint32_t: not 0: batch normalisations are not folded into the product before them. Before the graph is compiled. */
    OPENQNN_LPAI_GRAPH_SET_CFG_KEEP_BATCHNORM = 0x4F510003
} OpenQnnLpaiGraph_SetConfigOption_t;

/* Options of QnnLpaiGraph_CustomProperty_t. */
typedef enum {
    /* OpenQnnLpaiGraph_IoRoom_t: where an input or output lies in scratch when it is executed without a buffer */
    OPENQNN_LPAI_GRAPH_GET_PROP_IO_ROOM = 0x4F510002
} OpenQnnLpaiGraph_GetPropertyOption_t;

/* The caller sets name; offset and size are the answer. An input must be written before each execution, since its room is reused after its
 * last reader; an output stays until the next execution. */
typedef struct {
    const char *name;
    uint32_t offset;
    uint32_t size;
} OpenQnnLpaiGraph_IoRoom_t;

#define OPENQNN_LPAI_GRAPH_IO_ROOM_INIT {NULL, 0, 0}

#ifdef __cplusplus
}
#endif

#endif
