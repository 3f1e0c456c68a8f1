/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of a graph as lanes of a device. A slice has the short name of its operator; its arguments have the whole
 * name, shapes, and for transfers how many bytes move, and why. */
#include "profile_viewer/trace_device.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"

uint32_t trace_lane_of(const struct trace_span *s)
{
    static const uint32_t lanes[UNIT_COUNT] = { LANE_HMX, LANE_HVX, LANE_READ, LANE_WRITE };

    return s->span.core * LANE_CORE + lanes[s->span.unit] + s->lane;
}

/* A name says which core it is where there are several. */
static void put_lane(struct trace_out *out, uint32_t process, const struct trace_graph *t, uint32_t core, uint32_t lane,
                     const char *name)
{
    char text[64];

    if (t->g->info.cores > 1)
        snprintf(text, sizeof text, "Core %u: %s", core, name);
    trace_put_lane(out, process, core * LANE_CORE + lane, t->g->info.cores > 1 ? text : name);
}

static void put_core(struct trace_out *out, const struct trace_graph *t, uint32_t process, uint32_t core)
{
    char name[32];

    put_lane(out, process, t, core, LANE_HMX, trace_units[UNIT_MATRIX]);
    for (uint32_t i = 0; i < t->g->timeline.threads; i++) {
        snprintf(name, sizeof name, "HVX %u", i);
        put_lane(out, process, t, core, LANE_HVX + i, name);
    }
    put_lane(out, process, t, core, LANE_READ, trace_units[UNIT_FETCH]);
    put_lane(out, process, t, core, LANE_WRITE, trace_units[UNIT_STORE]);
}

static void put_lanes(struct trace_out *out, const struct trace_graph *t, uint32_t process)
{
    CLEANUP(str_finish) struct str name;
    uint32_t cores = t->g->info.cores > 1 ? t->g->info.cores : 1;

    str_init(&name);
    str_addf(&name, "%s (device, estimated at %u MHz)", t->g->info.name, t->g->timeline.clock_mhz);
    trace_put_process(out, process, str_text(&name));
    for (uint32_t core = 0; core < cores; core++)
        put_core(out, t, process, core);
}

/* ---- arguments of a slice --------------------------------------------------------------------------------------------- */

static void put_shape(FILE *to, const struct binary_tensor *t)
{
    fputs(dtype_name(t->desc.type), to);
    for (uint32_t i = 0; i < t->desc.rank; i++)
        fprintf(to, "%s%u", i ? "x" : " ", t->desc.dims[i]);
}

static void put_shapes(FILE *to, const struct binary_graph *g, const char *key, const uint32_t *list, uint32_t n)
{
    bool any = false;

    fprintf(to, ",\"%s\":\"", key);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == BINARY_NONE)
            continue;
        fputs(any ? ", " : "", to);
        put_shape(to, &g->tensors[list[i]]);
        any = true;
    }
    fputc('"', to);
}

/* What a command brings, or takes away, by reason; reasons of no bytes are left out. */
static void put_bytes(FILE *to, const struct binary_moves *m, enum binary_unit unit)
{
    const struct {
        const char *reason;
        uint64_t bytes;
        enum binary_unit unit;
    } all[] = { { "weights", m->weights, UNIT_FETCH },    { "inputs", m->inputs, UNIT_FETCH },
                { "fill", m->fill, UNIT_FETCH },          { "exchanged", m->exchanged, UNIT_FETCH },
                { "outputs", m->outputs, UNIT_STORE },    { "spill", m->spill, UNIT_STORE },
                { "exchanged", m->exchanged, UNIT_STORE } };

    fprintf(to, ",\"bytes\":%" PRIu64, unit == UNIT_FETCH ? binary_moves_in(m) : binary_moves_out(m));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].unit == unit && all[i].bytes)
            fprintf(to, ",\"bytes_%s\":%" PRIu64, all[i].reason, all[i].bytes);
}

static void put_args(struct trace_out *out, const struct trace_graph *t, const struct binary_span *s,
                     const struct binary_moves *moves)
{
    const struct binary_node *n = &t->g->nodes[s->node];

    fputs("\"op\":", out->to);
    trace_put_text(out->to, n->name);
    fprintf(out->to, ",\"op_id\":%u,\"type\":\"%s\",\"command\":%u,\"start_cycle\":%" PRIu64 ",\"cycles\":%" PRIu64, s->node,
            n->op->name, s->command, s->start, s->cycles);
    put_shapes(out->to, t->g, "inputs", n->in, n->n_in);
    put_shapes(out->to, t->g, "outputs", n->out, n->n_out);
    if (s->unit == UNIT_FETCH || s->unit == UNIT_STORE)
        put_bytes(out->to, &moves[s->command], s->unit);
}

/* Operators of the framework, "Conv:conv1, Relu:relu1". */
static void put_framework(struct trace_out *out, const char *sources)
{
    CLEANUP(str_finish) struct str text;

    str_init(&text);
    for (const char *s = sources; *s; s++)
        str_addn(&text, *s == '\n' ? ", " : s, *s == '\n' ? 2 : 1);
    fputs(",\"framework\":", out->to);
    trace_put_text(out->to, str_text(&text));
}

/* ---- slices ----------------------------------------------------------------------------------------------------------- */

/* Transfers are operations of the device that the model does not name. */
static const char *category_of(const struct trace_graph *t, const struct binary_span *s)
{
    if (s->unit == UNIT_FETCH)
        return "DramToTcm";
    if (s->unit == UNIT_STORE)
        return "TcmToDram";
    return t->g->nodes[s->node].op->name;
}

enum status trace_put_device(struct trace_out *out, const struct trace_graph *t, bool traceback, uint32_t process)
{
    CLEANUP(mem_freep) struct binary_moves *moves = mem_array(struct binary_moves, (size_t)t->g->n_commands + 1);
    RETURN_IF(!moves, ST_NO_MEMORY, "no memory for the transfers of graph \"%s\"", t->g->info.name);

    binary_command_moves(t->g, moves);
    put_lanes(out, t, process);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_span *s = &t->spans[i];
        uint32_t copies = s->span.unit == UNIT_VECTOR && s->span.all ? t->g->timeline.threads : 1;

        for (uint32_t k = 0; k < copies; k++) {
            struct trace_slice slice = { .process = process,
                                         .lane = trace_lane_of(s) + k,
                                         .begin_ns = trace_ns(t, s->span.start),
                                         .end_ns = trace_ns(t, s->span.start + s->span.cycles),
                                         .name = t->short_names[s->span.node],
                                         .category = category_of(t, &s->span) };
            trace_begin_slice(out, &slice);
            put_args(out, t, &s->span, moves);
            if (traceback && t->sources && t->sources[s->span.node])
                put_framework(out, t->sources[s->span.node]);
            trace_end_slice(out);
        }
    }
    return ST_OK;
}
