/* SPDX-License-Identifier: Apache-2.0 */
/* Where the estimated time of a graph goes. Of everything that works at a moment, the first of matrix unit, vector units,
 * DMA from and to DRAM is what the time is spent on: the dominant path. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "profile_viewer/trace_model.h"

static json_t *text(const char *s)
{
    json_t *t = json_string(s); /* NULL for bytes that are not UTF-8 */
    return t ? t : json_string("?");
}

static void set_number(json_t *to, const char *key, uint64_t n)
{
    json_object_set_new(to, key, json_integer((json_int_t)n));
}

static double percent(uint64_t part, uint64_t all)
{
    return all ? (double)(part * 10000 / all) / 100 : 0;
}

/* ---- totals ----------------------------------------------------------------------------------------------------------- */

/* Cycles of one lane, of all threads together. */
static uint64_t busy(const struct trace_graph *t, uint32_t unit)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct binary_span *s = &t->spans[i].span;
        sum += s->unit == unit ? s->cycles * (s->all ? t->g->timeline.threads : 1) : 0;
    }
    return sum;
}

static uint32_t count_commands(const struct trace_graph *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->g->n_commands; i++)
        n += t->wanted[t->g->commands[i].node];
    return n;
}

static void sum_moves(const struct trace_graph *t, struct binary_moves *ret)
{
    for (uint32_t k = 0; k < t->g->n_nodes; k++) {
        struct binary_moves m;
        if (!t->wanted[k])
            continue;
        binary_node_moves(t->g, k, &m);
        ret->weights += m.weights;
        ret->inputs += m.inputs;
        ret->outputs += m.outputs;
        ret->fill += m.fill;
        ret->spill += m.spill;
    }
}

static json_t *summary(const struct trace_graph *t)
{
    json_t *o = json_object(), *units = json_array();
    uint64_t cycles = t->cycles;
    uint64_t length = t->end - t->begin;
    struct binary_moves m = { 0 };
    sum_moves(t, &m);
    json_object_set_new(o, "graph", text(t->g->info.name));
    set_number(o, "cycles", cycles);
    json_object_set_new(o, "time_us", json_real(trace_us(t, cycles)));
    set_number(o, "clock_mhz", t->g->timeline.clock_mhz);
    set_number(o, "commands", count_commands(t));
    set_number(o, "vtcm_bytes", t->g->info.vtcm_bytes);
    set_number(o, "vtcm_used_bytes", t->g->info.vtcm_used);
    set_number(o, "dram_read_bytes", binary_moves_in(&m));
    set_number(o, "dram_write_bytes", binary_moves_out(&m));
    set_number(o, "spill_bytes", m.spill);
    set_number(o, "fill_bytes", m.fill);
    for (uint32_t u = 0; u < UNIT_COUNT; u++) {
        json_t *unit = json_object();
        uint32_t lanes = u == UNIT_VECTOR ? t->g->timeline.threads : 1;
        json_object_set_new(unit, "unit", text(trace_units[u]));
        set_number(unit, "lanes", lanes);
        set_number(unit, "busy_cycles", busy(t, u));
        json_object_set_new(unit, "busy_percent", json_real(percent(busy(t, u), length * lanes)));
        json_array_append_new(units, unit);
    }
    json_object_set_new(o, "units", units);
    return o;
}

/* ---- what the time is spent on ---------------------------------------------------------------------------------------- */

struct stretch {
    uint64_t start, end;
    uint32_t node;
    uint8_t unit;
};

/* Spans of one unit, one behind the other: those of vectors may overlap, and the earlier one counts. What is left of each
 * goes where no unit before it works. */
static uint32_t lay(const struct trace_graph *t, uint32_t unit, const struct stretch *over, uint32_t n_over,
                    struct stretch *ret)
{
    uint32_t n = 0, k = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct binary_span *s = &t->spans[i].span;
        uint64_t from = s->start > end ? s->start : end, to = s->start + s->cycles;
        if (s->unit != unit || from >= to)
            continue;
        end = to;
        while (k < n_over && over[k].end <= from)
            k++;
        for (uint32_t j = k; from < to; j++) {
            uint64_t stop = j < n_over && over[j].start < to ? over[j].start : to;
            if (from < stop)
                ret[n++] = (struct stretch){ from, stop, s->node, (uint8_t)unit };
            if (j >= n_over || over[j].start >= to)
                break;
            from = over[j].end > from ? over[j].end : from;
        }
    }
    return n;
}

static int by_start(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* All stretches, in order; those of one node and unit that follow each other are one. */
static struct stretch *dominant(const struct trace_graph *t, uint32_t *ret_n)
{
    size_t most = 0;
    for (uint32_t u = 0; u < UNIT_COUNT; u++)
        most = most * 2 + t->n + 1; /* every one already there may cut one span in two */
    struct stretch *list = mem_array(struct stretch, most);
    uint32_t n = 0;
    for (uint32_t u = 0; list && u < UNIT_COUNT; u++) {
        n += lay(t, u, list, n, list + n);
        qsort(list, n, sizeof *list, by_start);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct stretch *last = kept ? &list[kept - 1] : NULL;
        if (last && last->node == list[i].node && last->unit == list[i].unit && last->end == list[i].start)
            last->end = list[i].end;
        else
            list[kept++] = list[i];
    }
    *ret_n = kept;
    return list;
}

static json_t *path_json(const struct trace_graph *t, const struct stretch *list, uint32_t n)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_t *o = json_object();
        set_number(o, "start_cycle", list[i].start);
        set_number(o, "cycles", list[i].end - list[i].start);
        json_object_set_new(o, "op", text(t->g->nodes[list[i].node].name));
        json_object_set_new(o, "unit", text(trace_units[list[i].unit]));
        json_array_append_new(all, o);
    }
    return all;
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

