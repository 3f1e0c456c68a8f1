/* SPDX-License-Identifier: Apache-2.0 */
/* The checked reader: the only parser of context binaries. It takes any bytes; memory and time are bounded by the size of
 * the file, and after it nobody checks an index again. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "binary/binary_format.h"

/* What binary_open keeps behind b->memory. */
struct memory {
    struct arena arena;
    void *copy; /* of a buffer whose alignment constants could not live with, or of a packed file, plain */
};

static enum status read_info(struct bin_reader *r)
{
    struct bin_graph rec;
    memcpy(&rec, r->sec[SEC_GRAPH].data, sizeof(rec));
    struct binary_graph_info *i = &r->g->info;
    TRY(bin_string(r, rec.name, "graph", &i->name));
    r->graph = i->name;
    i->n_inputs = rec.n_inputs;
    i->n_outputs = rec.n_outputs;
    i->priority = rec.priority;
    i->scratch_bytes = rec.scratch_bytes;
    i->persistent_bytes = rec.persistent_bytes;
    i->scratch_align = rec.scratch_align;
    i->live_bytes = rec.live_bytes;
    i->io_bytes = rec.io_bytes;
    i->const_bytes = rec.const_bytes;
    i->macs = rec.macs;
    i->cycles = rec.cycles;
    i->spill_fill_bytes = rec.spill_fill_bytes;
    i->vtcm_bytes = rec.vtcm_bytes;
    i->vtcm_used = rec.vtcm_used;
    i->opt_level = rec.opt_level;
    i->vtcm_mb = rec.vtcm_mb;
    i->hvx_threads = rec.hvx_threads;
    i->dlbc = rec.dlbc;
    i->plan_optimal = rec.plan_optimal;
    i->order_bytes = rec.order_bytes;
    i->n_source_nodes = rec.n_source_nodes;
    i->options = rec.options;
    i->cores = rec.cores;
    RETURN_IF(i->cores > BINARY_MAX_CORES, ST_BAD_BINARY, "context binary, %s: %u cores; at most %d are expected", r->graph,
              i->cores, BINARY_MAX_CORES);
    uint64_t align = i->scratch_align;
    RETURN_IF((align & (align - 1)) != 0 || align > 1 << 21, ST_BAD_BINARY,
              "context binary, %s: scratch alignment %" PRIu64 "; a power of two up to 2 MiB is expected", r->graph, align);
    const struct {
        const char *name;
        uint64_t bytes;
    } memory[] = { { "scratch", i->scratch_bytes },
                   { "persistent memory", i->persistent_bytes },
                   { "fast memory", i->vtcm_bytes },
                   { "spill-fill buffer", i->spill_fill_bytes } };
    for (size_t k = 0; k < sizeof(memory) / sizeof(memory[0]); k++)
        RETURN_IF(memory[k].bytes > UINT64_MAX / 8, ST_BAD_BINARY, "context binary, %s: %" PRIu64 " bytes of %s", r->graph,
                  memory[k].bytes, memory[k].name);
    RETURN_IF(i->vtcm_used > i->vtcm_bytes, ST_BAD_BINARY,
              "context binary, %s: %" PRIu64 " bytes of a window of %" PRIu64 " are used", r->graph, i->vtcm_used,
              i->vtcm_bytes);
    return ST_OK;
}

/* Strings, values and lists are copied: they are looked at all the time, and the client may free its buffer. */
static enum status copy_tables(struct bin_reader *r)
{
    const struct bin_span *s = &r->sec[SEC_STRINGS];
    RETURN_IF(s->size == 0 || s->data[s->size - 1] != 0, ST_BAD_BINARY, "context binary, %s: its names have no end",
              r->graph);
    r->strings = arena_dup(r->arena, s->data, s->size);
    r->values = arena_dup(r->arena, r->sec[SEC_VALUES].data, r->sec[SEC_VALUES].size);
    r->lists = arena_dup(r->arena, r->sec[SEC_LISTS].data, r->sec[SEC_LISTS].size);
    RETURN_IF(!r->strings || !r->values || !r->lists, ST_NO_MEMORY, "context binary, %s: no memory for its tables",
              r->graph);
    return ST_OK;
}

