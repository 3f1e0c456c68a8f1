/* SPDX-License-Identifier: Apache-2.0 */
/* Loop and Scan whose number of turns, or the most that there can be, is known while converting, as a number or because
 * conditions are: the body is put in place once per turn, in a scope of its own, so that what is known in a turn (its
 * number, shapes, conditions) is folded as anywhere else.
 *
 *     Loop(3, true, v) { w = Add(v, x); yield true, w, w }   ->   w0 = Add(v, x)  w1 = Add(w0, x)  w2 = Add(w1, x)
 *                                                            Concat(w0, w1, w2)
 *
 * A condition that only a run knows picks between what a turn makes of a carried value and what it was before. All turns are
 * there, and the compiler leaves out those behind the end (prepare/opt_guard.c). What has another size after every turn, as
 * the keys and values of a decoder, goes on to the next turn, but not out of the loop.
 *
 *     Loop(2, true, v) { w = Add(v, x); yield c(w), w }   ->   w0 = Add(v, x)  w1 = Where(c(w0), Add(w0, x), w0)
 *
 * Moving between turns is written as nodes of the source: Gather takes a turn's part of a sequence, Reshape and Concat put
 * sequences together. */
#include <string.h>

#include "convert/onnx/onnx.h"

enum { MAX_TURNS = ONNX_MAX_TURNS, MAX_UNROLLED = ONNX_MAX_UNROLLED, JOINED = 32 /* inputs of one Concat */ };

struct loop {
    const struct onnx_node *node;
    struct onnx_graph body;
    uint32_t turns, n_carried, n_collected;
    struct onnx_value *carried[MAX_PORTS], *sequences[MAX_PORTS];
    struct onnx_value **collected; /* [output][turn] */
    struct turn_memory *memory;    /* per node of the body */
    struct onnx_value **constants; /* per initializer of the body; NULL: not met yet */
    struct onnx_value *running;    /* whether the turn takes place; NULL: it does */
    struct onnx_value *kept[MAX_PORTS]; /* carried values as the last turn that took place left them */
    bool resized[MAX_PORTS];            /* carried: its size depends on how many turns take place */
};

/* What a node of the body read and made in the turn before. */
struct turn_memory {
    struct onnx_value **in, **out; /* NULL: nothing is remembered */
};

static enum status open_body(struct onnx_cx *cx, const struct onnx_node *n, struct loop *l)
{
    const struct onnx_attr *a = onnx_attr(cx, n, "body");
    RETURN_IF(!a || !a->graph.p, ST_BAD_TEXT, "the body is missing");
    REFUSE_WHEN(cx->depth > 16, "bodies are nested more than 16 deep");
    l->node = n;
    TRY(onnx_parse_graph(&cx->arena, a->graph, &l->body));
    TRY(onnx_expand(cx, &l->body.nodes, &l->body.n_nodes));
    REFUSE_WHEN(l->body.n_inputs > MAX_PORTS || l->body.n_outputs > MAX_PORTS,
                "the body has %zu inputs and %zu outputs; at most %d are supported", l->body.n_inputs, l->body.n_outputs,
                MAX_PORTS);
    return ST_OK;
}

static enum status charge(struct onnx_cx *cx, const struct loop *l, uint64_t turns)
{
    if (turns <= MAX_TURNS)
        cx->unrolled += turns * (l->body.n_nodes + 1);
    REFUSE_WHEN(turns > MAX_TURNS || cx->unrolled > MAX_UNROLLED,
                "%llu turns of %zu nodes; at most %d turns, and %d nodes in all loops, are written out",
                (unsigned long long)turns, l->body.n_nodes, MAX_TURNS, MAX_UNROLLED);
    return ST_OK;
}

