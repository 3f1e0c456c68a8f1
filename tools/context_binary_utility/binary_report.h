/* SPDX-License-Identifier: Apache-2.0 */
/* Two views of what a context binary says about itself. */
#ifndef TOOLS_CONTEXT_BINARY_UTILITY_BINARY_REPORT_H
#define TOOLS_CONTEXT_BINARY_UTILITY_BINARY_REPORT_H

#include <stddef.h>

#include "QNN/System/QnnSystemContext.h"
#include "base/status.h"

/* JSON. version 1: graphs, tensors and blobs sit inside "info" objects; 3: their fields are flat. Sizes are in bytes, VTCM
 * in MB. */
enum status report_json(const QnnSystemContext_BinaryInfo_t *info, int version, const char *path);

/* Text for people on stdout, with the planned memory when the file is in the format of this SDK. */
void report_summary(const QnnSystemContext_BinaryInfo_t *info, const char *path, const void *data, size_t size);

/* The fields that all versions of the info have, as version 3. */
QnnSystemContext_BinaryInfoV3_t report_common(const QnnSystemContext_BinaryInfo_t *info);

#endif
