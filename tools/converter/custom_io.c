/* SPDX-License-Identifier: Apache-2.0 */
/* See custom_io.h. */
#include "converter/custom_io.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "common/tool_file.h"
#include "common/tool_log.h"

struct item {
    const char *name, *model, *custom, *type, *definition, *scale, *offset;
};

static const struct {
    const char *key;
    size_t offset; /* of the value in struct item; SIZE_MAX: a heading */
} keys[] = {
    { "IOName", offsetof(struct item, name) },     { "Layout", SIZE_MAX },
    { "Model", offsetof(struct item, model) },     { "Custom", offsetof(struct item, custom) },
    { "Datatype", offsetof(struct item, type) },   { "QuantParam", SIZE_MAX },
    { "Type", offsetof(struct item, definition) }, { "Scale", offsetof(struct item, scale) },
    { "Offset", offsetof(struct item, offset) },
};

static enum status set_value(const char *path, unsigned line, const char *key, const char *value, struct item *to)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!str_eq(keys[i].key, key))
            continue;
        if (keys[i].offset != SIZE_MAX)
            *(const char **)((char *)to + keys[i].offset) = value;
        return ST_OK;
    }
    return status_fail(
        ST_BAD_TEXT,
        "%s:%u: \"%s\" is not known; IOName, Layout (Model, Custom), Datatype and QuantParam (Type, Scale, Offset) are",
        path, line, key);
}

static char *trim(char *s)
{
    s += strspn(s, " \t'\"");
    char *end = s + strlen(s);
    while (end > s && strchr(" \t\r'\"", end[-1]))
        *--end = '\0';
    return s;
}

struct items {
    VEC(struct item) list;
};

static enum status parse_line(const char *path, unsigned number, char *line, struct items *to)
{
    char *comment = strstr(line, " #");
    if (comment)
        *comment = '\0';
    char *text = line + strspn(line, " \t");
    if (!*text || *text == '#' || *text == '\r' || str_starts(text, "---"))
        return ST_OK;
    if (*text == '-') {
        RETURN_IF(!vec_push(&to->list), ST_NO_MEMORY, "%s: out of memory", path);
        text++;
    }
    char *colon = strchr(text, ':');
    RETURN_IF(!to->list.n || !colon, ST_BAD_TEXT, "%s:%u: \"- IOName: NAME\" or \"KEY: VALUE\" is expected", path, number);
    *colon = '\0';
    return set_value(path, number, trim(text), trim(colon + 1), &to->list.at[to->list.n - 1]);
}

static enum status parse(const char *path, char *text, struct items *to)
{
    unsigned number = 1;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        TRY(parse_line(path, number, line, to));
    }
    return ST_OK;
}

/* ---- what it means ------------------------------------------------------------------------------------------------ */

static enum status preserve(struct quantizer_args *q, const char *name, struct arena *a)
{
    const char **list = arena_array(a, const char *, q->n_preserved + 1);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for \"%s\"", name);
    if (q->n_preserved)
        memcpy(list, q->preserved, q->n_preserved * sizeof(*list));
    list[q->n_preserved++] = name;
    q->preserved = list;
    q->preserve_io = true;
    return ST_OK;
}

static enum status encode(const char *path, const struct item *i, struct quantizer_args *q, struct arena *a)
{
    char *end = NULL, *end2 = NULL;
    double scale = strtod(i->scale, &end);
    long offset = i->offset ? strtol(i->offset, &end2, 10) : 0;
    RETURN_IF(*end || !(scale > 0) || (end2 && *end2), ST_BAD_TEXT,
              "%s: \"%s\": Scale above 0 and a whole Offset are expected", path, i->name);
    struct quantize_override *list = arena_array(a, struct quantize_override, q->n_io + 1);
    struct quantize_entry *e = arena_new(a, struct quantize_entry);
    RETURN_IF(!list || !e, ST_NO_MEMORY, "no memory for \"%s\"", i->name);
    if (q->n_io)
        memcpy(list, q->io, q->n_io * sizeof(*list));
    *e =
        (struct quantize_entry){ .scale = scale, .offset = offset, .has_scale = true, .symmetric = str_eq(i->type, "int8") };
    list[q->n_io++] = (struct quantize_override){ .name = i->name, .bits = 8, .n = 1, .entries = e };
    q->io = list;
    return ST_OK;
}

