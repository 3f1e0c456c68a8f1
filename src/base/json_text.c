/* SPDX-License-Identifier: Apache-2.0 */
/* Comments and positions of JSON text. The parser reports a position only for syntax errors; for a key that is refused
 * later this file walks through the text again, which is valid by then, so counting brackets and commas is enough. */
#include "base/json_text.h"

#include <string.h>

#include "base/mem.h"

struct cursor {
    const char *text;
    size_t n, at;
};

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static struct json_place place_of(const char *text, size_t at)
{
    struct json_place p = { 1, 1 };
    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n')
            p = (struct json_place){ p.line + 1, 1 };
        else if (!is_continuation(text[i]))
            p.column++;
    }
    return p;
}

static char peek(const struct cursor *c)
{
    return c->at < c->n ? c->text[c->at] : '\0';
}

/* Past a string that begins here, or to the end of the text. */
static void skip_string(struct cursor *c)
{
    c->at++;
    while (c->at < c->n && c->text[c->at] != '"')
        c->at += c->text[c->at] == '\\' ? 2 : 1;
    c->at = c->at < c->n ? c->at + 1 : c->n;
}

static void skip_space(struct cursor *c)
{
    while (c->at < c->n && strchr(" \t\r\n", c->text[c->at]) && c->text[c->at])
        c->at++;
}

/* Past one value: stops at the comma or bracket that ends it. */
static void skip_value(struct cursor *c)
{
    size_t depth = 0;
    while (c->at < c->n) {
        char ch = c->text[c->at];
        if (ch == '"') {
            skip_string(c);
            continue;
        }
        if (depth == 0 && (ch == ',' || ch == '}' || ch == ']'))
            return;
        if (ch == '{' || ch == '[')
            depth++;
        else if (ch == '}' || ch == ']')
            depth--;
        c->at++;
    }
}

/* From a key to its value. */
static bool enter_value(struct cursor *c)
{
    if (peek(c) != '"')
        return false;
    skip_string(c);
    skip_space(c);
    if (peek(c) != ':')
        return false;
    c->at++;
    skip_space(c);
    return true;
}

/* To the key or item of `step`; `c` begins at the start of the text. */
static bool go_to(struct cursor *c, const struct json_step *step)
{
    if (step->up && !go_to(c, step->up))
        return false;
    if (step->up && step->up->key && !enter_value(c))
        return false;
    skip_space(c);
    if (peek(c) != (step->key ? '{' : '['))
        return false;
    c->at++;
    for (size_t i = 0; i < step->ordinal; i++) {
        skip_value(c);
        if (peek(c) != ',')
            return false;
        c->at++;
    }
    skip_space(c);
    return c->at < c->n;
}

/* The end of the comment that begins at `at`, or 0 when it has none. */
static size_t comment_end(const char *text, size_t size, size_t at)
{
    const char *body = text + at + 2, *end;
    size_t left = size - at - 2;
    if (text[at + 1] == '/') {
        end = memchr(body, '\n', left);
        return end ? (size_t)(end - text) : size;
    }
    end = memmem(body, left, "*/", 2);
    return end ? (size_t)(end - text) + 2 : 0;
}

enum status json_text_strip(const char *text, size_t size, struct json_text *ret)
{
    char *out = mem_alloc(size);
    RETURN_IF(!out, ST_NO_MEMORY, "out of memory for %zu bytes of JSON text", size);
    size_t n = 0, i = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, start = i;
    while (i < size) {
        size_t end = i + 1;
        if (text[i] == '"') {
            struct cursor c = { text, size, i };
            skip_string(&c);
            end = c.at;
        } else if (text[i] == '/' && i + 1 < size && (text[i + 1] == '/' || text[i + 1] == '*')) {
            end = comment_end(text, size, i);
            if (!end) {
                mem_free(out);
                struct json_place p = place_of(text + start, i - start);
                return status_fail(ST_BAD_TEXT, "line %u, column %u: this comment has no end; \"*/\" is missing", p.line,
                                   p.column);
            }
            for (; i < end; i++)
                if (!is_continuation(text[i]))
                    out[n++] = text[i] == '\n' || text[i] == '\r' ? text[i] : ' ';
            continue;
        }
        memcpy(out + n, text + i, end - i);
        n += end - i;
        i = end;
    }
    *ret = (struct json_text){ out, n };
    return ST_OK;
}

bool json_text_find(const struct json_text *t, const struct json_step *step, struct json_place *ret)
{
    struct cursor c = { t->at, t->n, 0 };
    if (!step || !go_to(&c, step))
        return false;
    *ret = place_of(t->at, c.at);
    return true;
}
