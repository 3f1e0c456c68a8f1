/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a backend works on this machine: its library, its versions, and a small graph run through it. */
#ifndef TOOLS_PLATFORM_VALIDATOR_PLATFORM_CHECK_H
#define TOOLS_PLATFORM_VALIDATOR_PLATFORM_CHECK_H

#include <stdbool.h>

#include "QNN/QnnLog.h"
#include "base/status.h"

struct platform_report {
    const char *name;
    char library[256];
    bool found, supported;
    char version[128], core[64];
    bool tested, passed;
    char why[512]; /* what failed; "" when nothing did */
};

/* Whether the graph is run, and in which type: some backends compute in fixed point only. */
enum platform_test { PLATFORM_NO_TEST, PLATFORM_TEST_FLOATS, PLATFORM_TEST_BYTES };

/* Fills the report, and runs the graph as `test` says. Never fails: what goes wrong is in the report. `log` gets what the
 * backend says up to QNN_LOG_LEVEL_INFO; NULL: it has no log. */
void platform_check(const char *library, enum platform_test test, QnnLog_Callback_t log, struct platform_report *ret);

#endif