static json_t *ops_json(const struct trace_graph *t, const struct stretch *list, uint32_t n)
{
    json_t *all = json_array();
    uint64_t *path = mem_array(uint64_t, t->g->n_nodes);
    for (uint32_t i = 0; path && i < n; i++)
        path[list[i].node] += list[i].end - list[i].start;
    for (uint32_t k = 0; path && k < t->g->n_nodes; k++) {
        if (!t->wanted[k])
            continue;
        const struct binary_node *node = &t->g->nodes[k];
        struct binary_moves m;
        json_t *o = json_object();
        binary_node_moves(t->g, k, &m);
        json_object_set_new(o, "op", text(node->name));
        json_object_set_new(o, "type", text(node->op->name));
        set_number(o, "cycles", node->cycles);
        json_object_set_new(o, "percent", json_real(percent(node->cycles, t->cycles)));
        set_number(o, "dominant_cycles", path[k]);
        json_object_set_new(o, "hmx", json_boolean(node->resources & RESOURCE_MATRIX));
        json_object_set_new(o, "hvx", json_boolean(node->resources & RESOURCE_VECTOR));
        set_number(o, "dram_read_bytes", binary_moves_in(&m));
        set_number(o, "dram_write_bytes", binary_moves_out(&m));
        json_array_append_new(all, o);
    }
    mem_free(path);
    return all;
}

static json_t *types_json(const struct trace_graph *t)
{
    json_t *all = json_array();
    for (uint32_t id = 0; id < OP_COUNT; id++) {
        uint64_t cycles = 0, n = 0;
        for (uint32_t k = 0; k < t->g->n_nodes; k++)
            if (t->wanted[k] && t->g->nodes[k].op->id == id) {
                cycles += t->g->nodes[k].cycles;
                n++;
            }
        if (!n)
            continue;
        json_t *o = json_object();
        json_object_set_new(o, "type", text(op_get((enum op_id)id)->name));
        set_number(o, "count", n);
        set_number(o, "cycles", cycles);
        json_object_set_new(o, "percent", json_real(percent(cycles, t->cycles)));
        json_array_append_new(all, o);
    }
    return all;
}

json_t *trace_report(const struct trace_graph *t)
{
    uint32_t n = 0;
    struct stretch *list = dominant(t, &n);
    json_t *o = json_object();
    json_object_set_new(o, "htp_overall_summary", summary(t));
    json_object_set_new(o, "qnn_op_types", types_json(t));
    json_object_set_new(o, "qnn_op", ops_json(t, list, n));
    json_object_set_new(o, "dominant_path", path_json(t, list, n));
    mem_free(list);
    return o;
}

/* ---- HTML ------------------------------------------------------------------------------------------------------------- */

static void put_text(FILE *to, const char *s)
{
    for (; *s; s++) {
        const char *as = *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : *s == '&' ? "&amp;" : *s == '"' ? "&quot;" : NULL;
        if (as)
            fputs(as, to);
        else
            fputc(*s, to);
    }
}

static void put_value(FILE *to, const json_t *v)
{
    if (json_is_string(v))
        put_text(to, json_string_value(v));
    else if (json_is_boolean(v))
        fputs(json_is_true(v) ? "yes" : "", to);
    else if (json_is_integer(v))
        fprintf(to, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        fprintf(to, "%.2f", json_real_value(v));
}

/* Rows are objects with the same keys. */
static void put_table(FILE *to, const char *title, json_t *rows)
{
    const char *key;
    json_t *row, *value;
    size_t i;
    fprintf(to, "<details><summary>%s</summary><table><tr>", title);
    json_object_foreach(json_array_get(rows, 0), key, value)
        fprintf(to, "<th>%s</th>", key);
    fputs("</tr>\n", to);
    json_array_foreach(rows, i, row) {
        fputs("<tr>", to);
        json_object_foreach(row, key, value) {
            fputs("<td>", to);
            put_value(to, value);
            fputs("</td>", to);
        }
        fputs("</tr>\n", to);
    }
    fputs("</table></details>\n", to);
}

int trace_report_html(json_t *reports, FILE *to)
{
    json_t *report, *value;
    const char *key;
    size_t i;
    fputs("<!DOCTYPE html><meta charset=\"utf-8\"><title>HTP analysis summary</title><style>body{font:14px "
          "sans-serif}td,th{padding:2px 8px;text-align:left;border-bottom:1px solid #ddd}"
          "summary{font-size:17px;margin:8px 0;cursor:pointer}</style>\n<h1>HTP analysis summary (estimated)</h1>\n",
          to);
    json_array_foreach(reports, i, report) {
        json_t *all = json_object_get(report, "htp_overall_summary");
        fputs("<h2>", to);
        put_value(to, json_object_get(all, "graph"));
        fputs("</h2>\n<details open><summary>HTP Overall Summary</summary><table>", to);
        json_object_foreach(all, key, value) {
            if (json_is_array(value))
                continue;
            fprintf(to, "<tr><th>%s</th><td>", key);
            put_value(to, value);
            fputs("</td></tr>\n", to);
        }
        fputs("</table></details>\n", to);
        put_table(to, "Units", json_object_get(all, "units"));
        put_table(to, "QNN Op Types", json_object_get(report, "qnn_op_types"));
        put_table(to, "QNN Op", json_object_get(report, "qnn_op"));
        put_table(to, "Dominant Path", json_object_get(report, "dominant_path"));
    }
    return ferror(to);
}