/* For what `turns` turns give. */
static enum status room(struct onnx_cx *cx, struct loop *l)
{
    REFUSE_WHEN(l->n_collected && !l->turns, "there is no turn, and a sequence of nothing is no tensor");
    l->collected = arena_array(&cx->arena, struct onnx_value *, (size_t)l->n_collected * l->turns);
    l->memory = arena_array(&cx->arena, struct turn_memory, l->body.n_nodes);
    l->constants = arena_array(&cx->arena, struct onnx_value *, l->body.n_initializers + 1);
    RETURN_IF(!l->collected || !l->memory || !l->constants, ST_NO_MEMORY, "no memory for %u turns", l->turns);
    return ST_OK;
}

/* A constant of the current scope. */
static enum status bind_ints(struct onnx_cx *cx, const char *name, enum dtype type, uint32_t count, const int64_t *values)
{
    struct onnx_value *v = onnx_value_new(cx, name);
    int64_t *data =
        arena_dup(&cx->b.g->arena, values, (count ? count : 1) * sizeof(*data)); /* it may become part of the graph */
    RETURN_IF(!v || !data, ST_NO_MEMORY, "no memory for value \"%s\"", name);
    v->type = v->stored = type; /* a truth value is the first byte of its number */
    v->rank = count ? 1 : 0;
    v->dims[0] = count;
    v->data = data;
    return ST_OK;
}

/* A node as the source would have it. */
static enum status run_node(struct onnx_cx *cx, const char *op, const char *const *in, uint32_t n_in, const char *out,
                            int64_t axis)
{
    struct onnx_attr *a = arena_new(&cx->arena, struct onnx_attr);
    struct onnx_node *n = arena_new(&cx->arena, struct onnx_node);
    const char **names = arena_dup(&cx->arena, in, n_in * sizeof(*names)),
               **results = arena_dup(&cx->arena, &out, sizeof(out));
    RETURN_IF(!a || !n || !names || !results, ST_NO_MEMORY, "no memory for a node");
    *a = (struct onnx_attr){.name = "axis", .type = 2, .i = axis};
    *n = (struct onnx_node){ .name = out,
                             .op = op,
                             .domain = "",
                             .in = names,
                             .n_in = n_in,
                             .out = results,
                             .n_out = 1,
                             .attrs = a,
                             .n_attrs = !strcmp(op, "Concat") || !strcmp(op, "Gather") ? 1 : 0 };
    return onnx_nodes(cx, n, 1);
}

static const struct onnx_scope *enter(struct onnx_cx *cx, const struct onnx_scope *outer, const char *part, uint32_t number)
{
    struct onnx_scope *s = arena_new(&cx->arena, struct onnx_scope);
    const char *prefix = arena_printf(&cx->arena, "%s/%s%u/", cx->label, part, number);
    if (!s || !prefix)
        return NULL;
    *s = (struct onnx_scope){.prefix = prefix, .parent = outer, .call = outer->call};
    return s;
}

static enum status usable(struct onnx_cx *cx, const struct onnx_value *v)
{
    if (v && v->type != DT_NONE)
        return ST_OK;
    cx->poisoned = true;
    REFUSE("a node of the body is not supported");
}

/* ---- nodes that do the same in every turn ----------------------------------------------------------------------------- */

static bool has_graph(const struct onnx_node *n)
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].graph.p)
            return true;
    return false;
}

static struct onnx_value *value_of(struct onnx_cx *cx, const char *name)
{
    return name[0] ? onnx_find(cx, name) : NULL;
}

/* Whether the node reads the very values that it read before; then its results are those of before. */
static enum status remembered(struct onnx_cx *cx, const struct onnx_node *n, const struct turn_memory *m, bool *ret)
{
    *ret = m->in != NULL;
    for (uint32_t i = 0; i < n->n_in && *ret; i++)
        *ret = value_of(cx, n->in[i]) == m->in[i];
    for (uint32_t i = 0; i < n->n_out && *ret; i++)
        if (m->out[i])
            TRY(onnx_bind(cx, n->out[i], m->out[i]));
    return ST_OK;
}

