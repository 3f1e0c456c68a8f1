/* SPDX-License-Identifier: Apache-2.0 */
/* Subgraphs that are put in place: composites, calls, the two sides of an IF, and every turn of a WHILE whose conditions are
 * known while converting.
 *
 *     IF(c, x) { then: NEG(x), else: EXP(x) }   ->   ElementWiseSelect(c, ElementWiseNeg(x), ElementWiseExp(x))
 *     WHILE(0, x) { i < 2 } { i + 1, NEG(x) }   ->   ElementWiseNeg(ElementWiseNeg(x))
 *
 * Operators have no effect but their outputs, so both sides and a choice give the numbers of one; the compiler leaves out
 * the side that is not picked (prepare/opt_guard.c). Where the condition is a constant only its side is there. */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

enum { MAX_DEPTH = 8, MAX_TURNS = 1024, MAX_NODES = 200000 };

enum status tfl_scope_open(struct tfl_cx *cx, uint32_t index, struct tfl_scope *ret)
{
    TRY(tfl_model_graph(&cx->m, index, &ret->g));
    size_t n = (size_t)ret->g.n_tensors + 1;
    ret->map = arena_array(&cx->m.arena, uint32_t, n);
    ret->state = arena_array(&cx->m.arena, uint32_t, n);
    RETURN_IF(!ret->map || !ret->state, ST_NO_MEMORY, "no memory for subgraph \"%s\"", ret->g.name);
    memset(ret->map, 0xff, n * sizeof(uint32_t));
    memset(ret->state, 0xff, n * sizeof(uint32_t));
    return ST_OK;
}

/* Tensors of the graph that go into a subgraph and come out of it. */
struct ports {
    const uint32_t *in;
    uint32_t n_in, n_out;
    uint32_t *out;
};

static enum status put_in_place(struct tfl_cx *cx, int64_t index, struct ports p)
{
    struct tfl_scope scope, *outer = cx->scope;
    const struct tfl_op *op = cx->op;
    const struct tfl_row *row = cx->row;
    const char *node = cx->node;
    TFL_REFUSE_IF(cx->depth >= MAX_DEPTH, "subgraphs are nested more than %d deep", MAX_DEPTH);
    TRY(tfl_scope_open(cx, (uint32_t)index, &scope));
    TFL_REFUSE_IF(scope.g.in.n != p.n_in || scope.g.out.n != p.n_out,
                  "the subgraph has %u inputs and %u outputs; %u and %u are given", scope.g.in.n, scope.g.out.n, p.n_in,
                  p.n_out);
    for (uint32_t k = 0; k < p.n_in; k++)
        scope.map[tfl_number(scope.g.in, k)] = p.in[k];
    cx->scope = &scope;
    cx->depth++;
    enum status st = tfl_scope_run(cx);
    for (uint32_t k = 0; k < scope.g.out.n && st == ST_OK; k++)
        st = tfl_result(cx, tfl_number(scope.g.out, k), &p.out[k]);
    cx->depth--;
    cx->scope = outer;
    cx->op = op;
    cx->row = row;
    cx->node = node;
    return st;
}

static enum status results(struct tfl_cx *cx, uint32_t **ret)
{
    *ret = arena_array(&cx->m.arena, uint32_t, cx->op->out.n + 1);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for %u results", cx->op->out.n);
    return ST_OK;
}

/* The inputs of the operator behind the first `skip`. */
static enum status arguments(struct tfl_cx *cx, uint32_t skip, uint32_t **ret)
{
    uint32_t n = cx->op->in.n;
    TFL_REFUSE_IF(n < skip, "the operator has %u inputs; at least %u are expected", n, skip);
    *ret = arena_array(&cx->m.arena, uint32_t, (size_t)n + 1);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for %u inputs", n);
    for (uint32_t k = skip; k < n; k++)
        TRY(tfl_opt(cx, k, &(*ret)[k - skip]));
    return ST_OK;
}

static enum status put_subgraph(struct tfl_cx *cx, int64_t index, uint32_t skip, uint32_t *made)
{
    uint32_t *in;
    TRY(arguments(cx, skip, &in));
    return put_in_place(cx, index, (struct ports){in, cx->op->in.n - skip, cx->op->out.n, made});
}

static enum status bind_subgraph(struct tfl_cx *cx, int64_t index, uint32_t skip)
{
    uint32_t *made;
    TRY(results(cx, &made));
    TRY(put_subgraph(cx, index, skip, made));
    for (uint32_t k = 0; k < cx->op->out.n; k++)
        TRY(tfl_bind(cx, k, made[k]));
    return ST_OK;
}

/* A composite is what its decomposition computes. */
TFL_LOWER(composite)
{
    return bind_subgraph(cx, fb_int(cx->op->options2, COMPOSITE_SUBGRAPH, 4, -1), 0);
}

