/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: one graph into one file. Records are collected section by section, then laid out; constants are copied
 * straight from the source to their place in the file, so that weights are never in memory a third time. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "binary/binary_format.h"

/* The tables of a file in the making. */
struct writer {
    const struct binary_source *src;
    struct str strings, values;
    VEC(uint32_t) slots; /* open addressing: position in strings + 1, 0: free */
    size_t n_strings;
    VEC(struct bin_tensor) tensors;
    VEC(struct bin_quant) quants;
    VEC(struct bin_node) nodes;
    VEC(struct bin_param) params;
    VEC(struct bin_chain) chains;
    VEC(struct bin_tile) tiles;
    VEC(uint32_t) ops;
    VEC(uint32_t) lists;
    uint32_t op_index[OP_COUNT]; /* position in ops + 1 */
    struct bin_graph graph;
    uint32_t *const_slots; /* open addressing by data pointer: tensor index + 1 */
    size_t n_const_slots;
    uint64_t const_bytes;
    bool has_const;
};

static enum status no_memory(void)
{
    return status_fail(ST_NO_MEMORY, "context binary: no memory for its tables");
}

/* ---- strings and values ----------------------------------------------------------------------------------------------- */

static uint32_t *string_slot(struct writer *w, const char *s)
{
    size_t mask = w->slots.n - 1, i = str_hash(s) & mask;
    while (w->slots.at[i] && strcmp(w->strings.at + w->slots.at[i] - 1, s) != 0)
        i = (i + 1) & mask;
    return &w->slots.at[i];
}

static enum status strings_grow(struct writer *w)
{
    size_t n = w->slots.n ? w->slots.n * 2 : 256, old_n = w->slots.n;
    uint32_t *old = w->slots.at, *at = mem_array(uint32_t, n);
    if (!at)
        return no_memory();
    w->slots.at = at;
    w->slots.n = w->slots.cap = n;
    for (size_t i = 0; i < old_n; i++)
        if (old[i])
            *string_slot(w, w->strings.at + old[i] - 1) = old[i];
    mem_free(old);
    return ST_OK;
}

static enum status put_string(struct writer *w, const char *s, uint32_t *ret)
{
    if (!s)
        s = "";
    if (w->n_strings * 2 >= w->slots.n)
        TRY(strings_grow(w));
    uint32_t *slot = string_slot(w, s);
    if (!*slot) {
        size_t at = w->strings.n, n = strlen(s) + 1;
        RETURN_IF(n > UINT32_MAX - 1 - at, ST_INVALID_ARG, "context binary: its names have more than 4 GiB together");
        str_addn(&w->strings, s, n);
        if (w->strings.failed)
            return no_memory();
        *slot = (uint32_t)at + 1;
        w->n_strings++;
    }
    *ret = *slot - 1;
    return ST_OK;
}

static enum status put_value(struct writer *w, const void *data, uint64_t bytes, uint32_t *ret)
{
    *ret = BINARY_NONE;
    if (!data)
        return ST_OK;
    size_t at = w->values.n / BIN_VALUE_ALIGN, pad = -bytes & (BIN_VALUE_ALIGN - 1);
    RETURN_IF(at >= BINARY_NONE, ST_INVALID_ARG, "context binary: parameters and encodings have more than 32 GiB together");
    str_addn(&w->values, data, bytes);
    str_addn(&w->values, "\0\0\0\0\0\0\0", pad);
    *ret = (uint32_t)at;
    return w->values.failed ? no_memory() : ST_OK;
}

