/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a program, and the memory it computes in. */
#include <string.h>

#include "base/mem.h"
#include "exec/program.h"

static uint8_t *address_of(const struct exec_program *p, const struct binary_tensor *t)
{
    uint8_t *base[PLACE_COUNT] = {
        /* Constants are only ever inputs, binary_open saw to that; operand lists are not const. */
        [PLACE_CONST] = (uint8_t *)(uintptr_t)p->constants,
        [PLACE_SCRATCH] = p->scratch,
        [PLACE_PERSISTENT] = p->persistent,
        [PLACE_VTCM] = p->vtcm,
        [PLACE_SPILL] = p->spill,
    };
    return base[t->place] ? base[t->place] + t->offset : NULL;
}

uint32_t program_operand(const struct binary_node *n, uint32_t i)
{
    uint32_t io = n->n_in + n->n_out;
    return i < n->n_in ? n->in[i] : i < io ? n->out[i - n->n_in] : n->guards[2 * (i - io)];
}

uint32_t program_operands(const struct binary_node *n)
{
    return n->n_in + n->n_out + n->n_guards;
}

void program_resolve(struct exec_program *p)
{
    for (uint32_t i = 0; i < p->g->n_nodes; i++) {
        const struct binary_node *n = &p->g->nodes[i];
        struct exec_node *node = &p->nodes[i];
        node->work = n->work_bytes ? p->scratch + n->work_offset : NULL;
        node->state = n->state_bytes && p->persistent ? p->persistent + n->state_offset : NULL;
        for (uint32_t k = 0; k < program_operands(n); k++) {
            uint32_t t = program_operand(n, k);
            if (t != BINARY_NONE && p->g->tensors[t].place != PLACE_IO)
                node->data[k] = address_of(p, &p->g->tensors[t]);
        }
    }
    for (uint32_t i = 0; i < p->g->n_chains; i++)
        chain_place(p, i);
}

/* Lists of slots per I/O entry: count, then fill. */
static enum status list_io_slots(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    uint32_t n_slots = 0;
    p->io_first = arena_array(&p->arena, uint32_t, (size_t)g->n_io + 2);
    p->io_now = arena_array(&p->arena, void *, g->n_io);
    p->io_absent = arena_array(&p->arena, void *, g->n_io);
    p->io_bytes = arena_array(&p->arena, uint64_t, g->n_io);
    RETURN_IF(!p->io_first || !p->io_now || !p->io_absent || !p->io_bytes, ST_NO_MEMORY,
              "graph \"%s\": no memory for its I/O table", g->info.name);
    for (uint32_t k = 0; k < g->n_io; k++)
        p->io_bytes[k] = desc_bytes(&g->tensors[g->io[k]].desc);
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            const struct binary_node *n = &g->nodes[i];
            for (uint32_t k = 0; k < program_operands(n); k++) {
                uint32_t t = program_operand(n, k);
                if (t == BINARY_NONE || g->tensors[t].place != PLACE_IO)
                    continue;
                uint64_t io = g->tensors[t].offset;
                if (fill)
                    p->io_slot[p->io_first[io + 1]++] = (uint32_t)(p->nodes[i].data + k - p->slots);
                else
                    p->io_first[io + 2]++, n_slots++;
            }
        }
        if (fill)
            break;
        /* Shifted by one, so that filling moves every start to where it belongs. */
        for (uint32_t k = 0; k < g->n_io; k++)
            p->io_first[k + 2] += p->io_first[k + 1];
        p->io_slot = arena_array(&p->arena, uint32_t, n_slots);
        RETURN_IF(!p->io_slot, ST_NO_MEMORY, "graph \"%s\": no memory for its I/O table", g->info.name);
    }
    return ST_OK;
}

/* Tiles are cut for many threads; a small team runs fewer, larger ones. Those of one node follow each other, so neighbours
 * can be joined. */
static bool can_join(const struct exec_command *last, const struct binary_command *c)
{
    return last->node == c->node && last->end == c->begin;
}

/* Products of a node, or of its whole chain. */
static uint64_t macs_of(const struct exec_program *p, uint32_t node)
{
    const struct exec_chain *chain = p->nodes[node].chain;
    uint64_t sum = 0;
    for (uint32_t k = chain ? chain->node : node; k <= node; k++)
        sum += p->g->nodes[k].macs;
    return sum;
}

