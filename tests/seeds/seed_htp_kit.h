/* SPDX-License-Identifier: Apache-2.0 */
/* What the two shared-buffer programs need around the part they are about: the libraries opened by name, a quantized model
 * with two inputs and one output, and its result with plain pointers. */
#ifndef TESTS_SEED_HTP_KIT_H
#define TESTS_SEED_HTP_KIT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/QnnInterface.h>
#include <QNN/QnnOpDef.h>
#include <QNN/QnnOpPackage.h>

#define RPCMEM_HEAP_ID_SYSTEM 25
#define RPCMEM_DEFAULT_FLAGS 1

#define CHECK(cond)                                                            \
    do {                                                                       \
        if (!(cond)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

typedef void *(*RpcMemAllocFn_t)(int, uint32_t, int);
typedef void (*RpcMemFreeFn_t)(void *);
typedef int (*RpcMemToFdFn_t)(void *);

/* Model: Conv2d of an 8-bit image with an 8-bit filter, then the sum with a second image. */
enum { SEED_SIDE = 12, SEED_CHANNELS = 8, SEED_IN = SEED_SIDE * SEED_SIDE * SEED_CHANNELS, SEED_TENSORS = 3 };

struct htp_seed {
    QNN_INTERFACE_VER_TYPE qnn;
    RpcMemAllocFn_t rpcmem_alloc;
    RpcMemFreeFn_t rpcmem_free;
    RpcMemToFdFn_t rpcmem_to_fd;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t tensors[SEED_TENSORS]; /* two inputs, one output */
    uint8_t data[SEED_TENSORS][SEED_IN]; /* inputs, and the output by plain pointers */
};

void htp_seed_open(struct htp_seed *s);
void htp_seed_close(struct htp_seed *s);
void htp_seed_execute(struct htp_seed *s); /* with s->tensors as they are now */

#endif
