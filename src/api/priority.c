/* SPDX-License-Identifier: Apache-2.0 */
/* The priorities of the API and the levels of the device's queue. */
#include "QNN/QnnTypes.h"
#include "api/objects.h"

static const uint32_t priorities[SCHED_LEVELS] = {
    QNN_PRIORITY_LOW,  QNN_PRIORITY_NORMAL_LOW, QNN_PRIORITY_NORMAL,   QNN_PRIORITY_NORMAL_HIGH,
    QNN_PRIORITY_HIGH, QNN_PRIORITY_HIGH_PLUS,  QNN_PRIORITY_CRITICAL, QNN_PRIORITY_CRITICAL_PLUS,
};

uint32_t priority_level(uint32_t priority)
{
    uint32_t level = 0;
    while (level + 1 < SCHED_LEVELS && priorities[level] < priority)
        level++;
    return level;
}

enum status priority_check(uint32_t priority, const char *what)
{
    RETURN_IF(priorities[priority_level(priority)] != priority, ST_INVALID_CONFIG,
              "%s priority is %u; 0 (LOW), 50 (NORMAL_LOW), 100 (NORMAL), 150 (NORMAL_HIGH), 200 (HIGH), 300 (HIGH_PLUS), "
              "400 (CRITICAL) and 500 (CRITICAL_PLUS) are allowed",
              what, priority);
    return ST_OK;
}
