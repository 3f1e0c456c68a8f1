/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a Chrome trace, each in a file of its own. */
#ifndef TOOLS_PROFILE_VIEWER_TRACE_DEVICE_H
#define TOOLS_PROFILE_VIEWER_TRACE_DEVICE_H

#include "profile_viewer/trace_model.h"
#include "profile_viewer/trace_out.h"

/* Lanes of a core, in the order in which they are shown. */
enum {
    LANE_HMX = 1,
    LANE_HVX = 10,
    LANE_READ = 100,
    LANE_WRITE = 101,
    LANE_CORE = 1000,            /* from core to core */
    TRACE_LANE_RUNS = 200,       /* and the next one */
    TRACE_LANE_HOST_RUNS = 1000, /* of this computer: two for each graph */
};
uint32_t trace_lane_of(const struct trace_span *s); /* on all threads of the vector units: the first one */

/* The estimate of a graph: one process, with lanes of each core for HMX, every HVX thread, and two for DMA.
 * traceback: names of the framework, where they are known. */
enum status trace_put_device(struct trace_out *out, const struct trace_graph *t, bool traceback, uint32_t process);

/* What its units wait for: lanes' idle time before a command whose transfer, or operand, came then (trace_service.c). */
enum status trace_put_services(struct trace_out *out, const struct trace_graph *t, uint32_t process);
/* Rates of DRAM and VTCM, and bytes in use (trace_memory.c). */
enum status trace_put_memory(struct trace_out *out, const struct trace_graph *t, uint32_t process);
/* Arrows, by the settings (trace_flow.c). */
enum status trace_put_flows(struct trace_out *out, const struct trace_graph *t, const struct trace_config *c,
                            uint32_t process);

/* Whole executions (trace_runs.c): of the estimate, and what this computer measured; *ret grows
 * by how many runs there are. */
enum status trace_put_device_runs(struct trace_out *out, const struct trace_graph *t, const struct profile_job *job,
                                  uint32_t process);
enum status trace_put_host_runs(struct trace_out *out, const struct prof_log *log, uint32_t process, uint32_t *ret);
uint64_t trace_first_run(const struct prof_log *log);         /* when it began: zero of the timeline */
uint64_t trace_run_acquired(const struct prof_log_record *r); /* microseconds until it computes */

/* Nodes as this computer measured them (trace_host.c); *ret grows by how many runs have a timeline. */
enum status trace_put_host(struct trace_out *out, const struct prof_log *log, uint32_t process, uint32_t *ret);

/* Of a linting or detailed log: a process per graph, numbered process + *ret, which grows. */
bool trace_has_tables(const struct prof_log *log);
enum status trace_put_tables(struct trace_out *out, const struct prof_log *log, uint32_t process, uint32_t *ret);

/* The functions of both readers (trace_reader.c); the last one also shows tables of logs. */
int trace_settings(struct profile_job *job);
int trace_write(const struct profile_job *job);
int trace_write_tables(const struct profile_job *job);

#endif
