/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of a stub library; private to rpc/. */
#ifndef RPC_LINK_PROCESS_H
#define RPC_LINK_PROCESS_H

#include "rpc/rpc_link.h"

extern const struct rpc_transport link_process_transport;
const char *link_process_folder(void); /* where the stub library is; NULL: nobody knows */

#endif
