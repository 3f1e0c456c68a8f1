/* SPDX-License-Identifier: Apache-2.0 */
/* JSON configuration files, read by field tables: a table says which keys exist and where their values go; one function
 * fills the struct and explains what it refuses, with the path of the key, line and column, and the nearest known key.
 * `//` and block comments are accepted, since the documented examples contain them.
 *
 *     static const struct json_field fields[] = {
 *         { "vtcm_mb", JSON_U32, offsetof(struct cfg, vtcm_mb), .max = 16 },
 *         { "priority", JSON_ENUM, offsetof(struct cfg, priority), .names = priority_names },
 *         { "graphs", JSON_LIST, offsetof(struct cfg, graphs), .sub = graph_fields, .item_size = sizeof(struct graph_cfg) },
 *         {} };
 *     TRY(json_read(text, size, fields, &cfg, &arena));
 *
 * Only tools and extension libraries link this (it needs jansson); the backend libraries do not. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum json_kind {
    JSON_BOOL,    /* bool */
    JSON_U32,     /* uint32_t, min..max (max 0: no limit) */
    JSON_I64,     /* int64_t, min..max as signed numbers (both 0: no limit; max below min: no upper limit) */
    JSON_F64,     /* double, limits as for JSON_I64 */
    JSON_STRING,  /* const char *, in the arena */
    JSON_ENUM,    /* uint32_t: index of the string in names[] (NULL-terminated) */
    JSON_OBJECT,  /* struct embedded at offset, by sub */
    JSON_LIST,    /* struct json_list: items of item_size by sub, or strings when sub is NULL */
    JSON_STRINGS, /* struct json_list of const char * */
    JSON_U32S,    /* struct json_list of uint32_t, each within min..max */
    JSON_ANY,     /* whatever there is, not looked at; only `seen` tells of it */
};

struct json_list {
    void *items;
    size_t n;
};

struct json_field {
    const char *key;
    enum json_kind kind;
    size_t offset;
    uint64_t min, max;
    const char *const *names;
    const struct json_field *sub;
    size_t item_size;
    size_t seen; /* offset of a bool set to true when the key is there, 0: none (never at offset 0) */
    bool required;
    const char *about; /* for documents and schemas: what the key does */
    const char *test;  /* for documents: which test shows it */
};

/* Keys that are not in the text leave *out as it was: put defaults there first. On failure *out may be filled in part.
 * Keys given twice are refused. A place is that of the key (or list item); for a syntax error it is where the text that
 * could not be used ends ("near line 4, column 5"). In json_read_file the path of the file comes first.
 * Unknown keys are refused: "Invalid key: graph_configs/0/graph_priority (line 4, column 5); nearest known key: …". */
enum status json_read(const char *text, size_t size, const struct json_field *fields, void *out, struct arena *arena);
enum status json_read_file(const char *path, const struct json_field *fields, void *out, struct arena *arena);

#endif
