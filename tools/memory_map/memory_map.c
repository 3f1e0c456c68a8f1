/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of a context binary to rectangles of time and address. */
#include "memory_map/memory_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "common/short_names.h"
#include "common/tool_file.h"

const char *const map_formats[] = { "text", "json", "html", NULL };

bool map_alive(const struct map_item *i, uint32_t step)
{
    return i->first <= step && step <= i->last;
}

const char *map_kind_name(enum map_kind k)
{
    static const char *const names[MAP_KINDS] = { "tensor", "input", "output", "workspace", "tile" };
    return names[k];
}

const char *map_resource_name(enum binary_resource r)
{
    return r == RESOURCE_MATRIX ? "HMX" : r == RESOURCE_VECTOR ? "HVX" : "DMA";
}

const char *map_human(uint64_t bytes, char *buf, size_t size)
{
    uint64_t unit = bytes < 1u << 20 ? 1024 : 1u << 20;
    if (bytes < 1024)
        snprintf(buf, size, "%" PRIu64 " B", bytes);
    else
        snprintf(buf, size, bytes % unit ? "%.2f %s" : "%.0f %s", (double)bytes / (double)unit,
                 unit == 1024 ? "KiB" : "MiB");
    return buf;
}

/* ---- items ------------------------------------------------------------------------------------------------------------ */

struct builder {
    struct memory_map *m;
    struct arena *a;
    uint32_t *maker;   /* per tensor: the node that writes it, BINARY_NONE: none */
    bool *named;       /* per tensor: some node reads or writes it */
    uint32_t *step_of, *last_step; /* per node; those with phases have more than one */
};

/* The room of an input or output is a tensor of scratch that no node names, called like it. */
static enum map_kind kind_of(const struct builder *b, uint32_t tensor)
{
    const struct binary_graph *g = b->m->g;
    for (uint32_t k = 0; k < g->n_io && !b->named[tensor]; k++) {
        const struct binary_tensor *io = &g->tensors[g->io[k]];
        if (str_eq(io->name, g->tensors[tensor].name))
            return io->io & 1 ? MAP_INPUT : MAP_OUTPUT;
    }
    return MAP_TENSOR;
}

static void find_makers(struct builder *b)
{
    const struct binary_graph *g = b->m->g;
    memset(b->maker, 0xff, g->n_tensors * sizeof(uint32_t));
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] != BINARY_NONE)
                b->named[n->in[i]] = true;
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != BINARY_NONE) {
                b->maker[n->out[i]] = k;
                b->named[n->out[i]] = true;
            }
    }
}

static void add_tensor(struct builder *b, uint32_t i)
{
    struct memory_map *m = b->m;
    const struct binary_tensor *t = &m->g->tensors[i];
    uint32_t end = m->n_steps - 1, first = t->first < end ? t->first : end, last = t->last < end ? t->last : end;
    const char *op = b->maker[i] == BINARY_NONE ? "" : m->g->nodes[b->maker[i]].op->name;
    m->items[m->n_items++] = (struct map_item){ .name = t->name,
                                                .op = op,
                                                .kind = kind_of(b, i),
                                                .offset = t->offset,
                                                .bytes = t->bytes,
                                                .first = first,
                                                .last = last > first ? last : first,
                                                .in_place_of = BINARY_NONE,
                                                .taken_by = BINARY_NONE,
                                                .order = i,
                                                .view_names = "" };
}

static bool add_workspace(struct builder *b, uint32_t node)
{
    const struct binary_node *n = &b->m->g->nodes[node];
    const char *name = arena_printf(b->a, "workspace of %s", n->name);
    b->m->items[b->m->n_items++] = (struct map_item){ .name = name,
                                                      .op = n->op->name,
                                                      .kind = MAP_WORKSPACE,
                                                      .offset = n->work_offset,
                                                      .bytes = n->work_bytes,
                                                      .first = b->step_of[node],
                                                      .last = b->last_step[node],
                                                      .in_place_of = BINARY_NONE,
                                                      .taken_by = BINARY_NONE,
                                                      .order = b->m->g->n_tensors + node,
                                                      .view_names = "" };
    return name != NULL;
}