static enum status put_list(struct writer *w, const uint32_t *items, uint32_t n)
{
    RETURN_IF(n > UINT32_MAX - w->lists.n, ST_INVALID_ARG,
              "context binary: its nodes have more than 2^32 operands together");
    if (!vec_reserve(&w->lists, w->lists.n + n))
        return no_memory();
    if (n)
        memcpy(w->lists.at + w->lists.n, items, n * sizeof(items[0]));
    w->lists.n += n;
    return ST_OK;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static enum status put_quant(struct writer *w, const struct quant *q, uint32_t *ret)
{
    *ret = BINARY_NONE;
    if (q->kind == Q_NONE || q->kind == Q_TENSOR)
        return ST_OK;
    struct bin_quant rec = {
        .axis = q->axis,
        .n = q->n,
        .blocks_per_axis = q->blocks_per_axis,
        .block_scale_bits = q->block_scale_bits,
        .block_scale_storage = q->block_scale_storage,
    };
    memcpy(rec.block, q->block, sizeof(rec.block));
    uint64_t n = q->n;
    TRY(put_value(w, q->scales, n * sizeof(float), &rec.scales));
    TRY(put_value(w, q->offsets, n * sizeof(int32_t), &rec.offsets));
    TRY(put_value(w, q->float_offsets, n * sizeof(float), &rec.float_offsets));
    TRY(put_value(w, q->block_scales, n * q->blocks_per_axis * (q->block_scale_storage == 16 ? 2 : 1), &rec.block_scales));
    struct bin_quant *slot = vec_push(&w->quants);
    if (!slot)
        return no_memory();
    *slot = rec;
    *ret = (uint32_t)w->quants.n - 1;
    return ST_OK;
}

/* The slot of a constant by its data. Equal pointers are one constant: views of constants must share its address. */
static uint32_t *const_slot(const struct writer *w, uint32_t index)
{
    const struct binary_source *s = w->src;
    size_t mask = w->n_const_slots - 1, i = ((uintptr_t)s->data[index] >> 4) * 0x9e3779b97f4a7c15u >> 20 & mask;
    while (w->const_slots[i]) {
        uint32_t other = w->const_slots[i] - 1;
        if (s->data[other] == s->data[index] && s->tensors[other].bytes == s->tensors[index].bytes)
            break;
        i = (i + 1) & mask;
    }
    return &w->const_slots[i];
}

/* Constants go one after another, each aligned for any vector load. */
static enum status place_const(struct writer *w, uint32_t index, struct bin_tensor *rec)
{
    const struct binary_tensor *t = &w->src->tensors[index];
    RETURN_IF(!w->src->data || !w->src->data[index], ST_INTERNAL, "context binary: constant \"%s\" has no data", t->name);
    bool over = t->bytes > UINT64_MAX / 4 || w->const_bytes > UINT64_MAX / 4;
    RETURN_IF(over, ST_INVALID_ARG, "context binary: tensor \"%s\" has %llu bytes", t->name, (unsigned long long)t->bytes);
    uint32_t *slot = const_slot(w, index);
    if (*slot) {
        rec->offset = w->tensors.at[*slot - 1].offset;
        return ST_OK;
    }
    *slot = index + 1;
    rec->offset = w->const_bytes;
    w->const_bytes = (w->const_bytes + t->bytes + BIN_ALIGN - 1) & ~(uint64_t)(BIN_ALIGN - 1);
    w->has_const = true;
    return ST_OK;
}

static enum status put_tensor(struct writer *w, uint32_t index)
{
    const struct binary_tensor *t = &w->src->tensors[index];
    struct bin_tensor rec = {
        .type = (uint8_t)t->desc.type,
        .rank = t->desc.rank,
        .dynamic = t->desc.dynamic,
        .place = t->place,
        .io = t->io,
        .optional = t->optional,
        .updateable = t->updateable,
        .mem_handle = t->mem_handle,
        .storage = t->storage,
        .quant_kind = t->desc.q.kind,
        .quant_definition = t->desc.q.definition,
        .quant_bits = t->desc.q.bits,
        .quant_mapping = t->desc.q.mapping,
        .format = t->desc.format,
        .client_id = t->client_id,
        .client_type = t->client_type,
        .offset = t->offset,
        .bytes = t->bytes,
        .first = t->first,
        .last = t->last,
        .quant_scale = t->desc.q.scale,
        .quant_offset = t->desc.q.offset,
    };
    memcpy(rec.dims, t->desc.dims, sizeof(rec.dims));
    RETURN_IF(t->io && t->place != PLACE_IO, ST_INTERNAL,
              "context binary: I/O tensor \"%s\" is not placed in the client's memory", t->name);
    if (t->place == PLACE_CONST)
        TRY(place_const(w, index, &rec));
    TRY(put_string(w, t->name, &rec.name));
    TRY(put_quant(w, &t->desc.q, &rec.quant));
    struct bin_tensor *slot = vec_push(&w->tensors);
    if (!slot)
        return no_memory();
    *slot = rec;
    return ST_OK;
}

/* The I/O table: what the client writes (also what it writes and reads), then what it only reads, each in tensor order.
 * Tensors that share an I/O buffer without being I/O themselves name their entry; they are left as they are. */
static enum status put_io(struct writer *w)
{
    w->graph.io_list = (uint32_t)w->lists.n;
    for (int outputs = 0; outputs < 2; outputs++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < w->tensors.n; i++) {
            struct bin_tensor *t = &w->tensors.at[i];
            if (t->io == IO_NONE || (t->io == IO_OUTPUT) != outputs)
                continue;
            t->offset = w->lists.n - w->graph.io_list;
            TRY(put_list(w, &i, 1));
            n++;
        }
        *(outputs ? &w->graph.n_outputs : &w->graph.n_inputs) = n;
    }
    return ST_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static enum status put_op(struct writer *w, const struct op_def *op, uint32_t *ret)
{
    if (w->op_index[op->id] == 0) {
        uint32_t *slot = vec_push(&w->ops);
        if (!slot)
            return no_memory();
        TRY(put_string(w, op->name, slot));
        w->op_index[op->id] = (uint32_t)w->ops.n;
    }
    *ret = w->op_index[op->id] - 1;
    return ST_OK;
}

static enum status put_params(struct writer *w, const struct binary_node *n, struct bin_node *rec)
{
    rec->param = (uint32_t)w->params.n;
    uint32_t count = n->params ? op_param_count(n->op) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct op_value *v = &n->params[i];
        if (!v->data)
            continue;
        struct bin_param p = { .type = (uint8_t)v->type, .rank = v->rank, .count = v->count };
        memcpy(p.dims, v->dims, sizeof(p.dims));
        TRY(put_string(w, n->op->params[i].name, &p.name));
        TRY(put_value(w, v->data, dtype_bytes(v->type, v->count), &p.data));
        struct bin_param *slot = vec_push(&w->params);
        if (!slot)
            return no_memory();
        *slot = p;
        rec->n_params++;
    }
    return ST_OK;
}

