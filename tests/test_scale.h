/* SPDX-License-Identifier: Apache-2.0 */
/* How many random cases a test runs: the full number in the ordinary build, a share of it where code is instrumented.
 * OPENQNN_TEST_SCALE is a percentage; `make check` sets it to 10 for the sanitizers, 1000 makes a long night. */
#ifndef TESTS_TEST_SCALE_H
#define TESTS_TEST_SCALE_H

#include <stdlib.h>

static inline unsigned test_scale(unsigned cases)
{
    const char *text = getenv("OPENQNN_TEST_SCALE");
    unsigned long percent = text ? strtoul(text, NULL, 10) : 100;
    unsigned long long scaled = (unsigned long long)cases * percent / 100;
    return scaled ? (unsigned)scaled : 1;
}

#endif
