/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text form that ir_print writes; docs/internals/ir.md has the grammar. Errors give line and column. */
#include "ir/ir_parse.h"

#include <string.h>

#include "ir/ir_text.h"

static enum status operand(struct parser *p, uint32_t *ret)
{
    if (parse_accept(p, '_')) {
        *ret = IR_NONE;
        return ST_OK;
    }
    const char *name;
    TRY(parse_tensor_name(p, &name));
    *ret = ir_find_tensor(p->g, name);
    FAIL_IF(*ret == IR_NONE, "tensor \"%s\" is not declared", name);
    return ST_OK;
}

static enum status operands(struct parser *p, uint32_t *list, uint32_t *n, char close)
{
    *n = 0;
    if (parse_peek(p) == close)
        return ST_OK;
    do {
        FAIL_IF(*n == MAX_PORTS, "at most %d operands", MAX_PORTS);
        TRY(operand(p, &list[(*n)++]));
    } while (parse_accept(p, ','));
    return ST_OK;
}

static enum status string_param(struct parser *p, struct op_value *v)
{
    const char *text;
    TRY(parse_quoted(p, &text));
    *v = (struct op_value){ .type = DT_STR, .count = (uint32_t)strlen(text) + 1, .data = text };
    return ST_OK;
}

static enum status param(struct parser *p, const struct op_def *op, struct op_value *params)
{
    char name[64];
    parse_word(p, name);
    int i = op_param_index(op, name);
    FAIL_IF(i < 0, "%s has no parameter \"%s\"", op->name, name);
    FAIL_IF(params[i].data, "parameter \"%s\" is given twice", name);
    struct op_value *v = &params[i];
    TRY(parse_expect(p, '='));
    if (parse_peek(p) == '"')
        return string_param(p, v);
    TRY(parse_type(p, &v->type));
    FAIL_IF(v->type == DT_STR, "a text is written in quotes");
    if (parse_accept(p, '['))
        TRY(parse_dims(p, &v->rank, v->dims, NULL));
    uint64_t bytes, count = 1;
    TRY(parse_values(p, v->type, &v->data, &bytes));
    for (unsigned k = 0; k < v->rank; k++)
        FAIL_IF(__builtin_mul_overflow(count, v->dims[k], &count), "parameter \"%s\" is too large", name);
    FAIL_IF(count > UINT32_MAX || dtype_bytes(v->type, count) != bytes,
            "parameter \"%s\" has %llu bytes of data; its type needs %llu", name, (unsigned long long)bytes,
            (unsigned long long)dtype_bytes(v->type, count));
    v->count = (uint32_t)count;
    return ST_OK;
}

static enum status node_params(struct parser *p, struct ir_node *n)
{
    n->params = arena_array(&p->scratch, struct op_value, op_param_count(n->op));
    RETURN_IF(!n->params, ST_NO_MEMORY, "no memory for parameters");
    if (!parse_accept(p, '{'))
        return ST_OK;
    do
        TRY(param(p, n->op, n->params));
    while (parse_accept(p, ','));
    return parse_expect(p, '}');
}

static enum status node_clamp(struct parser *p, struct ir_node *n)
{
    n->post = OP_POST_NONE;
    if (!parse_accept_word(p, "clamp"))
        return ST_OK;
    double lo, hi;
    TRY(parse_expect(p, '('));
    TRY(parse_real(p, &lo));
    TRY(parse_expect(p, ','));
    TRY(parse_real(p, &hi));
    n->post = (struct op_post){ (float)lo, (float)hi };
    FAIL_IF(!(n->post.lo <= n->post.hi), "the clamp from %g to %g holds nothing", lo, hi);
    return parse_expect(p, ')');
}

static enum status node_sources(struct parser *p, struct ir_node *n)
{
    if (!parse_accept_word(p, "from"))
        return ST_OK;
    do {
        const char *one;
        TRY(parse_quoted(p, &one));
        FAIL_IF(!*one || strchr(one, '\n'), "the name of a source is one line");
        n->source = ir_join_sources(&p->scratch, n->source, one);
    } while (parse_accept(p, ','));
    return ST_OK;
}

