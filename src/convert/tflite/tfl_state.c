/* SPDX-License-Identifier: Apache-2.0 */
/* What a model keeps between runs.
 *
 *     file                                              graph
 *     variable tensor of an LSTM, RNN, SVDF       ─┐    in  "name"      what the run begins with
 *     VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE  ─┘    out "name_out"  what the client gives to the next run
 *     CALL_ONCE: a subgraph of assignments              the first value, in the report */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

enum { CODE_VAR_HANDLE = 142, CODE_ASSIGN_VARIABLE = 144, MAX_STATES = 4096 };

static enum status add_state(struct tfl_cx *cx, const char *name, uint32_t *ret)
{
    TFL_REFUSE_IF(cx->states.n >= MAX_STATES, "the model has more than %d variables", MAX_STATES);
    struct tfl_state *s = vec_push(&cx->states);
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for variable \"%s\"", name);
    *s = (struct tfl_state){.name = name, .input = IR_NONE, .value = IR_NONE};
    *ret = (uint32_t)(cx->states.n - 1);
    return ST_OK;
}

static enum status find_state(struct tfl_cx *cx, const char *name, uint32_t *ret)
{
    for (uint32_t i = 0; i < cx->states.n; i++)
        if (!strcmp(cx->states.at[i].name, name)) {
            *ret = i;
            return ST_OK;
        }
    return add_state(cx, name, ret);
}

/* Real zero in every type: the zero point where there is one. */
static enum status zero_data(struct tfl_cx *cx, const struct tensor_desc *d, void **ret)
{
    uint64_t n = desc_count(d);
    unsigned bytes = dtype_bits(d->type) / 8;
    TFL_REFUSE_IF(bytes == 0, "a variable of type %s", dtype_name(d->type));
    TRY(tfl_charge(cx, desc_bytes(d)));
    uint8_t *p = arena_alloc(&cx->b.g->arena, desc_bytes(d));
    RETURN_IF(!p, ST_NO_MEMORY, "no memory for the first value of a variable");
    int32_t zero = dtype_is_fixed(d->type) ? -quant_offset(&d->q, 0) : 0;
    for (uint64_t i = 0; i < n && zero; i++)
        memcpy(p + i * bytes, &zero, bytes <= 4 ? bytes : 4);
    *ret = p;
    return ST_OK;
}

static enum status check_initial(const struct tfl_state *s, const struct tensor_desc *d)
{
    TFL_REFUSE_IF(s->initial && s->initial_bytes != desc_bytes(d),
                  "variable \"%s\" begins with %llu bytes and is read as %llu", s->name,
                  (unsigned long long)s->initial_bytes, (unsigned long long)desc_bytes(d));
    return ST_OK;
}

static enum status read_state(struct tfl_cx *cx, uint32_t at, const struct tensor_desc *d, uint32_t *ret)
{
    struct tfl_state *s = &cx->states.at[at];
    void *zeros;
    if (s->value != IR_NONE || s->input != IR_NONE) {
        *ret = s->value != IR_NONE ? s->value : s->input;
        return ST_OK;
    }
    TRY(desc_check(d, s->name));
    TRY(check_initial(s, d));
    if (cx->opts->reset_state) {
        if (s->initial)
            return build_const(&cx->b, s->name, d, s->initial, false, ret);
        TRY(zero_data(cx, d, &zeros));
        return build_const(&cx->b, s->name, d, zeros, true, ret);
    }
    TRY(build_input(&cx->b, s->name, d, &s->input));
    *ret = s->input;
    return ST_OK;
}

enum status tfl_state_read(struct tfl_cx *cx, uint32_t k, uint32_t *ret)
{
    uint32_t t = tfl_number(cx->op->in, k);
    uint32_t *at = &cx->scope->state[t];
    const struct tfl_tensor *x = &cx->scope->g.tensors[t];
    struct tensor_desc d = x->desc;
    if (*at == IR_NONE)
        TRY(add_state(cx, x->name, at));
    if (cx->resized && cx->opts->batch && d.rank && d.dims[0] == 1)
        d.dims[0] = cx->opts->batch;
    return read_state(cx, *at, &d, ret);
}

enum status tfl_state_write(struct tfl_cx *cx, uint32_t k, uint32_t value)
{
    uint32_t t = tfl_number(cx->op->in, k);
    if (t != IR_NONE && cx->scope->state[t] != IR_NONE)
        cx->states.at[cx->scope->state[t]].value = value;
    return ST_OK;
}

