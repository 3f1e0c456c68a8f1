/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the zip archive of a DLC (private to convert/dlc/). */
#ifndef CONVERT_DLC_DLC_CONTAINER_H
#define CONVERT_DLC_DLC_CONTAINER_H

#include <stdint.h>

#include "base/status.h"

struct dlc_piece {
    const void *data;
    uint64_t size;
};

struct dlc_record {
    const char *name;
    const void *data;
    uint64_t size;
    const struct dlc_piece *pieces; /* instead of data: one behind the other */
    uint32_t n_pieces;
};
enum status dlc_write_file(const char *path, const struct dlc_record *records, uint32_t n);

#endif
