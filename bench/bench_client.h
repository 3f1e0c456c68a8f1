/* SPDX-License-Identifier: Apache-2.0 */
/* A client of libQnnCpu.so for the benchmarks: opened by name, used through its table, and helpers that build layers with generated
 * weights. Whatever goes wrong ends the program with the library's own explanation. */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <QNN/QnnInterface.h>

#include "base/arena.h"

extern QNN_INTERFACE_VER_TYPE qnn; /* the library's functions */

void client_open(const char *folder);
#define CHECK(call) client_check((call), #call)
void client_check(Qnn_ErrorHandle_t e, const char *call);

/* A context with its backend; freeing the backend frees all. `threads` is what OPENQNN_THREADS says while it is made. */
struct session {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
};
void session_open(struct session *s, unsigned threads);
void session_load(struct session *s, unsigned threads, const void *binary, uint64_t size, bool persistent);
void session_close(struct session *s);

/* ---- building graphs -------------------------------------------------------------------------------------------------- */

enum activation { LINEAR, RELU, RELU6 };

/* An activation tensor [1, h, w, c]. */
struct act {
    Qnn_Tensor_t t;
    uint32_t h, w, c;
};

struct builder {
    Qnn_GraphHandle_t graph;
    bool fixed;     /* uq8 activations, sq8 weights with a scale per channel, 32-bit bias; otherwise f32 */
    uint64_t seed;
    unsigned serial;
    struct arena arena; /* names, dimensions and encodings of tensors; freed by the caller when the graph is finalized */
    Qnn_Tensor_t input, output; /* of the graph, as execute wants them */
};

struct conv {
    uint32_t out, kernel, stride;
    bool depthwise;
    enum activation act;
};

struct act build_input(struct builder *b, uint32_t h, uint32_t w, uint32_t c);
struct act build_conv(struct builder *b, struct act x, struct conv how);
struct act build_add(struct builder *b, struct act x, struct act y, enum activation act);
struct act build_pool(struct builder *b, struct act x, const char *op, uint32_t kernel, uint32_t stride, uint32_t pad);
struct act build_dense(struct builder *b, struct act x, uint32_t out, enum activation act);
void build_output(struct builder *b, struct act x, const char *op); /* an operator without parameters, into the graph's output */

/* ---- whole networks: builder in, graph without finalize out ------------------------------------------------------------ */

typedef void net_fn(struct builder *b);
net_fn net_mobilenet_v2, net_resnet50, net_narrow, net_wide, net_one_op;

#endif
