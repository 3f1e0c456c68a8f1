/* SPDX-License-Identifier: Apache-2.0 */
/* The stub inside of a backend library, for clients that copied the library alone: a link to
 * sessions of any arch. The caller always names the skel. */
#include "rpc/link_process.h"

const char *link_process_folder(void)
{
    return NULL;
}

static enum status built_in_open(const struct rpc_session_opts *o, struct rpc_session **ret)
{
    return link_open(&link_process_transport, RPC_BUILD_ID, o, ret);
}

const struct rpc_link rpc_link_built_in = {
    .arch = 0,
    .build_id = RPC_BUILD_ID,
    .open = built_in_open,
    LINK_CALLS,
};
