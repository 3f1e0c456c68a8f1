/* SPDX-License-Identifier: Apache-2.0 */
/* How tables of structures are written down: S is the structure that rows are about. */
#ifndef API_SAVER_SAVER_TABLE_H
#define API_SAVER_SAVER_TABLE_H

#include "api/saver/saver_types.h"

#define F(m, k) { FIELD_OF(S, m, k) }
#define OPTION(m, k, v) { FIELD_OF(S, m, k), WHEN(v) }
#define NAME_OF(s) NAME_OF_(s)
#define NAME_OF_(s) #s
#define TYPE(var, f, ...) const struct saver_type var = { .name = NAME_OF(S), .size = sizeof(S), FIELDS(f), __VA_ARGS__ }

/* The option that a structure with a union says it has. */
static inline uint32_t first_word(const void *object)
{
    return *(const uint32_t *)object;
}

#endif
