/* SPDX-License-Identifier: Apache-2.0 */
/* What a performance profile votes for over time: its own votes while a stage of the program's work is in progress
 * (INIT: contexts and graphs are made; INFERENCE; DE-INIT: they are freed), and lower ones between stages.
 *
 *     NONE --begin--> PROFILE --end of the last stage--> idle state of the profile (RELAXED or RELEASED)
 *                     PROFILE --end, sustained profiles--> PROFILE, a timer runs --timer--> idle state
 *                     any     --begin--> PROFILE, the timer is stopped
 *
 * The machine has no clock and no thread: it is told the time with every event, and a timer counts as fired at the first
 * event behind it. Nothing computes in between, so no inference sees other votes than with a thread. */
#ifndef TOOLS_HTP_EXTENSION_HTP_POWER_H
#define TOOLS_HTP_EXTENSION_HTP_POWER_H

#include "htp_extension/htp_params.h"

/* How long BURST and SUSTAINED_HIGH_PERFORMANCE keep their votes behind a stage. The public documents do not say; this is
 * the default of hmx_timeout_us. */
#define HTP_SUSTAIN_NS UINT64_C(300000000)

struct htp_power {
    const struct htp_profile *profile, *now; /* now: what is voted for, NULL: nothing yet */
    uint32_t stages;                         /* in progress */
    uint64_t lower_at_ns;                    /* the timer, 0: it does not run */
};

/* All return whether `now` has changed, and votes are due. */
bool htp_power_begin(struct htp_power *p, uint64_t time_ns);
bool htp_power_end(struct htp_power *p, uint64_t time_ns);
bool htp_power_tick(struct htp_power *p, uint64_t time_ns);

#endif
