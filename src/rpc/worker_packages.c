/* SPDX-License-Identifier: Apache-2.0 */
/* Op packages of a session. Their code is the client's: in a process of its own the session is locked in before anything of
 * it is called, constructors of its libraries aside. */
#include "rpc/worker.h"

static enum status check(void)
{
    RETURN_IF(!&rpc_packages, ST_NOT_SUPPORTED, "this session does not run op packages; libQnnHtp.so and its skel do");
    return ST_OK;
}

enum status worker_packages_open(const char *list)
{
    if (!list || !*list)
        return ST_OK;
    TRY(check());
    return rpc_packages.open(list);
}

enum status worker_packages_begin(struct worker *w, const char *list)
{
    if (!list || !*list)
        return ST_OK;
    TRY(check());
    TRY(rpc_packages.begin(list, &w->packages));
    rpc_packages.outside(w->packages, &w->outside);
    return ST_OK;
}

void worker_packages_end(struct worker *w)
{
    if (w->packages)
        rpc_packages.end(w->packages);
    w->packages = NULL;
}
