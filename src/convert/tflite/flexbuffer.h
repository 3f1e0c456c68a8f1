/* SPDX-License-Identifier: Apache-2.0 */
/* Options of custom operators: a map from names to numbers. Private to convert/tflite/. */
#ifndef CONVERT_TFLITE_FLEXBUFFER_H
#define CONVERT_TFLITE_FLEXBUFFER_H

#include <stdbool.h>
#include <stdint.h>

/* The number of this name; false: it is not there, is no number, or the bytes are no such map. */
bool flex_number(const void *data, uint64_t size, const char *key, double *ret);

#endif
