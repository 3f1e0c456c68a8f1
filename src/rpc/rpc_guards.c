/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "rpc/rpc.h"

static const char *const names[RPC_GUARDS] = {
    "system call filter", "no capabilities", "no dumps", "user namespace", "network namespace", "IPC namespace", "Landlock",
};

void rpc_guards_text(uint32_t guards, char ret[RPC_GUARDS_TEXT_MAX])
{
    strcpy(ret, guards ? "" : "none");
    for (uint32_t i = 0; i < RPC_GUARDS; i++) {
        if (!(guards >> i & 1))
            continue;
        if (*ret)
            strcat(ret, ", ");
        strcat(ret, names[i]); /* all of them together are shorter than the room */
    }
}