static enum status put_node(struct writer *w, const struct binary_node *n)
{
    bool many = n->n_in > MAX_PORTS || n->n_out > MAX_PORTS || n->n_aux > MAX_PORTS;
    RETURN_IF(many, ST_INVALID_OP, "node \"%s\": %u inputs, %u outputs; at most %d each are supported", n->name, n->n_in,
              n->n_out, MAX_PORTS);
    struct bin_node rec = {
        .n_in = (uint16_t)n->n_in,
        .n_out = (uint16_t)n->n_out,
        .n_aux = (uint16_t)n->n_aux,
        .list = (uint32_t)w->lists.n,
        .post_lo = n->post.lo,
        .post_hi = n->post.hi,
        .work_offset = n->work_offset,
        .work_bytes = n->work_bytes,
        .macs = n->macs,
        .cycles = n->cycles,
        .state_offset = n->state_offset,
        .state_bytes = n->state_bytes,
        .n_guards = n->n_guards,
        .resources = n->resources,
        .stored_share = n->stored_share,
    };
    TRY(put_string(w, n->name, &rec.name));
    TRY(put_op(w, n->op, &rec.op));
    TRY(put_list(w, n->in, n->n_in));
    TRY(put_list(w, n->out, n->n_out));
    TRY(put_list(w, n->aux, n->n_aux));
    rec.guards = (uint32_t)w->lists.n;
    TRY(put_list(w, n->guards, 2 * n->n_guards));
    TRY(put_params(w, n, &rec));
    struct bin_node *slot = vec_push(&w->nodes);
    if (!slot)
        return no_memory();
    *slot = rec;
    return ST_OK;
}

static enum status put_chains(struct writer *w)
{
    for (uint32_t i = 0; i < w->src->n_chains; i++) {
        const struct binary_chain *c = &w->src->chains[i];
        struct bin_chain *slot = vec_push(&w->chains);
        if (!slot)
            return no_memory();
        *slot = (struct bin_chain){
            .first = c->first, .n = c->n, .height = c->height, .work_offset = c->work_offset, .work_bytes = c->work_bytes
        };
    }
    return ST_OK;
}