static enum status remember(struct onnx_cx *cx, const struct onnx_node *n, struct turn_memory *m)
{
    if (has_graph(n)) /* reads what it likes */
        return ST_OK;
    if (!m->in) {
        m->out = arena_array(&cx->arena, struct onnx_value *, n->n_out + 1);
        m->in = m->out ? arena_array(&cx->arena, struct onnx_value *, n->n_in + 1) : NULL;
        RETURN_IF(!m->in, ST_NO_MEMORY, "no memory for a turn");
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        m->in[i] = value_of(cx, n->in[i]);
    for (uint32_t i = 0; i < n->n_out; i++)
        m->out[i] = value_of(cx, n->out[i]);
    return ST_OK;
}

/* What is the same in every turn is computed, or put into the graph, in the first one. */
static enum status run_nodes(struct onnx_cx *cx, const struct loop *l)
{
    for (size_t i = 0; i < l->body.n_nodes; i++) {
        const struct onnx_node *n = &l->body.nodes[i];
        bool known;
        TRY(remembered(cx, n, &l->memory[i], &known));
        if (known)
            continue;
        TRY(onnx_node_at(cx, l->body.nodes, i));
        TRY(remember(cx, n, &l->memory[i]));
    }
    return ST_OK;
}

static enum status run_constants(struct onnx_cx *cx, const struct loop *l)
{
    size_t n = l->body.n_initializers;
    if (!n || !l->constants[0]) {
        TRY(onnx_initializers(cx, &l->body));
        for (size_t i = 0; i < n; i++)
            l->constants[i] = onnx_find(cx, l->body.initializers[i].name);
        return ST_OK;
    }
    for (size_t i = 0; i < n; i++)
        TRY(onnx_bind(cx, l->body.initializers[i].name, l->constants[i]));
    return ST_OK;
}

/* With the scope of the turn: the values of the body's outputs. */
static enum status run_body(struct onnx_cx *cx, const struct loop *l, struct onnx_value *ret[MAX_PORTS])
{
    TRY(run_constants(cx, l));
    TRY(run_nodes(cx, l));
    for (size_t i = 0; i < l->body.n_outputs; i++) {
        ret[i] = onnx_find(cx, l->body.outputs[i].name);
        TRY(usable(cx, ret[i]));
    }
    return ST_OK;
}

/* Whether somebody reads an output that has a name; inside a body that is not known. */
static bool is_read(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i)
{
    const struct onnx_entry *e = onnx_wants(n, i) ? onnx_entry(cx, cx->scope->prefix, n->out[i], false) : NULL;
    return onnx_wants(n, i) && (cx->scope->parent || (e && (e->uses || (e->value && e->value->output))));
}

/* ---- sequences -------------------------------------------------------------------------------------------------------- */

/* `count` values s0, s1, … of the current scope along an axis that they have; they may be more than one Concat takes. */
static enum status join(struct onnx_cx *cx, const char *const *names, uint32_t count, uint32_t axis, const char *result)
{
    const char **next = arena_array(&cx->arena, const char *, count / JOINED + 1);
    RETURN_IF(!next, ST_NO_MEMORY, "no memory for a sequence");
    if (count <= JOINED)
        return run_node(cx, "Concat", names, count, result, axis);
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i += JOINED, n++) {
        next[n] = arena_printf(&cx->arena, "%s_%u", result, i);
        RETURN_IF(!next[n], ST_NO_MEMORY, "no memory for a sequence");
        TRY(run_node(cx, "Concat", names + i, count - i < JOINED ? count - i : JOINED, next[n], axis));
    }
    return join(cx, next, n, axis, result);
}

