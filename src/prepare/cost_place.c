/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the commands of one group after the other on the lanes of a device: the matrix unit, the threads of the vector units,
 * the DMA engine.
 *
 *   DMA        |f0|f1|   |s0|f2|s1|
 *   matrix        |c0  |c1  |c2  |
 *   vectors            |c0|  |c1|
 *
 * A command's part of weights and other operands comes before it begins, and its results go when it is done; transfers of
 * one direction keep their order, and what comes waits for room in fast memory (cost_held). A chain's command goes from
 * member to member, one command behind the other.
 *
 * A command begins when its own part has come and as much of its operands is there as it is of its operator: the first half
 * of the commands needs the first half of what is read. */
#include "prepare/cost_sim.h"

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t dma_cycles(const struct cost_device *d, uint64_t bytes)
{
    return (uint64_t)((unsigned __int128)bytes * d->clock_mhz / d->dram_mb_s);
}

/* Commands of a group are equal parts of it, as emit_commands cuts. */
static uint64_t share(const struct cost_group *gr, uint32_t i, uint64_t all)
{
    return (uint64_t)((unsigned __int128)all * (i + 1) / gr->n) - (uint64_t)((unsigned __int128)all * i / gr->n);
}

enum status cost_sim_init(struct cost_sim *s, struct arena *a)
{
    uint32_t units = s->d->vector_units;
    s->n_threads = units < 1 ? 1 : units > COST_THREADS ? COST_THREADS : units;
    s->n_cores = s->g->info.cores > 1 ? s->g->info.cores : 1;
    s->cores = arena_array(a, struct cost_core, s->n_cores);
    bool enough = s->cores != NULL;
    for (uint32_t c = 0; c < s->n_cores && enough; c++) {
        s->cores[c].held = arena_array(a, struct cost_held, s->g->n_commands + 1);
        enough = s->cores[c].held != NULL;
    }
    s->done = arena_array(a, uint64_t, s->g->n_commands + 1);
    s->first_of = arena_array(a, uint32_t, s->g->n_nodes);
    s->count_of = arena_array(a, uint32_t, s->g->n_nodes);
    RETURN_IF(!enough || !s->done || !s->first_of || !s->count_of, ST_NO_MEMORY, "no memory to estimate %u commands",
              s->g->n_commands);
    return ST_OK;
}

/* ---- cores ------------------------------------------------------------------------------------------------------------ */

/* Of n commands each core has as large a part, one behind the other: the first command of a core. */
static uint32_t part_begin(const struct cost_sim *s, uint32_t core, uint32_t n)
{
    return (uint32_t)(((uint64_t)core * n + s->n_cores - 1) / s->n_cores);
}

static uint32_t core_at(const struct cost_sim *s, uint32_t i, uint32_t n)
{
    return (uint32_t)((uint64_t)i * s->n_cores / n);
}

static bool first_of_core(const struct cost_sim *s, const struct cost_group *gr, uint32_t i)
{
    return i == part_begin(s, core_at(s, i, gr->n), gr->n);
}

/* ---- spans ------------------------------------------------------------------------------------------------------------ */

static enum status keep(struct cost_sim *s, struct binary_span span)
{
    if (!s->spans || !span.cycles)
        return ST_OK;
    struct binary_span *slot = vec_push(&s->spans->list);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for %zu spans of an estimate", s->spans->list.n);
    *slot = span;
    return ST_OK;
}

/* ---- operands --------------------------------------------------------------------------------------------------------- */

static bool of_group(const struct cost_group *gr, uint32_t node)
{
    return node >= gr->members[0].node && node <= gr->members[gr->n_members - 1].node;
}

/* When the first `upto` of a node's commands are done; of several cores each knows of its own, unless all are asked. */
static uint64_t made_by(const struct cost_sim *s, uint32_t node, uint32_t upto, bool all_cores)
{
    const uint64_t *done = s->done + s->first_of[node];
    uint64_t when = done[upto - 1];

    for (uint32_t c = 0; c < s->n_cores && all_cores; c++) {
        uint32_t end = part_begin(s, c + 1, s->count_of[node]);
        when = end ? most(when, done[end - 1]) : when;
    }
    return when;
}

/* When command i of n has as much as it needs of what other groups have made. A product needs all of a second operand that
 * is no constant; and so does what other cores have made a part of. */
static uint64_t ready(const struct cost_sim *s, const struct cost_group *gr, uint32_t i)
{
    uint64_t when = 0;
    for (uint32_t m = 0; m < gr->n_members; m++) {
        const struct binary_node *n = &s->g->nodes[gr->members[m].node];
        for (uint32_t p = 0; p < n->n_in; p++) {
            uint32_t from = n->in[p] == BINARY_NONE ? BINARY_NONE : s->producer[n->in[p]];
            if (from == BINARY_NONE || of_group(gr, from) || !s->count_of[from])
                continue;
            bool second = p == 1 && gr->members[m].product;
            uint64_t count = s->count_of[from], upto = second ? count : ((uint64_t)(i + 1) * count + gr->n - 1) / gr->n;
            when = most(when, made_by(s, from, (uint32_t)upto, second || gr->exchanged));
        }
    }
    return when;
}

