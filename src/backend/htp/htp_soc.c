/* SPDX-License-Identifier: Apache-2.0 */
/* Which SoC this process pretends to run on; the table of all is in rpc/. */
#include "backend/htp/htp_backend.h"

#include <stdlib.h>

static const uint32_t archs[] = { 68, 69, 73, 75, 79, 81, 85, 89 };

static _Atomic uint32_t global_model; /* QnnGlobalConfig, 0: none */

bool htp_arch_known(uint32_t arch)
{
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
        if (archs[i] == arch)
            return true;
    return false;
}

enum status htp_soc_model(uint32_t model)
{
    const struct rpc_soc *s = rpc_soc_find(model);
    RETURN_IF(model && (!s || !s->has_htp), ST_INVALID_CONFIG,
              "SoC model %u is %s; give the number of one that has an HTP, for instance 43 (SM8550)", model,
              s ? "one without an HTP" : "not known");
    global_model = model;
    return ST_OK;
}

const struct rpc_soc *htp_soc_default(void)
{
    uint32_t model = global_model;
    const char *name = getenv("OPENQNN_SOC");
    const struct rpc_soc *s = model ? rpc_soc_find(model) : name && *name ? rpc_soc_find_name(name) : NULL;
    if (!model && name && *name && (!s || !s->has_htp || !s->arch))
        backend_log(BACKEND_WARN, "OPENQNN_SOC=%s names no SoC with a known HTP; SM8550 is used", name);
    return s && s->has_htp && s->arch ? s : rpc_soc_find(HTP_DEFAULT_SOC);
}

bool htp_soc_named(void)
{
    const char *name = getenv("OPENQNN_SOC");
    const struct rpc_soc *s = name && *name ? rpc_soc_find_name(name) : NULL;

    return global_model || (s && s->has_htp && s->arch);
}

static const struct rpc_soc *_Atomic used;
static _Atomic uint32_t used_arch;

void htp_soc_use(const struct rpc_soc *soc, uint32_t arch)
{
    used = soc;
    used_arch = arch;
}

const struct rpc_soc *htp_soc_used(void)
{
    const struct rpc_soc *soc = used;
    return soc ? soc : htp_soc_default();
}

uint32_t htp_soc_arch(void)
{
    uint32_t arch = used_arch;
    return arch ? arch : htp_soc_default()->arch;
}
