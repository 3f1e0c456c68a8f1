/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over many positions: the scores of all positions are far larger than what goes in and comes out, and would go to
 * DRAM and back for every operator on them. Heads do not need each other, nor do rows of scores, so the run of operators is
 * done head by head, and where that is not enough some rows after the others, and the scores of one part stay in fast
 * memory:
 *
 *     s = MatMul(q, k)  p = Softmax(s)  y = MatMul(p, v)
 *       -> q0, q1, … = Split(q)
 *          s0 = MatMul(q0, k)  p0 = Softmax(s0)  y0 = MatMul(p0, v)
 *          s1 = …
 *          y = Concat(y0, y1, …)
 *
 * Element-wise operators (scales, masks) may stand between them; an operand that has the rows, too, is split like q, and
 * with heads keys and values are. Every row is computed as before, so the bits are the same. Rows that a chain can go
 * through (tile_chain.c) are not cut into many parts: a chain holds fewer of them at a time, and nothing has to be split. */
#include "prepare/tile_run.h"

enum {
    ROW_STEP = 32,
    MOST_PARTS = MAX_PORTS,
    SCORES = 2,       /* how many tensors of scores are there at once */
    FEW_PARTS = 2,    /* large parts whose operators a device works on side by side, unlike those of a chain */
    CHAIN_LINES = 16, /* a chain of fewer lines at a time would go over keys and values too often */
};

struct run {
    struct tile_run is;
    uint32_t side;         /* ROWS or HEADS */
    uint32_t extent, part; /* of that dimension; of a part at most, 0: it is not cut */
};

struct rows {
    struct prepare_cx *cx;
    struct ir_graph *g;
    struct ir_uses uses;
    VEC(struct ir_node) nodes; /* the new list */
};

static const struct tensor_desc *desc_of(const struct rows *r, uint32_t t)
{
    return &r->g->tensors.at[t].desc;
}

/* ---- how much of them ------------------------------------------------------------------------------------------------ */

/* What products read besides the rows: keys and values, which all parts want. */
static uint64_t shared_bytes(const struct rows *r, const struct run *run)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < run->is.n; i++) {
        const struct ir_node *n = &r->g->nodes.at[run->is.node[i]];
        sum += n->op->id == OP_MatMul && n->n_in > 1 && n->in[1] != IR_NONE ? binary_vtcm_bytes(desc_of(r, n->in[1])) : 0;
    }
    return sum;
}

/* Rows are lines, and enough of them fit into the cache of a core and into the window. */
static bool chained(const struct rows *r, const struct run *run)
{
    const struct prepare_target *t = r->cx->target;
    uint64_t line = 0, tiles = 0;
    for (uint32_t i = 0; i < run->is.n; i++) {
        struct ir_call v;
        struct op_lines lines;
        ir_call(r->g, &r->g->nodes.at[run->is.node[i]], &v);
        if (!op_by_lines(&v.call) || !desc_lines(v.out[0], &lines) || lines.n > OP_CHAIN_LINES ||
            lines.elements != v.out[0]->dims[v.out[0]->rank - 1])
            return false;
        line += i + 1 < run->is.n ? lines.bytes : 0;
        tiles += (binary_vtcm_bytes(v.out[0]) + (i ? 0 : binary_vtcm_bytes(v.in[0]))) / lines.n;
    }
    return CHAIN_LINES * line <= t->chains.bytes && CHAIN_LINES * tiles <= t->vtcm_bytes / 2;
}

/* How many heads or rows a part has, at most: two tensors of its scores, keys and values take three quarters of the window.
 * 0: everything fits, or not even the smallest part does. */
static uint32_t part_of(const struct rows *r, const struct run *run)
{
    uint64_t bytes = 0, window = r->cx->target->vtcm_bytes, shared = shared_bytes(r, run), room = window / 4 * 3,
             n = run->extent;
    for (uint32_t i = 0; i + 1 < run->is.n; i++) {
        uint64_t b = binary_vtcm_bytes(desc_of(r, r->g->nodes.at[run->is.node[i]].out[0]));
        bytes = b > bytes ? b : bytes;
    }
    if (SCORES * bytes + shared <= window || n < 2)
        return 0;
    if (run->side == HEADS) /* one by one, or as few together as can be */
        return (uint32_t)((n + MOST_PARTS - 1) / MOST_PARTS);
    uint64_t part = room > shared ? (room - shared) * n / (SCORES * bytes) / ROW_STEP * ROW_STEP : 0,
             parts = part ? (n + part - 1) / part : MOST_PARTS + 1;
    if (parts > FEW_PARTS && chained(r, run))
        return 0;
    part = parts > MOST_PARTS ? 0 : ((n + parts - 1) / parts + ROW_STEP - 1) / ROW_STEP * ROW_STEP; /* alike */
    return part < n ? (uint32_t)part : 0;
}

