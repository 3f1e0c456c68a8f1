/* SPDX-License-Identifier: Apache-2.0 */
/* Names of operators and tensors, shortened to what tells them apart: of
 *
 *     MobileNetV2/expanded_conv_5/expand/Conv2D;StatefulPartitionedCall/MobileNetV2/...
 *     MobileNetV2/expanded_conv_6/expand/Conv2D;StatefulPartitionedCall/MobileNetV2/...
 *
 * "conv_5" and "conv_6" are left. For labels only: the full name stays the name. */
#ifndef TOOLS_COMMON_SHORT_NAMES_H
#define TOOLS_COMMON_SHORT_NAMES_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"

/* ret[i]: a part of names[i] that no other name of the list has; the name itself where there is none, or where it is short
 * already. Equal names get equal parts. Strings are in the arena. */
enum status short_names(const char *const *names, size_t n, struct arena *a, const char **ret);

#endif
