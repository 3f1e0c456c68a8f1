/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of libQnnSaver.so share: recordings in a folder of their own, compiled and repeated on other libraries. */
#ifndef TESTS_SAVER_KIT_H
#define TESTS_SAVER_KIT_H

#include <QNN/Saver/QnnSaver.h>

#include "api_test.h"

typedef Qnn_ErrorHandle_t initialize_fn(const QnnSaver_Config_t **config);
extern initialize_fn *saver_initialize;

/* argv: COMPILER INCLUDE_FOLDER; without them nothing is compiled. */
int saver_kit_begin(int argc, char **argv);
int saver_kit_end(void **state);

void *open_table(const char *library); /* q and provider are that library's */
void *open_saver(void);
const char *path_of(const char *below); /* valid until the next call */
Qnn_ErrorHandle_t record_to(const char *below, uint32_t backend);
size_t read_file(const char *below, void *bytes, size_t room);
char *text_of(const char *below); /* free() it */

/* False, and a line that says so, when there is no compiler. */
bool compile(const char *below);
/* Repeats the recording on a library, outputs beside it; the exit status. */
int replay(const char *below, const char *library);
/* The results that the replay printed for calls of a name, in order; how many there are. */
unsigned replayed_results(const char *below, const char *call, uint64_t *results, unsigned room);
/* The number of the i-th call of a name, by which its outputs are named; 0: there is none. */
unsigned replayed_call(const char *below, const char *call, unsigned i);

/* The backends on which recordings are repeated. */
extern const char *const replay_libraries[2];

#endif
