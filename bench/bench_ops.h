/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the operators of a loaded graph that take the most time, in a line. */
#ifndef BENCH_OPS_H
#define BENCH_OPS_H

#include "bench_client.h"
#include "binary/binary.h"

void bench_ops(Qnn_BackendHandle_t backend, Qnn_GraphHandle_t graph, const struct binary_graph *g, Qnn_Tensor_t *in,
               Qnn_Tensor_t *out);

#endif