/* when (%a, !%b) */
static enum status node_guards(struct parser *p, struct ir_node *n)
{
    if (!parse_accept_word(p, "when"))
        return ST_OK;
    n->guards = arena_array(&p->scratch, struct ir_guard, IR_MAX_GUARDS);
    RETURN_IF(!n->guards, ST_NO_MEMORY, "no memory for conditions");
    TRY(parse_expect(p, '('));
    do {
        FAIL_IF(n->n_guards == IR_MAX_GUARDS, "at most %d conditions", IR_MAX_GUARDS);
        struct ir_guard *g = &n->guards[n->n_guards++];
        g->value = !parse_accept(p, '!');
        TRY(operand(p, &g->tensor));
        FAIL_IF(g->tensor == IR_NONE, "a condition cannot be absent");
    } while (parse_accept(p, ','));
    return parse_expect(p, ')');
}

static enum status node(struct parser *p)
{
    uint32_t in[MAX_PORTS], out[MAX_PORTS], aux[MAX_PORTS];
    struct ir_node n = { .in = in, .out = out, .aux = aux };
    char op[64];
    TRY(operands(p, out, &n.n_out, '='));
    for (uint32_t i = 0; i < n.n_out; i++)
        FAIL_IF(out[i] == IR_NONE, "an output cannot be absent");
    TRY(parse_expect(p, '='));
    parse_word(p, op);
    n.op = op_find_any(op);
    FAIL_IF(!n.op, "there is no operator \"%s\"", op);
    TRY(parse_quoted(p, &n.name));
    TRY(parse_expect(p, '('));
    TRY(operands(p, in, &n.n_in, ')'));
    TRY(parse_expect(p, ')'));
    TRY(node_params(p, &n));
    if (parse_accept_word(p, "aux")) {
        TRY(parse_expect(p, '('));
        TRY(operands(p, aux, &n.n_aux, ')'));
        TRY(parse_expect(p, ')'));
        for (uint32_t i = 0; i < n.n_aux; i++)
            FAIL_IF(aux[i] == IR_NONE, "an aux constant cannot be absent");
    }
    TRY(node_clamp(p, &n));
    TRY(node_guards(p, &n));
    TRY(node_sources(p, &n));
    uint32_t index;
    TRY(ir_add_node(p->g, &n, &index));
    p->g->nodes.at[index].post = n.post; /* also a clamp to [0, 0], which ir_add_node takes for none */
    return ST_OK;
}

static enum status parse_graph(struct parser *p);

/* A graph inside the graph. */
static enum status child(struct parser *p)
{
    struct ir_graph *outer = p->g;
    FAIL_IF(p->depth == IR_MAX_GUARDS, "at most %d graphs inside each other", IR_MAX_GUARDS);
    p->depth++;
    p->g = NULL;
    enum status st = parse_graph(p);
    if (st == ST_OK)
        st = ir_find_child(outer, p->g->name) ? parse_fail(p, "there are two graphs named \"%s\"", p->g->name)
                                              : ir_take_child(outer, p->g);
    if (st != ST_OK)
        ir_graph_free(p->g);
    p->g = outer;
    p->depth--;
    return st;
}

static enum status body(struct parser *p)
{
    TRY(parse_expect(p, '{'));
    while (!parse_accept(p, '}')) {
        FAIL_IF(p->at >= p->end, "'}' expected");
        if (parse_accept_word(p, "graph")) {
            TRY(child(p));
            continue;
        }
        int role = -1;
        for (int r = 0; r < IR_ROLE_COUNT && role < 0; r++)
            role = parse_accept_word(p, ir_role_words[r]) ? r : -1;
        TRY(role >= 0 ? parse_tensor(p, (enum ir_role)role) : node(p));
    }
    return ST_OK;
}

static enum status parse_graph(struct parser *p)
{
    const char *name;
    TRY(parse_quoted(p, &name));
    TRY(ir_graph_create(name, &p->g));
    return body(p);
}

static enum status parse_text(struct parser *p)
{
    FAIL_IF(!parse_accept_word(p, "graph"), "\"graph\" expected");
    TRY(parse_graph(p));
    FAIL_IF(parse_peek(p) != '\0', "nothing is expected after the graph");
    return ir_verify(p->g, "parsing");
}

enum status ir_parse(const char *text, size_t size, struct ir_graph **ret)
{
    struct parser p = { .at = text, .start = text, .end = text + size };
    arena_init(&p.scratch);
    enum status st = parse_text(&p);
    arena_finish(&p.scratch);
    if (st == ST_OK)
        *ret = p.g;
    else
        ir_graph_free(p.g);
    return st;
}
