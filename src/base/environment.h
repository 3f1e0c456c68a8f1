/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables of openqnn: one row each, so that a name or a value that means nothing is told. */
#ifndef BASE_ENVIRONMENT_H
#define BASE_ENVIRONMENT_H

#include <stddef.h>

/* Calls say(arg, sentence) for every variable that begins with OPENQNN_ and is not known, or has a value that its reader
 * does not expect. Returns how many there were. */
unsigned environment_check(void (*say)(void *arg, const char *sentence), void *arg);

/* What a value may be, for tests and documents: row i; NULL behind the last one. */
struct environment_row {
    const char *name;
    const char *words;              /* "a b c": one of these; NULL: see least and most */
    unsigned long long least, most; /* a whole number between them; most 0: any text */
};
const struct environment_row *environment_row(size_t i);

#endif
