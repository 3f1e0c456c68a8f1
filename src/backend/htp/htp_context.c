/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of the HTP backend: their SoC, their session, and preparing graphs for them in libQnnHtpPrepare.so. */
#include "backend/htp/htp_device_check.h"
#include "backend/htp/htp_group.h"
#include "backend/htp/htp_switch.h"

#include <string.h>

#include "base/mem.h"

/* ---- life ------------------------------------------------------------------------------------------------------------- */

enum status htp_open(const struct backend_context_cfg *cfg, struct backend_context **ret)
{
    struct backend_context *c = mem_new(struct backend_context);
    RETURN_IF(!c, ST_NO_MEMORY, "no memory for a context");
    const struct rpc_soc *s =
        cfg->device.soc_model ? rpc_soc_find(cfg->device.soc_model) : rpc_soc_of_arch(cfg->device.arch);
    if (!s)
        s = htp_soc_default();
    c->cfg = *cfg;
    c->own = *htp_context_settings(&c->cfg);
    c->soc_model = cfg->device.soc_model;
    c->arch = cfg->device.arch;
    c->vtcm_mb = cfg->device.vtcm_mb ? cfg->device.vtcm_mb : s->vtcm_mb;
    c->cores = cfg->device.cores ? cfg->device.cores : s->cores;
    c->hvx = s->hvx;
    c->sessions = s->sessions;
    pthread_mutex_init(&c->lock, NULL);
    if (c->own.memory_profiling) {
        uint32_t contexts;
        htp_sessions_heap(&contexts);
        c->heap_first = !contexts;
    }
    enum status st = htp_context_check(c);
    if (st == ST_OK)
        st = htp_switch_create(c);
    if (st == ST_OK)
        st = htp_group_join(c);
    if (st != ST_OK) {
        htp_close(c);
        return st;
    }
    *ret = c;
    return ST_OK;
}

void htp_context_update(struct backend_context *c, const struct backend_context_cfg *cfg)
{
    pthread_mutex_lock(&c->lock);
    memcpy(c->cfg.own, cfg->own, sizeof c->cfg.own);
    bool prepare_only = c->own.prepare_only; /* graphs are loaded or not; that does not change any more */
    c->own = *htp_context_settings(&c->cfg);
    c->own.prepare_only = prepare_only;
    if (c->own.grouped && !c->group)
        backend_log(BACKEND_WARN,
                    "a context joins a group when it is created; REGISTER_MULTI_CONTEXTS changes nothing later");
    pthread_mutex_unlock(&c->lock);
}

