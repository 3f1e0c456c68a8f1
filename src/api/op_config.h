/* SPDX-License-Identifier: Apache-2.0 */
/* A client's Qnn_OpConfig_t as an op_call, for validation before any tensor exists (private to api/). */
#ifndef API_OP_CONFIG_H
#define API_OP_CONFIG_H

#include "QNN/QnnTypes.h"
#include "api/op_package.h"
#include "base/arena.h"
#include "ops/ops.h"

/* Arrays are in the arena; data pointers are the client's. */
struct op_view {
    struct op_call call;
    struct op_value *params;
    const struct backend_package *package; /* NULL: the operator is built in */
};

/* Data of a tensor parameter that the client names by id only, and how many bytes they are; NULL when there is none. */
struct param_source {
    const void *(*data)(void *arg, uint32_t id, uint64_t *bytes);
    void *arg;
};

/* Everything but inputs and outputs. */
struct op_parts {
    const struct op_def *op;
    struct op_value *params;               /* in the order of the row */
    const struct backend_package *package; /* of a PackageOp; NULL: the operator is built in */
    const Qnn_Tensor_t **tensors;          /* parameters of a PackageOp that are tensors: its last inputs */
    uint32_t n_tensors;
};
/* `source` may be NULL. */
enum status op_config_op(const Qnn_OpConfig_t *config, struct api_packages *packages, struct arena *a,
                         const struct param_source *source, struct op_parts *ret);

/* Outputs without NULL tensors at the end, which are optional ones that the client leaves out. */
uint32_t op_config_outputs(const Qnn_OpConfigV1_t *c);

/* The whole configuration with tensors as described in it; ids are ignored. */
enum status op_config_view(const Qnn_OpConfig_t *config, struct api_packages *packages, struct arena *a,
                           struct op_view *ret);

#endif
