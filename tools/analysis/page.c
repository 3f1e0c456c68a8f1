/* SPDX-License-Identifier: Apache-2.0 */
/* The page around page.css and page.js, and the JSON that they draw. */
#include "analysis/page.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const char page_css[], page_js[]; /* made of the files by the build */

json_t *page_text(const char *s)
{
    json_t *t = json_string(s); /* NULL for bytes that are not UTF-8 */
    return t ? t : json_string("?");
}

json_t *page_new(const char *title, const char *about)
{
    json_t *page = json_object();

    json_object_set_new(page, "title", page_text(title));
    json_object_set_new(page, "about", page_text(about));
    json_object_set_new(page, "links", json_object());
    json_object_set_new(page, "graphs", json_array());
    return page;
}

json_t *page_graph(json_t *page, const char *name, uint32_t index)
{
    json_t *graph = json_object();

    json_object_set_new(graph, "name", page_text(name));
    json_object_set_new(graph, "index", json_integer(index));
    json_object_set_new(graph, "cards", json_array());
    json_object_set_new(graph, "parts", json_array());
    json_array_append_new(json_object_get(page, "graphs"), graph);
    return graph;
}

void page_card(json_t *graph, const char *label, const char *value, const char *note)
{
    json_t *card = json_array();

    json_array_append_new(card, page_text(label));
    json_array_append_new(card, page_text(value));
    json_array_append_new(card, page_text(note));
    json_array_append_new(json_object_get(graph, "cards"), card);
}

json_t *page_part(json_t *graph, const char *id, const char *title, const char *about, const char *note)
{
    json_t *part = json_object();

    json_object_set_new(part, "id", page_text(id));
    json_object_set_new(part, "title", page_text(title));
    json_object_set_new(part, "about", page_text(about));
    json_object_set_new(part, "note", page_text(note));
    json_array_append_new(json_object_get(graph, "parts"), part);
    return part;
}

static json_t *columns_json(const struct page_column *columns)
{
    json_t *list = json_array();

    for (const struct page_column *c = columns; c->key; c++) {
        json_t *o = json_object();
        json_object_set_new(o, "key", page_text(c->key));
        json_object_set_new(o, "title", page_text(c->title));
        json_object_set_new(o, "kind", page_text(c->kind));
        if (c->hint)
            json_object_set_new(o, "hint", page_text(c->hint));
        if (c->hidden)
            json_object_set_new(o, "hidden", json_true());
        json_array_append_new(list, o);
    }
    return list;
}

void page_table(json_t *part, const struct page_table *t, const json_t *rows)
{
    json_t *table = json_object();
    json_t *list = json_array();
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        json_t *values = json_array();
        for (const struct page_column *c = t->columns; c->key; c++) {
            json_t *value = json_object_get(row, c->key);
            if (value)
                json_array_append(values, value);
            else
                json_array_append_new(values, json_null());
        }
        json_array_append_new(list, values);
    }
    json_object_set_new(table, "id", page_text(t->id));
    json_object_set_new(table, "of", page_text(t->of));
    if (t->sort)
        json_object_set_new(table, "sort", page_text(t->sort));
    json_object_set_new(table, "columns", columns_json(t->columns));
    json_object_set_new(table, "rows", list);
    json_object_set_new(part, "table", table);
}

/* ---- HTML ------------------------------------------------------------------------------------------------------------- */

static void put_escaped(FILE *to, const char *s)
{
    for (; *s; s++) {
        if (*s == '<')
            fputs("&lt;", to);
        else if (*s == '&')
            fputs("&amp;", to);
        else
            fputc(*s, to);
    }
}

/* The name of a file as a relative address. */
static void put_address(FILE *to, const char *s)
{
    for (; *s; s++) {
        if (isalnum((unsigned char)*s) || strchr("-_.~/", *s))
            fputc(*s, to);
        else
            fprintf(to, "%%%02X", (unsigned char)*s);
    }
}

/* A script ends at "</script", whatever language it is in, so no "<" of a name may stand there as it is. */
static int put_data(const char *text, size_t size, void *arg)
{
    FILE *to = arg;

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '<')
            fputs("\\u003c", to);
        else
            fputc(text[i], to);
    }
    return ferror(to);
}

static void put_links(const json_t *links, FILE *to)
{
    const char *key;
    json_t *file;

    json_object_foreach((json_t *)links, key, file)
    {
        fputs("<a class=button href=\"", to);
        put_address(to, json_string_value(file));
        fprintf(to, "\">%s</a>", strcmp(key, "memory_map") == 0 ? "memory map" : key);
    }
}

int page_write(const json_t *page, FILE *to)
{
    const char *title = json_string_value(json_object_get(page, "title"));

    fputs("<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
          "content=\"width=device-width,initial-scale=1\">\n<title>",
          to);
    put_escaped(to, title);
    fprintf(to, "</title>\n<style>\n%s</style></head><body>\n<header><h1>", page_css);
    put_escaped(to, title);
    fputs("</h1><span>", to);
    put_escaped(to, json_string_value(json_object_get(page, "about")));
    fputs("</span><nav>", to);
    put_links(json_object_get(page, "links"), to);
    fputs("<button id=theme>light / dark</button></nav></header>\n<main></main><div id=tip></div>\n"
          "<noscript>The tables of this page need JavaScript; the same numbers are in the JSON report.</noscript>\n"
          "<script type=\"application/json\" id=data>",
          to);
    int failed = json_dump_callback(page, put_data, to, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    fprintf(to, "</script>\n<script>\n%s</script></body></html>\n", page_js);
    return failed || ferror(to);
}
