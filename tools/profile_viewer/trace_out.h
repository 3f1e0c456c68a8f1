/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a Chrome trace, written one at a time: there may be a million of them. Times are whole nanoseconds, so that what
 * ends where something else begins does not overlap it. */
#ifndef TOOLS_PROFILE_VIEWER_TRACE_OUT_H
#define TOOLS_PROFILE_VIEWER_TRACE_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct trace_out {
    FILE *to;
    bool any;
};

void trace_out_start(struct trace_out *out, FILE *to);
void trace_out_finish(struct trace_out *out);
void trace_put_text(FILE *to, const char *text); /* quoted */

/* The order of processes, and of lanes within a process, is that of their numbers. */
void trace_put_process(struct trace_out *out, uint32_t process, const char *name);
void trace_put_lane(struct trace_out *out, uint32_t process, uint32_t lane, const char *name);

struct trace_slice {
    uint32_t process, lane;
    uint64_t begin_ns, end_ns;
    const char *name, *category; /* category: NULL: none */
};
/* The slice, up to the members of its "args", which the caller writes; then trace_end_slice. */
void trace_begin_slice(struct trace_out *out, const struct trace_slice *s);
void trace_end_slice(struct trace_out *out);
void trace_put_slice(struct trace_out *out, const struct trace_slice *s); /* one without args */

void trace_put_counter(struct trace_out *out, uint32_t process, const char *name, const char *unit, uint64_t ns,
                       double value);

void trace_put_instant(struct trace_out *out, uint32_t process, uint32_t lane, uint64_t ns, const char *name);

/* An arrow from a slice to a slice: both times lie within them. */
struct trace_arrow {
    uint64_t id;
    const char *name;
    uint32_t process, from_lane, to_lane;
    uint64_t from_ns, to_ns;
};
void trace_put_arrow(struct trace_out *out, const struct trace_arrow *a);

#endif
