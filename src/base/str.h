/* SPDX-License-Identifier: Apache-2.0 */
/* Strings: a growing buffer for text output, and small helpers on C strings. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* After any failed append `failed` stays set and further appends do nothing: check once, at the end. */
struct str {
    char *at; /* always terminated once non-NULL */
    size_t n, cap;
    bool failed;
};

void str_init(struct str *s);
void str_finish(struct str *s);
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vaddf(struct str *s, const char *fmt, va_list ap);
const char *str_text(const struct str *s); /* "" when empty, never NULL */

bool str_eq(const char *a, const char *b); /* NULL equals only NULL */
bool str_starts(const char *s, const char *prefix);
uint64_t str_hash(const char *s);                    /* FNV-1a, 64 bits */
unsigned str_distance(const char *a, const char *b); /* edit distance, for "did you mean" */

/* The entry of names[0..n) nearest to `s`, or NULL when nothing is close enough to suggest. */
const char *str_nearest(const char *s, const char *const *names, size_t n);

#endif
