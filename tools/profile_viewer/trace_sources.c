/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators of the framework a node was made from, by the DLC that the converter wrote: nodes of the graph keep the
 * names that they have there. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "convert/convert.h"
#include "profile_viewer/trace_model.h"

struct trace_sources {
    struct convert_dlc *dlc;
    const char *path;
    struct ir_graph *const *graphs;
    uint32_t n;
    uint32_t known; /* nodes with a source */
};

void trace_sources_close(struct trace_sources *s)
{
    if (s)
        convert_dlc_close(s->dlc);
    mem_free(s);
}

void trace_sources_closep(struct trace_sources **s)
{
    trace_sources_close(*s);
}

static enum status read_graphs(struct trace_sources *s)
{
    TRY(convert_dlc_open(s->path, &s->dlc));
    TRY(convert_dlc_graphs(s->dlc, NULL, &s->graphs, &s->n));
    for (uint32_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->graphs[i]->nodes.n; k++)
            s->known += s->graphs[i]->nodes.at[k].source != NULL;
    RETURN_IF(!s->known, ST_INVALID_ARG,
              "it has no names of a framework; convert the model with --export_format dlc --enable_framework_trace");
    return ST_OK;
}

enum status trace_sources_open(const char *path, struct trace_sources **ret)
{
    struct trace_sources *s = mem_new(struct trace_sources);
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for --dlc %s", path);

    s->path = path;
    enum status st = read_graphs(s);
    if (st != ST_OK) {
        trace_sources_close(s);
        return status_prefix(st, "--dlc %s", path);
    }
    *ret = s;
    return ST_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct ir_node *x = *(const struct ir_node *const *)a, *y = *(const struct ir_node *const *)b;
    return strcmp(x->name, y->name);
}

static int is_named(const void *name, const void *node)
{
    return strcmp(name, (*(const struct ir_node *const *)node)->name);
}

/* The graph of that name, or the only one: tools rename a model that is alone. */
static const struct ir_graph *graph_of(const struct trace_sources *s, const char *name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (str_eq(s->graphs[i]->name, name))
            return s->graphs[i];
    return s->n == 1 ? s->graphs[0] : NULL;
}

enum status trace_sources_find(const struct trace_sources *s, struct trace_graph *t)
{
    const struct ir_graph *g = graph_of(s, t->g->info.name);
    uint32_t found = 0;
    RETURN_IF(!g, ST_INVALID_ARG, "--dlc %s has no graph \"%s\"; it is of another model", s->path, t->g->info.name);

    CLEANUP(mem_freep) const struct ir_node **list = mem_array(const struct ir_node *, g->nodes.n + 1);
    t->sources = mem_array(const char *, (size_t)t->g->n_nodes + 1);
    RETURN_IF(!list || !t->sources, ST_NO_MEMORY, "no memory for the names of %zu nodes", g->nodes.n);
    for (size_t k = 0; k < g->nodes.n; k++)
        list[k] = &g->nodes.at[k];
    qsort(list, g->nodes.n, sizeof list[0], by_name);

    for (uint32_t k = 0; k < t->g->n_nodes; k++) {
        const struct ir_node **at = bsearch(t->g->nodes[k].name, list, g->nodes.n, sizeof list[0], is_named);
        t->sources[k] = at ? (*at)->source : NULL;
        found += at != NULL;
    }
    RETURN_IF(!found, ST_INVALID_ARG, "--dlc %s is of another model: none of the %u nodes of graph \"%s\" is in it", s->path,
              t->g->n_nodes, t->g->info.name);
    return ST_OK;
}
