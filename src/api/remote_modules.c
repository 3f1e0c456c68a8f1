/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h, the part that needs a module which runs on the DSP's own processor. None can run here: opening one fails, and so
 * does what needs an open one. */
#include "api/remote_codes.h"
#include "remote.h"

int remote_handle_open(const char *name, remote_handle *ph)
{
    return name && ph ? NO_SUCH_THING : BAD_PARAMETER;
}

int remote_handle64_open(const char *name, remote_handle64 *ph)
{
    return name && ph ? NO_SUCH_THING : BAD_PARAMETER;
}

int remote_handle_invoke(remote_handle h, uint32_t dwScalars, remote_arg *pra)
{
    (void)h, (void)dwScalars, (void)pra;
    return BAD_PARAMETER;
}

int remote_handle64_invoke(remote_handle64 h, uint32_t dwScalars, remote_arg *pra)
{
    (void)h, (void)dwScalars, (void)pra;
    return BAD_PARAMETER;
}

int remote_handle_close(remote_handle h)
{
    (void)h;
    return BAD_PARAMETER;
}

int remote_handle64_close(remote_handle64 h)
{
    (void)h;
    return BAD_PARAMETER;
}

int remote_handle_invoke_async(remote_handle h, fastrpc_async_descriptor_t *desc, uint32_t dwScalars, remote_arg *pra)
{
    (void)h, (void)desc, (void)dwScalars, (void)pra;
    return UNSUPPORTED;
}

int remote_handle64_invoke_async(remote_handle64 h, fastrpc_async_descriptor_t *desc, uint32_t dwScalars, remote_arg *pra)
{
    (void)h, (void)desc, (void)dwScalars, (void)pra;
    return UNSUPPORTED;
}

int fastrpc_async_get_status(fastrpc_async_jobid jobid, int timeout_us, int *result)
{
    (void)jobid, (void)timeout_us, (void)result;
    return BAD_PARAMETER;
}

int fastrpc_release_async_job(fastrpc_async_jobid jobid)
{
    (void)jobid;
    return BAD_PARAMETER;
}

int remote_mmap64(int fd, uint32_t flags, uint64_t vaddrin, int64_t size, uint64_t *vaddrout)
{
    (void)fd, (void)flags, (void)vaddrin, (void)size, (void)vaddrout;
    return UNSUPPORTED;
}

int remote_munmap64(uint64_t vaddrout, int64_t size)
{
    (void)vaddrout, (void)size;
    return BAD_PARAMETER;
}

int remote_mmap(int fd, uint32_t flags, uint32_t vaddrin, int size, uint32_t *vaddrout)
{
    (void)fd, (void)flags, (void)vaddrin, (void)size, (void)vaddrout;
    return UNSUPPORTED;
}

int remote_munmap(uint32_t vaddrout, int size)
{
    (void)vaddrout, (void)size;
    return BAD_PARAMETER;
}

int remote_mem_map(int domain, int fd, int flags, uint64_t virtAddr, size_t size, uint64_t *remoteVirtAddr)
{
    (void)domain, (void)fd, (void)flags, (void)virtAddr, (void)size, (void)remoteVirtAddr;
    return UNSUPPORTED;
}

int remote_mem_unmap(int domain, uint64_t remoteVirtAddr, size_t size)
{
    (void)domain, (void)remoteVirtAddr, (void)size;
    return BAD_PARAMETER;
}
