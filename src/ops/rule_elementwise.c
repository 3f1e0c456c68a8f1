/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators: broadcasts, and which types may meet. */
#include "ops/op_rules.h"

/* operation numbers of the generic operators, as the public header counts them */
enum {
    BINARY_ADD, BINARY_AND, BINARY_DIVIDE, BINARY_EQUAL, BINARY_FLOOR_DIV, BINARY_FMOD, BINARY_GREATER, BINARY_GREATER_EQUAL,
    BINARY_LESS, BINARY_LESS_EQUAL, BINARY_MAXIMUM, BINARY_MINIMUM, BINARY_MOD, BINARY_MULTIPLY, BINARY_NOT_EQUAL, BINARY_OR,
    BINARY_POWER, BINARY_SQUARED_DIFFERENCE, BINARY_SUBTRACT, BINARY_XOR, BINARY_COUNT
};
enum { UNARY_NOT = 9 };
enum { NEURON_RELU_MIN_MAX = 5 };

RULE(like_input)
{
    rule_shape_of(&want[0], c->in[0]);
    rule_type(&want[0], c->in[0]);
    return ST_OK;
}

RULE(unary)
{
    rule_shape_of(&want[0], c->in[0]);
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

/* Truth values come as bool, as i32 or as 8 bits; the result is any of them. */
static void truth_type(const struct op_call *c, struct tensor_desc *want)
{
    uint32_t truth = T_BOOL | T_Q8 | T_(DT_U8) | T_(DT_I8) | T_(DT_I32);
    if (want->type != DT_NONE && (T_(want->type) & truth || want->type == c->in[0]->type))
        return;
    want->type = DT_B8;
}

RULE(logic_not)
{
    rule_shape_of(&want[0], c->in[0]);
    truth_type(c, &want[0]);
    return ST_OK;
}

RULE(unary_generic)
{
    if (op_int(c, "operation", 0) == UNARY_NOT)
        return rule_logic_not(c, want);
    REFUSE_IF(c->in[0]->type == DT_B8, c, "input 0 (\"in\") is b8; only operation %d (NOT) takes it", UNARY_NOT);
    return rule_unary(c, want);
}

RULE(neuron)
{
    if (op_int(c, "operation", 0) == NEURON_RELU_MIN_MAX)
        REFUSE_IF(!op_has(c, "min_value") || !op_has(c, "max_value"), c,
                  "parameters \"min_value\" and \"max_value\" are missing; operation %d (RELU_MIN_MAX) needs both",
                  NEURON_RELU_MIN_MAX);
    return rule_unary(c, want);
}

RULE(arithmetic)
{
    TRY(rule_same_kind(c, 0, 1));
    TRY(rule_broadcast(c, &want[0], 0, 1));
    REFUSE_IF(c->in[0]->type == DT_B8, c, "input 0 (\"a\") is b8; arithmetic needs numbers: cast it first");
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

/* Clients take the extreme of 64-bit integers into 32-bit ones. */
RULE(min_max)
{
    enum dtype asked = want[0].type;
    TRY(rule_arithmetic(c, want));
    if (asked != DT_NONE && dtype_kind(asked) == dtype_kind(c->in[0]->type) && T_(asked) & (T_INT | T_UINT))
        want[0].type = asked;
    return ST_OK;
}

/* The exponent may be of another type than the base, the result is of the base's. */
RULE(power)
{
    char text[DESC_TEXT_MAX];
    enum dtype base = c->in[0]->type, exponent = c->in[1]->type;
    bool ok = exponent == base || (dtype_is_fixed(base) && dtype_is_fixed(exponent)) || exponent == DT_F32 ||
              T_(exponent) & (T_INT | T_UINT);
    REFUSE_IF(!ok, c,
              "input 1 (\"exponent\") is %s beside a base of type %s; the same type, f32 or an integer type is expected",
              desc_text(c->in[1], text), dtype_name(base));
    TRY(rule_broadcast(c, &want[0], 0, 1));
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

RULE(compare)
{
    TRY(rule_same_kind(c, 0, 1));
    TRY(rule_broadcast(c, &want[0], 0, 1));
    truth_type(c, &want[0]);
    return ST_OK;
}

RULE(logic)
{
    return rule_compare(c, want);
}

RULE(binary_generic)
{
    static enum status (*const rules[BINARY_COUNT])(const struct op_call *, struct tensor_desc *) = {
        [BINARY_ADD] = rule_arithmetic,
        [BINARY_AND] = rule_logic,
        [BINARY_DIVIDE] = rule_arithmetic,
        [BINARY_EQUAL] = rule_compare,
        [BINARY_FLOOR_DIV] = rule_arithmetic,
        [BINARY_FMOD] = rule_arithmetic,
        [BINARY_GREATER] = rule_compare,
        [BINARY_GREATER_EQUAL] = rule_compare,
        [BINARY_LESS] = rule_compare,
        [BINARY_LESS_EQUAL] = rule_compare,
        [BINARY_MAXIMUM] = rule_min_max,
        [BINARY_MINIMUM] = rule_min_max,
        [BINARY_MOD] = rule_arithmetic,
        [BINARY_MULTIPLY] = rule_arithmetic,
        [BINARY_NOT_EQUAL] = rule_compare,
        [BINARY_OR] = rule_logic,
        [BINARY_POWER] = rule_power,
        [BINARY_SQUARED_DIFFERENCE] = rule_arithmetic,
        [BINARY_SUBTRACT] = rule_arithmetic,
        [BINARY_XOR] = rule_logic,
    };
    return rules[op_int(c, "operation", 0)](c, want);
}

RULE(select)
{
    TRY(rule_same_kind(c, 1, 2));
    TRY(rule_broadcast(c, &want[0], 0, 2));
    rule_type_computed(&want[0], c->in[1]);
    return ST_OK;
}

/* Everything broadcasts; the inputs to choose from have one data type. */
RULE(mux)
{
    TRY(rule_broadcast(c, &want[0], 0, c->n_in - 1));
    for (uint32_t i = 2; i < c->n_in; i++)
        TRY(rule_same_type(c, i, 1));
    rule_type(&want[0], c->in[1]);
    return ST_OK;
}

RULE(prelu)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    struct tensor_desc all = {0};
    TRY(rule_same_kind(c, 0, 1));
    TRY(rule_broadcast(c, &all, 0, 1));
    /* Leading ones of the slope add nothing. */
    REFUSE_IF(desc_count(&all) != desc_count(c->in[0]), c, "input 1 (\"slope\") is %s; it must broadcast to input 0, %s",
              desc_text(c->in[1], a), desc_text(c->in[0], b));
    return rule_unary(c, want);
}

RULE(is_special)
{
    rule_shape_of(&want[0], c->in[0]);
    truth_type(c, &want[0]);
    return ST_OK;
}

/* in[0] lists the dimensions of the output. */
RULE(random_like)
{
    const struct tensor_desc *shape = c->in[0];
    REFUSE_IF(shape->rank > 1, c, "input 0 (\"shape\") has rank %u; a list of dimensions (rank 1) is expected", shape->rank);
    REFUSE_IF(want[0].type != DT_NONE && desc_count(shape) != want[0].rank, c,
              "input 0 (\"shape\") lists %llu dimensions; the output has %u", (unsigned long long)desc_count(shape),
              want[0].rank);
    rule_type_free(&want[0], DT_F32);
    return ST_OK;
}

/* A fixed-point input may give float probabilities. */
RULE(softmax)
{
    uint32_t axis;
    TRY(rule_axis(c, "axis", c->in[0]->rank, &axis));
    rule_shape_of(&want[0], c->in[0]);
    if (!(dtype_is_fixed(c->in[0]->type) && want[0].type == DT_F32))
        rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

/* Compressed: a number per position says which sequence it belongs to, for every image of the batch or for all. */
static enum status compressed_mask(const struct op_call *c)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0], *mask = c->in[1];
    REFUSE_IF(x->rank < 2, c,
              "input 0 (\"in\") has rank %u; mode 1 (compressed) works on matrices, so at least rank 2 is expected",
              x->rank);
    uint32_t n = x->dims[x->rank - 1], rows = x->dims[x->rank - 2];
    REFUSE_IF(rows > n, c,
              "input 0 (\"in\") has %u rows of %u positions; in mode 1 (compressed) a row is one of the positions, so at "
              "most %u rows are expected",
              rows, n, n);
    bool batch = mask->rank == 2 && (mask->dims[0] == 1 || mask->dims[0] == x->dims[0]);
    REFUSE_IF((mask->rank != 1 && !batch) || mask->dims[mask->rank - 1] != n, c,
              "input 1 (\"mask\") is %s; in mode 1 (compressed) one number per position is expected: [%u] or [%u,%u]",
              desc_text(mask, text), n, x->dims[0], n);
    return ST_OK;
}

RULE(masked_softmax)
{
    TRY(rule_same_kind(c, 0, 0));
    rule_shape_of(&want[0], c->in[0]);
    rule_type_computed(&want[0], c->in[0]);
    if (op_int(c, "mode", 0) == 0) {
        struct tensor_desc all = {0};
        TRY(rule_broadcast(c, &all, 0, 1));
        REFUSE_IF(desc_count(&all) != desc_count(c->in[0]), c, "input 1 (\"mask\") does not broadcast to input 0");
        return ST_OK;
    }
    return compressed_mask(c);
}