static enum status read_graph(struct bin_reader *r)
{
    for (uint32_t k = SEC_GRAPH; k <= SEC_COMMANDS; k++)
        RETURN_IF(!r->sec[k].seen, ST_BAD_BINARY, "context binary, %s: it has no %s section", r->graph, bin_section_name(k));
    RETURN_IF(r->sec[SEC_GRAPH].n != 1, ST_BAD_BINARY, "context binary, %s: %u graph records", r->graph,
              r->sec[SEC_GRAPH].n);
    TRY(copy_tables(r));
    TRY(read_info(r));
    TRY(bin_read_tensors(r));
    TRY(bin_read_nodes(r));
    TRY(bin_read_chains(r));
    TRY(bin_read_tiles(r));
    TRY(bin_check_claims(r));
    TRY(bin_read_commands(r));
    return bin_read_spans(r);
}

static struct bin_span span_of(const struct bin_file *f, const struct bin_section *s)
{
    return (struct bin_span){
        .data = f->data + s->offset, .size = s->size, .n = (uint32_t)(s->size / bin_record_size(s->kind)), .seen = true
    };
}

struct open {
    struct bin_file file;
    struct arena *arena;
    struct bin_reader *readers; /* one per graph */
    struct bin_span *consts;    /* by number */
    uint32_t *links;            /* per graph: number of its constant section */
    const char *oem;
    struct bin_span own;
};

/* Sort sections by graph. Kinds that this version does not know are left alone: they belong to a later one. */
static enum status sort_section(struct open *o, const struct bin_section *s)
{
    struct bin_span span = span_of(&o->file, s), *slot;
    if (s->kind == SEC_OEM) {
        RETURN_IF(span.size == 0 || span.data[span.size - 1] != 0, ST_BAD_BINARY,
                  "context binary: the OEM string has no end");
        o->oem = arena_dup(o->arena, span.data, span.size);
        RETURN_IF(!o->oem, ST_NO_MEMORY, "context binary: no memory for the OEM string");
        return ST_OK;
    }
    if (s->kind == SEC_OWN) {
        o->own = span;
        return ST_OK;
    }
    uint32_t limit = s->kind == SEC_CONSTANTS ? o->file.header.n_sections : o->file.header.n_graphs;
    if (s->kind == 0 || s->kind >= SEC_COUNT)
        return ST_OK;
    RETURN_IF(s->index >= limit, ST_BAD_BINARY, "context binary: a %s section has number %u; below %u is expected",
              bin_section_name(s->kind), s->index, limit);
    slot = s->kind == SEC_CONSTANTS ? &o->consts[s->index] : &o->readers[s->index].sec[s->kind];
    RETURN_IF(slot->seen, ST_BAD_BINARY, "context binary: two %s sections have number %u", bin_section_name(s->kind),
              s->index);
    *slot = span;
    if (s->kind == SEC_GRAPH)
        o->links[s->index] = s->link;
    return ST_OK;
}

static enum status sort_sections(struct open *o)
{
    uint32_t n = o->file.header.n_sections, n_graphs = o->file.header.n_graphs;
    o->readers = arena_array(o->arena, struct bin_reader, n_graphs);
    o->consts = arena_array(o->arena, struct bin_span, n);
    o->links = arena_array(o->arena, uint32_t, n_graphs);
    RETURN_IF(!o->readers || !o->consts || !o->links, ST_NO_MEMORY, "context binary: no memory for %u sections", n);
    for (uint32_t i = 0; i < n; i++)
        TRY(sort_section(o, &o->file.sections[i]));
    return ST_OK;
}

static enum status read_graphs(struct open *o, struct binary_graph *graphs)
{
    for (uint32_t i = 0; i < o->file.header.n_graphs; i++) {
        struct bin_reader *r = &o->readers[i];
        r->arena = o->arena;
        r->graph = "a graph";
        r->g = &graphs[i];
        if (o->links[i] != BINARY_NONE) {
            RETURN_IF(o->links[i] >= o->file.header.n_sections || !o->consts[o->links[i]].seen, ST_BAD_BINARY,
                      "context binary: graph %u uses constant section %u, which is not there", i, o->links[i]);
            graphs[i].constants = o->consts[o->links[i]].data;
            graphs[i].constant_bytes = o->consts[o->links[i]].size;
        }
        TRY(read_graph(r));
        for (uint32_t k = 0; k < i; k++)
            RETURN_IF(strcmp(graphs[k].info.name, graphs[i].info.name) == 0, ST_BAD_BINARY,
                      "context binary: two graphs are named \"%s\"", graphs[i].info.name);
    }
    return ST_OK;
}

