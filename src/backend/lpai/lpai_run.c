/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and graphs of the LPAI backend: the shared compiler with one tile per node, then exec in this process, on the
 * calling thread, in the client's memory. */
#include <assert.h>
#include <stdio.h>

#include "backend/lpai/lpai_backend.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "prepare/prepare.h"

enum {
    PLAN_NODES = 2000000,   /* a few seconds at the very most; graphs of this size are solved long before */
    ORDER_STEPS = 20000000, /* about a second at the very most */
    MAX_PASSES = 64,
};

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

enum status lpai_check_target(const struct backend_context_cfg *cfg, const struct binary_target *t)
{
    const char *made_for = lpai_hw_name(t->arch);
    RETURN_IF(!made_for, ST_BINARY_CONFIG,
              "the context binary was made for LPAI hardware version 0x%x, which is not known here", t->arch);
    RETURN_IF(cfg->backend.given && cfg->backend.arch && cfg->backend.arch != t->arch, ST_BINARY_CONFIG,
              "the context binary was made for LPAI hardware %s; this backend is configured for %s: prepare the model for "
              "%s, or create the backend with "
              "HW_INFO for %s",
              made_for, lpai_hw_name(cfg->backend.arch), lpai_hw_name(cfg->backend.arch), made_for);
    RETURN_IF(cfg->backend.given && cfg->backend.target == LPAI_ADSP && !cfg->persistent_binary, ST_INVALID_CONFIG,
              "this backend is configured for the ADSP, which uses the binary in place; give the context option "
              "PERSISTENT_BINARY (in the configuration file "
              "of a tool: context_configs/is_persistent_binary) and keep the buffer");
    return ST_OK;
}

enum status lpai_check_in_place(const struct backend_context_cfg *cfg, const void *binary)
{
    bool adsp = cfg->backend.given && cfg->backend.target == LPAI_ADSP;
    bool aligned = (uintptr_t)binary % LPAI_ALIGN == 0;
    if (!adsp || aligned)
        return ST_OK;

    RETURN_IF(backend_strict(), ST_INVALID_CONFIG,
              "the binary starts at %p; the ADSP uses it in place, so its address must be a multiple of %d (backend "
              "property ALIGNMENT_REQ)",
              binary, LPAI_ALIGN);
    backend_log(BACKEND_WARN,
                "the binary starts at %p, and is copied; an ADSP would use it in place, and wants a multiple of %d "
                "(backend property ALIGNMENT_REQ). OPENQNN_STRICT=1 refuses it",
                binary, LPAI_ALIGN);
    return ST_OK;
}

static enum status copy_islands(struct backend_context *c, const struct backend_context_cfg *cfg)
{
    for (uint64_t i = 0; i < cfg->own[LPAI_OWN_ISLAND_GRAPHS]; i++) {
        c->island_graphs[i] = mem_strdup((const char *)(uintptr_t)cfg->own[LPAI_OWN_NAMES + i]);
        RETURN_IF(!c->island_graphs[i], ST_NO_MEMORY, "no memory for a context");
    }
    return ST_OK;
}

enum status lpai_open(const struct backend_context_cfg *cfg, struct backend_context **ret)
{
    bool adsp = cfg->backend.given && cfg->backend.target == LPAI_ADSP;
    RETURN_IF(cfg->own[LPAI_OWN_MODEL_TCM] && !adsp, ST_INVALID_CONFIG,
              "the model buffer is said to be in TCM, which only the ADSP has; create the backend with HW_INFO for the "
              "ADSP, or give memory type 1 (DDR)");
    struct backend_context *c = mem_new(struct backend_context);
    RETURN_IF(!c, ST_NO_MEMORY, "no memory for a context");
    pthread_mutex_init(&c->lock, NULL);
    c->cfg = cfg->backend;
    c->in_place = cfg->persistent_binary;
    c->model_tcm = cfg->own[LPAI_OWN_MODEL_TCM];
    c->island = cfg->own[LPAI_OWN_ISLAND];
    enum status st = copy_islands(c, cfg);
    if (st != ST_OK) {
        lpai_close(c);
        return st;
    }
    *ret = c;
    return ST_OK;
}