/* How many commands to make of the n tiles of a step: one per worker, since what lies on both sides of a border is read, or
 * even computed, twice. A run gives way between commands, so long ones are cut, into as many for each worker. */
static uint32_t commands_of_step(const struct exec_program *p, uint32_t node, uint32_t n)
{
    const struct exec_chain *chain = p->nodes[node].chain;
    uint32_t workers = p->team ? team_size(p->team) : 1;
    uint64_t cut = p->phased[node] ? 0 : macs_of(p, node) / (chain && chain->halo ? EXEC_LONG_CHAIN : EXEC_LONG);
    uint64_t want = (cut > workers ? cut + workers - 1 : workers) / workers * workers;
    return n < want ? n : (uint32_t)want;
}

static uint32_t tiles_of_step(const struct binary_graph *g, uint32_t from)
{
    uint32_t n = 0;
    while (from + n < g->n_commands && g->commands[from + n].step == g->commands[from].step)
        n++;
    return n;
}

static enum status copy_commands(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    p->commands = arena_array(&p->arena, struct exec_command, g->n_commands);
    p->needs = arena_array(&p->arena, struct exec_need, p->team ? g->n_commands : 0);
    p->steps = arena_array(&p->arena, struct exec_step, g->n_steps);
    p->phased = arena_array(&p->arena, uint8_t, g->n_nodes);
    RETURN_IF(!p->commands || !p->needs || !p->steps || !p->phased, ST_NO_MEMORY, "graph \"%s\": no memory for %u commands",
              g->info.name, g->n_commands);
    TRY(depend_phases(g, p->phased));
    for (uint32_t i = 0, n; i < g->n_commands; i += n) {
        struct exec_step *step = &p->steps[g->commands[i].step]; /* a step without commands is allowed */
        n = tiles_of_step(g, i);
        step->begin = p->n_commands;
        uint32_t parts = commands_of_step(p, g->commands[i].node, n), larger = n % parts, join = 0, joined = 0;
        for (uint32_t k = i; k < i + n; k++) {
            const struct binary_command *c = &g->commands[k];
            struct exec_command *last = p->n_commands ? &p->commands[p->n_commands - 1] : NULL;
            bool in_one_go = !p->team && last && p->phased[c->node]; /* phases of one thread need no steps */
            if (((joined && joined < join) || in_one_go) && can_join(last, c)) {
                last->end = c->end;
                joined++;
            } else {
                p->commands[p->n_commands++] = (struct exec_command){ c->node, c->begin, c->end, p->n_marks };
                join = n / parts +
                       (larger > 0); /* the larger ones first, so that all workers are done at about the same time */
                larger -= larger > 0;
                p->n_marks += p->nodes[c->node].chain ? p->nodes[c->node].chain->shape.n : 1;
                joined = 1;
            }
        }
        step->end = p->n_commands;
    }
    return ST_OK;
}

/* Some commands of a node share its units from the first one's beginning to the last one's end. The larger ones first, so
 * that all workers are done at about the same time. */
static void cut_run(const struct exec_node *node, struct exec_command *first, uint32_t n)
{
    uint32_t begin = first->begin, end = first[n - 1].end < node->extent ? first[n - 1].end : node->extent,
             units = end > begin ? end - begin : 0, whole = units / node->whole >= n ? node->whole : 1;
    uint64_t wholes = units / whole;
    for (uint32_t k = 1; k < n && wholes >= n; k++)
        first[k].begin = first[k - 1].end = begin + (uint32_t)((wholes * k + n - 1) / n) * whole;
    /* What reaches the end keeps reaching it when dimensions change. */
    if (first[n - 1].end >= node->extent)
        first[n - 1].end = UINT32_MAX;
}

void program_cut(struct exec_program *p)
{
    for (uint32_t s = 0; s < p->g->n_steps; s++)
        for (uint32_t i = p->steps[s].begin, n; i < p->steps[s].end; i += n) {
            struct exec_command *c = &p->commands[i];
            for (n = 1; i + n < p->steps[s].end && c[n].node == c->node && c[n].begin == c[n - 1].end; n++)
                ;
            cut_run(&p->nodes[c->node], c, n);
        }
}

