/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the text form. Any bytes are safe: every count is checked against what the text really contains before memory
 * is taken. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir_parse.h"

void parse_position(const struct parser *p, unsigned *line, unsigned *column)
{
    *line = *column = 1;
    for (const char *c = p->start; c < p->at; c++) {
        *line += *c == '\n';
        *column = *c == '\n' ? 1 : *column + 1;
    }
}

enum status parse_fail(const struct parser *p, const char *fmt, ...)
{
    unsigned line, column;
    parse_position(p, &line, &column);
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return status_fail(ST_BAD_TEXT, "line %u, column %u: %s", line, column, text);
}

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (isspace((unsigned char)*p->at) || *p->at == '#')) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        else
            p->at++;
    }
}

char parse_peek(struct parser *p)
{
    skip_space(p);
    return p->at < p->end ? *p->at : '\0';
}

bool parse_accept(struct parser *p, char c)
{
    if (parse_peek(p) != c || p->at >= p->end)
        return false;
    p->at++;
    return true;
}

enum status parse_expect(struct parser *p, char c)
{
    FAIL_IF(!parse_accept(p, c), "'%c' expected", c);
    return ST_OK;
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

void parse_word(struct parser *p, char out[64])
{
    size_t n = 0;
    skip_space(p);
    while (p->at < p->end && word_char(*p->at) && n < 63)
        out[n++] = *p->at++;
    out[n] = '\0';
}

bool parse_accept_word(struct parser *p, const char *want)
{
    size_t n = strlen(want);
    skip_space(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, want, n) != 0 || (p->at + n < p->end && word_char(p->at[n])))
        return false;
    p->at += n;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static enum status escape(struct parser *p, struct str *s)
{
    FAIL_IF(p->at >= p->end, "unfinished escape");
    char c = *p->at++;
    if (c == 'x') {
        FAIL_IF(p->end - p->at < 2 || hex_digit(p->at[0]) < 0 || hex_digit(p->at[1]) < 0, "two hexadecimal digits expected");
        c = (char)(hex_digit(p->at[0]) * 16 + hex_digit(p->at[1]));
        FAIL_IF(c == '\0', "names cannot contain a zero byte");
        p->at += 2;
    }
    str_addn(s, &c, 1);
    return ST_OK;
}

static enum status quoted_into(struct parser *p, struct str *s)
{
    TRY(parse_expect(p, '"'));
    while (p->at < p->end && *p->at != '"') {
        char c = *p->at++;
        FAIL_IF(c == '\0', "names cannot contain a zero byte");
        if (c == '\\')
            TRY(escape(p, s));
        else
            str_addn(s, &c, 1);
    }
    return parse_expect(p, '"');
}

enum status parse_quoted(struct parser *p, const char **ret)
{
    struct str s;
    str_init(&s);
    enum status st = quoted_into(p, &s);
    if (st == ST_OK) {
        *ret = s.failed ? NULL : arena_strdup(&p->scratch, str_text(&s));
        st = *ret ? ST_OK : status_fail(ST_NO_MEMORY, "no memory for a name");
    }
    str_finish(&s);
    return st;
}

enum status parse_tensor_name(struct parser *p, const char **ret)
{
    TRY(parse_expect(p, '%'));
    if (p->at < p->end && *p->at == '"')
        return parse_quoted(p, ret);
    const char *from = p->at;
    while (p->at < p->end && (isalnum((unsigned char)*p->at) || memchr("_./:-", *p->at, 5)))
        p->at++;
    FAIL_IF(from == p->at, "a tensor name is expected after '%%'");
    char *s = arena_alloc(&p->scratch, (size_t)(p->at - from) + 1);
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for a name");
    memcpy(s, from, (size_t)(p->at - from));
    *ret = s;
    return ST_OK;
}

/* The characters of a number, as strtod and strtoll take them. */
static enum status number_text(struct parser *p, char out[64])
{
    size_t n = 0;
    skip_space(p);
    while (p->at < p->end && n < 63 && (isalnum((unsigned char)*p->at) || memchr("+-.", *p->at, 3)))
        out[n++] = *p->at++;
    out[n] = '\0';
    FAIL_IF(n == 0, "a number is expected");
    return ST_OK;
}

enum status parse_integer(struct parser *p, int64_t lo, int64_t hi, int64_t *ret)
{
    char text[64], *rest;
    TRY(number_text(p, text));
    errno = 0;
    long long v = strtoll(text, &rest, 10);
    FAIL_IF(*rest || errno, "\"%s\" is not an integer", text);
    FAIL_IF(v < lo || v > hi, "%lld is not within %lld and %lld", v, (long long)lo, (long long)hi);
    *ret = v;
    return ST_OK;
}

enum status parse_real(struct parser *p, double *ret)
{
    char text[64], *rest;
    TRY(number_text(p, text));
    *ret = strtod(text, &rest);
    FAIL_IF(*rest, "\"%s\" is not a number", text);
    return ST_OK;
}

static enum status store_element(struct parser *p, enum dtype t, void *data, uint64_t i)
{
    if (dtype_is_float(t)) {
        double v;
        TRY(parse_real(p, &v));
        if (t == DT_F32)
            ((float *)data)[i] = (float)v;
        else
            ((double *)data)[i] = v;
        return ST_OK;
    }
    char text[64], *rest;
    if (t == DT_U64) {
        TRY(number_text(p, text));
        errno = 0;
        ((uint64_t *)data)[i] = strtoull(text, &rest, 10);
        FAIL_IF(*rest || errno || text[0] == '-', "\"%s\" is not an unsigned integer", text);
        return ST_OK;
    }
    int64_t v;
    TRY(parse_integer(p, t == DT_B8 ? 0 : dtype_min(t), t == DT_B8 ? 255 : dtype_max(t), &v));
    memcpy((char *)data + i * dtype_bits(t) / 8, &v, dtype_bits(t) / 8); /* little-endian host */
    return ST_OK;
}

/* x"0011…" into the scratch arena. */
static enum status hex_values(struct parser *p, const void **data, uint64_t *bytes)
{
    p->at++; /* x */
    TRY(parse_expect(p, '"'));
    const char *close = memchr(p->at, '"', (size_t)(p->end - p->at));
    FAIL_IF(!close, "unfinished x\"…\"");
    uint64_t n = (uint64_t)(close - p->at) / 2;
    FAIL_IF((close - p->at) % 2, "an even number of hexadecimal digits is expected");
    uint8_t *out = arena_alloc(&p->scratch, n);
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for %llu bytes of data", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++, p->at += 2) {
        int a = hex_digit(p->at[0]), b = hex_digit(p->at[1]);
        FAIL_IF(a < 0 || b < 0, "hexadecimal digits 0-9 and a-f are expected");
        out[i] = (uint8_t)(a * 16 + b);
    }
    p->at = close + 1;
    *data = out;
    *bytes = n;
    return ST_OK;
}