/* Members of a chain work in one workspace, which also holds the lines that they hand to each other. */
static bool add_chain(struct builder *b, const struct binary_chain *c)
{
    const struct binary_graph *g = b->m->g;
    const char *name =
        arena_printf(b->a, "workspace of %s … %s", g->nodes[c->first].name, g->nodes[c->first + c->n - 1].name);
    b->m->items[b->m->n_items++] = (struct map_item){ .name = name,
                                                      .op = g->nodes[c->first].op->name,
                                                      .kind = MAP_WORKSPACE,
                                                      .offset = c->work_offset,
                                                      .bytes = c->work_bytes,
                                                      .first = b->step_of[c->first],
                                                      .last = b->step_of[c->first],
                                                      .in_place_of = BINARY_NONE,
                                                      .taken_by = BINARY_NONE,
                                                      .order = g->n_tensors + c->first,
                                                      .view_names = "" };
    return name != NULL;
}

static bool add_work(struct builder *b, uint32_t node)
{
    const struct binary_graph *g = b->m->g;
    uint32_t chain = g->chain_of ? g->chain_of[node] : BINARY_NONE;
    if (b->step_of[node] == BINARY_NONE)
        return true;
    if (chain != BINARY_NONE)
        return g->chains[chain].first != node || add_chain(b, &g->chains[chain]);
    return !g->nodes[node].work_bytes || add_workspace(b, node);
}

/* Room in the window for what a node, or its chain, needs of operands that are not whole there. */
static bool add_tile(struct builder *b, uint32_t node)
{
    const struct binary_graph *g = b->m->g;
    const struct binary_node *n = &g->nodes[node];
    if (!n->tile.bytes || b->step_of[node] == BINARY_NONE)
        return true;
    const char *name = arena_printf(b->a, "tile of %s", n->name);
    b->m->items[b->m->n_items++] = (struct map_item){ .name = name,
                                                      .op = n->op->name,
                                                      .kind = MAP_TILE,
                                                      .offset = n->tile.offset,
                                                      .bytes = n->tile.bytes,
                                                      .first = b->step_of[node],
                                                      .last = b->step_of[node],
                                                      .in_place_of = BINARY_NONE,
                                                      .taken_by = BINARY_NONE,
                                                      .order = g->n_tensors + node,
                                                      .view_names = "" };
    return name != NULL;
}

static int by_time(const void *pa, const void *pb)
{
    const struct map_item *a = pa, *b = pb;
    const uint64_t x[] = { a->first, a->offset, a->last, a->bytes, a->order },
                   y[] = { b->first, b->offset, b->last, b->bytes, b->order };
    for (int i = 0; i < 5; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Tensors with the same bytes at the same time are views of each other. */
static bool merge_views(struct memory_map *m, struct arena *a)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_items; i++) {
        struct map_item *x = &m->items[i], *last = n ? &m->items[n - 1] : NULL;
        bool same =
            last && last->first == x->first && last->last == x->last && last->offset == x->offset && last->bytes == x->bytes;
        if (!same) {
            m->items[n++] = *x;
            continue;
        }
        last->view_names = arena_printf(a, "%s%s%s", last->view_names, last->views ? ", " : "", x->name);
        last->views++;
        if (!last->view_names)
            return false;
    }
    m->n_items = n;
    return true;
}

/* ---- labels ----------------------------------------------------------------------------------------------------------- */

/* "tile of NAME" is shortened to "tile of" and what of NAME tells it apart; of "workspace of FIRST … LAST" the first name
 * counts. */
static const char *prefix_of(const struct map_item *x)
{
    if (x->kind == MAP_TILE)
        return "tile of ";
    return x->kind == MAP_WORKSPACE && str_starts(x->name, "workspace of ") ? "workspace of " : "";
}

static enum status label_items(struct memory_map *m, struct arena *a)
{
    CLEANUP(mem_freep) const char **names = mem_array(const char *, (size_t)m->n_items + 1);
    CLEANUP(mem_freep) const char **labels = mem_array(const char *, (size_t)m->n_items + 1);
    RETURN_IF(!names || !labels, ST_NO_MEMORY, "no memory to label %u tensors", m->n_items);

    for (uint32_t i = 0; i < m->n_items; i++) {
        const char *name = m->items[i].name + strlen(prefix_of(&m->items[i]));
        const char *end = strstr(name, " … ");
        names[i] = end ? arena_printf(a, "%.*s", (int)(end - name), name) : name;
        RETURN_IF(!names[i], ST_NO_MEMORY, "no memory to label %u tensors", m->n_items);
    }
    TRY(short_names(names, m->n_items, a, labels));