void htp_close(struct backend_context *c)
{
    if (!c)
        return;
    htp_group_leave(c);
    htp_switch_free(c);
    htp_session_put(c->session);
    vec_finish(&c->constants);
    vec_finish(&c->prepared);
    htp_lay_finish(c);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

void htp_watch_signal(struct backend_context *c, const struct cancel *signal)
{
    pthread_mutex_lock(&c->lock);
    c->signal = signal;
    pthread_mutex_unlock(&c->lock);
}

enum status htp_check_context(struct backend_context *c)
{
    struct htp_session *s = c->session;
    return s ? htp_session_look(s) : ST_OK;
}

/* ---- placing ---------------------------------------------------------------------------------------------------------- */

static void say_where(const struct htp_session *s)
{
    struct rpc_usage u = { 0 };
    char guards[RPC_GUARDS_TEXT_MAX];

    s->link->usage(s->s, &u);
    rpc_guards_text(u.guards, guards);
    backend_log(BACKEND_INFO,
                "the context is on session %u (process %d): %llu of %llu bytes of addresses in use; its process domain is "
                "%s; it is locked in by: %s",
                s->index, u.pid, (unsigned long long)(u.mapped_bytes + u.heap_bytes), (unsigned long long)u.budget,
                htp_domain_name(s->kind.domain), guards);
}

/* One session after the other, the next one only when the work did not fit. What the last one said has the numbers. */
static enum status search(struct backend_context *c, htp_work_fn *work, void *arg)
{
    const struct htp_session_kind kind = { .arch = c->arch,
                                           .domain = c->cfg.device.flags & HTP_DOMAIN,
                                           .packages = htp_packages(c) };
    char why[STATUS_TEXT_MAX] = "";

    for (uint32_t i = 0;; i++) {
        struct htp_session *s;
        enum status st = htp_session_get(i, &kind, c->sessions, c->signal, &s);
        if (st == ST_NOT_FOUND)
            return status_fail(ST_NO_MEMORY,
                               "the context does not fit into any session of the %u that the SoC has for one process: %s",
                               c->sessions, why);
        if (st == ST_IN_USE) { /* by another kind */
            strcpy(why, status_text());
            continue;
        }
        TRY(st);
        st = work(c, s, arg);
        if (st == ST_OK) {
            c->session = s;
            say_where(s);
            return ST_OK;
        }
        strcpy(why, status_text());
        htp_session_put(s);
        if (st != ST_NO_MEMORY)
            return st;
    }
}

enum status htp_place(struct backend_context *c, htp_work_fn *work, void *arg)
{
    pthread_mutex_lock(&c->lock);
    enum status st;
    if (!c->session)
        st = search(c, work, arg);
    else if ((st = htp_session_check(c->session)) == ST_OK)
        st = work(c, c->session, arg);
    pthread_mutex_unlock(&c->lock);
    return st;
}

/* ---- preparing -------------------------------------------------------------------------------------------------------- */

/* Clients compare files made with and without the option, and expect the latter to be larger. */
bool htp_constants_apart(const struct backend_context *c)
{
    return !c->own.weight_sharing;
}

/* Conversions stand at the edge of a quantized graph, also on a device without float arithmetic. */
static bool is_conversion(enum op_id op)
{
    return op == OP_Quantize || op == OP_Dequantize || op == OP_Convert || op == OP_Cast;
}

static bool is_float(const struct ir_graph *graph, uint32_t tensor)
{
    if (tensor == IR_NONE || graph->tensors.at[tensor].role == IR_ABSENT)
        return false;
    enum dtype type = graph->tensors.at[tensor].desc.type;
    return type == DT_F32 || type == DT_F16;
}

static bool has_float_node(const struct ir_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct ir_node *node = &graph->nodes.at[i];

        for (uint32_t k = 0; k < node->n_out && !is_conversion(node->op->id); k++)
            if (is_float(graph, node->out[k]))
                return true;
    }
    for (size_t i = 0; i < graph->children.n; i++)
        if (has_float_node(graph->children.at[i]))
            return true;
    return false;
}

/* Float graphs compute in float16. Architectures before v73 have none; public suites run float graphs there all the same,
 * and expect float32 results. */
static enum status choose_precision(const struct backend_context *c, const struct ir_graph *graph,
                                    struct htp_graph_cfg *settings)
{
    enum { FIRST_FLOAT16_ARCH = 73 };

    settings->fp16 = !settings->float32 && !htp_float32_wanted();
    if (!settings->fp16 || c->arch >= FIRST_FLOAT16_ARCH)
        return ST_OK;

    settings->fp16 = false;
    if (!has_float_node(graph))
        return ST_OK;
    RETURN_IF(backend_strict(), ST_NOT_SUPPORTED,
              "graph \"%s\" computes in float, which needs architecture v%d; the device has v%u: prepare it "
              "for a newer SoC, quantize it, or unset OPENQNN_STRICT",
              graph->name, FIRST_FLOAT16_ARCH, c->arch);
    backend_log(BACKEND_WARN,
                "graph \"%s\" computes in float, which needs architecture v%d; a device of v%u would refuse "
                "it, here it is computed in float32",
                graph->name, FIRST_FLOAT16_ARCH, c->arch);
    return ST_OK;
}

/* The device as it is; what the client set for itself is not in the table of SoCs. */
static enum status check_device(const struct backend_context *c, const struct htp_graph_cfg *settings,
                                const struct ir_graph *graph)
{
    const struct rpc_soc *soc = c->soc_model ? rpc_soc_find(c->soc_model) : rpc_soc_of_arch(c->arch);
    bool given = settings->vtcm_mb_given || settings->vtcm_bytes_given;
    struct device_asked asked = { .vtcm_mb = given ? settings->vtcm_mb : 0,
                                  .options = settings->given,
                                  .weight_sharing = c->own.weight_sharing };

    return htp_device_checks(soc, &asked, graph);
}

