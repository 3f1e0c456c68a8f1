/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h, in libcdsprpc.so. Clients ask it which DSP there is, prepare sessions and tell it about memory, all before they
 * use a backend, so those calls answer as the device would that OPENQNN_SOC names. Modules for the DSP's own processor
 * cannot run here: opening one fails, and so does what needs an open one. The sessions of the backends are not reached
 * through here. */
#include "remote.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/vec.h"
#include "rpc/rpc.h"

enum { SUCCESS = 0, FAILED = 1, NO_MEMORY = 2, BAD_PARAMETER = 14, UNSUPPORTED = 20, NO_SUCH_THING = 39 };
enum { MAX_SESSIONS = 4, DOMAINS = 5, SESSION_STEP = DOMAINS /* effective id = session * SESSION_STEP + domain */ };

static const char *const domain_names[DOMAINS] = {
    [ADSP_DOMAIN_ID] = ADSP_DOMAIN_NAME, [MDSP_DOMAIN_ID] = MDSP_DOMAIN_NAME,   [SDSP_DOMAIN_ID] = SDSP_DOMAIN_NAME,
    [CDSP_DOMAIN_ID] = CDSP_DOMAIN_NAME, [CDSP1_DOMAIN_ID] = CDSP1_DOMAIN_NAME,
};

/* ---- domains ---------------------------------------------------------------------------------------------------------- */

static bool domain_exists(uint32_t domain)
{
    return domain == CDSP_DOMAIN_ID || domain == ADSP_DOMAIN_ID;
}

/* -1, or the number of a session's domain: any domain of ours. */
static bool domain_allowed(int domain)
{
    return domain == -1 ||
           (domain >= 0 && domain < MAX_SESSIONS * SESSION_STEP && domain_exists((uint32_t)domain % SESSION_STEP));
}

static int domain_by_name(const char *name, uint32_t length)
{
    size_t n = name ? strnlen(name, length) : 0;
    for (int i = 0; i < DOMAINS; i++)
        if (n && strlen(domain_names[i]) == n && memcmp(domain_names[i], name, n) == 0 && domain_exists((uint32_t)i))
            return i;
    return -1;
}

/* The SoC that the backend takes without configuration. */
static const struct rpc_soc *soc(void)
{
    const char *name = getenv("OPENQNN_SOC");
    const struct rpc_soc *s = name && *name ? rpc_soc_find_name(name) : NULL;
    return s && s->has_htp && s->arch ? s : rpc_soc_find_name("SM8550");
}

/* Architectures are told in hexadecimal digits: 0x73. */
static uint32_t arch(void)
{
    return soc()->arch / 10u * 16u + soc()->arch % 10u;
}

static int get_capability(fastrpc_capability *c)
{
    if (!domain_allowed((int)c->domain) || (int)c->domain == -1) {
        c->capability = 0;
        return c->attribute_ID == DOMAIN_SUPPORT ? SUCCESS : BAD_PARAMETER;
    }
    bool compute = c->domain % SESSION_STEP == CDSP_DOMAIN_ID;
    switch (c->attribute_ID) {
    case DOMAIN_SUPPORT:
    case UNSIGNED_PD_SUPPORT:
        c->capability = 1;
        return SUCCESS;
    case HVX_SUPPORT_128B:
    case HMX_SUPPORT_DEPTH:
    case VTCM_COUNT:
        c->capability = compute;
        return SUCCESS;
    case VTCM_PAGE:
        c->capability = compute ? (uint32_t)soc()->vtcm_mb << 20 : 0;
        return SUCCESS;
    case ARCH_VER:
        c->capability = arch();
        return SUCCESS;
    case HVX_SUPPORT_64B:
    case HMX_SUPPORT_SPATIAL:
    case ASYNC_FASTRPC_SUPPORT:
    case STATUS_NOTIFICATION_SUPPORT:
    case MCID_MULTICAST:
        c->capability = 0;
        return SUCCESS;
    }
    return BAD_PARAMETER;
}

/* ---- requests about handles ------------------------------------------------------------------------------------------- */

/* Bytes that a request brings; 0: known, but not supported here. */
static const struct {
    uint32_t request;
    uint32_t bytes;
} handle_requests[] = {
    { DSPRPC_CONTROL_LATENCY, sizeof(struct remote_rpc_control_latency) },
    { DSPRPC_GET_DSP_INFO, sizeof(fastrpc_capability) },
    { DSPRPC_CONTROL_WAKELOCK, sizeof(struct remote_rpc_control_wakelock) },
    { DSPRPC_GET_DOMAIN, sizeof(remote_rpc_get_domain_t) },
};

