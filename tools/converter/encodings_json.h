/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings as JSON: overrides that users bring, and those that were chosen.
 *
 *     { "activation_encodings": { "conv1": [ { "bitwidth": 8, "min": -1.0, "max": 3.2 } ] },
 *       "param_encodings": { "conv1.weight": [
 *           { "bitwidth": 8, "scale": 0.01, "offset": -128, "is_symmetric": "True" }, … one per output ] } }
 *
 * Also the list form, version 1.0.0: [ { "name": "conv1", "bw": 8, "enc_type": "PER_TENSOR", "scale": [0.01], "offset":
 * [-128], "is_sym": true } ], with PER_CHANNEL, PER_BLOCK ("block_size") and LPBQ ("compressed_bw", "per_block_int_scale");
 * and version 2.0.0:
 *     { "version": "2.0.0", "encodings": [ { "name": "w", "output_dtype": "int4", "y_scale": [[…], …], "y_zero_point": 0,
 *     "axis": 1, "block_size": 32 } ] },
 * with "per_channel_float_scale" and "per_block_int_scale" instead of "y_scale" for LPBQ. Offsets of either sign are
 * accepted; min and max win over scale and offset. */
#ifndef TOOLS_CONVERTER_ENCODINGS_JSON_H
#define TOOLS_CONVERTER_ENCODINGS_JSON_H

#include "convert/convert.h"

struct encodings {
    VEC(struct quantize_override) list;
    VEC(bool) used;
};
/* Appends to *to; names and entries are in the arena. Call encodings_link when the list is complete. */
enum status encodings_read(const char *path, struct arena *a, struct encodings *to);
enum status encodings_link(struct encodings *e, struct arena *a); /* overrides tell `used` from now on */
void encodings_finish(struct encodings *e);

enum status encodings_write(const struct quantize_report *r, const char *path);

#endif
