/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on demand: OPENQNN_FAULT makes sessions fail in ways that a client must be able to take (docs/sessions.md); private
 * to rpc/.
 *
 *   kill@N          the session dies when the N-th message has been sent to it
 *   restart@N       with the N-th message the subsystem restarts: all sessions of the process die
 *   truncate@N      the N-th message arrives cut in half
 *   delay@N:MS      the N-th message is sent MS milliseconds late
 *   yield@N:STEP    the N-th message, a run, waits before its STEP-th step until a run of higher priority is there to give
 *                   way to
 *   refuse_map@N    the N-th mapping is refused
 *   refuse_open@N   the N-th session does not start
 *
 * Several are separated by commas. Messages, mappings and starts are counted from 1, over all sessions of the process. */
#ifndef RPC_RPC_FAULT_H
#define RPC_RPC_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum fault_kind {
    FAULT_KILL,
    FAULT_RESTART,
    FAULT_TRUNCATE,
    FAULT_DELAY,
    FAULT_YIELD,
    FAULT_REFUSE_MAP,
    FAULT_REFUSE_OPEN,
    FAULT_KINDS
};

struct fault_hit {
    bool kill, truncate;
    bool restart;  /* kill is set, too */
    uint32_t hold; /* the step, 0: none */
};

enum status fault_read(void);            /* look at the environment; a new text starts all counts anew */
struct fault_hit fault_message(void);    /* counts a message; has waited for delays */
bool fault_refuse(enum fault_kind kind); /* counts a mapping or a start */

#endif
