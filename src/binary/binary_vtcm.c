/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in the fast memory (VTCM) of a target while operators run in their order, and what has to move between it and DRAM for lack of room.
 *
 *   constants            come from DRAM for the operator that reads them
 *   graph inputs         come from DRAM for their first reader, and stay while there is room
 *   between operators    stay while there is room; the tensor whose next reader is farthest away leaves first (spill) and comes back for it (fill)
 *   streams              a tensor that only the next operator reads goes to it tile by tile, and needs room for tiles only
 *   graph outputs        go to DRAM
 *
 * Transfers of the schedule (DramToTcm, TcmToDram) are passed over: a copy is the tensor itself.
 * Tensors count with the padding of the tile layout. No clock and no measurement: a function of the binary and the size of the memory. */
#include <string.h>

#include "base/arena.h"
#include "binary/binary.h"

enum { TILE_SHARE = 4 };

/* A tensor while the walk goes on. */
struct resident {
    uint32_t next;       /* operator that reads it next, BINARY_NONE: nobody */
    uint32_t at;         /* where it stands among those alive, while bytes are here */
    uint64_t bytes;      /* padded */
    uint64_t here;       /* of them in fast memory */
    uint64_t copied;     /* of them in DRAM as well */
    bool seen, stream;
};

struct walk {
    const struct binary_graph *g;
    uint64_t room, used, spilled; /* bytes: of the memory, in it, in the spill buffer now */
    struct resident *of;          /* per tensor */
    uint32_t *same;               /* per tensor: the one that it is a copy of, or itself */
    uint32_t *alive, n_alive;     /* tensors with bytes here */
    uint32_t *next;               /* per input of every operator: the operator after it that reads the same tensor */
    struct binary_vtcm *sum;
    struct binary_vtcm_node *now;
};

static uint64_t round_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b * b;
}

uint32_t binary_tile_bits(enum dtype t)
{
    enum { FLOAT = 16 };
    return dtype_is_float(t) ? FLOAT : dtype_bits(t);
}

uint64_t binary_tile_bytes(const struct tensor_desc *d)
{
    uint32_t bits = binary_tile_bits(d->type), r = d->rank;
    uint64_t n = 1;
    for (uint32_t i = 0; i < r; i++)
        n *= round_up(d->dims[i], binary_tile_side(d, i));
    return (n * bits + 7) / 8;
}

uint64_t binary_vtcm_bytes(const struct tensor_desc *d)
{
    uint64_t plain = desc_bytes(d), tiles = binary_tile_bytes(d);
    return plain > tiles ? plain : tiles;
}

static bool is_constant(const struct binary_tensor *t)
{
    return t->place == PLACE_CONST || t->place == PLACE_NONE;
}

void binary_originals(const struct binary_graph *g, uint32_t *ret)
{
    for (uint32_t t = 0; t < g->n_tensors; t++)
        ret[t] = t;
    for (uint32_t k = 0; k < g->n_nodes; k++)
        if (binary_is_transfer(&g->nodes[k]))
            ret[g->nodes[k].out[0]] = ret[g->nodes[k].in[0]];
}

/* For every input, who reads the tensor next; of[].next becomes its first reader. */
static void link_readers(struct walk *w, uint32_t n_ports)
{
    for (uint32_t t = 0; t < w->g->n_tensors; t++)
        w->of[t].next = BINARY_NONE;
    for (uint32_t k = w->g->n_nodes; k-- > 0;) {
        const struct binary_node *n = &w->g->nodes[k];
        n_ports -= n->n_in;
        for (uint32_t i = binary_is_transfer(n) ? 0 : n->n_in; i-- > 0;) {
            if (n->in[i] == BINARY_NONE)
                continue;
            struct resident *r = &w->of[w->same[n->in[i]]];
            w->next[n_ports + i] = r->next;
            for (uint32_t j = i + 1; j < n->n_in; j++) /* the same tensor twice */
                w->next[n_ports + i] = n->in[j] != BINARY_NONE && w->same[n->in[j]] == w->same[n->in[i]] ? w->next[n_ports + j] : w->next[n_ports + i];
            r->next = k;
        }
    }
}

static void leave(struct walk *w, uint32_t t)
{
    struct resident *r = &w->of[t];
    if (!r->here)
        return;
    uint32_t last = w->alive[--w->n_alive];
    w->alive[r->at] = last;
    w->of[last].at = r->at;
    w->used -= r->here;
    r->here = 0;
}

static void come(struct walk *w, uint32_t t, uint64_t bytes)
{
    if (!w->of[t].here && bytes) {
        w->of[t].at = w->n_alive;
        w->alive[w->n_alive++] = t;
    }
    w->of[t].here += bytes;
    w->used += bytes;
}

static void spill(struct walk *w, struct resident *r, uint64_t bytes)
{
    uint64_t fresh = r->copied < r->bytes ? r->bytes - r->copied : 0;
    fresh = bytes < fresh ? bytes : fresh;
    r->copied += fresh;
    w->spilled += fresh;
    w->now->written += fresh;
    w->sum->spill += fresh;
    w->sum->buffer = w->spilled > w->sum->buffer ? w->spilled : w->sum->buffer;
}

