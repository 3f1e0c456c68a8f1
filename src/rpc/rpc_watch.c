/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/rpc_watch.h"

#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_shared.h"

#define NS_PER_MS UINT64_C(1000000)

enum { LIMIT_MS = 10000, LEAST_MS = 100, MOST_MS = 24 * 3600 * 1000, DIGITS_MAX = 9 };

void watch_begin(struct rpc_watch *watch, uint64_t now_ns)
{
    *watch = (struct rpc_watch){ .looked_ns = now_ns };
}

static void ask(struct rpc_watch *watch, struct rpc_heartbeat *heart)
{
    watch->asked = atomic_fetch_add(&heart->ping, 1) + 1;
    watch->asking = true;
    watch->silent_ns = 0;
    shared_wake(&heart->ping);
}

/* Other threads of the client ask, too: a later answer is as good. */
static bool answered(const struct rpc_watch *watch, const struct rpc_heartbeat *heart)
{
    return (int32_t)(atomic_load(&heart->pong) - watch->asked) >= 0;
}

uint64_t watch_look(struct rpc_watch *watch, struct rpc_heartbeat *heart, uint64_t now_ns)
{
    uint64_t passed = now_ns - watch->looked_ns;

    watch->looked_ns = now_ns;
    watch->silent_ns += passed < WATCH_SLICE_NS ? passed : WATCH_SLICE_NS;

    if (watch->asking && answered(watch, heart)) {
        watch->asking = false;
        watch->silent_ns = 0;
    }
    if (!watch->asking && watch->silent_ns >= WATCH_SLICE_NS)
        ask(watch, heart);

    return watch->asking ? watch->silent_ns : 0;
}

enum status watch_limit_read(uint64_t *ret_ns)
{
    const char *text = getenv("OPENQNN_SESSION_TIMEOUT");
    size_t length = text ? strlen(text) : 0;
    unsigned long ms = LIMIT_MS;

    if (text) {
        bool number = length && length <= DIGITS_MAX && strspn(text, "0123456789") == length;

        ms = number ? strtoul(text, NULL, 10) : 1;
        RETURN_IF(ms && (ms < LEAST_MS || ms > MOST_MS), ST_INVALID_ARG,
                  "OPENQNN_SESSION_TIMEOUT=\"%s\": how long a session may be silent, in milliseconds from %d to %d, or 0 to "
                  "wait for ever",
                  text, LEAST_MS, MOST_MS);
    }

    *ret_ns = ms * NS_PER_MS;
    return ST_OK;
}