/* ---- transfers -------------------------------------------------------------------------------------------------------- */

/* A box that is about to come takes room; until there is some, older ones have to be done with. */
static void hold(struct cost_core *s, const struct cost_group *gr, uint64_t bytes)
{
    for (; s->oldest < s->newest && s->held_bytes + bytes > gr->capacity; s->oldest++) {
        s->gate = most(s->gate, s->held[s->oldest].until);
        s->held_bytes -= s->held[s->oldest].bytes;
    }
    s->held[s->newest++] = (struct cost_held){ .bytes = bytes };
    s->held_bytes += bytes;
}

static bool starts_box(const struct cost_sim *s, const struct cost_group *gr, uint32_t i)
{
    return first_of_core(s, gr, i) || (uint64_t)i * gr->boxes / gr->n != (uint64_t)(i - 1) * gr->boxes / gr->n;
}

/* What command i needs of DRAM; *ret: when it is there. `made`: when it has been computed. A chain brings no more ahead than
 * one command beyond those that its members work on. */
static enum status fetch(struct cost_sim *s, const struct cost_group *gr, uint32_t i, uint64_t made, uint64_t *ret)
{
    struct cost_core *core = &s->cores[core_at(s, i, gr->n)];
    uint64_t cycles = dma_cycles(s->d, share(gr, i, gr->in)), start = 0, from = gr->reads_back ? made : 0;
    *ret = 0;
    if (!gr->in)
        return ST_OK;
    if (starts_box(s, gr, i))
        hold(core, gr, gr->room);
    if (gr->n_members > 1 && i - part_begin(s, core_at(s, i, gr->n), gr->n) > gr->n_members)
        from = most(from, s->done[gr->first + i - gr->n_members - 1]);
    *ret = cost_lane_fill(&core->dma, most(most(core->gate, core->fetched), from), cycles, &start);
    core->fetched = most(core->fetched, *ret);
    return keep(s, (struct binary_span){ gr->first + i, gr->members[gr->n_members - 1].node, UNIT_FETCH, false, start,
                                         cycles ? *ret - start : 0, 0 });
}

/* What other cores have made of the operands goes to DRAM and comes from there, when it is made. */
static enum status exchange(struct cost_sim *s, const struct cost_group *gr, uint32_t i, uint64_t made, uint64_t *ret)
{
    struct cost_core *core = &s->cores[core_at(s, i, gr->n)];
    uint64_t cycles = dma_cycles(s->d, 2 * share(gr, i, gr->exchanged)), start;

    if (!cycles)
        return ST_OK;
    core->fetched = cost_lane_fill(&core->dma, most(core->fetched, made), cycles, &start);
    *ret = most(*ret, core->fetched);
    return keep(s, (struct binary_span){ gr->first + i, gr->members[gr->n_members - 1].node, UNIT_FETCH, false, start,
                                         core->fetched - start, 0 });
}

static enum status store(struct cost_sim *s, const struct cost_group *gr, uint32_t i, uint64_t *done)
{
    struct cost_core *core = &s->cores[core_at(s, i, gr->n)];
    uint64_t cycles = dma_cycles(s->d, share(gr, i, gr->out)), start;
    if (!cycles)
        return ST_OK;
    *done = cost_lane_fill(&core->dma, most(*done, core->stored), cycles, &start);
    core->stored = *done;
    return keep(s, (struct binary_span){ gr->first + i, gr->members[gr->n_members - 1].node, UNIT_STORE, false, start,
                                         *done - start, 0 });
}

/* ---- work ------------------------------------------------------------------------------------------------------------- */

/* On the thread that can begin first. */
static uint64_t take_thread(const struct cost_sim *s, struct cost_core *core, uint64_t from, uint64_t cycles)
{
    uint32_t best = 0;
    uint64_t when = UINT64_MAX;
    for (uint32_t t = 0; t < s->n_threads; t++) {
        uint64_t start = cost_lane_when(&core->threads[t], from, cycles);
        best = start < when ? t : best;
        when = start < when ? start : when;
    }
    cost_lane_take(&core->threads[best], when, cycles);
    return when;
}

/* On all of them, when all can begin. */
static uint64_t take_threads(const struct cost_sim *s, struct cost_core *core, uint64_t from, uint64_t cycles)
{
    for (uint32_t t = 0, same = 0; same < s->n_threads; t = (t + 1) % s->n_threads) {
        uint64_t start = cost_lane_when(&core->threads[t], from, cycles);
        same = start == from ? same + 1 : 1;
        from = start;
    }
    for (uint32_t t = 0; t < s->n_threads; t++)
        cost_lane_take(&core->threads[t], from, cycles);
    return from;
}

