/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a graph against its device and against each other, when they are set; and how many graphs of a context may
 * have them, when a graph is prepared. */
#include "backend/htp/htp_backend.h"
#include "backend/htp/htp_cost.h"

#include <inttypes.h>

enum { MAX_SHARING = 64, MAX_DLBC = 32, MAX_BOTH_DLBC = 16 }; /* graphs of a context */

/* ---- one graph -------------------------------------------------------------------------------------------------------- */

static enum status check_archs(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    for (size_t i = 0; i < htp_graph_options.n; i++)
        if (s->given >> i & 1)
            TRY(htp_option_check_arch(&htp_graph_options, &htp_graph_options.rows[i], c->arch));
    return ST_OK;
}

static enum status check_vtcm(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    static _Atomic bool said;
    uint64_t most = (uint64_t)c->vtcm_mb << 20;

    RETURN_IF(s->vtcm_bytes_given && s->vtcm_bytes > most, ST_INVALID_CONFIG,
              "HTP graph config: VTCM_SIZE_IN_BYTES is %u; the device has %" PRIu64 ": ask for that at "
              "most, or 0 for all",
              s->vtcm_bytes, most);
    if (!s->vtcm_mb_given || s->vtcm_mb <= c->vtcm_mb)
        return ST_OK;
    return htp_deviate(&said, ST_INVALID_CONFIG,
                       "HTP graph config: VTCM_SIZE_IN_MB is %u; the device has %u, which is used: ask for "
                       "that at most, or 0 for all",
                       s->vtcm_mb, c->vtcm_mb);
}

static enum status check_threads(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    static _Atomic bool said;

    if (s->hvx_threads <= c->hvx || s->hvx_threads == HTP_DEFAULT_HVX)
        return ST_OK;
    return htp_deviate(&said, ST_INVALID_CONFIG,
                       "HTP graph config: NUM_HVX_THREADS is %" PRIu64 "; the device has %u, which are "
                       "used: ask for that at most, or 0 "
                       "for all",
                       s->hvx_threads, c->hvx);
}

static enum status check_cores(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    RETURN_IF(s->cores > c->cores, ST_INVALID_CONFIG,
              "HTP graph config: NUM_CORES is %u; the device has %u: ask for that at most, or create the "
              "device for a SoC with more (52, SA8255, has 2)",
              s->cores, c->cores);
    RETURN_IF(s->cores > 1 && s->concurrency, ST_INVALID_CONFIG,
              "HTP graph config: NUM_CORES is %u and PARALLEL_GRAPH_EXECUTION_CONFIG asks for concurrency; "
              "use one of both",
              s->cores);
    RETURN_IF(s->cores > 1 && c->own.weight_sharing, ST_INVALID_CONFIG,
              "HTP graph config: NUM_CORES is %u in a context with WEIGHT_SHARING_ENABLED; use one of both", s->cores);
    RETURN_IF(s->cores > 1 && c->own.grouped, ST_INVALID_CONFIG,
              "HTP graph config: NUM_CORES is %u in a context that shares a spill-fill buffer (REGISTER_MULTI_CONTEXTS); "
              "use one of both",
              s->cores);
    return ST_OK;
}

static enum status check_part(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    uint64_t most = (uint64_t)c->vtcm_mb << 20;
    uint64_t size = s->vtcm_part[0];
    uint64_t offset = s->vtcm_part[1];
    uint64_t total = s->vtcm_part[2] ? s->vtcm_part[2] : most;

    RETURN_IF(s->concurrency && (total > most || offset + size > total), ST_INVALID_CONFIG,
              "HTP graph config: PARALLEL_GRAPH_EXECUTION_CONFIG: VTCM of %" PRIu64 " bytes from %" PRIu64 " on, of %" PRIu64
              "; the device has %" PRIu64 ": name a part of that",
              size, offset, total, most);
    return ST_OK;
}

static void check_cache(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    static _Atomic bool said;

    if (s->slc != HTP_SLC_ON || htp_slc_bytes(c->soc_model) || atomic_exchange(&said, true))
        return;
    backend_log(BACKEND_WARN,
                "HTP graph config: ENABLE_SLC_ALLOCATOR has no effect: the device's SoC has no allocator for its "
                "system level cache; create the device for SoC 69 (SM8750) or 87 (SM8850)");
}

