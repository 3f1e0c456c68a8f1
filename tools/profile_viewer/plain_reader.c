/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnHtpProfilingReader.so and libQnnLpaiProfilingReader.so: every run as it was, where the viewer by itself shows
 * averages. */
#include "profile_viewer/profile_reader.h"

extern const struct profile_reader openqnn_profile_reader;
__attribute__((visibility("default"))) const struct profile_reader openqnn_profile_reader = { .version = READER_VERSION,
                                                                                              .name = "text of every run",
                                                                                              .text = TEXT_RUNS };