TFL_LOWER(call)
{
    return bind_subgraph(cx, tfl_option(cx, OPTION_FIRST, 0), 0);
}

/* Both sides are computed, so neither may leave anything behind. */
static enum status put_side(struct tfl_cx *cx, int64_t index, uint32_t *ret)
{
    size_t n = cx->states.n;
    const struct tfl_state *before = arena_dup(&cx->m.arena, cx->states.at, n * sizeof(*before));
    RETURN_IF(!before && n, ST_NO_MEMORY, "no memory for %zu variables", n);
    TRY(put_subgraph(cx, index, 1, ret));
    for (size_t i = 0; i < cx->states.n; i++)
        TFL_REFUSE_IF(cx->states.at[i].value != (i < n ? before[i].value : IR_NONE),
                      "variable \"%s\" is assigned only on one side of a condition that comes at run time",
                      cx->states.at[i].name);
    return ST_OK;
}

TFL_LOWER(if)
{
    int64_t sides[2] = {tfl_option(cx, IF_ELSE, 0), tfl_option(cx, IF_THEN, 0)};
    uint32_t cond, *yes, *no, y;
    TRY(tfl_in(cx, 0, &cond));
    TFL_REFUSE_IF(tfl_desc(cx, cond)->type != DT_B8 || desc_count(tfl_desc(cx, cond)) != 1,
                  "the condition is not one truth value");
    if (build_data(&cx->b, cond))
        return bind_subgraph(cx, sides[*(const uint8_t *)build_data(&cx->b, cond) != 0], 1);
    TRY(results(cx, &yes));
    TRY(results(cx, &no));
    TRY(put_side(cx, sides[1], yes));
    TRY(put_side(cx, sides[0], no));
    build_source(&cx->b, cx->row->name, cx->node);
    TRY(build_reshape(&cx->b, tfl_name(cx, "condition"), cond, 1, (const uint32_t[]){1}, &cond));
    for (uint32_t k = 0; k < cx->op->out.n; k++) {
        const struct tensor_desc *a = tfl_desc(cx, yes[k]), *b = tfl_desc(cx, no[k]);
        char one[DESC_TEXT_MAX], other[DESC_TEXT_MAX];
        TFL_REFUSE_IF(a->type != b->type || !desc_same_shape(a, b) || !quant_same(&a->q, &b->q),
                      "output %u is %s on one side and %s on the other; a condition that comes at run time needs one type, "
                      "shape and encoding",
                      k, desc_text(a, one), desc_text(b, other));
        TRY(tfl_part(cx, "picked", &(struct build_spec){.op = "ElementWiseSelect", BUILD_IN(cond, yes[k], no[k])}, a, &y));
        TRY(tfl_bind(cx, k, y));
    }
    return ST_OK;
}

/* Whether there is another turn: counters begin with constants, so that every condition is computed on the spot. */
static enum status next_turn(struct tfl_cx *cx, const uint32_t *carried, bool *ret)
{
    uint32_t cond;
    TRY(put_in_place(cx, tfl_option(cx, WHILE_COND, 0), (struct ports){carried, cx->op->in.n, 1, &cond}));
    const struct tensor_desc *d = tfl_desc(cx, cond);
    TFL_REFUSE_IF(d->type != DT_B8 || desc_count(d) != 1, "the condition is not one truth value");
    const uint8_t *known = build_data(&cx->b, cond);
    TFL_REFUSE_IF(!known, "its condition depends on the inputs of the model, and a graph has every turn written out; count "
                          "turns with a constant, or let the client run the loop");
    *ret = *known != 0;
    return ST_OK;
}

TFL_LOWER(while)
{
    uint32_t *carried, *made, turns = 0;
    bool more;
    TFL_REFUSE_IF(cx->op->in.n != cx->op->out.n, "the loop has %u inputs and %u outputs; as many are expected", cx->op->in.n,
                  cx->op->out.n);
    TRY(arguments(cx, 0, &carried));
    TRY(results(cx, &made));
    for (;; turns++) {
        TRY(next_turn(cx, carried, &more));
        if (!more)
            break;
        TFL_REFUSE_IF(turns == MAX_TURNS || cx->b.g->nodes.n > MAX_NODES,
                      "it has more than %d turns, or makes more than %d nodes; shorter loops are written out", MAX_TURNS,
                      MAX_NODES);
        TRY(put_in_place(cx, tfl_option(cx, WHILE_BODY, 0), (struct ports){carried, cx->op->in.n, cx->op->out.n, made}));
        memcpy(carried, made, cx->op->out.n * sizeof(*carried));
    }
    for (uint32_t k = 0; k < cx->op->out.n; k++)
        TRY(tfl_bind(cx, k, carried[k]));
    return ST_OK;
}