/* ---- the new nodes ---------------------------------------------------------------------------------------------------- */

static enum status push(struct rows *r, const struct ir_node *n)
{
    struct ir_node *slot = vec_push(&r->nodes);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for %zu nodes", r->nodes.n);
    *slot = *n;
    return ST_OK;
}

static uint32_t part_extent(const struct run *run, uint32_t i)
{
    uint32_t first = i * run->part;
    return run->extent - first < run->part ? run->extent - first : run->part;
}

static const char *word_of(const struct run *run)
{
    return run->side == ROWS ? "rows" : "head";
}

/* Some rows, or heads, of a tensor like this one. */
static enum status new_part(struct rows *r, const struct run *run, uint32_t like, uint32_t number, uint32_t *ret)
{
    struct ir_tensor t = r->g->tensors.at[like];
    t.name = arena_printf(&r->g->arena, "%s.%s%u", t.name, word_of(run), number);
    RETURN_IF(!t.name, ST_NO_MEMORY, "no memory for the parts of a tensor");
    t.role = IR_NATIVE;
    t.data = NULL;
    t.client_id = t.client_type = 0;
    t.updateable = t.optional = t.mem_handle = false;
    t.desc.dims[t.desc.rank - run->side] = part_extent(run, number);
    return ir_add_tensor(r->g, &t, ret);
}

/* A Split or a Concat between a tensor and its parts. */
static enum status push_move(struct rows *r, const struct run *run, const struct ir_node *like, bool split, uint32_t whole,
                             const uint32_t *parts)
{
    struct arena *a = &r->g->arena;
    const struct op_def *op = op_get(split ? OP_Split : OP_Concat);
    uint32_t n = (run->extent + run->part - 1) / run->part, axis = desc_of(r, whole)->rank - run->side, borders[MOST_PARTS];
    for (uint32_t i = 1; i < n; i++)
        borders[i - 1] = i * run->part;
    const char *names[] = { "axis", "split_index" };
    const struct op_value values[] = { { .type = DT_U32, .count = 1, .data = arena_dup(a, &axis, sizeof axis) },
                                       { .type = DT_U32,
                                         .rank = 1,
                                         .dims = { n - 1 },
                                         .count = n - 1,
                                         .data = arena_dup(a, borders, n * sizeof borders[0]) } };
    struct ir_node node = {
        .op = op, .source = like->source, .n_in = split ? 1 : n, .n_out = split ? n : 1, .post = OP_POST_NONE
    };
    node.name = arena_printf(a, "%s.%s.%s", like->name, split ? "split" : "concat", r->g->tensors.at[whole].name);
    node.params = arena_array(a, struct op_value, op_param_count(op));
    uint32_t *one = arena_dup(a, &whole, sizeof whole), *many = arena_dup(a, parts, n * sizeof parts[0]);
    RETURN_IF(!node.name || !node.params || !one || !many || !values[0].data || !values[1].data, ST_NO_MEMORY,
              "no memory for node \"%s\"", like->name);
    TRY(op_params_bind(op, node.name, names, values, split ? 2 : 1, node.params));
    node.in = split ? one : many;
    node.out = split ? many : one;
    return push(r, &node);
}

/* Parts of everything that has the rows and is not made by the run itself: per node and input, or nothing. */
static enum status split_operands(struct rows *r, const struct run *run, uint32_t **parts)
{
    uint32_t n = (run->extent + run->part - 1) / run->part;
    for (uint32_t i = 0; i < run->is.n; i++) {
        const struct ir_node *node = &r->g->nodes.at[run->is.node[i]];
        for (uint32_t p = 0; p < node->n_in; p++) {
            uint32_t t = node->in[p];
            bool own = i && p == run->is.from[i], second = node->op->id == OP_MatMul && p;
            if (t == IR_NONE || own || (second && (run->side == ROWS || p > 1)) ||
                tile_run_extent(desc_of(r, t), run->side) != run->extent)
                continue;
            uint32_t *list = parts[i * MAX_PORTS + p] = arena_array(&r->cx->arena, uint32_t, n);
            RETURN_IF(!list, ST_NO_MEMORY, "no memory for the parts of node \"%s\"", node->name);
            for (uint32_t k = 0; k < n; k++)
                TRY(new_part(r, run, t, k, &list[k]));
            TRY(push_move(r, run, &r->g->nodes.at[run->is.node[i]], true, t, list));
        }
    }
    return ST_OK;
}