static enum status report_state(struct tfl_cx *cx, const struct tfl_state *s, uint32_t output)
{
    const struct ir_tensor *t = cx->b.g->tensors.at;
    struct convert_io in = {
        .source_name = s->name, .graph_name = t[s->input].name, .initial = s->initial, .initial_bytes = s->initial_bytes
    };
    struct convert_io out = {
        .source_name = s->name, .graph_name = t[output].name, .output = true, .state = t[s->input].name
    };
    TRY(report_io(cx->report, &in));
    return report_io(cx->report, &out);
}

/* A variable that is never assigned is a constant. */
static enum status settle(struct tfl_cx *cx, const struct tfl_state *s)
{
    struct ir_tensor *t = &cx->b.g->tensors.at[s->input];
    void *zeros = NULL;
    if (!s->initial)
        TRY(zero_data(cx, &t->desc, &zeros));
    const void *data = zeros ? zeros : arena_dup(&cx->b.g->arena, s->initial, s->initial_bytes);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for variable \"%s\"", s->name);
    t->data = data;
    t->role = IR_CONST;
    return ST_OK;
}

enum status tfl_states_output(struct tfl_cx *cx)
{
    for (size_t i = 0; i < cx->states.n; i++) {
        const struct tfl_state *s = &cx->states.at[i];
        uint32_t out;
        if (s->input == IR_NONE) /* never read, or begun anew in every run: nobody can see what is assigned */
            continue;
        if (s->value == IR_NONE || s->value == s->input) {
            TRY(settle(cx, s));
            continue;
        }
        const char *name = arena_printf(&cx->m.arena, "%s_out", s->name);
        RETURN_IF(!name, ST_NO_MEMORY, "no memory for the name of a variable");
        TRY(build_output(&cx->b, s->value, name, &out));
        TRY(report_state(cx, s, out));
    }
    return ST_OK;
}

/* ---- resources ------------------------------------------------------------------------------------------------------ */

static enum status name_handle(struct tfl_cx *cx, const struct tfl_scope *scope, const struct tfl_op *op)
{
    const char *name = fb_string(op->options, VAR_HANDLE_NAME);
    uint32_t t = tfl_number(op->out, 0);
    TFL_REFUSE_IF(t == IR_NONE || !name, "a handle without a name or an output");
    return find_state(cx, name, &scope->state[t]);
}

TFL_LOWER(var_handle)
{
    return name_handle(cx, cx->scope, cx->op);
}

static enum status handle_at(const struct tfl_scope *scope, const struct tfl_op *op, uint32_t *ret)
{
    uint32_t t = tfl_number(op->in, 0);
    *ret = t == IR_NONE ? IR_NONE : scope->state[t];
    TFL_REFUSE_IF(*ret == IR_NONE, "the variable is chosen at run time; VAR_HANDLE in the same subgraph is expected");
    return ST_OK;
}

TFL_LOWER(read_variable)
{
    uint32_t at, value;
    TRY(handle_at(cx->scope, cx->op, &at));
    TRY(read_state(cx, at, tfl_out_desc(cx, 0), &value));
    return tfl_bind(cx, 0, value);
}

TFL_LOWER(assign_variable)
{
    uint32_t at, value;
    TRY(handle_at(cx->scope, cx->op, &at));
    TRY(tfl_in(cx, 1, &value));
    cx->states.at[at].value = value;
    return ST_OK;
}

/* Assignments of constants are understood. */
TFL_LOWER(call_once)
{
    struct tfl_scope scope;
    uint32_t at;
    TRY(tfl_scope_open(cx, (uint32_t)tfl_option(cx, OPTION_FIRST, 0), &scope));
    for (uint32_t i = 0; i < scope.g.n_ops; i++) {
        const struct tfl_op *op = &scope.g.ops[i];
        const struct tfl_row *row = tfl_row(op->code, op->custom);
        if (op->code == CODE_VAR_HANDLE) {
            TRY(name_handle(cx, &scope, op));
            continue;
        }
        TFL_REFUSE_IF(op->code != CODE_ASSIGN_VARIABLE, "the initialization runs %s; assignments of constants are supported",
                      row ? row->name : "?");
        TRY(handle_at(&scope, op, &at));
        uint32_t t = tfl_number(op->in, 1);
        TFL_REFUSE_IF(t == IR_NONE || !scope.g.tensors[t].data,
                      "variable \"%s\" begins with a computed value; a constant is supported", cx->states.at[at].name);
        cx->states.at[at].initial = scope.g.tensors[t].data;
        cx->states.at[at].initial_bytes = scope.g.tensors[t].bytes;
    }
    return ST_OK;
}
