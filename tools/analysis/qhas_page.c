/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis summary as a page: the sections of the guide, each a table of page.js, and the dominant path as a
 * timeline. */
#include <inttypes.h>
#include <string.h>

#include "analysis/page.h"
#include "analysis/qhas.h"

static const struct page_column unit_columns[] = {
    { "unit", "Unit", "unit", NULL, false },
    { "lanes", "Lanes", "id", "how many work side by side", false },
    { "busy_cycles", "Busy cycles", "cycles", "of all lanes together", false },
    { "busy_percent", "Busy", "share", "of the time of all lanes", false },
    { "dominant_cycles", "Cycles spent on it", "cycles", "on the dominant path", false },
    { "dominant_percent", "Time spent on it", "percent", "on the dominant path", false },
    { 0 },
};

static const struct page_column type_columns[] = {
    { "type", "Type", "text", NULL, false },
    { "count", "Operators", "count", NULL, false },
    { "cycles", "Cycles", "cycles", "what the operators add to the time of the graph, estimated", false },
    { "percent", "Time", "percent", "of the graph", false },
    { "dominant_cycles", "On path", "cycles", "cycles of the dominant path", false },
    { "hmx_cycles", "HMX", "cycles", "cycles that the matrix unit works", false },
    { "hvx_cycles", "HVX", "cycles", "cycles that vector units work, of all threads by their number", false },
    { "dma_cycles", "DMA", "cycles", "cycles that transfers take", false },
    { "useful_percent", "Useful", "share", "operations without those on padding, of all", false },
    { "macs", "Operations", "count", NULL, false },
    { "dram_read_bytes", "DRAM in", "bytes", NULL, false },
    { "dram_write_bytes", "DRAM out", "bytes", NULL, false },
    { 0 },
};

static const struct page_column op_columns[] = {
    { "ref", "Operator", "op", "shortened to what tells it apart; the full name is in the tip and below the table", false },
    { "type", "Type", "text", NULL, false },
    { "cycles", "Cycles", "cycles", "what the operator adds to the time of the graph, estimated", false },
    { "percent", "Time", "percent", "of the graph", false },
    { "bound", "Bound by", "unit", "what its work waits for most; hidden: behind other operators", false },
    { "hmx_cycles", "HMX", "cycles", "cycles that the matrix unit works", false },
    { "hvx_cycles", "HVX", "cycles", "cycles that vector units work, of all threads by their number", false },
    { "dma_cycles", "DMA", "cycles", "cycles that transfers take", false },
    { "useful_percent", "Useful", "share", "operations without those on padding, of all", false },
    { "macs", "Operations", "count", NULL, true },
    { "padded_macs", "Operations with padding", "count", NULL, true },
    { "macs_per_byte", "Operations per byte", "number", "of DRAM: few mean that memory decides", true },
    { "macs_per_cycle", "Operations per cycle", "number", "from its first to its last command", true },
    { "dram_read_bytes", "DRAM in", "bytes", "weights, inputs and what comes back from the spill-fill buffer", false },
    { "dram_write_bytes", "DRAM out", "bytes", "outputs and what goes to the spill-fill buffer", false },
    { "weight_bytes", "Weights", "bytes", NULL, true },
    { "fill_bytes", "Fill", "bytes", NULL, true },
    { "spill_bytes", "Spill", "bytes", NULL, true },
    { "dominant_cycles", "On path", "cycles", "cycles of the dominant path", true },
    { "start_us", "Start (\u00b5s)", "start", "when its first command begins, as in the trace", false },
    { "duration_us", "Length (\u00b5s)", "start", "from its first to its last command", true },
    { "step", "Step", "id", "as in the memory map", true },
    { "id", "OpId", "id", NULL, true },
    { "inputs", "Inputs", "text", NULL, true },
    { "outputs", "Outputs", "text", NULL, true },
    { "source", "Framework", "text", "operators of the framework that it was made of", true },
    { 0 },
};

static const struct page_column piece_type_columns[] = {
    { "type", "Type", "text", "DramToTcm and TcmToDram are System Service operators", false },
    { "unit", "Unit", "unit", NULL, false },
    { "count", "HTP ops", "count", NULL, false },
    { "cycles", "Cycles", "cycles", "that they work", false },
    { 0 },
};

