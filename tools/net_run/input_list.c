/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of input lists; see input_list.h. */
#include "net_run/input_list.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

struct parser {
    const char *name;
    struct arena *arena;
    struct input_list *list;
    uint32_t number;
};

/* The next item of [*p, end), copied; NULL at the end. *failed: out of memory. */
static const char *next_item(struct parser *ps, const char **p, const char *end, bool *failed)
{
    while (*p < end && (**p == ' ' || **p == '\t'))
        (*p)++;
    const char *start = *p;
    while (*p < end && **p != ' ' && **p != '\t')
        (*p)++;
    if (*p == start)
        return NULL;
    size_t n = (size_t)(*p - start);
    char *copy = arena_alloc(ps->arena, n + 1);
    *failed |= !copy;
    return copy ? memcpy(copy, start, n) : NULL;
}

static enum status parse_names(struct parser *ps, const char *p, const char *end, struct input_names *to)
{
    bool failed = false;
    const char *item;
    RETURN_IF(to->n, ST_BAD_TEXT, "%s:%u: a second line of output names; all names of one kind go into one line", ps->name,
              ps->number);
    while ((item = next_item(ps, &p, end, &failed))) {
        const char **slot = vec_push(to);
        failed |= !slot;
        if (slot)
            *slot = item;
        RETURN_IF(to->n > INPUT_ITEMS_MAX, ST_BAD_TEXT, "%s:%u: more than %d names", ps->name, ps->number, INPUT_ITEMS_MAX);
    }
    RETURN_IF(failed, ST_NO_MEMORY, "%s: names of outputs", ps->name);
    return ST_OK;
}

/* "tensor:=path" or "path" */
static enum status split_item(struct parser *ps, char *text, struct input_item *to)
{
    char *sign = strstr(text, ":=");
    *to = (struct input_item){ NULL, text };
    if (!sign)
        return ST_OK;
    *sign = '\0';
    RETURN_IF(sign == text, ST_BAD_TEXT, "%s:%u: no tensor name before \":=%s\"", ps->name, ps->number, sign + 2);
    RETURN_IF(!sign[2], ST_BAD_TEXT, "%s:%u: no path after \"%s:=\"; write it without spaces, tensor:=path", ps->name,
              ps->number, text);
    *to = (struct input_item){ text, sign + 2 };
    return ST_OK;
}

static enum status check_line(const struct parser *ps, const struct input_line *line)
{
    for (size_t i = 1; i < line->n; i++) {
        RETURN_IF(!line->items[i].tensor != !line->items[0].tensor, ST_BAD_TEXT,
                  "%s:%u: \"%s\" and \"%s\" mix tensor:=path and bare paths; use one form on a line", ps->name, ps->number,
                  line->items[0].path, line->items[i].path);
        for (size_t j = 0; j < i; j++)
            RETURN_IF(line->items[i].tensor && str_eq(line->items[i].tensor, line->items[j].tensor), ST_BAD_TEXT,
                      "%s:%u: tensor \"%s\" is given twice", ps->name, ps->number, line->items[i].tensor);
    }
    return ST_OK;
}

static enum status parse_paths(struct parser *ps, const char *p, const char *end)
{
    VEC(struct input_item) items = { 0 };
    struct input_line *line = vec_push(&ps->list->lines);
    bool failed = !line;
    const char *text;
    enum status st = ST_OK;
    while (st == ST_OK && (text = next_item(ps, &p, end, &failed))) {
        struct input_item *item = vec_push(&items);
        failed |= !item;
        if (item)
            st = split_item(ps, (char *)text, item);
        if (st == ST_OK && items.n > INPUT_ITEMS_MAX)
            st = status_fail(ST_BAD_TEXT, "%s:%u: more than %d items on one line", ps->name, ps->number, INPUT_ITEMS_MAX);
    }
    if (st == ST_OK && !failed) {
        *line = (struct input_line){ ps->number, items.n, arena_dup(ps->arena, items.at, items.n * sizeof(*items.at)) };
        failed = !line->items;
    }
    vec_finish(&items);
    if (failed)
        return status_fail(ST_NO_MEMORY, "%s: out of memory", ps->name);
    return st == ST_OK ? check_line(ps, line) : st;
}

static enum status parse_line(struct parser *ps, const char *p, const char *end)
{
    bool first = ps->list->lines.n == 0;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    if (p == end)
        return ST_OK;
    const void *nul = memchr(p, '\0', (size_t)(end - p));
    RETURN_IF(nul, ST_BAD_TEXT,
              "%s:%u: a zero byte; an input list is a text file that names the raw files, not a raw file itself", ps->name,
              ps->number);
    if (*p == '#') {
        bool comment = !first || p + 1 == end || p[1] == ' ' || p[1] == '\t' || p[1] == '#';
        RETURN_IF(!comment && ps->list->tensors.n, ST_BAD_TEXT, "%s:%u: the \"#\" line comes before the \"%%\" line",
                  ps->name, ps->number);
        return comment ? ST_OK : parse_names(ps, p + 1, end, &ps->list->layers);
    }
    if (*p == '%') {
        RETURN_IF(!first, ST_BAD_TEXT, "%s:%u: a \"%%\" line names outputs and comes before the first line of paths",
                  ps->name, ps->number);
        return parse_names(ps, p + 1, end, &ps->list->tensors);
    }
    return parse_paths(ps, p, end);
}

enum status input_list_parse(const char *text, size_t size, const char *name, struct arena *arena, struct input_list *ret)
{
    struct parser ps = { .name = name, .arena = arena, .list = ret };
    memset(ret, 0, sizeof(*ret));
    const char *p = text, *end = text + size;
    if (size >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
        p += 3;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        ps.number++;
        TRY(parse_line(&ps, p, stop));
        p = stop < end ? stop + 1 : end;
    }
    return ST_OK;
}

void input_list_finish(struct input_list *l)
{
    vec_finish(&l->lines);
    vec_finish(&l->layers);
    vec_finish(&l->tensors);
}
