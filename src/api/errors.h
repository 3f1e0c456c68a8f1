/* SPDX-License-Identifier: Apache-2.0 */
/* From our status to the client's error code, with the sentence that explains it (private to api/).
 *
 * The code is returned plain, without anything in its upper bits, because clients compare results with == . The explanation
 * is kept per thread, together with its code, for QnnError_getVerboseMessage; and it goes to the log. */
#ifndef API_ERRORS_H
#define API_ERRORS_H

#include <stdint.h>

#include "QNN/QnnCommon.h"
#include "base/qnn_errors.h"
#include "base/status.h"

enum component {
    COMP_COMMON,
    COMP_BACKEND,
    COMP_VALIDATE, /* QnnBackend_validateOpConfig: operator errors are 3110 */
    COMP_CONTEXT,
    COMP_GRAPH,
    COMP_TENSOR,
    COMP_MEM,
    COMP_PROFILE,
    COMP_SIGNAL,
    COMP_LOG,
    COMP_DEVICE,
    COMP_GLOBAL,
    COMP_SYSTEM,
    COMP_SYSTEM_PROFILE,
    COMP_SYSTEM_TENSOR,
    COMP_COUNT
};

/* The code of `st` for a component; remembers and logs the explanation of a failure. ST_OK gives QNN_SUCCESS. */
Qnn_ErrorHandle_t api_error(enum component c, enum status st);

/* The same for a refusal that clients ask for on purpose, to learn what a backend has: no error in the log. */
Qnn_ErrorHandle_t api_answer(enum component c, enum status st);

/* A backend's own function returns `code`; its explanation is status_text(). */
void error_returned(uint32_t code);

/* Set the explanation, then api_error: for failures found in api/ itself. */
Qnn_ErrorHandle_t api_fail(enum component c, enum status st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The explanation of the last failure of this thread with that code, or NULL. */
const char *error_last_text(uint32_t code);

#define API_CHECK(cond, comp, st, ...)                  \
    do {                                                \
        if (__builtin_expect(!(cond), 0))               \
            return api_fail((comp), (st), __VA_ARGS__); \
    } while (0)

#endif