/* The run for the rows of part k; *ret is what it makes. */
static enum status push_part(struct rows *r, const struct run *run, uint32_t *const *parts, uint32_t k, uint32_t *ret)
{
    struct arena *a = &r->g->arena;
    uint32_t made = IR_NONE;
    for (uint32_t i = 0; i < run->is.n; i++) {
        struct ir_node node = r->g->nodes.at[run->is.node[i]];
        node.name = arena_printf(a, "%s.%s%u", node.name, word_of(run), k);
        node.in = arena_dup(a, node.in, node.n_in * sizeof node.in[0]);
        RETURN_IF(!node.name || !node.in, ST_NO_MEMORY, "no memory for the parts of node \"%s\"",
                  r->g->nodes.at[run->is.node[i]].name);
        for (uint32_t p = 0; p < node.n_in; p++)
            node.in[p] = i && p == run->is.from[i]  ? made
                         : parts[i * MAX_PORTS + p] ? parts[i * MAX_PORTS + p][k]
                                                    : node.in[p];
        TRY(new_part(r, run, node.out[0], k, &made));
        node.out = arena_dup(a, &made, sizeof made);
        RETURN_IF(!node.out, ST_NO_MEMORY, "no memory for node \"%s\"", node.name);
        TRY(push(r, &node));
    }
    *ret = made;
    return ST_OK;
}

static enum status push_run(struct rows *r, const struct run *run)
{
    uint32_t n = (run->extent + run->part - 1) / run->part, made[MOST_PARTS];
    uint32_t **parts = arena_array(&r->cx->arena, uint32_t *, (size_t)TILE_RUN_MAX * MAX_PORTS);
    RETURN_IF(!parts, ST_NO_MEMORY, "no memory to cut %u rows", run->extent);
    TRY(split_operands(r, run, parts));
    for (uint32_t k = 0; k < n; k++)
        TRY(push_part(r, run, parts, k, &made[k]));
    const struct ir_node *last = &r->g->nodes.at[run->is.node[run->is.n - 1]];
    return push_move(r, run, last, false, last->out[0], made);
}

/* ---- the pass --------------------------------------------------------------------------------------------------------- */

/* A run with heads is one whose operands all have them, or are the same for all. */
static bool same_heads(const struct rows *r, const struct run *run)
{
    for (uint32_t i = 0; i < run->is.n; i++) {
        const struct ir_node *n = &r->g->nodes.at[run->is.node[i]];
        for (uint32_t p = 0; p < n->n_in; p++) {
            uint32_t heads = n->in[p] == IR_NONE ? 1 : tile_run_extent(desc_of(r, n->in[p]), HEADS);
            if (heads != 1 && heads != run->extent)
                return false;
        }
    }
    return true;
}

static enum status cut_all(struct rows *r, uint32_t side, bool *any)
{
    struct ir_graph *g = r->g;
    bool *gone = arena_array(&r->cx->arena, bool, g->nodes.n);
    struct run *runs = arena_array(&r->cx->arena, struct run, g->nodes.n);
    RETURN_IF(!gone || !runs, ST_NO_MEMORY, "no memory to look through %zu nodes", g->nodes.n);
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        struct run *run = &runs[k];
        if (!tile_run_find(g, &r->uses, k, &run->is))
            continue;
        run->side = side;
        run->extent = tile_run_extent(desc_of(r, g->nodes.at[k].out[0]), side);
        run->part = side == HEADS && !same_heads(r, run) ? 0 : part_of(r, run);
        for (uint32_t i = 0; run->part && i < run->is.n; i++)
            gone[run->is.node[i]] = true;
        *any |= run->part > 0;
    }
    for (uint32_t k = 0; *any && k < g->nodes.n; k++) {
        if (runs[k].part)
            TRY(push_run(r, &runs[k]));
        else if (!gone[k])
            TRY(push(r, &g->nodes.at[k]));
    }
    return ST_OK;
}

static enum status cut(struct prepare_cx *cx, uint32_t side, bool *progress)
{
    struct rows r = { .cx = cx, .g = cx->g };
    bool any = false;
    TRY(ir_uses(cx->g, &cx->arena, &r.uses));
    enum status st = cut_all(&r, side, &any);
    if (st != ST_OK || !any) {
        vec_finish(&r.nodes);
        return st;
    }
    *progress = true;
    vec_move(&cx->g->nodes, &r.nodes);
    return ir_compact(cx->g);
}

enum status tile_rows(struct prepare_cx *cx, bool *progress)
{
    if (!cx->target->vtcm_bytes)
        return ST_OK;
    TRY(cut(cx, HEADS, progress));
    return cut(cx, ROWS, progress);
}
