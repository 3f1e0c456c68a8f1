/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnHtpV73Stub.so and its siblings: the link to sessions of one arch. The symbol below is all that they export. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "rpc/link_process.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char folder[RPC_PATH_MAX];

static void find_folder(void)
{
    Dl_info info;
    char real[RPC_PATH_MAX];
    if (!dladdr(folder, &info) || !info.dli_fname || !realpath(info.dli_fname, real) || !strrchr(real, '/'))
        return;
    *strrchr(real, '/') = 0;
    strcpy(folder, real);
}

const char *link_process_folder(void)
{
    pthread_once(&once, find_folder);
    return folder[0] ? folder : NULL;
}

static enum status stub_open(const struct rpc_session_opts *o, struct rpc_session **ret)
{
    RETURN_IF(o->arch != RPC_ARCH, ST_LOADING, "this is the stub library of arch %d; a session of arch %u was asked for",
              RPC_ARCH, o->arch);
    RETURN_IF(o->build_id && !str_eq(o->build_id, RPC_BUILD_ID), ST_LOADING,
              "the stub library is of build \"%s\", the backend of build \"%s\"; take both from one installation",
              RPC_BUILD_ID, o->build_id);
    return link_open(&link_process_transport, RPC_BUILD_ID, o, ret);
}

static const struct rpc_link stub_link = {
    .arch = RPC_ARCH,
    .build_id = RPC_BUILD_ID,
    .open = stub_open,
    LINK_CALLS,
};

__attribute__((visibility("default"))) const struct rpc_link *openqnn_stub_link(uint32_t version);

const struct rpc_link *openqnn_stub_link(uint32_t version)
{
    return version == RPC_LINK_VERSION ? &stub_link : NULL;
}
