/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of an execution went (call_parts.c). */
#ifndef API_CALL_PARTS_H
#define API_CALL_PARTS_H

#include <stdint.h>

#include "backend/backend.h"
#include "profile/profile.h"

/* When an execution was called, asked for its turn, had it, went to the backend, and came back from there. */
struct call_stamps {
    uint64_t called, asked, turn, run, ended;
};

/* parts: BACKEND_PARTS of the backend, in ns. */
void call_parts_add(struct prof *prof, int32_t parent, const struct call_stamps *at, const uint64_t *parts);

#endif
