/* SPDX-License-Identifier: Apache-2.0 */
/* Advice as JSON, largest saving first, and as text; and what other devices would take for the same plan. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/advise.h"
#include "analysis/page.h"
#include "base/mem.h"
#include "base/str.h"

const char *const advise_goals[] = { "speed", "accuracy", "device" };

static uint64_t saving_of(const struct advisor *a, const struct advice *x)
{
    return x->estimated && x->cycles < a->base ? a->base - x->cycles : 0;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------- */

static json_t *advice_json(const struct advisor *a, const struct advice *x)
{
    const struct binary_node *n = x->node == BINARY_NONE ? NULL : &a->g->nodes[x->node];
    uint64_t saving = saving_of(a, x);
    json_t *o = json_object();

    json_object_set_new(o, "rule", page_text(x->rule->id));
    json_object_set_new(o, "goal", page_text(advise_goals[x->rule->goal]));
    json_object_set_new(o, "op_id", json_integer(n ? (json_int_t)x->node : -1));
    json_object_set_new(o, "op", page_text(n ? n->name : ""));
    json_object_set_new(o, "short_name", page_text(n ? a->model.names[x->node] : ""));
    json_object_set_new(o, "type", page_text(n ? n->op->name : ""));
    json_object_set_new(o, "reason", page_text(x->reason));
    json_object_set_new(o, "change", page_text(x->rule->change));
    json_object_set_new(o, "source", page_text(x->rule->source));
    json_object_set_new(o, "saving_cycles", x->estimated ? json_integer((json_int_t)saving) : json_null());
    json_object_set_new(o, "saving_percent", x->estimated ? json_real(qhas_percent(saving, a->base)) : json_null());
    return o;
}

/* Largest saving first; then those that are not estimated, in the order of the rules. */
static json_t *sorted(const struct advisor *a)
{
    json_t *list = json_array();
    CLEANUP(mem_freep) bool *taken = mem_array(bool, a->list.n + 1);

    for (size_t i = 0; taken && i < a->list.n; i++) {
        size_t best = SIZE_MAX;
        for (size_t k = 0; k < a->list.n; k++)
            if (!taken[k] && (best == SIZE_MAX || saving_of(a, &a->list.at[k]) > saving_of(a, &a->list.at[best])))
                best = k;
        taken[best] = true;
        json_array_append_new(list, advice_json(a, &a->list.at[best]));
    }
    return list;
}

static json_t *devices_json(const struct advisor *a)
{
    json_t *list = json_array();

    for (const struct estimate_soc *s = estimate_socs; s->name; s++) {
        struct estimate_device d = a->device;
        uint64_t cycles;
        json_t *o;

        d.soc_model = s->soc_model;
        d.arch = s->arch;
        if (estimate_graph(&d, a->g, a->nodes, &cycles) != ST_OK)
            continue;
        o = json_object();
        json_object_set_new(o, "soc_model", json_integer(s->soc_model));
        json_object_set_new(o, "name", page_text(s->name));
        json_object_set_new(o, "arch", json_integer(s->arch));
        json_object_set_new(o, "cycles", json_integer((json_int_t)cycles));
        json_object_set_new(o, "time_us", json_real((double)cycles / estimate_clock_mhz(&d)));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *graph_json(const struct advisor *a)
{
    json_t *o = json_object();

    json_object_set_new(o, "graph", page_text(a->g->info.name));
    json_object_set_new(o, "soc_model", json_integer(a->device.soc_model));
    json_object_set_new(o, "arch", json_integer(a->device.arch));
    json_object_set_new(o, "cycles", json_integer((json_int_t)a->base));
    json_object_set_new(o, "time_us", json_real((double)a->base / estimate_clock_mhz(&a->device)));
    json_object_set_new(o, "vtcm_bytes", json_integer((json_int_t)a->g->info.vtcm_bytes));
    json_object_set_new(o, "advice", sorted(a));
    json_object_set_new(o, "devices", devices_json(a));
    return o;
}

enum status advise_graph(const struct qhas_graph *q, const struct binary_target *target, json_t **ret)
{
    CLEANUP(arena_finish) struct arena arena;
    struct advisor a;

    arena_init(&arena);
    RETURN_IF(!q->g->timeline.n_spans, ST_INVALID_ARG,
              "graph \"%s\" has no estimate for an HTP; give a context binary that libQnnHtp.so made", q->g->info.name);
    TRY(advisor_open(q, target, &arena, &a));
    for (const struct advise_rule *r = advise_rules; r->id && a.failed == ST_OK; r++)
        r->find(&a, r);
    if (a.failed == ST_OK)
        *ret = graph_json(&a);
    advisor_close(&a);
    return a.failed;
}

enum status advise_add_to(const struct qhas_graph *q, const struct binary_target *target, json_t *report)
{
    json_t *advice = NULL;

    TRY(advise_graph(q, target, &advice));
    json_object_set(report, "advice", json_object_get(advice, "advice"));
    json_object_set(report, "devices", json_object_get(advice, "devices"));
    json_decref(advice);
    return ST_OK;
}

enum status advise_binary(const struct binary *b, json_t **ret)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const struct qhas_graph q = { .g = &b->graphs[i], .index = i };
        json_t *graph = NULL;
        enum status st = advise_graph(&q, &b->target, &graph);
        if (st != ST_OK) {
            json_decref(list);
            return st;
        }
        json_array_append_new(list, graph);
    }
    *ret = json_pack("{s:o}", "graphs", list);
    return ST_OK;
}

