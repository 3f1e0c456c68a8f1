/* SPDX-License-Identifier: Apache-2.0 */
/* One operator case of the ONNX project: a model, inputs, and the outputs that are expected. */
#ifndef TESTS_MODELS_ONNX_CASE_H
#define TESTS_MODELS_ONNX_CASE_H

#include "model_compose.h"
#include "convert/onnx/onnx_model.h"

enum verdict { CASE_PASSED, CASE_FAILED, CASE_REFUSED, CASE_BROKEN /* converted, but did not run */ };

struct onnx_case {
    char name[128];
    char ops[256];     /* "Add+Mul" */
    enum verdict verdict;
    unsigned fixed;    /* inputs whose contents had to be known when converting */
    unsigned inputs;   /* of the graph that ran */
    unsigned nodes;    /* of the graph that ran */
    unsigned turned;   /* inputs and outputs that are channel last in the graph and not in the source */
    uint64_t compared; /* elements */
    char reason[600];  /* why not passed */
};

struct onnx_how {
    bool spoil;        /* one element of every result is changed before it is compared: nothing may pass then */
    bool channel_last; /* inputs and outputs in the order that the converter chooses, as it reports it */
};

/* folder has model.onnx and test_data_set_0. */
void onnx_case_run(struct onnx_case *c, struct compose *on, const char *folder, struct onnx_how how);

#endif
