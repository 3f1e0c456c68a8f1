/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis summary of one graph as JSON. docs/qhas.md and qhas_schema.json say what is in it. */
#include "analysis/estimate.h"
#include "analysis/page.h"
#include "analysis/qhas.h"
#include "base/mem.h"
#include "base/str.h"

enum { MOST_PIECES = 200000 }; /* of a list that people read */

static void set_number(json_t *to, const char *key, uint64_t n)
{
    json_object_set_new(to, key, json_integer((json_int_t)n));
}

static void set_real(json_t *to, const char *key, double value)
{
    json_object_set_new(to, key, json_real(value));
}

static void set_text(json_t *to, const char *key, const char *text)
{
    json_object_set_new(to, key, page_text(text));
}

/* ---- totals ----------------------------------------------------------------------------------------------------------- */

static void sum_moves(const struct qhas_model *m, struct binary_moves *ret)
{
    *ret = (struct binary_moves){ 0 };
    for (uint32_t k = 0; k < m->q->g->n_nodes; k++) {
        const struct binary_moves *from = &m->nodes[k].moves;
        if (!qhas_wanted(m->q, k))
            continue;
        ret->weights += from->weights;
        ret->inputs += from->inputs;
        ret->outputs += from->outputs;
        ret->fill += from->fill;
        ret->spill += from->spill;
    }
}

/* Cycles of one unit, of all threads together. */
static uint64_t busy(const struct qhas_model *m, uint32_t unit)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < m->n_spans; i++) {
        const struct binary_span *s = &m->spans[i];
        if (s->unit == unit)
            sum += s->all ? s->cycles * m->q->g->timeline.threads : s->cycles;
    }
    return sum;
}

static json_t *units_json(const struct qhas_model *m)
{
    json_t *units = json_array();

    for (uint32_t u = 0; u < QHAS_UNITS; u++) {
        uint32_t lanes = u == UNIT_VECTOR ? m->q->g->timeline.threads : 1;
        uint64_t path = 0, worked = u < UNIT_COUNT ? busy(m, u) : 0;
        json_t *unit = json_object();

        for (uint32_t i = 0; i < m->n_path; i++)
            path += m->path[i].unit == u ? m->path[i].end - m->path[i].start : 0;
        set_text(unit, "unit", qhas_units[u]);
        set_number(unit, "lanes", u < UNIT_COUNT ? lanes : 0);
        set_number(unit, "busy_cycles", worked);
        set_real(unit, "busy_percent", qhas_percent(worked, m->cycles * lanes));
        set_number(unit, "dominant_cycles", path);
        set_real(unit, "dominant_percent", qhas_percent(path, m->cycles));
        json_array_append_new(units, unit);
    }
    return units;
}

static uint64_t count_commands(const struct qhas_model *m)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < m->q->g->n_commands; i++)
        n += qhas_wanted(m->q, m->q->g->commands[i].node);
    return n;
}

static void set_work(const struct qhas_model *m, json_t *to)
{
    uint64_t macs = 0, padded = 0;

    for (uint32_t k = 0; k < m->q->g->n_nodes; k++) {
        macs += qhas_wanted(m->q, k) ? m->q->g->nodes[k].macs : 0;
        padded += qhas_wanted(m->q, k) ? m->nodes[k].padded : 0;
    }
    set_number(to, "macs", macs);
    set_number(to, "padded_macs", padded);
    set_real(to, "useful_percent", qhas_percent(macs, padded));
}

/* What the device can do at most: products on the matrix unit, bytes of DRAM. */
static void set_roof(const struct qhas_model *m, json_t *to)
{
    const struct binary_target *target = m->q->target;
    const struct estimate_device d = { .soc_model = target ? target->soc_model : 0, .arch = target ? target->arch : 0 };

    set_number(to, "soc_model", d.soc_model);
    set_number(to, "arch", d.arch);
    set_number(to, "peak_macs_per_cycle", target ? estimate_peak_macs(&d) : 0);
    set_real(to, "dram_bytes_per_cycle", target ? estimate_dram_rate(&d) : 0);
}

static json_t *summary_json(const struct qhas_model *m)
{
    const struct binary_graph *g = m->q->g;
    json_t *o = json_object();
    struct binary_moves moves;

    sum_moves(m, &moves);
    set_text(o, "graph", g->info.name);
    set_number(o, "graph_index", m->q->index);
    set_number(o, "cycles", m->cycles);
    set_real(o, "time_us", qhas_us(m, m->cycles));
    set_number(o, "clock_mhz", g->timeline.clock_mhz);
    set_number(o, "operators", m->n_wanted);
    set_number(o, "commands", count_commands(m));
    set_number(o, "vtcm_bytes", g->info.vtcm_bytes);
    set_number(o, "vtcm_used_bytes", g->info.vtcm_used);
    set_number(o, "dram_read_bytes", binary_moves_in(&moves));
    set_number(o, "dram_write_bytes", binary_moves_out(&moves));
    set_number(o, "spill_bytes", moves.spill);
    set_number(o, "fill_bytes", moves.fill);
    set_work(m, o);
    set_roof(m, o);
    json_object_set_new(o, "units", units_json(m));
    return o;
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

static json_t *shapes_json(const struct binary_graph *g, const uint32_t *list, uint32_t n)
{
    CLEANUP(str_finish) struct str all;
    char text[DESC_TEXT_MAX];

    str_init(&all);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == BINARY_NONE || !g->tensors[list[i]].desc.rank)
            continue;
        str_addf(&all, "%s%s", all.n ? ", " : "", desc_text(&g->tensors[list[i]].desc, text));
    }
    return page_text(str_text(&all));
}

