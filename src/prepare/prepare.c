/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the pass list of a target, verifying the graph after each pass, then writes the binary. */
#include "prepare/prepare.h"

#include "base/clock.h"
#include "base/mem.h"
#include "prepare/cx.h"

const struct pass prepare_default_passes[] = {
    { "if", lower_if },                         /* one list of nodes, some of them with guards */
    { "dead", opt_dead },                       /* drop what no output needs, before work is spent on it */
    { "rows", tile_rows },                      /* attention, some rows after the others, where there is fast memory */
    { "fold", opt_fold },                       /* constants of constants */
    { "guard", opt_guard },                     /* of what one truth value picks from, only what it picks */
    { "fuse-batchnorm", opt_fuse_batchnorm },   /* float: scale the weights instead of the result */
    { "fuse-bytes", opt_fuse_bytes },           /* whole numbers in floats, from the bytes that they were */
    { "fuse-activation", opt_fuse_activation }, /* clamp in the product, same bits */
    { "heads", tile_heads },                    /* attention by rows of all heads, for chains in a cache */
    { "pack", lower_pack },                     /* weights and tables as the kernels read them */
    { "order", plan_order },                    /* operators so that little is alive at once */
    { "chain", tile_chain },                    /* operators that hand lines to each other instead of tensors */
    { "vtcm", tile_vtcm },                      /* where there is fast memory: who lies in it when, and transfers */
    { "plan", plan_memory },                    /* an address for every tensor */
    { "emit", emit_commands },                  /* tiles in the order they run */
    {},
};

/* Half of a small second-level cache; 16 threads find work in 14 lines. */
const struct chain_limits prepare_default_chains = { .bytes = 256 << 10, .lines = 12, .twice = 10 };

enum status prepare_interrupted(const struct prepare_cx *cx)
{
    const struct prepare_opts *o = cx->opts;
    RETURN_IF(o->abort && atomic_load_explicit(o->abort, memory_order_relaxed), ST_ABORTED,
              "preparing graph \"%s\" was aborted by its signal", cx->g->name);
    RETURN_IF(o->deadline_ns && clock_ns() > o->deadline_ns, ST_TIMED_OUT,
              "preparing graph \"%s\" ran past the time of its signal; allow more or prepare offline", cx->g->name);
    return ST_OK;
}

/* What level 3 tries. */
struct prepare_way {
    uint32_t level; /* 0: the client's */
    enum box_taste boxes;
    bool unchained;
};

/* Up to one pass, or to the end of the list. */
static enum status run_passes(struct prepare_cx *cx, const struct pass *from, const struct pass *end)
{
    for (const struct pass *p = from; p->name && p != end; p++) {
        bool progress = false;
        TRY(prepare_interrupted(cx));
        enum status st = p->run(cx, &progress);
        if (st != ST_OK)
            return status_prefix(st, "graph \"%s\", pass %s", cx->g->name, p->name);
        if (!progress)
            continue;
        TRY(ir_verify(cx->g, p->name));
        if (cx->opts->dump)
            cx->opts->dump(cx->opts->dump_arg, p->name, cx->g);
    }
    return ST_OK;
}

static void cx_finish(struct prepare_cx *cx)
{
    vec_finish(&cx->commands);
    arena_finish(&cx->arena);
}

static void cx_init(struct prepare_cx *cx, const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g)
{
    *cx = (struct prepare_cx){
        .target = t, .opts = o, .g = g, .n_source_nodes = (uint32_t)g->nodes.n, .level = o->opt_level ? o->opt_level : 2
    };
    arena_init(&cx->arena);
}

enum status prepare_passes(const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g)
{
    CLEANUP(cx_finish) struct prepare_cx cx;
    cx_init(&cx, t, o, g);
    TRY(ir_verify(g, "building"));
    return run_passes(&cx, t->passes, NULL);
}

/* The first pass that gives operators an order: from there on there are several ways. */
static const struct pass *first_plan(const struct prepare_target *t)
{
    const struct pass *p = t->passes;
    while (p->name && p->run != plan_order)
        p++;
    return p;
}

/* One way to do what is left, on a copy of the graph. `ret` NULL: only the estimate is wanted. */
static enum status try_way(const struct prepare_cx *front, const struct prepare_way *way, uint64_t *cycles,
                           struct binary_image *ret)
{
    CLEANUP(cx_finish) struct prepare_cx cx = { .g = NULL };
    struct ir_graph *copy;
    TRY(ir_clone(front->g, &copy));
    cx_init(&cx, front->target, front->opts, copy);
    cx.n_source_nodes = front->n_source_nodes;
    cx.level = way->level ? way->level : cx.level;
    cx.boxes = way->boxes;
    cx.unchained = way->unchained;
    enum status st = run_passes(&cx, first_plan(front->target), NULL);
    if (st == ST_OK)
        st = prepare_interrupted(&cx);
    if (st == ST_OK)
        st = emit_binary(&cx, ret);
    *cycles = cx.cycles;
    ir_graph_free(copy);
    return st;
}

/* Level 3, where the target has an estimate of time: the fastest way stays, the first of equal ones, so that the result is
 * the same everywhere. */
static enum status prepare_fastest(struct prepare_cx *front, struct binary_image *ret)
{
    static const struct prepare_way ways[] = {
        { 0, BOXES_USUAL, false }, { 2, BOXES_USUAL, false }, { 0, BOXES_LARGE, false },
        { 0, BOXES_PAIRS, false }, { 0, BOXES_USUAL, true },  { 0, BOXES_PAIRS, true },
    };
    const struct prepare_way *best = ways;
    uint64_t least = UINT64_MAX, cycles;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        TRY(try_way(front, &ways[i], &cycles, NULL));
        best = cycles < least ? &ways[i] : best;
        least = cycles < least ? cycles : least;
    }
    return try_way(front, best, &cycles, ret);
}

enum status prepare(const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g,
                    struct binary_image *ret)
{
    RETURN_IF(!g->nodes.n, ST_EMPTY_GRAPH, "graph \"%s\" has no nodes; add at least one before finalizing", g->name);
    CLEANUP(cx_finish) struct prepare_cx cx;
    cx_init(&cx, t, o, g);
    TRY(ir_verify(g, "building"));
    const struct pass *plan = o->opt_level > 2 && t->device && t->vtcm_bytes ? first_plan(t) : NULL;
    TRY(run_passes(&cx, t->passes, plan));
    TRY(prepare_interrupted(&cx));
    return plan && plan->name ? prepare_fastest(&cx, ret) : emit_binary(&cx, ret);
}