/* ---- text ------------------------------------------------------------------------------------------------------------- */

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void put_advice(const json_t *x, size_t number, struct str *out)
{
    const json_t *saving = json_object_get(x, "saving_cycles");

    str_addf(out, "\n%3zu. %s", number, text(x, "rule"));
    if (text(x, "op")[0])
        str_addf(out, ": %s \"%s\" (OpId %" JSON_INTEGER_FORMAT ")", text(x, "type"), text(x, "short_name"),
                 json_integer_value(json_object_get(x, "op_id")));
    else
        str_add(out, ": the graph");
    if (json_is_integer(saving))
        str_addf(out, "\n     saves %" JSON_INTEGER_FORMAT " cycles (%.1f %%), estimated", json_integer_value(saving),
                 json_number_value(json_object_get(x, "saving_percent")));
    else
        str_addf(out, "\n     for %s; no saving of cycles is estimated", text(x, "goal"));
    str_addf(out, "\n     why:    %s\n     change: %s\n     source: %s\n", text(x, "reason"), text(x, "change"),
             text(x, "source"));
}

static void put_size(const json_t *bytes, struct str *out)
{
    if (bytes)
        str_addf(out, " %6.1f MiB", json_number_value(bytes) / (1 << 20));
    else
        str_addf(out, " %10s", "as here");
}

static void put_target(const json_t *row, struct str *out)
{
    const json_t *vtcm = json_object_get(row, "vtcm_mb"), *level = json_object_get(row, "optimization");

    str_addf(out, "  %s", text(row, "name"));
    if (json_is_integer(vtcm))
        str_addf(out, ", vtcm_mb %d", (int)json_integer_value(vtcm));
    if (json_is_integer(level))
        str_addf(out, ", O%d", (int)json_integer_value(level));
}

static void put_times(const json_t *list, const char *title, struct str *out)
{
    json_t *row;
    size_t i;

    if (!json_array_size(list))
        return;
    str_addf(out, "\n%s\n  %12s %12s %10s %10s  SoC\n", title, "cycles", "us", "VTCM", "spilled");
    json_array_foreach(list, i, row)
    {
        const json_t *vtcm = json_object_get(row, "vtcm_bytes"), *spilled = json_object_get(row, "spill_bytes");
        if (text(row, "refused")[0]) {
            put_target(row, out);
            str_addf(out, ": refused: %s\n", text(row, "refused"));
            continue;
        }
        str_addf(out, "  %12" JSON_INTEGER_FORMAT " %12.1f", json_integer_value(json_object_get(row, "cycles")),
                 json_number_value(json_object_get(row, "time_us")));
        put_size(vtcm, out);
        put_size(spilled, out);
        put_target(row, out);
        str_add(out, "\n");
    }
}

void advise_text(const json_t *advice, struct str *out)
{
    json_t *graph, *x;
    size_t i, k;

    json_array_foreach(json_object_get(advice, "graphs"), i, graph)
    {
        const json_t *list = json_object_get(graph, "advice");
        str_addf(out, "%sgraph \"%s\": %" JSON_INTEGER_FORMAT " cycles, %.1f us, estimated for SoC model %d (v%d)\n",
                 i ? "\n" : "", text(graph, "graph"), json_integer_value(json_object_get(graph, "cycles")),
                 json_number_value(json_object_get(graph, "time_us")),
                 (int)json_integer_value(json_object_get(graph, "soc_model")),
                 (int)json_integer_value(json_object_get(graph, "arch")));
        if (!json_array_size(list))
            str_add(out, "\nNo rule has anything to say.\n");
        json_array_foreach(list, k, x) put_advice(x, k + 1, out);
        put_times(json_object_get(graph, "devices"), "the same plan on other devices, estimated:", out);
        put_times(json_object_get(graph, "what_if"), "compiled for other devices and sizes of VTCM, estimated:", out);
    }
}
