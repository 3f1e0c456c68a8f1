/* SPDX-License-Identifier: Apache-2.0 */
/* See rpc_fault.h. Without the variable a message costs one look at a flag. */
#include "rpc/rpc_fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

enum { MAX_FAULTS = 16, TEXT_MAX = 512, MAX_NUMBER = 60000 };

static const char *const names[FAULT_KINDS] = {
    [FAULT_KILL] = "kill",   [FAULT_RESTART] = "restart",       [FAULT_TRUNCATE] = "truncate",       [FAULT_DELAY] = "delay",
    [FAULT_YIELD] = "yield", [FAULT_REFUSE_MAP] = "refuse_map", [FAULT_REFUSE_OPEN] = "refuse_open",
};

struct fault {
    enum fault_kind kind;
    uint64_t at;
    uint32_t number; /* milliseconds, or a step */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool active;
static char text_now[TEXT_MAX];
static struct fault faults[MAX_FAULTS];
static uint32_t n_faults;
static uint64_t messages, maps, opens;

static enum status parse_one(const char *word, struct fault *ret)
{
    char name[16];
    unsigned long long at, number = 0;
    int used = 0;
    int n = sscanf(word, "%15[a-z_]@%llu%n:%llu%n", name, &at, &used, &number, &used);
    RETURN_IF(
        n < 2 || word[used] || !at, ST_INVALID_ARG,
        "OPENQNN_FAULT: \"%s\"; kill@N, restart@N, truncate@N, delay@N:MS, yield@N:STEP, refuse_map@N and refuse_open@N are "
        "known, N from 1",
        word);
    for (uint32_t i = 0; i < FAULT_KINDS; i++)
        if (str_eq(name, names[i])) {
            RETURN_IF((i == FAULT_DELAY || i == FAULT_YIELD) != (n == 3) || number > MAX_NUMBER ||
                          (i == FAULT_YIELD && !number),
                      ST_INVALID_ARG,
                      "OPENQNN_FAULT: \"%s\"; delay@N:MS takes milliseconds up to %d, yield@N:STEP a step from 1 to %d, the "
                      "others nothing",
                      word, MAX_NUMBER, MAX_NUMBER);
            *ret = (struct fault){ (enum fault_kind)i, at, (uint32_t)number };
            return ST_OK;
        }
    const char *near = str_nearest(name, names, FAULT_KINDS);
    return status_fail(ST_INVALID_ARG, "OPENQNN_FAULT: there is no fault \"%s\"; did you mean \"%s\"?", name,
                       near ? near : names[0]);
}

static enum status parse(const char *text)
{
    char copy[TEXT_MAX], *rest = copy;
    n_faults = 0;
    RETURN_IF(strlen(text) >= sizeof(copy), ST_INVALID_ARG, "OPENQNN_FAULT has %zu characters; at most %d are read",
              strlen(text), TEXT_MAX - 1);
    strcpy(copy, text);
    for (char *word; (word = strsep(&rest, ",")) != NULL;) {
        if (!*word)
            continue;
        RETURN_IF(n_faults == MAX_FAULTS, ST_INVALID_ARG, "OPENQNN_FAULT: more than %d faults", MAX_FAULTS);
        TRY(parse_one(word, &faults[n_faults]));
        n_faults++;
    }
    return ST_OK;
}

enum status fault_read(void)
{
    enum status st = ST_OK;
    const char *text = getenv("OPENQNN_FAULT");
    pthread_mutex_lock(&lock);
    if (strncmp(text ? text : "", text_now, TEXT_MAX) != 0) {
        st = parse(text ? text : "");
        snprintf(text_now, sizeof(text_now), "%s", st == ST_OK && text ? text : "");
        messages = maps = opens = 0;
        atomic_store(&active, st == ST_OK && n_faults);
    }
    pthread_mutex_unlock(&lock);
    return st;
}

static bool hit(enum fault_kind kind, uint64_t count, uint32_t *number)
{
    bool found = false;
    for (uint32_t i = 0; i < n_faults; i++)
        if (faults[i].kind == kind && faults[i].at == count) {
            found = true;
            *number += faults[i].number;
        }
    return found;
}

struct fault_hit fault_message(void)
{
    struct fault_hit h = { 0 };
    uint32_t ms = 0;
    if (!atomic_load_explicit(&active, memory_order_relaxed))
        return h;
    pthread_mutex_lock(&lock);
    messages++;
    h.restart = hit(FAULT_RESTART, messages, &ms);
    h.kill = hit(FAULT_KILL, messages, &ms) || h.restart;
    h.truncate = hit(FAULT_TRUNCATE, messages, &ms);
    hit(FAULT_DELAY, messages, &ms);
    hit(FAULT_YIELD, messages, &h.hold);
    pthread_mutex_unlock(&lock);
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
    while (ms && nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
    return h;
}

bool fault_refuse(enum fault_kind kind)
{
    uint32_t ms = 0;
    if (!atomic_load_explicit(&active, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&lock);
    bool refused = hit(kind, kind == FAULT_REFUSE_MAP ? ++maps : ++opens, &ms);
    pthread_mutex_unlock(&lock);
    return refused;
}
