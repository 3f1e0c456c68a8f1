/* SPDX-License-Identifier: Apache-2.0 */
/* What all front ends share besides the builder: the report and names. */
#include "convert/convert.h"

#include <ctype.h>
#include <string.h>

#include "convert/builder.h"

void convert_report_init(struct convert_report *r)
{
    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
}

void convert_report_finish(struct convert_report *r)
{
    vec_finish(&r->issues);
    vec_finish(&r->io);
    arena_finish(&r->arena);
}

enum status report_issue(struct convert_report *r, const char *node, const char *op, const char *reason, const char *nearest)
{
    struct convert_issue i = {arena_strdup(&r->arena, node ? node : ""), arena_strdup(&r->arena, op ? op : ""),
                              arena_strdup(&r->arena, reason ? reason : ""), arena_strdup(&r->arena, nearest)};
    bool ok = i.node && i.op && i.reason && (i.nearest || !nearest);
    struct convert_issue *slot = ok ? vec_push(&r->issues) : NULL;
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for the report of the conversion");
    *slot = i;
    return ST_OK;
}

enum status report_io(struct convert_report *r, const struct convert_io *io)
{
    struct convert_io c = {arena_strdup(&r->arena, io->source_name), arena_strdup(&r->arena, io->graph_name),
                           arena_strdup(&r->arena, io->source_layout ? io->source_layout : ""),
                           arena_strdup(&r->arena, io->graph_layout ? io->graph_layout : ""), io->output,
                           arena_strdup(&r->arena, io->state), io->initial, io->initial_bytes};
    bool ok = c.source_name && c.graph_name && c.source_layout && c.graph_layout && (c.state || !io->state);
    struct convert_io *slot = ok ? vec_push(&r->io) : NULL;
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for the report of the conversion");
    *slot = c;
    return ST_OK;
}

const char *convert_name(struct arena *a, const char *name)
{
    size_t n = strlen(name);
    bool digit = n == 0 || isdigit((unsigned char)name[0]);
    char *s = arena_alloc(a, n + 2);
    if (!s)
        return NULL;
    s[0] = '_';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name[i];
        s[i + digit] = isalnum(c) && c < 128 ? (char)c : '_';
    }
    return s;
}

bool convert_keeps_type(struct arena *a, const struct convert_opts *o, const char *name)
{
    const char *id = convert_name(a, name);
    if (!o->float16 || !o->preserve_types)
        return false;
    for (uint32_t i = 0; i < o->n_preserved; i++)
        if (str_eq(o->preserved[i], name) || (id && str_eq(o->preserved[i], id)))
            return true;
    return !o->n_preserved;
}
