/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a flatbuffer without generated code. Private to convert/.
 *
 * A flatbuffer is built from its end to its beginning, so that everything referred to exists before what refers to it. A
 * place is the distance from the end; 0 is no place. After a failed allocation, or past 2 GiB, `failed` stays set and
 * further calls do nothing: check once, with fbw_finish.
 *
 *     uint32_t name = fbw_string(&w, "conv1");
 *     fbw_begin(&w);
 *     fbw_ref(&w, 0, name);
 *     fbw_i32(&w, 1, 7, 0);
 *     uint32_t table = fbw_end(&w); */
#ifndef CONVERT_DLC_FLATBUFFER_WRITE_H
#define CONVERT_DLC_FLATBUFFER_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { FBW_FIELDS = 16, FBW_VTABLES = 16 };

struct fbw {
    uint8_t *at; /* cap bytes, the last `used` of them written */
    size_t cap, used;
    bool failed, too_large;
    uint32_t fields[FBW_FIELDS]; /* of the table that is being built: place of each field, 0: absent */
    uint32_t n_fields, table_end;
    uint32_t vtables[FBW_VTABLES]; /* the newest descriptions of tables: equal ones are written once */
    uint32_t n_vtables;
};

void fbw_init(struct fbw *w, size_t expected); /* room for that many bytes */
void fbw_free(struct fbw *w);

uint32_t fbw_string(struct fbw *w, const char *s); /* NULL is written as "" */
uint32_t fbw_bytes(struct fbw *w, const void *data, uint64_t n); /* a list of u8 whose first byte lies at a multiple of 8 */
uint32_t fbw_words(struct fbw *w, const void *data, uint32_t n); /* a list of 32-bit numbers */
uint32_t fbw_refs(struct fbw *w, const uint32_t *places, uint32_t n); /* a list of tables or strings */

/* One table at a time; what it refers to is written before. Numbers equal to `absent` are left out. */
void fbw_begin(struct fbw *w);
void fbw_u8(struct fbw *w, unsigned field, uint8_t v, uint8_t absent);
void fbw_i32(struct fbw *w, unsigned field, int32_t v, int32_t absent);
void fbw_f32(struct fbw *w, unsigned field, float v);
void fbw_ref(struct fbw *w, unsigned field, uint32_t place); /* 0: left out */
uint32_t fbw_end(struct fbw *w);

/* Puts header and `prefix` (8 bytes, or NULL) in front. The bytes belong to the writer. */
enum status fbw_finish(struct fbw *w, uint32_t root, const char identifier[4], const uint8_t prefix[8], const uint8_t **ret,
                       size_t *ret_size);

#endif
