/* SPDX-License-Identifier: Apache-2.0 */
/* A client of a backend library for the benchmarks: opened by name, used through its table. Whatever goes wrong ends the
 * program with the library's own explanation. */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <QNN/QnnInterface.h>

extern QNN_INTERFACE_VER_TYPE qnn; /* the library's functions */

void client_open(const char *folder, const char *library); /* "libQnnCpu.so"; opening another one changes the table */
#define CHECK(call) client_check((call), #call)
void client_check(Qnn_ErrorHandle_t e, const char *call);

/* A context with its backend; freeing the backend frees all. `threads` is what OPENQNN_THREADS says while it is made. */
struct session {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
};
void session_open(struct session *s, unsigned threads);
void session_load(struct session *s, unsigned threads, const void *binary, uint64_t size, bool persistent);
void session_close(struct session *s);

#endif
