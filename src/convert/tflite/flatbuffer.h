/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a flatbuffer without generated code and without trust. Private to convert/.
 *
 *     root offset   to a table: i32 back to its vtable, then fields
 *     vtable        u16 bytes of vtable, u16 bytes of table, u16 per field: offset in the table
 *     field         of a table, vector or string type: u32 forward to it
 *     vector        u32 count, then elements; a vector of tables holds u32 offsets
 *
 * Every read is checked against the buffer. The first violation is remembered and every later read gives zero, so callers
 * check once, with fb_status(). Tables and vectors may be shared by many references, so a small file can describe an
 * enormous one: each vector that is opened is charged to a budget in proportion to the size of the file. */
#ifndef CONVERT_TFLITE_FLATBUFFER_H
#define CONVERT_TFLITE_FLATBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct fb {
    const uint8_t *at;
    uint64_t n;
    uint64_t budget; /* elements and copied bytes that may still be read */
    const char *bad; /* what was violated, NULL: nothing yet */
    uint64_t bad_at;
};

struct fb_table {
    struct fb *b; /* NULL: the table is absent, every field has its default */
    uint64_t pos, vtable;
    uint16_t vtable_bytes, bytes;
};

struct fb_vec {
    struct fb *b;
    uint64_t pos; /* of element 0 */
    uint32_t n;   /* 0 when absent */
};

void fb_init(struct fb *b, const void *data, size_t size);
enum status fb_status(const struct fb *b); /* ST_INVALID_ARG with the place of the first violation */
bool fb_charge(struct fb *b, uint64_t amount); /* false, and the buffer is bad, when the budget is spent */

struct fb_table fb_root(struct fb *b);

bool fb_has(struct fb_table t, unsigned field);
int64_t fb_int(struct fb_table t, unsigned field, unsigned bytes, int64_t absent); /* signed, of 1, 2, 4 or 8 bytes */
float fb_float(struct fb_table t, unsigned field, float absent);
struct fb_table fb_sub(struct fb_table t, unsigned field);
struct fb_vec fb_vector(struct fb_table t, unsigned field, unsigned element_bytes);
const char *fb_string(struct fb_table t, unsigned field); /* NULL when absent; terminated, in the buffer */

int64_t fb_at_int(struct fb_vec v, uint32_t i, unsigned bytes);
float fb_at_float(struct fb_vec v, uint32_t i);
struct fb_table fb_at_table(struct fb_vec v, uint32_t i);
const char *fb_at_string(struct fb_vec v, uint32_t i); /* NULL past the end and after a violation */
const uint8_t *fb_bytes(struct fb_vec v); /* element 0 of a checked vector */

#endif
