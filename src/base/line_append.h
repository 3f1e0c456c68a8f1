/* SPDX-License-Identifier: Apache-2.0 */
/* Lines at the end of a file that several processes share: each is one write to a file opened for appending. */
#ifndef BASE_LINE_APPEND_H
#define BASE_LINE_APPEND_H

#include <stdbool.h>
#include <stddef.h>

/* False: errno says why. With n 0 the file is made, and nothing is written. */
bool line_append(const char *path, const char *line, size_t n);

#endif
