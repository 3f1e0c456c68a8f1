/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of libcdsprpc.so share (private to api/). */
#ifndef API_REMOTE_CODES_H
#define API_REMOTE_CODES_H

#include <stdbool.h>

/* Results as FastRPC has them. */
enum { SUCCESS = 0, FAILED = 1, NO_MEMORY = 2, BAD_PARAMETER = 14, UNSUPPORTED = 20, NO_SUCH_THING = 39 };

bool remote_domain_allowed(int domain); /* -1, or the number of a session's domain: any domain of ours */

#endif
