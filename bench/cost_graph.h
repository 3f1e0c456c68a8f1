/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs for estimates: shapes and types without data, as prepare would leave them (activations that a product clamps with are not there). */
#ifndef BENCH_COST_GRAPH_H
#define BENCH_COST_GRAPH_H

#include "binary/binary.h"

enum cost_type { COST_FLOAT, COST_W8A8, COST_W8A16, COST_TYPES };

enum { COST_MAX_TENSORS = 12000, COST_MAX_NODES = 4000, COST_MAX_PORTS = 24000 };

struct cost_graph {
    enum cost_type type;
    struct binary_graph g;
    struct binary_tensor tensors[COST_MAX_TENSORS];
    struct binary_node nodes[COST_MAX_NODES];
    uint32_t ports[COST_MAX_PORTS], n_ports;
};

/* One activation: its tensor and what is needed to go on. */
struct cost_act {
    uint32_t t, h, w, c;
};

void cost_graph_start(struct cost_graph *g, enum cost_type type);
struct cost_act cost_input(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c);
void cost_output(struct cost_graph *g, struct cost_act x);
struct cost_act cost_conv(struct cost_graph *g, struct cost_act x, uint32_t out, uint32_t kernel, uint32_t stride, uint32_t groups);
struct cost_act cost_depthwise(struct cost_graph *g, struct cost_act x, uint32_t kernel, uint32_t stride);
struct cost_act cost_up_conv(struct cost_graph *g, struct cost_act x, uint32_t out); /* 2 x 2, stride 2 */
struct cost_act cost_pool(struct cost_graph *g, struct cost_act x, const char *op, uint32_t kernel, uint32_t stride);
struct cost_act cost_unary(struct cost_graph *g, struct cost_act x, const char *op, uint32_t per_element);
struct cost_act cost_binary(struct cost_graph *g, struct cost_act x, struct cost_act y, const char *op);
struct cost_act cost_concat(struct cost_graph *g, const struct cost_act *x, uint32_t n);
struct cost_act cost_part(struct cost_graph *g, struct cost_act x, uint32_t channels); /* a slice */
struct cost_act cost_dense(struct cost_graph *g, struct cost_act x, uint32_t out);
struct cost_act cost_matmul(struct cost_graph *g, struct cost_act x, struct cost_act y, bool transposed); /* per image row: h matrices of w x c */
struct cost_act cost_shape(struct cost_graph *g, struct cost_act x, uint32_t h, uint32_t w, uint32_t c);  /* Transpose */

/* The networks of the list that are rebuilt; NULL name ends it. */
struct cost_net {
    const char *model, *component; /* as the list has them; component NULL: any */
    bool fitted;                   /* the parameters were fitted on it; others are a check */
    void (*build)(struct cost_graph *g);
};
extern const struct cost_net cost_nets[];

#endif
