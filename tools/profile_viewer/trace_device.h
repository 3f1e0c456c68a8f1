/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a Chrome trace, each in a file of its own. */
#ifndef TOOLS_PROFILE_VIEWER_TRACE_DEVICE_H
#define TOOLS_PROFILE_VIEWER_TRACE_DEVICE_H

#include "profile_viewer/trace_model.h"
#include "profile_viewer/trace_out.h"

/* Lanes of a core, in the order in which they are shown. */
enum { LANE_HMX = 1, LANE_HVX = 10, LANE_READ = 100, LANE_WRITE = 101, LANE_CORE = 1000 /* from core to core */ };
uint32_t trace_lane_of(const struct trace_span *s); /* on all threads of the vector units: the first one */

/* The estimate of a graph: one process, with a lane for HMX, one per HVX thread, two for DMA. */
enum status trace_put_device(struct trace_out *out, const struct trace_graph *t, uint32_t process);

/* What this computer measured: one process per log. Returns how many runs have a timeline. */
uint32_t trace_put_host(struct trace_out *out, const struct prof_log *log, const char *name, uint32_t process);

/* Of a linting or detailed log: a process per graph, from number `process` on; *ret grows by how many there are. */
bool trace_has_tables(const struct prof_log *log);
enum status trace_put_tables(struct trace_out *out, const struct prof_log *log, uint32_t process, uint32_t *ret);

/* The functions of both readers (trace_reader.c); the last one also shows tables of logs. */
int trace_settings(struct profile_job *job);
int trace_write(const struct profile_job *job);
int trace_write_tables(const struct profile_job *job);

#endif
