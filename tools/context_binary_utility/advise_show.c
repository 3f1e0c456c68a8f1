/* SPDX-License-Identifier: Apache-2.0 */
#include "context_binary_utility/advise_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advise.h"
#include "analysis/page.h"
#include "base/file_write.h"
#include "context_binary_utility/what_if.h"

static enum status write_advice(const json_t *advice, const char *to)
{
    size_t n = to ? strlen(to) : 0;
    bool json = n > 5 && strcmp(to + n - 5, ".json") == 0;
    CLEANUP(str_finish) struct str out;

    str_init(&out);
    if (json) {
        char *text = json_dumps(advice, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
        out.failed = !text;
        str_addf(&out, "%s\n", text ? text : "");
        free(text);
    } else {
        advise_text(advice, &out);
    }
    RETURN_IF(out.failed, ST_NO_MEMORY, "no memory for the text of the advice");
    if (to)
        return file_write_all(to, str_text(&out), out.n);
    fwrite(str_text(&out), 1, out.n, stdout);
    return ST_OK;
}

/* A row belongs to the graph of its name; a target that refuses the model, to all. */
static void add_row(void *arg, const struct what_if_row *row)
{
    json_t *graph;
    size_t i;

    json_array_foreach(json_object_get(arg, "graphs"), i, graph)
    {
        const char *name = json_string_value(json_object_get(graph, "graph"));
        json_t *list = json_object_get(graph, "what_if");
        json_t *o;

        if (!list) {
            list = json_array();
            json_object_set_new(graph, "what_if", list);
        }
        if (row->graph && name && strcmp(row->graph, name) != 0)
            continue;
        o = json_object();
        json_object_set_new(o, "name", page_text(row->soc));
        json_object_set_new(o, "soc_model", json_integer(row->soc_model));
        json_object_set_new(o, "vtcm_mb", row->vtcm_mb ? json_integer(row->vtcm_mb) : json_null());
        json_object_set_new(o, "optimization", row->level ? json_integer(row->level) : json_null());
        json_object_set_new(o, "refused", row->refused ? page_text(row->refused) : json_null());
        if (!row->refused) {
            json_object_set_new(o, "cycles", json_integer((json_int_t)row->cycles));
            json_object_set_new(o, "time_us", json_real(row->time_us));
            json_object_set_new(o, "vtcm_bytes", json_integer((json_int_t)row->vtcm_bytes));
            json_object_set_new(o, "spill_bytes", json_integer((json_int_t)row->spill_bytes));
        }
        json_array_append_new(list, o);
    }
}

enum status advise_show(const struct advise_want *want, const struct tool_file *f)
{
    struct binary b;
    json_t *advice = NULL;
    enum status st = binary_open(f->data, f->size, &b);

    if (st != ST_OK)
        return status_prefix(st, "\"%s\"", want->binary);
    const struct what_if w = {
        .dlc = want->dlc, .backend = want->backend, .system_library = want->system_library, .soc_model = b.target.soc_model
    };
    st = advise_binary(&b, &advice);
    if (st == ST_OK && want->dlc)
        st = what_if_compile(&w, add_row, advice);
    if (st == ST_OK)
        st = write_advice(advice, want->to);
    json_decref(advice);
    binary_close(&b);
    return st == ST_OK ? ST_OK : status_prefix(st, "--advise");
}
