/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the pass list of a target, verifying the graph after each pass, then writes the binary. */
#include "prepare/prepare.h"

#include "base/clock.h"
#include "base/mem.h"
#include "prepare/cx.h"

const struct pass prepare_default_passes[] = {
    { "if", lower_if },                           /* one list of nodes, some of them with guards */
    { "dead", opt_dead },                         /* drop what no output needs, before work is spent on it */
    { "rows", tile_rows },                        /* attention, some rows after the others, where there is fast memory */
    { "fold", opt_fold },                         /* constants of constants */
    { "guard", opt_guard },                       /* of what one truth value picks from, only what it picks */
    { "fuse-batchnorm", opt_fuse_batchnorm },     /* float: scale the weights instead of the result */
    { "fuse-activation", opt_fuse_activation },   /* clamp in the product, same bits */
    { "pack", lower_pack },                       /* weights and tables as the kernels read them */
    { "order", plan_order },                      /* operators so that little is alive at once */
    { "chain", tile_chain },                      /* operators that hand lines to each other instead of tensors */
    { "vtcm", tile_vtcm },                        /* where there is fast memory: who lies in it when, and transfers */
    { "plan", plan_memory },                      /* an address for every tensor */
    { "emit", emit_commands },                    /* tiles in the order they run */
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
};

struct prepared_image {
    struct binary_image im;
    uint64_t cycles;
};

static enum status run_passes(struct prepare_cx *cx)
{
    for (const struct pass *p = cx->target->passes; p->name; p++) {
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
    *cx = (struct prepare_cx){ .target = t, .opts = o, .g = g, .n_source_nodes = (uint32_t)g->nodes.n, .level = o->opt_level ? o->opt_level : 2 };
    arena_init(&cx->arena);
}

enum status prepare_passes(const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g)
{
    CLEANUP(cx_finish) struct prepare_cx cx;
    cx_init(&cx, t, o, g);
    TRY(ir_verify(g, "building"));
    return run_passes(&cx);
}

/* One way to do it; *cycles is what it is estimated to take. */
static enum status prepare_once(const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g, const struct prepare_way *way, struct prepared_image *ret)
{
    CLEANUP(cx_finish) struct prepare_cx cx;
    cx_init(&cx, t, o, g);
    cx.level = way->level ? way->level : cx.level;
    cx.boxes = way->boxes;
    TRY(ir_verify(g, "building"));
    TRY(run_passes(&cx));
    TRY(prepare_interrupted(&cx));
    TRY(emit_binary(&cx, &ret->im));
    ret->cycles = cx.cycles;
    return ST_OK;
}

/* Level 3, where the target has an estimate of time: every way on a copy of the graph, and the fastest one stays. The first of equal ones, so that the result is the same everywhere. */
static enum status prepare_fastest(const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g, struct binary_image *ret)
{
    static const struct prepare_way ways[] = { { 0, BOXES_USUAL }, { 2, BOXES_USUAL }, { 0, BOXES_LARGE }, { 0, BOXES_PAIRS } };
    struct prepared_image best = { .cycles = UINT64_MAX };
    enum status st = ST_OK;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && st == ST_OK; i++) {
        struct prepared_image now = { 0 };
        struct ir_graph *copy = NULL;
        st = ir_clone(g, &copy);
        if (st == ST_OK)
            st = prepare_once(t, o, copy, &ways[i], &now);
        ir_graph_free(copy);
        struct prepared_image *worse = st != ST_OK || now.cycles < best.cycles ? &best : &now;
        binary_image_free(&worse->im);
        best = worse == &best ? now : best;
    }
    *ret = best.im;
    return st;
}

enum status prepare(const struct prepare_target *t, const struct prepare_opts *o, struct ir_graph *g, struct binary_image *ret)
{
    struct prepared_image one;
    RETURN_IF(!g->nodes.n, ST_EMPTY_GRAPH, "graph \"%s\" has no nodes; add at least one before finalizing", g->name);
    if (o->opt_level > 2 && t->device && t->vtcm_bytes)
        return prepare_fastest(t, o, g, ret);
    TRY(prepare_once(t, o, g, &(struct prepare_way){ 0, BOXES_USUAL }, &one));
    *ret = one.im;
    return ST_OK;
}
