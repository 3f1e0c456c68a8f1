/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that newer SDKs appended to the table of libQnnSystem.so. */
#ifndef TESTS_DLC_SLOTS_H
#define TESTS_DLC_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include <QNN/QnnCommon.h>

/* Slots by number, in the order of the table. */
enum dlc_slot {
    GRAPH_HANDLES = 27,
    BINARY_HANDLES,
    GRAPH_ALL,
    BINARY_ALL,
    GRAPH_NAME,
    GRAPH_INPUTS,
    GRAPH_OUTPUTS,
    GRAPH_INPUT,
    GRAPH_OUTPUT,
    TENSOR_NAME,
    TENSOR_ID,
    TENSOR_TYPE,
    TENSOR_FORMAT,
    TENSOR_DATA_TYPE,
    TENSOR_RANK,
    TENSOR_DIMENSIONS,
    TENSOR_ENCODING,
    ENCODING_DEFINED,
    ENCODING_KIND,
    SCALE,
    OFFSET,
    BW_BITS,
    BW_SCALE,
    BW_OFFSET,
    AXIS_AXIS,
    AXIS_COUNT,
    AXIS_SCALE,
    AXIS_OFFSET,
    BW_AXIS_BITS,
    BW_AXIS_AXIS,
    BW_AXIS_COUNT,
    BW_AXIS_SCALE,
    BW_AXIS_OFFSET,
    BINARY_BACKEND,
    BINARY_BUILD,
    CORE_VERSION,
    BACKEND_VERSION,
    BINARY_SOC,
    HARDWARE_VERSION,
    BLOB_VERSION,
    HARDWARE_SIZE,
    HARDWARE,
    BINARY_SIZE,
    BINARY_TENSORS,
    BINARY_TENSOR,
    BINARY_GRAPHS,
    BINARY_GRAPH,
    SOC_MODEL,
    METADATA_SIZE,
    METADATA,
    IN_NAME,
    IN_INPUTS,
    IN_OUTPUTS,
    IN_UPDATEABLES,
    IN_BLOB_SIZE,
    IN_BLOB,
    IN_START,
    IN_END,
    IN_INPUT,
    IN_OUTPUT,
    IN_UPDATEABLE,
    FREE_RANGE,
    DLC_SLOTS_END
};

typedef Qnn_ErrorHandle_t fact_fn(void *handle, void *answer);
typedef Qnn_ErrorHandle_t part_fn(void *handle, uint32_t index, void *answer);
typedef Qnn_ErrorHandle_t version_fn(void *handle, uint32_t *major, uint32_t *minor, uint32_t *patch);
typedef Qnn_ErrorHandle_t handles_fn(void *dlc, void ***list, uint32_t *n);
typedef Qnn_ErrorHandle_t range_fn(void *record, uint64_t offset, uint64_t size);

/* A call that has an index, and whether it gives a handle. */
static inline bool dlc_slot_indexed(enum dlc_slot s)
{
    return s == AXIS_SCALE || s == AXIS_OFFSET || s == BW_AXIS_SCALE || s == BW_AXIS_OFFSET || s == GRAPH_INPUT ||
           s == GRAPH_OUTPUT || s == BINARY_TENSOR || s == BINARY_GRAPH || (s >= IN_INPUT && s <= IN_UPDATEABLE);
}

static inline bool dlc_slot_gives_handle(enum dlc_slot s)
{
    return s == TENSOR_ENCODING || (dlc_slot_indexed(s) && !(s >= AXIS_SCALE && s <= BW_AXIS_OFFSET));
}

#endif
