/* SPDX-License-Identifier: Apache-2.0 */
/* A network made into a context binary by the opened library, and loaded binaries ready to execute. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "bench_client.h"
#include "bench_lines.h"
#include "binary/binary.h"
#include "net_qnn.h"

/* A finished binary; binary and graph describe what is in it. */
struct product {
    void *data;
    uint64_t size;
    uint64_t compose_ns, finalize_ns;
    struct binary binary;
    const struct binary_graph *graph;
};
struct product product_make(const char *name, net_fn *net, enum net_type type, const QnnGraph_Config_t **configs);
void product_free(struct product *p);

/* A loaded product with buffers for `batch` inferences at once. */
struct runnable {
    struct session s;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t in, out;
    uint32_t dims[2][8];
    void *data[2];
};
void runnable_open(struct runnable *r, const struct product *p, unsigned threads, uint32_t batch);
void runnable_run(void *r);
void runnable_close(struct runnable *r);

#endif