    for (uint32_t i = 0; i < m->n_items; i++) {
        const char *label = arena_printf(a, "%s%s", prefix_of(&m->items[i]), labels[i]);
        m->items[i].label = label ? label : m->items[i].name;
    }
    return ST_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------ */

static void add_to_step(struct builder *b, uint32_t node, uint32_t step)
{
    const struct binary_graph *g = b->m->g;
    struct map_step *s = &b->m->steps[step];
    struct binary_traffic t;
    if (b->step_of[node] != BINARY_NONE && b->last_step[node] == step)
        return;
    b->last_step[node] = step;
    if (s->nodes++ == 0)
        *s = (struct map_step){ .node = g->nodes[node].name, .op = g->nodes[node].op->name, .index = node, .nodes = 1 };
    if (b->step_of[node] != BINARY_NONE)
        return; /* what a node does is counted once, in its first step */
    b->step_of[node] = step;
    s->cycles += g->nodes[node].cycles;
    s->macs += g->nodes[node].macs;
    binary_node_traffic(g, node, &t);
    for (int p = 0; p < PLACE_COUNT; p++) {
        s->moved.read[p] += t.read[p];
        s->moved.written[p] += t.written[p];
    }
    if (!g->info.vtcm_bytes)
        return;
    struct binary_moves m;
    binary_node_moves(g, node, &m);
    s->resources |= g->nodes[node].resources;
    s->dma.weights += m.weights;
    s->dma.inputs += m.inputs;
    s->dma.outputs += m.outputs;
    s->dma.fill += m.fill;
    s->dma.spill += m.spill;
}

static void fill_steps(struct builder *b)
{
    const struct binary_graph *g = b->m->g;
    memset(b->step_of, 0xff, g->n_nodes * sizeof(uint32_t));
    for (uint32_t c = 0; c < g->n_commands; c++) {
        uint32_t node = g->commands[c].node, chain = g->chain_of ? g->chain_of[node] : BINARY_NONE;
        for (uint32_t k = chain == BINARY_NONE ? node : g->chains[chain].first; k <= node; k++)
            add_to_step(b, k, g->commands[c].step);
        b->m->steps[g->commands[c].step].commands++;
    }
}

static int by_address(const void *pa, const void *pb)
{
    const struct map_item *const *a = pa, *const *b = pb;
    return (*a)->offset < (*b)->offset ? -1 : (*a)->offset > (*b)->offset;
}

/* The union of the ranges of a sorted list, each up to the next multiple of the alignment. */
static uint64_t live_bytes(const struct memory_map *m, struct map_item *const *list, uint32_t n)
{
    uint64_t align = m->g->info.scratch_align ? m->g->info.scratch_align : 1, sum = 0, end = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t from = list[i]->offset > end ? list[i]->offset : end,
                 to = (list[i]->offset + list[i]->bytes + align - 1) / align * align;
        sum += to > from ? to - from : 0;
        end = to > end ? to : end;
    }
    return sum;
}

/* One that begins in the step in which another ends, at the same address, has been written over it. */
static void find_in_place(struct memory_map *m, struct map_item *const *list, uint32_t n, uint32_t step)
{
    for (uint32_t i = 0; i + 1 < n; i++) {
        struct map_item *a = list[i], *b = list[i + 1];
        if (a->offset != b->offset || !a->bytes || !b->bytes)
            continue;
        struct map_item *old = a->first < b->first ? a : b, *new = old == a ? b : a;
        if (old->last != step || new->first != step || old->first == step)
            continue;
        new->in_place_of = (uint32_t)(old - m->items);
        old->taken_by = (uint32_t)(new - m->items);
    }
}

/* Steps in turn; the list has what is alive. */
static void sweep(struct memory_map *m, struct map_item **list)
{
    uint32_t n = 0, next = 0;
    for (uint32_t s = 0; s < m->n_steps; s++) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < n; i++)
            if (list[i]->last >= s)
                list[kept++] = list[i];
        for (n = kept; next < m->n_items && m->items[next].first <= s; next++)
            list[n++] = &m->items[next];
        qsort(list, n, sizeof(*list), by_address);
        find_in_place(m, list, n, s);
        m->steps[s].live = live_bytes(m, list, n);
        if (m->steps[s].live > m->peak_bytes) {
            m->peak_bytes = m->steps[s].live;
            m->peak = s;
        }
    }
}

