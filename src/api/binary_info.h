/* SPDX-License-Identifier: Apache-2.0 */
/* What a context binary says about itself, for the client (private to api/). */
#ifndef API_BINARY_INFO_H
#define API_BINARY_INFO_H

#include "QNN/System/QnnSystemContext.h"
#include "base/arena.h"
#include "base/status.h"

/* The description is all in the arena: it needs neither the bytes nor the opened binary. */
enum status binary_info_make(const void *data, uint64_t size, struct arena *a, QnnSystemContext_BinaryInfo_t **ret);

#endif
