/* SPDX-License-Identifier: Apache-2.0 */
/* OPENQNN_PROFILE=FILE: detailed profiles of executions that the client does not profile itself, for programs that cannot be
 * changed (private to api/). qnn-profile-viewer reads FILE-LIBRARY-PROCESS.log. */
#ifndef API_PROFILE_ALL_H
#define API_PROFILE_ALL_H

#include <stdbool.h>
#include <stdint.h>

struct api_graph;
struct prof;

/* Whether executions are profiled; false again when the log is full or cannot be written. */
bool profile_all_wanted(void);

/* A profile for one execution; NULL: none is wanted, or there is no memory. */
struct prof *profile_all_begin(void);

/* Appends it to the log and frees it. Times in ns of the clock of profiles. */
void profile_all_end(struct prof *prof, const struct api_graph *graph, uint64_t begin_ns, uint64_t end_ns);

#endif
