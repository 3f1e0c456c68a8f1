/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow. A branch whose condition is known while converting takes the place of its If; otherwise both are put in
 * place and the condition picks, unless the shapes at hand allow only one. Loop and Scan are in onnx_op_loop.c, everything
 * else is refused by name. Operators that only make sense on constants are here, too: they get this far when an input is
 * not one. */
#include <string.h>

#include "convert/onnx/onnx.h"

/* The nodes of a branch become nodes of this graph; ret: what it gives. */
static enum status open_branch(struct onnx_cx *cx, const struct onnx_node *n, const char *which,
                               struct onnx_value *ret[MAX_PORTS])
{
    struct onnx_graph g;
    const struct onnx_attr *a = onnx_attr(cx, n, which);
    RETURN_IF(!a || !a->graph.p, ST_BAD_TEXT, "the branch is missing");
    REFUSE_WHEN(cx->depth > 16, "branches are nested more than 16 deep");
    TRY(onnx_parse_graph(&cx->arena, a->graph, &g));
    TRY(onnx_expand(cx, &g.nodes, &g.n_nodes));
    struct onnx_value *args[MAX_PORTS] = {0};
    REFUSE_WHEN(g.n_inputs > MAX_PORTS, "the graph inside has %zu inputs; at most %d are supported", g.n_inputs, MAX_PORTS);
    for (uint32_t i = 0; i < g.n_inputs; i++)
        TRY(onnx_in(cx, n, i, &args[i]));
    struct onnx_scope *inner = arena_new(&cx->arena, struct onnx_scope);
    const struct onnx_scope *outer = cx->scope;
    const char *prefix = arena_printf(&cx->arena, "%s/%s/", cx->label, which);
    RETURN_IF(!inner || !prefix, ST_NO_MEMORY, "no memory for a branch");
    *inner = (struct onnx_scope){.prefix = prefix, .parent = outer, .call = outer->call};
    cx->scope = inner;
    enum status st = onnx_initializers(cx, &g);
    for (size_t i = 0; i < g.n_inputs && st == ST_OK; i++)
        st = onnx_bind(cx, g.inputs[i].name, args[i]);
    if (st == ST_OK)
        st = onnx_nodes(cx, g.nodes, g.n_nodes);
    for (size_t i = 0; i < g.n_outputs && i < MAX_PORTS; i++)
        ret[i] = onnx_find(cx, g.outputs[i].name);
    cx->scope = outer;
    cx->fixed = false;
    TRY(st);
    for (uint32_t i = 0; i < n->n_out && i < MAX_PORTS; i++)
        if (onnx_wants(n, i) && (!ret[i] || ret[i]->type == DT_NONE)) {
            cx->poisoned = true;
            REFUSE("a node of the branch is not supported");
        }
    return ST_OK;
}

/* The same for a branch that may not fit the shapes at hand: models for several rates or lengths have a branch for each, and
 * ONNX, too, would fail in the wrong one. Its issues are no issues of the graph, as long as all of them are of that kind. */
static enum status open_if_possible(struct onnx_cx *cx, const struct onnx_node *n, const char *which,
                                    struct onnx_value *ret[MAX_PORTS], bool *possible)
{
    size_t issues = cx->r->issues.n;
    unsigned refused = cx->n_refused;
    enum status st = open_branch(cx, n, which, ret);
    *possible = st == ST_OK;
    if (st == ST_OK || st == ST_NO_MEMORY || refused != cx->n_refused || issues == cx->r->issues.n)
        return st;
    cx->r->issues.n = issues;
    cx->poisoned = false;
    return ST_OK;
}

/* One element has the rank that somebody wants: a branch that gives a plain constant beside one that passes a value on
 * (Paddle's exporter writes such). The higher of both ranks, since operators with axes need theirs. */
static enum status one_rank(struct onnx_cx *cx, uint32_t t[2])
{
    const struct tensor_desc *a = build_desc(B, t[0]), *b = build_desc(B, t[1]);
    if (a->rank == b->rank || desc_count(a) != 1 || desc_count(b) != 1)
        return ST_OK;
    uint32_t low = a->rank < b->rank ? 0 : 1;
    struct tensor_desc like = low ? *a : *b;
    return build_reshape(B, onnx_name(cx, "ranked"), t[low], like.rank, like.dims, &t[low]);
}

/* One output: what both branches give has one shape, and the condition picks. */
static enum status pick_output(struct onnx_cx *cx, const struct onnx_node *n, uint32_t i, uint32_t when,
                               struct onnx_value *const side[2])
{
    uint32_t t[2], y;
    for (uint32_t k = 0; k < 2; k++)
        TRY(onnx_tensor(cx, side[k], NULL, &t[k]));
    TRY(one_rank(cx, t));
    const struct tensor_desc *a = build_desc(B, t[0]), *b = build_desc(B, t[1]);
    char of_a[DESC_TEXT_MAX], of_b[DESC_TEXT_MAX];
    REFUSE_WHEN(
        a->type != b->type || !desc_same_shape(a, b),
        "output %u is %s in one branch and %s in the other; the condition is computed at run time, and a graph needs one "
        "type and shape",
        i, desc_text(a, of_a), desc_text(b, of_b));
    TRY(build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "picked"), BUILD_IN(when, t[0], t[1]) },
        &y));
    TRY(onnx_out(cx, n, i, y, NULL));
    onnx_out_type(cx, n, i, side[0]->type);
    return ST_OK;
}