/* Command i of a member. Of operators with few commands all threads work on each of them, and so they do in a chain, of
 * which there are only some lines at a time. */
static enum status work(struct cost_sim *s, const struct cost_group *gr, uint32_t i, const struct cost_member *m,
                        uint64_t *at)
{
    uint64_t finish = *at, vector = share(gr, i, m->vector), matrix = share(gr, i, m->matrix);
    struct cost_core *core = &s->cores[core_at(s, i, gr->n)];
    struct binary_span span = { .command = gr->first + i, .node = m->node, .unit = UNIT_MATRIX, .cycles = matrix };
    *at += first_of_core(s, gr, i) ? m->delay : 0;
    if (matrix) {
        span.start = cost_lane_when(&core->matrix, *at, matrix);
        cost_lane_take(&core->matrix, span.start, matrix);
        finish = most(finish, span.start + matrix);
        TRY(keep(s, span));
    }
    if (vector) {
        span.unit = UNIT_VECTOR;
        span.all = gr->n < 2 * s->n_threads * s->n_cores || gr->n_members > 1;
        span.cycles = span.all ? (vector + s->n_threads - 1) / s->n_threads : vector;
        span.start = span.all ? take_threads(s, core, *at, span.cycles) : take_thread(s, core, *at, span.cycles);
        finish = most(finish, span.start + span.cycles);
        TRY(keep(s, span));
    }
    *at = finish;
    return ST_OK;
}

/* ---- groups ----------------------------------------------------------------------------------------------------------- */

/* Results of a command are there when those of all before it are, too, on the same core. */
static void finish(struct cost_sim *s, const struct cost_group *gr, uint32_t i, uint64_t work_done, uint64_t done)
{
    struct cost_core *core = &s->cores[core_at(s, i, gr->n)];

    if (gr->in)
        core->held[core->newest - 1].until = most(core->held[core->newest - 1].until, work_done);
    s->done[gr->first + i] = first_of_core(s, gr, i) ? done : most(done, s->done[gr->first + i - 1]);
}

/* Command i of member m; at[i]: when the member before it is done. */
static enum status place_command(struct cost_sim *s, const struct cost_group *gr, uint32_t m, uint32_t i, uint64_t *at)
{
    if (m == 0) {
        uint64_t made = ready(s, gr, i);
        TRY(fetch(s, gr, i, made, &at[i]));
        TRY(exchange(s, gr, i, made, &at[i]));
        at[i] = most(at[i], made);
    }
    TRY(work(s, gr, i, &gr->members[m], &at[i]));
    if (m + 1 < gr->n_members)
        return ST_OK;
    uint64_t done = at[i];
    TRY(store(s, gr, i, &done));
    finish(s, gr, i, at[i], done);
    return ST_OK;
}

/* The wave w of a chain is command w of its first member, command w - 1 of the second one, … so that members of different
 * commands work side by side; and so do cores. */
static enum status place_chain(struct cost_sim *s, const struct cost_group *gr, uint64_t *at)
{
    uint32_t most_commands = (gr->n + s->n_cores - 1) / s->n_cores;

    for (uint32_t w = 0; w < most_commands + gr->n_members - 1; w++)
        for (uint32_t m = 0; m < gr->n_members && m <= w; m++)
            for (uint32_t c = 0; c < s->n_cores; c++) {
                uint32_t i = part_begin(s, c, gr->n) + w - m;
                if (i < part_begin(s, c + 1, gr->n))
                    TRY(place_command(s, gr, m, i, at));
            }
    return ST_OK;
}

static enum status place_transfer(struct cost_sim *s, const struct cost_group *gr)
{
    for (uint32_t i = 0; i < gr->n; i++) {
        struct cost_core *core = &s->cores[core_at(s, i, gr->n)];
        uint64_t done = ready(s, gr, i), start, cycles = dma_cycles(s->d, share(gr, i, gr->stores ? gr->out : gr->in)),
                 *last = gr->stores ? &core->stored : &core->fetched;
        done = cost_lane_fill(&core->dma, most(done, *last), cycles, &start);
        *last = done;
        TRY(keep(s, (struct binary_span){ gr->first + i, gr->members[0].node, gr->stores ? UNIT_STORE : UNIT_FETCH, false,
                                          start, cycles ? done - start : 0, 0 }));
        s->done[gr->first + i] = done;
    }
    return ST_OK;
}

enum status cost_sim_group(struct cost_sim *s, const struct cost_group *gr)
{
    for (uint32_t m = 0; m < gr->n_members; m++) {
        s->first_of[gr->members[m].node] = gr->first;
        s->count_of[gr->members[m].node] = gr->n;
    }
    if (gr->transfer)
        return place_transfer(s, gr);
    uint64_t *at = mem_array(uint64_t, gr->n);
    RETURN_IF(!at, ST_NO_MEMORY, "no memory to estimate %u commands", gr->n);
    enum status st = place_chain(s, gr, at);
    mem_free(at);
    return st;
}
