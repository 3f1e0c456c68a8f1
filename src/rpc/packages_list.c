/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of op packages, which sessions are started with. */
#include <string.h>

#include "rpc/rpc.h"

bool rpc_packages_within(const char *list, const char *of)
{
    while (*list) {
        size_t bytes = strcspn(list, RPC_PACKAGE_END) + 1;
        const char *at = of;

        while (*at && strncmp(at, list, bytes) != 0)
            at += strcspn(at, RPC_PACKAGE_END) + 1;
        if (!*at)
            return false;
        list += bytes;
    }
    return true;
}
