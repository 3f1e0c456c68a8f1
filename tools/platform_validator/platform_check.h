/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a backend works on this machine: its library, its versions, and a small graph run through it. */
#ifndef TOOLS_PLATFORM_VALIDATOR_PLATFORM_CHECK_H
#define TOOLS_PLATFORM_VALIDATOR_PLATFORM_CHECK_H

#include <stdbool.h>

#include "base/status.h"

struct platform_report {
    const char *name;
    char library[256];
    bool found, supported;
    char version[128], core[64];
    bool tested, passed;
    char why[512]; /* what failed; "" when nothing did */
};

/* Fills the report; with `test` also runs the graph. Never fails: what goes wrong is in the report. */
void platform_check(const char *library, bool test, struct platform_report *ret);

#endif