static void fill_target(const struct bin_header *h, struct binary_target *t)
{
    t->backend_id = h->backend_id;
    t->soc_model = h->soc_model;
    t->arch = h->arch;
    memcpy(t->core_version, h->core_version, sizeof(t->core_version));
    memcpy(t->backend_version, h->backend_version, sizeof(t->backend_version));
    memcpy(t->build_id, h->build_id, sizeof(t->build_id));
}

static enum status unpack_copy(const void *data, size_t size, struct memory *m, struct bin_file *f)
{
    uint64_t plain = binary_unpacked_size(data, size);

    m->copy = plain ? mem_alloc_aligned(BIN_CONST_ALIGN, plain) : NULL;
    RETURN_IF(plain && !m->copy, ST_NO_MEMORY, "context binary: no memory to unpack %" PRIu64 " bytes", plain);
    TRY(binary_unpack(data, size, m->copy, plain));
    return bin_read_file(m->copy, plain, &m->arena, f);
}

static enum status open_all(const void *data, size_t size, struct memory *m, struct binary *b)
{
    struct open o = { .arena = &m->arena };
    TRY(bin_read_file(data, size, o.arena, &o.file));
    if (bin_is_packed(&o.file)) {
        TRY(unpack_copy(data, size, m, &o.file));
    } else if ((uintptr_t)data % BIN_MAP_ALIGN) {
        m->copy = mem_alloc_aligned(BIN_CONST_ALIGN, o.file.size);
        RETURN_IF(!m->copy, ST_NO_MEMORY, "context binary: no memory for an aligned copy of %" PRIu64 " bytes", o.file.size);
        o.file.data = memcpy(m->copy, data, o.file.size);
    }
    TRY(sort_sections(&o));
    struct binary_graph *graphs = arena_array(o.arena, struct binary_graph, o.file.header.n_graphs);
    RETURN_IF(!graphs, ST_NO_MEMORY, "context binary: no memory for %u graphs", o.file.header.n_graphs);
    TRY(read_graphs(&o, graphs));
    b->n_graphs = o.file.header.n_graphs;
    b->graphs = graphs;
    b->oem = o.oem;
    b->own = o.own.data;
    b->own_bytes = o.own.size;
    b->map = o.file.data;
    b->size = o.file.size;
    fill_target(&o.file.header, &b->target);
    return ST_OK;
}

void binary_close(struct binary *b)
{
    struct memory *m = b->memory;
    if (m) {
        arena_finish(&m->arena);
        mem_free(m->copy);
        mem_free(m);
    }
    *b = (struct binary){};
}

enum status binary_open(const void *data, size_t size, struct binary *ret)
{
    struct memory *m = mem_new(struct memory);
    RETURN_IF(!m, ST_NO_MEMORY, "context binary: no memory for the reader");
    arena_init(&m->arena);
    struct binary b = { .memory = m };
    enum status st = open_all(data, size, m, &b);
    if (st != ST_OK) {
        binary_close(&b);
        return st;
    }
    *ret = b;
    return ST_OK;
}

static enum status verify_section(const uint8_t *data, const struct bin_section *s)
{
    const struct binary_section section = { .crc = s->crc, .number = s->index };

    return binary_section_check(&section, bin_crc(data + s->offset, s->size));
}

/* One constant section, by where it lies; NULL: all of them. */
static enum status verify(const struct binary *b, const uint8_t *only)
{
    const uint8_t *data = b->map;
    struct bin_header h;
    memcpy(&h, data, sizeof(h));

    for (uint32_t i = 0; i < h.n_sections; i++) {
        struct bin_section s;
        memcpy(&s, data + sizeof(h) + (size_t)i * sizeof(s), sizeof(s));

        bool wanted = s.kind == SEC_CONSTANTS && (!only || only == data + s.offset);
        if (wanted)
            TRY(verify_section(data, &s));
    }
    return ST_OK;
}

enum status binary_verify_constants(const struct binary *b)
{
    return verify(b, NULL);
}

enum status binary_verify_graph(const struct binary *b, uint32_t graph)
{
    const struct binary_graph *g = &b->graphs[graph];

    return g->constant_bytes ? verify(b, g->constants) : ST_OK;
}
