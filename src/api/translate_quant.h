/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization encodings between the ABI and struct quant (private to api/). */
#ifndef API_TRANSLATE_QUANT_H
#define API_TRANSLATE_QUANT_H

#include "QNN/QnnTypes.h"
#include "base/arena.h"
#include "ops/ops.h"

/* d->type, rank and dims are set already. Arrays are copied into the arena. */
enum status quant_from_client(const Qnn_QuantizeParams_t *p, const char *name, struct arena *a, struct tensor_desc *d);
enum status quant_to_client(const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *ret);

#endif
