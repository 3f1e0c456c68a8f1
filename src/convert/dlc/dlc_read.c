/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of a DLC to graphs.
 *
 *     model   Graph ── Tensor (name, type, shape, encoding)     Node (operator, names of tensors, attributes)
 *                        │ by name                               │ same position in the list
 *     params  Graph ── bytes of constants                        bytes of tensor attributes
 *
 * Nothing here trusts the file: positions are checked by the flatbuffer reader, names are looked up in sorted lists (no time
 * that grows with the square of the file), and the finished graph passes ir_verify. Operators that we do not have are all
 * reported. */
#include <stdlib.h>
#include <string.h>

#include "convert/dlc/dlc_reader.h"

const uint8_t dlc_prefix[DLC_PREFIX_BYTES] = { 0xD5, 0x0A, 4, 0, 0, 0, 0, 0 };

enum { TYPE_STATIC = 4 };

enum status dlc_layout(const struct fb *b, const char *part)
{
    RETURN_IF(
        b->bad, ST_BAD_BINARY,
        "record \"%s\" of the DLC is malformed: %s at byte %llu of %llu; the file is cut off or damaged, make it again",
        part, b->bad, (unsigned long long)b->bad_at, (unsigned long long)b->n);
    return ST_OK;
}

/* ---- lists by name ---------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct dlc_named *)a)->name, ((const struct dlc_named *)b)->name);
}

static enum status make_index(struct dlc_reader *r, struct fb_vec v, unsigned name_field, const char *what,
                              struct dlc_index *ret)
{
    *ret = (struct dlc_index){ .at = arena_array(&r->scratch, struct dlc_named, v.n) };
    RETURN_IF(!ret->at, ST_NO_MEMORY, "no memory for a list of %u names", v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        struct fb_table t = fb_at_table(v, i);
        const char *name = fb_string(t, name_field);
        RETURN_IF(!name, ST_BAD_BINARY, "entry %u of the DLC's list of %s has no field \"name\"", i, what);
        ret->at[ret->n++] = (struct dlc_named){ name, t };
    }
    if (ret->n)
        qsort(ret->at, ret->n, sizeof *ret->at, by_name);
    return ST_OK;
}

const struct dlc_named *dlc_find_name(const struct dlc_index *x, const char *name)
{
    struct dlc_named key = { .name = name };
    return x->n ? bsearch(&key, x->at, x->n, sizeof key, by_name) : NULL;
}

struct fb_table dlc_find_table(struct fb_vec v, unsigned name_field, const char *name)
{
    for (uint32_t i = 0; i < v.n && fb_charge(v.b, 1); i++) {
        const char *other = fb_string(fb_at_table(v, i), name_field);
        if (other && strcmp(other, name) == 0)
            return fb_at_table(v, i);
    }
    return (struct fb_table){ 0 };
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

/* NR64: the buffers of a graph's constants follow the order of their names. */
static enum status order_constants(struct dlc_reader *r, struct fb_vec tensors)
{
    struct dlc_index all;
    TRY(make_index(r, tensors, DLC_TENSOR_NAME, "tensors", &all));
    r->data = (struct dlc_index){ .at = all.at };
    for (uint32_t i = 0; i < all.n; i++) {
        if (fb_int(all.at[i].t, DLC_TENSOR_TYPE, 4, 0) != TYPE_STATIC)
            continue;
        RETURN_IF(r->next_buffer >= r->buffers.n, ST_BAD_BINARY,
                  "the DLC has %u buffers of constants; tensor \"%s\" would need one more", r->buffers.n, all.at[i].name);
        r->data.at[r->data.n++] = (struct dlc_named){ all.at[i].name, fb_at_table(r->buffers, r->next_buffer++) };
    }
    return ST_OK;
}

