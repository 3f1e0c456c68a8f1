/* SPDX-License-Identifier: Apache-2.0 */
/* What the LPAI tests share: both libraries behind one table, a fixed-point network, memory with guard pages, and the pool
 * calls. */
#ifndef TESTS_LPAI_KIT_H
#define TESTS_LPAI_KIT_H

#include <QNN/LPAI/QnnLpaiBackend.h>
#include <QNN/LPAI/QnnLpaiContext.h>
#include <QNN/LPAI/QnnLpaiGraph.h>
#include <QNN/LPAI/QnnLpaiGraphPrepare.h>
#include <openqnn_lpai.h>

#include "api_test.h"

enum kit_lib { KIT_CPU, KIT_LPAI, KIT_HTP, KIT_LIBS };
void kit_use(enum kit_lib which); /* q is its table from now on */
void kit_unuse(enum kit_lib which); /* and its library is closed */

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

/* Pages that cannot be touched on both sides. `high`: the buffer ends right before the upper ones, else it begins right
 * after the lower ones. */
struct guarded {
    uint8_t *map, *data;
    size_t map_bytes, bytes;
};
struct guarded guarded_new(size_t bytes, bool high);
void guarded_free(struct guarded *m);

/* ---- networks --------------------------------------------------------------------------------------------------------- */

enum { KIT_IN = 8 * 8 * 4, KIT_OUT = 10 };

struct kit_net {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
    uint32_t x_bytes, y_bytes;
};

/* x [1,8,8,4] -> Conv2d 3x3 -> Relu -> Add to a 1x1 Conv2d of x -> PoolAvg2d -> Reshape -> FullyConnected -> Softmax -> y
 * [1,10]; activations of 8 or 16 bits. `config` goes to graphCreate. Not finalized. */
Qnn_ErrorHandle_t kit_build(Qnn_ContextHandle_t c, const char *name, int bits, const QnnGraph_Config_t **config,
                            struct kit_net *ret);
void kit_fill(uint8_t *x, uint32_t bytes, uint32_t seed);
Qnn_ErrorHandle_t kit_run(const struct kit_net *n, void *x, void *y);
/* The result of libQnnCpu.so for the input of that seed; switches libraries and back. */
void kit_expected(int bits, uint32_t seed, uint8_t *y);

/* ---- LPAI calls ------------------------------------------------------------------------------------------------------- */

bool kit_on_arm(void); /* LPAI_TEST_TARGET=arm: where a test asks for x86 or for nothing it gets ARM, a session */
Qnn_ErrorHandle_t kit_backend(uint32_t hw_version, QnnLpaiBackend_Target_t target,
                              Qnn_BackendHandle_t *ret); /* version 0: no config */
Qnn_ErrorHandle_t kit_property(Qnn_GraphHandle_t g, uint32_t option, void *value);
uint32_t kit_size(Qnn_GraphHandle_t g, uint32_t option);
Qnn_ErrorHandle_t kit_config(Qnn_GraphHandle_t g, uint32_t option, void *config);
Qnn_ErrorHandle_t kit_pool(Qnn_GraphHandle_t g, uint32_t option, void *addr, uint32_t size); /* DDR */

struct kit_binary {
    void *data;
    uint64_t size;
};
struct kit_binary kit_save(Qnn_ContextHandle_t c);
/* A binary with the network "net", made by a backend of its own. */
struct kit_binary kit_binary(int bits, uint32_t hw_version);

/* A context from a binary, its graph retrieved; x and y are those of the network. */
struct kit_loaded {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    struct kit_net net;
    uint32_t scratch, persistent; /* sizes asked for */
};
void kit_load(const struct kit_binary *b, int bits, struct kit_loaded *ret);
void kit_unload(struct kit_loaded *l);

#endif
