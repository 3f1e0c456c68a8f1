/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to files that may not grow any more (RLIMIT_FSIZE): inside of a guard that is an error of the call, as on a full
 * disk, and not the signal that ends the process of a client who did not expect it. For the calling thread.
 *
 *     FILE_GUARD(guard);
 *     if (fflush(file) != 0) …                    ends with the block */
#ifndef BASE_FILE_GUARD_H
#define BASE_FILE_GUARD_H

#include <signal.h>
#include <stdbool.h>

struct file_guard {
    sigset_t former;
    bool waiting; /* such a signal was on its way before */
};

void file_guard_begin(struct file_guard *g);
void file_guard_end(struct file_guard *g); /* errno stays */

#define FILE_GUARD(name)                                             \
    __attribute__((cleanup(file_guard_end))) struct file_guard name; \
    file_guard_begin(&(name))

#endif