/* What output `which` gave in every turn, side by side along a new axis. */
static enum status collect(struct onnx_cx *cx, const struct loop *l, uint32_t which, int64_t axis, bool backward,
                           struct onnx_value **ret)
{
    struct onnx_value *const *each = &l->collected[(size_t)which * l->turns];
    uint32_t rank = each[0]->rank + 1u, at;
    const char **names = arena_array(&cx->arena, const char *, l->turns);
    RETURN_IF(!names, ST_NO_MEMORY, "no memory for a sequence");
    REFUSE_WHEN(rank > MAX_RANK, "a sequence of tensors of %u dimensions", rank - 1);
    TRY(onnx_axis(cx, axis, rank, &at));
    for (uint32_t t = 0; t < l->turns; t++) {
        struct onnx_value *v = each[backward ? l->turns - 1 - t : t];
        int64_t dims[MAX_RANK];
        REFUSE_WHEN(v->rank != each[0]->rank || memcmp(v->dims, each[0]->dims, v->rank * sizeof(v->dims[0])),
                    "a turn gives another shape than the first; a sequence has one");
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = i == at ? 1 : v->dims[i - (i > at)];
        const char *part = arena_printf(&cx->arena, "part%u", t), *shape = arena_printf(&cx->arena, "shape%u", t);
        names[t] = arena_printf(&cx->arena, "row%u", t);
        RETURN_IF(!part || !shape || !names[t], ST_NO_MEMORY, "no memory for a sequence");
        TRY(onnx_bind(cx, part, v));
        TRY(bind_ints(cx, shape, DT_I64, rank, dims));
        TRY(run_node(cx, "Reshape", (const char *[]){part, shape}, 2, names[t], 0));
    }
    TRY(join(cx, names, l->turns, at, "all"));
    *ret = onnx_find(cx, "all");
    return usable(cx, *ret);
}

static enum status give_sequence(struct onnx_cx *cx, const struct loop *l, uint32_t which, int64_t axis, bool backward)
{
    struct onnx_value *all = NULL;
    uint32_t i = l->n_carried + which;
    if (!onnx_wants(l->node, i) || (l->running && !is_read(cx, l->node, i)))
        return ST_OK;
    REFUSE_WHEN(l->running,
                "output %u has a row per turn, and how many there are is computed at run time; a graph needs one shape", i);
    const struct onnx_scope *outer = cx->scope, *inner = enter(cx, outer, "sequence", which);
    RETURN_IF(!inner, ST_NO_MEMORY, "no memory for a sequence");
    cx->scope = inner;
    enum status st = collect(cx, l, which, axis, backward, &all);
    cx->scope = outer;
    TRY(st);
    return onnx_out_view(cx, l->node, i, all, NULL);
}

static enum status give_carried(struct onnx_cx *cx, const struct loop *l)
{
    build_source(B, l->node->op, cx->label);
    for (uint32_t i = 0; i < l->n_carried; i++) {
        if (!onnx_wants(l->node, i) || (l->resized[i] && !is_read(cx, l->node, i)))
            continue;
        REFUSE_WHEN(l->resized[i],
                    "output %u has another shape after every turn, and how many there are is computed at run time; a graph "
                    "needs one shape",
                    i);
        TRY(onnx_out_view(cx, l->node, i, l->kept[i], NULL));
    }
    return ST_OK;
}

/* ---- Loop ------------------------------------------------------------------------------------------------------------- */

static enum status known_number(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, const char *what, int64_t dflt,
                                int64_t *ret)
{
    struct onnx_value *v;
    int64_t *k;
    uint32_t count;
    TRY(onnx_in_opt(cx, n, i, &v));
    *ret = dflt;
    if (!v)
        return ST_OK;
    REFUSE_WHEN(!onnx_is_const(v),
                "%s is computed at run time; a graph has every turn written out, so it must be a constant of the model",
                what);
    TRY(onnx_ints(cx, v, what, &k, &count));
    *ret = count ? k[0] : 0;
    return ST_OK;
}