int remote_handle_control(uint32_t req, void *data, uint32_t datalen)
{
    for (size_t i = 0; i < sizeof(handle_requests) / sizeof(handle_requests[0]); i++) {
        if (handle_requests[i].request != req)
            continue;
        if (!data || datalen < handle_requests[i].bytes)
            return BAD_PARAMETER;
        if (req == DSPRPC_GET_DSP_INFO)
            return get_capability(data);
        if (req == DSPRPC_GET_DOMAIN)
            ((remote_rpc_get_domain_t *)data)->domain = CDSP_DOMAIN_ID;
        return SUCCESS; /* wishes about latency and power; a backend has its own */
    }
    return UNSUPPORTED;
}

int remote_handle64_control(remote_handle64 h, uint32_t req, void *data, uint32_t datalen)
{
    (void)h; /* -1 means the default session; others cannot have been opened */
    return remote_handle_control(req, data, datalen);
}

/* ---- requests about sessions ------------------------------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t reserved[DOMAINS]; /* sessions beside the first */

static int reserve_session(remote_rpc_reserve_new_session_t *r)
{
    int domain = domain_by_name(r->domain_name, r->domain_name_len);
    if (domain < 0)
        return BAD_PARAMETER;
    pthread_mutex_lock(&lock);
    uint32_t session = reserved[domain] + 1;
    bool free = session < MAX_SESSIONS;
    if (free)
        reserved[domain] = session;
    pthread_mutex_unlock(&lock);
    if (!free)
        return NO_MEMORY;
    r->session_id = session;
    r->effective_domain_id = session * SESSION_STEP + (uint32_t)domain;
    return SUCCESS;
}

static bool session_known(int domain, uint32_t session)
{
    pthread_mutex_lock(&lock);
    bool known = session <= reserved[domain];
    pthread_mutex_unlock(&lock);
    return known;
}

static int effective_id(remote_rpc_effective_domain_id_t *r)
{
    int domain = domain_by_name(r->domain_name, r->domain_name_len);
    if (domain < 0 || !session_known(domain, r->session_id))
        return BAD_PARAMETER;
    r->effective_domain_id = r->session_id * SESSION_STEP + (uint32_t)domain;
    return SUCCESS;
}

static int get_uri(remote_rpc_get_uri_t *r)
{
    int domain = domain_by_name(r->domain_name, r->domain_name_len);
    if (domain < 0 || !session_known(domain, r->session_id) || !r->module_uri || !r->uri)
        return BAD_PARAMETER;
    char session[32] = "";
    if (r->session_id)
        snprintf(session, sizeof(session), "&_session=%u", r->session_id);
    int n = snprintf(r->uri, r->uri_len, "%.*s&_dom=%s%s", (int)strnlen(r->module_uri, r->module_uri_len), r->module_uri,
                     domain_names[domain], session);
    return n >= 0 && (uint32_t)n < r->uri_len ? SUCCESS : BAD_PARAMETER;
}

