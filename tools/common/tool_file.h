/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole-file reading and writing, folders, and the kind of a file that is not what was expected. */
#ifndef TOOLS_COMMON_TOOL_FILE_H
#define TOOLS_COMMON_TOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A file's bytes, read into memory or mapped. */
struct tool_file {
    void *data; /* never NULL after success */
    size_t size;
    bool mapped;
};

enum status tool_file_read(const char *path, struct tool_file *ret);
enum status tool_file_map(const char *path, struct tool_file *ret); /* private, writable copy on write */
/* These bytes of it are not needed for now: pages of a mapped file go, and come back from the file when somebody reads them.
 * Nothing may have been written there. */
void tool_file_release(const struct tool_file *f, const void *bytes, size_t size);
void tool_file_free(struct tool_file *f);                           /* takes a zeroed one */
enum status tool_file_size(const char *path, uint64_t *ret);
enum status tool_file_read_at(const char *path, uint64_t offset, void *to, size_t size);
enum status tool_file_write(const char *path, const void *data, size_t size);
enum status tool_make_dirs(const char *path); /* like mkdir -p */

/* Folder of the running program in buf; "" when unknown. */
void tool_own_folder(char *buf, size_t size);

#endif
