/* SPDX-License-Identifier: Apache-2.0 */
/* The input list: which files feed a graph, one line per inference.
 *
 *     #layer0 layer1            only the outputs of these layers are saved    (before the first line of paths, "#" first)
 *     %tensor0 tensor1          only these output tensors are saved
 *     # a comment               "#" and a space, anywhere; after the first line of paths every "#" line is a comment
 *     in/a.raw in/b.raw         paths in the order of the graph's inputs
 *     x:=in/a.raw y:=in/b.raw   or by name, in any order
 *
 * Items are separated by spaces or tabs; blank lines, CR LF and a byte order mark are accepted. Only a leading "#" or "%" is
 * special: paths may contain both. */
#ifndef TOOLS_NET_RUN_INPUT_LIST_H
#define TOOLS_NET_RUN_INPUT_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

struct input_item {
    const char *tensor; /* NULL: by position */
    const char *path;
};

struct input_line {
    uint32_t number; /* in the file, from 1 */
    size_t n;
    struct input_item *items;
};

struct input_names {
    size_t n, cap;
    const char **at;
};

struct input_list {
    VEC(struct input_line) lines;
    struct input_names layers, tensors; /* outputs to save; none: all */
};

enum { INPUT_ITEMS_MAX = 4096 }; /* on one line: more inputs than any graph has */

/* Strings and items live in the arena; the vectors are freed by input_list_finish. `name` is used in messages. */
enum status input_list_parse(const char *text, size_t size, const char *name, struct arena *arena, struct input_list *ret);
void input_list_finish(struct input_list *l);

#endif
