/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that build_node makes of several. Private to the builder. */
#ifndef CONVERT_BUILDER_WIDE_H
#define CONVERT_BUILDER_WIDE_H

#include "convert/builder.h"

bool build_is_wide(const struct build_spec *s); /* a Concat, Pack, Split or UnPack of more tensors than a node takes */
enum status build_wide(struct builder *b, const struct build_spec *s, uint32_t *ret);

#endif
