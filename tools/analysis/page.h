/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as one HTML file that loads nothing: tables that are sorted, filtered and plotted, and a timeline. page.js draws
 * them from JSON, which page.c makes:
 *
 *     { "title", "about", "links": { "memory_map", "trace" },
 *       "graphs": [ { "name", "index", "ops": [[short name, full name], …], "cards": [[label, value, note], …],
 *                     "parts": [ { "id", "title", "about", "note", "open", "bars", "table", "timeline" }, … ] } ] }
 *
 * A table has columns (struct page_column) and rows, which are arrays of values in the order of the columns. */
#ifndef TOOLS_ANALYSIS_PAGE_H
#define TOOLS_ANALYSIS_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* kind: how values are shown, sorted and filtered; the names are those of `kinds` in page.js. */
struct page_column {
    const char *key; /* of the objects that the rows are made of */
    const char *title, *kind, *hint;
    bool hidden; /* until it is asked for */
};

json_t *page_text(const char *s); /* a JSON string; "?" for bytes that are not UTF-8 */
json_t *page_new(const char *title, const char *about);
/* A graph of the page; `index` in its file. */
json_t *page_graph(json_t *page, const char *name, uint32_t index);
void page_card(json_t *graph, const char *label, const char *value, const char *note);
/* A section; `about` stands beside the title, `note` above what is in it. "" where there is none. */
json_t *page_part(json_t *graph, const char *id, const char *title, const char *about, const char *note);
/* A table of objects; columns end with one without a key. `sort`: key of the column that rows are sorted by, largest first;
 * NULL: as they come. `of`: "operators", "pieces" (of operators, each row with one), or "" */
struct page_table {
    const char *id, *of, *sort;
    const struct page_column *columns;
};
void page_table(json_t *part, const struct page_table *t, const json_t *rows);
int page_write(const json_t *page, FILE *to); /* not 0: it could not be written */

#endif
