/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of two logs has options of its own. */
#ifndef TOOLS_PROFILE_VIEWER_COMPARE_LOGS_H
#define TOOLS_PROFILE_VIEWER_COMPARE_LOGS_H

#include <stdbool.h>

bool viewer_compares(int argc, char **argv); /* --compare is among them */
int viewer_compare(int argc, char **argv);   /* the exit code */

#endif