/* The layout that a tensor has in the graph. */
static const char *graph_layout(const struct convert_report *r, const char *name, const char *fallback)
{
    for (size_t i = 0; r && i < r->io.n; i++)
        if (str_eq(r->io.at[i].graph_name, name) && r->io.at[i].graph_layout[0])
            return r->io.at[i].graph_layout;
    return fallback;
}

struct target {
    const char *path;
    const struct convert_report *r;
    struct ir_graph *g;
    struct arena *a;
    struct quantizer_args *q;
};

static enum status apply(const struct target *to, const struct item *i)
{
    RETURN_IF(!i->name, ST_BAD_TEXT, "%s: an entry has no IOName", to->path);
    const char *name = convert_name(to->a, i->name);
    uint32_t t = name ? ir_find_tensor(to->g, name) : IR_NONE;
    RETURN_IF(t == IR_NONE || (to->g->tensors.at[t].role != IR_INPUT && to->g->tensors.at[t].role != IR_OUTPUT),
              ST_NOT_FOUND, "%s: the graph has no input or output \"%s\"", to->path, i->name);
    const char *from = graph_layout(to->r, name, i->model);
    if (i->custom && i->custom[0] && from && !str_eq(from, i->custom)) {
        enum status st = custom_io_layout(to->g, t, from, i->custom, to->a);
        if (st != ST_OK)
            return status_prefix(st, "%s", to->path);
    }
    struct item copy = *i;
    copy.name = name;
    if (i->scale && !str_eq(i->definition, "QNN_DEFINITION_UNDEFINED"))
        return encode(to->path, &copy, to->q, to->a);
    if (str_eq(i->type, "float32") || str_eq(i->type, "float16"))
        return preserve(to->q, name, to->a);
    return ST_OK;
}

enum status custom_io_read(const char *path, const struct convert_report *r, struct ir_graph *g, struct arena *a,
                           struct quantizer_args *q)
{
    struct target to = { path, r, g, a, q };
    struct tool_file f = { 0 };
    struct items items = { 0 };
    TRY(tool_file_read(path, &f));
    char *text = arena_alloc(a, f.size + 1);
    enum status st = text ? ST_OK : status_fail(ST_NO_MEMORY, "%s: out of memory", path);
    if (text) {
        memcpy(text, f.data, f.size);
        st = parse(path, text, &items);
    }
    for (size_t i = 0; i < items.list.n && st == ST_OK; i++)
        st = apply(&to, &items.list.at[i]);
    vec_finish(&items.list);
    tool_file_free(&f);
    return st;
}

static const char *type_name(enum dtype t)
{
    return t == DT_F16         ? "float16"
           : t == DT_UQ8       ? "uint8"
           : t == DT_SQ8       ? "int8"
           : dtype_is_float(t) ? "float32"
                               : dtype_name(t);
}

enum status custom_io_template(const struct convert_report *r, struct ir_graph *g, const char *path)
{
    struct str s;
    str_init(&s);
    str_add(&s, "# Datatype: float32, float16, uint8 or int8. QuantParam/Type: QNN_DEFINITION_DEFINED with Scale and "
                "Offset, or QNN_DEFINITION_UNDEFINED.\n");
    for (size_t i = 0; i < r->io.n; i++) {
        const struct convert_io *io = &r->io.at[i];
        uint32_t t = ir_find_tensor(g, io->graph_name);
        if (t == IR_NONE)
            continue;
        str_addf(&s, "- IOName: %s\n  Layout:\n    Model: %s\n    Custom: %s\n  Datatype: %s\n", io->graph_name,
                 io->source_layout, io->graph_layout, type_name(g->tensors.at[t].desc.type));
        str_addf(&s, "  QuantParam:\n    Type: QNN_DEFINITION_UNDEFINED\n");
    }
    enum status st =
        s.failed ? status_fail(ST_NO_MEMORY, "%s: out of memory", path) : tool_file_write(path, str_text(&s), s.n);
    str_finish(&s);
    return st;
}
