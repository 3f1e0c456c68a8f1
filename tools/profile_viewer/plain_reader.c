/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnHtpProfilingReader.so and libQnnLpaiProfilingReader.so: command lines name them, and what they show is what
 * qnn-profile-viewer shows by itself. */
#include "profile_viewer/profile_reader.h"

extern const struct profile_reader openqnn_profile_reader;
__attribute__((visibility("default")))
const struct profile_reader openqnn_profile_reader = { .version = READER_VERSION, .name = "text", .plain = true };
