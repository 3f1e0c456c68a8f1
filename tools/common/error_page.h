/* SPDX-License-Identifier: Apache-2.0 */
/* An error code as a page of a manual: name, meaning, usual causes on a device and here. */
#ifndef TOOLS_COMMON_ERROR_PAGE_H
#define TOOLS_COMMON_ERROR_PAGE_H

#include "base/status.h"

/* Prints the page of a code as people write it: decimal, hexadecimal, or the name. Fails for what is no code of the API. */
enum status error_page(const char *text);

#endif
