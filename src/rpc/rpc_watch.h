/* SPDX-License-Identifier: Apache-2.0 */
/* The watchdog of a session: how long it has given no sign of life while a call waits for it; private to rpc/.
 *
 * A thread that waits looks from time to time. Each look asks for a heartbeat when the last one is some time
 * ago, and counts the time that an asked one is missing. At most WATCH_SLICE_NS are counted per look: a client
 * that was stopped itself, by a debugger or with the whole machine, does not take its own absence for that of
 * the session. */
#ifndef RPC_RPC_WATCH_H
#define RPC_RPC_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "rpc/rpc_message.h"

#define WATCH_SLICE_NS UINT64_C(100000000)

/* When a signal of the client has fired, and the session does not end the run because it is silent. */
#define WATCH_SIGNAL_NS UINT64_C(2000000000)

struct rpc_watch {
    uint64_t looked_ns;
    uint64_t silent_ns; /* since the last sign of life; while one is asked for: since that */
    uint32_t asked;     /* the ping whose answer is missing */
    bool asking;
};

void watch_begin(struct rpc_watch *watch, uint64_t now_ns);
/* Returns for how long a heartbeat has been missing. */
uint64_t watch_look(struct rpc_watch *watch, struct rpc_heartbeat *heart, uint64_t now_ns);

/* OPENQNN_SESSION_TIMEOUT: how long a session may be silent; 0: for ever. */
enum status watch_limit_read(uint64_t *ret_ns);

#endif
