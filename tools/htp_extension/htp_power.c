/* SPDX-License-Identifier: Apache-2.0 */
#include "htp_extension/htp_power.h"

#include <stddef.h>

static bool change_to(struct htp_power *p, const struct htp_profile *votes)
{
    bool other = p->now != votes;

    p->now = votes;
    p->lower_at_ns = 0;
    return other;
}

/* A profile without votes of its own has no lower ones either. */
static const struct htp_profile *idle(const struct htp_power *p)
{
    return p->profile->idle ? p->profile->idle : p->profile;
}

bool htp_power_begin(struct htp_power *p, uint64_t time_ns)
{
    htp_power_tick(p, time_ns);
    p->stages++;
    return change_to(p, p->profile);
}

bool htp_power_end(struct htp_power *p, uint64_t time_ns)
{
    if (!p->stages || --p->stages)
        return false;
    if (!p->profile->sustained)
        return change_to(p, idle(p));

    p->lower_at_ns = time_ns + HTP_SUSTAIN_NS;
    return false;
}

bool htp_power_tick(struct htp_power *p, uint64_t time_ns)
{
    if (p->stages || !p->lower_at_ns || time_ns < p->lower_at_ns)
        return false;
    return change_to(p, idle(p));
}
