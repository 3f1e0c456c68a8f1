/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the soak test: a client with one backend library and its cycles; what the process has in memory, descriptors
 * and processes; and what disturbs it. */
#ifndef TESTS_SOAK_H
#define TESTS_SOAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <QNN/QnnInterface.h>

enum { SOAK_BACKENDS = 4, SOAK_SIDE = 16, SOAK_VALUES = SOAK_SIDE * SOAK_SIDE };

/* ---- soak_client.c --------------------------------------------------------------------------- */

struct soak_backend {
    const char *name, *library;
    bool fixed;        /* takes fixed point only */
    bool has_sessions; /* which may be killed: calls then fail, and must say so */
    QNN_INTERFACE_VER_TYPE q;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    _Alignas(64) float expected[SOAK_VALUES]; /* the bits of the first execution */
    _Atomic uint64_t cycles, executes, lost, errors, wrong;
};

extern atomic_bool soak_disturbed; /* sessions are being killed */

bool soak_open(struct soak_backend *b);  /* false: prints why this machine has it not */
bool soak_begin(struct soak_backend *b); /* creates the backend */
void soak_end(struct soak_backend *b);
bool soak_learn(struct soak_backend *b); /* runs the net once; checks it against arithmetic done here */
/* One life of a context; counts, and prints the first errors. */
void soak_cycle(struct soak_backend *b, uint64_t dice);
/* One cycle where limits may make every call fail: false when a result was wrong. */
bool soak_cycle_under_limits(struct soak_backend *b);

/* ---- soak_watch.c ---------------------------------------------------------------------------- */

struct soak_usage {
    uint64_t rss_kib;
    unsigned descriptors, threads, children, zombies;
};

void soak_measure(struct soak_usage *ret);

struct soak_disturbances {
    bool stops; /* stop sessions for good, not only for a moment */
    uint64_t seed;
    struct soak_backend *backends;
    unsigned n_backends;
    atomic_bool over;
    _Atomic uint64_t kills, stopped, forks, fork_failures;
};

void *soak_kill_sessions(void *disturbances);
void *soak_fork_children(void *disturbances);
uint64_t soak_draw(uint64_t *state); /* splitmix64 */
void soak_pause(unsigned milliseconds);

#endif
