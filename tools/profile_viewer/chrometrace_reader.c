/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnChrometraceProfilingReader.so: the averages of all runs as text, and as a timeline with --output. */
#include "profile_viewer/profile_reader.h"
#include "profile_viewer/trace_device.h"

extern const struct profile_reader openqnn_profile_reader;
__attribute__((visibility("default"))) const struct profile_reader openqnn_profile_reader = {
    .version = READER_VERSION,
    .name = "timeline",
    .text = TEXT_AVERAGE,
    .timeline = true,
    .settings = trace_settings,
    .write = trace_write_tables,
    .explain = status_text,
};