static const struct page_column piece_columns[] = {
    { "id", "Nr", "id", "in the order in which they begin", false },
    { "type", "Type", "text", "DramToTcm and TcmToDram are System Service operators", false },
    { "ref", "QNN operator", "op", NULL, false },
    { "unit", "Unit", "unit", NULL, false },
    { "command", "Command", "id", "as in the trace", false },
    { "start_cycle", "Start (cycle)", "id", NULL, false },
    { "cycles", "Cycles", "cycles", "that it works", false },
    { 0 },
};

static const struct page_column path_columns[] = {
    { "start_cycle", "Start (cycle)", "id", NULL, false },
    { "cycles", "Cycles", "cycles", NULL, false },
    { "unit", "Unit", "unit", NULL, false },
    { "ref", "QNN operator", "op", NULL, false },
    { 0 },
};

static const struct page_column advice_columns[] = {
    { "rule", "Rule", "text", NULL, false },
    { "ref", "QNN operator", "op", "none: the whole graph", false },
    { "saving_cycles", "Saves", "saving", "cycles of the graph, estimated; empty: no saving of time is promised", false },
    { "saving_percent", "Saves (%)", "share", "of the graph", false },
    { "reason", "Why", "wrap", NULL, false },
    { "change", "What to change", "wrap", NULL, false },
    { "goal", "Good for", "text", NULL, false },
    { "source", "Source", "text", NULL, true },
    { 0 },
};

static const struct page_column device_columns[] = {
    { "name", "SoC", "text", NULL, false },
    { "soc_model", "Model", "id", NULL, false },
    { "arch", "Architecture", "id", NULL, false },
    { "cycles", "Cycles", "cycles", "estimated", false },
    { "time_us", "Time (\u00b5s)", "us", "estimated", false },
    { 0 },
};

/* ---- helpers ---------------------------------------------------------------------------------------------------------- */

static uint64_t number(const json_t *o, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(o, key));
}

static double real(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static const char *human(uint64_t bytes, char *buf, size_t size)
{
    if (bytes < 1024)
        snprintf(buf, size, "%" PRIu64 " B", bytes);
    else if (bytes < 1 << 20)
        snprintf(buf, size, "%.1f KiB", (double)bytes / 1024);
    else
        snprintf(buf, size, "%.2f MiB", (double)bytes / (1 << 20));
    return buf;
}

/* "1234567" as "1,234,567". */
static const char *grouped(uint64_t n, char *buf, size_t size)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    size_t to = 0;

    for (int i = 0; i < length && to + 2 < size; i++) {
        if (i && (length - i) % 3 == 0)
            buf[to++] = ',';
        buf[to++] = digits[i];
    }
    buf[to] = 0;
    return buf;
}

/* ---- the operators of a graph by number ------------------------------------------------------------------------------- */

/* Rows get the place of their operator in `ops`, by `key`, which has its number in the graph. */
static void add_references(json_t *rows, const char *key, const json_t *place)
{
    char id[24];
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        snprintf(id, sizeof id, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, key)));
        json_t *at = json_object_get(place, id);
        if (at)
            json_object_set(row, "ref", at);
        else
            json_object_set_new(row, "ref", json_integer(-1));
    }
}

static json_t *list_ops(const json_t *ops, json_t *place)
{
    json_t *list = json_array();
    char id[24];
    json_t *op;
    size_t i;

    json_array_foreach(ops, i, op)
    {
        json_t *pair = json_array();
        json_array_append(pair, json_object_get(op, "short_name"));
        json_array_append(pair, json_object_get(op, "op"));
        json_array_append_new(list, pair);
        snprintf(id, sizeof id, "%" PRIu64, number(op, "id"));
        json_object_set_new(place, id, json_integer((json_int_t)i));
    }
    return list;
}

/* ---- sections --------------------------------------------------------------------------------------------------------- */

