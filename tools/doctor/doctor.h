/* SPDX-License-Identifier: Apache-2.0 */
/* What openqnn-doctor looks at: each check adds findings to one list, which is printed and written as JSON. */
#ifndef TOOLS_DOCTOR_DOCTOR_H
#define TOOLS_DOCTOR_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum doctor_level {
    DOCTOR_OK,
    DOCTOR_WARN, /* works, but otherwise than people expect, or only in part */
    DOCTOR_FAIL, /* something that every installation should do does not work */
    DOCTOR_LEVELS
};

enum { DOCTOR_TEXT_MAX = 1600, DOCTOR_WHY_MAX = 640 };

struct doctor_finding {
    enum doctor_level level;
    const char *area; /* static: "processor" */
    char seen[DOCTOR_TEXT_MAX], advice[DOCTOR_TEXT_MAX];
    struct doctor_finding *next;
};

struct doctor {
    struct doctor_finding *first, **end;
    unsigned counts[DOCTOR_LEVELS];
    bool failed; /* out of memory: findings are missing */
};

/* The finding that was added, for doctor_advise(). NULL without memory, which doctor_advise() takes. */
struct doctor_finding *doctor_add(struct doctor *d, enum doctor_level level, const char *area, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void doctor_advise(struct doctor_finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Runs work(arg, ret) in a child process, so that a library that crashes or hangs is a finding. `ret` has `size` bytes and
 * is filled as far as the child came. False: `why` says how it ended. */
typedef void doctor_work_fn(const void *arg, void *ret);
bool doctor_in_child(doctor_work_fn *work, const void *arg, void *ret, size_t size, char why[DOCTOR_WHY_MAX]);

/* Where a library of that name would be opened from by this program, with all links followed; "" and the reason when it is
 * not. Asked in a child process: nothing stays loaded. */
struct doctor_library {
    char path[PATH_MAX], why[DOCTOR_TEXT_MAX];
};
void doctor_find_library(const char *name, struct doctor_library *ret);

void doctor_machine(struct doctor *d);     /* CPU, OPENQNN_ variables */
void doctor_memory(struct doctor *d);      /* shared memory and limits */
void doctor_search_path(struct doctor *d); /* which libraries are opened, and copies elsewhere */
void doctor_backends(struct doctor *d);    /* a small graph on each backend; sessions */

#endif
