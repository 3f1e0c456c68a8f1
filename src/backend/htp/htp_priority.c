/* SPDX-License-Identifier: Apache-2.0 */
/* What a priority of the API is for the threads of an HTP: a smaller number is served first, HVX
 * threads stand one behind the HMX threads of their graph. The device knows four priorities; the
 * others of the API have the numbers of the next lower one, or of LOW and HIGH, and are told apart
 * by the queue alone. */
#include "backend/htp/htp_backend.h"

static const struct htp_priority priorities[] = {
    { 0, "LOW", 0xC5, 0xC6 },           { 50, "NORMAL_LOW", 0xC5, 0xC6 },     { 100, "NORMAL", 0xC0, 0xC1 },
    { 150, "NORMAL_HIGH", 0xBD, 0xBE }, { 200, "HIGH", 0xBB, 0xBC },          { 300, "HIGH_PLUS", 0xBB, 0xBC },
    { 400, "CRITICAL", 0xBB, 0xBC },    { 500, "CRITICAL_PLUS", 0xBB, 0xBC },
};

const struct htp_priority *htp_priority_of(uint32_t priority)
{
    uint32_t i = 0;
    while (i + 1 < sizeof priorities / sizeof priorities[0] && priorities[i + 1].priority <= priority)
        i++;
    return &priorities[i];
}

void htp_priority_log(struct backend_graph *g, uint32_t priority)
{
    const struct htp_priority *p = htp_priority_of(priority);
    if (g->priority_told == p)
        return;
    g->priority_told = p;
    backend_log(BACKEND_INFO, "graph \"%s\" runs with priority %s (%u): HMX threads at 0x%X, HVX threads at 0x%X",
                g->g->info.name, p->name, p->priority, p->hmx, p->hvx);
}

void htp_priority_events(const struct backend_run *r)
{
    const struct htp_priority *p = htp_priority_of(r->priority);
    prof_add(r->prof, r->prof_parent, 30014, PROF_UNIT_COUNT, p->hmx, "Priority of HMX threads");
    prof_add(r->prof, r->prof_parent, 30015, PROF_UNIT_COUNT, p->hvx, "Priority of HVX threads");
}
