/* SPDX-License-Identifier: Apache-2.0 */
/* Names of error codes: error_name(6004) is "QNN_GRAPH_ERROR_INVALID_TENSOR". */
#ifndef TOOLS_COMMON_ERROR_NAMES_H
#define TOOLS_COMMON_ERROR_NAMES_H

#include <stdint.h>

const char *error_name(uint64_t error); /* of the low 16 bits; "unknown error" when there is none */

#endif