/* ret: one truth value without dimensions, so that it widens nothing that it picks. */
static enum status scalar(struct onnx_cx *cx, struct onnx_value *v, struct onnx_value **ret)
{
    REFUSE_WHEN(onnx_count(v) != 1, "the condition has %llu elements; 1 is expected", (unsigned long long)onnx_count(v));
    *ret = v;
    if (!v->rank)
        return ST_OK;
    TRY(onnx_bind(cx, "condition", v));
    TRY(run_node(cx, "Squeeze", (const char *[]){ "condition" }, 1, "truth", 0));
    *ret = onnx_find(cx, "truth");
    return usable(cx, *ret);
}

static bool same_shape(const struct onnx_value *a, const struct onnx_value *b)
{
    return !a->list && !b->list && a->type == b->type && a->rank == b->rank &&
           !memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0]));
}

/* What a turn that may not take place makes of a carried value. The next turn gets what was picked, so that nothing behind
 * the end is needed; but what is known, as a count of turns, stays known: the next one takes place only if this one does. */
static enum status carry(struct onnx_cx *cx, struct loop *l, uint32_t i, struct onnx_value *v)
{
    struct onnx_value *before = l->kept[i];
    const char *names[] = { "running", arena_printf(&cx->arena, "new%u", i), arena_printf(&cx->arena, "old%u", i) },
               *result = arena_printf(&cx->arena, "kept%u", i);
    RETURN_IF(!names[1] || !names[2] || !result, ST_NO_MEMORY, "no memory for a turn");
    l->carried[i] = l->kept[i] = v;
    if (!l->running || v == before)
        return ST_OK;
    l->resized[i] = l->resized[i] || !same_shape(v, before);
    if (l->resized[i])
        return ST_OK;
    TRY(onnx_bind(cx, names[1], v));
    TRY(onnx_bind(cx, names[2], before));
    TRY(run_node(cx, "Where", names, 3, result, 0));
    l->kept[i] = onnx_find(cx, result);
    l->carried[i] = onnx_is_const(v) ? v : l->kept[i];
    return usable(cx, l->kept[i]);
}

/* Whether there may be a turn after this one, and if only a run knows, the condition of it. */
static enum status go_on(struct onnx_cx *cx, struct loop *l, struct onnx_value *cond, bool *more)
{
    int64_t *truth;
    uint32_t count;
    if (onnx_is_const(cond)) {
        TRY(onnx_ints(cx, cond, "cond", &truth, &count));
        *more = count && truth[0];
        return ST_OK;
    }
    *more = true;
    TRY(scalar(cx, cond, &cond));
    if (l->running) {
        TRY(onnx_bind(cx, "again", cond));
        TRY(run_node(cx, "And", (const char *[]){ "running", "again" }, 2, "both", 0));
        cond = onnx_find(cx, "both");
        TRY(usable(cx, cond));
    }
    l->running = cond;
    return ST_OK;
}

/* Between a turn and the next, in a scope of its own: carried values and the condition. */
static enum status end_turn(struct onnx_cx *cx, struct loop *l, struct onnx_value *const out[MAX_PORTS], uint32_t t,
                            bool *more)
{
    const struct onnx_scope *outer = cx->scope, *inner = enter(cx, outer, "after", t);
    RETURN_IF(!inner, ST_NO_MEMORY, "no memory for a turn");
    cx->scope = inner;
    enum status st = l->running ? onnx_bind(cx, "running", l->running) : ST_OK;
    for (uint32_t i = 0; i < l->n_carried && st == ST_OK; i++)
        st = carry(cx, l, i, out[1 + i]);
    if (st == ST_OK && (t + 1 < l->turns || onnx_is_const(out[0])))
        st = go_on(cx, l, out[0], more);
    cx->scope = outer;
    return st;
}

