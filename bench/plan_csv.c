/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files of lifetimes. */
#include "plan_csv.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = 64 };
enum column { COL_OTHER, COL_ID, COL_LOWER, COL_UPPER, COL_END, COL_SIZE, COL_ALIGN, COL_OFFSET, COLS };

static const struct {
    const char *name;
    enum column column;
} names[] = {
    { "id", COL_ID },       { "buffer_id", COL_ID },    { "buffer", COL_ID },   { "lower", COL_LOWER },
    { "start", COL_LOWER }, { "begin", COL_LOWER },     { "upper", COL_UPPER }, { "end", COL_END },
    { "size", COL_SIZE },   { "alignment", COL_ALIGN }, { "align", COL_ALIGN }, { "offset", COL_OFFSET },
};

struct life {
    int64_t lower, upper; /* [lower, upper) */
};

struct reader {
    const char *path;
    unsigned line;
    enum column columns[MAX_COLUMNS];
    unsigned n_columns;
    VEC(struct life) lives;
    VEC(int64_t) moments;
    struct plan_problem *p;
};

static bool wrong(const struct reader *r, const char *what)
{
    fprintf(stderr, "plan: %s:%u: %s\n", r->path, r->line, what);
    return false;
}

static char *trimmed(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]); n--)
        s[n - 1] = 0;
    return s;
}

/* Fields of a line, in place; more than there is room for are dropped. */
static unsigned split(char *line, char **fields)
{
    unsigned n = 0;
    for (char *at = line; at && n < MAX_COLUMNS; n++) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = 0;
        fields[n] = trimmed(at);
        at = comma ? comma + 1 : NULL;
    }
    return n;
}

static bool number(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *ret = v;
    return end != text && !*end && !errno;
}

/* A first line without the words for size and lifetime is data. */
static bool read_header(struct reader *r, char **fields, unsigned n)
{
    bool seen[COLS] = { false };
    for (unsigned i = 0; i < n; i++) {
        r->columns[i] = COL_OTHER;
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            if (!strcasecmp(fields[i], names[k].name))
                r->columns[i] = names[k].column;
        seen[r->columns[i]] = true;
    }
    r->n_columns = n;
    if (seen[COL_SIZE] && seen[COL_LOWER] && (seen[COL_UPPER] || seen[COL_END]))
        return true;
    static const enum column usual[] = { COL_ID, COL_LOWER, COL_UPPER, COL_SIZE };
    memcpy(r->columns, usual, sizeof(usual));
    r->n_columns = 4;
    return false;
}

static bool read_row(struct reader *r, char **fields, unsigned n)
{
    int64_t v[COLS] = { [COL_ALIGN] = 1, [COL_OFFSET] = -1 };
    bool seen[COLS] = { false };
    for (unsigned i = 0; i < n && i < r->n_columns; i++) {
        enum column c = r->columns[i];
        if (c == COL_OTHER || c == COL_ID || ((c == COL_ALIGN || c == COL_OFFSET) && !*fields[i]))
            continue;
        if (!number(fields[i], &v[c]))
            return wrong(r, "a whole number of 64 bits is expected where the text is something else");
        seen[c] = true;
    }
    if (!seen[COL_SIZE] || !seen[COL_LOWER] || (!seen[COL_UPPER] && !seen[COL_END]))
        return wrong(r, "lower, upper and size are expected");
    if (seen[COL_END] && __builtin_add_overflow(v[COL_END], 1, &v[COL_UPPER]))
        return wrong(r, "the end is beyond 2^63 - 2");
    if (v[COL_LOWER] > v[COL_UPPER])
        return wrong(r, "the life ends before it begins");
    if (v[COL_SIZE] < 0 || v[COL_ALIGN] < 0 || v[COL_ALIGN] > UINT32_MAX || (seen[COL_OFFSET] && v[COL_OFFSET] < 0))
        return wrong(r, "size, alignment and offset are not negative, and an alignment is below 2^32");
    struct plan_buf *b = vec_push(&r->p->buf);
    struct life *l = vec_push(&r->lives);
    int64_t *a = vec_push(&r->moments);
    if (!b || !l || !a)
        return wrong(r, "no memory");
    *a = v[COL_LOWER];
    *l = (struct life){ v[COL_LOWER], v[COL_UPPER] };
    *b = (struct plan_buf){ .size = v[COL_LOWER] == v[COL_UPPER] ? 0 : (uint64_t)v[COL_SIZE],
                            .align = (uint32_t)v[COL_ALIGN],
                            .fixed = seen[COL_OFFSET] ? (uint64_t)v[COL_OFFSET] : PLAN_ANY };
    return true;
}

