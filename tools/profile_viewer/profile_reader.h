/* SPDX-License-Identifier: Apache-2.0 */
/* Reader libraries: other views of a profiling log than text and CSV, opened by qnn-profile-viewer --reader. A library has a table behind READER_SYMBOL. */
#ifndef TOOLS_PROFILE_VIEWER_PROFILE_READER_H
#define TOOLS_PROFILE_VIEWER_PROFILE_READER_H

#include <stdio.h>

#include "profile/profile.h"

#define READER_SYMBOL "openqnn_profile_reader"
enum { READER_VERSION = 1 }; /* changes with every change of the struct */

struct profile_reader {
    uint32_t version;  /* READER_VERSION */
    const char *name;  /* "GPU" */
    /* All logs, as they are named on the command line, to `to`; 0, or not 0 after a failure that explain() puts into one sentence. */
    int (*write)(const struct prof_log *const *logs, const char *const *names, size_t n, FILE *to);
    const char *(*explain)(void);
};

#endif