static void set_units(const struct qhas_model *m, uint32_t k, json_t *o)
{
    const struct qhas_node *n = &m->nodes[k];
    uint64_t macs = m->q->g->nodes[k].macs;
    uint64_t bytes = binary_moves_in(&n->moves) + binary_moves_out(&n->moves);

    set_text(o, "bound", qhas_bound(m, k));
    set_number(o, "hmx_cycles", n->busy[UNIT_MATRIX]);
    set_number(o, "hvx_cycles", n->busy[UNIT_VECTOR]);
    set_number(o, "dma_cycles", n->busy[UNIT_FETCH] + n->busy[UNIT_STORE]);
    set_number(o, "macs", macs);
    set_number(o, "padded_macs", n->padded);
    set_real(o, "useful_percent", qhas_percent(macs, n->padded));
    set_real(o, "macs_per_byte", bytes ? (double)macs / (double)bytes : 0);
    set_real(o, "macs_per_cycle", n->end > n->begin ? (double)macs / (double)(n->end - n->begin) : 0);
}

static void set_bytes(const struct binary_moves *m, json_t *o)
{
    set_number(o, "dram_read_bytes", binary_moves_in(m));
    set_number(o, "dram_write_bytes", binary_moves_out(m));
    set_number(o, "weight_bytes", m->weights);
    set_number(o, "fill_bytes", m->fill);
    set_number(o, "spill_bytes", m->spill);
}

static json_t *op_json(const struct qhas_model *m, uint32_t k)
{
    const struct binary_graph *g = m->q->g;
    const struct binary_node *node = &g->nodes[k];
    const struct qhas_node *n = &m->nodes[k];
    const char *source = m->q->sources ? m->q->sources[k] : NULL;
    json_t *o = json_object();

    set_number(o, "id", k);
    set_text(o, "op", node->name);
    set_text(o, "short_name", m->names[k]);
    set_text(o, "type", node->op->name);
    set_text(o, "source", source ? source : "");
    set_number(o, "cycles", node->cycles);
    set_real(o, "percent", qhas_percent(node->cycles, m->cycles));
    set_number(o, "dominant_cycles", n->path);
    json_object_set_new(o, "hmx", json_boolean(node->resources & RESOURCE_MATRIX));
    json_object_set_new(o, "hvx", json_boolean(node->resources & RESOURCE_VECTOR));
    set_units(m, k, o);
    set_bytes(&n->moves, o);
    set_number(o, "step", n->step);
    set_real(o, "start_us", qhas_us(m, n->begin));
    set_real(o, "duration_us", qhas_us(m, n->end - n->begin));
    json_object_set_new(o, "inputs", shapes_json(g, node->in, node->n_in));
    json_object_set_new(o, "outputs", shapes_json(g, node->out, node->n_out));
    return o;
}

static json_t *ops_json(const struct qhas_model *m)
{
    json_t *all = json_array();

    for (uint32_t k = 0; k < m->q->g->n_nodes; k++)
        if (qhas_wanted(m->q, k))
            json_array_append_new(all, op_json(m, k));
    return all;
}

/* Sums over operators of one type. */
static json_t *type_json(const struct qhas_model *m, enum op_id id)
{
    const struct binary_graph *g = m->q->g;
    struct qhas_node sum = { 0 };
    uint64_t cycles = 0, macs = 0, n = 0, in = 0, out = 0;
    json_t *o;

    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct qhas_node *x = &m->nodes[k];
        if (g->nodes[k].op->id != id || !qhas_wanted(m->q, k))
            continue;
        n++;
        cycles += g->nodes[k].cycles;
        macs += g->nodes[k].macs;
        sum.path += x->path;
        sum.padded += x->padded;
        in += binary_moves_in(&x->moves);
        out += binary_moves_out(&x->moves);
        for (uint32_t u = 0; u < UNIT_COUNT; u++)
            sum.busy[u] += x->busy[u];
    }
    if (!n)
        return NULL;
    o = json_object();
    set_text(o, "type", op_get(id)->name);
    set_number(o, "count", n);
    set_number(o, "cycles", cycles);
    set_real(o, "percent", qhas_percent(cycles, m->cycles));
    set_number(o, "dominant_cycles", sum.path);
    set_number(o, "hmx_cycles", sum.busy[UNIT_MATRIX]);
    set_number(o, "hvx_cycles", sum.busy[UNIT_VECTOR]);
    set_number(o, "dma_cycles", sum.busy[UNIT_FETCH] + sum.busy[UNIT_STORE]);
    set_number(o, "macs", macs);
    set_real(o, "useful_percent", qhas_percent(macs, sum.padded));
    set_number(o, "dram_read_bytes", in);
    set_number(o, "dram_write_bytes", out);
    return o;
}

