/* SPDX-License-Identifier: Apache-2.0 */
/* Growing array. The pointer is read and written by memcpy, since its real type is T *, not void *. */
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_CAP = 8 };

bool vec_reserve_raw(void **at, size_t *cap, size_t want, size_t size)
{
    if (want <= *cap)
        return true;
    size_t grown = *cap < SIZE_MAX / 2 ? 2 * *cap : SIZE_MAX, bytes;
    if (grown < FIRST_CAP)
        grown = FIRST_CAP;
    if (grown < want)
        grown = want;
    if (__builtin_mul_overflow(grown, size, &bytes))
        return false;
    void *p;
    memcpy(&p, at, sizeof(p));
    p = mem_realloc(p, bytes);
    if (!p)
        return false;
    memcpy(at, &p, sizeof(p));
    *cap = grown;
    return true;
}

void *vec_push_raw(void **at, size_t *n, size_t *cap, size_t size)
{
    if (*n == SIZE_MAX || !vec_reserve_raw(at, cap, *n + 1, size))
        return NULL;
    char *p;
    memcpy(&p, at, sizeof(p));
    return memset(p + size * (*n)++, 0, size);
}
