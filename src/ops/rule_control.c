/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow: If. What the compiler adds: transfers between memories. */
#include "ops/op_rules.h"

/* Inputs behind the condition: the results of the graph for true, then as many of the graph for false. */
static enum status select_branch(const struct op_call *c, struct tensor_desc *want)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    REFUSE_IF(c->n_in != 1 + 2 * c->n_out, c,
              "%u inputs and %u outputs; without graphs a condition and two inputs per output are expected", c->n_in,
              c->n_out);
    for (uint32_t i = 0; i < c->n_out; i++) {
        const struct tensor_desc *x = c->in[1 + i], *y = c->in[1 + c->n_out + i];
        REFUSE_IF(!x || !y, c, "an input that output %u is chosen from is missing; every one is expected", i);
        REFUSE_IF(x->type != y->type || !desc_same_shape(x, y) || !quant_same(&x->q, &y->q) ||
                      !quant_same(&x->q, &want[i].q),
                  c, "output %u is chosen from %s and %s; type, shape and encoding of both must be those of the output", i,
                  desc_text(x, a), desc_text(y, b));
        rule_shape_of(&want[i], x);
        rule_type(&want[i], x);
    }
    return ST_OK;
}

RULE(if)
{
    TRY(rule_vector(c, 0, 1, "one truth value"));
    bool yes = op_has(c, "then_graph"), no = op_has(c, "else_graph");
    REFUSE_IF(yes != no, c, "parameter \"%s\" is missing; both graphs are expected", yes ? "else_graph" : "then_graph");
    REFUSE_IF(!c->n_out, c, "there is no output; at least one is expected");
    return yes ? ST_OK : select_branch(c, want); /* what the graphs have to look like is checked where they are: ir_verify */
}

/* The same tensor elsewhere. */
RULE(transfer)
{
    REFUSE_IF(!quant_same(&c->in[0]->q, &want[0].q), c,
              "the encodings of input and output differ; the bytes are moved as they are, so equal ones are expected");
    rule_shape_of(&want[0], c->in[0]);
    rule_type(&want[0], c->in[0]);
    return ST_OK;
}
