/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of --config. */
#ifndef TOOLS_PROFILE_VIEWER_TRACE_CONFIG_H
#define TOOLS_PROFILE_VIEWER_TRACE_CONFIG_H

#include <stdbool.h>

#include "base/status.h"

struct trace_config {
    bool io_flows, sequencer_flows, htp_json, runtrace, memory_info, traceback, qhas_schema, qhas_json, gzip;
};
enum status trace_config_read(const char *path, struct trace_config *ret); /* NULL: defaults */

#endif
