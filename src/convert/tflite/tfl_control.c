/* SPDX-License-Identifier: Apache-2.0 */
/* Subgraphs that are put in place: composites, calls, and the two sides of an IF.
 *
 *     IF(c, x) { then: NEG(x), else: EXP(x) }   ->   ElementWiseSelect(c, ElementWiseNeg(x), ElementWiseExp(x))
 *
 * Operators have no effect but their outputs, so both sides and a choice give the numbers of one; the compiler leaves out the side that is not picked
 * (prepare/opt_guard.c). Where the condition is a constant only its side is there. */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

enum { MAX_DEPTH = 8 };

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

/* Subgraph `index` with the inputs of the operator behind the first `skip`; its outputs are tensors of the graph. */
static enum status put_in_place(struct tfl_cx *cx, int64_t index, uint32_t skip, uint32_t *ret)
{
    struct tfl_scope scope, *outer = cx->scope;
    const struct tfl_op *op = cx->op;
    const struct tfl_row *row = cx->row;
    const char *node = cx->node;
    TFL_REFUSE_IF(cx->depth >= MAX_DEPTH, "subgraphs are nested more than %d deep", MAX_DEPTH);
    TRY(tfl_scope_open(cx, (uint32_t)index, &scope));
    TFL_REFUSE_IF(op->in.n < skip || scope.g.in.n != op->in.n - skip || scope.g.out.n != op->out.n,
                  "the subgraph has %u inputs and %u outputs; %u and %u are given", scope.g.in.n, scope.g.out.n, op->in.n - skip, op->out.n);
    for (uint32_t k = 0; k < scope.g.in.n; k++)
        TRY(tfl_opt(cx, k + skip, &scope.map[tfl_number(scope.g.in, k)]));
    cx->scope = &scope;
    cx->depth++;
    enum status st = tfl_scope_run(cx);
    for (uint32_t k = 0; k < scope.g.out.n && st == ST_OK; k++)
        st = tfl_result(cx, tfl_number(scope.g.out, k), &ret[k]);
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

static enum status bind_subgraph(struct tfl_cx *cx, int64_t index, uint32_t skip)
{
    uint32_t *made;
    TRY(results(cx, &made));
    TRY(put_in_place(cx, index, skip, made));
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
    TRY(put_in_place(cx, index, 1, ret));
    for (size_t i = 0; i < cx->states.n; i++)
        TFL_REFUSE_IF(cx->states.at[i].value != (i < n ? before[i].value : IR_NONE), "variable \"%s\" is assigned only on one side of a condition that comes at run time",
                      cx->states.at[i].name);
    return ST_OK;
}

TFL_LOWER(if)
{
    int64_t sides[2] = {tfl_option(cx, IF_ELSE, 0), tfl_option(cx, IF_THEN, 0)};
    uint32_t cond, *yes, *no, y;
    TRY(tfl_in(cx, 0, &cond));
    TFL_REFUSE_IF(tfl_desc(cx, cond)->type != DT_B8 || desc_count(tfl_desc(cx, cond)) != 1, "the condition is not one truth value");
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
                      "output %u is %s on one side and %s on the other; a condition that comes at run time needs one type, shape and encoding", k, desc_text(a, one),
                      desc_text(b, other));
        TRY(tfl_part(cx, "picked", &(struct build_spec){.op = "ElementWiseSelect", BUILD_IN(cond, yes[k], no[k])}, a, &y));
        TRY(tfl_bind(cx, k, y));
    }
    return ST_OK;
}
