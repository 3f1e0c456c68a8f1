/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios that use much of the API and leave nothing behind: run a thousand times by test_leak, and with every allocation
 * failing in turn by test_torture. They allocate nothing themselves. */
#ifndef TESTS_API_CYCLE_H
#define TESTS_API_CYCLE_H

#include <QNN/QnnCommon.h>

struct scenario {
    const char *name;
    /* Does its work, frees what it created whatever happens, returns the first error. A wrong number is an error of
     * its own. */
    Qnn_ErrorHandle_t (*run)(void);
};

enum { WRONG_RESULT = 65000, MUST_FAIL = 65001 };

extern const struct scenario scenarios[];
extern const unsigned n_scenarios;

#endif