void lpai_close(struct backend_context *c)
{
    if (!c)
        return;
    lpai_claim_model_drop(c);
    lpai_session_leave(c);
    for (int i = 0; i < LPAI_ISLAND_MAX; i++)
        mem_free(c->island_graphs[i]);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

static enum status check_tensors(const struct ir_graph *g)
{
    for (uint32_t i = 0; i < g->tensors.n; i++)
        RETURN_IF(g->tensors.at[i].optional, ST_UNSUPPORTED_TENSOR,
                  "tensor \"%s\" is optional; LPAI graphs have a fixed set of inputs and outputs", g->tensors.at[i].name);
    return ST_OK;
}

/* The usual passes, without those that the client does not want. */
static void choose_passes(const struct lpai_settings *s, struct pass to[MAX_PASSES])
{
    unsigned n = 0;
    for (const struct pass *p = prepare_default_passes; p->name; p++) {
        assert(n < MAX_PASSES - 1);
        if (!s->keep_batchnorm || p->run != opt_fuse_batchnorm)
            to[n++] = *p;
    }
    to[n] = (struct pass){ 0 };
}

enum status lpai_prepare(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                         struct cancel *cancel, struct binary_image *ret)
{
    struct lpai_settings s = lpai_settings_of(cfg);
    struct pass passes[MAX_PASSES];
    choose_passes(&s, passes);
    struct prepare_target t = {
        .passes = passes,
        .tensor_align = LPAI_ALIGN,
        .scratch_limit = UINT32_MAX / LPAI_ALIGN * LPAI_ALIGN, /* the client is told the size in 32 bits */
        .io_in_scratch = !s.exclude_io,
        .work_budget = 1, /* the least there is */
        .max_tiles = 1,   /* each tile would want a workspace of its own */
        .order_steps = ORDER_STEPS,
        .plan_nodes = PLAN_NODES,
        .cost = lpai_cost_rates(c->cfg.given ? c->cfg.arch : LPAI_HW_DEFAULT),
    };
    struct prepare_opts o = {
        .binary = lpai_binary_target(lpai_hw_version(&c->cfg)),
        .priority = cfg ? cfg->priority : 0,
        .opt_level = cfg && cfg->opt_level ? cfg->opt_level : 2,
        .abort = cancel ? &cancel->abort : NULL,
        .deadline_ns = cancel ? cancel->deadline_ns : 0,
    };
    c->compiles = true;
    TRY(check_tensors(g));
    return prepare(&t, &o, g, ret);
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

/* Rooms of I/O tensors are tensors in scratch that carry the client's id and that no node names. */
static enum status find_homes(struct backend_graph *g)
{
    const struct binary_graph *b = g->g;
    for (uint32_t k = 0; k < b->n_io; k++)
        g->home[k] = LPAI_NO_HOME;
    for (uint32_t i = 0; i < b->n_tensors; i++) {
        const struct binary_tensor *t = &b->tensors[i];
        if (t->io || !t->client_id || t->place != PLACE_SCRATCH)
            continue;
        for (uint32_t k = 0; k < b->n_io; k++) {
            const struct binary_tensor *io = &b->tensors[b->io[k]];
            if (io->client_id != t->client_id)
                continue;
            RETURN_IF(t->bytes < desc_bytes(&io->desc) || t->offset % LPAI_ALIGN, ST_BAD_BINARY,
                      "graph \"%s\": the room of tensor \"%s\" has %llu bytes at %llu; %llu at a multiple of %d are needed",
                      b->info.name, io->name, (unsigned long long)t->bytes, (unsigned long long)t->offset,
                      (unsigned long long)desc_bytes(&io->desc), LPAI_ALIGN);
            g->home[k] = t->offset;
        }
    }
    return ST_OK;
}

/* Where an operand lies in scratch when I/O tensors are in their rooms. */
static bool scratch_span(const struct backend_graph *g, uint32_t tensor, uint64_t *begin, uint64_t *end)
{
    const struct binary_tensor *t = tensor == BINARY_NONE ? NULL : &g->g->tensors[tensor];
    if (!t || (t->place != PLACE_SCRATCH && (t->place != PLACE_IO || g->home[t->offset] == LPAI_NO_HOME)))
        return false;
    *begin = t->place == PLACE_IO ? g->home[t->offset] : t->offset;
    *end = *begin + desc_bytes(&t->desc);
    return true;
}

/* An element-wise operator may write exactly over its input. */
static bool in_place(const struct binary_node *n, uint32_t a, uint32_t b, bool same_span)
{
    return n->op->flags & OP_ELEMENTWISE && n->n_out == 1 && (a < n->n_in) != (b < n->n_in) && same_span;
}

/* The reader of binaries has checked the plan as if I/O tensors were elsewhere. A room must not lie over what a node that
 * uses it needs besides: kernels keep positions in workspaces and trust them. */
static enum status check_homes(const struct backend_graph *g)
{
    for (uint32_t i = 0; i < g->g->n_nodes; i++) {
        const struct binary_node *n = &g->g->nodes[i];
        uint32_t ports = n->n_in + n->n_out;
        for (uint32_t a = 0; a < ports; a++) {
            uint32_t ta = a < n->n_in ? n->in[a] : n->out[a - n->n_in];
            uint64_t from, to, x, y;
            if (ta == BINARY_NONE || g->g->tensors[ta].place != PLACE_IO || !scratch_span(g, ta, &from, &to))
                continue;
            bool bad = n->work_bytes && from < n->work_offset + n->work_bytes && n->work_offset < to;
            for (uint32_t b = 0; b < ports; b++) {
                uint32_t tb = b < n->n_in ? n->in[b] : n->out[b - n->n_in];
                bool same = tb != BINARY_NONE && g->g->tensors[tb].place == PLACE_IO &&
                            g->g->tensors[tb].offset == g->g->tensors[ta].offset;
                bad |= !same && (a >= n->n_in || b >= n->n_in) && scratch_span(g, tb, &x, &y) && from < y && x < to &&
                       !in_place(n, a, b, from == x && to == y);
            }
            RETURN_IF(bad, ST_BAD_BINARY,
                      "graph \"%s\", node \"%s\": the room of tensor \"%s\" lies over other memory of the node",
                      g->g->info.name, n->name, g->g->tensors[ta].name);
        }
    }
    return ST_OK;
}

static enum status load(struct backend_graph *g)
{
    const struct binary_graph_info *i = &g->g->info;
    RETURN_IF(i->scratch_bytes > UINT32_MAX - LPAI_ALIGN || i->persistent_bytes > UINT32_MAX - LPAI_ALIGN, ST_BAD_BINARY,
              "graph \"%s\" needs %llu bytes of scratch and %llu of persistent memory; LPAI counts both in 32 bits", i->name,
              (unsigned long long)i->scratch_bytes, (unsigned long long)i->persistent_bytes);
    g->io = mem_array(struct exec_binding, g->g->n_io);
    g->home = mem_array(uint64_t, g->g->n_io);
    g->node_ns = mem_array(uint64_t, g->g->n_nodes);
    g->buffers = mem_array(struct lpai_buffer, g->g->n_io);
    RETURN_IF(!g->io || !g->home || !g->node_ns || !g->buffers, ST_NO_MEMORY, "graph \"%s\": no memory to load it", i->name);
    TRY(find_homes(g));
    return check_homes(g);
}

enum status lpai_load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret)
{
    if (!c->compiles)
        TRY(lpai_check_islands(c, b));
    if (c->model_tcm)
        TRY(lpai_claim_model(c, b));
    struct backend_graph *g = mem_new(struct backend_graph);
    RETURN_IF(!g, ST_NO_MEMORY, "no memory to load a graph");
    pthread_mutex_init(&g->lock, NULL);
    g->context = c;
    g->binary = b;
    g->g = &b->graphs[graph];
    enum status st = load(g);
    if (st != ST_OK) {
        lpai_unload(g);
        return st;
    }
    *ret = g;
    return ST_OK;
}

void lpai_unload(struct backend_graph *g)
{
    if (!g)
        return;
    lpai_claim_drop(g);
    exec_unload(g->program);
    lpai_remote_free(g);
    lpai_own_free(g);
    pthread_mutex_destroy(&g->lock);
    mem_free(g->io);
    mem_free(g->home);
    mem_free(g->node_ns);
    mem_free(g->buffers);
    mem_free(g);
}

/* ---- the client's memory ---------------------------------------------------------------------------------------------- */

static void take_settings(struct backend_graph *g, const struct lpai_settings *s)
{
    g->batch_multiple = s->batch_multiple;
    g->fps = s->fps;
    g->ftrt_ratio = s->ftrt_ratio;
    g->client_type = s->client_type;
}

/* On the ARM target in a session where there is one, else here. */
static enum status attach(struct backend_graph *g)
{
    struct exec_opts o = { .isa = cpu_isa(),
                           .scratch = g->claim.pool[POOL_SCRATCH].addr,
                           .persistent = g->claim.pool[POOL_PERSISTENT].addr };
    if (g->context->cfg.given && g->context->cfg.target == LPAI_ARM)
        TRY(lpai_session_join(g->context));
    return g->context->session ? lpai_remote_attach(g) : exec_load(g->g, &o, &g->program);
}

static enum status attach_pools(struct backend_graph *g, const struct lpai_settings *s)
{
    TRY(lpai_check_binary(g));
    TRY(lpai_pools_complete(g, s));
    TRY(lpai_pools_check(g, s));
    TRY(lpai_claim_pools(g, s));
    enum status st = attach(g);
    if (st != ST_OK)
        lpai_claim_drop(g);
    return st;
}

enum status lpai_attach(struct backend_graph *g, const struct backend_graph_cfg *cfg)
{
    struct lpai_settings s = lpai_settings_of(cfg);
    TRY(lpai_own_make(g, &s));
    lpai_own_fill(g, &s);
    enum status st = attach_pools(g, &s);
    if (st != ST_OK) {
        lpai_own_free(g);
        return st;
    }
    take_settings(g, &s);
    return ST_OK;
}

static bool same_mem(const struct lpai_mem *a, const struct lpai_mem *b)
{
    return a->given == b->given && a->addr == b->addr && a->size == b->size;
}

static enum status change_attached(struct backend_graph *g, const struct lpai_settings *s)
{
    RETURN_IF(!same_mem(&s->pool[POOL_PERSISTENT], &g->claim.pool[POOL_PERSISTENT]), ST_FINALIZED,
              "graph \"%s\" is finalized; its persistent memory keeps state and cannot be replaced. Scratch memory can",
              g->g->info.name);
    RETURN_IF(g->paused.halfway && !same_mem(&s->pool[POOL_SCRATCH], &g->claim.pool[POOL_SCRATCH]), ST_NOT_PERMITTED,
              "graph \"%s\" is paused in the middle of an execution; its scratch memory can be replaced when that is done",
              g->g->info.name);
    struct lpai_settings before = *s;
    before.pool[POOL_SCRATCH] = g->claim.pool[POOL_SCRATCH];
    TRY(lpai_claim_pools(g, s));
    enum status st = g->remote ? lpai_remote_scratch(g) : ST_OK;
    if (st != ST_OK) {
        lpai_claim_pools(g, &before);
        return st;
    }
    if (g->program)
        exec_set_scratch(g->program, s->pool[POOL_SCRATCH].addr);
    take_settings(g, s);
    return ST_OK;
}

enum status lpai_change(struct backend_graph *g, const struct lpai_settings *wanted)
{
    struct lpai_settings s = *wanted;
    lpai_own_fill(g, &s);
    TRY(lpai_pools_check(g, &s));
    if (!g->program && !g->remote)
        return ST_OK;
    pthread_mutex_lock(&g->lock);
    enum status st = change_attached(g, &s);
    pthread_mutex_unlock(&g->lock);
    return st;
}

bool lpai_has_room(const struct backend_graph *g, uint32_t io)
{
    return g->home[io] != LPAI_NO_HOME;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* Here a graph computes on the thread of the caller; on the ARM target it may do so in a session. */
struct backend_needs lpai_needs(const struct backend_graph *g)
{
    bool elsewhere = g->context->cfg.given && g->context->cfg.target == LPAI_ARM;
    return (struct backend_needs){ .device = true, .threads = !elsewhere, .preemptible = !elsewhere };
}

struct yielding {
    const struct backend_graph *g;
    struct sched_turn *turn;
};

/* A graph that shares its scratch stays: who runs meanwhile might compute in it. A run that is cancelled while it waits ends
 * by itself. */
static void between_commands(void *arg, uint32_t step)
{
    const struct yielding *y = arg;

    (void)step;
    if (atomic_load_explicit(&y->turn->give_way, memory_order_relaxed) && lpai_scratch_is_own(y->g))
        sched_yield_turn(y->turn);
}

static void next_slice(struct backend_graph *g)
{
    for (uint32_t i = 0; i < g->g->n_io; i++)
        g->io[i].data = (uint8_t *)g->io[i].data + desc_bytes(&g->g->tensors[g->g->io[i]].desc);
}

/* From where a paused execution stopped, or from the beginning. */
static enum status run_slices(struct backend_graph *g, const struct backend_run *r, bool detailed)
{
    struct exec_run e = {
        .io = g->io, .cancel = r->cancel, .profile_nodes = detailed, .pause = &g->pause, .step = g->paused.step
    };
    struct yielding yielding = { g, r->turn };
    if (r->turn) {
        e.between = between_commands;
        e.between_arg = &yielding;
        e.give_way = &r->turn->give_way;
    }
    enum status st = g->paused.early ? ST_ENDED_EARLY : ST_OK;
    for (uint32_t i = 0; detailed && !g->paused.halfway && i < g->g->n_nodes; i++)
        g->node_ns[i] = 0;
    for (uint32_t k = g->paused.slice; k < (r->batch ? r->batch : 1); k++) {
        if (k > g->paused.slice)
            next_slice(g);
        enum status now = g->remote ? lpai_remote_run(g, &e, r->priority) : exec_run(g->program, &e);
        for (uint32_t i = 0; detailed && i < e.marks->n; i++)
            g->node_ns[e.marks->marks[i].node] += e.marks->marks[i].end_ns - e.marks->marks[i].begin_ns;
        if (now == ST_PAUSED)
            g->paused = (struct lpai_paused){
                .halfway = k || e.step, .slice = k, .step = e.step, .batch = r->batch, .early = st != ST_OK
            };
        if (now != ST_OK && now != ST_ENDED_EARLY)
            return now;
        st = now == ST_OK ? st : now;
    }
    return st;
}

static enum status run_locked(struct backend_graph *g, const struct backend_run *r)
{
    bool detailed = r->prof && prof_level(r->prof) >= PROF_DETAILED;
    TRY(lpai_bind_io(g, r));
    TRY(lpai_run_enter(g));
    uint64_t start = r->prof ? clock_ns() : 0;
    enum status st = run_slices(g, r, detailed);
    if (r->prof) {
        uint64_t all = clock_ns() - start;
        uint64_t preempted = r->turn ? r->turn->preempted_ns : 0;
        lpai_add_events(g, r, all - preempted, detailed);
        if (r->parts) {
            r->parts[PART_RUN] = all - preempted;
            r->parts[PART_YIELD] = preempted;
        }
    }
    if (st != ST_PAUSED)
        g->paused = (struct lpai_paused){ 0 };
    for (uint32_t i = 0; st == ST_PAUSED && i < g->g->n_io; i++)
        if (g->io[i].produced)
            *g->io[i].produced = 0;
    if (!g->paused.halfway) /* until it is done, a paused execution keeps its scratch */
        lpai_run_leave(g);
    return st;
}

void lpai_pause(struct backend_graph *g, bool pause)
{
    atomic_store(&g->pause, pause);
}

enum status lpai_run(struct backend_graph *g, const struct backend_run *r)
{
    pthread_mutex_lock(&g->lock);
    enum status st = run_locked(g, r);
    pthread_mutex_unlock(&g->lock);
    return st;
}
