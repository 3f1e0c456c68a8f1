/* SPDX-License-Identifier: Apache-2.0 */
/* Actors on a stage: programs of one session, each with memory and a thread of its own, that are stopped at known points
 * (OPENQNN_FAULT=yield@N:STEP). Every one has x + c in the same bytes of its lane's fast memory, needed until its last step,
 * so whoever is not saved and put back has wrong results. */
#ifndef TESTS_RPC_STAGE_H
#define TESTS_RPC_STAGE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/rpc_link.h"
#include "rpc_kit.h"

enum { WINDOW = 1 << 20, STEPS = 3, ACTORS = 4, OPENING = 4 /* messages of kit_open */, LOADING = 4 /* of an actor */ };

#define OK(expr) stage_check((expr), #expr, __LINE__)
void stage_check(enum status st, const char *what, int line);

/* One program with memory of its own, and the thread that runs it. */
struct actor {
    struct kit_client c; /* its session is the stage's */
    struct rpc_run run;
    struct cancel cancel;
    const struct actor *writes_to; /* whose memory has the results, NULL: its own */
    uint32_t seed;
    enum status st;
    pthread_t thread;
};

extern struct kit_client stage;
extern struct actor actors[ACTORS];
extern const struct rpc_pool own;

void open_stage(const char *faults); /* each ends with a comma */
void close_stage(void);
/* A program with this priority; scratch: where it computes, own: in memory of its own. */
struct actor *enter(uint32_t i, uint32_t priority, struct rpc_pool scratch);
struct rpc_call *call_of(const struct actor *a);
void begin(struct actor *a, enum rpc_call_state state); /* run it on a thread and wait until the call is that far */
void end(struct actor *a);                              /* wait for it; its results are right */
void run(struct actor *a);                              /* both */
/* What is in memory that two write to is of the one that ran last. */
void share_results(struct actor *a, const struct actor *with);
/* Faults: from the first-th run on (from 1), n of them wait before a step, when so many actors have entered. */
const char *yield_at(uint32_t n_actors, uint32_t first, uint32_t n, uint32_t step);

#endif
