/* SPDX-License-Identifier: Apache-2.0 */
/* The text side of json.c, private to it: comments out, and where in the text a key stands. */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct json_text {
    char *at; /* from mem_alloc */
    size_t n;
};

struct json_place {
    unsigned line, column; /* from 1; columns count characters, not bytes */
};

/* One step on the way from the root to a value. Keys of an object and items of a list are counted alike, in the order of
 * the text, so a step needs no name to be found again. The root is NULL. */
struct json_step {
    const struct json_step *up;
    const char *key; /* NULL: item of a list */
    size_t ordinal;
};

/* Copy of the text without comments and byte order mark. Each character of a comment becomes a space, line ends stay:
 * whatever a parser says about lines and columns is true for the original too. */
enum status json_text_strip(const char *text, size_t size, struct json_text *ret);

/* Where the key, or the item, of `step` begins. The text must be valid JSON without comments; false when it is not found. */
bool json_text_find(const struct json_text *t, const struct json_step *step, struct json_place *ret);

#endif
