/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the graphs of this library may plan with, all together, when OPENQNN_MEMORY_BUDGET says so. A file may ask
 * for more than its user would give, and the memory is only reserved: without a limit the first execution fails, or takes
 * the process down with it. */
#include "api/memory_budget.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/str.h"

#define VARIABLE "OPENQNN_MEMORY_BUDGET"

enum { MIB = 1 << 20 };

static _Atomic uint64_t taken;

/* *ret UINT64_MAX: there is no limit. */
static enum status read_limit(uint64_t *ret)
{
    const char *text = getenv(VARIABLE);
    *ret = UINT64_MAX;
    if (!text || !*text)
        return ST_OK;

    char *end = NULL;
    errno = 0;
    unsigned long long mib = strtoull(text, &end, 10);
    bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;

    RETURN_IF(!is_number || mib > UINT64_MAX / MIB, ST_NO_MEMORY,
              VARIABLE " is \"%s\"; a number of MiB is expected: correct it, or unset it for no limit", text);
    *ret = mib * MIB;
    return ST_OK;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

enum status budget_take(const struct binary_graph_info *g, uint64_t *ret)
{
    uint64_t need = plus(plus(g->scratch_bytes, g->persistent_bytes), plus(g->spill_fill_bytes, g->vtcm_used));
    uint64_t limit = UINT64_MAX;
    uint64_t before = atomic_load(&taken);
    *ret = 0;
    TRY(read_limit(&limit));

    do {
        RETURN_IF(plus(before, need) > limit, ST_NO_MEMORY,
                  "graph \"%s\" needs %llu bytes of memory besides its weights; " VARIABLE
                  " allows %llu MiB, and other graphs have %llu bytes: raise it, or free other contexts",
                  g->name, (unsigned long long)need, (unsigned long long)(limit / MIB), (unsigned long long)before);
    } while (!atomic_compare_exchange_weak(&taken, &before, before + need));
    *ret = need;
    return ST_OK;
}

void budget_give(uint64_t bytes)
{
    atomic_fetch_sub(&taken, bytes);
}
