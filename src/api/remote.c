/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h, in libcdsprpc.so. Clients ask it which DSP there is and prepare sessions before they use a backend, so these
 * calls answer as the device would that OPENQNN_SOC names. The sessions of the backends are not reached through here. What
 * clients tell about memory is in remote_memory.c, modules for the DSP's own processor are in remote_modules.c. */
#include "remote.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote_codes.h"
#include "rpc/rpc.h"

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

bool remote_domain_allowed(int domain)
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
    if (!remote_domain_allowed((int)c->domain) || (int)c->domain == -1) {
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
    if (!remote_domain_allowed(domain))
        return BAD_PARAMETER;
    pthread_mutex_lock(&lock);
    if (domain >= SESSION_STEP && reserved[domain % SESSION_STEP] == (uint32_t)domain / SESSION_STEP)
        reserved[domain % SESSION_STEP]--;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

static int process_type(struct remote_process_type *t)
{
    if (!remote_domain_allowed(t->domain))
        return BAD_PARAMETER;
    t->process_type = PROCESS_TYPE_UNSIGNED;
    return SUCCESS;
}

/* How sessions shall be; all these structs begin with the domain. Nothing here depends on the wish. */
static int wish(const int *domain)
{
    return remote_domain_allowed(*domain) ? SUCCESS : BAD_PARAMETER;
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
