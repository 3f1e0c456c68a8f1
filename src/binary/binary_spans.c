/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of an estimate as bytes. A graph may have hundreds of thousands of commands, and what the next one does is mostly
 * what the one before it did, only later. So a span is a byte that says what it is, and what differs from the last span on
 * its unit:
 *
 *     what       bits 0-1 unit, bit 2 on all threads, bit 3 the same command has another span; bits 4-6: which of the
 *                following are there
 *     member     of the chain, a byte; otherwise 0
 *     later      when it begins, less when the last one began; otherwise as much later as that began after the one before it
 *     cycles     less those of the last span on that unit; otherwise as many
 *
 * Differences have seven bits per byte, lowest first. A command that keeps nothing busy has one span of no cycles, which
 * nobody sees. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "binary/binary_format.h"

enum {
    UNIT_BITS = 3,
    ALL_BIT = 4,
    MORE_BIT = 8,
    MEMBER_BIT = 16,
    LATER_BIT = 32,
    CYCLES_BIT = 64,
    NO_BIT = 128,
    SEVEN = 7,
    LOW = 0x7f,
    HIGH = 0x80,
    MOST_BYTES = 22
}; /* of a span */

static uint32_t first_member(const struct binary_graph *g, uint32_t node)
{
    return g->chain_of && g->chain_of[node] != BINARY_NONE ? g->chains[g->chain_of[node]].first : node;
}

