/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of the benchmarks as lists of layers, so that this library, ONNX Runtime and oneDNN are given the same ones:
 *
 *     net_list.c  a network  ->  struct net  ->  net_qnn.c   a graph through the public API
 *                                            ->  net_onnx.c  an ONNX file
 *                                            ->  peer_dnnl.c the products alone
 *
 * Weights are generated: only shapes and types matter for speed. */
#ifndef BENCH_NET_H
#define BENCH_NET_H

#include <stdbool.h>
#include <stdint.h>

enum { NET_LAYERS = 160, NET_RANK = 4, NET_PARTS = 4 };

enum layer_kind {
    LAYER_INPUT,
    LAYER_CONV,
    LAYER_POOL_MAX,
    LAYER_POOL_AVG,
    LAYER_ADD,
    LAYER_DENSE,
    LAYER_MATMUL,
    LAYER_SOFTMAX,
    LAYER_NORM,
    LAYER_GELU,
    LAYER_RELU,
    LAYER_RESHAPE,
    LAYER_TRANSPOSE,
    LAYER_CONCAT,
    LAYER_LSTM
};
enum layer_act { LINEAR, RELU, RELU6 };

struct layer {
    enum layer_kind kind;
    enum layer_act act;              /* of convolutions, sums and dense layers */
    uint32_t in[NET_PARTS], n_in;    /* layers before this one */
    uint32_t rank, dims[NET_RANK];   /* of the result */
    bool image;                      /* dims are batch, height, width, channel; other runtimes have the channel second */
    uint32_t kernel[2], stride[2], pad[2][2], group;
    uint32_t perm[NET_RANK];
    bool transpose;                  /* LAYER_MATMUL: the second operand */
    bool reverse;                    /* LAYER_LSTM: from the last frame to the first */
};

struct net {
    struct layer layers[NET_LAYERS]; /* the first is the input, the last the output */
    uint32_t n, batch;
};

struct conv {
    uint32_t out, kernel, stride;
    bool depthwise;
    enum layer_act act;
    uint32_t wide;                   /* width of the kernel where it is not square */
};

/* Each gives the number of its layer. */
uint32_t net_input(struct net *n, uint32_t rank, const uint32_t *dims, bool image);
uint32_t net_conv(struct net *n, uint32_t x, struct conv how);
uint32_t net_pool(struct net *n, uint32_t x, enum layer_kind kind, uint32_t kernel, uint32_t stride, uint32_t pad);
uint32_t net_global_pool(struct net *n, uint32_t x);
uint32_t net_add(struct net *n, uint32_t a, uint32_t b, enum layer_act act);
uint32_t net_dense(struct net *n, uint32_t x, uint32_t out, enum layer_act act); /* images become a row per batch element */
uint32_t net_matmul(struct net *n, uint32_t a, uint32_t b, bool transpose_b);
uint32_t net_same(struct net *n, uint32_t x, enum layer_kind kind);              /* softmax, norm, gelu, relu */
uint32_t net_reshape(struct net *n, uint32_t x, uint32_t rank, const uint32_t *dims);
uint32_t net_transpose(struct net *n, uint32_t x, const uint32_t *perm);
uint32_t net_concat(struct net *n, uint32_t count, const uint32_t *parts);         /* along the last dimension */
uint32_t net_lstm(struct net *n, uint32_t x, uint32_t units, bool reverse);

/* Number of values in the result of a layer; weights of a convolution or dense layer per output channel. */
uint64_t layer_count(const struct layer *l);
uint32_t net_fan_in(const struct net *n, const struct layer *l);
double net_macs(const struct net *n); /* products of all layers */

typedef void net_fn(struct net *n);
struct net_entry {
    const char *name;
    net_fn *build;
};
extern const struct net_entry net_list[]; /* what make bench runs; ends with a NULL name */
net_fn net_narrow, net_wide, net_one_op;  /* for times of loading and calling */

void net_make(struct net *n, net_fn *build, uint32_t batch);

#endif
