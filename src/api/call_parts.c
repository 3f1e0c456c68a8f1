/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of an execution went, as events of a detailed profile. All come from one row of stamps:
 *
 *     called | arguments | asked … wait … turn | arguments | run … parts of the backend, rest … | ended
 *
 * Each value is the difference of two rounded points of time, so the values add up to that of the whole, to the
 * microsecond. */
#include "api/call_parts.h"

enum { FIRST_TYPE = 30041, WHOLE_TYPE = 30040, NS_PER_US = 1000 };

/* In the order in which they mostly come. Types are numbered from FIRST_TYPE on. */
enum row { ARGUMENTS, WAIT, COPY_IN, CALL, QUEUE, RUN, YIELD, RETURN, COPY_OUT, REST, ROWS };

static const char *const names[ROWS] = {
    [ARGUMENTS] = "Check and bind arguments",
    [WAIT] = "Wait for the turn",
    [COPY_IN] = "Copy to memory of the device",
    [CALL] = "Call of the device",
    [QUEUE] = "Wait on the device",
    [RUN] = "Run",
    [YIELD] = "Wait for higher priorities",
    [RETURN] = "Return from the device",
    [COPY_OUT] = "Copy from memory of the device",
    [REST] = "Profile and the rest",
};

static const uint8_t row_of[BACKEND_PARTS] = {
    [PART_COPY_IN] = COPY_IN, [PART_CALL] = CALL,     [PART_QUEUE] = QUEUE,       [PART_RUN] = RUN,
    [PART_YIELD] = YIELD,     [PART_RETURN] = RETURN, [PART_COPY_OUT] = COPY_OUT,
};

static void fill_rows(const struct call_stamps *at, const uint64_t *parts, uint64_t *rows)
{
    uint64_t left = at->ended - at->run;

    rows[ARGUMENTS] = at->asked - at->called + at->run - at->turn;
    rows[WAIT] = at->turn - at->asked;
    for (unsigned i = 0; i < BACKEND_PARTS; i++) {
        uint64_t part = parts[i] < left ? parts[i] : left;
        rows[row_of[i]] = part;
        left -= part;
    }

    bool told = left < at->ended - at->run;
    rows[told ? REST : RUN] = left;
}

void call_parts_add(struct prof *prof, int32_t parent, const struct call_stamps *at, const uint64_t *parts)
{
    uint64_t rows[ROWS] = { 0 };
    uint64_t before = 0, whole = (at->ended - at->called) / NS_PER_US;

    fill_rows(at, parts, rows);
    int32_t top = prof_add(prof, parent, WHOLE_TYPE, PROF_UNIT_US, whole, "Where the time of the call went");
    for (unsigned i = 0; i < ROWS; i++) {
        uint64_t until = before + rows[i];
        prof_add(prof, top, FIRST_TYPE + i, PROF_UNIT_US, until / NS_PER_US - before / NS_PER_US, names[i]);
        before = until;
    }
}
