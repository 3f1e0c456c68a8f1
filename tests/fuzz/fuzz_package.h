/* SPDX-License-Identifier: Apache-2.0 */
/* What the op package of fuzz_packages answers. */
#ifndef TESTS_FUZZ_PACKAGE_H
#define TESTS_FUZZ_PACKAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <QNN/QnnCommon.h>

enum {
    ANSWER_PROVIDER,
    ANSWER_INIT,
    ANSWER_TERMINATE,
    ANSWER_INFO,
    ANSWER_VALIDATE,
    ANSWER_CREATE,
    ANSWER_RUN,
    ANSWER_FREE,
    ANSWER_LOG,
    ANSWERS,
    ANSWER_NAMES = 4
};

struct fuzz_answers {
    Qnn_ErrorHandle_t result[ANSWERS];
    uint32_t major, minor, holes, n_names;
    const char *package, *names[ANSWER_NAMES];
    bool no_info, no_names, no_version, no_impl, no_function;
    uint64_t calls;
};

/* Exported by the package. */
typedef struct fuzz_answers *fuzz_answers_fn(void);

#endif
