/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: input lists. Whatever comes in, the answer is a list whose items keep the rules, or a sentence; and a list
 * that is written out again is read to the same items. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net_run/input_list.h"

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void write_names(struct str *to, char sign, const struct input_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        require(names->at[i][0] && !strpbrk(names->at[i], " \t\n"));
        str_addf(to, "%c%s", i ? ' ' : sign, names->at[i]);
    }
    if (names->n)
        str_add(to, "\n");
}

static void write_list(struct str *to, const struct input_list *l)
{
    for (size_t i = 0; i < l->lines.n; i++) {
        const struct input_line *line = &l->lines.at[i];
        require(line->n && line->n <= INPUT_ITEMS_MAX && line->number);
        for (size_t k = 0; k < line->n; k++) {
            const struct input_item *item = &line->items[k];
            require(item->path[0] && !strpbrk(item->path, " \t\n"));
            require(!item->tensor == !line->items[0].tensor && (!item->tensor || item->tensor[0]));
            str_addf(to, "%s%s%s%s", k ? " " : "", item->tensor ? item->tensor : "", item->tensor ? ":=" : "", item->path);
        }
        str_add(to, "\n");
    }
}

static size_t parse(const char *text, size_t size, struct str *names, struct str *lines)
{
    struct arena arena;
    struct input_list l;
    arena_init(&arena);
    status_clear();
    enum status st = input_list_parse(text, size, "list", &arena, &l);
    size_t n = l.lines.n;
    if (st == ST_OK) {
        write_names(names, '#', &l.layers);
        write_names(names, '%', &l.tensors);
        write_list(lines, &l);
    } else {
        require(status_text()[0] != '\0');
    }
    input_list_finish(&l);
    arena_finish(&arena);
    return st == ST_OK ? n + 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str names, lines, names_again, lines_again;
    str_init(&names);
    str_init(&lines);
    str_init(&names_again);
    str_init(&lines_again);
    /* Lines of paths alone read back to themselves; names are special only in front, so they are checked as they come. */
    if (parse((const char *)data, size, &names, &lines)) {
        bool special = strpbrk(str_text(&lines), "#%\r\xef") != NULL;
        require(parse(str_text(&lines), lines.n, &names_again, &lines_again) || special);
        require(special || !strcmp(str_text(&lines), str_text(&lines_again)));
    }
    str_finish(&names);
    str_finish(&lines);
    str_finish(&names_again);
    str_finish(&lines_again);
    return 0;
}