enum status htp_prepare(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                        struct cancel *cancel, struct binary_image *ret)
{
    const struct htp_prepare_link *p;
    struct htp_prepare_args a = { .target = htp_binary_target(c->soc_model, c->arch),
                                  .cfg = htp_graph_settings(cfg),
                                  .priority = cfg->priority,
                                  .cancel = cancel };
    TRY(check_device(c, &a.cfg, g));
    TRY(choose_precision(c, g, &a.cfg));
    TRY(htp_check_weights16(g));
    a.vtcm_mb = a.cfg.vtcm_max || a.cfg.vtcm_mb > c->vtcm_mb ? c->vtcm_mb : a.cfg.vtcm_mb;
    uint64_t most = (uint64_t)a.vtcm_mb << 20;
    a.vtcm_bytes = a.cfg.vtcm_bytes && a.cfg.vtcm_bytes < most ? a.cfg.vtcm_bytes : most;
    if (a.cfg.concurrency && a.cfg.vtcm_part[0] && a.cfg.vtcm_part[0] < a.vtcm_bytes)
        a.vtcm_bytes = a.cfg.vtcm_part[0];
    a.hvx_threads = htp_threads(c, &a.cfg);
    TRY(htp_count_graph(c, g->name, &a.cfg));
    TRY(htp_find_prepare(&p));
    enum status st = p->prepare(&a, g, ret);
    if (st == ST_OK || p == &openqnn_htp_prepare) /* the built-in one has explained it here */
        return st;
    return status_fail(st, "%s", p->explain());
}

/* ---- profiles --------------------------------------------------------------------------------------------------------- */

static const struct {
    uint32_t type[2];
    const char *name[2];
} stage_names[STAGE_COUNT] = {
    [STAGE_LOAD] = { { 1002, 1003 }, { "RPC (load binary) time", "QNN accelerator (load binary) time" } },
    [STAGE_FINALIZE] = { { 2001, 2002 }, { "RPC (finalize) time", "QNN accelerator (finalize) time" } },
    [STAGE_DEINIT] = { { 4001 }, { "RPC (deinit) time" } }, /* the session does not tell how long it took */
    [STAGE_UPDATE] = { { 9002, 9003 },
                       { "RPC (apply binary section) time", "QNN accelerator (apply binary section) time" } },
};

uint32_t htp_profile_level(uint32_t level)
{
    enum { LINTING = 7001 };
    return level == LINTING ? PROF_LINTING : 0;
}

static void add_heap(struct backend_context *c, enum backend_stage stage, struct prof *prof, int32_t parent)
{
    uint32_t contexts;
    if (stage == STAGE_LOAD && c->heap_first) /* its session has begun by now, and what it had then is known */
        prof_add(prof, parent, 30002, PROF_UNIT_BYTES, htp_sessions_base(), "DSP:before_context_created");
    if (stage != STAGE_DEINIT)
        return;
    uint64_t heap = htp_sessions_heap(&contexts);
    if (contexts <= 1) /* this one */
        prof_add(prof, parent, 30003, PROF_UNIT_BYTES, heap, "DSP:after_context_freed");
}

void htp_stage_events(struct backend_context *c, enum backend_stage stage, struct prof *prof, int32_t parent)
{
    struct htp_times *t = stage == STAGE_DEINIT ? &c->unloading : &c->loading;
    if (prof && t->calls) {
        prof_add(prof, parent, stage_names[stage].type[0], PROF_UNIT_US, (t->rpc_ns + 500) / 1000,
                 stage_names[stage].name[0]);
        if (stage_names[stage].name[1])
            prof_add(prof, parent, stage_names[stage].type[1], PROF_UNIT_US, (t->worker_ns + 500) / 1000,
                     stage_names[stage].name[1]);
    }
    if (prof && stage == STAGE_LOAD)
        htp_group_events(c, prof, parent);
    if (c->switching)
        htp_switch_events(c, prof, parent);
    if (prof && c->own.memory_profiling && stage != STAGE_FINALIZE)
        add_heap(c, stage, prof, parent);
    if (prof && c->loaded && stage == STAGE_FINALIZE)
        htp_estimate_finalize(c->loaded, prof);
    c->loaded = NULL;
    *t = (struct htp_times){ 0 };
}
