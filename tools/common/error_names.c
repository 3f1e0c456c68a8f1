/* SPDX-License-Identifier: Apache-2.0 */
/* See error_names.h. */
#include "common/error_names.h"

#include <stddef.h>

#include "QNN/QnnCommon.h"
#include "base/qnn_errors.h"

const char *error_name(uint64_t error)
{
    const uint32_t code = (uint32_t)QNN_GET_ERROR_CODE(error);
    const struct qnn_error *row = qnn_error_find(code);

    if (!code)
        return "QNN_SUCCESS";
    return row ? row->name : "unknown error";
}
