/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files so that none is lost: bytes go to a temporary file in the target's folder, which takes its place when all of
 * them are there. Until then, and after any failure, the former file is as it was. Where the file system can, the temporary
 * file has no name until it is complete, so that a process that is killed leaves nothing. Where it cannot, NAME.part-PID-N
 * stays, and goes when the same target is written again, an hour later or after that.
 *
 *     CLEANUP(file_write_abort) struct file_write w = { 0 };
 *     TRY(file_write_begin(&w, path));
 *     fprintf(w.to, …);                           errors are kept and told by file_write_end
 *     return file_write_end(&w);
 *
 * Links are followed, and a file that is replaced hands on its permissions. What cannot be replaced is written in place:
 * pipes and devices, the process's own standard output, and files in folders that take no new ones. */
#ifndef BASE_FILE_WRITE_H
#define BASE_FILE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/status.h"

/* Does not move between begin and end: the stream points to it. All zero: nothing is open. */
struct file_write {
    FILE *to;        /* a stream onto fd; RLIMIT_FSIZE is an error there, not a signal */
    int fd;          /* for those who want it plain; with a FILE_GUARD */
    char *target;    /* the path behind all links */
    char *temporary; /* its name; NULL: it has none */
    bool unnamed;    /* it waits to get one; neither: in place, or it has its place already */
    mode_t mode;     /* of the former file */
    bool replaces;   /* there is a former file */
    int error;       /* of the first write that failed */
};

enum status file_write_begin(struct file_write *w, const char *path);

/* What is written so far takes the target's place, and writing goes on there. For files that grow during a run and are
 * useful at every moment of it. */
enum status file_write_replace(struct file_write *w);

/* The file takes the target's place, if it has not, and is closed. A failure leaves the former file and no temporary one. */
enum status file_write_end(struct file_write *w);

/* Closed and thrown away, unless it has its place already. After the end: nothing. */
void file_write_abort(struct file_write *w);

enum status file_write_all(const char *path, const void *data, size_t size);

/* At the end of an existing file; one that cannot grow that much keeps its former length. */
enum status file_append(const char *path, const void *data, size_t size);

#endif
