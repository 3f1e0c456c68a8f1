/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: a graph has none. A branch whose condition is known while converting takes the place of its If; everything else is refused by name.
 * Operators that only make sense on constants are here, too: they get this far when an input is not one. */
#include <string.h>

#include "convert/onnx/onnx.h"

static enum status convert_if(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v;
    struct onnx_graph g;
    int64_t *truth;
    uint32_t k;
    TRY(onnx_in(cx, n, 0, &v));
    REFUSE_WHEN(!onnx_is_const(v), "the condition is computed at run time; a graph has no control flow. Use Where on the results of both branches");
    TRY(onnx_ints(cx, v, "cond", &truth, &k));
    const struct onnx_attr *a = onnx_attr(cx, n, k && truth[0] ? "then_branch" : "else_branch");
    RETURN_IF(!a || !a->graph.p, ST_BAD_TEXT, "the branch is missing");
    REFUSE_WHEN(cx->depth > 16, "branches are nested more than 16 deep");
    TRY(onnx_parse_graph(&cx->arena, a->graph, &g));
    TRY(onnx_expand(cx, &g.nodes, &g.n_nodes));
    struct onnx_scope inner = {.prefix = arena_printf(&cx->arena, "%s/", cx->label), .parent = cx->scope, .call = cx->scope->call};
    const struct onnx_scope *outer = cx->scope;
    RETURN_IF(!inner.prefix, ST_NO_MEMORY, "no memory for a branch");
    cx->scope = &inner;
    enum status st = onnx_initializers(cx, &g);
    if (st == ST_OK)
        st = onnx_nodes(cx, g.nodes, g.n_nodes);
    struct onnx_value *out[MAX_PORTS] = {0};
    for (size_t i = 0; i < g.n_outputs && i < MAX_PORTS; i++)
        out[i] = onnx_find(cx, g.outputs[i].name);
    cx->scope = outer;
    TRY(st);
    for (uint32_t i = 0; i < n->n_out && i < MAX_PORTS; i++) {
        if (!onnx_wants(n, i))
            continue;
        if (!out[i] || out[i]->type == DT_NONE) {
            cx->poisoned = true;
            REFUSE("a node of the branch is not supported");
        }
        TRY(onnx_out_view(cx, n, i, out[i], NULL));
    }
    return ST_OK;
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
static const char sized[] = "its inputs are computed at run time and decide the size of the output; they must be constants of the model";
static const char listed[] = "sequences, optionals and strings have no counterpart in a graph";
static const char decoded[] = "a compressed image has no fixed size; decode it before the model";
static const char drawn[] = "random numbers differ from run to run; give them as an input";

const struct onnx_row onnx_rows_control[] = {
    {"If", ONNX_RETYPES, convert_if, NULL},
    {"Loop", 0, convert_refused, control},
    {"Scan", 0, convert_refused, control},
    {"Range", 0, convert_refused, sized},
    {"ConstantOfShape", 0, convert_refused, sized},
    {"Unique", 0, convert_refused, sized},
    {"SequenceConstruct", 0, convert_refused, listed},
    {"SequenceAt", 0, convert_refused, listed},
    {"SplitToSequence", 0, convert_refused, listed},
    {"ConcatFromSequence", 0, convert_refused, listed},
    {"Optional", 0, convert_refused, listed},
    {"OptionalHasElement", ONNX_RETYPES, convert_has_element, NULL},
    {"SequenceEmpty", 0, convert_refused, listed},
    {"SequenceInsert", 0, convert_refused, listed},
    {"SequenceErase", 0, convert_refused, listed},
    {"SequenceLength", 0, convert_refused, listed},
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