static void add_cards(json_t *graph, const json_t *all)
{
    char value[32], note[64], other[32];

    page_card(graph, "cycles (estimated)", grouped(number(all, "cycles"), value, sizeof value), "");
    snprintf(value, sizeof value, "%.1f \u00b5s", real(all, "time_us"));
    snprintf(note, sizeof note, "at %" PRIu64 " MHz", number(all, "clock_mhz"));
    page_card(graph, "time (estimated)", value, note);
    snprintf(value, sizeof value, "%" PRIu64, number(all, "operators"));
    snprintf(note, sizeof note, "%" PRIu64 " commands", number(all, "commands"));
    page_card(graph, "operators", value, note);
    snprintf(note, sizeof note, "of %s", human(number(all, "vtcm_bytes"), other, sizeof other));
    page_card(graph, "VTCM", human(number(all, "vtcm_used_bytes"), value, sizeof value), note);
    snprintf(note, sizeof note, "%s out", human(number(all, "dram_write_bytes"), other, sizeof other));
    page_card(graph, "DRAM in", human(number(all, "dram_read_bytes"), value, sizeof value), note);
    snprintf(note, sizeof note, "%s filled", human(number(all, "fill_bytes"), other, sizeof other));
    page_card(graph, "spilled", human(number(all, "spill_bytes"), value, sizeof value), note);
    snprintf(value, sizeof value, "%.1f %%", real(all, "useful_percent"));
    page_card(graph, "useful operations", value, "the rest is padding");
}

static json_t *bar_part(const char *label, double value, const char *what)
{
    json_t *part = json_array();

    json_array_append_new(part, page_text(label));
    json_array_append_new(part, json_real(value));
    json_array_append_new(part, page_text(what));
    return part;
}

static void add_bars(json_t *part, const json_t *units)
{
    json_t *bars = json_array(), *bar = json_object(), *parts = json_array();
    char what[32];
    json_t *unit;
    size_t i;

    json_array_foreach(units, i, unit)
    {
        double share = real(unit, "dominant_percent");
        snprintf(what, sizeof what, "%.1f %%", share);
        if (number(unit, "dominant_cycles"))
            json_array_append_new(parts, bar_part(text(unit, "unit"), share, what));
    }
    json_object_set_new(bar, "title", page_text("what the time is spent on"));
    json_object_set_new(bar, "parts", parts);
    json_array_append_new(bars, bar);
    json_object_set_new(part, "bars", bars);
}

/* Rows as [start, cycles, unit, operator], which page.js draws. */
static json_t *spans_json(const json_t *rows)
{
    json_t *list = json_array();
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        json_t *span = json_array();
        json_int_t unit = 0;
        while (unit + 1 < QHAS_UNITS && strcmp(text(row, "unit"), qhas_units[unit]) != 0)
            unit++;
        json_array_append(span, json_object_get(row, "start_cycle"));
        json_array_append(span, json_object_get(row, "cycles"));
        json_array_append_new(span, json_integer(unit));
        json_array_append(span, json_object_get(row, "ref"));
        json_array_append_new(list, span);
    }
    return list;
}

static void add_timeline(json_t *part, const json_t *report)
{
    json_t *o = json_object(), *units = json_array();
    const json_t *all = json_object_get(report, "htp_overall_summary");
    uint64_t end = 0;
    json_t *row;
    size_t i;

    for (uint32_t u = 0; u < QHAS_UNITS; u++)
        json_array_append_new(units, page_text(qhas_units[u]));
    json_array_foreach(json_object_get(report, "dominant_path"), i, row)
    {
        uint64_t stop = number(row, "start_cycle") + number(row, "cycles");
        end = stop > end ? stop : end;
    }
    json_object_set_new(o, "units", units);
    json_object_set_new(o, "total", json_integer(end ? (json_int_t)end : 1));
    json_object_set(o, "clock", json_object_get(all, "clock_mhz"));
    json_object_set_new(o, "path", spans_json(json_object_get(report, "dominant_path")));
    json_object_set_new(o, "spans", spans_json(json_object_get(report, "htp_op")));
    json_object_set_new(part, "timeline", o);
}

/* Where every operator stands between what the matrix unit and what memory allow. */
static void add_roofline(json_t *part, const json_t *all)
{
    json_t *o = json_object();

    json_object_set(o, "peak", json_object_get(all, "peak_macs_per_cycle"));
    json_object_set(o, "rate", json_object_get(all, "dram_bytes_per_cycle"));
    json_object_set_new(part, "roofline", o);
}

