/* SPDX-License-Identifier: Apache-2.0 */
/* The error codes of the API: name and meaning. In base because the libraries answer with them and the tools, which know
 * only the public headers, print them without a library. */
#ifndef BASE_QNN_ERRORS_H
#define BASE_QNN_ERRORS_H

#include <stdint.h>

struct qnn_error {
    uint32_t code;
    const char *name, *meaning;
};

const struct qnn_error *qnn_error_find(uint64_t code); /* NULL: no code of the API */

#endif
