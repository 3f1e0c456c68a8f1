/* SPDX-License-Identifier: Apache-2.0 */
/* What a profiling log adds up to: executions of one graph are merged event by event into minimum, maximum and average. */
#ifndef TOOLS_PROFILE_VIEWER_PROFILE_STATS_H
#define TOOLS_PROFILE_VIEWER_PROFILE_STATS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"
#include "profile/profile.h"

/* One line per event of every record. */
enum status viewer_write_csv(const struct prof_log *const *logs, size_t n, const char *path);
/* runs: every run as it was, in place of average, least and most. */
enum status viewer_print_text(const struct prof_log *log, const char *name, bool runs, FILE *to);

#endif
