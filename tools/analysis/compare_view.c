/* SPDX-License-Identifier: Apache-2.0 */
/* Two logs side by side as text, as JSON and as a page. */
#include <math.h>
#include <string.h>

#include "analysis/compare.h"
#include "analysis/page.h"
#include "base/arena.h"
#include "common/short_names.h"

const char *const compare_formats[] = { "text", "json", "html", NULL };

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static bool has(const json_t *rows, const char *key)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (json_is_real(json_object_get(row, key)))
            return true;
    }
    return false;
}

/* ---- text ------------------------------------------------------------------------------------------------------------- */

static void put_number(const json_t *row, const char *key, const char *form, FILE *to)
{
    const json_t *value = json_object_get(row, key);

    if (json_is_real(value))
        fprintf(to, form, json_real_value(value));
    else
        fprintf(to, "%12s", "-");
}

static void put_rows(const json_t *rows, const char *name, const char *unit, FILE *to)
{
    char a[16], b[16], change[24], percent[24];
    json_t *row;
    size_t i;

    snprintf(a, sizeof a, "a_%s", unit);
    snprintf(b, sizeof b, "b_%s", unit);
    snprintf(change, sizeof change, "change_%s", unit);
    snprintf(percent, sizeof percent, "percent_%s", unit);
    if (!has(rows, change))
        return;
    fprintf(to, "\n  %12s%12s%12s%12s  %s (%s)\n", "change", "percent", "A", "B", name, unit);
    json_array_foreach(rows, i, row)
    {
        if (!json_is_real(json_object_get(row, change)))
            continue;
        fputs("  ", to);
        put_number(row, change, "%+12.0f", to);
        put_number(row, percent, "%+12.1f", to);
        put_number(row, a, "%12.0f", to);
        put_number(row, b, "%12.0f", to);
        fprintf(to, "  %s\n", text(row, strcmp(name, "operator") == 0 ? "op" : "event"));
    }
}

static int put_text(const json_t *result, FILE *to)
{
    json_t *graph;
    size_t i;

    fprintf(to, "A: %s\nB: %s\n", text(result, "a"), text(result, "b"));
    json_array_foreach(json_object_get(result, "graphs"), i, graph)
    {
        const json_t *ops = json_object_get(graph, "operators");
        fprintf(to, "\ngraph \"%s\": average of %d and of %d executions\n", text(graph, "graph"),
                (int)json_integer_value(json_object_get(graph, "a_runs")),
                (int)json_integer_value(json_object_get(graph, "b_runs")));
        put_rows(json_object_get(graph, "events"), "event", "us", to);
        put_rows(json_object_get(graph, "events"), "event", "cycles", to);
        put_rows(ops, "operator", "cycles", to);
        put_rows(ops, "operator", "us", to);
    }
    return ferror(to);
}

/* ---- page ------------------------------------------------------------------------------------------------------------- */

#define COLUMNS_OF_UNITS                                                                                                \
    { "a_cycles", "A cycles", "cycles", "estimated", false }, { "b_cycles", "B cycles", "cycles", "estimated", false }, \
        { "change_cycles", "Change", "change", "of cycles, from A to B", false },                                       \
        { "percent_cycles", "Change (%)", "ratio", "of cycles, relative to A", false },                                 \
        { "a_us", "A \u00b5s", "us", "measured on the computer that ran it", false },                                   \
        { "b_us", "B \u00b5s", "us", "measured on the computer that ran it", false },                                   \
        { "change_us", "Change (\u00b5s)", "changeus", "of time, from A to B", false },                                 \
        { "percent_us", "\u00b5s (%)", "ratio", "of time, relative to A", false },                                      \
    {                                                                                                                   \
        0                                                                                                               \
    }

static const struct page_column op_columns[] = {
    { "ref", "Operator", "op", "shortened to what tells it apart; the full name is in the tip and below the table", false },
    { "in", "In", "text", "both logs, or one of them", false },
    COLUMNS_OF_UNITS,
};

static const struct page_column event_columns[] = {
    { "event", "Event", "name", NULL, false },
    { "in", "In", "text", "both logs, or one of them", false },
    COLUMNS_OF_UNITS,
};

/* Rows name their operator by its place in `ops`, which has short names and full ones. */
static void set_short_names(json_t *graph, const json_t *rows)
{
    CLEANUP(arena_finish) struct arena a;
    size_t n = json_array_size(rows);
    json_t *list = json_array();

    arena_init(&a);
    const char **full = arena_array(&a, const char *, n + 1);
    const char **labels = arena_array(&a, const char *, n + 1);
    for (size_t i = 0; full && i < n; i++)
        full[i] = text(json_array_get(rows, i), "op");
    bool made = full && labels && short_names(full, n, &a, labels) == ST_OK;
    for (size_t i = 0; full && i < n; i++) {
        json_t *pair = json_array();
        json_array_append_new(pair, page_text(made ? labels[i] : full[i]));
        json_array_append_new(pair, page_text(full[i]));
        json_array_append_new(list, pair);
        json_object_set_new(json_array_get(rows, i), "ref", json_integer((json_int_t)i));
    }
    json_object_set_new(graph, "ops", list);
}

static int put_page(const json_t *result, FILE *to)
{
    static const struct page_table events = { .id = "events", .of = "", .columns = event_columns };
    static const struct page_table ops = { .id = "ops", .of = "", .columns = op_columns };
    json_t *page = page_new("Two profiles", "what each event and operator took, on average, and how that changed");
    json_t *graph;
    size_t i;

    json_array_foreach(json_object_get(result, "graphs"), i, graph)
    {
        char runs[32];
        json_t *g = page_graph(page, text(graph, "graph"), (uint32_t)i);
        json_t *part;

        for (int s = 0; s < 2; s++) {
            snprintf(runs, sizeof runs, "%d executions",
                     (int)json_integer_value(json_object_get(graph, s ? "b_runs" : "a_runs")));
            page_card(g, s ? "B" : "A", text(result, s ? "b" : "a"), runs);
        }
        set_short_names(g, json_object_get(graph, "operators"));
        part = page_part(g, "ops", "Operators", "by the size of the change", "");
        json_object_set_new(part, "open", json_true());
        page_table(part, &ops, json_object_get(graph, "operators"));
        part = page_part(g, "events", "Events", "of whole executions", "");
        json_object_set_new(part, "open", json_true());
        page_table(part, &events, json_object_get(graph, "events"));
    }
    int failed = page_write(page, to);
    json_decref(page);
    return failed;
}

int compare_write(const json_t *result, enum compare_format format, FILE *to)
{
    if (format == COMPARE_HTML)
        return put_page(result, to);
    if (format == COMPARE_TEXT)
        return put_text(result, to);
    int failed = json_dumpf(result, to, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    fputc('\n', to);
    return failed || ferror(to);
}