enum status map_build(const struct binary_graph *g, struct arena *a, struct memory_map *ret)
{
    bool window = g->info.vtcm_bytes != 0;
    *ret = (struct memory_map){ .g = g,
                                .n_steps = g->n_steps,
                                .place = window ? PLACE_VTCM : PLACE_SCRATCH,
                                .pool = window ? "VTCM" : "scratch",
                                .total = window ? g->info.vtcm_used : g->info.scratch_bytes };
    struct builder b = { .m = ret,
                         .a = a,
                         .maker = arena_array(a, uint32_t, g->n_tensors),
                         .named = arena_array(a, bool, g->n_tensors),
                         .step_of = arena_array(a, uint32_t, g->n_nodes),
                         .last_step = arena_array(a, uint32_t, g->n_nodes) };
    struct map_item **list = arena_array(a, struct map_item *, g->n_tensors + g->n_nodes);
    ret->items = arena_array(a, struct map_item, g->n_tensors + g->n_nodes);
    ret->steps = arena_array(a, struct map_step, g->n_steps);
    bool ok = b.maker && b.named && b.step_of && b.last_step && list && ret->items && ret->steps;
    RETURN_IF(!ok, ST_NO_MEMORY, "memory map of graph \"%s\": no memory", g->info.name);
    if (!g->n_steps)
        return ST_OK;
    fill_steps(&b);
    find_makers(&b);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].place == ret->place)
            add_tensor(&b, i);
    for (uint32_t k = 0; k < g->n_nodes; k++)
        ok = ok && (window ? add_tile : add_work)(&b, k);
    qsort(ret->items, ret->n_items, sizeof(*ret->items), by_time);
    ok = ok && merge_views(ret, a);
    RETURN_IF(!ok, ST_NO_MEMORY, "memory map of graph \"%s\": no memory", g->info.name);
    TRY(label_items(ret, a));
    sweep(ret, list);
    return ST_OK;
}

/* ---- showing ---------------------------------------------------------------------------------------------------------- */

static enum status write_maps(const struct binary *b, const char *title, uint32_t format, struct arena *a, struct str *out)
{
    struct memory_map *maps = arena_array(a, struct memory_map, b->n_graphs);
    const struct memory_map **list = arena_array(a, const struct memory_map *, b->n_graphs);
    RETURN_IF(!maps || !list, ST_NO_MEMORY, "memory maps of %u graphs: no memory", b->n_graphs);
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        TRY(map_build(&b->graphs[i], a, &maps[i]));
        list[i] = &maps[i];
        if (format == MAP_TEXT)
            map_text(&maps[i], out);
    }
    if (format == MAP_JSON)
        TRY(map_json(list, b->n_graphs, title, out));
    if (format == MAP_HTML)
        map_html(list, b->n_graphs, title, out);
    RETURN_IF(out->failed, ST_NO_MEMORY, "memory map of \"%s\": no memory", title);
    return ST_OK;
}

enum status map_write(const struct binary *b, const char *title, uint32_t format, struct str *out)
{
    struct arena a;
    arena_init(&a);
    enum status st = write_maps(b, title, format, &a, out);
    arena_finish(&a);
    return st;
}

static enum status show_binary(const char *path, const struct tool_file *f, uint32_t format, const char *to)
{
    const char *slash = strrchr(path, '/');
    struct binary b;
    struct str out;
    enum status st = binary_open(f->data, f->size, &b);
    if (st != ST_OK)
        return status_prefix(st, "\"%s\"", path);
    str_init(&out);
    st = map_write(&b, slash ? slash + 1 : path, format, &out);
    if (st == ST_OK && to)
        st = tool_file_write(to, str_text(&out), out.n);
    else if (st == ST_OK)
        fwrite(str_text(&out), 1, out.n, stdout);
    str_finish(&out);
    binary_close(&b);
    return st;
}

enum status map_show(const char *context_binary, uint32_t format, const char *to)
{
    struct tool_file f = { 0 };
    TRY(tool_file_map(context_binary, &f));
    enum status st = show_binary(context_binary, &f, format, to);
    tool_file_free(&f);
    return st;
}
