/* SPDX-License-Identifier: Apache-2.0 */
/* The file behind memory that a client has mapped, so that its bytes can be read, or mapped by another process, without
 * touching the client's pages. Needs /proc. */
#ifndef BASE_FILE_BEHIND_H
#define BASE_FILE_BEHIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct file_behind {
    int fd;          /* open for reading; the caller closes it */
    uint64_t offset; /* of the memory in the file */
};

/* ST_NOT_FOUND, with a sentence: the memory is not, or not as a whole, an unchanged mapping of one file that can be
 * opened. */
enum status file_behind(const void *at, size_t size, struct file_behind *ret);

#endif