static bool read_lines(struct reader *r, FILE *f)
{
    char *line = NULL, *fields[MAX_COLUMNS];
    size_t room = 0;
    bool ok = true, begun = false;
    while (ok && getline(&line, &room, f) >= 0) {
        r->line++;
        char *text = r->line == 1 && !strncmp(line, "\xef\xbb\xbf", 3) ? line + 3 : line; /* a byte order mark */
        if (!*trimmed(text) || *trimmed(text) == '#')
            continue;
        unsigned n = split(text, fields);
        if (begun || !read_header(r, fields, n)) {
            begun = true;
            ok = read_row(r, fields, n);
        }
        begun = true;
    }
    free(line);
    return ok;
}

static int by_value(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

/* How many of the sorted moments are below x. */
static uint32_t rank_of(const struct reader *r, int64_t x)
{
    size_t lo = 0, hi = r->moments.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->moments.at[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (uint32_t)lo;
}

/* Moments that are steps already stay what they are. */
static bool are_steps(const struct reader *r)
{
    bool small = true;
    for (size_t i = 0; i < r->lives.n; i++)
        small &= r->lives.at[i].lower >= 0 && r->lives.at[i].upper <= UINT32_MAX;
    for (size_t i = 0; small && i < r->lives.n; i++) {
        struct plan_buf *b = &r->p->buf.at[i];
        b->first = (uint32_t)r->lives.at[i].lower;
        b->last = (uint32_t)(r->lives.at[i].upper > r->lives.at[i].lower ? r->lives.at[i].upper - 1 : r->lives.at[i].lower);
    }
    return small;
}

/* Otherwise steps are the moments at which something begins: nothing else changes who lives together. */
static void number_moments(struct reader *r)
{
    size_t n = 0;
    if (are_steps(r))
        return;
    if (r->moments.n)
        qsort(r->moments.at, r->moments.n, sizeof(int64_t), by_value);
    for (size_t i = 0; i < r->moments.n; i++)
        if (!i || r->moments.at[i] != r->moments.at[n - 1])
            r->moments.at[n++] = r->moments.at[i];
    r->moments.n = n;
    for (size_t i = 0; i < r->p->buf.n; i++) {
        struct plan_buf *b = &r->p->buf.at[i];
        b->first = rank_of(r, r->lives.at[i].lower);
        uint32_t end = rank_of(r, r->lives.at[i].upper);
        b->last = end > b->first ? end - 1 : b->first;
    }
}

static uint64_t capacity_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strchr(name, '.');
    if (!dot || !isdigit((unsigned char)dot[1]))
        return 0;
    char *end;
    errno = 0;
    uint64_t value = strtoull(dot + 1, &end, 10);
    return *end == '.' && !errno ? value : 0;
}

bool plan_csv_read(const char *path, struct plan_problem *ret)
{
    struct reader r = { .path = path, .p = ret };
    *ret = (struct plan_problem){ .capacity = capacity_of(path) };
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "plan: %s: %s\n", path, strerror(errno));
        return false;
    }
    bool ok = read_lines(&r, f);
    if (ok && ferror(f)) {
        fprintf(stderr, "plan: %s: %s\n", path, strerror(errno));
        ok = false;
    }
    fclose(f);
    if (ok)
        number_moments(&r);
    vec_finish(&r.lives);
    vec_finish(&r.moments);
    return ok;
}
