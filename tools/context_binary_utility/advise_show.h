/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_CONTEXT_BINARY_UTILITY_ADVISE_SHOW_H
#define TOOLS_CONTEXT_BINARY_UTILITY_ADVISE_SHOW_H

#include "common/tool_file.h"

struct advise_want {
    const char *binary;                   /* its path */
    const char *to;                       /* JSON by its ending, otherwise text; NULL: text on stdout */
    const char *dlc;                      /* the model, to be compiled for other targets; NULL: it is not */
    const char *backend, *system_library; /* for that; NULL: libQnnHtp.so, libQnnSystem.so by name */
};

/* The advice on the graphs of a context binary. */
enum status advise_show(const struct advise_want *want, const struct tool_file *f);

#endif
