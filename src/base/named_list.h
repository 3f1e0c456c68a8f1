/* SPDX-License-Identifier: Apache-2.0 */
/* Values with names, in one piece of bytes: for names that only those who wrote and read the list know.
 *
 *   OFFSET  SIZE  FIELD, of each entry
 *        0     4  bytes of the entry, a multiple of 8
 *        4     4  bytes of the value
 *        8     2  bytes of the name with its terminating zero, at least 2
 *       10     1  type, a number of the user's
 *       11     1  1: the value is elsewhere and there is none here; otherwise 0
 *       12     4  0
 *       16        name; then, at the next multiple of 8, the value
 */
#ifndef BASE_NAMED_LIST_H
#define BASE_NAMED_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct named_value {
    const char *name;
    uint8_t type;
    bool elsewhere;
    uint32_t bytes;
    const void *data;
};

uint32_t named_list_size(const struct named_value *list, uint32_t n);
void named_list_pack(const struct named_value *list, uint32_t n, void *dst); /* of so many bytes */
/* Reads bytes that anybody may have written: at most `most` entries, pointing into them. NULL, or what is wrong: "ends in
 * the middle of an entry". */
const char *named_list_read(const void *bytes, size_t size, struct named_value *ret, uint32_t most, uint32_t *n);

#endif