static void remember(struct binary_span_reader *r, const struct binary_span *s)
{
    r->later[s->unit] = s->start - r->start[s->unit];
    r->start[s->unit] = s->start;
    r->cycles[s->unit] = s->cycles;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* Small differences of either sign are small numbers. */
static bool take_number(struct binary_span_reader *r, uint64_t *ret)
{
    uint64_t n = 0;
    for (uint32_t shift = 0; shift < 64; shift += SEVEN) {
        if (r->at >= r->g->span_bytes)
            return false;
        uint8_t byte = r->g->spans[r->at++];
        n |= (uint64_t)(byte & LOW) << shift;
        if (!(byte & HIGH)) {
            *ret = n >> 1 ^ (0 - (n & 1));
            return true;
        }
    }
    return false;
}

/* The core that the command is for. */
static uint32_t core_of(struct binary_span_reader *r)
{
    const struct binary_graph *g = r->g;

    if (g->info.cores < 2)
        return 0;
    if (r->command >= r->behind || r->command < r->first) {
        r->first = r->command;
        for (r->behind = r->first + 1; r->behind < g->n_commands; r->behind++)
            if (g->commands[r->behind].node != g->commands[r->first].node)
                break;
    }
    return (uint32_t)((uint64_t)(r->command - r->first) * g->info.cores / (r->behind - r->first));
}

/* The next span, seen or not; false: the bytes end, or make no sense. */
static bool take(struct binary_span_reader *r, struct binary_span *ret)
{
    if (r->at >= r->g->span_bytes || r->command >= r->g->n_commands)
        return false;
    uint8_t what = r->g->spans[r->at++];
    uint32_t unit = what & UNIT_BITS, node = r->g->commands[r->command].node, member = 0;
    uint64_t later = r->later[unit], cycles = 0;
    if (what & NO_BIT || (what & MEMBER_BIT && r->at >= r->g->span_bytes))
        return false;
    if (what & MEMBER_BIT)
        member = r->g->spans[r->at++];
    if ((what & LATER_BIT && !take_number(r, &later)) || (what & CYCLES_BIT && !take_number(r, &cycles)))
        return false;
    *ret = (struct binary_span){ r->command,
                                 first_member(r->g, node) + member,
                                 (uint8_t)unit,
                                 what & ALL_BIT,
                                 r->start[unit] + later,
                                 r->cycles[unit] + cycles,
                                 core_of(r) };
    if (ret->cycles)
        remember(r, ret);
    r->command += !(what & MORE_BIT);
    return ret->node <= node;
}

void binary_span_first(const struct binary_graph *g, struct binary_span_reader *ret)
{
    *ret = (struct binary_span_reader){ .g = g };
}

bool binary_span_next(struct binary_span_reader *r, struct binary_span *ret)
{
    while (take(r, ret))
        if (ret->cycles)
            return true;
    return false;
}

/* Every command once, nothing behind them, and nothing later than the end of the graph. */
enum status bin_read_spans(struct bin_reader *r)
{
    const struct bin_span *sec = &r->sec[SEC_SPANS];
    struct binary_graph *g = r->g;
    struct bin_timeline rec;
    struct binary_span_reader reader;
    struct binary_span s;
    uint32_t n = 0;
    if (!sec->size)
        return ST_OK;
    RETURN_IF(sec->size < sizeof(rec), ST_BAD_BINARY,
              "context binary, %s: %" PRIu64 " bytes of an estimate; at least %zu are expected", r->graph, sec->size,
              sizeof(rec));
    memcpy(&rec, sec->data, sizeof(rec));
    g->timeline = (struct binary_timeline){ rec.clock_mhz, rec.threads, rec.n_spans };
    g->span_bytes = sec->size - sizeof(rec);
    g->spans = arena_dup(r->arena, sec->data + sizeof(rec), g->span_bytes);
    RETURN_IF(!g->spans, ST_NO_MEMORY, "context binary, %s: no memory for its estimate", r->graph);
    for (binary_span_first(g, &reader); reader.at < g->span_bytes; n += s.cycles != 0)
        RETURN_IF(!take(&reader, &s) || s.start > g->info.cycles || s.cycles > g->info.cycles - s.start, ST_BAD_BINARY,
                  "context binary, %s: the estimate of command %u of %u makes no sense at byte %" PRIu64, r->graph,
                  reader.command, g->n_commands, reader.at);
    RETURN_IF(reader.command != g->n_commands || n != rec.n_spans, ST_BAD_BINARY,
              "context binary, %s: an estimate of %u commands with %u spans; %u with %u are expected", r->graph,
              reader.command, n, g->n_commands, rec.n_spans);
    RETURN_IF(!rec.clock_mhz || !rec.threads, ST_BAD_BINARY,
              "context binary, %s: an estimate for a device of %u MHz and %u threads", r->graph, rec.clock_mhz, rec.threads);
    return ST_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

static uint8_t *put_number(uint8_t *to, uint64_t difference)
{
    uint64_t n = difference << 1 ^ (0 - (difference >> 63));
    for (; n > LOW; n >>= SEVEN)
        *to++ = (uint8_t)(n & LOW) | HIGH;
    *to++ = (uint8_t)n;
    return to;
}

static uint8_t *put_span(struct binary_span_reader *state, uint8_t *to, const struct binary_span *s, bool more)
{
    uint32_t member = s->node - first_member(state->g, state->g->commands[s->command].node);
    uint64_t later = s->start - state->start[s->unit], cycles = s->cycles - state->cycles[s->unit];
    bool other = later != state->later[s->unit];
    *to++ = (uint8_t)(s->unit | (s->all ? ALL_BIT : 0) | (more ? MORE_BIT : 0) | (member ? MEMBER_BIT : 0) |
                      (other ? LATER_BIT : 0) | (cycles ? CYCLES_BIT : 0));
    if (member)
        *to++ = (uint8_t)member;
    to = other ? put_number(to, later) : to;
    to = cycles ? put_number(to, cycles) : to;
    if (s->cycles)
        remember(state, s);
    return to;
}

/* Numbers of the spans in the order of their commands. Spans of one command keep theirs. */
static void sort(const struct binary_graph *g, const struct binary_span *spans, uint32_t n, uint32_t *first, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++)
        first[spans[i].command + 1]++;
    for (uint32_t c = 0; c < g->n_commands; c++)
        first[c + 1] += first[c];
    for (uint32_t i = 0; i < n; i++)
        order[first[spans[i].command]++] = i;
    for (uint32_t c = g->n_commands; c > 0; c--)
        first[c] = first[c - 1];
    first[0] = 0;
}

static uint64_t encode(const struct binary_graph *g, const struct binary_span *spans, const uint32_t *first,
                       const uint32_t *order, uint8_t *to)
{
    struct binary_span_reader state;
    uint8_t *at = to;
    binary_span_first(g, &state);
    for (uint32_t c = 0; c < g->n_commands; c++) {
        for (uint32_t i = first[c]; i < first[c + 1]; i++)
            at = put_span(&state, at, &spans[order[i]], i + 1 < first[c + 1]);
        struct binary_span none = { .command = c, .node = first_member(g, g->commands[c].node), .start = state.start[0] };
        if (first[c] == first[c + 1])
            at = put_span(&state, at, &none, false);
    }
    return (uint64_t)(at - to);
}

enum status binary_spans_encode(const struct binary_graph *g, const struct binary_timeline *t,
                                const struct binary_span *spans, const uint8_t **ret, uint64_t *ret_bytes)
{
    const struct bin_timeline rec = { .clock_mhz = t->clock_mhz, .threads = t->threads, .n_spans = t->n_spans };
    uint32_t *first = mem_array(uint32_t, (size_t)g->n_commands + 2), *order = mem_array(uint32_t, (size_t)t->n_spans + 1);
    uint8_t *bytes = mem_alloc(sizeof(rec) + ((size_t)t->n_spans + g->n_commands) * MOST_BYTES);
    if (first && order && bytes) {
        memcpy(bytes, &rec, sizeof(rec));
        sort(g, spans, t->n_spans, first, order);
        *ret_bytes = sizeof(rec) + encode(g, spans, first, order, bytes + sizeof(rec));
        uint8_t *fit = mem_realloc(bytes, *ret_bytes);
        *ret = bytes = fit ? fit : bytes;
    }
    bool ok = first && order && bytes;
    mem_free(first);
    mem_free(order);
    if (!ok)
        mem_free(bytes);
    RETURN_IF(!ok, ST_NO_MEMORY, "no memory for the estimate of %u commands", g->n_commands);
    return ST_OK;
}

/* ---- cycles ----------------------------------------------------------------------------------------------------------- */

/* Commands of a node follow each other; the end of the last one is all there is. */
static void in_proportion(const struct binary_graph *g, uint64_t *ret)
{
    for (uint32_t i = 0, end; i < g->n_commands; i = end) {
        uint32_t node = g->commands[i].node;
        uint64_t cycles = 0, units = 0, done = 0, given = 0;
        for (end = i; end < g->n_commands && g->commands[end].node == node; end++)
            units += g->commands[end].end - g->commands[end].begin;
        for (uint32_t k = first_member(g, node); k <= node; k++)
            cycles += g->nodes[k].cycles;
        for (uint32_t k = i; k < end; k++) {
            done += g->commands[k].end - g->commands[k].begin;
            uint64_t so_far = (uint64_t)((unsigned __int128)cycles * done / units);
            ret[k] = so_far - given;
            given = so_far;
        }
    }
}

void binary_command_cycles(const struct binary_graph *g, uint64_t *ret)
{
    struct binary_span_reader r;
    struct binary_span s;
    uint64_t end = 0;
    if (!g->timeline.n_spans) {
        in_proportion(g, ret);
        return;
    }
    memset(ret, 0, g->n_commands * sizeof(*ret));
    for (binary_span_first(g, &r); binary_span_next(&r, &s);) {
        uint64_t finish = s.start + s.cycles;
        ret[s.command] += finish > end ? finish - end : 0;
        end = finish > end ? finish : end;
    }
}
