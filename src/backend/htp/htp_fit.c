/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a context binary is one for the device: it can run there (architecture, fast memory), and, where the client asks
 * for that (BINARY_COMPATIBILITY), it was made as it would be made there now. A device that was not named is whatever the
 * binary was made for, and every binary fits it. */
#include "backend/htp/htp_backend.h"

#include <stdio.h>
#include <string.h>

enum { MIB = 1 << 20, NAME_MAX_BYTES = 96 };

bool htp_device_named(const struct backend_device_cfg *d, struct htp_hardware *ret)
{
    const struct rpc_soc *soc = NULL;

    if (d->given)
        soc = d->soc_model ? rpc_soc_find(d->soc_model) : rpc_soc_of_arch(d->arch);
    else if (htp_soc_named())
        soc = htp_soc_default();
    else
        return false;

    *ret = (struct htp_hardware){ .soc = soc, .arch = d->given ? d->arch : soc->arch };
    ret->vtcm_mb = d->vtcm_mb;
    if (!ret->vtcm_mb)
        ret->vtcm_mb = soc ? soc->vtcm_mb : htp_soc_default()->vtcm_mb;
    return true;
}

static void name_made_for(const struct binary_target *t, char ret[NAME_MAX_BYTES])
{
    const struct rpc_soc *soc = t->soc_model ? rpc_soc_find(t->soc_model) : NULL;

    if (soc)
        snprintf(ret, NAME_MAX_BYTES, "%s (v%u, VTCM %u MB)", soc->name, t->arch, soc->vtcm_mb);
    else
        snprintf(ret, NAME_MAX_BYTES, "any SoC of v%u", t->arch);
}

static void name_device(const struct htp_hardware *h, char ret[NAME_MAX_BYTES])
{
    snprintf(ret, NAME_MAX_BYTES, "%s (v%u, VTCM %u MB)", h->soc ? h->soc->name : "a device", h->arch, h->vtcm_mb);
}

static bool is_enabled(const struct backend_context_cfg *cfg, const char *graph)
{
    for (const char *const *name = cfg->enabled; name && *name; name++)
        if (strcmp(*name, graph) == 0)
            return true;
    return !cfg->enabled;
}

/* ---- it can run ------------------------------------------------------------------------------------------------------- */

static enum status check_runs(const struct backend_context_cfg *cfg, const struct binary *b, const struct htp_hardware *h)
{
    char made_for[NAME_MAX_BYTES], device[NAME_MAX_BYTES];
    name_made_for(&b->target, made_for);
    name_device(h, device);

    RETURN_IF(b->target.arch > h->arch, ST_BINARY_CONFIG,
              "the context binary was made for %s, HTP architecture v%u; this device is %s: prepare the model for v%u, or "
              "create the device for a newer SoC",
              made_for, b->target.arch, device, h->arch);

    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const struct binary_graph_info *g = &b->graphs[i].info;
        bool fits = !is_enabled(cfg, g->name) || g->vtcm_bytes <= (uint64_t)h->vtcm_mb * MIB;

        RETURN_IF(!fits, ST_BAD_BINARY,
                  "the context binary was made for %s, and its graph \"%s\" computes in %llu bytes of VTCM; this device is "
                  "%s: prepare the model with vtcm_mb %u, or for this device",
                  made_for, g->name, (unsigned long long)g->vtcm_bytes, device, h->vtcm_mb);
    }
    return ST_OK;
}

/* ---- at its best ------------------------------------------------------------------------------------------------------ */

static enum status check_best(const struct backend_context_cfg *cfg, const struct binary *b, const struct htp_hardware *h)
{
    char made_for[NAME_MAX_BYTES], device[NAME_MAX_BYTES];
    bool other_soc = b->target.soc_model && h->soc && b->target.soc_model != h->soc->model;
    name_made_for(&b->target, made_for);
    name_device(h, device);

    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const struct binary_graph_info *g = &b->graphs[i].info;
        bool more = (g->options & HTP_GRAPH_VTCM_MAX) && g->vtcm_mb < h->vtcm_mb;
        bool threads = h->soc && g->hvx_threads > h->soc->hvx;

        if (!is_enabled(cfg, g->name))
            continue;
        RETURN_IF(more, ST_SUBOPTIMAL,
                  "graph \"%s\" was to use all VTCM, which were %u MB on %s; this device is %s: prepare the model again, or "
                  "load with PERMISSIVE",
                  g->name, g->vtcm_mb, made_for, device);
        RETURN_IF(threads, ST_SUBOPTIMAL,
                  "graph \"%s\" was made for %u HVX threads; this device, %s, has %u: prepare the model again, or load with "
                  "PERMISSIVE",
                  g->name, g->hvx_threads, device, h->soc->hvx);
    }

    RETURN_IF(b->target.arch != h->arch || other_soc, ST_SUBOPTIMAL,
              "the context binary was made for %s; this device is %s: prepare the model again, or load with PERMISSIVE",
              made_for, device);
    return ST_OK;
}

enum status htp_check_binary(const struct backend_context_cfg *cfg, const struct binary *b)
{
    struct htp_hardware h;

    RETURN_IF(!htp_arch_known(b->target.arch), ST_BINARY_CONFIG,
              "the context binary was made for HTP architecture v%u, which is not known here", b->target.arch);
    if (!htp_device_named(&cfg->device, &h))
        return ST_OK;
    TRY(check_runs(cfg, b, &h));
    return cfg->strict_binary ? check_best(cfg, b, &h) : ST_OK;
}