/* "(1,2,3)": the number of elements is bounded by the commas that are really there. */
enum status parse_numbers(struct parser *p, enum dtype t, const void **data, uint64_t *count)
{
    TRY(parse_expect(p, '('));
    const char *close = memchr(p->at, ')', (size_t)(p->end - p->at));
    FAIL_IF(!close, "unfinished list");
    uint64_t most = 1;
    for (const char *c = p->at; c < close; c++)
        most += *c == ',';
    bool numbers = t != DT_NONE && t != DT_STR && t != DT_F16 && t != DT_BF16 && dtype_bits(t) >= 8;
    FAIL_IF(!numbers, "values of type %s are written as x\"…\"", dtype_name(t));
    void *out = arena_alloc(&p->scratch, dtype_bytes(t, most));
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for %llu values", (unsigned long long)most);
    uint64_t n = 0;
    if (parse_peek(p) != ')')
        do
            TRY(store_element(p, t, out, n++));
        while (n < most && parse_accept(p, ','));
    *data = out;
    *count = n;
    return parse_expect(p, ')');
}

enum status parse_values(struct parser *p, enum dtype t, const void **data, uint64_t *bytes)
{
    if (parse_peek(p) == 'x')
        return hex_values(p, data, bytes);
    uint64_t n;
    TRY(parse_numbers(p, t, data, &n));
    *bytes = dtype_bytes(t, n);
    return ST_OK;
}

enum status parse_dims(struct parser *p, uint8_t *rank, uint32_t *out, uint8_t *dynamic)
{
    *rank = 0;
    if (parse_accept(p, ']'))
        return ST_OK;
    do {
        FAIL_IF(*rank == MAX_RANK, "at most %d dimensions", MAX_RANK);
        if (dynamic && parse_accept(p, '?'))
            *dynamic |= (uint8_t)(1u << *rank);
        int64_t v;
        TRY(parse_integer(p, 0, UINT32_MAX, &v));
        out[(*rank)++] = (uint32_t)v;
    } while (parse_accept(p, ','));
    return parse_expect(p, ']');
}

enum status parse_type(struct parser *p, enum dtype *ret)
{
    char name[64];
    parse_word(p, name);
    *ret = dtype_from_name(name);
    FAIL_IF(*ret == DT_NONE && strcmp(name, "none") != 0, "\"%s\" is not a data type", name);
    return ST_OK;
}