/* Ends the reservation that gave this number. */
static int close_session(int domain)
{
    if (!domain_allowed(domain))
        return BAD_PARAMETER;
    pthread_mutex_lock(&lock);
    if (domain >= SESSION_STEP && reserved[domain % SESSION_STEP] == (uint32_t)domain / SESSION_STEP)
        reserved[domain % SESSION_STEP]--;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

static int process_type(struct remote_process_type *t)
{
    if (!domain_allowed(t->domain))
        return BAD_PARAMETER;
    t->process_type = PROCESS_TYPE_UNSIGNED;
    return SUCCESS;
}

/* How sessions shall be; all these structs begin with the domain. Nothing here depends on the wish. */
static int wish(const int *domain)
{
    return domain_allowed(*domain) ? SUCCESS : BAD_PARAMETER;
}

int remote_session_control(uint32_t req, void *data, uint32_t datalen)
{
    static const struct {
        uint32_t request, bytes;
    } requests[] = {
        { FASTRPC_THREAD_PARAMS, sizeof(struct remote_rpc_thread_params) },
        { DSPRPC_CONTROL_UNSIGNED_MODULE, sizeof(struct remote_rpc_control_unsigned_module) },
        { FASTRPC_RELATIVE_THREAD_PRIORITY, sizeof(struct remote_rpc_relative_thread_priority) },
        { FASTRPC_SESSION_CLOSE, sizeof(struct remote_rpc_session_close) },
        { FASTRPC_CONTROL_PD_DUMP, sizeof(struct remote_rpc_control_pd_dump) },
        { FASTRPC_REMOTE_PROCESS_TYPE, sizeof(struct remote_process_type) },
        { FASTRPC_PD_INITMEM_SIZE, sizeof(struct remote_rpc_pd_initmem_size) },
        { FASTRPC_RESERVE_NEW_SESSION, sizeof(remote_rpc_reserve_new_session_t) },
        { FASTRPC_GET_EFFECTIVE_DOMAIN_ID, sizeof(remote_rpc_effective_domain_id_t) },
        { FASTRPC_GET_URI, sizeof(remote_rpc_get_uri_t) },
    };
    size_t i = 0, n = sizeof(requests) / sizeof(requests[0]);
    while (i < n && requests[i].request != req)
        i++;
    if (i == n)
        return UNSUPPORTED;
    if (!data || datalen < requests[i].bytes)
        return BAD_PARAMETER;
    switch (req) {
    case FASTRPC_SESSION_CLOSE:
        return close_session(((struct remote_rpc_session_close *)data)->domain);
    case FASTRPC_REMOTE_PROCESS_TYPE:
        return process_type(data);
    case FASTRPC_RESERVE_NEW_SESSION:
        return reserve_session(data);
    case FASTRPC_GET_EFFECTIVE_DOMAIN_ID:
        return effective_id(data);
    case FASTRPC_GET_URI:
        return get_uri(data);
    }
    return wish(data);
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

/* What clients told us about their memory. */
struct told {
    int domain, fd;
    void *at;
    size_t size;
    bool ours; /* an address that remote_register_fd reserved */
};
static VEC(struct told) memory;

static struct told *find(int domain, int fd, const void *at)
{
    for (size_t i = 0; i < memory.n; i++)
        if (memory.at[i].domain == domain && (fd < 0 || memory.at[i].fd == fd) && memory.at[i].at == at)
            return &memory.at[i];
    return NULL;
}

static int remember(struct told t)
{
    pthread_mutex_lock(&lock);
    struct told *slot = vec_push(&memory);
    if (slot)
        *slot = t;
    pthread_mutex_unlock(&lock);
    return slot ? SUCCESS : NO_MEMORY;
}

static int forget(int domain, int fd, const void *at)
{
    struct told gone = { .ours = false };
    pthread_mutex_lock(&lock);
    struct told *t = find(domain, fd, at);
    if (t) {
        gone = *t;
        *t = memory.at[--memory.n];
        if (!memory.n)
            vec_finish(&memory);
    }
    pthread_mutex_unlock(&lock);
    if (gone.ours)
        munmap(gone.at, gone.size);
    return t ? SUCCESS : BAD_PARAMETER;
}

static bool is_open(int fd)
{
    return fd >= 0 && fcntl(fd, F_GETFD) >= 0;
}

/* Sessions of the backends map what QnnMem_register names; here it is only checked and remembered. */
int fastrpc_mmap(int domain, int fd, void *addr, int offset, size_t length, enum fastrpc_map_flags flags)
{
    bool known = flags == FASTRPC_MAP_STATIC || flags == FASTRPC_MAP_FD || flags == FASTRPC_MAP_FD_DELAYED ||
                 flags == FASTRPC_MAP_FD_NOMAP;
    if (!known)
        return UNSUPPORTED;
    if (!domain_allowed(domain) || !is_open(fd) || offset < 0 || !length)
        return BAD_PARAMETER;
    return remember((struct told){ domain, fd, addr, length, false });
}

int fastrpc_munmap(int domain, int fd, void *addr, size_t length)
{
    (void)length;
    return fd < 0 ? BAD_PARAMETER : forget(domain, fd, addr);
}

void remote_register_buf_attr2(void *buf, size_t size, int fd, int attr)
{
    (void)attr;
    if (!buf)
        return;
    if (fd == -1)
        forget(-2, -1, buf); /* a domain that nobody has */
    else if (is_open(fd) && size)
        remember((struct told){ -2, fd, buf, size, false });
}

void remote_register_buf_attr(void *buf, int size, int fd, int attr)
{
    if (size > 0 || fd == -1)
        remote_register_buf_attr2(buf, size > 0 ? (size_t)size : 0, fd, attr);
}

void remote_register_buf(void *buf, int size, int fd)
{
    remote_register_buf_attr(buf, size, fd, FASTRPC_ATTR_NONE);
}

int remote_register_dma_handle_attr(int fd, uint32_t len, uint32_t attr)
{
    (void)attr;
    if (!len)
        return fd < 0 ? BAD_PARAMETER : forget(-3, fd, NULL);
    return is_open(fd) ? remember((struct told){ -3, fd, NULL, len, false }) : BAD_PARAMETER;
}

int remote_register_dma_handle(int fd, uint32_t len)
{
    return remote_register_dma_handle_attr(fd, len, FASTRPC_ATTR_NONE);
}

void *remote_register_fd2(int fd, size_t size)
{
    void *at =
        is_open(fd) && size ? mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    if (at != MAP_FAILED && remember((struct told){ -2, fd, at, size, true }) != SUCCESS) {
        munmap(at, size);
        at = MAP_FAILED;
    }
    return at == MAP_FAILED ? (void *)-1 : at;
}

void *remote_register_fd(int fd, int size)
{
    return size > 0 ? remote_register_fd2(fd, (size_t)size) : (void *)-1;
}

/* ---- what needs a module that runs on the DSP itself ------------------------------------------------------------------ */

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