/* One turn: number, condition and carried values in; condition, carried and collected values out. */
static enum status loop_turn(struct onnx_cx *cx, struct loop *l, uint32_t t, bool *more)
{
    struct onnx_value *out[MAX_PORTS] = { 0 };
    TRY(bind_ints(cx, l->body.inputs[0].name, DT_I64, 0, &(int64_t){t}));
    TRY(bind_ints(cx, l->body.inputs[1].name, DT_B8, 0, &(int64_t){1}));
    for (uint32_t i = 0; i < l->n_carried; i++)
        TRY(onnx_bind(cx, l->body.inputs[2 + i].name, l->carried[i]));
    TRY(run_body(cx, l, out));
    for (uint32_t i = 0; i < l->n_collected; i++)
        l->collected[(size_t)i * l->turns + t] = out[1 + l->n_carried + i];
    return end_turn(cx, l, out, t, more);
}

/* The condition of the first turn: *ret is false when there is none. */
static enum status first_condition(struct onnx_cx *cx, const struct onnx_node *n, struct loop *l, bool *ret)
{
    struct onnx_value *v;
    const struct onnx_scope *outer = cx->scope, *inner = enter(cx, outer, "before", 0);
    RETURN_IF(!inner, ST_NO_MEMORY, "no memory for a turn");
    *ret = true;
    TRY(onnx_in_opt(cx, n, 1, &v));
    if (!v)
        return ST_OK;
    cx->scope = inner;
    enum status st = go_on(cx, l, v, ret);
    cx->scope = outer;
    return st;
}

static enum status convert_loop(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct loop l = {0};
    int64_t most;
    bool more;
    TRY(known_number(cx, n, 0, "the number of turns", INT64_MAX, &most));
    TRY(first_condition(cx, n, &l, &more));
    TRY(open_body(cx, n, &l));
    most = !more || most < 0 ? 0 : most;
    l.turns = (uint32_t)(most <= MAX_TURNS ? most : MAX_TURNS); /* a larger number may stand for a condition that ends it */
    l.n_carried = n->n_in > 2 ? n->n_in - 2 : 0;
    RETURN_IF(l.body.n_inputs != 2 + l.n_carried || l.body.n_outputs < 1 + l.n_carried, ST_BAD_TEXT,
              "the body has %zu inputs and %zu outputs beside %u carried values", l.body.n_inputs, l.body.n_outputs,
              l.n_carried);
    l.n_collected = (uint32_t)l.body.n_outputs - 1 - l.n_carried;
    TRY(room(cx, &l));
    for (uint32_t i = 0; i < l.n_carried; i++)
        TRY(onnx_in(cx, n, 2 + i, &l.carried[i]));
    memcpy(l.kept, l.carried, sizeof(l.kept));
    uint32_t asked = l.turns, t = 0;
    const struct onnx_scope *outer = cx->scope;
    for (enum status st; t < asked && more; t++) {
        const struct onnx_scope *inner = enter(cx, outer, "turn", t);
        RETURN_IF(!inner, ST_NO_MEMORY, "no memory for a turn");
        TRY(charge(cx, &l, 1));
        cx->scope = inner;
        st = loop_turn(cx, &l, t, &more);
        cx->scope = outer;
        cx->fixed = false;
        TRY(st);
    }
    REFUSE_WHEN(more && most > t && l.running,
                "its condition is computed at run time, and nothing ends it after %d turns; all that are possible are "
                "written out, so give it a number of turns",
                MAX_TURNS);
    if (more && most > t)
        TRY(charge(cx, &l, (uint64_t)most));
    for (uint32_t i = 1; i < l.n_collected && t < asked; i++) /* it ended early */
        memmove(&l.collected[(size_t)i * t], &l.collected[(size_t)i * asked], t * sizeof(*l.collected));
    l.turns = t;
    TRY(give_carried(cx, &l));
    for (uint32_t i = 0; i < l.n_collected; i++)
        TRY(give_sequence(cx, &l, i, 0, false));
    return ST_OK;
}

/* ---- Scan ------------------------------------------------------------------------------------------------------------- */

static int64_t listed(struct onnx_cx *cx, const struct onnx_node *n, const char *name, uint32_t i)
{
    const struct onnx_attr *a = onnx_attr(cx, n, name);
    return a && i < a->n_ints ? a->ints[i] : 0;
}