static enum status give_branch(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *const out[MAX_PORTS])
{
    for (uint32_t i = 0; i < n->n_out && i < MAX_PORTS; i++)
        if (onnx_wants(n, i))
            TRY(onnx_out_view(cx, n, i, out[i], NULL));
    return ST_OK;
}

/* Nodes have no effect but their outputs, so both branches and a choice give the numbers of one. Every form of a converted
 * model can carry that, and every backend runs it; the compiler leaves out the branch that is not picked
 * (prepare/opt_guard.c). */
static enum status convert_both(struct onnx_cx *cx, const struct onnx_node *n, struct onnx_value *cond)
{
    struct onnx_value *yes[MAX_PORTS] = {0}, *no[MAX_PORTS] = {0};
    bool yes_fits, no_fits;
    uint32_t when;
    REFUSE_WHEN(onnx_count(cond) != 1, "the condition has %llu elements; 1 is expected",
                (unsigned long long)onnx_count(cond));
    TRY(onnx_tensor(cx, cond, NULL, &when));
    TRY(open_if_possible(cx, n, "then_branch", yes, &yes_fits));
    TRY(open_if_possible(cx, n, "else_branch", no, &no_fits));
    IMPOSSIBLE_WHEN(!yes_fits && !no_fits, "neither branch is possible with the shapes of its inputs");
    build_source(B, n->op, cx->label);
    if (!yes_fits || !no_fits)
        return give_branch(cx, n, yes_fits ? yes : no);
    TRY(build_reshape(B, onnx_name(cx, "condition"), when, 1, (const uint32_t[]){1}, &when));
    for (uint32_t i = 0; i < n->n_out && i < MAX_PORTS; i++) {
        if (!onnx_wants(n, i))
            continue;
        cx->first_tensor = (uint32_t)cx->b.g->tensors.n;
        TRY(pick_output(cx, n, i, when, (struct onnx_value *const[]){yes[i], no[i]}));
    }
    return ST_OK;
}

static enum status convert_if(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *out[MAX_PORTS] = {0};
    int64_t *truth;
    uint32_t k;
    TRY(onnx_in(cx, n, 0, &v));
    if (!onnx_is_const(v))
        return convert_both(cx, n, v);
    TRY(onnx_ints(cx, v, "cond", &truth, &k));
    TRY(open_branch(cx, n, k && truth[0] ? "then_branch" : "else_branch", out));
    return give_branch(cx, n, out);
}

/* A graph that an operator takes as an attribute, called with the inputs of this node (onnx_op_written.c). */
static enum status convert_body(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *out[MAX_PORTS] = {0};
    TRY(open_branch(cx, n, "body", out));
    return onnx_out_view(cx, n, 0, out[0], NULL);
}

/* A tensor is there, or the model has no such input. */
static enum status convert_has_element(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const uint8_t truth[2] = {0, 1};
    struct onnx_value *v;
    TRY(onnx_in_opt(cx, n, 0, &v));
    return onnx_out_const(cx, n, 0, DT_B8, 0, (uint32_t[]){0}, &truth[v != NULL]);
}

static enum status convert_refused(struct onnx_cx *cx, const struct onnx_node *n)
{
    (void)cx;
    REFUSE("%s", onnx_row_arg(n));
}

static const char control[] = "control flow; a graph runs every node once. Unroll it when the model is exported";
static const char sized[] =
    "its inputs are computed at run time and decide the size of the output; they must be constants of the model";
static const char listed[] = "optionals and strings have no counterpart in a graph";
static const char decoded[] = "a compressed image has no fixed size; decode it before the model";
static const char drawn[] = "random numbers differ from run to run; give them as an input";

const struct onnx_row onnx_rows_control[] = {
    {"If", ONNX_RETYPES, convert_if, NULL},
    {"CallBody", ONNX_RETYPES, convert_body, NULL},
    {"Range", 0, convert_refused, sized},
    {"ConstantOfShape", 0, convert_refused, sized},
    {"Unique", 0, convert_refused, sized},
    {"Optional", 0, convert_refused, listed},
    {"OptionalHasElement", ONNX_RETYPES, convert_has_element, NULL},
    {"SequenceMap", 0, convert_refused, control},
    {"StringNormalizer", 0, convert_refused, listed},
    {"TfIdfVectorizer", 0, convert_refused, listed},
    {"ImageDecoder", 0, convert_refused, decoded},
    {"RandomNormal", 0, convert_refused, drawn},
    {"RandomUniform", 0, convert_refused, drawn},
    {"Multinomial", 0, convert_refused, drawn},
    {"Bernoulli", 0, convert_refused, drawn},
    {"RandomNormalLike", 0, convert_refused, drawn},
    {"RandomUniformLike", 0, convert_refused, drawn},
    {0},
};
