/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnHtpOptraceProfilingReader.so: the timeline of a context binary and of what a log measured. */
#include "profile_viewer/profile_reader.h"
#include "profile_viewer/trace_device.h"

extern const struct profile_reader openqnn_profile_reader;
__attribute__((visibility("default"))) const struct profile_reader openqnn_profile_reader = {
    .version = READER_VERSION,
    .name = "timeline",
    .timeline = true,
    .settings = trace_settings,
    .write = trace_write,
    .explain = status_text,
};