/* One per node, where there is a window. */
static enum status put_tiles(struct writer *w)
{
    for (uint32_t i = 0; w->src->info.vtcm_bytes && i < w->src->n_nodes; i++) {
        const struct binary_tile *t = &w->src->nodes[i].tile;
        struct bin_tile *slot = vec_push(&w->tiles);
        if (!slot)
            return no_memory();
        *slot = (struct bin_tile){ t->box.lines, t->box.columns, t->box.channels, t->box.depth, t->offset, t->bytes };
    }
    return ST_OK;
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static void fill_graph(struct writer *w)
{
    const struct binary_graph_info *i = &w->src->info;
    struct bin_graph *g = &w->graph;
    g->priority = i->priority;
    g->scratch_bytes = i->scratch_bytes;
    g->persistent_bytes = i->persistent_bytes;
    g->scratch_align = i->scratch_align;
    g->live_bytes = i->live_bytes;
    g->io_bytes = i->io_bytes;
    g->const_bytes = i->const_bytes;
    g->macs = i->macs;
    g->cycles = i->cycles;
    g->spill_fill_bytes = i->spill_fill_bytes;
    g->vtcm_bytes = i->vtcm_bytes;
    g->vtcm_used = i->vtcm_used;
    g->opt_level = i->opt_level;
    g->vtcm_mb = i->vtcm_mb;
    g->hvx_threads = i->hvx_threads;
    g->dlbc = i->dlbc;
    g->plan_optimal = i->plan_optimal;
    g->order_bytes = i->order_bytes;
    g->n_source_nodes = i->n_source_nodes;
    g->options = i->options;
    g->cores = i->cores;
}

static enum status collect(struct writer *w)
{
    const struct binary_source *s = w->src;
    fill_graph(w);
    w->n_const_slots = 16;
    while (w->n_const_slots < (size_t)s->n_tensors * 2)
        w->n_const_slots *= 2;
    w->const_slots = mem_array(uint32_t, w->n_const_slots);
    if (!w->const_slots)
        return no_memory();
    TRY(put_string(w, s->info.name, &w->graph.name));
    for (uint32_t i = 0; i < s->n_tensors; i++)
        TRY(put_tensor(w, i));
    TRY(put_io(w));
    for (uint32_t i = 0; i < s->n_nodes; i++)
        TRY(put_node(w, &s->nodes[i]));
    TRY(put_chains(w));
    return put_tiles(w);
}

static enum status add_pieces(const struct writer *w, struct bin_pieces *p)
{
    const struct {
        enum bin_section_kind kind;
        const void *data;
        size_t n;
    } tables[] = {
        { SEC_GRAPH, &w->graph, 1 },
        { SEC_STRINGS, w->strings.at, w->strings.n },
        { SEC_TENSORS, w->tensors.at, w->tensors.n },
        { SEC_QUANTS, w->quants.at, w->quants.n },
        { SEC_OPS, w->ops.at, w->ops.n },
        { SEC_NODES, w->nodes.at, w->nodes.n },
        { SEC_PARAMS, w->params.at, w->params.n },
        { SEC_LISTS, w->lists.at, w->lists.n },
        { SEC_VALUES, w->values.at, w->values.n },
        { SEC_COMMANDS, w->src->commands, w->src->n_commands },
        { SEC_CHAINS, w->chains.at, w->chains.n },
        { SEC_TILES, w->tiles.at, w->tiles.n },
        { SEC_SPANS, w->src->spans, w->src->span_bytes },
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if ((tables[i].kind == SEC_TILES || tables[i].kind == SEC_SPANS) && !tables[i].n)
            continue;
        TRY(bin_add(p, (struct bin_piece){ .kind = tables[i].kind,
                                           .data = tables[i].data,
                                           .link = w->has_const ? 0 : BINARY_NONE,
                                           .size = (uint64_t)tables[i].n * bin_record_size(tables[i].kind) }));
    }
    if (w->has_const)
        TRY(bin_add(p, (struct bin_piece){ .kind = SEC_CONSTANTS, .size = w->const_bytes }));
    return ST_OK;
}

static void copy_constants(const struct writer *w, uint8_t *dst)
{
    for (uint32_t i = 0; i < w->src->n_tensors; i++)
        if (w->src->tensors[i].place == PLACE_CONST)
            memcpy(dst + w->tensors.at[i].offset, w->src->data[i], w->src->tensors[i].bytes);
}

static enum status write_all(struct writer *w, const struct binary_target *t, struct bin_pieces *p, struct binary_image *ret)
{
    uint64_t size;
    TRY(collect(w));
    TRY(add_pieces(w, p));
    TRY(bin_layout(p, &size));
    TRY(bin_image_build(p, size, ret));
    if (w->has_const)
        copy_constants(w, (uint8_t *)ret->data + p->at[p->n - 1].offset);
    bin_image_seal(p, t, 1, ret);
    return ST_OK;
}

enum status binary_write(const struct binary_target *t, const struct binary_source *g, struct binary_image *ret)
{
    struct writer *w = mem_new(struct writer);
    if (!w)
        return no_memory();
    struct bin_pieces pieces = {};
    w->src = g;
    enum status st = write_all(w, t, &pieces, ret);
    vec_finish(&pieces);
    str_finish(&w->strings);
    str_finish(&w->values);
    vec_finish(&w->slots);
    vec_finish(&w->tensors);
    vec_finish(&w->quants);
    vec_finish(&w->nodes);
    vec_finish(&w->params);
    vec_finish(&w->chains);
    vec_finish(&w->tiles);
    vec_finish(&w->ops);
    vec_finish(&w->lists);
    mem_free(w->const_slots);
    mem_free(w);
    return st;
}
