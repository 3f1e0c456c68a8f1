/* SPDX-License-Identifier: Apache-2.0 */
/* What the op package of these tests tells the test that opened it. */
#ifndef TESTS_PACKAGE_KIT_H
#define TESTS_PACKAGE_KIT_H

#include <stdatomic.h>
#include <stdint.h>

struct package_state {
    _Atomic int begun, ended;   /* init, terminate */
    _Atomic int created, freed; /* implementations */
    _Atomic int inside, most;   /* functions that run now; the most that ever did at the same time */
    _Atomic int runs;
    _Atomic int logged; /* it was given a log */
    int slow;           /* Order: numbers to add up before it is done */
    void (*hook)(void); /* Hook: called */
};

/* Exported by the package. */
typedef struct package_state *package_state_fn(void);

/* What the operator Spy writes. */
enum { SPY_TYPE, SPY_RANK, SPY_DIM0, SPY_DIM1, SPY_SCALE, SPY_OFFSET, SPY_FORMAT, SPY_PARAMS, SPY_SECOND, SPY_COUNT = 16 };
/* What the operator Where writes. */
enum { WHERE_PROCESS, WHERE_FILES };

#endif