static enum status scan_turn(struct onnx_cx *cx, struct loop *l, uint32_t n_sequences, uint32_t t)
{
    struct onnx_value *out[MAX_PORTS] = {0};
    for (uint32_t i = 0; i < n_sequences; i++) {
        const char *of = arena_printf(&cx->arena, "sequence%u", i), *at = arena_printf(&cx->arena, "at%u", i);
        bool backward = listed(cx, l->node, "scan_input_directions", i) == 1;
        int64_t turn = backward ? l->turns - 1 - t : t;
        RETURN_IF(!of || !at, ST_NO_MEMORY, "no memory for a turn");
        TRY(onnx_bind(cx, of, l->sequences[i]));
        TRY(bind_ints(cx, at, DT_I64, 0, &turn));
        TRY(run_node(cx, "Gather", (const char *[]){ of, at }, 2, l->body.inputs[l->n_carried + i].name,
                     listed(cx, l->node, "scan_input_axes", i)));
    }
    for (uint32_t i = 0; i < l->n_carried; i++)
        TRY(onnx_bind(cx, l->body.inputs[i].name, l->carried[i]));
    TRY(run_body(cx, l, out));
    memcpy(l->carried, out, l->n_carried * sizeof(out[0]));
    memcpy(l->kept, out, l->n_carried * sizeof(out[0]));
    for (uint32_t i = 0; i < l->n_collected; i++)
        l->collected[(size_t)i * l->turns + t] = out[l->n_carried + i];
    return ST_OK;
}

static enum status convert_scan(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct loop l = {0};
    int64_t sequences = onnx_attr_int(cx, n, "num_scan_inputs", 0);
    uint32_t axis;
    REFUSE_WHEN(cx->model.opset < 9, "a Scan of opset %lld; 9 and later are supported", (long long)cx->model.opset);
    TRY(open_body(cx, n, &l));
    RETURN_IF(sequences < 1 || sequences > n->n_in || l.body.n_inputs != n->n_in ||
                  l.body.n_outputs < n->n_in - (uint64_t)sequences,
              ST_BAD_TEXT, "%lld sequences of %u inputs, a body of %zu inputs and %zu outputs", (long long)sequences,
              n->n_in, l.body.n_inputs, l.body.n_outputs);
    l.n_carried = n->n_in - (uint32_t)sequences;
    l.n_collected = (uint32_t)l.body.n_outputs - l.n_carried;
    for (uint32_t i = 0; i < n->n_in; i++)
        TRY(onnx_in(cx, n, i, i < l.n_carried ? &l.carried[i] : &l.sequences[i - l.n_carried]));
    TRY(onnx_axis(cx, listed(cx, n, "scan_input_axes", 0), l.sequences[0]->rank, &axis));
    l.turns = l.sequences[0]->dims[axis];
    TRY(charge(cx, &l, l.turns));
    TRY(room(cx, &l));
    const struct onnx_scope *outer = cx->scope;
    for (uint32_t t = 0; t < l.turns; t++) {
        const struct onnx_scope *inner = enter(cx, outer, "turn", t);
        RETURN_IF(!inner, ST_NO_MEMORY, "no memory for a turn");
        cx->scope = inner;
        enum status st = scan_turn(cx, &l, (uint32_t)sequences, t);
        cx->scope = outer;
        cx->fixed = false;
        TRY(st);
    }
    TRY(give_carried(cx, &l));
    for (uint32_t i = 0; i < l.n_collected; i++)
        TRY(give_sequence(cx, &l, i, listed(cx, n, "scan_output_axes", i), listed(cx, n, "scan_output_directions", i) == 1));
    return ST_OK;
}

const struct onnx_row onnx_rows_loop[] = {
    {"Loop", ONNX_RETYPES | ONNX_LISTS, convert_loop, NULL},
    {"Scan", ONNX_RETYPES, convert_scan, NULL},
    {0},
};