static void check_sparse(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    static _Atomic bool said;

    if (!s->sparse_weights || htp_has_sparse_weights(c->soc_model) || atomic_exchange(&said, true))
        return;
    backend_log(BACKEND_WARN,
                "HTP graph config: ENABLE_SPARSE_WEIGHTS_COMPRESSION has no effect: the device's SoC does not have it; "
                "create the device for SoC 52 (SA8255) or 67 (SA8620)");
}

static enum status check_compression(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    RETURN_IF(s->dlbc_weights && c->own.weight_sharing, ST_INVALID_CONFIG,
              "HTP graph config: ENABLE_DLBC_WEIGHTS in a context with WEIGHT_SHARING_ENABLED; use one of both");
    RETURN_IF((s->dlbc || s->dlbc_weights) && c->own.grouped, ST_INVALID_CONFIG,
              "HTP graph config: %s in a context that shares a spill-fill buffer (REGISTER_MULTI_CONTEXTS); "
              "use one of both",
              s->dlbc ? "ENABLE_DLBC" : "ENABLE_DLBC_WEIGHTS");
    return ST_OK;
}

enum status htp_graph_check(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    TRY(check_archs(c, s));
    TRY(check_vtcm(c, s));
    TRY(check_threads(c, s));
    TRY(check_cores(c, s));
    TRY(check_part(c, s));
    check_cache(c, s);
    check_sparse(c, s);
    return check_compression(c, s);
}

uint32_t htp_threads(const struct backend_context *c, const struct htp_graph_cfg *s)
{
    return !s->hvx_threads || s->hvx_threads > c->hvx ? c->hvx : (uint32_t)s->hvx_threads;
}

/* ---- all graphs of a context ------------------------------------------------------------------------------------------ */

static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return hash;
}

/* A graph that is prepared again, for an update, is the same one. */
static struct htp_prepared *find_prepared(struct backend_context *c, uint64_t name)
{
    for (size_t i = 0; i < c->prepared.n; i++)
        if (c->prepared.at[i].name == name)
            return &c->prepared.at[i];
    return NULL;
}

static enum status check_count(const char *option, uint32_t graphs, uint32_t most)
{
    RETURN_IF(graphs >= most, ST_INVALID_CONFIG,
              "HTP graph config: %s is available for %u graphs of a context, and %u have it already: "
              "prepare the others in another context",
              option, most, graphs);
    return ST_OK;
}

static enum status add_prepared(struct backend_context *c, uint64_t name, const struct htp_graph_cfg *s)
{
    uint32_t dlbc = 0;
    bool compressed = s->dlbc || s->dlbc_weights;
    bool both = s->dlbc && s->dlbc_weights;

    for (size_t i = 0; i < c->prepared.n; i++) {
        dlbc += c->prepared.at[i].compressed;
        both |= c->prepared.at[i].both;
    }
    if (c->own.weight_sharing)
        TRY(check_count("WEIGHT_SHARING_ENABLED", (uint32_t)c->prepared.n, MAX_SHARING));
    if (compressed && both)
        TRY(check_count("ENABLE_DLBC with ENABLE_DLBC_WEIGHTS", dlbc, MAX_BOTH_DLBC));
    if (compressed)
        TRY(check_count(s->dlbc ? "ENABLE_DLBC" : "ENABLE_DLBC_WEIGHTS", dlbc, MAX_DLBC));

    struct htp_prepared *new = vec_push(&c->prepared);
    RETURN_IF(!new, ST_NO_MEMORY, "no memory for the settings of a graph");
    *new = (struct htp_prepared){ .name = name, .compressed = compressed, .both = s->dlbc && s->dlbc_weights };
    return ST_OK;
}

enum status htp_count_graph(struct backend_context *c, const char *graph, const struct htp_graph_cfg *s)
{
    uint64_t name = hash_name(graph);

    pthread_mutex_lock(&c->lock);
    enum status st = find_prepared(c, name) ? ST_OK : add_prepared(c, name, s);
    pthread_mutex_unlock(&c->lock);
    return st;
}
