/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format, read in place: a message is a range of bytes, a field a number and a value in that range.
 * Nothing is copied, so that the weights of a large model stay where the file is mapped; nothing outside the range is ever
 * read. Private to convert/onnx. */
#ifndef CONVERT_ONNX_WIRE_H
#define CONVERT_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

struct wire {
    const uint8_t *p, *end;
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;     /* all but WIRE_BYTES */
    struct wire bytes;  /* WIRE_BYTES */
};

/* The next field; *more is false at the end. Groups and other unknown types are refused. */
enum status wire_next(struct wire *w, struct wire_field *f, bool *more);
/* How many times a field occurs, for arrays of the right size. The message was read without failure before. */
enum status wire_count(struct wire w, uint32_t number, size_t *ret);

size_t wire_size(struct wire w);
const char *wire_text(struct arena *a, struct wire bytes); /* a terminated copy; NULL when out of memory */
float wire_float(uint64_t bits);

/* One repeated field of numbers, packed or not: a value per call. */
struct wire_numbers {
    struct wire message, packed;
    uint32_t number;
    enum wire_type type; /* of the elements */
};
void wire_numbers_begin(struct wire_numbers *n, struct wire message, uint32_t number, enum wire_type type);
enum status wire_numbers_next(struct wire_numbers *n, uint64_t *value, bool *more);

#endif
