/* SPDX-License-Identifier: Apache-2.0 */
/* Between the client's structs and ours (private to api/): ABI types stop here.
 * Everything that a result points to is in the given arena or in the client's own memory. */
#ifndef API_TRANSLATE_H
#define API_TRANSLATE_H

#include "QNN/QnnTypes.h"
#include "base/arena.h"
#include "base/status.h"
#include "ir/ir.h"

/* Version 1 and version 2 tensors have the same leading fields; this is the view of either, NULL for unknown versions. */
const Qnn_TensorV1_t *tensor_v1(const Qnn_Tensor_t *t);
Qnn_TensorV1_t *tensor_v1_rw(Qnn_Tensor_t *t);

enum dtype dtype_from_client(Qnn_DataType_t t); /* DT_NONE when unknown */
Qnn_DataType_t dtype_to_client(enum dtype t);

/* The client's tensor type number by role and flags; false: there is none. */
bool type_to_client(const struct ir_tensor *t, uint32_t *ret);

/* The client's tensor as an ir_tensor: role, descriptor, name, data. Refuses what cannot be a tensor. `with_data`: STATIC
 * tensors must bring their data (creation); otherwise data is taken where there is some (validation). */
enum status tensor_from_client(const Qnn_Tensor_t *t, bool with_data, struct arena *a, struct ir_tensor *ret);

/* A parameter's value; points into the client's memory. */
enum status param_from_client(const Qnn_Param_t *p, struct arena *a, struct op_value *ret);

/* The reverse, for reflection: fills a version 1 or 2 struct whose pointers are in the arena. */
enum status tensor_to_client(const struct tensor_desc *d, const char *name, uint32_t id, uint32_t type, struct arena *a,
                             Qnn_Tensor_t *ret);

#endif
