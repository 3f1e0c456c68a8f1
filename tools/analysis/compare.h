/* SPDX-License-Identifier: Apache-2.0 */
/* Two profiling logs side by side: what every event and every operator took in each, on average over all runs. */
#ifndef TOOLS_ANALYSIS_COMPARE_H
#define TOOLS_ANALYSIS_COMPARE_H

#include <jansson.h>
#include <stdio.h>

#include "base/status.h"
#include "profile/profile.h"

struct compare_side {
    const struct prof_log *log;
    const char *name; /* of the file */
};

/* Graphs by name; where both logs have one each, these. docs/compare.md says what is in the result. ST_INVALID_ARG: no graph
 * ran in both. */
enum status compare_logs(const struct compare_side side[2], json_t **ret);

enum compare_format { COMPARE_TEXT, COMPARE_JSON, COMPARE_HTML };
extern const char *const compare_formats[];                                    /* "text", "json", "html", NULL */
int compare_write(const json_t *result, enum compare_format format, FILE *to); /* not 0: it could not be written */

#endif