static enum status find_data(struct dlc_reader *r, const char *name, struct fb_vec tensors)
{
    struct fb_table p = { 0 }, x = { 0 }, s = { 0 };
    if (r->params.at)
        p = dlc_find_table(fb_vector(fb_root(&r->params), DLC_PARAMS_GRAPHS, 4), DLC_GRAPH_PARAMS_NAME, name);
    if (r->extra.at)
        x = dlc_find_table(fb_vector(fb_root(&r->extra), EXTRA_GRAPHS, 4), EXTRA_GRAPH_NAME, name);
    if (r->sources.at)
        s = dlc_find_table(fb_vector(fb_root(&r->sources), SOURCES_GRAPHS, 4), SOURCES_GRAPH_NAME, name);
    r->node_data = fb_vector(p, DLC_GRAPH_PARAMS_NODES, 4);
    r->node_sources = fb_vector(s, SOURCES_GRAPH_NODES, 4);
    if (r->by_order)
        TRY(order_constants(r, tensors));
    else
        TRY(make_index(r, fb_vector(p, DLC_GRAPH_PARAMS_TENSORS, 4), DLC_DATA_NAME, "constants", &r->data));
    TRY(make_index(r, fb_vector(x, EXTRA_GRAPH_TENSORS, 4), EXTRA_NAME, "encodings", &r->extras));
    TRY(dlc_layout(&r->params, DLC_PARAMS));
    TRY(dlc_layout(&r->sources, DLC_SOURCES));
    return dlc_layout(&r->extra, DLC_EXTRA);
}

static enum status read_graph(struct dlc_reader *r, struct fb_table t)
{
    struct fb_vec tensors = fb_vector(t, DLC_GRAPH_TENSORS, 4), nodes = fb_vector(t, DLC_GRAPH_NODES, 4);
    TRY(find_data(r, r->g->name, tensors));
    for (uint32_t i = 0; i < tensors.n; i++)
        TRY(dlc_read_tensor(r, fb_at_table(tensors, i), i));
    uint32_t unsupported = r->unsupported;
    for (uint32_t i = 0; i < nodes.n; i++)
        TRY(dlc_read_node(r, fb_at_table(nodes, i), i));
    TRY(dlc_layout(&r->model, DLC_MODEL));
    TRY(dlc_layout(&r->outer, DLC_PARAMS));
    return r->unsupported == unsupported ? ir_verify(r->g, "reading the DLC") : ST_OK;
}

/* ---- records ---------------------------------------------------------------------------------------------------------- */

/* The eight bytes in front and the identifier, then the flatbuffer. */
static enum status open_part(struct dlc_part p, const char *name, const char *identifiers, struct fb *ret)
{
    RETURN_IF(p.n < DLC_PREFIX_BYTES + 8, ST_BAD_BINARY, "record \"%s\" of the DLC has %llu bytes; at least 16 are expected",
              name, (unsigned long long)p.n);
    RETURN_IF(!memcmp(p.at + 4, "NETD", 4) || !memcmp(p.at + 4, "NETP", 4), ST_BINARY_VERSION,
              "record \"%s\" has the form of SNPE 1 (DLC version 3 without a prefix); version 4 is read: convert the model "
              "with a newer tool",
              name);
    RETURN_IF(p.at[0] != dlc_prefix[0] || p.at[1] != dlc_prefix[1], ST_BAD_BINARY,
              "record \"%s\" begins with %02x %02x; D5 0A is expected: this is no DLC", name, p.at[0], p.at[1]);
    unsigned version = p.at[2] | (unsigned)p.at[3] << 8;
    RETURN_IF(version != dlc_prefix[2], ST_BINARY_VERSION,
              "record \"%s\" is of DLC version %u; version 4 is read: convert the model with %s tool", name, version,
              version < 4 ? "a newer" : "an older");
    const char *seen = (const char *)p.at + DLC_PREFIX_BYTES + 4;
    for (const char *s = identifiers; *s; s += 4)
        if (!memcmp(s, seen, 4)) {
            fb_init(ret, p.at + DLC_PREFIX_BYTES, p.n - DLC_PREFIX_BYTES);
            return ST_OK;
        }
    return status_fail(ST_BAD_BINARY, "record \"%s\" has identifier \"%.4s\"; %s is expected", name, seen, identifiers);
}

