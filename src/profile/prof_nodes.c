/* SPDX-License-Identifier: Apache-2.0 */
/* From marks of tiles to the time of nodes. A node takes as long as at least one of its tiles runs: tiles on several threads
 * count once, and what others do between two of its tiles (the members of a chain take turns, a run gives way) does not
 * count. */
#include "profile/profile.h"

void prof_nodes_start(struct prof_node_time *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        t[i].begin_ns = UINT64_MAX, t[i].end_ns = 0;
}

/* Tiles of a node are taken up in their order, so what one adds begins where those before it end. */
void prof_nodes_add(struct prof_node_time *t, uint32_t n, const struct prof_mark *marks, uint32_t n_marks)
{
    for (uint32_t i = 0; i < n_marks; i++) {
        const struct prof_mark *m = &marks[i];
        if (m->node >= n)
            continue;
        struct prof_node_time *to = &t[m->node];
        uint64_t from = m->begin_ns > to->end_ns ? m->begin_ns : to->end_ns;
        if (m->begin_ns < to->begin_ns)
            to->begin_ns = m->begin_ns;
        if (m->end_ns <= from)
            continue;
        to->ns += m->end_ns - from;
        to->end_ns = m->end_ns;
    }
}
