/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the reader of profile logs. Each input is tried as it is and once more with the checksums of its frames made
 * right. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profile/profile.h"

enum { LOG_HEADER = 8, FRAME_HEADER = 16 };

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* Touches everything the log points to. */
static size_t look_at(const struct prof_log *log)
{
    size_t n = log->header.app_name ? strlen(log->header.app_name) : 0;
    for (uint32_t i = 0; i < log->n_records; i++) {
        const struct prof_log_record *r = &log->records[i];
        n += r->graph_name ? strlen(r->graph_name) : 0;
        n += strlen(prof_method_name(r->method));
        for (uint32_t k = 0; k < r->n_events; k++) {
            const struct prof_event *e = &r->events[k];
            require(e->parent >= PROF_ROOT && e->parent < (int64_t)k);
            n += strlen(e->name) + strlen(prof_unit_name(e->unit));
        }
    }
    return n;
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct prof_log log;
    status_clear();
    if (prof_log_read(data, size, &log) != ST_OK) {
        require(status_text()[0] != '\0');
        return;
    }
    (void)look_at(&log);
    prof_log_free(&log);
}

static void repair(uint8_t *data, size_t size)
{
    for (size_t at = LOG_HEADER; at <= size && size - at >= FRAME_HEADER;) {
        uint32_t n;
        memcpy(&n, data + at + 4, sizeof(n));
        if (n > size - at - FRAME_HEADER)
            return;
        uint32_t crc = (uint32_t)crc32_z(0, data + at + FRAME_HEADER, n);
        memcpy(data + at + 8, &crc, sizeof(crc));
        at += FRAME_HEADER + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    uint8_t *copy = malloc(size ? size : 1);
    require(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    repair(copy, size);
    try_bytes(copy, size);
    free(copy);
    return 0;
}
