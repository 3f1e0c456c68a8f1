/* SPDX-License-Identifier: Apache-2.0 */
/* A use of an operator, drawn from the table of uses that the tests of ops/ have (tests/passes/ops_cases.h) and changed as
 * an input says, then turned into a graph of one node. */
#ifndef TESTS_FUZZ_USE_H
#define TESTS_FUZZ_USE_H

#include "../passes/ops_text.h"
#include "fuzz_api.h"

enum { USE_PARAMS = 16 };

struct fuzz_use {
    struct ops_text text;
    struct tensor_desc want[MAX_PORTS];
    Qnn_Tensor_t in[TEXT_TENSORS], out[TEXT_TENSORS];
    Qnn_Param_t params[USE_PARAMS];
    Qnn_OpConfig_t config;
    uint32_t n_data; /* inputs that come with an execution, in `given` */
    Qnn_Tensor_t given[TEXT_TENSORS], results[TEXT_TENSORS];
    uint32_t n_results;
};

uint32_t fuzz_use_count(void);
/* Number `which` as it stands in the table. */
void fuzz_use_take(struct fuzz_use *u, uint32_t which);
/* Other sizes, types, encodings and parameters; then outputs as op_infer says, where it does. */
void fuzz_use_change(struct fuzz_use *u, struct fuzz_bytes *b);
/* The client's view of it. False: its constants would be large. Memory is that of fuzz_block. */
bool fuzz_use_translate(struct fuzz_use *u, struct fuzz_bytes *b);
/* All its tensors and the node. */
bool fuzz_use_add(struct fuzz_use *u, struct fuzz_library *l, Qnn_GraphHandle_t graph);

#endif
