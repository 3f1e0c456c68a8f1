/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_CONTEXT_BINARY_UTILITY_ADVISE_SHOW_H
#define TOOLS_CONTEXT_BINARY_UTILITY_ADVISE_SHOW_H

#include "common/tool_file.h"

/* The advice on the graphs of a context binary, in a file (JSON by its ending) or, with `to` NULL, on stdout. */
enum status advise_show(const char *path, const struct tool_file *f, const char *to);

#endif
