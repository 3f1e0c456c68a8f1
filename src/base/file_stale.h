/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files that a killed process left beside a target, where files cannot be without a name. A writer holds a lock
 * on its own as long as it lives, so those of others are told apart. */
#ifndef BASE_FILE_STALE_H
#define BASE_FILE_STALE_H

/* The descriptor's file is in use until the descriptor is closed, or the process ends. */
void file_stale_hold(int fd);

/* Removes the files of `folder` that are called BEGINNING followed by two numbers with a dash between, that no process
 * holds, and that nothing was written to for an hour. Looks a bounded number of times in the life of a process, since a
 * folder may be long. Failures are none of the caller's. */
void file_stale_remove(const char *folder, const char *beginning);

#endif
