/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the JSON reader with a table that has every kind of field. Whatever comes in, the answer is either values
 * within their limits or a sentence, and a text that was read once is read to the same values again. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct graph {
    uint32_t vtcm;
    const char *name;
    struct json_list tags;
};

struct config {
    uint32_t first, priority;
    bool on;
    int64_t offset;
    double ratio;
    const char *text;
    struct graph deep;
    struct json_list graphs, names;
};

static const char *const priorities[] = { "low", "normal", "high", NULL };
static const struct json_field graph_fields[] = { { "vtcm_mb", JSON_U32, offsetof(struct graph, vtcm), .max = 16 },
                                                  { "name", JSON_STRING, offsetof(struct graph, name), .required = true },
                                                  { "tags", JSON_STRINGS, .offset = offsetof(struct graph, tags) },
                                                  {} };
static const struct json_field fields[] = {
    { "first", JSON_U32, offsetof(struct config, first), .min = 2, .max = 1000 },
    { "priority", JSON_ENUM, offsetof(struct config, priority), .names = priorities },
    { "on", JSON_BOOL, .offset = offsetof(struct config, on) },
    { "offset", JSON_I64, offsetof(struct config, offset), .min = (uint64_t)-128, .max = 127 },
    { "ratio", JSON_F64, offsetof(struct config, ratio), .max = 1 },
    { "text", JSON_STRING, .offset = offsetof(struct config, text) },
    { "deep", JSON_OBJECT, offsetof(struct config, deep), .sub = graph_fields },
    { "graphs", JSON_LIST, offsetof(struct config, graphs), .sub = graph_fields, .item_size = sizeof(struct graph) },
    { "names", JSON_STRINGS, .offset = offsetof(struct config, names) },
    { "debug", JSON_ANY, .offset = 0 },
    {}
};

static void require(bool ok)
{
    if (!ok)
        abort();
}

static size_t strings_length(const struct json_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += strlen(((const char **)l->items)[i]);
    return n;
}

static size_t check_graph(const struct graph *g)
{
    require(g->vtcm <= 16 && g->name);
    return strlen(g->name) + strings_length(&g->tags);
}

/* Touches every byte of the result; the sum tells two results apart. */
static size_t check_config(const struct config *c)
{
    require(c->first >= 2 && c->first <= 1000 && c->priority < 3);
    require(c->offset >= -128 && c->offset <= 127 && c->ratio >= 0 && c->ratio <= 1);
    size_t n = check_graph(&c->deep) + strings_length(&c->names) + strlen(c->text) + c->on;
    for (size_t i = 0; i < c->graphs.n; i++)
        n += check_graph(&((const struct graph *)c->graphs.items)[i]);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t sums[2] = { 0, 0 };
    for (int i = 0; i < 2; i++) {
        struct config c = { .first = 2, .text = "", .deep.name = "" };
        struct arena a;
        arena_init(&a);
        status_clear();
        enum status st = json_read((const char *)data, size, fields, &c, &a);
        if (st == ST_OK)
            sums[i] = 1 + check_config(&c);
        else
            require(status_text()[0] != '\0' && strlen(status_text()) < STATUS_TEXT_MAX);
        arena_finish(&a);
    }
    require(sums[0] == sums[1]);
    return 0;
}