static enum status open_params(struct dlc_reader *r, struct dlc_part p)
{
    if (!p.at)
        return ST_OK;
    TRY(open_part(p, DLC_PARAMS, "NETPNR64", &r->params));
    if (memcmp(p.at + DLC_PREFIX_BYTES + 4, "NR64", 4) != 0)
        return ST_OK;
    r->outer = r->params;
    struct fb_table root = fb_root(&r->outer);
    struct fb_vec inner = fb_vector(root, DLC_PARAMS64_PARAMS, 1);
    r->buffers = fb_vector(root, DLC_PARAMS64_BUFFERS, 4);
    r->by_order = r->buffers.n > 0;
    TRY(dlc_layout(&r->outer, DLC_PARAMS));
    RETURN_IF(!inner.n, ST_BAD_BINARY, "record \"%s\" of the DLC has no field \"params\"", DLC_PARAMS);
    fb_init(&r->params, fb_bytes(inner), inner.n);
    return ST_OK;
}

static enum status read_all(struct dlc_reader *r, const struct dlc_parts *parts, struct ir_graph **graphs, uint32_t *n)
{
    TRY(open_params(r, parts->params));
    if (parts->extra.at)
        TRY(open_part(parts->extra, DLC_EXTRA, "OQNX", &r->extra));
    if (parts->sources.at)
        TRY(open_part(parts->sources, DLC_SOURCES, "OQNS", &r->sources));
    struct fb_vec list = fb_vector(fb_root(&r->model), DLC_MODEL_GRAPHS, 4);
    for (uint32_t i = 0; i < list.n; i++) {
        struct fb_table t = fb_at_table(list, i);
        const char *name = fb_string(t, DLC_GRAPH_NAME);
        TRY(dlc_layout(&r->model, DLC_MODEL));
        RETURN_IF(!name, ST_BAD_BINARY, "graph %u of the DLC has no field \"name\"", i);
        for (uint32_t k = 0; k < *n && fb_charge(&r->model, 1); k++)
            RETURN_IF(!strcmp(graphs[k]->name, name), ST_BAD_BINARY, "the DLC has two graphs named \"%s\"", name);
        TRY(ir_graph_create(name, &graphs[*n]));
        r->g = graphs[(*n)++];
        enum status st = read_graph(r, t);
        if (st != ST_OK)
            return status_prefix(st == ST_NO_MEMORY ? st : ST_BAD_BINARY, "graph \"%s\" of the DLC", name);
    }
    TRY(dlc_layout(&r->model, DLC_MODEL));
    RETURN_IF(r->unsupported, ST_NOT_SUPPORTED,
              "the DLC has %u nodes of operators that do not exist here; the first is \"%s\"", r->unsupported,
              r->first_unsupported);
    return ST_OK;
}

enum status dlc_read_graphs(const struct dlc_parts *parts, struct convert_report *report, struct ir_graph ***ret,
                            uint32_t *ret_n)
{
    struct dlc_reader r = { .report = report, .weights = parts->weights };
    TRY(open_part(parts->model, DLC_MODEL, "NETD", &r.model));
    uint32_t n = 0, most = fb_vector(fb_root(&r.model), DLC_MODEL_GRAPHS, 4).n;
    TRY(dlc_layout(&r.model, DLC_MODEL));
    struct ir_graph **graphs = mem_array(struct ir_graph *, most + 1);
    RETURN_IF(!graphs, ST_NO_MEMORY, "no memory for %u graphs", most);
    arena_init(&r.scratch);
    enum status st = read_all(&r, parts, graphs, &n);
    arena_finish(&r.scratch);
    if (st != ST_OK) {
        while (n > 0)
            ir_graph_free(graphs[--n]);
        mem_free(graphs);
        return st;
    }
    *ret = graphs;
    *ret_n = n;
    return ST_OK;
}