/* Room for `bytes`, at the expense of tensors that are not wanted before operator k is done. */
static void make_room(struct walk *w, uint32_t k, uint64_t bytes)
{
    while (w->used + bytes > w->room) {
        uint32_t far = BINARY_NONE;
        for (uint32_t i = 0; i < w->n_alive; i++) {
            const struct resident *r = &w->of[w->alive[i]];
            if (r->next != k && (far == BINARY_NONE || r->next > w->of[far].next))
                far = w->alive[i];
        }
        if (far == BINARY_NONE)
            return;
        if (w->of[far].next != BINARY_NONE)
            spill(w, &w->of[far], w->of[far].here);
        leave(w, far);
    }
}

static uint64_t free_room(const struct walk *w)
{
    return w->used < w->room ? w->room - w->used : 0;
}

static void read_input(struct walk *w, uint32_t k, uint32_t t)
{
    const struct binary_tensor *b = &w->g->tensors[t];
    struct resident *r = &w->of[t];
    if (is_constant(b)) {
        w->now->constants += (desc_count(&b->desc) * binary_tile_bits(b->desc.type) + 7) / 8;
        return;
    }
    uint64_t missing = r->stream ? 0 : r->bytes - r->here;
    bool first = !r->seen && b->io & 1;
    *(first ? &w->sum->input_fill : &w->sum->fill) += missing;
    w->now->read += missing;
    r->copied = first ? r->bytes : r->copied;
    r->seen = true;
    make_room(w, k, missing);
    come(w, t, missing < free_room(w) ? missing : free_room(w));
}

static void write_output(struct walk *w, uint32_t k, uint32_t t, bool stream)
{
    const struct binary_tensor *b = &w->g->tensors[t];
    struct resident *r = &w->of[t];
    r->seen = true;
    if (b->io & 2) {
        w->now->written += r->bytes;
        w->sum->output_spill += r->bytes;
        r->copied = r->bytes;
    }
    if (r->next == BINARY_NONE)
        return;
    r->stream = stream;
    uint64_t want = r->stream && r->bytes > w->room / TILE_SHARE ? w->room / TILE_SHARE : r->bytes;
    make_room(w, k, want);
    come(w, t, want < free_room(w) ? want : free_room(w));
    if (!r->stream && r->here < r->bytes)
        spill(w, r, r->bytes - r->here);
}

/* Nobody but operator k, whose inputs begin at `port`, reads tensor t from now on. */
static bool read_only_by(const struct walk *w, uint32_t t, uint32_t k, uint32_t port)
{
    if (w->of[t].next != k)
        return false;
    const struct binary_node *n = &w->g->nodes[k];
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != BINARY_NONE && w->same[n->in[i]] == t && w->next[port + i] != BINARY_NONE)
            return false;
    return true;
}

static void step(struct walk *w, uint32_t k, uint32_t port)
{
    const struct binary_node *n = &w->g->nodes[k];
    uint32_t then = k + 1, then_port = port + n->n_in;
    for (; then < w->g->n_nodes && binary_is_transfer(&w->g->nodes[then]); then++)
        then_port += w->g->nodes[then].n_in;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != BINARY_NONE)
            read_input(w, k, w->same[n->in[i]]);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != BINARY_NONE)
            write_output(w, k, n->out[i], read_only_by(w, n->out[i], then, then_port));
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in[i] == BINARY_NONE || is_constant(&w->g->tensors[n->in[i]]))
            continue;
        uint32_t t = w->same[n->in[i]];
        struct resident *r = &w->of[t];
        r->next = w->next[port + i];
        if (r->next != BINARY_NONE)
            continue;
        if (!w->g->tensors[t].io) {
            w->spilled -= r->copied;
            r->copied = 0;
        }
        leave(w, t);
    }
}

enum status binary_vtcm(const struct binary_graph *g, uint64_t bytes, struct binary_vtcm_node *nodes, struct binary_vtcm *ret)
{
    CLEANUP(arena_finish) struct arena a;
    uint32_t ports = 0, port = 0;
    struct binary_vtcm_node spare;
    for (uint32_t k = 0; k < g->n_nodes; k++)
        ports += g->nodes[k].n_in;
    arena_init(&a);
    *ret = (struct binary_vtcm){ 0 };
    struct walk w = { .g = g, .room = bytes, .of = arena_array(&a, struct resident, g->n_tensors), .alive = arena_array(&a, uint32_t, g->n_tensors),
                      .next = arena_array(&a, uint32_t, (size_t)ports + 1), .same = arena_array(&a, uint32_t, g->n_tensors), .sum = ret };
    RETURN_IF(!w.of || !w.alive || !w.next || !w.same, ST_NO_MEMORY, "no memory to follow %u tensors", g->n_tensors);
    for (uint32_t t = 0; t < g->n_tensors; t++)
        w.of[t].bytes = binary_tile_bytes(&g->tensors[t].desc);
    binary_originals(g, w.same);
    link_readers(&w, ports);
    for (uint32_t k = 0; k < g->n_nodes; port += g->nodes[k++].n_in) {
        w.now = nodes ? &nodes[k] : &spare;
        *w.now = (struct binary_vtcm_node){ 0 };
        if (!binary_is_transfer(&g->nodes[k]))
            step(&w, k, port);
        ret->constants += w.now->constants;
        ret->peak = w.used > ret->peak ? w.used : ret->peak;
    }
    return ST_OK;
}
