/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of this folder need around the part they are about: a small model, a context made from its binary,
 * checks. The programs call the functions of libQnnLpai.so by name, as the public LPAI pages do. */
#ifndef TESTS_SEED_KIT_H
#define TESTS_SEED_KIT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/LPAI/QnnLpaiBackend.h>
#include <QNN/LPAI/QnnLpaiGraph.h>
#include <QNN/QnnBackend.h>
#include <QNN/QnnContext.h>
#include <QNN/QnnError.h>
#include <QNN/QnnGraph.h>
#include <QNN/QnnOpDef.h>
#include <QNN/QnnOpPackage.h>
#include <QNN/QnnTensor.h>
#include <QNN/System/QnnSystemContext.h>

#define CHECK(cond)                                                         \
    do {                                                                    \
        if (!(cond)) {                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

#define MUST(call) seed_must((call), #call)
void seed_must(Qnn_ErrorHandle_t e, const char *call);

enum { SEED_IN = 100, SEED_OUT = 100, SEED_FRAMES = 3 };

struct seed {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph; /* retrieved, not finalized */
    void *binary;            /* the bytes of the context binary */
    uint64_t binary_size;
};

/* A model y = relu(x) + x over 100 bytes, compiled, saved, loaded and retrieved. */
struct seed seed_open(void);
/* y = the last 3 frames of 100 bytes; the first two executions have nothing to give yet. */
struct seed seed_open_streaming(void);
void seed_close(struct seed *s);
void seed_finalize_and_run(const struct seed *s, void *scratch); /* checks the result */
uint32_t seed_size(Qnn_GraphHandle_t graph, uint32_t option);                                 /* scratch or persistent */
void seed_give(Qnn_GraphHandle_t graph, uint32_t option, void *buffer, uint32_t size); /* DDR */
void *seed_alloc(uint32_t align, uint32_t size_align, uint32_t bytes); /* NULL for 0 bytes */

#endif
