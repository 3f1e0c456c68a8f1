/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets of the API share: libraries opened as clients open them, buffers of exactly a tensor's size, and the
 * rule that every refusal is explained. */
#ifndef TESTS_FUZZ_API_H
#define TESTS_FUZZ_API_H

#include <QNN/QnnInterface.h>
#include <QNN/System/QnnSystemInterface.h>

#include "fuzz_fill.h"

struct fuzz_library {
    const QnnInterface_t *provider;
    QNN_INTERFACE_VER_TYPE q;
    Qnn_LogHandle_t log; /* swallows what is logged */
    Qnn_BackendHandle_t backend;
};

void require(bool ok); /* aborts */

/* Opened once, from OPENQNN_LIB_DIR; sessions run in this process. */
struct fuzz_library *fuzz_library(const char *name);
QNN_SYSTEM_INTERFACE_VER_TYPE *fuzz_system(void);

/* Aborts when `e` is an error without an explanation; true: no error. */
bool fuzz_done(const struct fuzz_library *l, Qnn_ErrorHandle_t e);

/* A block of its own, so that a sanitizer sees each byte too many. Until fuzz_blocks_free. */
void *fuzz_block(size_t bytes);
void fuzz_blocks_free(void);

/* Bytes of a client's tensor; UINT64_MAX where it makes no sense or is large. */
uint64_t fuzz_tensor_bytes(const Qnn_Tensor_t *t, struct tensor_desc *ret);
/* Executes with hostile inputs. A graph with large tensors is left alone. */
void fuzz_execute(struct fuzz_library *l, struct fuzz_bytes *b, Qnn_GraphHandle_t graph, const Qnn_Tensor_t *in,
                  uint32_t n_in, const Qnn_Tensor_t *out, uint32_t n_out);

#endif
