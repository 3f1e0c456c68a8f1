/* SPDX-License-Identifier: Apache-2.0 */
/* Files of lifetimes, as planners exchange them. The first line names the columns, in any order and any case:
 *
 *     id, buffer_id, buffer      any text
 *     lower, start, begin        first moment of life
 *     upper                      moment after the last;  or  end: the last moment itself
 *     size                       bytes
 *     alignment                  optional, 1 when empty
 *     offset                     optional: the buffer lies there
 *
 * Other columns are ignored. Without such a line the columns are id,lower,upper,size. Moments are any integers of 64 bits;
 * only their order matters. */
#ifndef BENCH_PLAN_CSV_H
#define BENCH_PLAN_CSV_H

#include "base/vec.h"
#include "prepare/plan.h"

struct plan_problem {
    VEC(struct plan_buf) buf;
    uint64_t capacity; /* the number between two dots of the file name ("A.1048576.csv"), 0: none */
};

/* Says on stderr what is wrong, with file and line. */
bool plan_csv_read(const char *path, struct plan_problem *ret);

#endif