static void add_table(json_t *part, const char *id, const char *of, const char *sort, const struct page_column *columns,
                      const json_t *rows)
{
    const struct page_table t = { .id = id, .of = of, .sort = sort, .columns = columns };

    page_table(part, &t, rows);
}

static void add_parts(json_t *graph, const json_t *report)
{
    const json_t *all = json_object_get(report, "htp_overall_summary");
    uint64_t left_out = number(report, "htp_op_left_out");
    char note[96] = "";
    json_t *part;

    part = page_part(graph, "overall", "HTP Overall Summary", "", "");
    json_object_set_new(part, "open", json_true());
    add_bars(part, json_object_get(all, "units"));
    add_table(part, "units", "", NULL, unit_columns, json_object_get(all, "units"));

    part = page_part(graph, "advice", "Advice", "what to change, largest saving first",
                     "Savings are estimated one by one; they do not add up.");
    json_object_set_new(part, "open", json_true());
    add_table(part, "advice", "pieces", NULL, advice_columns, json_object_get(report, "advice"));

    part = page_part(graph, "types", "QNN Op Types", "operators by type", "");
    add_table(part, "types", "", "cycles", type_columns, json_object_get(report, "qnn_op_types"));

    part = page_part(graph, "ops", "QNN Op", "operators of the graph", "");
    json_object_set_new(part, "open", json_true());
    add_table(part, "ops", "operators", "cycles", op_columns, json_object_get(report, "qnn_op"));

    part = page_part(
        graph, "roofline", "Roofline", "operations per cycle over operations per byte of DRAM",
        "An operator below the slope waits for memory; below the flat part for its unit, its padding or its launch. "
        "The roof is that of 8-bit products on HMX; 16-bit ones have a half or a quarter of it, vectors far less.");
    add_roofline(part, all);

    part = page_part(graph, "htp_types", "HTP Op Types", "what runs on the units, by type", "");
    add_table(part, "htp_types", "", "cycles", piece_type_columns, json_object_get(report, "htp_op_types"));

    if (left_out)
        snprintf(note, sizeof note, "The first ones; %" PRIu64 " more are left out.", left_out);
    part = page_part(graph, "htp_ops", "HTP Op", "what runs on the units, piece by piece", note);
    add_table(part, "htp_ops", "pieces", NULL, piece_columns, json_object_get(report, "htp_op"));

    part = page_part(graph, "devices", "Other Devices", "the same plan on other SoCs", "");
    add_table(part, "devices", "", NULL, device_columns, json_object_get(report, "devices"));

    part = page_part(graph, "path", "Dominant Path",
                     "what the time is spent on: HMX before HVX, DMA reads, DMA writes, SyncOp", "");
    json_object_set_new(part, "open", json_true());
    add_timeline(part, report);
    add_table(part, "path", "pieces", NULL, path_columns, json_object_get(report, "dominant_path"));
}

static void add_graph(json_t *page, json_t *report)
{
    const json_t *all = json_object_get(report, "htp_overall_summary");
    json_t *place = json_object();
    json_t *graph = page_graph(page, text(all, "graph"), (uint32_t)number(all, "graph_index"));

    json_object_set_new(graph, "ops", list_ops(json_object_get(report, "qnn_op"), place));
    add_references(json_object_get(report, "qnn_op"), "id", place);
    add_references(json_object_get(report, "htp_op"), "op_id", place);
    add_references(json_object_get(report, "dominant_path"), "op_id", place);
    add_references(json_object_get(report, "advice"), "op_id", place);
    add_cards(graph, all);
    add_parts(graph, report);
    json_decref(place);
}

int qhas_html(const json_t *reports, const struct qhas_links *links, FILE *to)
{
    json_t *page = page_new("HTP analysis summary", "where the estimated time of a graph goes");
    json_t *to_links = json_object_get(page, "links");
    json_t *copy = json_deep_copy(reports); /* rows get references for the page */
    json_t *report;
    size_t i;

    if (links->memory_map)
        json_object_set_new(to_links, "memory_map", page_text(links->memory_map));
    if (links->trace)
        json_object_set_new(to_links, "trace", page_text(links->trace));
    json_array_foreach(copy, i, report) add_graph(page, report);
    int failed = page_write(page, to);
    json_decref(copy);
    json_decref(page);
    return failed;
}
