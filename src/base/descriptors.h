/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on file descriptors, in words that say what to do. */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include "base/status.h"

/* After a call that failed: ST_OK, or `st` with an explanation when errno says that there was no descriptor for `what`. */
enum status descriptors_left(enum status st, const char *what);

/* errno: EMFILE when this process cannot open one more now, else 0. For calls that do not tell why they failed. */
int descriptors_errno(void);

#endif
