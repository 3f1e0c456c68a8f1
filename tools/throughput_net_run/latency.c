/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies; see throughput.h. Below 16 ns a counter is a nanosecond, above it is a sixteenth of an octave. */
#include "throughput_net_run/throughput.h"

enum { STEPS = 16, STEP_BITS = 4 };

static uint32_t counter_of(uint64_t ns)
{
    if (ns < STEPS)
        return (uint32_t)ns;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(ns);
    return (octave - STEP_BITS + 1) * STEPS + ((uint32_t)(ns >> (octave - STEP_BITS)) & (STEPS - 1));
}

/* The middle of a counter. */
static uint64_t time_of(uint32_t counter)
{
    if (counter < STEPS)
        return counter;
    uint32_t shift = counter / STEPS - 1;
    return ((uint64_t)(STEPS + counter % STEPS) << shift) + (((uint64_t)1 << shift) >> 1);
}

void latency_add(struct latency *l, uint64_t ns)
{
    l->min_ns = !l->n || ns < l->min_ns ? ns : l->min_ns;
    l->max_ns = ns > l->max_ns ? ns : l->max_ns;
    l->sum_ns += ns;
    l->n++;
    l->counters[counter_of(ns)]++;
}

double latency_us(const struct latency *l, double part)
{
    uint64_t below = 0, want = (uint64_t)(part * (double)l->n);
    uint64_t ns = l->max_ns;
    for (uint32_t i = 0; i < LATENCY_COUNTERS; i++) {
        below += l->counters[i];
        if (below > want) {
            ns = time_of(i);
            break;
        }
    }
    ns = ns < l->min_ns ? l->min_ns : ns > l->max_ns ? l->max_ns : ns;
    return (double)ns / 1e3;
}
