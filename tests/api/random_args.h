/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments drawn at random for the calls of test_random_calls: half of them what a client could mean, half of them wrong in
 * one place. Everything that is pointed at exists and is as long as the struct says; a count that lies is so large that
 * nobody may believe it. */
#ifndef TESTS_RANDOM_ARGS_H
#define TESTS_RANDOM_ARGS_H

#include "api_test.h"

enum { GROUND_BYTES = 1 << 16, ARG_TENSORS = 6, ARG_PARAMS = 4 };

/* One per thread. */
struct dice {
    uint64_t state;
    const uint8_t *script; /* decides as long as there is some left of it: the bytes of a fuzz input */
    size_t left;
    _Alignas(
        64) uint8_t ground[GROUND_BYTES]; /* what pointers point at: data, scales, block sizes; outputs land here, too */
};

uint32_t dice_draw(struct dice *d, uint32_t below); /* below > 0 */
bool dice_one_in(struct dice *d, uint32_t n);

struct node_args {
    Qnn_OpConfig_t config;
    Qnn_Tensor_t in[ARG_TENSORS], out[ARG_TENSORS];
    Qnn_Param_t params[ARG_PARAMS];
};

/* A tensor that was given to the library, with dimensions of its own: those of random_tensor do not stay. */
struct known_tensor {
    Qnn_Tensor_t t;
    uint32_t dims[8];
};

void known_keep(struct known_tensor *k, Qnn_Tensor_t t);

Qnn_Tensor_t random_tensor(struct dice *d);
Qnn_Tensor_t random_known(struct dice *d, const struct known_tensor *known, uint32_t n); /* one of them, most of the time */
void random_node(struct dice *d, const QnnBackend_OperationName_t *ops, uint32_t n_ops, const struct known_tensor *known,
                 uint32_t n_known, struct node_args *ret);
/* One entry of a configuration list; its text and lists are static. */
QnnContext_Config_t random_context_config(struct dice *d);
QnnGraph_Config_t random_graph_config(struct dice *d, void *profile);
Qnn_MemDescriptor_t random_memory(struct dice *d, int fd);

#endif
