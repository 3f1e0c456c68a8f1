/* SPDX-License-Identifier: Apache-2.0 */
/* Text buffer, and small helpers on C strings. */
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"

/* Longer strings are compared by length only: nobody mistypes a name of that size by a letter. */
enum { DISTANCE_MAX = 128, CONTAINED_MIN = 4 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Room for n more bytes and the terminator. */
static bool make_room(struct str *s, size_t n)
{
    if (!s->failed && (n >= SIZE_MAX - s->n || !vec_reserve_raw((void **)&s->at, &s->cap, s->n + n + 1, 1)))
        s->failed = true;
    return !s->failed;
}

void str_init(struct str *s)
{
    *s = (struct str){};
}

void str_finish(struct str *s)
{
    mem_free(s->at);
    str_init(s);
}

void str_addn(struct str *s, const char *text, size_t n)
{
    if (!make_room(s, n))
        return;
    if (n)
        memcpy(s->at + s->n, text, n);
    s->n += n;
    s->at[s->n] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_addn(s, text, strlen(text));
}

void str_vaddf(struct str *s, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        s->failed = true;
    else if (make_room(s, (size_t)n)) {
        vsnprintf(s->at + s->n, (size_t)n + 1, fmt, again);
        s->n += (size_t)n;
    }
    va_end(again);
}

void str_addf(struct str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str_vaddf(s, fmt, ap);
    va_end(ap);
}

const char *str_text(const struct str *s)
{
    return s->at ? s->at : "";
}

bool str_eq(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

uint64_t str_hash(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

/* Letters inserted, removed, replaced or swapped with their neighbour; three rows of the usual table. */
unsigned str_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    if (na > DISTANCE_MAX || nb > DISTANCE_MAX)
        return strcmp(a, b) ? (unsigned)(na > nb ? na : nb) : 0;

    uint8_t rows[3][DISTANCE_MAX + 1];
    uint8_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= nb; j++)
        last[j] = (uint8_t)j;
    for (size_t i = 1; i <= na; i++) {
        now[0] = (uint8_t)i;
        for (size_t j = 1; j <= nb; j++) {
            size_t d = min3(last[j] + 1u, now[j - 1] + 1u, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d = min3(d, d, before[j - 2] + 1u);
            now[j] = (uint8_t)d;
        }
        uint8_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[nb];
}

/* Close enough is a third of the letters, or one name within the other ("priority", "graph_priority"). */
const char *str_nearest(const char *s, const char *const *names, size_t n)
{
    const char *best = NULL;
    unsigned best_distance = 0;
    size_t len = strlen(s);
    for (size_t i = 0; i < n; i++) {
        size_t name_len = strlen(names[i]), shorter = len < name_len ? len : name_len;
        unsigned d = str_distance(s, names[i]);
        bool within = shorter >= CONTAINED_MIN && (strstr(s, names[i]) || strstr(names[i], s));
        bool close = within || d <= (len > name_len ? len : name_len) / 3;
        if (close && (!best || d < best_distance)) {
            best = names[i];
            best_distance = d;
        }
    }
    return best;
}
