/* SPDX-License-Identifier: Apache-2.0 */
/* A list of layers as a graph of the opened library. */
#ifndef BENCH_NET_QNN_H
#define BENCH_NET_QNN_H

#include "base/arena.h"
#include "bench_client.h"
#include "net.h"

/* Activations and weights: uq8 and sq8, uq16 and sq8, f16, f32. Fixed-point weights have a scale per channel and a 32-bit
 * bias. */
enum net_type { NET_INT8, NET_A16, NET_F16, NET_F32, NET_TYPES };
extern const char *const net_type_names[NET_TYPES];

struct net_builder {
    const struct net *net;
    enum net_type type;
    Qnn_GraphHandle_t graph; /* made by the caller */
    uint64_t seed;
    uint32_t serial;
    struct arena arena; /* names, dimensions and encodings of tensors */
    Qnn_Tensor_t tensors[NET_LAYERS];
};

void net_build(struct net_builder *b);
void net_builder_finish(struct net_builder *b);

#endif