static json_t *types_json(const struct qhas_model *m)
{
    json_t *all = json_array();

    for (uint32_t id = 0; id < OP_COUNT; id++) {
        json_t *o = type_json(m, (enum op_id)id);
        if (o)
            json_array_append_new(all, o);
    }
    return all;
}

/* ---- single commands -------------------------------------------------------------------------------------------------- */

/* Transfers serve no operator of the network by themselves: the guide calls them System Service. */
static const char *piece_type(const struct qhas_model *m, const struct binary_span *s)
{
    if (s->unit == UNIT_FETCH)
        return "DramToTcm";
    return s->unit == UNIT_STORE ? "TcmToDram" : m->q->g->nodes[s->node].op->name;
}

static uint32_t pieces_shown(const struct qhas_model *m)
{
    return m->n_spans < MOST_PIECES ? m->n_spans : MOST_PIECES;
}

static json_t *pieces_json(const struct qhas_model *m)
{
    json_t *all = json_array();

    for (uint32_t i = 0; i < pieces_shown(m); i++) {
        const struct binary_span *s = &m->spans[i];
        json_t *o = json_object();

        set_number(o, "id", i);
        set_number(o, "op_id", s->node);
        set_text(o, "op", m->q->g->nodes[s->node].name);
        set_text(o, "type", piece_type(m, s));
        set_text(o, "unit", qhas_units[s->unit]);
        json_object_set_new(o, "all_threads", json_boolean(s->all));
        set_number(o, "command", s->command);
        set_number(o, "start_cycle", s->start);
        set_number(o, "cycles", s->cycles);
        json_array_append_new(all, o);
    }
    return all;
}

/* Sums over pieces of one type on one unit. */
static json_t *piece_types_json(const struct qhas_model *m)
{
    struct {
        const char *type;
        uint64_t count, cycles;
    } sums[UNIT_COUNT][OP_COUNT] = { 0 };
    json_t *all = json_array();

    for (uint32_t i = 0; i < m->n_spans; i++) {
        const struct binary_span *s = &m->spans[i];
        bool transfer = s->unit == UNIT_FETCH || s->unit == UNIT_STORE;
        uint32_t at = transfer ? 0 : m->q->g->nodes[s->node].op->id;

        sums[s->unit][at].type = piece_type(m, s);
        sums[s->unit][at].count++;
        sums[s->unit][at].cycles += s->cycles;
    }
    for (uint32_t u = 0; u < UNIT_COUNT; u++)
        for (uint32_t id = 0; id < OP_COUNT; id++) {
            json_t *o;
            if (!sums[u][id].count)
                continue;
            o = json_object();
            set_text(o, "type", sums[u][id].type);
            set_text(o, "unit", qhas_units[u]);
            set_number(o, "count", sums[u][id].count);
            set_number(o, "cycles", sums[u][id].cycles);
            json_array_append_new(all, o);
        }
    return all;
}

static json_t *path_json(const struct qhas_model *m)
{
    json_t *all = json_array();

    for (uint32_t i = 0; i < m->n_path; i++) {
        const struct qhas_stretch *s = &m->path[i];
        bool launch = s->node == BINARY_NONE;
        json_t *o = json_object();

        set_number(o, "start_cycle", s->start);
        set_number(o, "cycles", s->end - s->start);
        set_text(o, "op", launch ? "" : m->q->g->nodes[s->node].name);
        json_object_set_new(o, "op_id", json_integer(launch ? -1 : (json_int_t)s->node));
        set_text(o, "unit", qhas_units[s->unit]);
        json_array_append_new(all, o);
    }
    return all;
}

json_t *qhas_report(const struct qhas_graph *q)
{
    CLEANUP(arena_finish) struct arena a;
    struct qhas_model m;
    json_t *o;

    arena_init(&a);
    if (qhas_model_make(q, &a, &m) != ST_OK)
        return NULL;
    o = json_object();
    json_object_set_new(o, "htp_overall_summary", summary_json(&m));
    json_object_set_new(o, "qnn_op_types", types_json(&m));
    json_object_set_new(o, "qnn_op", ops_json(&m));
    json_object_set_new(o, "htp_op_types", piece_types_json(&m));
    json_object_set_new(o, "htp_op", pieces_json(&m));
    set_number(o, "htp_op_left_out", m.n_spans - pieces_shown(&m));
    json_object_set_new(o, "dominant_path", path_json(&m));
    return o;
}