/* `at`: where tiles stop, and units go on. */
static enum status refuse_tiles(const struct exec_program *p, uint32_t node, uint32_t at)
{
    return status_fail(ST_BAD_BINARY,
                       "node \"%s\": nobody computes unit %u of the %u that kernel %s has; prepare the model again",
                       p->g->nodes[node].name, at, p->nodes[node].extent, p->nodes[node].kernel);
}

/* Tiles of a node follow each other. How many units there are only its kernel knows; results of those that no tile has would
 * stay what they were. */
enum status program_check_tiles(const struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    uint32_t *until = mem_array(uint32_t, g->n_nodes);
    RETURN_IF(!until, ST_NO_MEMORY, "graph \"%s\": no memory for %u nodes", g->info.name, g->n_nodes);
    enum status st = ST_OK;
    for (uint32_t i = 0; i < g->n_commands && st == ST_OK; i++) {
        const struct binary_command *c = &g->commands[i];
        uint32_t *at = &until[c->node];
        if (c->begin > *at && *at < p->nodes[c->node].extent)
            st = refuse_tiles(p, c->node, *at);
        *at = c->end > *at ? c->end : *at;
    }
    for (uint32_t i = 0; i < g->n_nodes && st == ST_OK; i++)
        if (until[i] && until[i] < p->nodes[i].extent)
            st = refuse_tiles(p, i, until[i]);
    mem_free(until);
    return st;
}

enum status program_tables(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    uint64_t n_slots = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n_slots += program_operands(&g->nodes[i]);
    RETURN_IF(n_slots > UINT32_MAX, ST_BAD_BINARY, "graph \"%s\": its nodes have %llu operands", g->info.name,
              (unsigned long long)n_slots);
    p->nodes = arena_array(&p->arena, struct exec_node, g->n_nodes);
    p->slots = arena_array(&p->arena, void *, n_slots);
    RETURN_IF(!p->nodes || !p->slots, ST_NO_MEMORY, "graph \"%s\": no memory for %u nodes", g->info.name, g->n_nodes);
    void **at = p->slots;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct binary_node *n = &g->nodes[i];
        p->nodes[i].data = at;
        p->nodes[i].work_bytes = n->work_bytes;
        p->nodes[i].view_out = n->op->flags & OP_VIEW && n->n_out == 1 && n->n_in > 0 ? n->n_in : 0;
        p->nodes[i].guards = at + n->n_in + n->n_out;
        p->nodes[i].n_guards = n->n_guards;
        p->nodes[i].guard_values = n->guards;
        at += program_operands(n);
    }
    TRY(list_io_slots(p));
    TRY(early_load(p));
    TRY(chain_load(p));
    TRY(live_load(p));
    TRY(copy_commands(p));
    return ready_load(p);
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static void put_element(uint8_t *dst, uint64_t i, unsigned bits, int64_t q)
{
    if (bits < 8)
        packed_put(dst, bits, i, q);
    else
        memcpy(dst + i * (bits / 8), &q, bits / 8);
}

static bool zero_is_code_zero(const struct tensor_desc *d)
{
    if (!dtype_is_fixed(d->type) || (d->q.kind == Q_AXIS && !d->q.offsets) || d->q.kind > Q_AXIS)
        return true;
    for (uint32_t i = 0; i < (d->q.kind == Q_AXIS ? d->q.n : 1); i++)
        if (quant_offset(&d->q, i))
            return false;
    return true;
}

/* Real zero in the tensor's own encoding. The memory is zeroed already, and pages that nobody touches need no memory. */
static void fill_zero(const struct tensor_desc *d, uint8_t *dst)
{
    bool per_axis = d->q.kind == Q_AXIS;
    if (zero_is_code_zero(d))
        return;
    uint64_t n = desc_count(d), inner = 1, channels = per_axis ? d->dims[d->q.axis] : 1;
    for (uint32_t i = per_axis ? (uint32_t)d->q.axis + 1 : d->rank; i < d->rank; i++)
        inner *= d->dims[i];
    int64_t lo = dtype_min(d->type), hi = dtype_max(d->type);
    for (uint64_t i = 0; i < n; i++) {
        int64_t q = -(int64_t)quant_offset(&d->q, per_axis ? (uint32_t)(i / inner % channels) : 0);
        put_element(dst, i, dtype_bits(d->type), q < lo ? lo : q > hi ? hi : q);
    }
}

