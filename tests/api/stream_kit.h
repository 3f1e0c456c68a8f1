/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming networks for the tests of state: a frame per execution, and the same layers over a whole sequence at once. */
#ifndef TESTS_STREAM_KIT_H
#define TESTS_STREAM_KIT_H

#include "lpai_kit.h"

enum { STREAM_IN = 8, STREAM_OUT = 16, STREAM_WINDOW = 4 };

/* A network and the context it lives in, in one of the two libraries. Calls on it select that library. */
struct stream {
    enum kit_lib lib;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, reset, y;
    bool stateful;
    uint32_t bits, time;
    struct guarded scratch, persistent; /* LPAI */
};

/* x [1,1,8] -> Buffer of 4 frames, FullyConnected -> Gru -> Lstm -> y [1,16], with a reset flag for all three. Finalized; on
 * LPAI in memory between guard pages, `high` as in guarded_new, filled with 0xA5 before. */
void stream_open(struct stream *s, enum kit_lib lib, uint32_t bits, bool high);
/* The recurrent layers alone: x [1,time,8] -> Gru -> Lstm -> y [1,time,16]; `stateful`: with the reset flag. */
void stream_open_layers(struct stream *s, enum kit_lib lib, uint32_t bits, uint32_t time, bool stateful);
void stream_close(struct stream *s);
Qnn_ErrorHandle_t stream_run(const struct stream *s, const void *x, bool reset, void *y);

/* ---- the parts, for other networks ------------------------------------------------------------------------------------ */

Qnn_Tensor_t stream_tensor(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type, uint32_t bits, uint32_t rank,
                           const uint32_t *dims);
Qnn_Tensor_t stream_flag(Qnn_GraphHandle_t g, const char *name); /* an input: one bool */
/* mode: as in QnnOpDef.h; reset NULL: none. */
Qnn_ErrorHandle_t stream_buffer(Qnn_GraphHandle_t g, const char *name, uint32_t size, uint32_t mode, const Qnn_Tensor_t *x,
                                const Qnn_Tensor_t *reset, const Qnn_Tensor_t *y);
/* Give a finalized LPAI graph guarded memory and attach it. */
void stream_pools(Qnn_GraphHandle_t g, bool high, struct guarded *scratch, struct guarded *persistent);

#endif
