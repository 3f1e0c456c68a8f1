/* SPDX-License-Identifier: Apache-2.0 */
/* The memory map for programs. Sizes and addresses are bytes; steps begin at 0. */
#include <jansson.h>
#include <stdlib.h>

#include "memory_map/memory_map.h"

static void set_number(json_t *to, const char *key, uint64_t value)
{
    json_object_set_new(to, key, json_integer((json_int_t)value));
}

static void set_text(json_t *to, const char *key, const char *value)
{
    json_t *text = json_string(value); /* NULL for bytes that are not UTF-8 */
    json_object_set_new(to, key, text ? text : json_string("?"));
}

static json_t *item_json(const struct memory_map *m, const struct map_item *x)
{
    json_t *o = json_object();
    set_text(o, "name", x->name);
    set_text(o, "kind", map_kind_name(x->kind));
    set_text(o, "operator", x->op);
    set_number(o, "offset", x->offset);
    set_number(o, "bytes", x->bytes);
    set_number(o, "first", x->first);
    set_number(o, "last", x->last);
    if (x->views)
        set_text(o, "views", x->view_names);
    if (x->in_place_of != BINARY_NONE)
        set_text(o, "inPlaceOf", m->items[x->in_place_of].name);
    return o;
}

static json_t *moved_json(const struct binary_traffic *t)
{
    static const char *const names[PLACE_COUNT] = {
        [PLACE_CONST] = "model", [PLACE_SCRATCH] = "scratch", [PLACE_PERSISTENT] = "persistent",
        [PLACE_IO] = "io",       [PLACE_VTCM] = "vtcm",       [PLACE_SPILL] = "spillFill",
        [PLACE_LINES] = "lines",
    };
    json_t *o = json_object();
    for (int p = 1; p < PLACE_COUNT; p++)
        if (names[p])
            json_object_set_new(
                o, names[p], json_pack("{s:I,s:I}", "read", (json_int_t)t->read[p], "written", (json_int_t)t->written[p]));
    return o;
}

static json_t *dma_json(const struct binary_moves *m)
{
    json_t *o = json_object();
    set_number(o, "weights", m->weights);
    set_number(o, "inputs", m->inputs);
    set_number(o, "outputs", m->outputs);
    set_number(o, "fill", m->fill);
    set_number(o, "spill", m->spill);
    return o;
}

/* What a device does in a step. */
static void set_device(json_t *to, const struct map_step *s)
{
    json_t *list = json_array();
    for (uint32_t r = RESOURCE_MATRIX; r <= RESOURCE_DMA; r *= 2)
        if (s->resources & r)
            json_array_append_new(list, json_string(map_resource_name((enum binary_resource)r)));
    json_object_set_new(to, "resources", list);
    json_object_set_new(to, "dma", dma_json(&s->dma));
}

static json_t *step_json(const struct memory_map *m, uint32_t index)
{
    const struct map_step *s = &m->steps[index];
    json_t *o = json_object();
    set_number(o, "step", index);
    set_text(o, "node", s->node ? s->node : "");
    set_text(o, "operator", s->op ? s->op : "");
    set_number(o, "nodes", s->nodes);
    set_number(o, "live", s->live);
    set_number(o, "macs", s->macs);
    set_number(o, "cycles", s->cycles);
    set_number(o, "commands", s->commands);
    json_object_set_new(o, "moved", moved_json(&s->moved));
    if (m->g->info.vtcm_bytes)
        set_device(o, s);
    return o;
}

static json_t *peak_json(const struct memory_map *m)
{
    json_t *o = json_object(), *alive = json_array();
    set_number(o, "step", m->peak);
    set_number(o, "bytes", m->peak_bytes);
    set_text(o, "node", m->n_steps && m->steps[m->peak].node ? m->steps[m->peak].node : "");
    for (uint32_t i = 0; i < m->n_items; i++)
        if (map_alive(&m->items[i], m->peak))
            json_array_append_new(alive, item_json(m, &m->items[i]));
    json_object_set_new(o, "tensors", alive);
    return o;
}

static json_t *state_json(const char *name, const char *op, uint64_t offset, uint64_t bytes)
{
    json_t *o = json_object();
    set_text(o, "name", name);
    set_text(o, "operator", op);
    set_number(o, "offset", offset);
    set_number(o, "bytes", bytes);
    return o;
}

/* What survives between executions. */
static json_t *states_json(const struct binary_graph *g)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k].state_bytes)
            json_array_append_new(
                list, state_json(g->nodes[k].name, g->nodes[k].op->name, g->nodes[k].state_offset, g->nodes[k].state_bytes));
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].place == PLACE_PERSISTENT)
            json_array_append_new(list, state_json(g->tensors[i].name, "", g->tensors[i].offset, g->tensors[i].bytes));
    return list;
}

static json_t *graph_json(const struct memory_map *m)
{
    const struct binary_graph_info *i = &m->g->info;
    json_t *o = json_object(), *items = json_array(), *steps = json_array();
    set_text(o, "graph", i->name);
    set_number(o, "scratch", i->scratch_bytes);
    set_number(o, "alignment", i->scratch_align);
    set_number(o, "persistent", i->persistent_bytes);
    set_text(o, "pool", m->pool);
    set_number(o, "vtcm", i->vtcm_bytes);
    set_number(o, "vtcmUsed", i->vtcm_used);
    set_number(o, "spillFill", i->spill_fill_bytes);
    set_number(o, "constants", i->const_bytes);
    set_number(o, "io", i->io_bytes);
    set_number(o, "lowerBound", i->live_bytes);
    set_number(o, "lowerBoundOfAnyOrder", i->order_bytes);
    json_object_set_new(o, "optimal", json_boolean(i->plan_optimal));
    set_number(o, "macs", i->macs);
    set_number(o, "cycles", i->cycles);
    json_object_set_new(o, "peak", peak_json(m));
    for (uint32_t k = 0; k < m->n_items; k++)
        json_array_append_new(items, item_json(m, &m->items[k]));
    for (uint32_t k = 0; k < m->n_steps; k++)
        json_array_append_new(steps, step_json(m, k));
    json_object_set_new(o, "tensors", items);
    json_object_set_new(o, "states", states_json(m->g));
    json_object_set_new(o, "steps", steps);
    return o;
}

enum status map_json(const struct memory_map *const *maps, uint32_t n, const char *title, struct str *out)
{
    json_t *root = json_object(), *graphs = json_array();
    set_text(root, "file", title);
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(graphs, graph_json(maps[i]));
    json_object_set_new(root, "graphs", graphs);
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    RETURN_IF(!text, ST_NO_MEMORY, "memory map of \"%s\" as JSON: no memory", title);
    str_add(out, text);
    str_add(out, "\n");
    free(text);
    return ST_OK;
}
