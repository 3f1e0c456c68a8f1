/* SPDX-License-Identifier: Apache-2.0 */
/* A file that an archive is written to (dlc_target.c). */
#ifndef CONVERT_DLC_DLC_TARGET_H
#define CONVERT_DLC_DLC_TARGET_H

#include <zip.h>

#include "base/file_write.h"

struct dlc_target {
    struct file_write *file;
    zip_error_t zip_error;
    int error; /* of the first write that failed, 0: none */
};

/* Both stay until the archive is closed or discarded. */
zip_source_t *dlc_target_source(struct dlc_target *t, struct file_write *file, zip_error_t *error);

#endif