/* Memory behind optional tensors that the client may leave out: inputs read as zero, outputs are written to nobody. */
static enum status absent_memory(struct exec_program *p)
{
    const struct binary_graph *g = p->g;
    uint64_t total = 0;
    for (uint32_t k = 0; k < g->n_io; k++)
        if (g->tensors[g->io[k]].optional &&
            __builtin_add_overflow(total, (desc_bytes(&g->tensors[g->io[k]].desc) + 63) & ~UINT64_C(63), &total))
            total = SIZE_MAX;
    if (total == 0)
        return ST_OK;
    uint8_t *at = p->own_absent = total <= SIZE_MAX / 2 ? mem_alloc_aligned(EXEC_ALIGN, total) : NULL;
    RETURN_IF(!at, ST_NO_MEMORY, "graph \"%s\": no memory for %llu bytes of optional tensors", g->info.name,
              (unsigned long long)total);
    for (uint32_t k = 0; k < g->n_io; k++) {
        const struct binary_tensor *t = &g->tensors[g->io[k]];
        if (!t->optional)
            continue;
        if (t->io & 1)
            fill_zero(&t->desc, at);
        p->io_absent[k] = at;
        at += (desc_bytes(&t->desc) + 63) & ~UINT64_C(63);
    }
    return ST_OK;
}

static enum status own_memory(const struct exec_program *p, const char *what, uint64_t bytes, void **ret)
{
    uint64_t align = p->g->info.scratch_align > EXEC_ALIGN ? p->g->info.scratch_align : EXEC_ALIGN;
    if (bytes == 0)
        return ST_OK;
    *ret = bytes <= SIZE_MAX / 2 ? mem_alloc_aligned(align, bytes) : NULL;
    RETURN_IF(!*ret, ST_NO_MEMORY, "graph \"%s\": no memory for %llu bytes of %s", p->g->info.name,
              (unsigned long long)bytes, what);
    return ST_OK;
}

/* Workspaces of the workers: they depend on the machine, so they are not part of the plan. */
static enum status worker_memory(struct exec_program *p)
{
    uint64_t most = 0, total;
    for (uint32_t i = 0; p->team && i < p->g->n_nodes; i++)
        most = p->g->nodes[i].work_bytes > most ? p->g->nodes[i].work_bytes : most;
    for (uint32_t i = 0; p->team && i < p->g->n_chains; i++)
        most = p->g->chains[i].work_bytes > most ? p->g->chains[i].work_bytes : most;
    if (most == 0)
        return ST_OK;
    p->worker_stride = (most + EXEC_ALIGN - 1) / EXEC_ALIGN * EXEC_ALIGN;
    bool large = __builtin_mul_overflow(p->worker_stride, (uint64_t)team_size(p->team), &total);
    p->worker_work = large || total > SIZE_MAX / 2 ? NULL : mem_alloc_aligned(EXEC_ALIGN, total);
    RETURN_IF(!p->worker_work, ST_NO_MEMORY, "graph \"%s\": no memory for workspaces of %llu bytes for %u threads",
              p->g->info.name, (unsigned long long)p->worker_stride, team_size(p->team));
    return ST_OK;
}

enum status program_own_spill(struct exec_program *p)
{
    return own_memory(p, "a spill-fill buffer", p->g->info.spill_fill_bytes, &p->own_spill);
}

enum status program_memory(struct exec_program *p, const struct exec_opts *o)
{
    const struct binary_graph_info *i = &p->g->info;
    if (!o->scratch)
        TRY(own_memory(p, "scratch memory", i->scratch_bytes, &p->own_scratch));
    if (!o->persistent)
        TRY(own_memory(p, "persistent memory", i->persistent_bytes, &p->own_persistent));
    p->scratch = o->scratch ? o->scratch : p->own_scratch;
    p->persistent = o->persistent ? o->persistent : p->own_persistent;
    if (!o->vtcm)
        TRY(own_memory(p, "fast memory", i->vtcm_used, &p->own_vtcm));
    p->vtcm = o->vtcm ? o->vtcm : p->own_vtcm;
    if (!o->spill)
        TRY(program_own_spill(p));
    p->spill = o->spill ? o->spill : p->own_spill;
    TRY(worker_memory(p));
    return absent_memory(p);
}
