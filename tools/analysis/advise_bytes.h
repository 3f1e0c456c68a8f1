/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for programs that have a context binary in memory and no JSON library of their own at hand. */
#ifndef TOOLS_ANALYSIS_ADVISE_BYTES_H
#define TOOLS_ANALYSIS_ADVISE_BYTES_H

#include "base/status.h"
#include "base/str.h"

/* Appends text for people to `text`, and the same as JSON to `json`. */
enum status advise_bytes(const void *data, size_t size, struct str *text, struct str *json);

#endif
